/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE at a home that is driven by hand, on a clock of the test's own: which windows fire it. */
#include <rte_common.h>

#include "condition_bed.h"
#include "condition.h"

static void
it_fires_with_the_last_of_them(void **state)
{
	static const uint64_t apart[] = {0, CONDITION_STEP, RATE_TIME / 64 / 9, RATE_TIME / 10};

	for (unsigned int i = 0; i < RTE_DIM(apart); i++) {
		struct bed *bed = condition_open();

		rate_watch(bed, 0, 10, 0);
		condition_go_to(bed, bed->now + 5 * RATE_TIME);
		for (unsigned int n = 0; n < 10; n++) {
			assert_int_equal(bed->fired, 0);
			condition_go_to(bed, bed->now + apart[i]);
			bed_add(bed, CONDITION_TRIGGER, 1);
		}
		bed_settle(bed);
		assert_int_equal(bed->fired, 1);
		assert_int_equal(bed->logs[CONDITION_TRIGGER].fired[0].threshold, 10);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

static void
less_within_a_window_never_fires_it(void **state)
{
	struct bed *bed = condition_open();

	rate_watch(bed, 0, 10, 0);
	/* Nine in a window, wherever that begins. */
	for (unsigned int i = 0; i < 300; i++) {
		bed_add(bed, CONDITION_TRIGGER, 1);
		condition_go_to(bed, bed->now + RATE_TIME / 9 + CONDITION_STEP);
	}
	assert_int_equal(bed->fired, 0);
	/* Nine at once, again and again. */
	for (unsigned int i = 0; i < 30; i++) {
		condition_go_to(bed, bed->now + RATE_TIME + CONDITION_STEP);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_step(bed);
	}
	assert_int_equal(bed->fired, 0);
	bed_close(bed);
}

/* It sleeps as TRIP_IDLE_SLEEP does, for as long as it may, until then. */
static void
sleep_until(struct bed *bed, uint64_t until)
{
	while (bed->now < until) {
		uint64_t wake = RTE_MIN(until, bed->now + bed->home->idle_tsc);

		condition_step(bed);
		if (trip_home_idle(bed->home))
			bed->now = RTE_MAX(bed->now, RTE_MIN(wake, bed->home->timer_tsc));
	}
}

/* What comes to a counter at rest while its home sleeps has no time of its own. */
static void
cond_04_a_window_that_begins_in_a_sleep_fires_it(void **state)
{
	const uint64_t sleeps[] = {
		RATE_TIME / 2, RATE_TIME / 64, RATE_TIME / 1000, RATE_TIME / 2000};

	for (unsigned int i = 0; i < RTE_DIM(sleeps); i++) {
		struct bed *bed = condition_open();

		bed->home->idle_tsc = sleeps[i];
		rate_watch(bed, 0, 10, 0);
		sleep_until(bed, bed->now + 5 * RATE_TIME);
		/* At the end of a sleep come nine, and one in the last moment of their window. */
		bed_add(bed, CONDITION_TRIGGER, 9);
		sleep_until(bed, bed->now + RATE_TIME - RATE_TIME / 64 - 2 * CONDITION_STEP);
		bed_add(bed, CONDITION_TRIGGER, 1);
		bed_settle(bed);
		assert_int_equal(bed->fired, 1);
		bed_close(bed);
	}
}

/* One that is 1/64 shorter, and begins behind the first cut, wherever the look at that is put off
 * to. */
static void
cond_04_a_window_that_begins_before_a_late_look_fires_it(void **state)
{
	const uint64_t time = 8 * RATE_TIME, part = time / 72;

	for (unsigned int i = 0; i < 64; i++) {
		const struct condition_wanted wanted = {
			.cntr = CONDITION_TRIGGER, .count = 10, .time = time};
		struct bed *bed = condition_open();
		uint64_t first;

		condition_go_to(bed, bed->now + i * 997);
		condition_submit(bed, &wanted);
		bed_settle(bed);
		first = bed->now + part + i % 32 * part / 128;
		bed_add(bed, CONDITION_TRIGGER, 1);
		condition_go_to(bed, first);
		bed_add(bed, CONDITION_TRIGGER, 8);
		condition_go_to(bed, first + time - time / 64 - 4 * CONDITION_STEP);
		bed_add(bed, CONDITION_TRIGGER, 2);
		bed_settle(bed);
		assert_int_equal(bed->fired, 1);
		bed_close(bed);
	}
}

static void
a_counter_that_rests_wakes_nobody(void **state)
{
	struct bed *bed = condition_open();
	uint64_t busy;

	rate_watch(bed, 0, 10, 1);
	for (unsigned int i = 0; i < 3; i++) {
		bed_add(bed, CONDITION_TRIGGER, 3);
		condition_go_to(bed, bed->now + RATE_TIME / 16);
		bed_settle(bed);
		assert_true(trip_home_idle(bed->home));
		assert_true(bed->home->clock_tsc == UINT64_MAX);
		busy = atomic_load(&bed->home->stats.busy_iterations);
		condition_go_to(bed, bed->now + 20 * RATE_TIME);
		assert_int_equal(atomic_load(&bed->home->stats.busy_iterations), busy);
	}
	assert_int_equal(bed->fired, 0);
	bed_close(bed);
}

static void
it_fires_again_for_as_many_more(void **state)
{
	struct bed *bed = condition_open();

	rate_watch(bed, 0, 10, 1);
	for (unsigned int i = 0; i < 5; i++) {
		rate_expect_fired_behind(bed, 9, i);
		/* What is above that is of the next window, or of none. */
		rate_expect_fired_behind(bed, 1 + i, i + 1);
	}
	bed_close(bed);
}

static void
a_set_begins_anew(void **state)
{
	static const uint64_t to[] = {0, 5, 9, 40};

	for (unsigned int i = 0; i < RTE_DIM(to); i++) {
		struct bed *bed = condition_open();

		rate_watch(bed, 0, 10, 0);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_go_to(bed, bed->now + RATE_TIME / 8);
		condition_set(bed, to[i]);
		condition_step(bed);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_go_to(bed, bed->now + RATE_TIME / 8);
		assert_int_equal(bed->fired, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

/* Windows begin with it: what comes behind it counts before its home has looked, too, however much
 * more or less there was. */
static void
what_comes_behind_a_set_counts(void **state)
{
	static const uint64_t to[] = {0, 5, 9, 40};

	for (unsigned int i = 0; i < 2 * RTE_DIM(to); i++) {
		struct bed *bed = condition_open();

		rate_watch(bed, 0, 10, 0);
		bed_add(bed, CONDITION_TRIGGER, 9);
		/* At rest, or while it advances. */
		condition_go_to(bed, bed->now + (i % 2 ? RATE_TIME / 8 : 4 * RATE_TIME));
		condition_set(bed, to[i / 2]);
		rate_expect_fired_behind(bed, 9, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

/* The windows begin when the threshold is reached; what came until then is of none. */
static void
it_begins_at_its_threshold(void **state)
{
	struct bed *bed = condition_open();

	rate_watch(bed, 100, 10, 0);
	bed_add(bed, CONDITION_TRIGGER, 99);
	condition_go_to(bed, bed->now + RATE_TIME / 8);
	assert_int_equal(bed->fired, 0);
	/* One of these reaches it. */
	rate_expect_fired_behind(bed, 9, 0);
	rate_expect_fired_behind(bed, 1, 0);
	rate_expect_fired_behind(bed, 1, 1);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

/* Its home accepts it late: windows begin where it was queued, by what the counter showed there. */
static void
what_comes_before_it_is_accepted_counts(void **state)
{
	/* How many times the window it takes for ten of them; what the threshold is, of which 5 are
	 * there already. */
	static const struct {
		uint64_t windows, threshold;
		bool fires;
	} cases[] = {{0, 0, true}, {0, 5, true}, {0, 6, false}, {2, 0, false}};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER,
			.threshold = cases[i].threshold,
			.count = 10,
			.time = RATE_TIME};
		struct bed *bed = condition_open();

		bed_add(bed, CONDITION_TRIGGER, 5);
		condition_step(bed);
		condition_submit(bed, &wanted);
		for (unsigned int n = 0; n < 10; n++) {
			bed->now += RATE_TIME / 11 + cases[i].windows * RATE_TIME / 11;
			bed_add(bed, CONDITION_TRIGGER, 1);
		}
		bed_settle(bed);
		assert_int_equal(bed->fired, cases[i].fires);
		bed_add(bed, CONDITION_TRIGGER, 1);
		bed_settle(bed);
		assert_int_equal(bed->fired, cases[i].windows == 0);
		bed_close(bed);
	}
}

/* And where it was set meanwhile, what came behind that; whether the item is due as soon as it is
 * accepted, or only once its home has looked at the counter. */
static void
a_set_before_it_is_accepted_begins_anew(void **state)
{
	for (unsigned int threshold = 0; threshold < 2; threshold++) {
		const struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER,
			.threshold = threshold,
			.count = 10,
			.time = RATE_TIME};
		struct bed *bed = condition_open();

		condition_submit(bed, &wanted);
		bed_add(bed, CONDITION_TRIGGER, 10);
		condition_set(bed, 30);
		bed_add(bed, CONDITION_TRIGGER, 9);
		bed_settle(bed);
		assert_int_equal(bed->fired, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

static int
set_to_less(const struct trip_work_event *event, void *bed)
{
	condition_set(bed, 5);
	return 0;
}

/* One to less rings for nobody then, and is not taken for one that comes later; nor is one that
 * comes once it is accepted, before its home has looked. */
static void
a_set_to_less_before_it_is_looked_at_is_over(void **state)
{
	const struct condition_wanted wanted = {
		.cntr = CONDITION_TRIGGER, .threshold = 20, .count = 10, .time = RATE_TIME};

	for (unsigned int accepted = 0; accepted < 2; accepted++) {
		struct bed *bed = condition_open();
		trip_function_t note = atomic_load(&bed->function.function);

		bed_add(bed, CONDITION_TRIGGER, 20);
		atomic_store(&bed->function.function, set_to_less);
		if (accepted)
			(void)bed_submit(bed, CONDITION_TARGET, 0, 0, 0);
		condition_submit(bed, &wanted);
		if (!accepted)
			condition_set(bed, 5);
		bed_settle(bed);
		atomic_store(&bed->function.function, note);
		condition_go_to(bed, bed->now + 5 * RATE_TIME);
		rate_expect_fired_behind(bed, 24, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

/* It may claim a sum that was never there, and a time to come: its own item is early or late by
 * that, and all else goes on. */
static void
what_is_said_to_be_queued_may_be_anything(void **state)
{
	static const uint64_t words[] = {0, 1, 20, 1 << 20, TRIP_CNTR_MAX, UINT64_MAX};

	for (unsigned int i = 0; i < RTE_DIM(words) * RTE_DIM(words) * 2; i++) {
		const struct condition_wanted wanted = {.channel = CONDITION_CLIENT,
			.cntr = CONDITION_TRIGGER,
			.count = 10,
			.interval = 1,
			.time = RATE_TIME};
		struct bed *bed = condition_open();
		struct trip_work_desc *desc;
		struct trip_condition_queued *queued;
		uint64_t id;

		bed_add(bed, CONDITION_TRIGGER, 20);
		condition_go_to(bed, 3 * RATE_TIME);
		desc = condition_submit_desc(bed, &wanted, &id);
		queued = trip_channel_operands(
			&bed->home->clients[CONDITION_CLIENT], desc->memory - 1);
		*queued = (struct trip_condition_queued){
			.sum = words[i / 2 % RTE_DIM(words)],
			.known = words[i / 2 / RTE_DIM(words)],
			.setgen = i % 2,
		};
		bed_ring_channel(bed, CONDITION_CLIENT);
		condition_step(bed);
		condition_go_to(bed, bed->now + 3 * RATE_TIME);
		assert_true(bed->fired <= 1);
		bed->fired = 0;
		rate_expect_fired_behind(bed, 9, 0);
		rate_expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fires_with_the_last_of_them),
		cmocka_unit_test(less_within_a_window_never_fires_it),
		cmocka_unit_test(cond_04_a_window_that_begins_in_a_sleep_fires_it),
		cmocka_unit_test(cond_04_a_window_that_begins_before_a_late_look_fires_it),
		cmocka_unit_test(a_counter_that_rests_wakes_nobody),
		cmocka_unit_test(it_fires_again_for_as_many_more),
		cmocka_unit_test(a_set_begins_anew),
		cmocka_unit_test(what_comes_behind_a_set_counts),
		cmocka_unit_test(it_begins_at_its_threshold),
		cmocka_unit_test(what_comes_before_it_is_accepted_counts),
		cmocka_unit_test(a_set_before_it_is_accepted_begins_anew),
		cmocka_unit_test(a_set_to_less_before_it_is_looked_at_is_over),
		cmocka_unit_test(what_is_said_to_be_queued_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
