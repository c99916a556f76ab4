/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_SIGNALS_H
#define TRIPD_SIGNALS_H

#include <stdbool.h>

/* Blocks those that end a run, in the calling thread and in those that it starts from then on.
 * Returns whether a terminal controls the process. */
bool tripd_signals_block(void);

/* Waits for one of them for up to `ms` milliseconds. Returns its number, or -1. */
int tripd_signals_wait(unsigned int ms);

/* Whether a signal asks for the rules to be read again. The kernel sends SIGHUP, too, when the
 * terminal ends that controlled the process. */
bool tripd_signals_is_reload(int number, bool had_terminal);

/* Whether one has come, which stays to be waited for. */
bool tripd_signals_came(void);

/* Ends the process by the signal that has come, as if it had not been blocked; returns where none
 * has. Everything is taken down before. */
void tripd_signals_end(void);

#endif
