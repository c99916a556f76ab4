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
 * which what began it knows, when it ends, whether it still does. Homes change it, one at a time
 * for each flow. The bucket that belongs to it stands in one of two places, by turns: so it is
 * there before the word is, and whoever finds the word unchanged behind it has read both of one.
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
	/* The place of the one whose bucket it takes from, by words of even and odd generations. */
	_Atomic uint32_t buckets[2];
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

/* Before anybody can reach it: `own` is its place among those that may share a rate. */
static inline void
trip_police_init(struct trip_police *police, uint32_t own)
{
	atomic_init(&police->full, 0);
	atomic_init(&police->word, 0);
	atomic_init(&police->packets, 0);
	atomic_init(&police->bytes, 0);
	atomic_init(&police->buckets[0], own);
	atomic_init(&police->buckets[1], own);
}

static inline unsigned int
trip_police_turn_of(uint64_t word)
{
	return (word & TRIP_POLICE_GENERATION) != 0;
}

/* The word, and the bucket that belongs to it. Anybody. */
static inline uint64_t
trip_police_read(struct trip_police *police, uint32_t *bucket)
{
	uint64_t word, now = atomic_load(&police->word);

	do {
		word = now;
		*bucket = atomic_load_explicit(
			&police->buckets[trip_police_turn_of(word)], memory_order_acquire);
		now = atomic_load(&police->word);
	} while (now != word);
	return word;
}

/* From now on so; returns the word that this is known by. One caller at a time. */
static inline uint64_t
trip_police_begin(struct trip_police *police, uint64_t word, uint32_t bucket)
{
	uint64_t old = atomic_load(&police->word);
	uint64_t now = word | ((old & ~(TRIP_POLICE_GENERATION - 1)) + TRIP_POLICE_GENERATION);

	atomic_store_explicit(
		&police->buckets[trip_police_turn_of(now)], bucket, memory_order_release);
	atomic_store(&police->word, now);
	return now;
}

/* What began ends: then it is as `word` says, unless something else began since, which it tells.
 * Likewise. */
static inline bool
trip_police_end(struct trip_police *police, uint64_t begun, uint64_t word, uint32_t bucket)
{
	if (atomic_load(&police->word) != begun)
		return false;
	(void)trip_police_begin(police, word, bucket);
	return true;
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

/* The time, in ticks, of whoever takes or turns. What a bucket cannot be is judged by a time that
 * is read behind it: who has read the time, and was kept from running, would find what others have
 * taken later, and think that it is left of a lower rate. */
struct trip_police_clock {
	uint64_t now;
	uint64_t (*read)(void *arg);
	void *arg;
};

static inline uint64_t
trip_police_ahead_now(uint64_t full, struct trip_police_clock *clock)
{
	clock->now = clock->read(clock->arg);
	return trip_police_ahead(full, clock->now);
}

/*
 * Where one word has followed another that says otherwise: what was taken at a lower rate, which
 * may have been hours, is no further ahead than the burst is long. Whoever takes by a word looks at
 * it again afterwards (trip_police_passes()), so nothing is left of what is taken by the old word
 * meanwhile.
 */
static inline void
trip_police_turn(
	struct trip_police *bucket, uint64_t old, uint64_t word, struct trip_police_clock *clock)
{
	uint64_t burst = trip_police_burst(word);
	uint64_t full = atomic_load(&bucket->full);

	if (((old ^ word) & (TRIP_POLICE_GENERATION - 1)) == 0)
		return;
	while (trip_police_ahead_now(full, clock) > burst &&
		!atomic_compare_exchange_weak(&bucket->full, &full, clock->now + burst))
		;
}

/* Whether no packet can have put the bucket so far ahead at this rate: one was taken at a lower
 * rate, by somebody who was killed before looking at the word again. */
static inline bool
trip_police_is_left(uint64_t word, uint64_t ahead)
{
	return ahead > trip_police_burst(word) &&
	       ahead > trip_police_cost(word, TRIP_POLICE_BYTES_MAX);
}

/* Any queue: whether a packet passes by a word whose rate is not 0. */
static inline bool
trip_police_takes(
	struct trip_police *bucket, uint64_t word, uint32_t bytes, struct trip_police_clock *clock)
{
	uint64_t burst = trip_police_burst(word), cost = trip_police_cost(word, bytes);
	/* Relaxed: the word stands for itself. */
	uint64_t full = atomic_load_explicit(&bucket->full, memory_order_relaxed);

	for (;;) {
		uint64_t ahead = trip_police_ahead(full, clock->now);
		uint64_t then = clock->now + ahead + cost;
		bool passes = ahead == 0 || ahead + cost <= burst;

		if (!passes) {
			if (!trip_police_is_left(word, ahead) ||
				!trip_police_is_left(word, trip_police_ahead_now(full, clock)))
				return false;
			then = clock->now + burst;
		}
		if (!atomic_compare_exchange_weak_explicit(
			    &bucket->full, &full, then, memory_order_seq_cst, memory_order_relaxed))
			continue;
		if (passes)
			return true;
		full = then;
	}
}

/* Any queue: likewise, by what holds for the one at `own`; `buckets` are all `n` of them. */
static inline bool
trip_police_passes(struct trip_police *buckets, uint32_t n, uint32_t own, uint32_t bytes,
	struct trip_police_clock *clock)
{
	uint32_t bucket, then;
	uint64_t word = trip_police_read(&buckets[own], &bucket), turned;

	/* Another process may have written there. */
	if (trip_police_rate(word) == 0 || bucket >= n)
		return true;
	if (!trip_police_takes(&buckets[bucket], word, bytes, clock))
		return false;
	/* The home that turns it changes the word before it looks at the bucket, both in one order
	 * with this. */
	turned = trip_police_read(&buckets[own], &then);
	if (turned != word && trip_police_rate(turned) != 0 && then == bucket)
		trip_police_turn(&buckets[bucket], word, turned, clock);
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
