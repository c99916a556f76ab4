/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of one mask: a hash table of whole buckets, keys inside them.
 *
 * A key is the words that the mask touches, masked; word 0 (what is in the packet) is always one of
 * them. A bucket is one cache line for keys of up to three words (5, 3 or 2 slots), two lines for
 * four to seven (3 or 2), four for more (3 or 2): keys first, then per slot 32 bits of what the key
 * leads to, then 32 bits of what the writer and the end of a search need. So a hit costs the lines
 * of one bucket, and nothing else of the table. What a key leads to, its "lead", is 0 for an empty
 * slot, else rule + 1, with TRIP_TUPLE_CHAIN set where it leads to several rules, or to one that is
 * not a plain terminal.
 *
 * Hashing is keyed by random words that never leave the process: keys are under the control of
 * whoever sends packets. The compare is always of the whole key.
 *
 * A key that finds its bucket full lies in the next one that is not, and each bucket that it passed
 * counts it: a search goes on while that count is not 0. Keys never move inside an array; growth
 * makes a new array. A slot that was emptied is dead, and not used again until no reader can still
 * be comparing its key (era.h); the lead is cleared first, so a reader that begins later sees an
 * empty slot whatever the key words hold.
 */
#ifndef TRIP_TUPLE_H
#define TRIP_TUPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "era.h"
#include "memory.h"
#include "pattern.h"

#define TRIP_TUPLE_CHAIN (1u << 31)
#define TRIP_TUPLE_LINE_WORDS 8

/* A bucket's last 32 bits: which slots are dead (the writer's own), and how many keys passed. */
#define TRIP_TUPLE_PASSED_MASK 0x00ffffffu
#define TRIP_TUPLE_DEAD_SHIFT 24

__extension__ typedef unsigned __int128 trip_tuple_u128;

struct trip_tuple_array {
	_Alignas(64) uint64_t count; /* buckets */
	uint64_t *died;              /* per bucket, the writer's: stamp of the last slot to die */
	_Alignas(64) uint64_t words[];
};

struct trip_tuple {
	/* Fixed while it is published. */
	uint32_t key_words;
	uint32_t required; /* presence bits that every packet must have here */
	uint8_t word[TRIP_PACKET_WORDS];
	uint64_t mask[TRIP_PACKET_WORDS]; /* of word[i] */
	uint64_t secret[TRIP_PACKET_WORDS + 1];
	/* Readers acquire it once a burst; partner: the release in trip_tuple_grow. */
	struct trip_tuple_array *_Atomic array;
	/* The writer's. */
	uint64_t keys;
	uint64_t dead;
	uint32_t rules;
	uint32_t also;
	uint32_t best; /* priorities: none of its rules is outside best .. worst */
	uint32_t worst;
};

#define TRIP_TUPLE_SLOTS(n) ((n) == 1 ? 5 : (n) == 3 || ((n) >= 5 && (n) <= 7) || (n) > 10 ? 2 : 3)
#define TRIP_TUPLE_STRIDE(n) (TRIP_TUPLE_LINE_WORDS * ((n) <= 3 ? 1 : (n) <= 7 ? 2 : 4))
#define TRIP_TUPLE_FITS(n)                                                    \
	(TRIP_TUPLE_SLOTS(n) * ((n)*8 + 4) + 4 <= TRIP_TUPLE_STRIDE(n) * 8 && \
		TRIP_TUPLE_SLOTS(n) <= 32 - TRIP_TUPLE_DEAD_SHIFT)

_Static_assert(TRIP_TUPLE_FITS(1) && TRIP_TUPLE_FITS(2) && TRIP_TUPLE_FITS(3) &&
		       TRIP_TUPLE_FITS(4) && TRIP_TUPLE_FITS(5) && TRIP_TUPLE_FITS(6) &&
		       TRIP_TUPLE_FITS(7) && TRIP_TUPLE_FITS(8) && TRIP_TUPLE_FITS(9) &&
		       TRIP_TUPLE_FITS(10) && TRIP_TUPLE_FITS(11) && TRIP_PACKET_WORDS == 11,
	"keys, leads and the last word of a bucket must not overlap");

static inline unsigned int
trip_tuple_slots(unsigned int key_words)
{
	return TRIP_TUPLE_SLOTS(key_words);
}

/* Of one bucket, in 64-bit words. */
static inline unsigned int
trip_tuple_stride(unsigned int key_words)
{
	return TRIP_TUPLE_STRIDE(key_words);
}

static inline _Atomic uint64_t *
trip_tuple_key(const uint64_t *bucket, unsigned int key_words, unsigned int slot)
{
	return (_Atomic uint64_t *)(uintptr_t)(bucket + slot * key_words);
}

static inline _Atomic uint32_t *
trip_tuple_lead(const uint64_t *bucket, unsigned int key_words, unsigned int slot)
{
	return (_Atomic uint32_t *)(uintptr_t)bucket + 2 * trip_tuple_stride(key_words) - 1 -
	       trip_tuple_slots(key_words) + slot;
}

static inline _Atomic uint32_t *
trip_tuple_passed(const uint64_t *bucket, unsigned int key_words)
{
	return (_Atomic uint32_t *)(uintptr_t)bucket + 2 * trip_tuple_stride(key_words) - 1;
}

static inline uint64_t
trip_tuple_fold(uint64_t a, uint64_t b)
{
	trip_tuple_u128 product = (trip_tuple_u128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Pairs of words are folded independently of each other: the multiplications overlap. */
static inline uint64_t
trip_tuple_hash(const uint64_t *key, unsigned int key_words, const uint64_t *secret)
{
	uint64_t hash = 0;
	unsigned int i;

	for (i = 0; i + 1 < key_words; i += 2)
		hash ^= trip_tuple_fold(key[i] ^ secret[i], key[i + 1] ^ secret[i + 1]);
	if (i < key_words)
		hash ^= trip_tuple_fold(key[i] ^ secret[i], secret[i + 1]);
	return hash;
}

static inline const uint64_t *
trip_tuple_bucket(const struct trip_tuple_array *array, unsigned int key_words, uint64_t hash)
{
	uint64_t index = (uint64_t)(((trip_tuple_u128)hash * array->count) >> 64);

	return array->words + index * trip_tuple_stride(key_words);
}

/* The lead of the key in this bucket alone, or 0. Free of branches for a key_words known at compile
 * time: which slot it is in cannot be predicted. */
static inline uint32_t
trip_tuple_probe(const uint64_t *bucket, unsigned int key_words, const uint64_t *key)
{
	unsigned int slot, i;
	uint32_t found = 0;

	for (slot = 0; slot < trip_tuple_slots(key_words); slot++) {
		const _Atomic uint64_t *words = trip_tuple_key(bucket, key_words, slot);
		/* Acquire: the key behind a lead was there before it. Partner: occupy(). */
		uint32_t lead = atomic_load_explicit(
			trip_tuple_lead(bucket, key_words, slot), memory_order_acquire);
		uint64_t differ = 0;

		for (i = 0; i < key_words; i++)
			differ |= key[i] ^ atomic_load_explicit(&words[i], memory_order_relaxed);
		found |= differ == 0 ? lead : 0;
	}
	return found;
}

/* Did a key whose home is here, or before, go further? */
static inline bool
trip_tuple_goes_on(const uint64_t *bucket, unsigned int key_words)
{
	return (atomic_load_explicit(trip_tuple_passed(bucket, key_words), memory_order_acquire) &
		       TRIP_TUPLE_PASSED_MASK) != 0;
}

/* The search past `bucket`, which does not hold the key and goes on. Returns the lead, or 0. */
uint32_t trip_tuple_search_on(const struct trip_tuple_array *array, unsigned int key_words,
	const uint64_t *bucket, const uint64_t *key);

/* The whole search, for one packet. */
uint32_t trip_tuple_search(const struct trip_tuple *tuple, const struct trip_packet_fields *fields);

/* The rest is the writers'. */

/* NULL: no memory. */
struct trip_tuple *trip_tuple_open(const struct trip_pattern *pattern);
void trip_tuple_close(struct trip_tuple *tuple);
bool trip_tuple_same_mask(const struct trip_tuple *tuple, const struct trip_pattern *pattern);

void trip_tuple_make_key(const struct trip_tuple *tuple, const uint64_t *words, uint64_t *key);

/* Slots are numbered through the array: bucket * slots + slot. */
#define TRIP_TUPLE_NO_SLOT UINT64_MAX
uint64_t trip_tuple_find(const struct trip_tuple *tuple, const uint64_t *key);
uint32_t trip_tuple_get(const struct trip_tuple *tuple, uint64_t slot);
void trip_tuple_set(struct trip_tuple *tuple, uint64_t slot, uint32_t lead);

/* Is there room for one more key? Otherwise grow first. */
bool trip_tuple_has_room(const struct trip_tuple *tuple);

/* A key that is not there yet, leading to `lead`; there is room. Returns its slot. */
uint64_t trip_tuple_insert(
	struct trip_tuple *tuple, struct trip_era *era, const uint64_t *key, uint32_t lead);
void trip_tuple_erase(struct trip_tuple *tuple, struct trip_era *era, uint64_t slot);

/*
 * A new array with room for more, in place of the old one, which is retired. Each key gets a new
 * slot, told by moved(arg, lead, slot). -ENOMEM: nothing has changed.
 */
int trip_tuple_grow(struct trip_tuple *tuple, struct trip_era *era,
	struct trip_memory_retired *retired, void (*moved)(void *arg, uint32_t lead, uint64_t slot),
	void *arg);

int trip_tuple_check(const struct trip_tuple *tuple);

#endif
