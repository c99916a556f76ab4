/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The refresh lag as the sweep measures it, on a clock of the test and a driver that the test
 * plays: its cache is refreshed every `period`, under traffic, and the worker may lose its CPU in a
 * query.
 */
#include <rte_cycles.h>

#include "hard.h"
#include "sweep.h"
#include "trip_test.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
/* A tick is a nanosecond; a packet comes every 10 microseconds, and a query takes two. */
#define PACKET 10000
#define QUERY 2000

static struct {
	uint64_t now, period;
	/* The reading, counted down, that is held up between its clock and the driver. */
	unsigned int held;
	uint64_t longest_gap, asked;
	struct trip_engine engine;
	struct trip_hard hard;
	struct trip_hard_flow flow, *flows[1];
	struct trip_flow_slot slot;
	struct trip_flow_feed feed;
	struct trip_flow_read *read;
	uint8_t horizon[4096];
} bed;

static uint64_t
clock_of_test(void)
{
	return bed.now;
}

static int
played_read(uint16_t port_id, struct trip_rule *rule, uint64_t grew[TRIP_COUNT_KINDS])
{
	uint64_t packets;

	if (bed.held > 0 && --bed.held == 0)
		bed.now += 900 * MS;
	packets = (bed.now - (bed.period > 0 ? bed.now % bed.period : 0)) / PACKET;
	bed.now += QUERY;
	grew[TRIP_COUNT_KIND_PACKETS] = packets - rule->last[TRIP_COUNT_KIND_PACKETS];
	grew[TRIP_COUNT_KIND_BYTES] = 0;
	rule->last[TRIP_COUNT_KIND_PACKETS] = packets;
	if (bed.asked != 0 && bed.now - bed.asked > bed.longest_gap)
		bed.longest_gap = bed.now - bed.asked;
	bed.asked = bed.now;
	return 0;
}

#define rte_rdtsc clock_of_test
#define trip_rule_read played_read
#include "../../lcore/hard/sweep.c"

static void
open_bed(uint64_t period)
{
	struct trip_hard *hard = &bed.hard;

	memset(&bed, 0, sizeof(bed));
	hard->stats = &hard->own;
	bed.now = 100 * SECOND;
	bed.period = period;
	bed.read = aligned_alloc(64, RTE_ALIGN(sizeof(*bed.read), 64));
	assert_non_null(bed.read);
	memset(bed.read, 0, sizeof(*bed.read));
	trip_count_init(&bed.read->count);
	bed.engine = (struct trip_engine){.n_flows = 1,
		.flows = &bed.slot,
		.feeds = &bed.feed,
		.reads = bed.read,
		.tsc_hz = SECOND};
	bed.flows[0] = &bed.flow;
	/* Some rule. */
	bed.flow.rule.entry.flow = (void *)&bed.flow;
	bed.flow.rule.last[TRIP_COUNT_KIND_PACKETS] = bed.now / PACKET;
	hard->engine = &bed.engine;
	hard->flows = bed.flows;
	hard->facts.port.refresh_lag_ns = SECOND;
	pthread_mutex_init(&hard->lock, NULL);
	assert_true(trip_horizon_size(1) <= sizeof(bed.horizon));
	trip_horizon_init(&hard->horizon, bed.horizon, 1);
	trip_sweep_configure(hard, MS);
	/* There is no port. */
	hard->watch_tsc = UINT64_MAX;
	trip_horizon_add(&hard->horizon, 0, bed.now);
}

static void
close_bed(void)
{
	pthread_mutex_destroy(&bed.hard.lock);
	free(bed.read);
}

/* As the worker does, that long. */
static void
sweep_for(uint64_t time)
{
	uint64_t until = bed.now + time;

	while (bed.now < until) {
		bed.now = RTE_MAX(bed.now, trip_sweep_next(&bed.hard));
		(void)trip_sweep(&bed.hard, bed.now);
	}
}

static void
expect_lag(uint64_t at_least, uint64_t at_most)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};

	trip_hard_facts(&bed.hard, &facts);
	trip_assert_range(facts.refresh_lag_ns, at_least, at_most);
	assert_int_equal(facts.refresh_lag_from, TRIP_PORT_FACT_MEASURED);
}

/* Whichever reading it is. */
static void
hard_lag_of_a_reading_that_is_held_up(void **state)
{
	for (unsigned int held = 1; held <= 24; held++) {
		open_bed(SECOND);
		bed.held = held;
		sweep_for(20 * SECOND);
		assert_int_equal(bed.held, 0);
		expect_lag(SECOND, SECOND);
		close_bed();
	}
}

static void
hard_lag_rises_again(void **state)
{
	open_bed(100 * MS);
	sweep_for(20 * SECOND);
	expect_lag(100 * MS, 150 * MS);
	bed.period = 800 * MS;
	sweep_for(300 * SECOND);
	expect_lag(800 * MS, SECOND);
	bed.period = 300 * MS;
	sweep_for(300 * SECOND);
	expect_lag(300 * MS, 450 * MS);
	close_bed();
}

/* Nor is it read less often, when it is measured again. */
static void
hard_lag_of_what_is_asked_stays_none(void **state)
{
	open_bed(0);
	sweep_for(20 * SECOND);
	expect_lag(0, 0);
	bed.longest_gap = 0;
	for (unsigned int i = 0; i < 20; i++) {
		sweep_for(10 * SECOND);
		expect_lag(0, 0);
	}
	assert_true(bed.longest_gap < 2 * MS);
	close_bed();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hard_lag_of_a_reading_that_is_held_up),
		cmocka_unit_test(hard_lag_rises_again),
		cmocka_unit_test(hard_lag_of_what_is_asked_stays_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
