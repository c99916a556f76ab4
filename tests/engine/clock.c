/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a home that is driven by hand: nothing on it fires early, nor later than in the
 * iteration behind the one that finds its time passed. */
#include <rte_common.h>

#include "clock.h"
#include "home_bed.h"

/* What the home's clock is called, and where what fires at it is written down. */
#define CLOCK CNTRS
#define LOGGED 0
#define BASE UINT64_C(5000)
/* Ticks that no number of nanoseconds divides. */
#define HZ UINT64_C(2345678901)

static struct bed *
open_clock(uint64_t hz)
{
	struct bed *bed = bed_open(10);

	bed->engine.tsc_hz = hz;
	bed->engine.base_tsc = BASE;
	bed->now = BASE;
	bed->home->scrub.period_tsc = UINT64_MAX / 2;
	bed_settle(bed);
	return bed;
}

/* Goes there, and makes as many iterations as it may take. */
static void
go_to(struct bed *bed, uint64_t tsc)
{
	bed->now = tsc;
	for (unsigned int i = 0; i < 2; i++)
		(void)trip_home_iterate(bed->home, bed->now);
	bed_check(bed);
}

static uint64_t
ns_at(uint64_t tsc, uint64_t hz)
{
	return (uint64_t)((trip_u128)(tsc - BASE) * 1000000000u / hz);
}

/* To the tick, whatever the frequency: the first at which so many nanoseconds have passed. */
static void
nothing_fires_early(void **state)
{
	static const uint64_t frequencies[] = {1000000000, HZ, 24000000, 3};

	for (unsigned int i = 0; i < RTE_DIM(frequencies); i++) {
		uint64_t hz = frequencies[i], ns = 250000000;
		uint64_t at = BASE + (uint64_t)(((trip_u128)ns * hz + 999999999u) / 1000000000u);
		struct bed *bed = open_clock(hz);

		assert_true(ns_at(at - 1, hz) < ns && ns_at(at, hz) >= ns);
		bed_submit(bed, CLOCK, ns, 0, 0);
		bed_settle(bed);
		assert_true(trip_home_idle(bed->home));
		go_to(bed, at - 1);
		assert_true(trip_home_idle(bed->home));
		assert_int_equal(bed->fired, 0);
		go_to(bed, at);
		assert_int_equal(bed->fired, 1);
		assert_int_equal(bed->logs[LOGGED].fired[0].value, ns_at(at, hz));
		bed_settle(bed);
		assert_true(trip_home_idle(bed->home));
		assert_true(bed->home->clock_tsc == UINT64_MAX);
		bed_close(bed);
	}
}

/* It rings nobody, and the clock shows an earlier time. */
static void
a_time_that_has_passed_is_due_at_once(void **state)
{
	struct bed *bed = open_clock(1000000000);

	go_to(bed, BASE + 1000);
	bed_submit(bed, CLOCK, 999, 0, 0);
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	assert_int_equal(trip_cell_success(&bed->home->cells[CLOCK]), 1000);
	bed_close(bed);
}

/* One each time; where the home was kept away, as many as it missed. */
static void
an_interval_is_a_period(void **state)
{
	struct bed *bed = open_clock(1000000000);
	const struct log *log = &bed->logs[LOGGED];

	bed_submit(bed, CLOCK, 100, 100, 0);
	bed_settle(bed);
	for (unsigned int i = 1; i <= 20; i++) {
		go_to(bed, BASE + 100 * i - 1);
		assert_int_equal(log->n, i - 1);
		go_to(bed, BASE + 100 * i);
		assert_int_equal(log->n, i);
	}
	/* A clock is not polled, however often it fires. */
	assert_int_equal(bed->home->n_hot, 0);
	bed->now = BASE + 2550;
	bed_settle(bed);
	assert_int_equal(log->n, 25);
	assert_int_equal(log->fired[24].threshold, 2500);
	bed_close(bed);
}

/* The one that was first is canceled: the next one's time is found all the same. */
static void
what_is_canceled_does_not_fire(void **state)
{
	struct bed *bed = open_clock(1000000000);
	uint64_t id = bed_submit(bed, CLOCK, 100, 0, 0);

	bed_submit(bed, CLOCK, 200, 0, 1);
	bed_settle(bed);
	assert_int_equal(trip_channel_cancel(&bed->home->clients[0], id), 0);
	bed_ring_channel(bed, 0);
	bed_settle(bed);
	go_to(bed, BASE + 199);
	assert_int_equal(bed->fired, 0);
	go_to(bed, BASE + 200);
	assert_int_equal(bed->fired, 1);
	bed_close(bed);
}

/* Submitted before both times have passed: in the order of these (WORK-02). */
static void
the_earlier_one_fires_first(void **state)
{
	struct bed *bed = open_clock(1000000000);
	const struct log *log = &bed->logs[LOGGED];

	bed_submit(bed, CLOCK, 200, 0, 0);
	bed_settle(bed);
	bed->now = BASE + 300;
	(void)trip_home_iterate(bed->home, bed->now);
	assert_int_equal(log->n, 0);
	bed_submit(bed, CLOCK, 100, 0, 1);
	bed_settle(bed);
	assert_int_equal(log->n, 2);
	assert_int_equal(log->fired[0].threshold, 100);
	bed_close(bed);
}

static void
submit_add(struct bed *bed, uint32_t trigger, uint64_t threshold, uint32_t target)
{
	struct trip_channel_client *client = &bed->home->clients[0];
	int slot = trip_channel_alloc(client, trip_channel_returned(client));
	uint64_t id;

	assert_true(slot >= 0);
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){
		.threshold = threshold,
		.value = 1,
		.trigger = trigger,
		.target = target,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CNTR_ADD,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, &id), 0);
	bed_ring_channel(bed, 0);
}

/* A descriptor may say anything: it cannot name the clock but as what triggers. */
static void
nothing_adds_to_it(void **state)
{
	struct bed *bed = open_clock(1000000000);

	submit_add(bed, 1, 1, CLOCK);
	submit_add(bed, CLOCK + 1, 0, SINK);
	bed_add(bed, 1, 1);
	bed_settle(bed);
	go_to(bed, BASE + 1000);
	assert_int_equal(atomic_load(&bed->home->stats.refused), 2);
	assert_int_equal(trip_cell_sum(&bed->home->cells[CLOCK]), 0);
	assert_int_equal(trip_cell_sum(&bed->home->cells[SINK]), 0);
	bed_close(bed);
}

/* By itself, and among items of a counter that go together. */
static void
what_is_late_has_not_overshot(void **state)
{
	struct bed *bed = open_clock(1000000000);
	_Atomic uint64_t *worst = &bed->home->stats.worst_overshoot;

	bed_submit(bed, CLOCK, 100, 0, 0);
	submit_add(bed, CLOCK, 100, SINK);
	submit_add(bed, 1, 10, SINK);
	bed_settle(bed);
	bed_add(bed, 1, 13);
	go_to(bed, BASE + 1000);
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	/* The call completes there, too. */
	assert_int_equal(trip_cell_sum(&bed->home->cells[SINK]), 3);
	assert_int_equal(atomic_load(worst), 3);
	submit_add(bed, CLOCK, 2000, SINK);
	submit_add(bed, 1, 20, SINK);
	bed->now = BASE + 3000;
	bed_add(bed, 1, 14);
	bed_settle(bed);
	assert_int_equal(atomic_load(worst), 7);
	bed_close(bed);
}

#define STEPS 5000
#define AHEAD 100000

/* What fires at any time is what was to fire by then, each once. */
static void
times_at_random(void **state)
{
	struct trip_random random = {.state = trip_test_seed("clock")};
	struct bed *bed = open_clock(HZ);
	uint64_t times[SLOTS], expected = 0;
	unsigned int n = 0;

	bed->home->scrub.period_tsc = TICK;
	for (unsigned int s = 0; s < STEPS; s++) {
		uint64_t now = ns_at(bed->now, HZ);

		if (n < SLOTS && trip_random_below(&random, 2) == 0) {
			times[n] = now + trip_random_below(&random, AHEAD);
			bed_submit(bed, CLOCK, times[n++], 0, 0);
		}
		bed->now += trip_random_below(&random, AHEAD / 20);
		bed_settle(bed);
		now = ns_at(bed->now, HZ);
		for (unsigned int i = n; i-- > 0;) {
			if (times[i] > now)
				continue;
			expected++;
			times[i] = times[--n];
		}
		bed->logs[LOGGED].n = 0;
		assert_int_equal(bed->fired, expected);
	}
	assert_true(expected > 1000);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_fires_early),
		cmocka_unit_test(a_time_that_has_passed_is_due_at_once),
		cmocka_unit_test(an_interval_is_a_period),
		cmocka_unit_test(what_is_canceled_does_not_fire),
		cmocka_unit_test(the_earlier_one_fires_first),
		cmocka_unit_test(nothing_adds_to_it),
		cmocka_unit_test(what_is_late_has_not_overshot),
		cmocka_unit_test(times_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
