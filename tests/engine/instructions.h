/* SPDX-License-Identifier: BSD-3-Clause */
/* What instructions.c counts beside a home. */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

/* Packets of bursts through tables; prints how many of each kind. */
void instructions_burst(void);

#endif
