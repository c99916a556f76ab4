/* SPDX-License-Identifier: BSD-3-Clause */
/* Beats in the thread that refreshes the driver's cache, and what follows from them. */
#include <rte_alarm.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "refresher.h"

/* Of a lag: the fewer, the less they say; and of each pool: a round takes a quarter more. */
#define BEATS_A_LAG 16
#define BEATS_A_LAG_MOST 1024
#define BEATS_A_POOL 4
/* Counters of mlx5 DV that are asked for together; and for how many one of ours may stand. */
#define COUNTERS_A_POOL 512
#define COUNTERS_A_FLOW 2
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

/* So many have had a counter at once. */
static void
note_most(struct trip_engine *engine, uint32_t n)
{
	uint32_t most = atomic_load_explicit(&engine->most_counted, memory_order_relaxed);

	while (n > most && !atomic_compare_exchange_weak_explicit(&engine->most_counted, &most, n,
				   memory_order_relaxed, memory_order_relaxed))
		;
}

void
trip_refresher_count(struct trip_hard *hard, bool begins)
{
	struct trip_engine *engine = hard->engine;

	if (begins)
		note_most(engine,
			1 + atomic_fetch_add_explicit(&engine->n_counted, 1, memory_order_relaxed));
	else
		atomic_fetch_sub_explicit(&engine->n_counted, 1, memory_order_relaxed);
}

void
trip_refresher_refused(struct trip_hard *hard)
{
	struct trip_hard_refused *refused = &hard->refused;
	uint64_t now = rte_rdtsc(), window = LIMIT * hard->lag.bound;

	if (now - refused->since_tsc > window) {
		refused->before = now - refused->since_tsc > 2 * window ? 0 : refused->n;
		refused->n = 0;
		refused->since_tsc = now;
	}
	refused->n++;
	note_most(hard->engine,
		refused->before + refused->n +
			atomic_load_explicit(&hard->engine->n_counted, memory_order_relaxed));
}

/* One more than ours, as others have counters, too. */
static uint64_t
pools_of(const struct trip_hard *hard)
{
	uint64_t most = atomic_load_explicit(&hard->engine->most_counted, memory_order_relaxed);

	return 1 + (COUNTERS_A_FLOW * most + COUNTERS_A_POOL - 1) / COUNTERS_A_POOL;
}

/* How long each takes that is wanted now. */
static uint64_t
us_of_beat(const struct trip_hard *hard)
{
	uint64_t beats = RTE_MAX(BEATS_A_POOL * pools_of(hard), (uint64_t)BEATS_A_LAG);
	uint64_t us = us_of(hard, hard->lag.bound) / RTE_MIN(beats, (uint64_t)BEATS_A_LAG_MOST);

	return RTE_MAX(us, UINT64_C(1));
}

/* What beats of that length count in the lag and a quarter, and in a round over all pools. */
static uint64_t
least_of(const struct trip_hard *hard, uint64_t us)
{
	uint64_t bound = hard->lag.bound;

	return bound + bound / 4 + pools_of(hard) * tsc_of(hard, us);
}

/* Since a rule went. Pools that came since are asked in the same round, each behind an interval of
 * its own: what was left of it for the old ones, and less than the lag for the new ones. */
static uint64_t
least_since(const struct trip_hard *hard, const struct trip_hard_flow *flow, uint64_t us)
{
	return least_of(hard, us) + (pools_of(hard) > flow->out_pools ? hard->lag.bound : 0);
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
	uint64_t us = us_of_beat(hard);
	/* They go on behind the last who has asked: as many as a flow waits for, and some. */
	uint64_t wanted = 2 * least_of(hard, us) / tsc_of(hard, us);

	if (atomic_exchange(&beats->wanted, (uint32_t)wanted) != 0)
		return true;
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
	flow->out_pools = pools_of(hard);
	/* One that is set already was so before, and counts what has not been since. */
	if (is_cached(hard, flow) && has_beats(hard) && want_beats(hard))
		before = tsc_of(hard, atomic_load_explicit(&beats->us, memory_order_relaxed));
	flow->out_ran_tsc = atomic_load_explicit(&beats->ran_tsc, memory_order_relaxed) + before;
}

bool
trip_refresher_is_final(struct trip_hard *hard, const struct trip_hard_flow *flow, uint64_t began)
{
	uint64_t bound = hard->lag.bound, least, us, ran;

	if (flow->out_tsc == 0)
		return false;
	if (!is_cached(hard, flow))
		return true;
	if (!has_beats(hard))
		return began - flow->out_tsc > 2 * bound;
	/* Those that have run may have been longer, of a lag that was. */
	us = atomic_load_explicit(&hard->beats.us, memory_order_relaxed);
	least = least_since(hard, flow, RTE_MAX(us, us_of_beat(hard)));
	if (began - flow->out_tsc > LIMIT * RTE_MAX(bound, least / 2))
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
