/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RATE where a counter shows nearly the most that it can, or all of it: either value comes to
 * 2^63-1 and no further, and their sum to twice that. And errors, which are of the sum as well.
 */
#include <rte_common.h>

#include "condition_bed.h"
#include "condition.h"

/* What a counter shows at first: so much below the most there is, of either. */
struct top {
	uint64_t success, error;
};

static struct bed *
open_at(const struct top *top)
{
	struct bed *bed = condition_open();

	condition_set_error(bed, TRIP_CNTR_MAX - top->error);
	condition_set(bed, TRIP_CNTR_MAX - top->success);
	bed_settle(bed);
	return bed;
}

static void
add_either(struct bed *bed, bool error)
{
	if (error)
		condition_add_error(bed, 1);
	else
		bed_add(bed, CONDITION_TRIGGER, 1);
}

/* One after the other, this far apart: additions, errors, or both by turns. */
static void
expect_the_tenth_fires(const struct top *top, unsigned int way, uint64_t apart)
{
	struct bed *bed = open_at(top);

	rate_watch(bed, 0, 10, 0);
	condition_go_to(bed, bed->now + 3 * RATE_TIME);
	for (unsigned int n = 0; n < 10; n++) {
		condition_go_to(bed, bed->now + apart);
		assert_int_equal(bed->fired, 0);
		add_either(bed, way == 2 ? n % 2 != 0 : way == 1);
	}
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	assert_true(bed->logs[CONDITION_TRIGGER].fired[0].value ==
		    2 * TRIP_CNTR_MAX - top->success - top->error + 10);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

/* The sum passes 2^63-1, comes to the most there is, or to one less. */
static void
cond_04_each_window_fires_it_up_to_the_most_there_is(void **state)
{
	static const struct top tops[] = {{TRIP_CNTR_MAX, 15}, {15, TRIP_CNTR_MAX},
		{TRIP_CNTR_MAX / 2, TRIP_CNTR_MAX / 2 + 5}, {TRIP_CNTR_MAX / 2, TRIP_CNTR_MAX / 2},
		{10, TRIP_CNTR_MAX - 1}, {10, 10}, {10, 11}, {11, 10}, {100, 100}};
	static const uint64_t apart[] = {0, CONDITION_STEP, RATE_TIME / 10};

	for (unsigned int i = 0; i < RTE_DIM(tops); i++)
		for (unsigned int way = 0; way < 3; way++)
			for (unsigned int j = 0; j < RTE_DIM(apart); j++)
				expect_the_tenth_fires(&tops[i], way, apart[j]);
	/* All of it is there with the last one. */
	for (unsigned int j = 0; j < RTE_DIM(apart); j++) {
		expect_the_tenth_fires(&(const struct top){10, 0}, 0, apart[j]);
		expect_the_tenth_fires(&(const struct top){0, 10}, 1, apart[j]);
		expect_the_tenth_fires(&(const struct top){5, 5}, 2, apart[j]);
	}
}

/* What a counter cannot show has not come; what comes to its other value has. */
static void
cond_03_what_saturates_is_of_no_window(void **state)
{
	static const struct top tops[] = {{6, TRIP_CNTR_MAX}, {6, TRIP_CNTR_MAX - 7}, {6, 4}};

	for (unsigned int i = 0; i < 2 * RTE_DIM(tops); i++) {
		struct bed *bed = open_at(&tops[i / 2]);

		rate_watch(bed, 0, 10, 0);
		for (unsigned int n = 0; n < 20; n++) {
			bed_add(bed, CONDITION_TRIGGER, i % 2 == 0 ? 1 : UINT64_C(1) << 40);
			condition_step(bed);
		}
		assert_int_equal(bed->fired, 0);
		condition_add_error(bed, 3);
		bed_settle(bed);
		assert_int_equal(bed->fired, 0);
		condition_add_error(bed, 1);
		bed_settle(bed);
		assert_int_equal(bed->fired, 1);
		bed_close(bed);
	}
}

/* WORK-14: behind 2^63-1 it would be queued again above the largest threshold there is. */
static void
cond_05_it_fires_again_until_the_largest_threshold(void **state)
{
	struct bed *bed = open_at(&(const struct top){TRIP_CNTR_MAX, 30});

	rate_watch(bed, 0, 10, 1);
	rate_expect_fired_behind(bed, 10, 1);
	rate_expect_fired_behind(bed, 19, 2);
	rate_expect_fired_behind(bed, 9, 2);
	rate_expect_fired_behind(bed, 1, 3);
	rate_expect_fired_behind(bed, 100, 3);
	condition_expect_none(bed);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

/* Before its home has looked; with additions, too, and behind either value's set. */
static void
cond_08_errors_behind_a_set_count(void **state)
{
	static const uint64_t to[] = {0, 5, 30, 1000, TRIP_CNTR_MAX - 20};

	for (unsigned int i = 0; i < 4 * RTE_DIM(to); i++) {
		struct bed *bed = condition_open();

		condition_set(bed, 30);
		condition_add_error(bed, 30);
		rate_watch(bed, 0, 10, 0);
		(i % 4 >= 2 ? condition_set_error : condition_set)(bed, to[i / 4]);
		condition_add_error(bed, i % 2 == 0 ? 9 : 4);
		if (i % 2 != 0)
			bed_add(bed, CONDITION_TRIGGER, 5);
		bed_settle(bed);
		assert_int_equal(bed->fired, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

/* Nor does it look again and again. */
static void
more_than_a_counter_can_show_never_comes(void **state)
{
	/* The last of these reach the most that it can show. */
	static const uint64_t more[] = {1, 1, 98, 1};
	struct bed *bed = condition_open();

	condition_set_error(bed, TRIP_CNTR_MAX);
	condition_set(bed, TRIP_CNTR_MAX - 100);
	bed_settle(bed);
	rate_watch(bed, 0, TRIP_CNTR_MAX, 0);
	for (unsigned int i = 0; i < RTE_DIM(more); i++) {
		bed_add(bed, CONDITION_TRIGGER, more[i]);
		for (unsigned int n = 0; trip_home_iterate(bed->home, bed->now) > 0; n++)
			assert_true(n < 100);
		condition_go_to(bed, bed->now + 2 * RATE_TIME);
	}
	assert_int_equal(bed->fired, 0);
	bed_close(bed);
}

/* A counter that came to as much as it can show, beside so many errors, just now or long ago. */
static struct bed *
watch_very_much(uint64_t errors, bool rests)
{
	struct bed *bed = condition_open();

	condition_set_error(bed, errors);
	condition_set(bed, TRIP_CNTR_MAX - 1);
	bed_settle(bed);
	rate_watch(bed, 0, TRIP_CNTR_MAX, 0);
	bed_add(bed, CONDITION_TRIGGER, 1);
	condition_go_to(bed, bed->now + (rests ? 4 * RATE_TIME : 4 * CONDITION_STEP));
	return bed;
}

/* What was there is so much that nothing could be above it by enough; behind a set there may be. */
static void
cond_08_what_comes_behind_a_set_of_very_much_counts(void **state)
{
	static const uint64_t errors[] = {1, 2, TRIP_CNTR_MAX - 1};

	for (unsigned int i = 0; i < 2 * RTE_DIM(errors); i++) {
		struct bed *bed = watch_very_much(errors[i / 2], i % 2 != 0);

		condition_set(bed, 0);
		condition_step(bed);
		rate_expect_fired_behind(bed, TRIP_CNTR_MAX - 1, 0);
		rate_expect_fired_behind(bed, 1, 1);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

/* Nothing stands above the most that there is: a set is seen at the next cut. */
static void
cond_08_what_comes_behind_a_set_of_the_most_there_is_counts(void **state)
{
	for (unsigned int rests = 0; rests < 2; rests++) {
		struct bed *bed = watch_very_much(TRIP_CNTR_MAX, rests != 0);

		condition_set(bed, 0);
		condition_step(bed);
		bed_add(bed, CONDITION_TRIGGER, TRIP_CNTR_MAX - 1);
		condition_go_to(bed, bed->now + RATE_TIME / 32);
		assert_int_equal(bed->fired, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
		bed = watch_very_much(TRIP_CNTR_MAX, rests != 0);
		condition_set(bed, 0);
		bed_add(bed, CONDITION_TRIGGER, TRIP_CNTR_MAX);
		condition_go_to(bed, bed->now + RATE_TIME / 64);
		assert_int_equal(bed->fired, 1);
		bed_close(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cond_04_each_window_fires_it_up_to_the_most_there_is),
		cmocka_unit_test(cond_03_what_saturates_is_of_no_window),
		cmocka_unit_test(cond_05_it_fires_again_until_the_largest_threshold),
		cmocka_unit_test(cond_08_errors_behind_a_set_count),
		cmocka_unit_test(more_than_a_counter_can_show_never_comes),
		cmocka_unit_test(cond_08_what_comes_behind_a_set_of_very_much_counts),
		cmocka_unit_test(cond_08_what_comes_behind_a_set_of_the_most_there_is_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
