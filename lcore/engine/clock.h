/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a home: a counter of nanoseconds, which only grows (COND-01). What is to happen at
 * a time is an item at that threshold, so the pending set is the timer.
 *
 * Nobody adds to it. Its cell shows the last time at which something of it was due. When it
 * settles, the home notes by its tsc when the lowest threshold is reached: one of the timers that
 * an idle iteration looks at with one comparison. At that moment its cell is set to the present,
 * it is due like a counter that rang, and it fires in the next iteration. An item whose time has
 * passed when it is accepted may be above the cell; that moment is then in the past, and the next
 * iteration finds it.
 *
 * Nothing fires early: the moment is rounded up, and the cell never runs ahead of the tsc. What
 * was submitted before a moment is accepted before anything fires that this moment makes due, as
 * the next iteration begins with a look at the doorbell (WORK-02).
 *
 * A clock that is fed (COND-02) is a counter as any other: its cell is the time. Whoever feeds it
 * runs the homes, and moves all clocks of the domain while these are idle, no further than to the
 * next moment at which something is due. So what is counted between two steps came at one moment,
 * and all of it is judged at that.
 */
#ifndef TRIP_CLOCK_H
#define TRIP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "home.h"

static inline bool
trip_clock_is(const struct trip_home *home, uint32_t local)
{
	return local == home->shape.n_cntrs;
}

/* What a clock is called in a descriptor: clocks are behind the counters of all homes, so that what
 * acts on a counter cannot name one. */
static inline uint32_t
trip_clock_global(const struct trip_home *home)
{
	return home->engine->n_homes * home->engine->cntrs_per_home + home->index;
}

/* What all clocks of the domain show at a moment, where they go by themselves: any thread of any
 * process. */
static inline uint64_t
trip_clock_ns(const struct trip_engine *engine, uint64_t tsc)
{
	/* The tsc of two CPUs may differ by a little. */
	return tsc > engine->base_tsc
		       ? trip_cell_clamp(trip_engine_ns(engine, tsc - engine->base_tsc))
		       : 0;
}

/* What a clock shows at a moment; where it is fed, what it shows now. Any thread of any process. */
static inline uint64_t
trip_clock_at(const struct trip_home *home, uint64_t tsc)
{
	return home->engine->base_tsc == TRIP_CLOCK_FED
		       ? trip_cell_success(&home->cells[home->shape.n_cntrs])
		       : trip_clock_ns(home->engine, tsc);
}

/* The clock has settled with this lowest threshold: when that is reached. */
void trip_clock_arm(struct trip_home *home, uint64_t bound);

/* The moment has come: whether the clock is due. */
bool trip_clock_tick(struct trip_home *home);

/* Of one that is fed, whose home is idle and the caller's: when something of it is due next, or
 * TRIP_PENDING_NONE; and the step to a time that is no later. */
uint64_t trip_clock_next(const struct trip_home *home);
void trip_clock_step(struct trip_home *home, uint64_t ns);

#endif
