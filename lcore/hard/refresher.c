/* SPDX-License-Identifier: BSD-3-Clause */
/* Beats in the thread that refreshes the driver's cache, and what follows from them. */
#include <rte_alarm.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "refresher.h"

/* Of a lag: the fewer, the less they say. */
#define BEATS_A_LAG 16
/* That go on behind the last who has asked for them: as many as a flow waits for, and some. */
#define BEATS 32
/* Lags after which nobody waits for beats. */
#define LIMIT 8

static uint64_t
us_of(const struct trip_hard *hard, uint64_t tsc)
{
	return (uint64_t)((double)tsc * US_PER_S / (double)hard->engine->tsc_hz);
}

static uint64_t
tsc_of(const struct trip_hard *hard, uint64_t us)
{
	return hard->engine->tsc_hz * us / US_PER_S;
}

/* In EAL's interrupt thread. */
static void
beat(void *arg)
{
	struct trip_hard *hard = arg;
	struct trip_hard_beats *beats = &hard->beats;
	uint64_t us = atomic_load_explicit(&beats->us, memory_order_relaxed);

	/* Release: what this thread has put into the cache before is found behind it. */
	atomic_fetch_add_explicit(&beats->ran_tsc, tsc_of(hard, us), memory_order_release);
	if (atomic_fetch_sub(&beats->wanted, 1) == 1)
		return;
	/* The next who asks sets one. */
	if (rte_eal_alarm_set(us, beat, hard) != 0)
		atomic_store(&beats->wanted, 0);
}

/* Whether there were any already: one may be about to run that was set at any time before. */
static bool
want_beats(struct trip_hard *hard)
{
	struct trip_hard_beats *beats = &hard->beats;
	uint64_t us = us_of(hard, hard->lag.bound) / BEATS_A_LAG;

	if (atomic_exchange(&beats->wanted, BEATS) != 0)
		return true;
	us = RTE_MAX(us, UINT64_C(1));
	atomic_store_explicit(&beats->us, us, memory_order_relaxed);
	if (rte_eal_alarm_set(us, beat, hard) != 0)
		atomic_store(&beats->wanted, 0);
	return false;
}

/* Whose counts come from the cache, and by beats. */
static bool
is_cached(const struct trip_hard *hard, const struct trip_hard_flow *flow)
{
	return flow->rule.shared != NULL && hard->lag.bound != 0;
}

static bool
has_beats(const struct trip_hard *hard)
{
	return hard->facts.kind != TRIP_FACTS_MLX5_HWS;
}

void
trip_refresher_out(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	struct trip_hard_beats *beats = &hard->beats;
	uint64_t before = 0;

	flow->out_tsc = rte_rdtsc();
	/* One that is set already was so before, and counts what has not been since. */
	if (is_cached(hard, flow) && has_beats(hard) && want_beats(hard))
		before = tsc_of(hard, atomic_load_explicit(&beats->us, memory_order_relaxed));
	flow->out_ran_tsc = atomic_load_explicit(&beats->ran_tsc, memory_order_relaxed) + before;
}

bool
trip_refresher_is_final(struct trip_hard *hard, const struct trip_hard_flow *flow, uint64_t began)
{
	uint64_t bound = hard->lag.bound, least = bound + bound / 4, ran;

	if (flow->out_tsc == 0)
		return false;
	if (!is_cached(hard, flow))
		return true;
	if (!has_beats(hard))
		return began - flow->out_tsc > 2 * bound;
	if (began - flow->out_tsc > LIMIT * bound)
		return true;
	/* Partner: beat(). */
	ran = atomic_load_explicit(&hard->beats.ran_tsc, memory_order_acquire);
	if (began - flow->out_tsc > least && ran >= flow->out_ran_tsc + least)
		return true;
	(void)want_beats(hard);
	return false;
}

void
trip_refresher_close(struct trip_hard *hard)
{
	/* Waits for one that runs, and takes back what that sets. */
	(void)rte_eal_alarm_cancel(beat, hard);
	/* Acquire: the last beat is done with this memory. Partner: beat(). */
	(void)atomic_load_explicit(&hard->beats.wanted, memory_order_acquire);
}
