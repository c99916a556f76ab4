/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How stale a counter may be that is read from a cache which somebody else refreshes: an upper
 * bound, learnt from the readings of one counter.
 *
 * Two readings in a row of changes, the earlier found at r2 against r1 and the later at r4 against
 * r3 (r1 < r2 <= r3 < r4), have had a refresh each between r1 and r2 and between r3 and r4, with
 * none seen between. So refreshes that come regularly are no further apart than r4 - r1. With
 * steady traffic and readings every g the bound comes down to the period + g; a counter that is
 * always up to date changes at each reading, and the bound is 2 g however small g is. So who reads
 * every eighth of the bound comes down to the truth from above: by a factor of four a step where
 * nothing is cached, and to a standstill at nine eighths of the period where it is.
 *
 * A pause of the traffic only widens the span of a pair, which then says nothing; no pair ever
 * raises the bound.
 */
#ifndef TRIP_LAG_H
#define TRIP_LAG_H

#include <stdbool.h>
#include <stdint.h>

/* Pairs that brought nothing, after which the bound is taken for measured. */
#define TRIP_LAG_PAIRS 3

struct trip_lag {
	/* What is known so far, in ticks, as everything here. */
	uint64_t bound;
	/* A bound at or below this is as good as none. */
	uint64_t negligible;
	/* The last reading, and the one before the last change was found; 0: none. */
	uint64_t last, before;
	/* Pairs since the bound last came down. */
	unsigned int pairs;
	bool measured;
};

/* Begins with what is assumed. */
static inline void
trip_lag_init(struct trip_lag *lag, uint64_t assumed, uint64_t negligible)
{
	*lag = (struct trip_lag){.bound = assumed, .negligible = negligible};
}

/* Forgets the counter, but not what was learnt from it: the next reading is of another one. */
static inline void
trip_lag_forget(struct trip_lag *lag)
{
	lag->last = 0;
	lag->before = 0;
}

/* When to read next, from the last reading. */
static inline uint64_t
trip_lag_gap(const struct trip_lag *lag)
{
	return lag->bound / 8 > 0 ? lag->bound / 8 : 1;
}

static inline void
trip_lag_pair(struct trip_lag *lag, uint64_t span)
{
	/* What a pair gains by the jitter of readings is no news. */
	if (span < lag->bound - lag->bound / 4)
		lag->pairs = 0;
	else if (span <= lag->bound + lag->bound / 4)
		lag->pairs++;
	if (span < lag->bound)
		lag->bound = span;
	if (lag->bound <= lag->negligible)
		lag->bound = 0;
	lag->measured = lag->bound == 0 || lag->pairs >= TRIP_LAG_PAIRS;
}

/* A reading: between which moments, and by how many packets the counter has grown since the last
 * one. */
struct trip_lag_reading {
	uint64_t began, ended;
	uint64_t grew;
};

static inline void
trip_lag_read(struct trip_lag *lag, const struct trip_lag_reading *reading)
{
	if (reading->grew > 0 && lag->last != 0) {
		if (lag->before != 0)
			trip_lag_pair(lag, reading->began - lag->before);
		lag->before = lag->last;
	}
	lag->last = reading->began;
}

#endif
