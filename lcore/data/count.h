/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of one flow on one queue, and a budget that makes it ring.
 *
 * Writers. `packets` and `bytes` have one writer, the lcore that polls the queue; they are written
 * by plain loads and stores, never by read-modify-write. Each of the two kinds may feed a counter
 * of another home: the limit of a kind has one writer, that home, which also folds it. When it
 * crossed is set by the queue and taken by the home.
 *
 * Three arrays, as most flows need only the first: the counts, two flows to a cache line, which a
 * queue's bursts write and nobody else often reads; the moments, touched when a limit is reached;
 * and what was folded, mostly the homes' own, touched where a flow feeds a counter.
 *
 * Protocol. A crossing must be seen by one of the two, whatever the interleaving:
 *
 *	queue (each burst)			home (each new budget)
 *	Q1 store packets, bytes			H1 store limit
 *	Q2 fence seq_cst, once a burst		H2 fence seq_cst
 *	Q3 load limits, ring if reached		H3 load count, act if reached
 *
 * This is the store-buffer pattern: with both fences, Q3 sees H1 or H3 sees Q1. So after both have
 * run, a count at or above its limit has been noticed by somebody. The queue rings in every burst
 * in which a count that it touched is at or above its limit, not in the first one only: ringing a
 * rung doorbell costs no store, and a queue that was killed between the store and the ring is
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

enum trip_count_kind {
	TRIP_COUNT_KIND_PACKETS,
	TRIP_COUNT_KIND_BYTES,
	TRIP_COUNT_KINDS,
};

/* Sets of kinds. */
enum trip_count_which {
	TRIP_COUNT_PACKETS = 1u << TRIP_COUNT_KIND_PACKETS,
	TRIP_COUNT_BYTES = 1u << TRIP_COUNT_KIND_BYTES,
};

struct trip_count {
	_Alignas(32) _Atomic uint64_t packets;
	_Atomic uint64_t bytes;
	/* At which to ring; TRIP_COUNT_NO_LIMIT: nobody cares. */
	_Atomic uint64_t limit[TRIP_COUNT_KINDS];
};

_Static_assert(sizeof(struct trip_count) == 32, "two flows' counts on a queue are a cache line");

/* When each kind first crossed since the home last took it, 0: it has not. In units of so many tsc
 * ticks, a tenth of a microsecond; what is not taken within minutes shows as less old than it is.
 */
#define TRIP_COUNT_MOMENT_SHIFT 8

struct trip_count_moments {
	_Atomic uint32_t crossed[TRIP_COUNT_KINDS];
};

/* What has been added to the counters that it feeds. */
struct trip_count_folded {
	_Atomic uint64_t of[TRIP_COUNT_KINDS];
};

/* Before anybody else can reach it: zero counts and no limits. */
static inline void
trip_count_init(struct trip_count *count)
{
	atomic_init(&count->packets, 0);
	atomic_init(&count->bytes, 0);
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		atomic_init(&count->limit[kind], TRIP_COUNT_NO_LIMIT);
}

/* Any thread; relaxed: what the queue has counted so far, of one kind. */
static inline uint64_t
trip_count_read(const struct trip_count *count, enum trip_count_kind kind)
{
	return atomic_load_explicit(
		kind == TRIP_COUNT_KIND_PACKETS ? &count->packets : &count->bytes,
		memory_order_relaxed);
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
		atomic_load_explicit(&count->limit[TRIP_COUNT_KIND_PACKETS], memory_order_relaxed))
		which |= TRIP_COUNT_PACKETS;
	if (atomic_load_explicit(&count->bytes, memory_order_relaxed) >=
		atomic_load_explicit(&count->limit[TRIP_COUNT_KIND_BYTES], memory_order_relaxed))
		which |= TRIP_COUNT_BYTES;
	return which;
}

/* The queue found limits reached at `tsc`: keep the earliest moment that the home has not taken. */
static inline void
trip_count_cross(struct trip_count_moments *moments, unsigned int which, uint64_t tsc)
{
	uint32_t moment = (uint32_t)(tsc >> TRIP_COUNT_MOMENT_SHIFT);

	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		/* Only the queue stores a time here, so load and store need not be one step: the
		 * home can only make it 0 in between, and then this burst's time is the right one.
		 */
		if ((which & (1u << kind)) != 0 &&
			atomic_load_explicit(&moments->crossed[kind], memory_order_relaxed) == 0)
			atomic_store_explicit(&moments->crossed[kind], moment != 0 ? moment : 1,
				memory_order_release);
	}
}

/*
 * Home: the tsc of the first crossing since the last call, at most `now`, 0 if there was none. A
 * time before the home's own last budget for this line belongs to the budget before it: the queue
 * may have read the old limit just before it was replaced.
 */
static inline uint64_t
trip_count_take(struct trip_count_moments *moments, enum trip_count_kind kind, uint64_t now)
{
	int32_t age;

	if (atomic_load_explicit(&moments->crossed[kind], memory_order_relaxed) == 0)
		return 0;
	now >>= TRIP_COUNT_MOMENT_SHIFT;
	/* Less than 2^31 units. Negative: the home has looked at its clock before that. */
	age = (int32_t)((uint32_t)now -
			atomic_exchange_explicit(&moments->crossed[kind], 0, memory_order_acquire));
	return (now - (age > 0 ? (uint32_t)age : 0)) << TRIP_COUNT_MOMENT_SHIFT;
}

/*
 * Home, and whoever ends the flow: what the queue has counted since this was last called, to be
 * added to the counter. Of two that come at once each gets a part: what was folded only grows, also
 * where one of them has read the count before the other.
 */
static inline uint64_t
trip_count_fold(
	const struct trip_count *count, struct trip_count_folded *folded, enum trip_count_kind kind)
{
	uint64_t now = trip_count_read(count, kind);
	uint64_t was = atomic_load_explicit(&folded->of[kind], memory_order_relaxed);

	/* Relaxed: nothing but the number is handed over. */
	while (was < now)
		if (atomic_compare_exchange_weak_explicit(&folded->of[kind], &was, now,
			    memory_order_relaxed, memory_order_relaxed))
			return now - was;
	return 0;
}

/*
 * Home, H1 to H3: from now on the queue rings when a kind has grown by `share` over what was folded
 * of it (TRIP_COUNT_NO_LIMIT: never). True where it has already: then nobody need ring, the caller
 * knows.
 */
static inline bool
trip_count_budget(struct trip_count *count, const struct trip_count_folded *folded,
	enum trip_count_kind kind, uint64_t share)
{
	uint64_t base = atomic_load_explicit(&folded->of[kind], memory_order_relaxed);
	uint64_t limit = share < TRIP_COUNT_NO_LIMIT - base ? base + share : TRIP_COUNT_NO_LIMIT;

	/* An unchanged limit needs no second store: the old one comes before H2 as well. */
	if (atomic_load_explicit(&count->limit[kind], memory_order_relaxed) != limit)
		atomic_store_explicit(&count->limit[kind], limit, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);    /* H2; partner: trip_count_fence */
	return trip_count_read(count, kind) >= limit; /* H3 */
}

/* What each of `sources` gets of `remaining`: ceil(remaining / sources); both above 0. */
static inline uint64_t
trip_count_share(uint64_t remaining, uint64_t sources)
{
	return (remaining - 1) / sources + 1;
}

#endif
