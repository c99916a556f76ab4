/* SPDX-License-Identifier: BSD-3-Clause */
/* What is due of a home's counters fires, and those of which nothing is due any more settle. */
#ifndef TRIP_VOLLEY_H
#define TRIP_VOLLEY_H

#include <stdint.h>

struct trip_home;

/* The home, `done` of whose budget is spent, and some of whose counters are due: what is spent
 * then. */
unsigned int trip_volley_fire(struct trip_home *home, unsigned int done);

/* Likewise of the one counter that is due: nothing is to be fetched ahead, and there is nothing to
 * take turns with. It is in no list. */
unsigned int trip_volley_fire_alone(struct trip_home *home, uint32_t cntr);

#endif
