/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker's readings: chooses a rule, reads its counter, rings where a limit is reached. */
#include <assert.h>
#include <errno.h>
#include <limits.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "notice.h"
#include "refresher.h"
#include "source.h"
#include "sweep.h"

/* Readings between two looks at the tickets. */
#define BATCH 16
/* The forecast may shorten the time between two readings of a counter by this. */
#define GAPS_A_PERIOD 16
/* Of a plain sweep, in which a counter that cannot reach its limit is read once. */
#define BACKGROUND_ROUNDS 4
/* Of Ethernet, preamble and gap included. */
#define BITS_OF_SMALLEST 672.0
/* At most half of its time does the worker read: so long a burst of readings, so long a rest. */
#define BURST_US 1000
/* Staleness is watched for no more often. */
#define WATCH_US 100000
#define STILL_PERIODS 3

static uint64_t
us_tsc(const struct trip_hard *hard, uint64_t us)
{
	return hard->engine->tsc_hz * us / US_PER_S;
}

/* What the wire can bring in a tick, at its smallest packets. Rules count each packet once, and
 * only what comes in by the port. */
static void
read_line(struct trip_hard *hard)
{
	struct rte_eth_link link = {0};
	double bits = 0;

	if (rte_eth_link_get_nowait(hard->port_id, &link) == 0 &&
		link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		bits = link.link_speed * 1e6 / (double)hard->engine->tsc_hz;
	hard->horizon.config.line[TRIP_COUNT_KIND_PACKETS] = bits / BITS_OF_SMALLEST;
	hard->horizon.config.line[TRIP_COUNT_KIND_BYTES] = bits / CHAR_BIT;
}

/*
 * What the horizon is to hold. The tolerance is what the line carries in a period. Where not all
 * counters can be read in a period, those that cannot reach their limit wait for those that can,
 * for a few rounds of the sweep.
 */
static void
set_pace(struct trip_hard *hard)
{
	struct trip_horizon_config *config = &hard->horizon.config;
	uint64_t period = RTE_MAX(hard->period_tsc, hard->lag.bound);
	/* At most half of the time is spent reading. */
	uint64_t round = 2 * hard->query_tsc * trip_horizon_count(&hard->horizon);

	config->period = period;
	config->background = round > period ? BACKGROUND_ROUNDS * round : period;
	/* To ask a cache more often than it is refreshed yields nothing. */
	config->forecasts = hard->lag.bound <= hard->period_tsc;
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		config->tolerance[kind] = config->line[kind] > 0
						  ? (uint64_t)(config->line[kind] *
							       (double)(hard->lag.bound + period))
						  : UINT64_MAX;
}

static bool
is_measured(const struct trip_hard *hard)
{
	return hard->facts.port.refresh_lag_from != TRIP_PORT_FACT_KNOWN;
}

void
trip_sweep_configure(struct trip_hard *hard, uint64_t period_tsc)
{
	uint64_t lag = (uint64_t)((double)hard->facts.port.refresh_lag_ns * 1e-9 *
				  (double)hard->engine->tsc_hz);

	hard->period_tsc = period_tsc;
	/* What is less than the period makes no difference. */
	trip_lag_init(&hard->lag, lag, period_tsc);
	hard->probe = TRIP_NONE;
	hard->horizon.config.gap = RTE_MAX(period_tsc / GAPS_A_PERIOD, (uint64_t)1);
	read_line(hard);
	set_pace(hard);
}

static void
publish_facts(struct trip_hard *hard)
{
	struct trip_port_facts *facts = &hard->facts.port;

	pthread_mutex_lock(&hard->lock);
	facts->query_ns = trip_engine_ns(hard->engine, hard->query_tsc);
	facts->query_from = TRIP_PORT_FACT_MEASURED;
	if (is_measured(hard)) {
		facts->refresh_lag_ns = trip_engine_ns(hard->engine, hard->lag.bound);
		if (hard->lag.measured)
			facts->refresh_lag_from = TRIP_PORT_FACT_MEASURED;
	}
	pthread_mutex_unlock(&hard->lock);
}

/* Learns the refresh lag from one busy flow; from another one when that falls silent. Now and then
 * it is learnt anew. */
static void
measure_lag(struct trip_hard *hard, uint32_t index, const struct trip_lag_reading *reading)
{
	if (!is_measured(hard) || trip_lag_rests(&hard->lag, reading->began))
		return;
	if (hard->probe == TRIP_NONE && reading->grew > 0) {
		hard->probe = index;
		trip_lag_forget(&hard->lag);
	}
	if (hard->probe != index)
		return;
	trip_lag_read(&hard->lag, reading);
	if (reading->grew > 0) {
		hard->probe_tsc = reading->began;
		publish_facts(hard);
	}
	if (trip_lag_rests(&hard->lag, reading->ended) ||
		reading->began - hard->probe_tsc > 4 * hard->lag.shortest)
		hard->probe = TRIP_NONE;
}

void
trip_sweep_forget(struct trip_hard *hard, const struct trip_hard_flow *flow)
{
	trip_horizon_remove(&hard->horizon, flow->index);
	if (hard->probe == flow->index)
		hard->probe = TRIP_NONE;
}

static void
note_cost(struct trip_hard *hard, uint64_t took)
{
	bool first = hard->query_tsc == 0;

	/* A mean that follows: an eighth of each. One in which the worker lost its CPU may be a
	 * thousand times as long; whoever is planned behind it would wait for rounds of such. */
	if (!first)
		took = RTE_MIN(took, 8 * hard->query_tsc);
	hard->query_tsc = first ? took : hard->query_tsc - hard->query_tsc / 8 + took / 8;
	if (first || trip_engine_stat_read(&hard->stats->readings) % 64 == 0)
		publish_facts(hard);
}

static void
look(const struct trip_count *count, const uint64_t grew[TRIP_COUNT_KINDS],
	struct trip_horizon_view views[TRIP_COUNT_KINDS])
{
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		views[kind] = (struct trip_horizon_view){
			.count = trip_count_read(count, kind),
			.grew = grew[kind],
			.limit = atomic_load_explicit(&count->limit[kind], memory_order_relaxed),
		};
}

/* Whether the tolerance holds. Before the counts are stored: from then on the home may answer a
 * crossing by another limit. */
static void
note_overshoot(struct trip_hard *hard, uint32_t index, const struct trip_count *count,
	const uint64_t grew[TRIP_COUNT_KINDS])
{
	const struct trip_horizon_report *report = &hard->horizon.report;
	struct trip_horizon_view views[TRIP_COUNT_KINDS];

	look(count, grew, views);
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		views[kind].count += grew[kind];
	trip_horizon_note(&hard->horizon, index, rte_rdtsc(), views);
	trip_engine_stat_most(&hard->stats->missed, report->missed);
	trip_engine_stat_most(&hard->stats->worst_packets, report->worst[TRIP_COUNT_KIND_PACKETS]);
	trip_engine_stat_most(&hard->stats->worst_bytes, report->worst[TRIP_COUNT_KIND_BYTES]);
}

void
trip_sweep_count(struct trip_hard *hard, struct trip_hard_flow *flow,
	const uint64_t grew[TRIP_COUNT_KINDS], uint64_t began, bool is_all)
{
	const struct trip_engine *engine = hard->engine;
	struct trip_count *count = trip_engine_count(engine, engine->n_queues, flow->index);
	unsigned int which;

	note_overshoot(hard, flow->index, count, grew);
	trip_count_add(count, grew[TRIP_COUNT_KIND_PACKETS], grew[TRIP_COUNT_KIND_BYTES]);
	hard->moved |= grew[TRIP_COUNT_KIND_PACKETS] > 0;
	/* Release: whoever goes by it finds the counts. Partner: trip_source_fold(). */
	if (is_all)
		atomic_store_explicit(&engine->flows[flow->index].fresh_tsc,
			flow->final ? UINT64_MAX : began - RTE_MIN(began, hard->lag.bound),
			memory_order_release);
	trip_count_fence();
	which = trip_count_reached(count);
	if (which == 0)
		return;
	trip_count_cross(trip_engine_moments(engine, engine->n_queues, flow->index), which, began);
	trip_source_cross(engine, flow->index, which);
}

void
trip_sweep_finish(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	flow->final = true;
	trip_sweep_forget(hard, flow);
	atomic_store_explicit(
		&hard->engine->flows[flow->index].fresh_tsc, UINT64_MAX, memory_order_release);
}

/* What has been read of a flow decides when it is read again. */
static void
plan(struct trip_hard *hard, uint32_t index, const uint64_t grew[TRIP_COUNT_KINDS], uint64_t began)
{
	uint64_t gap = RTE_MAX(trip_lag_gap(&hard->lag), hard->horizon.config.gap);
	struct trip_horizon_view views[TRIP_COUNT_KINDS];

	look(trip_engine_count(hard->engine, hard->engine->n_queues, index), grew, views);
	set_pace(hard);
	trip_horizon_read(&hard->horizon, index, began, views);
	/* To measure makes no counter wait longer. */
	if (hard->probe == index && gap < hard->horizon.config.period)
		trip_horizon_put(&hard->horizon, index, began + gap);
}

int
trip_sweep_read(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	uint64_t grew[TRIP_COUNT_KINDS], began = rte_rdtsc(), ended;
	bool is_final;
	int result;

	assert(hard->flows[flow->index] == flow);
	if (hard->removed || (flow->rule.entry.flow == NULL && flow->rule.shared == NULL)) {
		trip_sweep_forget(hard, flow);
		return -ENODEV;
	}
	if (hard->paused)
		return -EBUSY;
	is_final = trip_refresher_is_final(hard, flow, began);
	result = trip_rule_read(hard->port_id, &flow->rule, grew);
	ended = rte_rdtsc();
	trip_engine_stat(&hard->stats->readings, 1);
	note_cost(hard, ended - began);
	if (result != 0) {
		trip_engine_stat(&hard->stats->failed_readings, 1);
		trip_horizon_put(&hard->horizon, flow->index, began + hard->period_tsc);
		return result;
	}
	if (flow->read_tsc != 0)
		trip_engine_stat_most(&hard->stats->longest_gap_tsc, began - flow->read_tsc);
	flow->read_tsc = began;
	flow->final = is_final;
	trip_sweep_count(hard, flow, grew, began, true);
	measure_lag(hard, flow->index,
		&(struct trip_lag_reading){
			.began = began, .ended = ended, .grew = grew[TRIP_COUNT_KIND_PACKETS]});
	if (flow->final)
		trip_sweep_forget(hard, flow);
	else
		plan(hard, flow->index, grew, began);
	return 0;
}

static uint64_t
watch_period(const struct trip_hard *hard)
{
	return RTE_MAX(RTE_MAX(hard->period_tsc, hard->lag.bound), us_tsc(hard, WATCH_US));
}

static void
set_stale(struct trip_hard *hard, bool stale)
{
	if (atomic_exchange_explicit(&hard->stats->stale_now, stale, memory_order_relaxed) == stale)
		return;
	if (stale)
		trip_engine_stat(&hard->stats->stale, 1);
	trip_notice_forward(hard, stale ? TRIP_PORT_STALE : TRIP_PORT_FRESH);
}

/* A device that has stopped answering is not an error to a driver that has a cache. */
static void
watch_staleness(struct trip_hard *hard, uint64_t now)
{
	struct rte_eth_stats stats;
	bool received;

	hard->watch_tsc = now + watch_period(hard);
	read_line(hard);
	if (trip_horizon_count(&hard->horizon) == 0 ||
		rte_eth_stats_get(hard->port_id, &stats) != 0)
		return;
	received = stats.ipackets > hard->seen_packets;
	hard->seen_packets = stats.ipackets;
	/* Counters that have never moved say nothing by standing still. */
	hard->has_moved |= hard->moved;
	if (hard->moved)
		hard->still = 0;
	else
		hard->still += received && hard->has_moved;
	hard->moved = false;
	if (hard->still == 0)
		set_stale(hard, false);
	else if (hard->still >= STILL_PERIODS)
		set_stale(hard, true);
}

static void
rest(struct trip_hard *hard)
{
	uint64_t now = rte_rdtsc();

	if (trip_horizon_due(&hard->horizon) > now)
		hard->burst_tsc = 0;
	else if (now - hard->burst_tsc >= us_tsc(hard, BURST_US)) {
		hard->rest_tsc = now + (now - hard->burst_tsc);
		hard->burst_tsc = 0;
	}
}

/* Somebody waits for the worker: then it reads one counter between two of them. */
static bool
is_wanted(const struct trip_hard *hard)
{
	return trip_notice_waits(hard) ||
	       atomic_load_explicit(&hard->desk.tickets, memory_order_relaxed) !=
		       atomic_load_explicit(&hard->desk.served, memory_order_relaxed);
}

bool
trip_sweep(struct trip_hard *hard, uint64_t now)
{
	unsigned int done = 0;

	if (hard->removed || hard->paused || now < hard->rest_tsc)
		return false;
	if (now >= hard->watch_tsc)
		watch_staleness(hard, now);
	for (; done < BATCH && (done == 0 || !is_wanted(hard)); done++) {
		uint64_t due;
		uint32_t index = trip_horizon_next(&hard->horizon, now, &due);

		if (index == TRIP_HORIZON_NONE)
			break;
		if (hard->burst_tsc == 0)
			hard->burst_tsc = now;
		if (now - due > RTE_MAX(hard->period_tsc, hard->lag.bound))
			trip_engine_stat(&hard->stats->late_readings, 1);
		trip_sweep_read(hard, hard->flows[index]);
	}
	if (done > 0)
		rest(hard);
	return done > 0;
}

uint64_t
trip_sweep_next(const struct trip_hard *hard)
{
	uint64_t due = trip_horizon_due(&hard->horizon);

	if (hard->removed || hard->paused || due == UINT64_MAX)
		return UINT64_MAX;
	return RTE_MAX(RTE_MIN(due, hard->watch_tsc), hard->rest_tsc);
}
