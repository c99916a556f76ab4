/* SPDX-License-Identifier: BSD-3-Clause */
/* How work items get from the channels into the home, and canceled ones out of it. */
#ifndef TRIP_ACCEPT_H
#define TRIP_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

struct trip_home;

/* The home's. */
struct trip_accept {
	/* The channels of the sweep that are not accepted yet, each up to where it stood. */
	struct trip_sweep_channel {
		uint32_t channel;
		uint32_t tail;
	} sweep[TRIP_CHANNELS_MAX];
	uint32_t n_sweep;
	/* Channels with canceled slots to take back: home->n_canceling of them. */
	bool canceling[TRIP_CHANNELS_MAX];
};

/* Begins a sweep: notes how far each channel that rang has submitted, but for those of a client
 * that is being dropped. */
void trip_accept_begin(struct trip_home *home);

/* Accepts up to there, at most `budget` items; returns how many. */
unsigned int trip_accept_sweep(struct trip_home *home, unsigned int budget);

/* Whether the sweep has accepted all. */
bool trip_accept_done(const struct trip_home *home);

/* Takes canceled items out, at most `budget`; returns how many. */
unsigned int trip_accept_canceled(struct trip_home *home, unsigned int budget);

/* Takes an item out of its counter's pending set or list, where it is in one. */
void trip_accept_remove(struct trip_home *home, uint32_t node);

/* A client is being dropped: its channel leaves the sweep, and is not looked through for canceled
 * items any more; what was submitted and not accepted fails, at most `budget` items. True: there
 * may be more. */
void trip_accept_forget(struct trip_home *home, uint32_t channel);
bool trip_accept_fail(struct trip_home *home, uint32_t channel, unsigned int budget);

/* The counter has nothing due: queues what was deferred, at most `budget` items; returns how many.
 */
unsigned int trip_accept_deferred(struct trip_home *home, uint32_t cntr, unsigned int budget);

#endif
