/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dropping a client: what a process that has died, or let go, has left at a home. A control thread
 * asks each home, and frees nothing of the client's before all have done it.
 *
 * From the moment when it begins, the drop alone takes from the client's channels: they stand in no
 * sweep, so what a sweep has noted of one never outlives it, and is not taken for the next
 * client's.
 *
 * The home counts what the client had submitted last, and what was accepted of it, as failed where
 * it was not canceled (WORK-07); then waits until what of it ports' workers have under way has
 * ended; then makes the channel new for the next client. All in bounded steps. The client writes no
 * more: its process is gone, or has promised so.
 */
#ifndef TRIP_DROP_H
#define TRIP_DROP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct trip_home;

/* A client that a home is dropping. */
struct trip_drop {
	/* From when it is asked for until it is done. Partners: trip_drop_ask() and
	 * trip_drop_begin(); finish() and trip_drop_done(). */
	_Atomic bool asked;
	bool under_way;
	/* The channel of it that is looked through, and how far. */
	uint32_t channel;
	uint32_t slot;
	/* Behind its channels: the port whose errands are waited for, and up to which. */
	uint32_t port;
	bool marked;
	uint32_t mark;
	/* Of its channels. */
	uint64_t garbage;
};

/* Control: asks, and whether it is done. One at a time for a client. */
void trip_drop_ask(struct trip_home *home, uint32_t client);
bool trip_drop_done(struct trip_home *home, uint32_t client);
/* Then: how much of what it left no correct client leaves. */
uint64_t trip_drop_garbage(const struct trip_home *home, uint32_t client);

/* The home: begins what was asked, and goes on, at most `budget`; returns how much it did. */
void trip_drop_begin(struct trip_home *home, uint32_t client);
unsigned int trip_drop_run(struct trip_home *home, unsigned int budget);

/* The home: whether the client of a channel is being dropped. */
bool trip_drop_has(const struct trip_home *home, uint32_t channel);

#endif
