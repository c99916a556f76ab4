/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE with an until: when it is over, and what ends with it. */
#include "condition_bed.h"
#include "fate.h"
#include "soft.h"

static const struct condition_wanted ten_until_less = {.cntr = CONDITION_TRIGGER,
	.count = 10,
	.time = RATE_TIME,
	.interval = 1,
	.until_count = 10,
	.until_time = UNTIL_TIME};

/* With an until of as many: until there were less in its time, behind the firing. */
static void
it_fires_again_when_it_was_over(void **state)
{
	struct bed *bed = condition_open();
	uint64_t fired;

	condition_submit(bed, &ten_until_less);
	bed_settle(bed);
	rate_expect_fired_behind(bed, 10, 1);
	fired = bed->now;
	/* It goes on, at just the rate of the until, and faster. */
	while (bed->now < fired + 5 * UNTIL_TIME) {
		condition_go_to(bed, bed->now + UNTIL_TIME / 11);
		rate_expect_fired_behind(bed, 1 + (bed->now > fired + 3 * UNTIL_TIME ? 2 : 0), 1);
	}
	/* Not for as long. */
	rate_expect_fired_behind(bed, 10, 1);
	fired = bed->now;
	condition_go_to(bed, fired + UNTIL_TIME - 4 * CONDITION_STEP);
	rate_expect_fired_behind(bed, 10, 1);
	fired = bed->now;
	condition_go_to(bed, fired + UNTIL_TIME + UNTIL_TIME / 64);
	rate_expect_fired_behind(bed, 9, 1);
	rate_expect_fired_behind(bed, 1, 2);
	bed_close(bed);
}

/* What drops passes then, unless another drop came since; what is canceled passes at once. */
static void
what_it_drops_passes_when_it_is_over(void **state)
{
	struct condition_wanted wanted = ten_until_less;
	_Atomic uint8_t action = TRIP_ACTION_ACTIVE;
	struct bed *bed = condition_open();
	uint64_t id, ended;

	wanted.drops = true;
	bed->engine.actions = &action;
	id = condition_submit(bed, &wanted);
	bed_settle(bed);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(action, TRIP_ACTION_ACTIVE);
		bed_add(bed, CONDITION_TRIGGER, 10);
		bed_settle(bed);
		ended = bed->now + UNTIL_TIME;
		condition_go_to(bed, ended - 4 * CONDITION_STEP);
		assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
		condition_go_to(bed, ended + UNTIL_TIME / 64);
	}
	bed_add(bed, CONDITION_TRIGGER, 10);
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
	condition_cancel(bed, CONDITION_OWN, id);
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE);
	condition_submit(bed, &wanted);
	bed_settle(bed);
	bed_add(bed, CONDITION_TRIGGER, 10);
	bed_settle(bed);
	trip_fate_drop(&bed->flow.fate);
	condition_go_to(bed, bed->now + 2 * UNTIL_TIME);
	assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
	bed_close(bed);
}

/* It has fired for the last time: what it drops ends where its alarm would have come next. */
static void
its_end_comes_before_its_alarm(void **state)
{
	const struct condition_wanted wanted = {
		.cntr = CONDITION_TRIGGER, .count = 10, .time = RATE_TIME, .drops = true};
	_Atomic uint8_t action = TRIP_ACTION_ACTIVE;
	struct bed *bed = condition_open();
	uint64_t id;

	bed->engine.actions = &action;
	condition_submit_desc(bed, &wanted, &id)->value = 1;
	bed_ring_channel(bed, CONDITION_OWN);
	bed_settle(bed);
	bed_add(bed, CONDITION_TRIGGER, 1);
	bed_settle(bed);
	bed_add(bed, CONDITION_TRIGGER, 9);
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
	bed->now += RATE_TIME;
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE);
	condition_expect_none(bed);
	condition_expect_all_back(bed, CONDITION_OWN);
	assert_true(bed->home->clock_tsc == UINT64_MAX);
	bed_close(bed);
}

static void
a_set_begins_the_until_anew(void **state)
{
	struct bed *bed = condition_open();

	condition_submit(bed, &ten_until_less);
	bed_settle(bed);
	rate_expect_fired_behind(bed, 10, 1);
	condition_go_to(bed, bed->now + UNTIL_TIME / 2);
	condition_set(bed, 0);
	condition_go_to(bed, bed->now + UNTIL_TIME - 4 * CONDITION_STEP);
	rate_expect_fired_behind(bed, 10, 1);
	condition_go_to(bed, bed->now + UNTIL_TIME + UNTIL_TIME / 64);
	rate_expect_fired_behind(bed, 10, 2);
	bed_close(bed);
}

/* Such as is above all that a clock can show. */
static void
the_longest_until_is_not_over(void **state)
{
	struct condition_wanted wanted = ten_until_less;
	struct bed *bed = condition_open();

	wanted.until_time = TRIP_CNTR_MAX;
	bed->now = TRIP_CNTR_MAX - 10 * RATE_TIME;
	condition_submit(bed, &wanted);
	bed_settle(bed);
	rate_expect_fired_behind(bed, 10, 1);
	for (unsigned int i = 0; i < 3; i++) {
		condition_go_to(bed, bed->now + RATE_TIME);
		condition_set(bed, 0);
		rate_expect_fired_behind(bed, 10, 1);
	}
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fires_again_when_it_was_over),
		cmocka_unit_test(what_it_drops_passes_when_it_is_over),
		cmocka_unit_test(its_end_comes_before_its_alarm),
		cmocka_unit_test(a_set_begins_the_until_anew),
		cmocka_unit_test(the_longest_until_is_not_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
