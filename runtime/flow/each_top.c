/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys with most, over all tables, while they are being counted. Of each entry is known how
 * much it has. In one of a key's tables it has at least its part of the sum, so an entry that would
 * not do if all of its key's were like it is passed over; only of the others is the sum made. Those
 * that are the best so far are a heap, the least of them on top.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "flow/each.h"

struct best {
	const struct trip_each *each;
	bool by_bytes;
	uint32_t n, room;
	struct trip_each_entry *heap;
};

static uint64_t
had(const struct best *best, const struct trip_each_entry *entry)
{
	return best->by_bytes ? entry->bytes : entry->packets;
}

static void
swap(struct trip_each_entry *a, struct trip_each_entry *b)
{
	struct trip_each_entry was = *a;

	*a = *b;
	*b = was;
}

static void
rise(struct best *best, uint32_t at)
{
	for (; at > 0; at = (at - 1) / 2) {
		uint32_t above = (at - 1) / 2;

		if (had(best, &best->heap[above]) <= had(best, &best->heap[at]))
			break;
		swap(&best->heap[above], &best->heap[at]);
	}
}

static void
sink(struct best *best, uint32_t at)
{
	for (;;) {
		uint32_t least = at;

		for (uint32_t below = 2 * at + 1; below <= 2 * at + 2 && below < best->n; below++)
			if (had(best, &best->heap[below]) < had(best, &best->heap[least]))
				least = below;
		if (least == at)
			return;
		swap(&best->heap[least], &best->heap[at]);
		at = least;
	}
}

/* Where a key is that is among them already: of another table, or as it went, and came again
 * further behind. */
static uint32_t
find(const struct best *best, const uint8_t *key)
{
	uint32_t at = 0;

	while (at < best->n && memcmp(best->heap[at].key, key, sizeof(best->heap[at].key)) != 0)
		at++;
	return at;
}

static void
offer(struct best *best, const struct trip_each_entry *entry)
{
	uint32_t at = find(best, entry->key);

	/* It has been counted meanwhile. */
	if (at < best->n) {
		best->heap[at] = *entry;
		rise(best, at);
		sink(best, at);
	} else if (best->n < best->room) {
		best->heap[best->n++] = *entry;
		rise(best, best->n - 1);
	} else if (had(best, entry) > had(best, &best->heap[0])) {
		best->heap[0] = *entry;
		sink(best, 0);
	}
}

/* Whether the key of an entry may be one of them. */
static bool
may_do(const struct best *best, const struct trip_keyed_entry *reading)
{
	uint64_t has = best->by_bytes ? reading->bytes : reading->packets;

	return best->n < best->room ||
	       has > had(best, &best->heap[0]) / best->each->statement.n_tables;
}

static void
look_at(struct best *best, const struct trip_keyed *table)
{
	uint32_t n = trip_keyed_entries(table);
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < n; i++)
		if (trip_keyed_read(table, i, &reading) && may_do(best, &reading)) {
			struct trip_each_entry sum = trip_each_sum(best->each, reading.key);

			/* It may have gone just now. */
			if (sum.tables > 0)
				offer(best, &sum);
		}
}

/* From the first to the last; the heap is used up. */
static void
give(struct best *best, struct trip_each_entry *entries, size_t size)
{
	while (best->n > 0) {
		struct trip_each_entry *last = &best->heap[best->n - 1];

		swap(&best->heap[0], last);
		best->n--;
		last->size = size;
		memcpy((char *)entries + best->n * size, last, size);
		sink(best, 0);
	}
}

/* Keys that there may be. */
static uint64_t
most(const struct trip_each *each)
{
	return (uint64_t)each->statement.n_tables * trip_keyed_entries(trip_each_table_at(each, 0));
}

int
trip_each_top(const struct trip_each *each, enum trip_each_rank rank,
	struct trip_each_entry *entries, size_t size, uint32_t count)
{
	struct best best = {.each = each, .by_bytes = rank == TRIP_EACH_BYTES};
	int error = trip_detach_check(each->domain);
	uint32_t found;

	if (error == 0)
		error = TRIP_SIZED_CHECK(trip_each_entry, size);
	if (error == 0 && (unsigned int)rank > TRIP_EACH_BYTES)
		error = trip_error_set(
			EINVAL, "each \"%s\": rank %d is unknown", each->statement.name, (int)rank);
	if (error != 0 || count == 0)
		return error;
	best.room = RTE_MIN(count, (uint32_t)INT32_MAX);
	best.room = (uint32_t)RTE_MIN((uint64_t)best.room, most(each));
	best.heap = calloc(best.room, sizeof(*best.heap));
	if (best.heap == NULL)
		return trip_error_set(
			ENOMEM, "each \"%s\": no memory for its first keys", each->statement.name);
	for (uint32_t i = 0; i < each->statement.n_tables; i++)
		look_at(&best, trip_each_table_at(each, i));
	found = best.n;
	give(&best, entries, size);
	free(best.heap);
	return (int)found;
}
