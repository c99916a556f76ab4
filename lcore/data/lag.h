/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How stale a counter may be that is read from a cache which somebody else refreshes: an upper
 * bound, learnt from the readings of one counter at a time.
 *
 * A reading is made at some moment between when it began and when it ended: its thread may lose the
 * CPU anywhere. Two readings in a row of changes, the earlier found at r2 against r1 and the later
 * at r4 against r3 (r1 < r2 <= r3 < r4), have had a refresh each between r1 and r2 and between r3
 * and r4, with none seen between. So refreshes that come regularly are no further apart than from
 * the beginning of r1 to the end of r4. With steady traffic and readings every g the bound comes
 * down to the period + g; a counter that is always up to date changes at each reading, and the
 * bound is 2 g however small g is. To read every eighth of the bound approaches the truth from
 * above: by a factor of four at each step where nothing is cached; else it ends at nine eighths of
 * the period.
 *
 * What has been measured need not stay so, as a cache of more counters may be refreshed less often.
 * So it is measured anew from time to time, down from what is assumed. A shorter pair lowers the
 * bound at once. A longer one may be due to a pause of the traffic; it raises the bound where many
 * packets come at once, and again and again after the same time.
 */
#ifndef TRIP_LAG_H
#define TRIP_LAG_H

#include <stdbool.h>
#include <stdint.h>

/* Pairs that brought nothing, after which the bound is taken for measured. */
#define TRIP_LAG_PAIRS 3
/* Pairs in a row that raise it, of at least so many packets each. */
#define TRIP_LAG_PAIRS_ABOVE 8
#define TRIP_LAG_PACKETS_ABOVE 32
/* From one measurement to the next, in times of what is assumed; as long may each take. */
#define TRIP_LAG_REST 64

struct trip_lag {
	/* What is known so far, in ticks, as everything here. */
	uint64_t bound;
	/* What it is before it is measured; and at or below which it is as good as none. */
	uint64_t assumed, negligible;
	/* The shortest pair of the measurement under way, and pairs since it was found. */
	uint64_t shortest;
	unsigned int pairs;
	/* When the last reading began, and the one before the last change was found; 0: none. */
	uint64_t last, before;
	/* Once, at least. */
	bool measured;
	/* When the measurement under way began, or the next one may. */
	uint64_t begins;
};

/* A reading of a counter, between two moments, and how many packets it found more than the last. */
struct trip_lag_reading {
	uint64_t began, ended;
	uint64_t grew;
};

/* Begins with what is assumed. */
static inline void
trip_lag_init(struct trip_lag *lag, uint64_t assumed, uint64_t negligible)
{
	*lag = (struct trip_lag){.bound = assumed,
		.assumed = assumed,
		.negligible = negligible,
		.shortest = assumed};
}

/* Forgets the counter, but not what was learnt from it: the next reading is of another one. */
static inline void
trip_lag_forget(struct trip_lag *lag)
{
	lag->last = 0;
	lag->before = 0;
}

/* Whether readings are of no use now. */
static inline bool
trip_lag_rests(const struct trip_lag *lag, uint64_t now)
{
	return now < lag->begins;
}

/* When to read next, from the last reading. */
static inline uint64_t
trip_lag_gap(const struct trip_lag *lag)
{
	return lag->shortest / 8 > 0 ? lag->shortest / 8 : 1;
}

static inline void
trip_lag_begin(struct trip_lag *lag, uint64_t when)
{
	lag->begins = when;
	lag->shortest = lag->assumed;
	lag->pairs = 0;
	trip_lag_forget(lag);
}

/* Whether that ends the measurement. */
static inline bool
trip_lag_pair(struct trip_lag *lag, uint64_t span, uint64_t grew)
{
	bool above = lag->shortest > lag->bound && span > lag->bound;

	/* What a pair gains by the jitter of readings is no news. */
	if (span < lag->shortest - lag->shortest / 4 || (above && grew < TRIP_LAG_PACKETS_ABOVE))
		lag->pairs = 0;
	else if (span <= lag->shortest + lag->shortest / 4)
		lag->pairs++;
	else if (above)
		lag->pairs = 0;
	if (span < lag->shortest)
		lag->shortest = span;
	if (lag->shortest <= lag->negligible)
		lag->shortest = 0;
	if (lag->shortest < lag->bound)
		lag->bound = lag->shortest;
	return lag->shortest == 0 ||
	       lag->pairs >= (lag->shortest > lag->bound ? TRIP_LAG_PAIRS_ABOVE : TRIP_LAG_PAIRS);
}

static inline void
trip_lag_read(struct trip_lag *lag, const struct trip_lag_reading *reading)
{
	uint64_t most = TRIP_LAG_REST * lag->assumed;

	if (trip_lag_rests(lag, reading->began))
		return;
	/* Pairs that are longer than the shortest end none: it may not be true any more. */
	if (lag->begins == 0 || reading->began - lag->begins > most)
		trip_lag_begin(lag, reading->began);
	if (reading->grew > 0 && lag->last != 0) {
		if (lag->before != 0 &&
			trip_lag_pair(lag, reading->ended - lag->before, reading->grew)) {
			lag->bound = lag->shortest;
			lag->measured = true;
			trip_lag_begin(lag, reading->ended + most);
			return;
		}
		lag->before = lag->last;
	}
	lag->last = reading->began;
}

#endif
