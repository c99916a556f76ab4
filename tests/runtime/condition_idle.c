/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IDLE by the calls of the library (COND-06, COND-08). A verdict depends on what the clock shows
 * and on the order of things: that it is not late, ../engine/condition_idle.c shows on a clock of
 * its own.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
#define TIME (5 * MS)

static struct harness_notes notes;
static struct trip_condition idle;
static struct trip_cntr *cntr;

static uint64_t
now(void)
{
	return trip_cntr_read(trip_clock_cntr(harness_domain));
}

static void
open_bed(void)
{
	harness_notes_open(&notes);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	idle = (struct trip_condition){.size = sizeof(idle), .kind = TRIP_CONDITION_IDLE};
}

static void
close_bed(void)
{
	harness_cntr_close(cntr);
	harness_notes_close(&notes);
}

/* What is noted when the counter has not advanced for so long. */
static struct trip_work
watch(uint64_t time)
{
	struct trip_work work = harness_noted(&notes, cntr, 0, NULL);

	idle.when.idle.time = time;
	work.condition = &idle;
	return work;
}

/* The counter stands still since `began`, or later. */
static void
expect_not_early(uint64_t began, uint32_t fired)
{
	while (harness_notes_count(&notes) == fired)
		harness_step();
	assert_true(now() >= began + TIME);
	assert_int_equal(harness_notes_count(&notes), fired + 1);
}

static void
cond_06_it_fires_when_its_counter_stands_still(void **state)
{
	struct trip_work work;
	uint64_t began = now();

	open_bed();
	work = watch(TIME);
	(void)harness_queue(&work);
	expect_not_early(began, 0);
	/* Once. */
	trip_cntr_add(cntr, 1);
	began = now();
	harness_until(now() > began + 3 * TIME);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 1);
	close_bed();
}

/* As long as it is added to, and whatever the machine does in between, it does not fire before. */
static void
cond_06_it_does_not_fire_while_its_counter_advances(void **state)
{
	struct trip_work work;
	uint64_t began, added, sum = 0;

	open_bed();
	work = watch(TIME);
	work.threshold = 1;
	(void)harness_queue(&work);
	for (began = now(); now() < began + 10 * TIME;)
		harness_step();
	assert_int_equal(harness_notes_count(&notes), 0);
	do {
		added = now();
		trip_cntr_add(cntr, 1);
		sum++;
		harness_step();
	} while (harness_notes_count(&notes) == 0 && sum < 20000);
	if (harness_notes_count(&notes) == 0)
		expect_not_early(added, 0);
	/* By then it may have been added to once more. */
	assert_true(notes.event[0].value <= sum && notes.event[0].value + 1 >= sum);
	assert_true(notes.event[0].threshold == notes.event[0].value);
	close_bed();
}

static void
cond_06_it_fires_once_each_time(void **state)
{
	struct trip_work work;
	uint64_t began = now(), id;

	open_bed();
	work = watch(TIME);
	work.interval = 2;
	id = harness_queue(&work);
	expect_not_early(began, 0);
	for (uint32_t i = 1; i < 4; i++) {
		/* One is less than the interval. */
		trip_cntr_add(cntr, 1);
		began = now();
		harness_until(now() > began + 3 * TIME);
		harness_settle();
		assert_int_equal(harness_notes_count(&notes), i);
		began = now();
		trip_cntr_add(cntr, 1);
		expect_not_early(began, i);
		assert_int_equal(notes.event[i].value, 2 * i);
		assert_true((notes.event[i].flags & TRIP_WORK_MORE) != 0);
	}
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
	close_bed();
}

/* Any error is an advance, too: it is of the sum. */
static void
cond_06_errors_are_advances(void **state)
{
	struct trip_work work;
	uint64_t began;

	open_bed();
	work = watch(TIME);
	work.threshold = 3;
	(void)harness_queue(&work);
	trip_cntr_add(cntr, 1);
	began = now();
	trip_cntr_adderr(cntr, 2);
	expect_not_early(began, 0);
	assert_int_equal(notes.event[0].value, 3);
	close_bed();
}

static void
cond_06_what_is_no_condition_is_refused(void **state)
{
	struct trip_work work;

	open_bed();
	work = watch(TRIP_CNTR_MAX + 1);
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	assert_non_null(strstr(trip_error_message(),
		"time 9223372036854775808 of condition \"idle\" is above the limit "
		"9223372036854775807"));
	idle.when.idle.time = TRIP_CNTR_MAX;
	idle.when.reserved[1] = 5;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	assert_non_null(strstr(trip_error_message(),
		"byte 8 of `when` is 0x05, not 0: condition \"idle\" has 8 bytes of parameters"));
	idle.when.reserved[1] = 0;
	idle.when.reserved[RTE_DIM(idle.when.reserved) - 1] = UINT64_C(1) << 63;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	idle.when.reserved[RTE_DIM(idle.when.reserved) - 1] = 0;
	work.interval = 1;
	work.flags |= TRIP_WORK_COALESCE;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.flags &= ~TRIP_WORK_COALESCE;
	work.triggering_cntr = trip_clock_cntr(harness_domain);
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.triggering_cntr = cntr;
	(void)harness_queue(&work);
	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	close_bed();
}

/* Beside operands, which take a slot as well; both come back. */
static void
cond_06_it_is_flushed(void **state)
{
	struct trip_work work;

	open_bed();
	work = watch(HOUR);
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int n = 0;

		work.op_type = TRIP_OP_CNTR_FILL;
		work.completion_cntr = NULL;
		work.flags = 0;
		work.op.fill.cntr = cntr;
		work.op.fill.value = 1;
		work.op.fill.limit = 9;
		while (trip_work_queue(harness_domain, &work, NULL) == 0)
			n++;
		assert_true(n > 0);
		if (round == 1)
			harness_settle();
		assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
		harness_settle();
	}
	assert_int_equal(trip_cntr_read(cntr), 0);
	work.condition = NULL;
	(void)harness_queue(&work);
	harness_await(cntr, 1, 0);
	close_bed();
}

/* It need not move for that. */
static void
cond_08_a_set_begins_anew(void **state)
{
	static const uint64_t to[] = {5, 5, 0, 9};
	struct trip_work work;
	uint64_t began = now();

	open_bed();
	work = watch(TIME);
	work.interval = 1;
	(void)harness_queue(&work);
	expect_not_early(began, 0);
	for (uint32_t i = 0; i < RTE_DIM(to); i++) {
		began = now();
		assert_int_equal(
			to[i] == 0 ? trip_cntr_reset(cntr, NULL) : trip_cntr_set(cntr, to[i]), 0);
		expect_not_early(began, 1 + i);
		assert_int_equal(notes.event[1 + i].value, to[i]);
	}
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	close_bed();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cond_06_it_fires_when_its_counter_stands_still),
	HARNESS_TEST(cond_06_it_does_not_fire_while_its_counter_advances),
	HARNESS_TEST(cond_06_it_fires_once_each_time),
	HARNESS_TEST(cond_06_errors_are_advances),
	HARNESS_TEST(cond_06_what_is_no_condition_is_refused),
	HARNESS_TEST(cond_06_it_is_flushed),
	HARNESS_TEST(cond_08_a_set_begins_anew),
};

HARNESS_MAIN(NULL, tests)
