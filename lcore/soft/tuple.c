/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tuple.h"

#define BUCKETS_MIN 16

/* Presence bits that a pattern never demands to be 0. */
#define ALWAYS_ONE (~(TRIP_HAS_TAGS_MASK | TRIP_HAS_TAGGED))

/* At most six slots in ten are taken: then about one key in fourteen is not in its first bucket. */
static bool
is_full(uint64_t keys, uint64_t buckets, unsigned int slots)
{
	return keys * 10 >= buckets * slots * 6;
}

static struct trip_tuple_array *
array_open(uint64_t count, unsigned int key_words)
{
	size_t words = (size_t)count * trip_tuple_stride(key_words);
	struct trip_tuple_array *array =
		trip_memory_take(sizeof(*array) + (words + count) * sizeof(uint64_t));

	if (array == NULL)
		return NULL;
	array->count = count;
	array->died = array->words + words;
	return array;
}

static struct trip_tuple_array *
array_of(const struct trip_tuple *tuple)
{
	/* Relaxed: for writers, of whom there is one at a time. */
	return atomic_load_explicit(&tuple->array, memory_order_relaxed);
}

static uint64_t *
bucket_at(const struct trip_tuple *tuple, uint64_t index)
{
	return array_of(tuple)->words + index * trip_tuple_stride(tuple->key_words);
}

static uint64_t
home_of(const struct trip_tuple *tuple, const uint64_t *key)
{
	const struct trip_tuple_array *array = array_of(tuple);
	uint64_t hash = trip_tuple_hash(key, tuple->key_words, tuple->secret);

	return (uint64_t)(trip_tuple_bucket(array, tuple->key_words, hash) - array->words) /
	       trip_tuple_stride(tuple->key_words);
}

static uint32_t
load_passed(const uint64_t *bucket, unsigned int key_words)
{
	return atomic_load_explicit(trip_tuple_passed(bucket, key_words), memory_order_relaxed);
}

static void
store_passed(const uint64_t *bucket, unsigned int key_words, uint32_t passed)
{
	atomic_store_explicit(trip_tuple_passed(bucket, key_words), passed, memory_order_release);
}

static uint32_t
load_lead(const uint64_t *bucket, unsigned int key_words, unsigned int slot)
{
	return atomic_load_explicit(trip_tuple_lead(bucket, key_words, slot), memory_order_relaxed);
}

uint32_t
trip_tuple_search_on(const struct trip_tuple_array *array, unsigned int key_words,
	const uint64_t *bucket, const uint64_t *key)
{
	const uint64_t *end = array->words + array->count * trip_tuple_stride(key_words);
	uint32_t lead = 0;
	uint64_t left;

	/* Bounded by the array: a writer may change counts while we walk. */
	for (left = array->count; left > 1 && lead == 0; left--) {
		if (!trip_tuple_goes_on(bucket, key_words))
			return 0;
		bucket += trip_tuple_stride(key_words);
		if (bucket == end)
			bucket = array->words;
		lead = trip_tuple_probe(bucket, key_words, key);
	}
	return lead;
}

void
trip_tuple_make_key(const struct trip_tuple *tuple, const uint64_t *words, uint64_t *key)
{
	uint32_t i;

	for (i = 0; i < tuple->key_words; i++)
		key[i] = words[tuple->word[i]] & tuple->mask[i];
}

uint32_t
trip_tuple_search(const struct trip_tuple *tuple, const struct trip_packet_fields *fields)
{
	const struct trip_tuple_array *array =
		atomic_load_explicit(&tuple->array, memory_order_acquire);
	uint64_t key[TRIP_PACKET_WORDS];
	const uint64_t *bucket;
	uint32_t lead;

	trip_tuple_make_key(tuple, fields->words, key);
	bucket = trip_tuple_bucket(
		array, tuple->key_words, trip_tuple_hash(key, tuple->key_words, tuple->secret));
	lead = trip_tuple_probe(bucket, tuple->key_words, key);
	if (lead != 0)
		return lead;
	return trip_tuple_search_on(array, tuple->key_words, bucket, key);
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
	uint32_t word, required;

	if (tuple == NULL)
		return NULL;
	for (word = 0; word < TRIP_PACKET_WORDS; word++) {
		if (word > 0 && pattern->mask[word] == 0)
			continue;
		tuple->word[tuple->key_words] = (uint8_t)word;
		tuple->mask[tuple->key_words++] = pattern->mask[word];
	}
	memcpy(&required, (const uint8_t *)pattern->mask + TRIP_PLACE_BITS, sizeof(required));
	tuple->required = required & ALWAYS_ONE;
	tuple->best = UINT32_MAX;
	array = array_open(BUCKETS_MIN, tuple->key_words);
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
	trip_memory_give(array_of(tuple));
	trip_memory_give(tuple);
}

bool
trip_tuple_same_mask(const struct trip_tuple *tuple, const struct trip_pattern *pattern)
{
	uint32_t word, i = 0;

	for (word = 0; word < TRIP_PACKET_WORDS; word++) {
		uint64_t mask = 0;

		if (i < tuple->key_words && tuple->word[i] == word)
			mask = tuple->mask[i++];
		if (mask != pattern->mask[word])
			return false;
	}
	return true;
}

static bool
holds_key(const struct trip_tuple *tuple, const uint64_t *bucket, unsigned int slot,
	const uint64_t *key)
{
	const _Atomic uint64_t *words = trip_tuple_key(bucket, tuple->key_words, slot);
	uint32_t i;

	if (load_lead(bucket, tuple->key_words, slot) == 0)
		return false;
	for (i = 0; i < tuple->key_words; i++)
		if (atomic_load_explicit(&words[i], memory_order_relaxed) != key[i])
			return false;
	return true;
}

uint64_t
trip_tuple_find(const struct trip_tuple *tuple, const uint64_t *key)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words), slot;
	uint64_t index = home_of(tuple, key), count = array_of(tuple)->count, left;

	for (left = count; left > 0; left--) {
		const uint64_t *bucket = bucket_at(tuple, index);

		for (slot = 0; slot < slots; slot++)
			if (holds_key(tuple, bucket, slot, key))
				return index * slots + slot;
		if ((load_passed(bucket, tuple->key_words) & TRIP_TUPLE_PASSED_MASK) == 0)
			break;
		index = index + 1 < count ? index + 1 : 0;
	}
	return TRIP_TUPLE_NO_SLOT;
}

uint32_t
trip_tuple_get(const struct trip_tuple *tuple, uint64_t slot)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words);

	return load_lead(bucket_at(tuple, slot / slots), tuple->key_words, slot % slots);
}

void
trip_tuple_set(struct trip_tuple *tuple, uint64_t slot, uint32_t lead)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words);

	/* Release: the rules that a lead leads to were written before. Partner: the acquire in
	 * trip_tuple_probe. */
	atomic_store_explicit(
		trip_tuple_lead(bucket_at(tuple, slot / slots), tuple->key_words, slot % slots),
		lead, memory_order_release);
}

bool
trip_tuple_has_room(const struct trip_tuple *tuple)
{
	/* Dead slots count: nobody knows when the last reader will be done with them. */
	return !is_full(tuple->keys + tuple->dead, array_of(tuple)->count,
		trip_tuple_slots(tuple->key_words));
}

/* A slot of this bucket that may be written, or `slots`. */
static unsigned int
free_slot(struct trip_tuple *tuple, struct trip_era *era, uint64_t index, unsigned int slots)
{
	uint64_t *bucket = bucket_at(tuple, index);
	uint32_t passed = load_passed(bucket, tuple->key_words);
	uint32_t dead = passed >> TRIP_TUPLE_DEAD_SHIFT;
	unsigned int slot;

	if (dead != 0 && trip_era_safe(era, array_of(tuple)->died[index])) {
		tuple->dead -= (uint64_t)__builtin_popcount(dead);
		store_passed(bucket, tuple->key_words, passed & TRIP_TUPLE_PASSED_MASK);
		dead = 0;
	}
	for (slot = 0; slot < slots; slot++)
		if ((dead >> slot & 1) == 0 && load_lead(bucket, tuple->key_words, slot) == 0)
			break;
	return slot;
}

static void
occupy(struct trip_tuple *tuple, uint64_t slot, const uint64_t *key, uint32_t lead)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words);
	_Atomic uint64_t *words =
		trip_tuple_key(bucket_at(tuple, slot / slots), tuple->key_words, slot % slots);
	uint32_t i;

	for (i = 0; i < tuple->key_words; i++)
		atomic_store_explicit(&words[i], key[i], memory_order_relaxed);
	trip_tuple_set(tuple, slot, lead);
}

uint64_t
trip_tuple_insert(
	struct trip_tuple *tuple, struct trip_era *era, const uint64_t *key, uint32_t lead)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words), slot;
	uint64_t index = home_of(tuple, key), count = array_of(tuple)->count;

	for (;;) {
		uint64_t *bucket = bucket_at(tuple, index);

		slot = free_slot(tuple, era, index, slots);
		if (slot < slots)
			break;
		store_passed(bucket, tuple->key_words, load_passed(bucket, tuple->key_words) + 1);
		index = index + 1 < count ? index + 1 : 0;
	}
	occupy(tuple, index * slots + slot, key, lead);
	tuple->keys++;
	return index * slots + slot;
}

void
trip_tuple_erase(struct trip_tuple *tuple, struct trip_era *era, uint64_t slot)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words);
	uint64_t at = slot / slots, index, count = array_of(tuple)->count;
	uint64_t *bucket = bucket_at(tuple, at);
	const uint64_t *key = bucket + slot % slots * tuple->key_words;

	trip_tuple_set(tuple, slot, 0);
	array_of(tuple)->died[at] = trip_era_retire(era);
	store_passed(bucket, tuple->key_words,
		load_passed(bucket, tuple->key_words) |
			1u << (TRIP_TUPLE_DEAD_SHIFT + slot % slots));
	for (index = home_of(tuple, key); index != at; index = index + 1 < count ? index + 1 : 0) {
		bucket = bucket_at(tuple, index);
		store_passed(bucket, tuple->key_words, load_passed(bucket, tuple->key_words) - 1);
	}
	tuple->keys--;
	tuple->dead++;
}

/* All live keys of `from` into the array that the tuple has now. */
static void
move_keys(struct trip_tuple *tuple, struct trip_era *era, const struct trip_tuple_array *from,
	void (*moved)(void *arg, uint32_t lead, uint64_t slot), void *arg)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words), slot;
	uint64_t index;

	tuple->keys = 0;
	tuple->dead = 0;
	for (index = 0; index < from->count; index++) {
		const uint64_t *bucket = from->words + index * trip_tuple_stride(tuple->key_words);

		for (slot = 0; slot < slots; slot++) {
			uint32_t lead = load_lead(bucket, tuple->key_words, slot);

			if (lead != 0)
				moved(arg, lead,
					trip_tuple_insert(tuple, era,
						bucket + slot * tuple->key_words, lead));
		}
	}
}

int
trip_tuple_grow(struct trip_tuple *tuple, struct trip_era *era, struct trip_memory_retired *retired,
	void (*moved)(void *arg, uint32_t lead, uint64_t slot), void *arg)
{
	struct trip_tuple_array *old = array_of(tuple), *array;
	unsigned int slots = trip_tuple_slots(tuple->key_words);
	uint64_t count = BUCKETS_MIN;
	struct trip_tuple draft = *tuple;

	/* Room for half as many again: most of what fills it may be dead slots. */
	while (is_full(tuple->keys + tuple->keys / 2 + 1, count, slots))
		count *= 2;
	array = array_open(count, tuple->key_words);
	if (array == NULL)
		return -ENOMEM;
	atomic_init(&draft.array, array);
	move_keys(&draft, era, old, moved, arg);
	tuple->keys = draft.keys;
	tuple->dead = 0;
	/* Release: all keys are in it. Partner: the readers' acquire of array. */
	atomic_store_explicit(&tuple->array, array, memory_order_release);
	trip_memory_retire(retired, old, era);
	return 0;
}

int
trip_tuple_check(const struct trip_tuple *tuple)
{
	unsigned int slots = trip_tuple_slots(tuple->key_words), slot;
	uint64_t count = array_of(tuple)->count, index, keys = 0, dead = 0, passes = 0, due = 0;

	for (index = 0; index < count; index++) {
		const uint64_t *bucket = bucket_at(tuple, index);
		uint32_t passed = load_passed(bucket, tuple->key_words);

		passes += passed & TRIP_TUPLE_PASSED_MASK;
		dead += (uint64_t)__builtin_popcount(passed >> TRIP_TUPLE_DEAD_SHIFT);
		for (slot = 0; slot < slots; slot++) {
			const uint64_t *key = bucket + slot * tuple->key_words;

			if (load_lead(bucket, tuple->key_words, slot) == 0)
				continue;
			keys++;
			due += (index + count - home_of(tuple, key)) % count;
			if (trip_tuple_find(tuple, key) != index * slots + slot) {
				fprintf(stderr, "tuple: slot %llu is not found by its own key\n",
					(unsigned long long)(index * slots + slot));
				return -EINVAL;
			}
		}
	}
	if (keys == tuple->keys && dead == tuple->dead && passes == due)
		return 0;
	fprintf(stderr, "tuple: %llu keys of %llu, %llu dead of %llu, %llu passes of %llu\n",
		(unsigned long long)keys, (unsigned long long)tuple->keys, (unsigned long long)dead,
		(unsigned long long)tuple->dead, (unsigned long long)passes,
		(unsigned long long)due);
	return -EINVAL;
}
