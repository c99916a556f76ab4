/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pending set of a counter: the work that waits for it, by (threshold, acceptance).
 *
 * All sets of one home share a pool. Only the home touches either, so nothing here is atomic.
 * An item is a caller's node index; its payload stays with the caller, and a node is in one set at
 * most. As there is a node for every item, the pool cannot run out: see pending_pool.c.
 *
 * One round of the home: sample, then pop until nothing is due any more. Every call does a bounded
 * number of steps, whatever is pending and whatever was done to the counter before, so pop may
 * hand out fewer than was asked for, even none, while the set is still due: call it again, in the
 * next iteration if the budget of this one is spent.
 */
#ifndef TRIP_PENDING_H
#define TRIP_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIP_PENDING_NONE UINT64_MAX
#define TRIP_PENDING_NIL UINT32_MAX
#define TRIP_PENDING_MAX_NODES (UINT32_C(1) << 27)

struct trip_pending_item;
struct trip_pending_chunk;
struct trip_pending_wheel;

/*
 * Holds pointers of this process: it belongs into the home's own memory. What it manages may lie
 * anywhere.
 */
struct trip_pending_pool {
	struct trip_pending_item *items; /* one a node */
	struct trip_pending_chunk *chunks;
	struct trip_pending_wheel *wheels;
	uint64_t *canceled; /* one bit a node */
	uint32_t max_nodes;
	uint32_t max_chunks;
	uint32_t max_wheels;
	uint32_t used_chunks;
	uint32_t used_wheels;
	uint32_t fresh_chunks; /* from here up never used yet */
	uint32_t fresh_wheels;
	uint32_t free_chunks; /* lists of what was used before */
	uint32_t free_wheels;
	uint32_t thin;   /* list of lines that are to be given up when no chunk is left */
	uint32_t marked; /* canceled and not dropped yet */
	uint64_t steps;  /* items moved or looked at and wheels visited: the measure of "bounded" */
	uint64_t spread; /* steps when a bucket had last been spread before it was due */
};

struct trip_pending {
	uint64_t sample;
	uint64_t floor;  /* nothing under root lies below it */
	uint32_t root;   /* the unsorted rest */
	uint32_t front;  /* the sorted beginning */
	uint32_t late;   /* due when accepted */
	uint32_t split;  /* the wheel that is being filled */
	uint32_t source; /* what it is still to be filled from */
	uint32_t count;  /* without those that were canceled */
};

_Static_assert(sizeof(struct trip_pending) <= 40, "most counters have next to nothing pending");

/* Bytes that the pool needs for max_nodes nodes, a multiple of a cache line; 0 beyond the limit. */
size_t trip_pending_pool_size(uint32_t max_nodes);

/* memory: that many bytes, aligned to a cache line, unused by others as long as the pool lives. */
void trip_pending_pool_init(struct trip_pending_pool *pool, void *memory, uint32_t max_nodes);

/* An empty set whose sample is 0. */
void trip_pending_init(struct trip_pending *set);

/*
 * threshold: a sum of two values, so below TRIP_PENDING_NONE. node: below max_nodes, in no set, and
 * forgotten where it was canceled. An item at or below the current sample is due already: it comes
 * after everything that is ready (WORK-04).
 */
void trip_pending_insert(struct trip_pending_pool *pool, struct trip_pending *set,
	uint64_t threshold, uint32_t node);

/* node: in this set, not popped yet. */
void trip_pending_remove(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node);

/*
 * As remove, but in a large set the item is only marked, which touches one bit of memory that stays
 * in the cache, where removing looks for the item's place. Pop drops it when its turn would have
 * come; a node that is wanted again before that is to be forgotten first. As a node is in one place
 * at most, what is marked takes no memory that is not there for it.
 */
void trip_pending_cancel(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node);

/* node: in no set; set: the one that it was in last. Nothing to do unless it was canceled. */
void trip_pending_forget_marked(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node);

static inline void
trip_pending_forget(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	if (pool->marked > 0)
		trip_pending_forget_marked(pool, set, node);
}

/*
 * From now on, what lies at or below sum is due. The sum may go down. Only while nothing is due but
 * what was so when it was accepted, which stays behind what this makes due: an item that was due
 * under the last sample fires, whatever the counter became since (WORK-13).
 */
void trip_pending_sample(struct trip_pending_pool *pool, struct trip_pending *set, uint64_t sum);

/*
 * Takes up to max due nodes out, in order, and returns how many: those of this sample by
 * (threshold, acceptance), then those that were due when they were accepted, by acceptance.
 */
unsigned trip_pending_pop(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max);

/* Fetches what a pop will touch first. */
void trip_pending_prefetch(const struct trip_pending_pool *pool, const struct trip_pending *set);

/* Pop has not finished with the current sample. */
bool trip_pending_due(const struct trip_pending_pool *pool, const struct trip_pending *set);

/*
 * No pending item has a lower threshold; TRIP_PENDING_NONE where nothing is pending. Above the
 * sample once nothing is due. Exact unless the lowest items of a larger set were removed or
 * canceled.
 */
uint64_t trip_pending_bound(const struct trip_pending_pool *pool, const struct trip_pending *set);

/* The most steps that a call may take; for pop, max on top as often as the second number says. */
#define TRIP_PENDING_STEPS 2560
#define TRIP_PENDING_STEPS_POP 9

static inline uint32_t
trip_pending_count(const struct trip_pending *set)
{
	return set->count;
}

/* NULL, or the invariant of the set that is broken. Walks all of it: for tests. */
const char *trip_pending_check(
	const struct trip_pending_pool *pool, const struct trip_pending *set);

#endif
