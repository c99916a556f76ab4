/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash table of one mask: searches, adds, removes, grows. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "tuple_priv.h"

#define BUCKETS_MIN 16

/* Of a hundred slots, how many are taken at most: above that, more keys lie beyond their first
 * bucket, and each costs a cache line that nobody could ask for in time. */
#define FULL_PERCENT 60

const uint8_t trip_tuple_empty[TRIP_TUPLE_STRIDE_MAX] __attribute__((aligned(64)));

static bool
is_full(uint64_t keys, uint64_t buckets, unsigned int slots)
{
	return keys * 100 >= buckets * slots * FULL_PERCENT;
}

/* The least number of buckets that `keys` leave room in. */
static uint64_t
buckets_for(uint64_t keys, unsigned int slots)
{
	uint64_t buckets = keys * 100 / (slots * FULL_PERCENT) + 1;

	return buckets < BUCKETS_MIN ? BUCKETS_MIN : buckets;
}

static struct trip_tuple_array *
array_open(uint64_t count, unsigned int words)
{
	size_t size = (size_t)count * trip_tuple_stride(words);
	struct trip_tuple_array *array =
		trip_memory_take(sizeof(*array) + size + count * sizeof(array->side[0]));

	if (array == NULL)
		return NULL;
	array->count = count;
	array->side = (void *)(array->buckets + size);
	return array;
}

/* Release: what a lead leads to, and its key, were written before. Partner: the acquire in
 * trip_tuple_probe_each. */
static void
store_lead(struct trip_tuple_place place, uint32_t lead)
{
	atomic_store_explicit(
		trip_tuple_lead_at(place.bucket, place.slot), lead, memory_order_release);
}

static void
store_key(struct trip_tuple_place place, unsigned int words, const struct trip_tuple_key *key)
{
	atomic_store_explicit(trip_tuple_half_at(place.bucket, words, place.slot), key->half,
		memory_order_relaxed);
	for (unsigned int i = 0; i < words; i++)
		atomic_store_explicit(trip_tuple_word_at(place.bucket, words, place.slot, i),
			key->words[i], memory_order_relaxed);
}

static bool
same_key(const struct trip_tuple_key *a, const struct trip_tuple_key *b, unsigned int words)
{
	return a->half == b->half && memcmp(a->words, b->words, words * sizeof(a->words[0])) == 0;
}

static void
set_goes_on(struct trip_tuple *tuple, uint64_t index, bool goes_on)
{
	struct trip_tuple_place first = trip_tuple_place(
		trip_tuple_array_of(tuple), tuple->words, index * trip_tuple_slots(tuple->words));

	store_lead(first, (trip_tuple_load_lead(first) & ~TRIP_TUPLE_GOES_ON) |
				  (goes_on ? TRIP_TUPLE_GOES_ON : 0));
}

uint32_t
trip_tuple_search(const struct trip_tuple *tuple, const struct trip_packet_fields *fields)
{
	const struct trip_tuple_array *array =
		atomic_load_explicit(&tuple->array, memory_order_acquire);
	struct trip_tuple_key key;
	const uint8_t *bucket;
	uint64_t left;
	uint32_t lead;

	trip_tuple_key(tuple, tuple->words, fields, &key);
	bucket = trip_tuple_home(tuple, array, tuple->words, fields, &key);
	/* Bounded by the array: a writer may change what goes on while we walk. */
	for (left = array->count; left > 0; left--) {
		lead = trip_tuple_probe(bucket, tuple->words, &key);
		if (lead != 0 || trip_tuple_goes_on(bucket) == 0)
			return lead;
		bucket = trip_tuple_next(array, tuple->words, bucket);
	}
	return 0;
}

static int
draw_secret(uint64_t *secret, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t more = getrandom((uint8_t *)secret + got, size - got, 0);

		if (more < 0 && errno != EINTR)
			return -errno;
		got += more > 0 ? (size_t)more : 0;
	}
	return 0;
}

struct trip_tuple *
trip_tuple_open(const struct trip_pattern *pattern)
{
	struct trip_tuple *tuple = trip_memory_take(sizeof(*tuple));
	struct trip_tuple_array *array;

	if (tuple == NULL)
		return NULL;
	memcpy(tuple->packet_mask, pattern->mask, sizeof(tuple->packet_mask));
	trip_tuple_lay_out(tuple, pattern);
	tuple->best = UINT64_MAX;
	array = array_open(BUCKETS_MIN, tuple->words);
	if (array == NULL || draw_secret(tuple->secret, sizeof(tuple->secret)) != 0) {
		trip_memory_give(array);
		trip_memory_give(tuple);
		return NULL;
	}
	atomic_init(&tuple->array, array);
	return tuple;
}

void
trip_tuple_close(struct trip_tuple *tuple)
{
	trip_memory_give(trip_tuple_array_of(tuple));
	trip_memory_give(tuple);
}

uint64_t
trip_tuple_find(const struct trip_tuple *tuple, const struct trip_tuple_key *key)
{
	const struct trip_tuple_array *array = trip_tuple_array_of(tuple);
	unsigned int slots = trip_tuple_slots(tuple->words);
	uint64_t index = trip_tuple_home_index(tuple, key), left, slot;
	struct trip_tuple_key held;

	for (left = array->count; left > 0; left--) {
		for (slot = index * slots; slot < (index + 1) * slots; slot++) {
			trip_tuple_load_key(
				trip_tuple_place(array, tuple->words, slot), tuple->words, &held);
			if (trip_tuple_get(tuple, slot) != 0 && same_key(&held, key, tuple->words))
				return slot;
		}
		if (array->side[index].passed == 0)
			break;
		index = trip_tuple_next_index(array, index);
	}
	return TRIP_TUPLE_NO_SLOT;
}

uint32_t
trip_tuple_get(const struct trip_tuple *tuple, uint64_t slot)
{
	return trip_tuple_load_lead(
		       trip_tuple_place(trip_tuple_array_of(tuple), tuple->words, slot)) &
	       ~TRIP_TUPLE_GOES_ON;
}

void
trip_tuple_set(struct trip_tuple *tuple, uint64_t slot, uint32_t lead)
{
	struct trip_tuple_place place =
		trip_tuple_place(trip_tuple_array_of(tuple), tuple->words, slot);

	store_lead(place, lead | (trip_tuple_load_lead(place) & TRIP_TUPLE_GOES_ON));
}

bool
trip_tuple_has_room(const struct trip_tuple *tuple)
{
	/* Dead slots count: nobody knows when the last reader will be done with them. */
	return !is_full(tuple->keys + tuple->dead, trip_tuple_array_of(tuple)->count,
		trip_tuple_slots(tuple->words));
}

/* A slot of this bucket that may be written, or `slots`. */
static unsigned int
free_slot(struct trip_tuple *tuple, struct trip_era *era, uint64_t index, unsigned int slots)
{
	struct trip_tuple_side *side = &trip_tuple_array_of(tuple)->side[index];
	unsigned int slot;

	if (side->dead != 0 && trip_era_safe_low(era, side->died)) {
		tuple->dead -= (uint64_t)__builtin_popcount(side->dead);
		side->dead = 0;
	}
	for (slot = 0; slot < slots; slot++)
		if ((side->dead >> slot & 1) == 0 &&
			trip_tuple_get(tuple, index * slots + slot) == 0)
			break;
	return slot;
}

uint64_t
trip_tuple_insert(struct trip_tuple *tuple, struct trip_era *era, const struct trip_tuple_key *key,
	uint32_t lead)
{
	struct trip_tuple_array *array = trip_tuple_array_of(tuple);
	unsigned int slots = trip_tuple_slots(tuple->words), slot;
	uint64_t index = trip_tuple_home_index(tuple, key);

	while ((slot = free_slot(tuple, era, index, slots)) == slots) {
		if (array->side[index].passed++ == 0)
			set_goes_on(tuple, index, true);
		index = trip_tuple_next_index(array, index);
	}
	store_key(trip_tuple_place(array, tuple->words, index * slots + slot), tuple->words, key);
	trip_tuple_set(tuple, index * slots + slot, lead);
	tuple->keys++;
	return index * slots + slot;
}

void
trip_tuple_erase(struct trip_tuple *tuple, struct trip_era *era, uint64_t slot)
{
	struct trip_tuple_array *array = trip_tuple_array_of(tuple);
	unsigned int slots = trip_tuple_slots(tuple->words);
	uint64_t at = slot / slots, index;
	struct trip_tuple_key key;

	trip_tuple_load_key(trip_tuple_place(array, tuple->words, slot), tuple->words, &key);
	trip_tuple_set(tuple, slot, 0);
	array->side[at].died = (uint32_t)trip_era_retire(era);
	array->side[at].dead |= 1u << slot % slots;
	for (index = trip_tuple_home_index(tuple, &key); index != at;
		index = trip_tuple_next_index(array, index))
		if (--array->side[index].passed == 0)
			set_goes_on(tuple, index, false);
	tuple->keys--;
	tuple->dead++;
}

/* All live keys of `from` into the array that the tuple has now. */
static void
move_keys(struct trip_tuple *tuple, struct trip_era *era, const struct trip_tuple_array *from,
	void (*moved)(void *arg, uint32_t lead, uint64_t slot), void *arg)
{
	uint64_t slots = from->count * trip_tuple_slots(tuple->words), slot;
	struct trip_tuple_key key;

	tuple->keys = 0;
	tuple->dead = 0;
	for (slot = 0; slot < slots; slot++) {
		struct trip_tuple_place place = trip_tuple_place(from, tuple->words, slot);
		uint32_t lead = trip_tuple_load_lead(place) & ~TRIP_TUPLE_GOES_ON;

		if (lead == 0)
			continue;
		trip_tuple_load_key(place, tuple->words, &key);
		moved(arg, lead, trip_tuple_insert(tuple, era, &key, lead));
	}
}

int
trip_tuple_grow(struct trip_tuple *tuple, struct trip_era *era, struct trip_memory_retired *retired,
	void (*moved)(void *arg, uint32_t lead, uint64_t slot), void *arg)
{
	struct trip_tuple_array *old = trip_tuple_array_of(tuple), *array;
	/* A quarter more keys than are live: what fills the old one may be dead slots. */
	uint64_t count = buckets_for(tuple->keys + tuple->keys / 4, trip_tuple_slots(tuple->words));
	struct trip_tuple draft = *tuple;

	array = array_open(count, tuple->words);
	if (array == NULL)
		return -ENOMEM;
	atomic_init(&draft.array, array);
	move_keys(&draft, era, old, moved, arg);
	tuple->dead = 0;
	/* Release: all keys are in it. Partner: the readers' acquire of array. */
	atomic_store_explicit(&tuple->array, array, memory_order_release);
	trip_memory_retire(retired, old, era);
	return 0;
}
