/* SPDX-License-Identifier: BSD-3-Clause */
/* What the life of a port does to its rules. On the port's worker. */
#ifndef TRIP_LIFE_H
#define TRIP_LIFE_H

#include "hard.h"

/* Asks ethdev to tell of the port's removal, reset and recovery; and no more. Any thread. */
int trip_life_watch(struct trip_hard *hard);
void trip_life_unwatch(struct trip_hard *hard);

/* Takes notices up, and looks whether the port has been stopped meanwhile. */
void trip_life_look(struct trip_hard *hard);

/* The port runs: what its fast path looks like now. */
void trip_life_running(struct trip_hard *hard);

#endif
