/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IDLE at a home that is driven by hand, on a clock of the test's own: never early, at latest 1 %
 * later, once each time that the counter rests, whatever is set, canceled or killed in between.
 */
#include <string.h>

#include "condition_bed.h"

static void
it_fires_when_its_counter_rests(void **state)
{
	/* Additions that are so far apart: less than a look, and more. */
	static const uint64_t apart[] = {CONDITION_STEP, 7 * CONDITION_STEP, IDLE_TIME / 100,
		IDLE_TIME / 20, IDLE_TIME - 10 * CONDITION_STEP};

	for (unsigned int i = 0; i < RTE_DIM(apart); i++) {
		struct bed *bed = condition_open();
		uint64_t end = bed->now + 20 * IDLE_TIME;

		idle_watch(bed, 0);
		while (bed->now < end) {
			bed_add(bed, CONDITION_TRIGGER, 1);
			condition_go_to(bed, bed->now + apart[i]);
		}
		assert_int_equal(bed->fired, 0);
		bed_add(bed, CONDITION_TRIGGER, 1);
		idle_expect_fires(bed, bed->now);
		assert_int_equal(bed->logs[CONDITION_TRIGGER].fired[0].value,
			trip_cell_sum(&bed->home->cells[CONDITION_TRIGGER]));
		assert_int_equal(bed->logs[CONDITION_TRIGGER].fired[0].threshold,
			bed->logs[CONDITION_TRIGGER].fired[0].value);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

/* Nothing is looked at until the time is over, and nothing behind that. */
static void
a_counter_that_rests_wakes_nobody(void **state)
{
	struct bed *bed = condition_open();
	uint64_t began = bed->now, busy;

	idle_watch(bed, 1);
	condition_go_to(bed, began + IDLE_TIME / 50);
	bed_settle(bed);
	busy = atomic_load(&bed->home->stats.busy_iterations);
	assert_true(trip_home_idle(bed->home));
	condition_go_to(bed, began + IDLE_TIME - CONDITION_STEP);
	assert_int_equal(atomic_load(&bed->home->stats.busy_iterations), busy);
	condition_go_to(bed, began + IDLE_LATEST + 4 * CONDITION_STEP);
	assert_int_equal(bed->fired, 1);
	bed_settle(bed);
	busy = atomic_load(&bed->home->stats.busy_iterations);
	condition_go_to(bed, bed->now + 5 * IDLE_TIME);
	assert_int_equal(bed->fired, 1);
	assert_int_equal(atomic_load(&bed->home->stats.busy_iterations), busy);
	assert_true(bed->home->clock_tsc == UINT64_MAX);
	bed_close(bed);
}

/* Nobody rings for a counter that is busy; it is looked at 256 times. */
static void
a_busy_counter_rings_for_nobody(void **state)
{
	struct bed *bed = condition_open();
	unsigned int rings = 0;
	uint64_t end;

	idle_watch(bed, 0);
	bed_add(bed, CONDITION_TRIGGER, 1);
	condition_step(bed);
	condition_step(bed);
	for (end = bed->now + IDLE_TIME; bed->now < end;) {
		rings += bed_add(bed, CONDITION_TRIGGER, 1);
		condition_step(bed);
	}
	assert_int_equal(rings, 0);
	bed_close(bed);
}

static void
once_for_each_time_that_it_rests(void **state)
{
	static const uint64_t intervals[] = {1, 5};

	for (unsigned int i = 0; i < RTE_DIM(intervals); i++) {
		struct bed *bed = condition_open();

		idle_watch(bed, intervals[i]);
		idle_expect_fires(bed, bed->now);
		for (unsigned int n = 0; n < 3; n++) {
			for (uint64_t k = 1; k < intervals[i]; k++)
				bed_add(bed, CONDITION_TRIGGER, 1);
			condition_go_to(bed, bed->now + 3 * IDLE_TIME);
			assert_int_equal(bed->fired, 1 + n);
			bed_add(bed, CONDITION_TRIGGER, 1);
			idle_expect_fires(bed, bed->now);
		}
		assert_int_equal(bed->home->channels[CONDITION_OWN].held, 2);
		bed_close(bed);
	}
}

/* Before that it may rest as long as it likes. */
static void
it_begins_at_its_threshold(void **state)
{
	struct bed *bed = condition_open();

	condition_submit(
		bed, &(const struct condition_wanted){
			     .cntr = CONDITION_TRIGGER, .threshold = 10, .time = IDLE_TIME});
	bed_add(bed, CONDITION_TRIGGER, 9);
	condition_go_to(bed, bed->now + 3 * IDLE_TIME);
	condition_set(bed, 3);
	condition_go_to(bed, bed->now + 3 * IDLE_TIME);
	assert_int_equal(bed->fired, 0);
	bed_add(bed, CONDITION_TRIGGER, 7);
	idle_expect_fires(bed, bed->now);
	bed_close(bed);
}

/* While it advances, rests, and when it has fired; lower, higher, and to what it was. */
static void
a_set_begins_anew(void **state)
{
	static const uint64_t when[] = {
		0, IDLE_TIME / 2, IDLE_TIME - 2 * CONDITION_STEP, 3 * IDLE_TIME};
	static const uint64_t to[] = {0, 50, 100, 150};

	for (unsigned int i = 0; i < RTE_DIM(when) * RTE_DIM(to); i++) {
		struct bed *bed = condition_open();
		uint64_t at = when[i % RTE_DIM(when)];

		idle_watch(bed, 1);
		bed_add(bed, CONDITION_TRIGGER, 100);
		condition_go_to(bed, bed->now + at);
		assert_int_equal(bed->fired, at > IDLE_TIME);
		condition_set(bed, to[i / RTE_DIM(when)]);
		idle_expect_fires(bed, bed->now);
		/* Above the sum that it has now, not above the one that it had. */
		bed_add(bed, CONDITION_TRIGGER, 1);
		idle_expect_fires(bed, bed->now);
		bed_close(bed);
	}
}

/* Sets its counter to what it is, the first time. */
static int
set_when_called(const struct trip_work_event *event, void *arg)
{
	struct bed *bed = arg;

	if (bed->fired++ == 0)
		condition_set(bed, trip_cell_success(&bed->home->cells[CONDITION_TRIGGER]));
	return 0;
}

/* While it fires, its item stands nowhere, and nobody may be rung for. It had advanced at the last
 * look, or had not. */
static void
a_set_while_it_fires_begins_anew(void **state)
{
	for (unsigned int rested = 0; rested < 2; rested++) {
		struct bed *bed = condition_open();

		atomic_store(&bed->function.function, set_when_called);
		idle_watch(bed, 1);
		bed_add(bed, CONDITION_TRIGGER, 1);
		condition_go_to(bed, bed->now + (rested ? IDLE_TIME / 2 : IDLE_TIME / 80));
		bed->now += 2 * IDLE_TIME;
		while (bed->fired == 0)
			(void)trip_home_iterate(bed->home, bed->now);
		idle_expect_fires(bed, bed->now);
		assert_int_equal(bed->fired, 2);
		bed_close(bed);
	}
}

/* A set looks at all of its conditions, a few in each iteration. */
static void
a_set_of_many_is_bounded(void **state)
{
	struct bed *bed = condition_open();
	uint64_t advanced, worst = 0;

	for (unsigned int i = 0; i < SLOTS / 2; i++)
		condition_submit(bed, &(const struct condition_wanted){
					      .cntr = CONDITION_TRIGGER, .time = IDLE_TIME});
	bed_settle(bed);
	condition_go_to(bed, bed->now + IDLE_TIME / 2);
	bed->home->budget = 4;
	condition_set(bed, 7);
	advanced = bed->now;
	for (unsigned int i = 0; i < SLOTS; i++) {
		uint64_t before = bed->home->pool.steps;

		condition_step(bed);
		worst = RTE_MAX(worst, bed->home->pool.steps - before);
	}
	assert_true(worst < 1000);
	bed->home->budget = 256;
	condition_go_to(bed, advanced + IDLE_TIME - CONDITION_STEP);
	assert_int_equal(bed->fired, 0);
	condition_go_to(bed, advanced + IDLE_LATEST + SLOTS * CONDITION_STEP);
	assert_int_equal(bed->fired, SLOTS / 2);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

/* The home's clock goes on, however often an alarm is moved: what else waits for it is in time. */
static void
a_set_in_each_iteration_leaves_the_clock_alone(void **state)
{
	struct bed *bed = condition_open();
	uint64_t due = bed->now + IDLE_TIME;

	/* Somebody waits for the counter, so that each set rings. */
	bed_submit(bed, CONDITION_TRIGGER, 1000, 0, 1);
	bed_submit(bed, CNTRS, due, 0, 1);
	idle_watch(bed, 0);
	while (bed->now < due + 8 * CONDITION_STEP) {
		condition_set(bed, 5);
		condition_step(bed);
	}
	assert_int_equal(bed->fired, 1);
	bed_close(bed);
}

/* Wherever it is: not accepted, before its threshold, advancing, resting, when it has fired. */
static void
bring_to(struct bed *bed, unsigned int phase)
{
	if (phase == 0)
		return;
	bed_settle(bed);
	if (phase >= 2)
		bed_add(bed, CONDITION_TRIGGER, 1);
	if (phase == 2)
		condition_go_to(bed, bed->now + 2 * CONDITION_STEP);
	if (phase == 3)
		condition_go_to(bed, bed->now + IDLE_TIME / 2);
	if (phase == 4)
		condition_go_to(bed, bed->now + 2 * IDLE_TIME);
	/* Its alarm is due, and it has advanced: both are on their way. */
	if (phase == 5) {
		condition_go_to(bed, bed->now + IDLE_TIME / 2);
		bed->now += IDLE_TIME;
		(void)trip_home_iterate(bed->home, bed->now);
		bed_add(bed, CONDITION_TRIGGER, 1);
	}
}

#define PHASES 6

static void
it_is_canceled_at_any_time(void **state)
{
	for (unsigned int i = 0; i < 2 * PHASES; i++) {
		struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER,
			.threshold = 1,
			.interval = 1,
			.time = IDLE_TIME,
			.limit = i < PHASES ? 0 : 9};
		struct bed *bed = condition_open();
		uint64_t id = condition_submit(bed, &wanted), fired, filled;

		bring_to(bed, i % PHASES);
		fired = bed->fired;
		filled = trip_cell_success(&bed->home->cells[CONDITION_TARGET]);
		condition_cancel(bed, CONDITION_OWN, id);
		bed_settle(bed);
		bed_add(bed, CONDITION_TRIGGER, 1);
		condition_go_to(bed, bed->now + 3 * IDLE_TIME);
		assert_int_equal(bed->fired, fired);
		assert_int_equal(trip_cell_success(&bed->home->cells[CONDITION_TARGET]), filled);
		condition_expect_none(bed);
		assert_true(bed->home->clock_tsc == UINT64_MAX);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

/* Its process is gone: the counter that it would have changed, or completed on, says so. */
static void
a_dropped_client_leaves_none(void **state)
{
	for (unsigned int i = 0; i < 2 * PHASES; i++) {
		struct condition_wanted wanted = {.channel = CONDITION_CLIENT,
			.cntr = CONDITION_TRIGGER,
			.threshold = 1,
			.interval = 1,
			.time = IDLE_TIME,
			.limit = i < PHASES ? 0 : 9};
		struct bed *bed = condition_open();

		for (unsigned int n = 0; n < 10; n++)
			condition_submit(bed, &wanted);
		bring_to(bed, i % PHASES);
		condition_expect_dropped(
			bed, i < PHASES ? SINK : CONDITION_TARGET, 10, 2 * IDLE_TIME);
		bed_close(bed);
	}
}

static void
it_has_operands_too(void **state)
{
	struct bed *bed = condition_open();
	const struct condition_wanted wanted = {
		.cntr = CONDITION_TRIGGER, .interval = 1, .time = IDLE_TIME, .limit = 2};

	condition_submit(bed, &wanted);
	bed_settle(bed);
	for (unsigned int i = 1; i < 4; i++) {
		bed_add(bed, CONDITION_TRIGGER, 1);
		condition_go_to(bed, bed->now + 2 * IDLE_TIME);
		assert_int_equal(
			trip_cell_success(&bed->home->cells[CONDITION_TARGET]), i < 2 ? i : 2);
	}
	assert_int_equal(bed->home->channels[CONDITION_OWN].held, 3);
	bed_close(bed);
}

/* A slot is used for items of other kinds in between; nothing of those is left in its node. */
static void
nodes_of_other_items_have_it(void **state)
{
	struct bed *bed = condition_open();

	for (unsigned int i = 0; i < SLOTS; i++)
		assert_true(condition_submit_add(bed, CONDITION_OWN));
	bed_ring_channel(bed, CONDITION_OWN);
	bed_settle(bed);
	assert_int_equal(trip_cell_success(&bed->home->cells[CONDITION_TARGET]), SLOTS);
	idle_watch(bed, 0);
	bed_add(bed, CONDITION_TRIGGER, 1);
	idle_expect_fires(bed, bed->now);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

/* Whoever looks at all nodes takes none for that of an item because it was one of a condition. */
static void
operands_come_where_conditions_were(void **state)
{
	const struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER, .time = 1},
				      fill = {.cntr = CONDITION_TRIGGER,
					      .time = IDLE_TIME,
					      .limit = SLOTS};
	struct bed *bed = condition_open();
	unsigned int fills = 0;
	uint64_t id;

	for (unsigned int i = 0; i < SLOTS / 2; i++)
		condition_submit(bed, &wanted);
	condition_go_to(bed, bed->now + 10 * CONDITION_STEP);
	assert_int_equal(bed->fired, SLOTS / 2);
	for (; condition_submit_desc(bed, &fill, &id) != NULL; fills++)
		;
	bed_ring_channel(bed, CONDITION_OWN);
	bed_settle(bed);
	assert_int_equal(bed->home->channels[CONDITION_OWN].held, 3 * fills);
	condition_go_to(bed, bed->now + 2 * IDLE_TIME);
	assert_int_equal(trip_cell_success(&bed->home->cells[CONDITION_TARGET]), fills);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

/* No correct client submits these. */
static void
what_is_wrong_is_refused(void **state)
{
	struct bed *bed = condition_open();
	struct trip_channel_home *channel = &bed->home->channels[CONDITION_CLIENT];
	struct trip_channel_client *client = &bed->home->clients[CONDITION_CLIENT];
	const struct condition_wanted wanted = {
		.channel = CONDITION_CLIENT, .cntr = CONDITION_TRIGGER, .time = IDLE_TIME};
	struct trip_work_desc *good, *bad;
	uint64_t id, refused = 0;

	good = condition_submit_desc(bed, &wanted, &id);
	bed_ring_channel(bed, CONDITION_CLIENT);
	bed_settle(bed);
	for (unsigned int i = 0; i < 7; i++) {
		bad = condition_submit_desc(bed, &wanted, &id);
		switch (i) {
		case 0:
			bad->condition_kind = TRIP_CONDITION_NONE;
			break;
		case 1:
			bad->condition_kind = UINT8_MAX;
			break;
		case 2:
			memset(trip_channel_operands(client, bad->condition - 1), 0xff, 8);
			break;
		case 3:
			bad->condition = good->condition;
			break;
		case 4:
			bad->condition = (uint32_t)(bad - client->map.desc) + 1;
			break;
		case 5:
			bad->condition = UINT32_MAX;
			break;
		case 6:
			bad->op = TRIP_OP_CNTR_FILL;
			bad->target = CONDITION_TARGET;
			bad->completion = TRIP_NONE;
			/* One slot for both. */
			bad->operands = bad->condition;
			break;
		}
		bed_ring_channel(bed, CONDITION_CLIENT);
		bed_settle(bed);
		assert_int_equal(atomic_load(&bed->home->stats.refused), ++refused);
		assert_int_equal(channel->held, 2);
	}
	idle_expect_fires(bed, 1000);
	assert_int_equal(channel->held, 0);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fires_when_its_counter_rests),
		cmocka_unit_test(a_counter_that_rests_wakes_nobody),
		cmocka_unit_test(a_busy_counter_rings_for_nobody),
		cmocka_unit_test(once_for_each_time_that_it_rests),
		cmocka_unit_test(it_begins_at_its_threshold),
		cmocka_unit_test(a_set_begins_anew),
		cmocka_unit_test(a_set_while_it_fires_begins_anew),
		cmocka_unit_test(a_set_of_many_is_bounded),
		cmocka_unit_test(a_set_in_each_iteration_leaves_the_clock_alone),
		cmocka_unit_test(it_is_canceled_at_any_time),
		cmocka_unit_test(a_dropped_client_leaves_none),
		cmocka_unit_test(it_has_operands_too),
		cmocka_unit_test(nodes_of_other_items_have_it),
		cmocka_unit_test(operands_come_where_conditions_were),
		cmocka_unit_test(what_is_wrong_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
