/* SPDX-License-Identifier: BSD-3-Clause */
/* What a home publishes of itself: after each iteration that was not idle all that it has done by
 * then, and by an idle one nothing. */
#include <stddef.h>

#include "home_bed.h"

static uint64_t copy[TRIP_PUBLISHED_WORDS];

#define PUBLISHED(word) copy[offsetof(struct trip_home_stats, word) / sizeof(uint64_t)]

/* Its number. */
static uint64_t
get(const struct bed *bed)
{
	uint64_t number = trip_published_get(bed->home->published, copy);

	assert_int_equal(PUBLISHED(accepted) + PUBLISHED(rearmed),
		PUBLISHED(pending) - PUBLISHED(lasting) + PUBLISHED(fired) + PUBLISHED(canceled));
	return number;
}

static void
expect_all(const struct bed *bed)
{
	const _Atomic uint64_t *words = (const _Atomic uint64_t *)&bed->home->stats;

	(void)get(bed);
	for (unsigned int i = 0; i < TRIP_PUBLISHED_WORDS; i++)
		assert_int_equal(copy[i], atomic_load(&words[i]));
}

static void
what_an_iteration_did_is_published(void **state)
{
	struct bed *bed = bed_open(0);

	bed_settle(bed);
	bed_submit(bed, 0, 10, 0, 0);
	bed_submit(bed, 0, 10, 10, 1);
	assert_true(trip_home_iterate(bed->home, ++bed->now) > 0);
	expect_all(bed);
	assert_int_equal(PUBLISHED(accepted), 2);
	assert_int_equal(PUBLISHED(pending), 2);
	assert_int_equal(PUBLISHED(deepest), 2);
	assert_int_equal(PUBLISHED(moment_tsc), bed->now);
	bed_add(bed, 0, 35);
	bed_settle(bed);
	expect_all(bed);
	assert_int_equal(PUBLISHED(fired), 4);
	assert_int_equal(PUBLISHED(rearmed), 3);
	assert_int_equal(PUBLISHED(pending), 1);
	assert_int_equal(PUBLISHED(worst_overshoot), 25);
	assert_true(PUBLISHED(rung) > 0);
	bed_close(bed);
}

static void
an_idle_iteration_publishes_nothing(void **state)
{
	struct bed *bed = bed_open(0);
	uint64_t number, iterations;

	bed_submit(bed, 0, 10, 0, 0);
	bed_settle(bed);
	number = get(bed);
	assert_true(number > 0);
	iterations = PUBLISHED(iterations);
	/* Nothing is due by the time of the iteration before. */
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(trip_home_iterate(bed->home, bed->now), 0);
	assert_int_equal(get(bed), number);
	bed_submit(bed, 0, 20, 0, 1);
	assert_true(trip_home_iterate(bed->home, bed->now) > 0);
	assert_int_equal(get(bed), number + 1);
	assert_int_equal(PUBLISHED(iterations), iterations + 1 + 100 + 1);
	bed_close(bed);
}

/* A call takes 40: two of the iterations are beyond their bound, by 10 and by 50. */
static void
time_is_busy_idle_or_beyond_the_bound(void **state)
{
	struct bed *bed = bed_open(0);
	uint64_t idle, busy;

	bed->home->bound_tsc = 30;
	bed->takes = 40;
	for (unsigned int i = 1; i <= 3; i++)
		bed_submit(bed, 0, i == 1 ? 1 : 2, 0, i);
	bed_settle(bed);
	(void)get(bed);
	assert_int_equal(PUBLISHED(beyond), 0);
	idle = PUBLISHED(idle_tsc);
	busy = PUBLISHED(busy_tsc);
	for (unsigned int i = 0; i < 2; i++) {
		bed->now += 1000;
		bed_add(bed, 0, 1);
		bed_settle(bed);
	}
	expect_all(bed);
	assert_int_equal(PUBLISHED(fired), 3);
	assert_int_equal(PUBLISHED(beyond), 2);
	assert_int_equal(PUBLISHED(beyond_tsc), 10 + 50);
	assert_int_equal(PUBLISHED(busy_tsc), busy + 3 * 40);
	assert_int_equal(PUBLISHED(idle_tsc), idle + 2 * 1000);
	assert_int_equal(PUBLISHED(longest_tsc), 80);
	bed->takes = 0;
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_iteration_did_is_published),
		cmocka_unit_test(an_idle_iteration_publishes_nothing),
		cmocka_unit_test(time_is_busy_idle_or_beyond_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
