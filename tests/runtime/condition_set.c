/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ALL and ANY make of a counter that is set (COND-08): what was reached stays so, what was not
 * is measured against the new value, and a pair that has windows or idle periods begins them anew.
 */
#include <rte_common.h>

#include "harness.h"

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
#define TIME (20 * MS)
#define COUNT 5

static struct harness_notes notes;
/* The first two are of two homes. */
static struct trip_cntr *cntrs[3];
static struct trip_pair pairs[2], nested[2];

static void
open_bed(void)
{
	harness_open(2, NULL);
	harness_notes_open(&notes);
	for (unsigned int i = 0; i < RTE_DIM(cntrs); i++)
		cntrs[i] = harness_cntr(TRIP_WAIT_NONE);
}

static void
close_bed(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	harness_settle();
	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	assert_int_equal(stats.pending, 0);
	for (unsigned int i = 0; i < RTE_DIM(cntrs); i++)
		harness_cntr_close(cntrs[i]);
	harness_notes_close(&notes);
	harness_close();
}

static struct trip_pair
pair(struct trip_cntr *cntr, uint64_t threshold, const struct trip_condition *condition)
{
	return (struct trip_pair){.size = sizeof(struct trip_pair),
		.cntr = cntr,
		.threshold = threshold,
		.condition = condition};
}

static struct trip_condition
of(enum trip_condition_kind kind, const struct trip_pair *these)
{
	return (struct trip_condition){
		.size = sizeof(struct trip_condition), .kind = kind, .when.pairs = {these, 2}};
}

/* An item of `pairs`, accepted. */
static void
wait_for(enum trip_condition_kind kind)
{
	const struct trip_condition condition = of(kind, pairs);
	struct trip_work work = harness_noted(&notes, NULL, 0, NULL);

	work.condition = &condition;
	(void)harness_queue(&work);
	harness_settle();
}

static void
expect_fired(uint32_t n)
{
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), n);
}

/* By each of the calls and operations that set. */
static void
set(unsigned int how, struct trip_cntr *cntr, uint64_t value)
{
	enum trip_op op = how == 1 ? TRIP_OP_CNTR_SET : TRIP_OP_CNTR_RESET;
	struct trip_work work = harness_work(cntr, 0, op);

	if (how == 1 || (how == 2 && value == 0)) {
		work.op.cntr.cntr = cntr;
		work.op.cntr.value = value;
		(void)harness_queue(&work);
	} else if (how == 3 && value == 0) {
		assert_int_equal(trip_cntr_reset(cntr, NULL), 0);
	} else {
		assert_int_equal(trip_cntr_set(cntr, value), 0);
	}
	harness_until(trip_cntr_read(cntr) == value);
	harness_settle();
}

static void
cond_08_a_set_leaves_reached_what_was(void **state)
{
	open_bed();
	for (unsigned int how = 0; how < 4; how++) {
		pairs[0] = pair(cntrs[0], 10, NULL);
		pairs[1] = pair(cntrs[1], 10, NULL);
		wait_for(TRIP_CONDITION_ALL);
		trip_cntr_add(cntrs[0], 10);
		expect_fired(how);
		set(how, cntrs[0], 0);
		/* What was not reached is measured against the new value. */
		trip_cntr_add(cntrs[1], 9);
		harness_settle();
		set(how, cntrs[1], 0);
		trip_cntr_add(cntrs[1], 9);
		expect_fired(how);
		trip_cntr_add(cntrs[1], 1);
		harness_until(harness_notes_count(&notes) > how);
		assert_int_equal(notes.event[how].value, 2);
		set(how, cntrs[1], 0);
		trip_cntr_add(cntrs[0], 10);
		trip_cntr_add(cntrs[1], 10);
		expect_fired(how + 1);
		set(how, cntrs[0], 0);
		set(how, cntrs[1], 0);
	}
	close_bed();
}

/* A set reaches as an addition does; a pair below it is none the worse for a set of another. */
static void
cond_08_a_set_reaches(void **state)
{
	const struct trip_condition any = of(TRIP_CONDITION_ANY, nested);

	open_bed();
	nested[0] = pair(cntrs[0], TRIP_CNTR_MAX, NULL);
	nested[1] = pair(cntrs[1], 10, NULL);
	pairs[0] = pair(NULL, 0, &any);
	pairs[1] = pair(cntrs[2], 10, NULL);
	wait_for(TRIP_CONDITION_ALL);
	set(0, cntrs[2], 10);
	set(0, cntrs[2], 3);
	expect_fired(0);
	set(0, cntrs[0], TRIP_CNTR_MAX - 1);
	expect_fired(0);
	set(0, cntrs[0], TRIP_CNTR_MAX);
	harness_until(harness_notes_count(&notes) == 1);
	set(0, cntrs[0], 0);
	expect_fired(1);

	pairs[0] = pair(cntrs[0], 10, NULL);
	wait_for(TRIP_CONDITION_ANY);
	set(0, cntrs[0], 9);
	set(0, cntrs[0], 0);
	expect_fired(1);
	set(1, cntrs[0], 10);
	harness_until(harness_notes_count(&notes) == 2);
	close_bed();
}

static void
add_each(struct trip_cntr *cntr, unsigned int n)
{
	while (n-- > 0) {
		trip_cntr_add(cntr, 1);
		harness_settle();
	}
}

static void
cond_08_a_set_restarts_the_windows_of_a_pair(void **state)
{
	const struct trip_condition rate = {.size = sizeof(rate),
		.kind = TRIP_CONDITION_RATE,
		.when.rate = {.count = COUNT, .time = HOUR}};

	open_bed();
	for (unsigned int how = 0; how < 4; how++) {
		pairs[0] = pair(cntrs[0], 0, &rate);
		pairs[1] = pair(cntrs[1], 1, NULL);
		wait_for(TRIP_CONDITION_ALL);
		trip_cntr_add(cntrs[1], 1);
		add_each(cntrs[0], COUNT - 1);
		/* It need not move for that, nor go down. */
		set(0, cntrs[0], trip_cntr_read(cntrs[0]));
		add_each(cntrs[0], COUNT - 1);
		set(how, cntrs[0], 0);
		add_each(cntrs[0], COUNT - 1);
		set(0, cntrs[0], 1000);
		/* Nor does that of the other pair restart anything, or take it back. */
		set(how, cntrs[1], 0);
		add_each(cntrs[0], COUNT - 1);
		expect_fired(how);
		trip_cntr_add(cntrs[0], 1);
		harness_until(harness_notes_count(&notes) > how);
		set(how, cntrs[0], 0);
		expect_fired(how + 1);
	}
	close_bed();
}

static void
cond_08_a_set_restarts_the_idle_period_of_a_pair(void **state)
{
	const struct trip_condition idle = {
		.size = sizeof(idle), .kind = TRIP_CONDITION_IDLE, .when.idle.time = TIME};
	struct trip_cntr *clock;
	uint64_t queued, set_at;
	uint32_t fired = 0;

	open_bed();
	clock = trip_clock_cntr(harness_domain);
	pairs[0] = pair(cntrs[0], 0, &idle);
	pairs[1] = pair(cntrs[1], 1, NULL);
	/* Where the machine did something else for so long that it may have fired before the set,
	 * nothing is said. */
	for (unsigned int verdicts = 0; verdicts < 4; fired++) {
		trip_cntr_add(cntrs[1], 1);
		queued = trip_cntr_read(clock);
		wait_for(TRIP_CONDITION_ALL);
		harness_until(trip_cntr_read(clock) >= queued + TIME / 2);
		set_at = trip_cntr_read(clock);
		assert_int_equal(trip_cntr_set(cntrs[0], fired % 2), 0);
		if (trip_cntr_read(clock) < queued + TIME) {
			harness_until(harness_notes_count(&notes) > fired);
			assert_true(trip_cntr_read(clock) >= set_at + TIME);
			verdicts++;
		}
		harness_until(harness_notes_count(&notes) > fired);
		/* Once; and a set takes nothing back. */
		set(0, cntrs[0], 7);
		expect_fired(fired + 1);
		set(0, cntrs[1], 0);
	}
	close_bed();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(cond_08_a_set_leaves_reached_what_was),
	HARNESS_TEST_OWN(cond_08_a_set_reaches),
	HARNESS_TEST_OWN(cond_08_a_set_restarts_the_windows_of_a_pair),
	HARNESS_TEST_OWN(cond_08_a_set_restarts_the_idle_period_of_a_pair),
};

HARNESS_MAIN(NULL, tests)
