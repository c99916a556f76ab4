/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of one mask: a hash table of whole buckets, keys inside them.
 *
 * A key is one 32-bit half of the packet's words and any number of whole words, masked; 0 for the
 * half where there is none. Which presence bits a packet must have is the same for all keys of a
 * table and not part of them: a packet that has others is looked up in a bucket that is empty.
 *
 * A bucket of keys of up to three words is one cache line (8, 4, 2, 2 slots for 0 to 3 words), of
 * up to seven words two lines (3 or 2 slots), of more four lines (3 slots): a hit costs the lines
 * of one bucket and nothing else of the table. In a bucket, first come the leads of all slots, then
 * the halves of all slots, then the first words of all slots, and so on; so a search compares all
 * slots at once where the processor can. A lead is 0 for an empty slot, else rule + 1, with
 * TRIP_TUPLE_CHAIN set where it leads to several rules, or to one that is not a plain terminal. In
 * the first lead of a bucket TRIP_TUPLE_GOES_ON says, of the bucket and not of the slot, that a key
 * which found it full lies further on: in the next bucket that is not.
 *
 * Hashing is keyed by random words that never leave the process: keys are under the control of
 * whoever sends packets. The compare is always of the whole key.
 *
 * Keys never move inside an array; growth makes a new array. A slot that was emptied is dead, and
 * not used again until no reader can still be comparing its key (era.h); the lead is cleared first,
 * so a reader that begins later sees an empty slot whatever the key words hold.
 */
#ifndef TRIP_TUPLE_H
#define TRIP_TUPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "era.h"
#include "memory.h"
#include "pattern.h"

#define TRIP_TUPLE_CHAIN (1u << 31)
#define TRIP_TUPLE_GOES_ON (1u << 30)
#define TRIP_TUPLE_RULE (TRIP_TUPLE_GOES_ON - 1) /* of a lead: rule + 1 */
#define TRIP_TUPLE_WORDS_MAX (TRIP_PACKET_WORDS - 1)
#define TRIP_TUPLE_STRIDE_MAX 256

__extension__ typedef unsigned __int128 trip_tuple_u128;

struct trip_tuple_key {
	uint32_t half;
	uint64_t words[TRIP_TUPLE_WORDS_MAX];
};

/* What only the writer knows of a bucket. */
struct trip_tuple_side {
	uint32_t died;        /* stamp of its last slot to die: the lower half */
	uint32_t dead : 8;    /* set of slots */
	uint32_t passed : 24; /* keys that found it full */
};

struct trip_tuple_array {
	_Alignas(64) uint64_t count;  /* buckets */
	struct trip_tuple_side *side; /* of each bucket */
	_Alignas(64) uint8_t buckets[];
};

struct trip_tuple {
	/* Fixed while it is published. */
	uint32_t id;        /* by which its table knows it */
	uint32_t words;     /* of a key */
	uint32_t bits_mask; /* of a packet's presence bits, these must be */
	uint32_t bits_value;
	uint32_t half; /* of a packet, which is the key's */
	uint32_t half_mask;
	uint8_t word[TRIP_TUPLE_WORDS_MAX]; /* of a packet, which are the key's */
	uint64_t mask[TRIP_TUPLE_WORDS_MAX];
	uint64_t secret[TRIP_TUPLE_WORDS_MAX + 1];
	uint64_t packet_mask[TRIP_PACKET_WORDS];
	/* Readers acquire it once a burst; partner: the release in trip_tuple_grow. */
	struct trip_tuple_array *_Atomic array;
	/* The writer's. */
	uint64_t keys;
	uint64_t dead;
	uint32_t rules;
	uint32_t also;
	uint64_t best; /* ranks (table.h): none of its rules is outside best .. worst */
	uint64_t worst;
};

/* A bucket that is always empty. */
extern const uint8_t trip_tuple_empty[TRIP_TUPLE_STRIDE_MAX];

/* Of one bucket, in bytes. */
static inline unsigned int
trip_tuple_stride(unsigned int words)
{
	return words <= 3 ? 64 : words <= 7 ? 128 : TRIP_TUPLE_STRIDE_MAX;
}

static inline unsigned int
trip_tuple_slots(unsigned int words)
{
	return trip_tuple_stride(words) / (8 * (words + 1));
}

static inline _Atomic uint32_t *
trip_tuple_lead_at(const uint8_t *bucket, unsigned int slot)
{
	return (_Atomic uint32_t *)(uintptr_t)bucket + slot;
}

static inline _Atomic uint32_t *
trip_tuple_half_at(const uint8_t *bucket, unsigned int words, unsigned int slot)
{
	return (_Atomic uint32_t *)(uintptr_t)bucket + trip_tuple_slots(words) + slot;
}

static inline _Atomic uint64_t *
trip_tuple_word_at(const uint8_t *bucket, unsigned int words, unsigned int slot, unsigned int word)
{
	return (_Atomic uint64_t *)(uintptr_t)bucket + trip_tuple_slots(words) * (word + 1) + slot;
}

static inline uint64_t
trip_tuple_fold(uint64_t a, uint64_t b)
{
	trip_tuple_u128 product = (trip_tuple_u128)a * b;

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* Pairs are folded independently of each other: the multiplications overlap. */
static inline uint64_t
trip_tuple_hash(const struct trip_tuple_key *key, unsigned int words, const uint64_t *secret)
{
	uint64_t first = words > 0 ? key->words[0] ^ secret[1] : secret[1];
	uint64_t hash = trip_tuple_fold(key->half ^ secret[0], first);
	unsigned int i;

	for (i = 1; i + 1 < words; i += 2)
		hash ^= trip_tuple_fold(
			key->words[i] ^ secret[i + 1], key->words[i + 1] ^ secret[i + 2]);
	if (i < words)
		hash ^= trip_tuple_fold(key->words[i] ^ secret[i + 1], secret[0]);
	return hash;
}

static inline void
trip_tuple_key(const struct trip_tuple *tuple, unsigned int words,
	const struct trip_packet_fields *fields, struct trip_tuple_key *key)
{
	key->half = fields->halves[tuple->half] & tuple->half_mask;
	for (unsigned int i = 0; i < words; i++)
		key->words[i] = fields->words[tuple->word[i]] & tuple->mask[i];
}

/* The upper part of the hash times the count: in order of the hash, so growth is a walk through
 * two arrays at once. */
static inline const uint8_t *
trip_tuple_bucket(const struct trip_tuple_array *array, unsigned int words, uint64_t hash)
{
	uint64_t index = (uint64_t)(((trip_tuple_u128)hash * array->count) >> 64);

	return array->buckets + index * trip_tuple_stride(words);
}

/* Where a packet's key is, if it is anywhere. */
static inline const uint8_t *
trip_tuple_home(const struct trip_tuple *tuple, const struct trip_tuple_array *array,
	unsigned int words, const struct trip_packet_fields *fields,
	const struct trip_tuple_key *key)
{
	const uint8_t *bucket =
		trip_tuple_bucket(array, words, trip_tuple_hash(key, words, tuple->secret));

	return (fields->halves[0] & tuple->bits_mask) == tuple->bits_value ? bucket
									   : trip_tuple_empty;
}

static inline const uint8_t *
trip_tuple_next(const struct trip_tuple_array *array, unsigned int words, const uint8_t *bucket)
{
	bucket += trip_tuple_stride(words);
	return bucket < array->buckets + array->count * trip_tuple_stride(words) ? bucket
										 : array->buckets;
}

static inline uint32_t
trip_tuple_goes_on(const uint8_t *bucket)
{
	/* Acquire, so that a key which went further before this bit was set is found there. */
	return atomic_load_explicit(trip_tuple_lead_at(bucket, 0), memory_order_acquire) &
	       TRIP_TUPLE_GOES_ON;
}

/* One slot after the other, but free of branches: which one a key is in cannot be predicted. */
static inline uint32_t
trip_tuple_probe_each(const uint8_t *bucket, unsigned int words, const struct trip_tuple_key *key)
{
	unsigned int slot;
	uint32_t found = 0;

	for (slot = 0; slot < trip_tuple_slots(words); slot++) {
		/* Acquire: the key was there before its lead. Partner: store_lead() of tuple.c. */
		uint32_t lead = atomic_load_explicit(
			trip_tuple_lead_at(bucket, slot), memory_order_acquire);
		uint64_t differ =
			key->half ^ atomic_load_explicit(trip_tuple_half_at(bucket, words, slot),
					    memory_order_relaxed);

		for (unsigned int i = 0; i < words; i++)
			differ |= key->words[i] ^
				  atomic_load_explicit(trip_tuple_word_at(bucket, words, slot, i),
					  memory_order_relaxed);
		found |= lead & (0 - (uint32_t)(differ == 0));
	}
	return found & ~TRIP_TUPLE_GOES_ON;
}

/* ThreadSanitizer would call the vector loads races. */
#if defined(TRIP_TUPLE_PORTABLE)
#elif defined(__SANITIZE_THREAD__)
#define TRIP_TUPLE_PORTABLE
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRIP_TUPLE_PORTABLE
#endif
#endif

#if defined(__SSE4_1__) && !defined(TRIP_TUPLE_PORTABLE)
#define TRIP_TUPLE_AT_ONCE 1

/* The only lane that is not 0. */
static inline uint32_t
trip_tuple_only(__m128i lanes)
{
	lanes = _mm_or_si128(lanes, _mm_shuffle_epi32(lanes, 0x4e));
	lanes = _mm_or_si128(lanes, _mm_shuffle_epi32(lanes, 0xb1));
	return (uint32_t)_mm_cvtsi128_si32(lanes) & ~TRIP_TUPLE_GOES_ON;
}

/*
 * All slots at once, for keys of no word (8 slots) and of one (4). x86 loads in the order of the
 * program, so the leads, loaded first, are acquired as in trip_tuple_probe_each; the signal fence
 * keeps the compiler to that order. No lane is torn: each is an aligned 32 or 64 bits.
 */
static inline uint32_t
trip_tuple_probe_at_once(
	const uint8_t *bucket, unsigned int words, const struct trip_tuple_key *key)
{
	const __m128i *lines = (const __m128i *)(uintptr_t)bucket;
	__m128i half = _mm_set1_epi32((int)key->half);
	__m128i leads = _mm_load_si128(&lines[0]), more, low, high, word;

	if (words == 0) {
		more = _mm_load_si128(&lines[1]);
		atomic_signal_fence(memory_order_acquire);
		low = _mm_and_si128(leads, _mm_cmpeq_epi32(_mm_load_si128(&lines[2]), half));
		high = _mm_and_si128(more, _mm_cmpeq_epi32(_mm_load_si128(&lines[3]), half));
		return trip_tuple_only(_mm_or_si128(low, high));
	}
	atomic_signal_fence(memory_order_acquire);
	word = _mm_set1_epi64x((long long)key->words[0]);
	leads = _mm_and_si128(leads, _mm_cmpeq_epi32(_mm_load_si128(&lines[1]), half));
	low = _mm_cmpeq_epi64(_mm_load_si128(&lines[2]), word);
	high = _mm_cmpeq_epi64(_mm_load_si128(&lines[3]), word);
	/* Each comparison of 64 bits said the same of both halves: one of them will do. */
	word = _mm_castps_si128(
		_mm_shuffle_ps(_mm_castsi128_ps(low), _mm_castsi128_ps(high), 0x88));
	return trip_tuple_only(_mm_and_si128(leads, word));
}
#else
#define TRIP_TUPLE_AT_ONCE 0

static inline uint32_t
trip_tuple_probe_at_once(
	const uint8_t *bucket, unsigned int words, const struct trip_tuple_key *key)
{
	return trip_tuple_probe_each(bucket, words, key);
}
#endif

/* The lead of the key in this bucket alone, or 0. */
static inline uint32_t
trip_tuple_probe(const uint8_t *bucket, unsigned int words, const struct trip_tuple_key *key)
{
	return TRIP_TUPLE_AT_ONCE && words <= 1 ? trip_tuple_probe_at_once(bucket, words, key)
						: trip_tuple_probe_each(bucket, words, key);
}

/* The whole search, for one packet. */
uint32_t trip_tuple_search(const struct trip_tuple *tuple, const struct trip_packet_fields *fields);

/* The rest is the writers'. */

/* NULL: no memory. */
struct trip_tuple *trip_tuple_open(const struct trip_pattern *pattern);
void trip_tuple_close(struct trip_tuple *tuple);
bool trip_tuple_same_mask(const struct trip_tuple *tuple, const struct trip_pattern *pattern);

/* The key of a pattern with the tuple's mask. */
void trip_tuple_make_key(const struct trip_tuple *tuple, const struct trip_pattern *pattern,
	struct trip_tuple_key *key);

/* What of a pattern's mask and presence bits the keys of a tuple are made of: fills in the first of
 * its fields, from all 0. */
void trip_tuple_lay_out(struct trip_tuple *tuple, const struct trip_pattern *pattern);

/* The values of a key's pattern, whose mask is the tuple's. */
void trip_tuple_unpack(const struct trip_tuple *tuple, const struct trip_tuple_key *key,
	struct trip_pattern *pattern);

/* The pattern of a slot's key. */
void trip_tuple_pattern(
	const struct trip_tuple *tuple, uint64_t slot, struct trip_pattern *pattern);

/* Slots are numbered through the array: bucket * slots + slot. */
#define TRIP_TUPLE_NO_SLOT UINT64_MAX
uint64_t trip_tuple_find(const struct trip_tuple *tuple, const struct trip_tuple_key *key);
uint32_t trip_tuple_get(const struct trip_tuple *tuple, uint64_t slot);
void trip_tuple_set(struct trip_tuple *tuple, uint64_t slot, uint32_t lead);

/* Is there room for one more key? Otherwise grow first. */
bool trip_tuple_has_room(const struct trip_tuple *tuple);

/* A key that is not there yet, leading to `lead`; there is room. Returns its slot. */
uint64_t trip_tuple_insert(struct trip_tuple *tuple, struct trip_era *era,
	const struct trip_tuple_key *key, uint32_t lead);
void trip_tuple_erase(struct trip_tuple *tuple, struct trip_era *era, uint64_t slot);

/*
 * A new array with room for more, in place of the old one, which is retired. Each key gets a new
 * slot, told by moved(arg, lead, slot). -ENOMEM: nothing has changed.
 */
int trip_tuple_grow(struct trip_tuple *tuple, struct trip_era *era,
	struct trip_memory_retired *retired, void (*moved)(void *arg, uint32_t lead, uint64_t slot),
	void *arg);

#endif
