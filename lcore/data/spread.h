/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How values are spread: a histogram that one thread adds to, and anybody copies, in memory shared
 * between processes. Its buckets are log-linear: one for each value below 8, and eight for each
 * doubling from there, so a bucket is at most an eighth as wide as what it holds is large.
 *
 * Nothing is published, and nobody waits: each bucket only grows, by plain stores of the one
 * writer. How many values there are is the sum of the buckets that were copied, so a copy agrees
 * with itself; what is added while it is made may be in it or not.
 */
#ifndef TRIP_SPREAD_H
#define TRIP_SPREAD_H

#include <stdatomic.h>
#include <stdint.h>

/* Of each doubling, 2^this. */
#define TRIP_SPREAD_BITS 3
/* 64 bits have 60 doublings from 8 on. */
#define TRIP_SPREAD_BUCKETS (62u << TRIP_SPREAD_BITS)

struct trip_spread {
	/* Of all values, modulo 2^64. */
	_Alignas(64) _Atomic uint64_t sum;
	_Atomic uint64_t buckets[TRIP_SPREAD_BUCKETS];
};

/* Zero memory is a spread of no values; likewise a copy. */
struct trip_spread_copy {
	uint64_t sum;
	uint64_t buckets[TRIP_SPREAD_BUCKETS];
};

/* Which bucket holds a value. */
static inline unsigned int
trip_spread_bucket(uint64_t value)
{
	/* Without a branch: what is below 8 is shifted by nothing, too. 63 ^ is 63 -, which x86 has
	 * in one instruction. */
	unsigned int shift = (63u ^ (unsigned int)__builtin_clzll(value | 1u << TRIP_SPREAD_BITS)) -
			     TRIP_SPREAD_BITS;

	return (shift << TRIP_SPREAD_BITS) + (unsigned int)(value >> shift);
}

/* The largest value that a bucket holds. */
static inline uint64_t
trip_spread_top(unsigned int bucket)
{
	unsigned int shift = bucket >> TRIP_SPREAD_BITS, in_it;

	if (shift <= 1)
		return bucket;
	in_it = (bucket & ((1u << TRIP_SPREAD_BITS) - 1)) + (1u << TRIP_SPREAD_BITS);
	return ((uint64_t)in_it << (shift - 1)) + ((UINT64_C(1) << (shift - 1)) - 1);
}

/* The one writer, all: relaxed, as nobody orders anything by them. */
static inline void
trip_spread_more(_Atomic uint64_t *of, uint64_t more)
{
	atomic_store_explicit(
		of, atomic_load_explicit(of, memory_order_relaxed) + more, memory_order_relaxed);
}

/* So many values that are all the same. */
static inline void
trip_spread_add(struct trip_spread *spread, uint64_t value, uint64_t times)
{
	trip_spread_more(&spread->buckets[trip_spread_bucket(value)], times);
	trip_spread_more(&spread->sum, value * times);
}

/* Any thread: what is there, on top of what the copy has. */
void trip_spread_copy(const struct trip_spread *spread, struct trip_spread_copy *copy);

/* How many values a copy has. */
uint64_t trip_spread_count(const struct trip_spread_copy *copy);

/* What so many of 1000 values are not above, to a bucket's width: its largest value. 1000: all of
 * them. 0: there are none. */
uint64_t trip_spread_quantile(const struct trip_spread_copy *copy, unsigned int permille);

#endif
