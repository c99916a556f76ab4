/* SPDX-License-Identifier: BSD-3-Clause */
/* What the life of a port does to its rules. On the port's worker. */
#ifndef TRIP_LIFE_H
#define TRIP_LIFE_H

#include "hard.h"

/* Takes up what was told, and looks whether the port has been stopped meanwhile. */
void trip_life_look(struct trip_hard *hard);

/* The port runs: what its fast path looks like now. */
void trip_life_running(struct trip_hard *hard);

#endif
