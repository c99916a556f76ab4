/* SPDX-License-Identifier: BSD-3-Clause */
/* How work items get from the channels into the home, and canceled ones out of it. */
#ifndef TRIP_ACCEPT_H
#define TRIP_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>

struct trip_home;

/* Begins a sweep: notes how far each channel that rang has submitted. */
void trip_accept_begin(struct trip_home *home);

/* Accepts up to there, at most `budget` items; returns how many. */
unsigned int trip_accept_sweep(struct trip_home *home, unsigned int budget);

/* Whether the sweep has accepted all. */
bool trip_accept_done(const struct trip_home *home);

/* Takes canceled items out, at most `budget`; returns how many. */
unsigned int trip_accept_canceled(struct trip_home *home, unsigned int budget);

/* The counter has nothing due: queues what was deferred, at most `budget` items; returns how many.
 */
unsigned int trip_accept_deferred(struct trip_home *home, uint32_t cntr, unsigned int budget);

#endif
