/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of one flow on one queue: a cache line, and a budget that makes it ring.
 *
 * Writers. `packets` and `bytes` have one writer, the lcore that polls the queue; they are written
 * by plain loads and stores, never by read-modify-write. The two limits have one writer, the home
 * of the counter that the flow feeds. `crossed_tsc` is set by the queue and taken by the home.
 *
 * Protocol. A crossing must be seen by one of the two, whatever the interleaving:
 *
 *	queue (each burst)			home (each new budget)
 *	Q1 store packets, bytes			H1 store packets_limit, bytes_limit
 *	Q2 fence seq_cst, once a burst		H2 fence seq_cst
 *	Q3 load limits, ring if reached		H3 load counts, act if reached
 *
 * This is the store-buffer pattern: with both fences, Q3 sees H1 or H3 sees Q1. So after both have
 * run, a count at or above its limit has been noticed by somebody. The queue rings in every burst
 * in which a count that it touched is at or above its limit, not in the first one only: ringing a
 * rung doorbell costs two loads, and a queue that was killed between the store and the ring is
 * repaired by the next burst of whoever polls the queue after it.
 *
 * Splitting. A distance of R left to a threshold, over S sources (queues and flows that feed the
 * counter), is handed out as ceil(R / S) to each, on top of the count sampled from it. If every
 * source has grown by less than its share, that is by ceil(R / S) - 1 at most, all have grown by
 * S * (ceil(R / S) - 1) < R together: a sum that has reached the threshold has a source that has
 * reached its limit, and it rang in the very burst that took it there. All shares together are at
 * most R + S - 1, so a false ring (the sum not there yet) costs one more split, and each split at
 * least divides by S what is left: log_S(R) of them before the last.
 */
#ifndef TRIP_COUNT_H
#define TRIP_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TRIP_COUNT_NO_LIMIT UINT64_MAX

enum trip_count_which {
	TRIP_COUNT_PACKETS = 1,
	TRIP_COUNT_BYTES = 2,
};

struct trip_count {
	_Alignas(64) _Atomic uint64_t packets;
	_Atomic uint64_t bytes;
	_Atomic uint64_t packets_limit; /* TRIP_COUNT_NO_LIMIT: nobody cares */
	_Atomic uint64_t bytes_limit;
	_Atomic uint64_t crossed_tsc; /* first crossing since the home last took it, 0: none */
	uint64_t unused[3];
};

_Static_assert(sizeof(struct trip_count) == 64, "a flow's counts on a queue are one cache line");

/* A line before anybody else can reach it: zero counts and no limits. */
static inline void
trip_count_init(struct trip_count *count)
{
	atomic_init(&count->packets, 0);
	atomic_init(&count->bytes, 0);
	atomic_init(&count->packets_limit, TRIP_COUNT_NO_LIMIT);
	atomic_init(&count->bytes_limit, TRIP_COUNT_NO_LIMIT);
	atomic_init(&count->crossed_tsc, 0);
	count->unused[0] = count->unused[1] = count->unused[2] = 0;
}

/* Q1, on the queue's lcore only. */
static inline void
trip_count_add(struct trip_count *count, uint64_t packets, uint64_t bytes)
{
	/* One writer: relaxed loads and stores lose nothing. Released by the fence of Q2. */
	atomic_store_explicit(&count->packets,
		atomic_load_explicit(&count->packets, memory_order_relaxed) + packets,
		memory_order_relaxed);
	atomic_store_explicit(&count->bytes,
		atomic_load_explicit(&count->bytes, memory_order_relaxed) + bytes,
		memory_order_relaxed);
}

/* Q2: after all lines of a burst were stored, before any limit is read. Partner: H2. */
static inline void
trip_count_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

/* Q3, and H3: which of the counts are at or above their limits, a set of trip_count_which. */
static inline unsigned int
trip_count_reached(const struct trip_count *count)
{
	unsigned int which = 0;

	/* Relaxed: the fences of Q2 and H2 order these against the other side's stores. */
	if (atomic_load_explicit(&count->packets, memory_order_relaxed) >=
		atomic_load_explicit(&count->packets_limit, memory_order_relaxed))
		which |= TRIP_COUNT_PACKETS;
	if (atomic_load_explicit(&count->bytes, memory_order_relaxed) >=
		atomic_load_explicit(&count->bytes_limit, memory_order_relaxed))
		which |= TRIP_COUNT_BYTES;
	return which;
}

/* The queue found the line reached at `tsc`: keep the earliest moment that the home has not taken.
 */
static inline void
trip_count_cross(struct trip_count *count, uint64_t tsc)
{
	/* Only the queue stores a time here, so load and store need not be one step: the home
	 * can only make it 0 in between, and then this burst's time is the right one. */
	if (atomic_load_explicit(&count->crossed_tsc, memory_order_relaxed) == 0)
		atomic_store_explicit(
			&count->crossed_tsc, tsc != 0 ? tsc : 1, memory_order_release);
}

/*
 * Home: the time of the first crossing since the last call, 0 if there was none. A time before the
 * home's own last budget for this line belongs to the budget before it: the queue may have read
 * the old limit just before it was replaced.
 */
static inline uint64_t
trip_count_take(struct trip_count *count)
{
	return atomic_exchange_explicit(&count->crossed_tsc, 0, memory_order_acquire);
}

/*
 * Home, H1 to H3: from now on the queue rings when packets reach `packets` or bytes reach `bytes`
 * (absolute counts; TRIP_COUNT_NO_LIMIT for none). Returns the counts that are there already, a set
 * of trip_count_which: for these nobody need ring, the caller knows.
 */
static inline unsigned int
trip_count_budget(struct trip_count *count, uint64_t packets, uint64_t bytes)
{
	atomic_store_explicit(&count->packets_limit, packets, memory_order_relaxed);
	atomic_store_explicit(&count->bytes_limit, bytes, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* H2; partner: trip_count_fence */
	return trip_count_reached(count);
}

/* What each of `sources` gets of `remaining`: ceil(remaining / sources); both above 0. */
static inline uint64_t
trip_count_share(uint64_t remaining, uint64_t sources)
{
	return (remaining - 1) / sources + 1;
}

/* The limit of a source that was sampled at `count` and gets `share`, saturating below no limit. */
static inline uint64_t
trip_count_limit(uint64_t count, uint64_t share)
{
	return share < TRIP_COUNT_NO_LIMIT - 1 - count ? count + share : TRIP_COUNT_NO_LIMIT - 1;
}

#endif
