/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts the items of a small bucket, stably: they come in the order of acceptance. Thresholds
 * mostly are spread evenly, so they are first distributed over slots by how far they lie between
 * the lowest and the highest, without a branch that depends on them, and hardly anything is left to
 * be moved. A client that chooses its thresholds so that they crowd gets a merge sort.
 */
#include <string.h>

#include "pending_pool.h"

#define SLOTS 256u
#define SLOT_BITS 8u
#define FEW 24u  /* are put in order as they are */
#define CROWD 8u /* in one slot */
#define RUN 8u

_Static_assert(PENDING_SORT_MAX <= UINT16_MAX, "places fit into 16 bits");

static void
sort_few(struct pending_key *keys, unsigned count)
{
	for (unsigned i = 1; i < count; i++) {
		struct pending_key key = keys[i];
		unsigned j = i;

		for (; j > 0 && keys[j - 1].threshold > key.threshold; j--)
			keys[j] = keys[j - 1];
		keys[j] = key;
	}
}

/* Merges two sorted neighbours, [0, middle) and [middle, count); the first wins among equals. */
static void
merge(const struct pending_key *from, struct pending_key *to, unsigned middle, unsigned count)
{
	unsigned a = 0, b = middle;

	for (unsigned i = 0; i < count; i++)
		if (a < middle && (b >= count || from[a].threshold <= from[b].threshold))
			to[i] = from[a++];
		else
			to[i] = from[b++];
}

/* n log n at worst. Returns where the result is. */
static struct pending_key *
sort_by_merging(struct pending_key *keys, struct pending_key *spare, unsigned count)
{
	unsigned run = RUN;

	for (unsigned i = 0; i < count; i += run)
		sort_few(&keys[i], count - i < run ? count - i : run);
	for (; run < count; run *= 2) {
		struct pending_key *swap = keys;

		for (unsigned i = 0; i < count; i += 2 * run) {
			unsigned left = count - i;

			merge(&keys[i], &spare[i], left < run ? left : run,
				left < 2 * run ? left : 2 * run);
		}
		keys = spare;
		spare = swap;
	}
	return keys;
}

/* Counts the keys of each slot; false where they crowd. */
static bool
count_slots(const struct pending_key *keys, unsigned count, uint64_t min, unsigned shift,
	uint16_t *places, unsigned slots)
{
	bool crowded = false;

	memset(places, 0, slots * sizeof(*places));
	for (unsigned i = 0; i < count; i++)
		crowded |= ++places[(keys[i].threshold - min) >> shift] > CROWD;
	return !crowded;
}

/* To the slots' places in order; each slot's keys in the order in which they come. */
static void
distribute(const struct pending_key *keys, struct pending_key *to, unsigned count, uint64_t min,
	unsigned shift, uint16_t *places, unsigned slots)
{
	unsigned at = 0;

	for (unsigned i = 0; i < slots; i++) {
		unsigned next = at + places[i];

		places[i] = (uint16_t)at;
		at = next;
	}
	for (unsigned i = 0; i < count; i++)
		to[places[(keys[i].threshold - min) >> shift]++] = keys[i];
}

/* Returns where the result is: keys or spare. */
struct pending_key *
trip_pending_sort(struct pending_key *keys, struct pending_key *spare, unsigned count)
{
	uint64_t min = UINT64_MAX, max = 0;
	uint16_t places[SLOTS];
	unsigned bits, slot_bits, shift, slots;

	if (count < FEW) {
		sort_few(keys, count);
		return keys;
	}
	for (unsigned i = 0; i < count; i++) {
		min = keys[i].threshold < min ? keys[i].threshold : min;
		max = keys[i].threshold > max ? keys[i].threshold : max;
	}
	if (min == max)
		return keys;
	bits = 64u - (unsigned)__builtin_clzll(max - min);
	/* One to two slots a key. */
	slot_bits = 32u - (unsigned)__builtin_clz(count);
	slot_bits = slot_bits < SLOT_BITS ? slot_bits : SLOT_BITS;
	shift = bits > slot_bits ? bits - slot_bits : 0;
	slots = (unsigned)((max - min) >> shift) + 1;
	/* Without a shift each slot holds equal ones, and they may crowd. */
	if (!count_slots(keys, count, min, shift, places, slots) && shift > 0)
		return sort_by_merging(keys, spare, count);
	distribute(keys, spare, count, min, shift, places, slots);
	if (shift > 0)
		sort_few(spare, count);
	return spare;
}
