/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an idle lcore does about its timers: the sleeps are the test's, which takes the place of
 * nanosleep() and of rte_power_monitor(), and so is the time.
 */
#include <time.h>

#include <rte_common.h>
#include <rte_power_intrinsics.h>

#include "clock.h"
#include "domain/idle.h"
#include "home_bed.h"
#include "source.h"

#define BASE UINT64_C(5000)
/* Ticks are nanoseconds. */
#define IDLE UINT64_C(1000000)
#define CLOCK CNTRS

static unsigned int sleeps;
static uint64_t slept;
/* Until when it monitors. */
static uint64_t until;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	sleeps++;
	slept = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
	return 0;
}

int __wrap_rte_power_monitor(const struct rte_power_monitor_cond *condition, uint64_t timestamp);
int
__wrap_rte_power_monitor(const struct rte_power_monitor_cond *condition, uint64_t timestamp)
{
	sleeps++;
	until = timestamp;
	return 0;
}

static struct bed *
open_idle(enum trip_idle idle)
{
	struct bed *bed = bed_open(0);

	bed->engine.base_tsc = BASE;
	bed->now = BASE;
	bed->home->idle = (uint8_t)idle;
	bed->home->idle_tsc = IDLE;
	bed->home->scrub.period_tsc = UINT64_MAX / 2;
	bed_settle(bed);
	bed->home->busy_tsc = 0;
	bed->now = BASE + 10 * IDLE;
	(void)trip_home_iterate(bed->home, bed->now);
	sleeps = 0;
	return bed;
}

/* At most idle_us, and no longer than until its clock is due. */
static void
sleep_ends_with_the_clock(void **state)
{
	struct bed *bed = open_idle(TRIP_IDLE_SLEEP);
	uint64_t time = 12 * IDLE + IDLE / 4;

	trip_idle_wait(bed->home);
	assert_int_equal(slept, IDLE);
	bed_submit(bed, CLOCK, time, 0, 0);
	bed_settle(bed);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, IDLE);
	bed->now = BASE + time - 300;
	assert_int_equal(trip_home_iterate(bed->home, bed->now), 0);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, 300);
	/* Its time came while it was about to sleep. */
	bed->now = BASE + time;
	trip_idle_wait(bed->home);
	assert_int_equal(sleeps, 4);
	assert_int_equal(slept, 0);
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	bed_close(bed);
}

static void
monitoring_ends_with_the_clock(void **state)
{
	struct bed *bed = open_idle(TRIP_IDLE_MONITOR);
	uint64_t time = 10 * IDLE + 300;

	trip_idle_wait(bed->home);
	assert_int_equal(until, bed->now + IDLE);
	bed_submit(bed, CLOCK, time, 0, 0);
	bed_settle(bed);
	trip_idle_wait(bed->home);
	assert_int_equal(until, BASE + time);
	assert_int_equal(sleeps, 2);
	bed->now = until;
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	bed_close(bed);
}

/* The scrub is a timer, too: a lost ring is found in its time however long a sleep may be. */
static void
sleep_ends_with_the_scrub(void **state)
{
	struct bed *bed = open_idle(TRIP_IDLE_SLEEP);

	bed->home->scrub.next_tsc = bed->now + 500;
	trip_home_timers(bed->home);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, 500);
	bed_close(bed);
}

/* So is the refresh, until a pass finds that no flow feeds a counter any more. */
static void
sleep_ends_with_the_refresh(void **state)
{
	struct bed *bed = open_idle(TRIP_IDLE_SLEEP);

	bed->home->fed.period_tsc = 700;
	trip_source_link(bed->home, 0);
	bed_settle(bed);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, 700);
	bed->now += 700;
	(void)trip_home_iterate(bed->home, bed->now);
	assert_int_equal(
		atomic_load_explicit(&bed->home->cells[0].refreshed_tsc, memory_order_relaxed),
		bed->now);
	bed_settle(bed);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, 700);
	trip_source_unlink(bed->home, 0);
	bed->now += 700;
	bed_settle(bed);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, IDLE);
	bed_close(bed);
}

/* A pass that has come to a part of them ends, too; the next one is the last. */
static void
sleep_after_the_last_flow(void **state)
{
	struct bed *bed = open_idle(TRIP_IDLE_SLEEP);

	bed->home->fed.period_tsc = 700;
	bed->flow.cntr[1] = 1;
	trip_source_link(bed->home, 0);
	bed_settle(bed);
	bed->now += 700;
	bed->home->budget = 1;
	(void)trip_home_iterate(bed->home, bed->now);
	bed->home->budget = 256;
	assert_int_equal(bed->home->fed.left, 1);
	trip_source_unlink(bed->home, 0);
	bed_settle(bed);
	assert_true(trip_home_idle(bed->home));
	bed->now += 700;
	bed_settle(bed);
	trip_idle_wait(bed->home);
	assert_int_equal(slept, IDLE);
	bed_close(bed);
}

/* Whether that rings. */
static bool
count_packets(struct bed *bed, uint64_t packets)
{
	trip_count_add(&bed->read->count, packets, 64 * packets);
	return (trip_count_reached(&bed->read->count) & TRIP_COUNT_PACKETS) != 0;
}

/* A flow feeds two counters, of which a refresh finds the nearer one first: what is left of its
 * budget is no more than before, whoever splits it anew. */
static void
refresh_leaves_what_is_left(void **state)
{
	struct bed *bed = open_idle(TRIP_IDLE_SLEEP);

	bed->home->fed.period_tsc = 700;
	bed->flow.cntr[TRIP_COUNT_KINDS] = 1;
	bed->flow.more_feeds = 1;
	bed_submit(bed, 0, 100, 0, 0);
	bed_submit(bed, 1, 10, 0, 0);
	trip_source_link(bed->home, 0);
	bed_settle(bed);
	assert_false(count_packets(bed, 4));
	bed->now += 700;
	do
		bed_settle(bed);
	while (!trip_home_idle(bed->home));
	assert_int_equal(trip_cell_sum(&bed->home->cells[1]), 4);
	assert_false(count_packets(bed, 5));
	assert_true(count_packets(bed, 1));
	bed_ring_if(bed, 0, true);
	bed_settle(bed);
	assert_int_equal(bed->logs[1].n, 1);
	trip_source_unlink(bed->home, 0);
	bed_settle(bed);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleep_ends_with_the_clock),
		cmocka_unit_test(monitoring_ends_with_the_clock),
		cmocka_unit_test(sleep_ends_with_the_scrub),
		cmocka_unit_test(sleep_ends_with_the_refresh),
		cmocka_unit_test(sleep_after_the_last_flow),
		cmocka_unit_test(refresh_leaves_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
