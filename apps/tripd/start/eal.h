/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_EAL_H
#define TRIPD_EAL_H

#include <stdbool.h>

struct tripd_words;

/* Starts EAL. What it and the drivers say is kept back, unless `verbose`; where it fails, the line
 * that says why is shown on stderr. Returns 0, or the exit code. */
int tripd_eal_start(struct tripd_words *words, bool verbose);

#endif
