/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QUIET_EAL_H
#define QUIET_EAL_H

#include <stdbool.h>

/*
 * Starts EAL: 0, or -1 and the cause in one sentence on stderr, by the program's name. What else it
 * and the drivers say while it starts is shown only where `quiet` is false. EAL keeps and permutes
 * `argv`.
 */
int quiet_eal_start(const char *program, int argc, char **argv, bool quiet);

#endif
