/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_LIVE_RANDOM_H
#define TRIP_LIVE_RANDOM_H

/* Random changes of rules at work, and packets in between, against a model; where live_hard is set,
 * in hardware. What main() is to return. */
int live_random(void);

#endif
