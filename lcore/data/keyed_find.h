/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a key is found; a part of keyed_priv.h, which includes it. */
#ifndef TRIP_KEYED_FIND_H
#define TRIP_KEYED_FIND_H

#if defined(__SSE2__) && !defined(TRIP_KEYED_PORTABLE)
#include <emmintrin.h>
#endif

#include "keyed_priv.h"

/* ---- hash -------------------------------------------------------------------------------------
 */

static inline uint64_t
keyed_turn(uint64_t word, unsigned int by)
{
	return word << by | word >> (64 - by);
}

static inline void
keyed_sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = keyed_turn(v[1], 13) ^ v[0];
	v[3] = keyed_turn(v[3], 16) ^ v[2];
	v[0] = keyed_turn(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = keyed_turn(v[1], 17) ^ v[2];
	v[3] = keyed_turn(v[3], 21) ^ v[0];
	v[2] = keyed_turn(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein) of so many words: what the secret becomes. */
static inline uint64_t
keyed_sip(const uint64_t *secret, const uint64_t *words, uint32_t count)
{
	const uint64_t length = (uint64_t)count * 8 << 56;
	uint64_t v[4] = {secret[0] ^ UINT64_C(0x736f6d6570736575),
		secret[1] ^ UINT64_C(0x646f72616e646f6d), secret[0] ^ UINT64_C(0x6c7967656e657261),
		secret[1] ^ UINT64_C(0x7465646279746573)};

	for (uint32_t i = 0; i < count; i++) {
		v[3] ^= words[i];
		keyed_sip_round(v);
		v[0] ^= words[i];
	}
	v[3] ^= length;
	keyed_sip_round(v);
	v[0] ^= length;
	v[2] ^= 0xff;
	for (unsigned int i = 0; i < 3; i++)
		keyed_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

__extension__ typedef unsigned __int128 keyed_u128;

/* NH of the words in pairs, and its two halves folded: keyed.h says what that is good for. */
static inline __attribute__((always_inline)) uint64_t
keyed_hash(const uint64_t *secret, const uint64_t *key, uint32_t words)
{
	keyed_u128 sum = 0;

	for (uint32_t i = 0; i < words; i += 2)
		sum += (keyed_u128)(key[i] + secret[i]) *
		       ((i + 1 < words ? key[i + 1] : 0) + secret[i + 1]);
	sum = (keyed_u128)((uint64_t)sum ^ secret[KEYED_SECRETS - 2]) *
	      ((uint64_t)(sum >> 64) ^ secret[KEYED_SECRETS - 1]);
	return (uint64_t)sum ^ (uint64_t)(sum >> 64);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static inline uint32_t
keyed_home(uint32_t lines, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * lines >> 32);
}

static inline uint32_t
keyed_next(const struct trip_keyed *table, uint32_t line)
{
	return line + 1 < table->lines ? line + 1 : 0;
}

/* Never 0, as a free slot is. */
static inline uint32_t
keyed_tag(uint32_t id_mask, uint64_t hash)
{
	uint32_t tag = (uint32_t)hash & ~id_mask;

	return tag != 0 ? tag : id_mask + 1;
}

/* Which slots are so, under a mask: bit i for slot i. */
#if defined(__SSE2__) && !defined(TRIP_KEYED_PORTABLE)
static inline uint32_t
keyed_match(const struct keyed_line *line, uint32_t mask, uint32_t want)
{
	const __m128i *quarters = (const __m128i *)(uintptr_t)line;
	const __m128i masks = _mm_set1_epi32((int)mask), wants = _mm_set1_epi32((int)want);
	/* By hand: gcc leaves a loop of four. */
#define QUARTER(i) _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(&quarters[i]), masks), wants)
	__m128i found = _mm_packs_epi16(
		_mm_packs_epi32(QUARTER(0), QUARTER(1)), _mm_packs_epi32(QUARTER(2), QUARTER(3)));
#undef QUARTER

	return (uint32_t)_mm_movemask_epi8(found) & ((1u << KEYED_SLOTS) - 1);
}
#else
static inline uint32_t
keyed_match(const struct keyed_line *line, uint32_t mask, uint32_t want)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < KEYED_SLOTS; i++)
		found |= (uint32_t)((line->slots[i] & mask) == want) << i;
	return found;
}
#endif

/* keyed_line.c: into and out of the lines. */
uint32_t trip_keyed_line_find(const struct trip_keyed *table, const uint64_t *key, uint64_t hash);
void trip_keyed_line_insert(struct trip_keyed *table, uint64_t hash, uint32_t entry);
void trip_keyed_line_erase(struct trip_keyed *table, uint64_t hash, uint32_t entry);
void trip_keyed_line_clear(struct trip_keyed *table);

/* The same, where most keys are: in their home. */
static inline struct keyed_line *
keyed_home_line(const struct trip_keyed *table, uint64_t hash)
{
	return &keyed_lines(table)[keyed_home(table->lines, hash)];
}

static inline uint32_t
keyed_line_find(const struct trip_keyed *table, const uint64_t *key, uint64_t hash)
{
	const struct keyed_line *line = keyed_home_line(table, hash);

	if (keyed_match(line, ~table->id_mask, keyed_tag(table->id_mask, hash)) == 0 &&
		line->passed == 0)
		return TRIP_KEYED_NONE;
	return trip_keyed_line_find(table, key, hash);
}

static inline void
keyed_line_insert(struct trip_keyed *table, uint64_t hash, uint32_t entry)
{
	struct keyed_line *line = keyed_home_line(table, hash);
	uint32_t slots = keyed_match(line, UINT32_MAX, 0);

	if (slots != 0)
		keyed_put(&line->slots[__builtin_ctz(slots)],
			keyed_tag(table->id_mask, hash) | (entry + 1));
	else
		trip_keyed_line_insert(table, hash, entry);
}

static inline void
keyed_line_erase(struct trip_keyed *table, uint64_t hash, uint32_t entry)
{
	struct keyed_line *line = keyed_home_line(table, hash);
	uint32_t slots = keyed_match(line, table->id_mask, entry + 1);

	if (slots != 0)
		keyed_put(&line->slots[__builtin_ctz(slots)], 0);
	else
		trip_keyed_line_erase(table, hash, entry);
}

#endif
