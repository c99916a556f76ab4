/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pending.h promises, by a 4-ary heap of (threshold, sequence, node): what one would write
 * first, and what the pending set is measured against. Two kinds: with back indices, by which an
 * item is found when it is removed, and without, where nothing is ever removed and none need be
 * kept. Steps are not bounded, and memory is not the pool's: each set has an array that grows.
 */
#include <assert.h>
#include <stdlib.h>

#include "pending.h"

#define ARITY 4u

struct heap_entry {
	uint64_t threshold;
	uint32_t sequence;
	uint32_t node;
};

/* A node's: where in its heap, or its neighbours among those that were due when accepted. */
struct trip_pending_item {
	uint32_t at;
	uint32_t next;
	uint32_t prev;
};

/* The fields of the set are those of the wheels; a heap has its array in `floor`, the number of
 * its entries in `root` and its capacity in `front`. */
static struct heap_entry *
entries_of(const struct trip_pending *set)
{
	return (struct heap_entry *)(uintptr_t)set->floor;
}

static bool
before(const struct heap_entry *a, const struct heap_entry *b)
{
	if (a->threshold != b->threshold)
		return a->threshold < b->threshold;
	return (int32_t)(a->sequence - b->sequence) < 0;
}

static void
place(struct trip_pending_pool *pool, struct heap_entry *entries, uint32_t at,
	struct heap_entry entry)
{
	entries[at] = entry;
	if (HEAP_BACK_INDICES)
		pool->items[entry.node].at = at;
}

static void
sift_up(struct trip_pending_pool *pool, struct heap_entry *entries, uint32_t at,
	struct heap_entry entry)
{
	while (at > 0 && before(&entry, &entries[(at - 1) / ARITY])) {
		place(pool, entries, at, entries[(at - 1) / ARITY]);
		at = (at - 1) / ARITY;
	}
	place(pool, entries, at, entry);
}

static void
sift_down(struct trip_pending_pool *pool, struct heap_entry *entries, uint32_t count, uint32_t at,
	struct heap_entry entry)
{
	for (;;) {
		uint32_t first = at * ARITY + 1, least = first;
		uint32_t end = first + ARITY < count ? first + ARITY : count;

		if (first >= count)
			break;
		for (uint32_t i = first + 1; i < end; i++)
			if (before(&entries[i], &entries[least]))
				least = i;
		if (!before(&entries[least], &entry))
			break;
		place(pool, entries, at, entries[least]);
		at = least;
	}
	place(pool, entries, at, entry);
}

size_t
trip_pending_pool_size(uint32_t max_nodes)
{
	if (max_nodes > TRIP_PENDING_MAX_NODES)
		return 0;
	return ((size_t)max_nodes * sizeof(struct trip_pending_item) + 63) / 64 * 64;
}

void
trip_pending_pool_init(struct trip_pending_pool *pool, void *memory, uint32_t max_nodes)
{
	*pool = (struct trip_pending_pool){.items = memory, .max_nodes = max_nodes};
}

void
trip_pending_init(struct trip_pending *set)
{
	*set = (struct trip_pending){.late = TRIP_PENDING_NIL};
}

/* A set that is empty gives its array back. */
static void
shrink(struct trip_pending *set)
{
	if (set->root > 0)
		return;
	free(entries_of(set));
	set->floor = 0;
	set->front = 0;
}

static void
enqueue_late(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	struct trip_pending_item *items = pool->items;
	uint32_t head = set->late;

	items[node].at = TRIP_PENDING_NIL;
	if (head == TRIP_PENDING_NIL)
		set->late = items[node].next = items[node].prev = node;
	items[node].next = set->late;
	items[node].prev = items[set->late].prev;
	items[items[set->late].prev].next = node;
	items[set->late].prev = node;
}

static void
dequeue_late(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	struct trip_pending_item *items = pool->items;

	items[items[node].prev].next = items[node].next;
	items[items[node].next].prev = items[node].prev;
	if (set->late == node)
		set->late = items[node].next == node ? TRIP_PENDING_NIL : items[node].next;
}

void
trip_pending_insert(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	struct heap_entry entry = {threshold, (uint32_t)pool->steps++, node};

	set->count++;
	if (threshold <= set->sample) {
		enqueue_late(pool, set, node);
		return;
	}
	if (set->root == set->front) {
		set->front = set->front > 0 ? 2 * set->front : 8;
		set->floor = (uintptr_t)realloc(entries_of(set), set->front * sizeof(entry));
		if (set->floor == 0)
			abort();
	}
	sift_up(pool, entries_of(set), set->root++, entry);
}

static void
remove_at(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t at)
{
	struct heap_entry *entries = entries_of(set), last = entries[--set->root];

	if (at < set->root) {
		if (at > 0 && before(&last, &entries[(at - 1) / ARITY]))
			sift_up(pool, entries, at, last);
		else
			sift_down(pool, entries, set->root, at, last);
	}
	shrink(set);
}

void
trip_pending_remove(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	set->count--;
	if (pool->items[node].at == TRIP_PENDING_NIL) {
		dequeue_late(pool, set, node);
		return;
	}
	assert(HEAP_BACK_INDICES);
	remove_at(pool, set, pool->items[node].at);
}

void
trip_pending_cancel(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	trip_pending_remove(pool, set, node);
}

void
trip_pending_forget_marked(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
}

void
trip_pending_sample(struct trip_pending_pool *pool, struct trip_pending *set, uint64_t sum)
{
	set->sample = sum;
}

void
trip_pending_prefetch(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	const struct heap_entry *entries = entries_of(set);

	/* The root, its children, and what takes its place. */
	if (set->root == 0)
		return;
	__builtin_prefetch(entries, 1);
	__builtin_prefetch(&entries[ARITY], 1);
	__builtin_prefetch(&entries[set->root - 1], 1);
}

unsigned
trip_pending_pop(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max)
{
	unsigned count = 0;

	while (count < max) {
		if (set->root > 0 && entries_of(set)[0].threshold <= set->sample) {
			nodes[count++] = entries_of(set)[0].node;
			remove_at(pool, set, 0);
		} else if (set->late != TRIP_PENDING_NIL) {
			nodes[count++] = set->late;
			dequeue_late(pool, set, set->late);
		} else {
			break;
		}
	}
	set->count -= count;
	return count;
}

bool
trip_pending_due(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	return set->late != TRIP_PENDING_NIL || trip_pending_bound(pool, set) <= set->sample;
}

uint64_t
trip_pending_bound(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	if (set->late != TRIP_PENDING_NIL)
		return 0;
	return set->root > 0 ? entries_of(set)[0].threshold : TRIP_PENDING_NONE;
}

const char *
trip_pending_check(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	const struct heap_entry *entries = entries_of(set);

	for (uint32_t i = 1; i < set->root; i++)
		if (before(&entries[i], &entries[(i - 1) / ARITY]))
			return "no entry is before its parent";
	for (uint32_t i = 0; HEAP_BACK_INDICES && i < set->root; i++)
		if (pool->items[entries[i].node].at != i)
			return "an item knows where its entry is";
	return NULL;
}
