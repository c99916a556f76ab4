/* SPDX-License-Identifier: BSD-3-Clause */
/* A home: its memory, its loop, and what its parts ask of each other. */
#ifndef TRIP_HOME_H
#define TRIP_HOME_H

#include <stddef.h>
#include <stdint.h>

#include <rte_cycles.h>

#include "engine.h"

/* Bytes of memory, which may be shared, that a home of this shape takes; cache-line multiple. */
size_t trip_home_size(const struct trip_home_shape *shape);

/* Lays a home out over trip_home_size() bytes, cache-line aligned; NULL: no private memory. */
struct trip_home *trip_home_init(void *memory, struct trip_engine *engine, uint32_t index,
	const struct trip_home_shape *shape);

/*
 * Another process's view of a home whose memory is laid out: doorbell, cells, waiters, and the
 * client's ends of its channels with the ring of its events. NULL: no private memory.
 */
struct trip_home *trip_home_map(void *memory, struct trip_engine *engine, uint32_t index,
	const struct trip_home_shape *shape, uint32_t client);

/* Makes a channel of a client that is gone new; the home itself, when it holds nothing of it. */
void trip_home_renew_channel(struct trip_home *home, uint32_t channel);

/*
 * One bounded iteration. By one thread at a time.
 *
 * @param now
 *   The present, in tsc ticks.
 * @return
 *   How much it did; 0: idle.
 */
unsigned int trip_home_iterate(struct trip_home *home, uint64_t now);

/* What time it is by now, for what an iteration takes and how late it is. */
static inline uint64_t
trip_home_clock(struct trip_home *home)
{
	return home->clock == NULL ? rte_rdtsc() : home->clock(home);
}

/* Whether it may sleep until its doorbell rings: nothing is under way, nobody has rung, no timer
 * was due when it last looked, and no counter is hot. */
bool trip_home_idle(const struct trip_home *home);

/* Undoes trip_home_init() and trip_home_map(); the memory stays the caller's. */
void trip_home_fini(struct trip_home *home);

/* Slots of a channel. */
uint32_t trip_home_channel_slots(const struct trip_home_shape *shape, uint32_t channel);

/* Whether every iteration that ran at the moment when `epoch` was read has ended: what it had
 * started is finished, and what the caller wrote before reading is seen by whatever runs from now
 * on. */
uint64_t trip_home_epoch(struct trip_home *home);
bool trip_home_quiesced(struct trip_home *home, uint64_t epoch);

/* The channel that threads of `from`'s iterations submit by to this home; from may be NULL. */
static inline uint32_t
trip_home_channel(const struct trip_home *from)
{
	return from == NULL ? 0 : 1 + from->index;
}

/* Channels of each client: its own, and behind that those of its threads. */
static inline uint32_t
trip_home_client_channels(const struct trip_home_shape *shape)
{
	return 1 + shape->n_threads;
}

/* The first of them. */
static inline uint32_t
trip_home_client_channel(const struct trip_home_shape *shape, uint32_t client)
{
	return shape->n_channels - (shape->n_clients - client) * trip_home_client_channels(shape);
}

/* Channels that are this process's, in the primary. */
static inline uint32_t
trip_home_own_channels(const struct trip_home_shape *shape)
{
	return trip_home_client_channel(shape, 0);
}

/* The client that a channel is of; TRIP_NONE: this process. */
static inline uint32_t
trip_home_client_of(const struct trip_home_shape *shape, uint32_t channel)
{
	uint32_t own = trip_home_own_channels(shape);

	return channel < own ? TRIP_NONE : (channel - own) / trip_home_client_channels(shape);
}

/* Writes the broken invariants of a quiescent home to `report`; returns how many. */
unsigned int trip_home_check(
	struct trip_home *home, void (*report)(void *arg, const char *sentence), void *arg);

#endif
