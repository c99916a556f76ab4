/* SPDX-License-Identifier: BSD-3-Clause */
/* How far past, how late, and found how late: what a home's histograms hold of firings, by a clock
 * of the test's own. */
#include <string.h>

#include "home_bed.h"

static void
copy(const struct bed *bed, enum trip_home_spread which, struct trip_spread_copy *out)
{
	memset(out, 0, sizeof(*out));
	trip_spread_copy(&bed->home->spreads[which], out);
}

/* So many values, of this sum; the largest is in the bucket of this one. */
static void
expect(const struct bed *bed, enum trip_home_spread which, uint64_t n, uint64_t sum, uint64_t most)
{
	struct trip_spread_copy got;

	copy(bed, which, &got);
	assert_int_equal(trip_spread_count(&got), n);
	assert_int_equal(got.sum, sum);
	if (n > 0)
		assert_int_equal(trip_spread_quantile(&got, 1000),
			trip_spread_top(trip_spread_bucket(most)));
}

static void
each_firing_is_as_far_past_its_threshold_as_it_was(void **state)
{
	struct bed *bed = bed_open(0);

	bed_submit(bed, 0, 10, 0, 0);
	bed_submit(bed, 1, 10, 10, 1);
	bed_submit(bed, 2, 1000, 0, 2);
	bed_settle(bed);
	expect(bed, TRIP_HOME_OVERSHOOT, 0, 0, 0);
	bed_add(bed, 0, 10);
	bed_settle(bed);
	expect(bed, TRIP_HOME_OVERSHOOT, 1, 0, 0);
	/* At 10, 20 and 30. */
	bed_add(bed, 1, 35);
	bed_settle(bed);
	expect(bed, TRIP_HOME_OVERSHOOT, 4, 25 + 15 + 5, 25);
	expect(bed, TRIP_HOME_FIRING, 4, 0, 0);
	assert_int_equal(bed->home->stats.worst_overshoot, 25);
	bed_close(bed);
}

/* A call takes 40: the second of an update has waited for the first. */
static void
each_firing_is_as_late_as_its_event_says(void **state)
{
	struct bed *bed = bed_open(0);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 3; i++)
		bed_submit(bed, 0, 10, 0, i);
	bed_settle(bed);
	bed->takes = 40;
	bed_add(bed, 0, 10);
	bed_settle(bed);
	for (unsigned int i = 0; i < 3; i++)
		sum += bed->logs[0].fired[i].latency;
	assert_int_equal(sum, 0 + 40 + 80);
	expect(bed, TRIP_HOME_FIRING, 3, sum, 80);
	bed->takes = 0;
	/* Of what was due already when it came, there is no update. */
	bed_submit(bed, 0, 5, 0, 3);
	bed->now += 1000;
	bed_settle(bed);
	expect(bed, TRIP_HOME_FIRING, 4, sum, 80);
	bed_close(bed);
}

static void
what_is_found_has_come_since_the_look_before(void **state)
{
	struct bed *bed = bed_open(0);

	bed_submit(bed, 0, 10, 10, 0);
	bed_settle(bed);
	bed->now += 100;
	assert_int_equal(trip_home_iterate(bed->home, bed->now), 0);
	/* Nobody waits for it yet. */
	bed_add(bed, 0, 9);
	bed->now += 7;
	(void)trip_home_iterate(bed->home, bed->now);
	expect(bed, TRIP_HOME_DETECTION, 0, 0, 0);
	bed_add(bed, 0, 1);
	bed->now += 30;
	bed_settle(bed);
	expect(bed, TRIP_HOME_DETECTION, 1, 30, 30);
	/* Twice between two looks is found once. */
	bed_add(bed, 0, 10);
	bed_add(bed, 0, 10);
	bed->now += 300;
	bed_settle(bed);
	expect(bed, TRIP_HOME_DETECTION, 2, 330, 300);
	expect(bed, TRIP_HOME_FIRING, 3, 0, 0);
	bed_close(bed);
}

/* A counter that is polled is found like one that rings. */
static void
a_hot_one_is_found_and_fires_like_others(void **state)
{
	struct bed *bed = bed_open(16);

	bed_submit(bed, 0, 1, 1, 0);
	bed_settle(bed);
	for (unsigned int i = 0; i < 20; i++) {
		bed->now += 10;
		(void)trip_home_iterate(bed->home, bed->now);
		bed_add(bed, 0, 1);
		bed->now += 5;
		bed_settle(bed);
	}
	assert_int_equal(bed->home->n_hot, 1);
	expect(bed, TRIP_HOME_DETECTION, 20, 20 * 5, 5);
	expect(bed, TRIP_HOME_OVERSHOOT, 20, 0, 0);
	expect(bed, TRIP_HOME_FIRING, 20, 0, 0);
	bed_close(bed);
}

/* What is late by the clock is late, and past no count. */
static void
an_item_of_the_clock_is_no_overshoot(void **state)
{
	struct bed *bed = bed_open(0);
	uint64_t fired;

	bed_settle(bed);
	(void)bed_submit(bed, CNTRS, bed->now + 1000, 0, 0);
	bed_settle(bed);
	bed->now += 1500;
	bed_settle(bed);
	fired = bed->home->stats.fired;
	assert_int_equal(fired, 1);
	expect(bed, TRIP_HOME_OVERSHOOT, 0, 0, 0);
	expect(bed, TRIP_HOME_FIRING, 1, 0, 0);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_firing_is_as_far_past_its_threshold_as_it_was),
		cmocka_unit_test(each_firing_is_as_late_as_its_event_says),
		cmocka_unit_test(what_is_found_has_come_since_the_look_before),
		cmocka_unit_test(a_hot_one_is_found_and_fires_like_others),
		cmocka_unit_test(an_item_of_the_clock_is_no_overshoot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
