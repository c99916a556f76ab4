/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow that passes up to a rate: a token bucket in one word, which is when it will be full again.
 * A packet moves that by what it costs, the time in which the rate yields as much; it passes where
 * that is no further ahead than the burst is long, or where the bucket was full: so one that is
 * larger than the bucket passes, too. In any time T there pass at most rate * T, the burst, and one
 * packet's excess over the burst.
 *
 * Whoever polls a queue takes by one compare-exchange. So the bound holds over all queues and
 * processes together, nobody waits for anybody, and one that is killed leaves nothing half done.
 * (rte_meter's state is of one thread: a share for each queue would be wrong for uneven queues, and
 * a lock in shared memory hangs with whoever is killed in it.)
 *
 * Time is in ticks of 1/16 ns, in which a cost is rounded up: the rate is never above, and below by
 * at most so much a packet. They go round in 36 years, and packets' times may jump by as much as
 * they like. So what is further ahead than a packet can put it is behind: the bucket is full.
 *
 * Why it is policed is one word, too: what began last prevails. That has a generation in it, by
 * which what began it knows, when it ends, whether it still does. Homes change it.
 */
#ifndef TRIP_POLICE_H
#define TRIP_POLICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <trip_work.h>

#define TRIP_POLICE_TICKS UINT64_C(16) /* in a nanosecond */
#define TRIP_POLICE_SECOND (TRIP_POLICE_TICKS * 1000000000)

/* A word: rate, unit, burst in milliseconds, generation. */
#define TRIP_POLICE_PACKETS (UINT64_C(1) << 40)
#define TRIP_POLICE_BURST_SHIFT 41
#define TRIP_POLICE_BURST_MAX 1000u
#define TRIP_POLICE_GENERATION (UINT64_C(1) << 51)
/* More bytes than a packet has. At the lowest rate they cost 97 days, and nothing costs more. */
#define TRIP_POLICE_BYTES_MAX (UINT32_C(1) << 20)
#define TRIP_POLICE_AHEAD_MAX (8 * (uint64_t)TRIP_POLICE_BYTES_MAX * TRIP_POLICE_SECOND)

struct trip_police {
	_Atomic uint64_t full;
	/* Rate 0: it is not policed. */
	_Atomic uint64_t word;
	/* What did not pass. */
	_Atomic uint64_t packets, bytes;
	/* The flow whose bucket it takes from. */
	_Atomic uint32_t bucket;
};

static inline uint64_t
trip_police_rate(uint64_t word)
{
	return word & TRIP_POLICE_MAX;
}

static inline uint32_t
trip_police_burst_ms(uint64_t word)
{
	return (uint32_t)(word >> TRIP_POLICE_BURST_SHIFT) & 1023;
}

/* Without a generation. */
static inline uint64_t
trip_police_word(uint64_t rate, bool packets, uint32_t burst_ms)
{
	return rate | (packets ? TRIP_POLICE_PACKETS : 0) |
	       (uint64_t)burst_ms << TRIP_POLICE_BURST_SHIFT;
}

/* Before anybody can reach the flow. */
static inline void
trip_police_init(struct trip_police *police, uint32_t flow)
{
	atomic_init(&police->full, 0);
	atomic_init(&police->word, 0);
	atomic_init(&police->packets, 0);
	atomic_init(&police->bytes, 0);
	atomic_init(&police->bucket, flow);
}

/* From now on so; returns the word that this is known by. */
static inline uint64_t
trip_police_begin(struct trip_police *police, uint64_t word)
{
	uint64_t old = atomic_load(&police->word), now;

	do
		now = word | ((old & ~(TRIP_POLICE_GENERATION - 1)) + TRIP_POLICE_GENERATION);
	while (!atomic_compare_exchange_weak(&police->word, &old, now));
	return now;
}

/* What began ends: then it is as `word` says, unless something else began since. */
static inline void
trip_police_end(struct trip_police *police, uint64_t begun, uint64_t word)
{
	uint64_t generation = (begun & ~(TRIP_POLICE_GENERATION - 1)) + TRIP_POLICE_GENERATION;

	(void)atomic_compare_exchange_strong(&police->word, &begun, generation | word);
}

static inline uint64_t
trip_police_cost(uint64_t word, uint32_t bytes)
{
	uint64_t rate = trip_police_rate(word), units = 1;

	if ((word & TRIP_POLICE_PACKETS) == 0)
		units = 8 *
			(uint64_t)(bytes < TRIP_POLICE_BYTES_MAX ? bytes : TRIP_POLICE_BYTES_MAX);
	return (units * TRIP_POLICE_SECOND + rate - 1) / rate;
}

static inline uint64_t
trip_police_ahead(uint64_t full, uint64_t now)
{
	return full - now <= TRIP_POLICE_AHEAD_MAX ? full - now : 0;
}

static inline uint64_t
trip_police_burst(uint64_t word)
{
	return trip_police_burst_ms(word) * (TRIP_POLICE_SECOND / 1000);
}

/* Where one word follows another that says otherwise: what was taken at a lower rate, which may
 * have been hours, is no further ahead than the burst is long. `now` in ticks. */
static inline void
trip_police_turn(struct trip_police *bucket, uint64_t old, uint64_t word, uint64_t now)
{
	uint64_t burst = trip_police_burst(word);
	uint64_t full = atomic_load_explicit(&bucket->full, memory_order_relaxed);

	if (((old ^ word) & (TRIP_POLICE_GENERATION - 1)) == 0)
		return;
	while (trip_police_ahead(full, now) > burst &&
		!atomic_compare_exchange_weak_explicit(&bucket->full, &full, now + burst,
			memory_order_relaxed, memory_order_relaxed))
		;
}

/* Any queue: whether a packet passes by a word whose rate is not 0. `now` in ticks. */
static inline bool
trip_police_takes(struct trip_police *bucket, uint64_t word, uint32_t bytes, uint64_t now)
{
	uint64_t burst = trip_police_burst(word);
	uint64_t cost = trip_police_cost(word, bytes), ahead;
	/* Relaxed: the word stands for itself. */
	uint64_t full = atomic_load_explicit(&bucket->full, memory_order_relaxed);

	do {
		ahead = trip_police_ahead(full, now);
		if (ahead != 0 && ahead + cost > burst)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&bucket->full, &full, now + ahead + cost,
		memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* One did not pass. */
static inline void
trip_police_count(struct trip_police *police, uint32_t bytes)
{
	atomic_fetch_add_explicit(&police->packets, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&police->bytes, bytes, memory_order_relaxed);
}

#endif
