/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writer's side of a tuple knows of its arrays. */
#ifndef TRIP_TUPLE_PRIV_H
#define TRIP_TUPLE_PRIV_H

#include "tuple.h"

static inline struct trip_tuple_array *
trip_tuple_array_of(const struct trip_tuple *tuple)
{
	/* Relaxed: for writers, of whom there is one at a time. */
	return atomic_load_explicit(&tuple->array, memory_order_relaxed);
}

static inline uint64_t
trip_tuple_next_index(const struct trip_tuple_array *array, uint64_t index)
{
	return index + 1 < array->count ? index + 1 : 0;
}

static inline uint64_t
trip_tuple_home_index(const struct trip_tuple *tuple, const struct trip_tuple_key *key)
{
	const struct trip_tuple_array *array = trip_tuple_array_of(tuple);
	uint64_t hash = trip_tuple_hash(key, tuple->words, tuple->secret);

	return (uint64_t)(trip_tuple_bucket(array, tuple->words, hash) - array->buckets) /
	       trip_tuple_stride(tuple->words);
}

/* A slot, by its number in the array. */
struct trip_tuple_place {
	const uint8_t *bucket;
	unsigned int slot;
};

static inline struct trip_tuple_place
trip_tuple_place(const struct trip_tuple_array *array, unsigned int words, uint64_t slot)
{
	unsigned int slots = trip_tuple_slots(words);

	return (struct trip_tuple_place){array->buckets + slot / slots * trip_tuple_stride(words),
		(unsigned int)(slot % slots)};
}

static inline uint32_t
trip_tuple_load_lead(struct trip_tuple_place place)
{
	return atomic_load_explicit(
		trip_tuple_lead_at(place.bucket, place.slot), memory_order_relaxed);
}

static inline void
trip_tuple_load_key(struct trip_tuple_place place, unsigned int words, struct trip_tuple_key *key)
{
	key->half = atomic_load_explicit(
		trip_tuple_half_at(place.bucket, words, place.slot), memory_order_relaxed);
	for (unsigned int i = 0; i < words; i++)
		key->words[i] =
			atomic_load_explicit(trip_tuple_word_at(place.bucket, words, place.slot, i),
				memory_order_relaxed);
}

#endif
