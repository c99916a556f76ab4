/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RATE by the calls of the library (COND-03, COND-04, COND-05, COND-08). All of a test comes within
 * a window of an hour, or what comes is further apart than a window: so no verdict depends on when
 * a home looks. Which windows fire it, to the 1/64, ../engine/condition_rate_random.c shows on a
 * clock of its own.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
#define COUNT 10

static struct harness_notes notes;
static struct trip_condition rate;
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
	rate = (struct trip_condition){.size = sizeof(rate), .kind = TRIP_CONDITION_RATE};
}

static void
close_bed(void)
{
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	harness_cntr_close(cntr);
	harness_notes_close(&notes);
}

/* What is noted when so many came within such a time. */
static struct trip_work
watch(uint64_t count, uint64_t time)
{
	struct trip_work work = harness_noted(&notes, cntr, 0, NULL);

	rate.when.rate.count = count;
	rate.when.rate.time = time;
	work.condition = &rate;
	return work;
}

/* One after the other, each seen by the home. */
static void
add_each(uint64_t n)
{
	while (n-- > 0) {
		trip_cntr_add(cntr, 1);
		harness_settle();
	}
}

static void
expect_fired(uint32_t n)
{
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), n);
}

/* Two that are never within one. */
static void
cond_03_less_within_a_window_never_fires_it(void **state)
{
	struct trip_work work;

	open_bed();
	work = watch(2, MS);
	(void)harness_queue(&work);
	harness_settle();
	for (unsigned int i = 0; i < 20; i++) {
		uint64_t added;

		trip_cntr_add(cntr, 1);
		/* Until all homes and processes have it, and a window longer. */
		harness_settle();
		added = now();
		harness_until(now() > added + MS);
		expect_fired(0);
	}
	close_bed();
}

static void
cond_04_it_fires_with_the_last_of_them(void **state)
{
	struct trip_work work;

	open_bed();
	work = watch(COUNT, HOUR);
	(void)harness_queue(&work);
	harness_settle();
	add_each(COUNT - 1);
	expect_fired(0);
	trip_cntr_add(cntr, 1);
	expect_fired(1);
	assert_int_equal(notes.event[0].threshold, COUNT);
	assert_int_equal(notes.event[0].value, COUNT);
	assert_int_equal(notes.event[0].flags & TRIP_WORK_MORE, 0);
	/* Once. */
	trip_cntr_add(cntr, 5 * COUNT);
	expect_fired(1);
	close_bed();
}

/* In one addition, whether it rested before or not; errors are of the sum, too. */
static void
cond_04_a_burst_fires_it(void **state)
{
	struct trip_work work;

	open_bed();
	for (uint32_t i = 0; i < 4; i++) {
		work = watch(COUNT, HOUR);
		(void)harness_queue(&work);
		harness_settle();
		if (i >= 2)
			add_each(1);
		if (i == 3)
			trip_cntr_adderr(cntr, COUNT);
		else
			trip_cntr_add(cntr, COUNT);
		expect_fired(i + 1);
	}
	close_bed();
}

/* However late a home accepts it, and however the additions come; on a worker, too. */
static void
cond_04_what_came_since_it_was_queued_counts(void **state)
{
	struct trip_work work;

	open_bed();
	for (uint32_t i = 0; i < 20; i++) {
		trip_cntr_add(cntr, COUNT - 1);
		work = watch(COUNT, HOUR);
		(void)harness_queue(&work);
		for (unsigned int n = 0; n < COUNT; n++)
			trip_cntr_add(cntr, 1);
		expect_fired(i + 1);
	}
	close_bed();
}

/* What came before does not count. */
static void
cond_04_windows_begin_at_the_threshold(void **state)
{
	struct trip_work work;

	open_bed();
	trip_cntr_add(cntr, COUNT);
	harness_settle();
	work = watch(COUNT, HOUR);
	work.threshold = 3 * COUNT;
	(void)harness_queue(&work);
	harness_settle();
	add_each(2 * COUNT);
	add_each(COUNT - 1);
	expect_fired(0);
	trip_cntr_add(cntr, 1);
	expect_fired(1);
	assert_int_equal(notes.event[0].value, 4 * COUNT);
	close_bed();
}

static void
cond_05_it_fires_again_for_as_many_more(void **state)
{
	struct trip_work work;
	uint64_t id;

	open_bed();
	work = watch(COUNT, HOUR);
	work.interval = 1;
	id = harness_queue(&work);
	harness_settle();
	for (uint32_t i = 0; i < 4; i++) {
		add_each(COUNT - 1);
		expect_fired(i);
		/* However many more come with the last one: they came before it fired. */
		trip_cntr_add(cntr, 1 + i * COUNT);
		expect_fired(i + 1);
		assert_true((notes.event[i].flags & TRIP_WORK_MORE) != 0);
	}
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
	trip_cntr_add(cntr, COUNT);
	expect_fired(4);
	close_bed();
}

/* One that is over after a millisecond fires; `n` were noted. A call is made again then, and says
 * so. Returns how many are noted. */
static uint32_t
fire_and_end(const struct trip_work *work, uint64_t id, uint32_t n)
{
	bool ends = work->op_type == TRIP_OP_CALL;
	uint64_t fired;

	trip_cntr_add(cntr, COUNT);
	harness_until(harness_notes_count(&notes) == n + 1 + ends);
	assert_int_equal(notes.event[n].flags, TRIP_WORK_MORE);
	/* Whenever its home looks, it is over then. */
	fired = now();
	harness_until(now() > fired + 3 * MS);
	if (!ends)
		return n + 1;
	assert_int_equal(notes.event[n + 1].flags, TRIP_WORK_MORE | TRIP_WORK_END);
	assert_int_equal(notes.event[n + 1].threshold, notes.event[n].threshold);
	assert_true(notes.event[n + 1].id == id && notes.event[n].id == id);
	return n + 2;
}

/* However much comes: until there was less for as long. */
static void
cond_05_it_fires_again_when_it_was_over(void **state)
{
	struct trip_work work;
	uint32_t n = 1;
	uint64_t id;

	open_bed();
	work = watch(COUNT, HOUR);
	work.interval = 1;
	rate.when.rate.until_count = COUNT;
	rate.when.rate.until_time = HOUR;
	(void)harness_queue(&work);
	trip_cntr_add(cntr, COUNT);
	expect_fired(n);
	trip_cntr_add(cntr, 5 * COUNT);
	/* Nobody is told of the end of what is canceled. */
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	expect_fired(n);
	rate.when.rate.until_time = MS;
	id = harness_queue(&work);
	for (unsigned int i = 0; i < 4; i++) {
		n = fire_and_end(&work, id, n);
		trip_cntr_add(cntr, COUNT - 1);
		expect_fired(n);
	}
	close_bed();
}

/* It goes on with what another has begun: until there was less for as long. */
static void
cond_05_it_goes_on_with_what_had_begun(void **state)
{
	struct trip_work work;
	uint64_t begun;
	uint32_t n;
	bool ends;

	open_bed();
	work = watch(COUNT, HOUR);
	ends = work.op_type == TRIP_OP_CALL;
	n = 2 + ends;
	work.interval = 1;
	work.flags |= TRIP_WORK_BEGUN;
	rate.when.rate.until_count = 1;
	rate.when.rate.until_time = HOUR;
	(void)harness_queue(&work);
	/* Not again before it is over. */
	trip_cntr_add(cntr, 5 * COUNT);
	expect_fired(1);
	assert_true((notes.event[0].flags & TRIP_WORK_MORE) != 0);
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	/* Its threshold counts as reached. */
	rate.when.rate.until_time = MS;
	work.threshold = 100 * COUNT;
	(void)harness_queue(&work);
	harness_until(harness_notes_count(&notes) == n);
	begun = now();
	harness_until(now() > begun + 3 * MS);
	/* A home that has not run meanwhile takes what comes now for earlier. */
	harness_settle();
	add_each(COUNT - 1);
	expect_fired(n);
	add_each(1);
	/* It is over again a millisecond later, which may be before it is looked at here. */
	harness_until(harness_notes_count(&notes) == n + 1 + ends);
	assert_int_equal(notes.event[n].flags, TRIP_WORK_MORE);
	close_bed();
}

/* It need not move for that; and nothing un-fires. */
static void
cond_08_a_set_begins_anew(void **state)
{
	static const uint64_t to[] = {COUNT - 1, 0, 5000};
	struct trip_work work;

	open_bed();
	work = watch(COUNT, HOUR);
	work.interval = 1;
	(void)harness_queue(&work);
	harness_settle();
	for (uint32_t i = 0; i < RTE_DIM(to); i++) {
		add_each(COUNT - 1);
		assert_int_equal(
			to[i] == 0 ? trip_cntr_reset(cntr, NULL) : trip_cntr_set(cntr, to[i]), 0);
		expect_fired(i);
		add_each(COUNT - 1);
		expect_fired(i);
		trip_cntr_add(cntr, 1);
		expect_fired(i + 1);
		assert_int_equal(notes.event[i].value, to[i] + COUNT);
		trip_cntr_set(cntr, 0);
		expect_fired(i + 1);
	}
	close_bed();
}

/* What comes to the other value behind it, before its home has looked or after, is of a window. */
static void
cond_08_errors_behind_a_set_count(void **state)
{
	struct trip_work work;

	open_bed();
	for (uint32_t i = 0; i < 20; i++) {
		trip_cntr_set(cntr, 30);
		trip_cntr_seterr(cntr, 7);
		work = watch(COUNT, HOUR);
		(void)harness_queue(&work);
		harness_settle();
		assert_int_equal(
			i % 2 == 0 ? trip_cntr_set(cntr, i) : trip_cntr_reset(cntr, NULL), 0);
		trip_cntr_adderr(cntr, COUNT - 1);
		expect_fired(i);
		trip_cntr_add(cntr, 1);
		expect_fired(i + 1);
	}
	close_bed();
}

/* Either value comes to 2^63-1, and their sum to twice that. */
static void
cond_04_it_fires_up_to_the_most_a_counter_shows(void **state)
{
	static const uint64_t below[][2] = {
		{0, COUNT}, {COUNT, 0}, {5, 5}, {TRIP_CNTR_MAX / 2, TRIP_CNTR_MAX / 2}};
	struct trip_work work;

	open_bed();
	for (uint32_t i = 0; i < RTE_DIM(below); i++) {
		uint64_t errors = below[i][1] < COUNT ? below[i][1] : COUNT;

		trip_cntr_set(cntr, TRIP_CNTR_MAX - below[i][0]);
		trip_cntr_seterr(cntr, TRIP_CNTR_MAX - below[i][1]);
		work = watch(COUNT, HOUR);
		work.interval = 1;
		(void)harness_queue(&work);
		harness_settle();
		trip_cntr_adderr(cntr, errors - (errors == COUNT));
		add_each(COUNT - errors - (errors < COUNT));
		expect_fired(i);
		trip_cntr_adderr(cntr, errors == COUNT);
		trip_cntr_add(cntr, errors < COUNT);
		expect_fired(i + 1);
		/* It would be queued again above the largest threshold (WORK-14). */
		assert_int_equal(notes.event[i].flags & TRIP_WORK_MORE, 0);
		assert_true(notes.event[i].value ==
			    2 * TRIP_CNTR_MAX - below[i][0] - below[i][1] + COUNT);
	}
	close_bed();
}

static void
expect_refused(const struct trip_work *work, const char *why)
{
	assert_int_equal(trip_work_queue(harness_domain, work, NULL), -EINVAL);
	assert_non_null(strstr(trip_error_message(), why));
}

static void
cond_03_what_is_no_rate_is_refused(void **state)
{
	struct trip_work work;

	open_bed();
	work = watch(0, HOUR);
	expect_refused(&work, "count 0 of condition \"rate\" is below the limit 1");
	rate.when.rate.count = TRIP_CNTR_MAX + 1;
	expect_refused(&work, "count 9223372036854775808 of condition \"rate\" is above the limit "
			      "9223372036854775807");
	rate.when.rate.count = TRIP_CNTR_MAX;
	rate.when.rate.time = 99999;
	expect_refused(&work, "time 99999 of condition \"rate\" is below the limit 100000");
	rate.when.rate.time = TRIP_CNTR_MAX + 1;
	expect_refused(&work, "time 9223372036854775808 of condition \"rate\" is above the limit "
			      "9223372036854775807");
	rate.when.rate.time = TRIP_CNTR_MAX;
	work.interval = 2;
	expect_refused(&work, "interval 2 of condition \"rate\" is above the limit 1");
	work.interval = 1;
	rate.when.reserved[4] = 7;
	expect_refused(&work,
		"byte 32 of `when` is 0x07, not 0: condition \"rate\" has 32 bytes of parameters");
	rate.when.reserved[4] = 0;
	rate.when.rate.until_count = 1;
	expect_refused(&work, "until_time 0 of condition \"rate\" is below the limit 100000");
	rate.when.rate.until_time = 100000;
	rate.when.rate.until_count = 0;
	expect_refused(&work, "until_count 0 of condition \"rate\" is below the limit 1");
	rate.when.rate.until_count = 1;
	work.interval = 0;
	expect_refused(&work, "interval 0 of condition \"rate\" is below the limit 1");
	work.interval = 1;
	rate.when.rate.until_count = 0;
	rate.when.rate.until_time = 0;
	work.flags |= TRIP_WORK_COALESCE;
	expect_refused(&work, "does not coalesce");
	work.flags ^= TRIP_WORK_COALESCE | TRIP_WORK_BEGUN;
	expect_refused(&work, "condition \"rate\" has no until, and cannot have begun");
	work.condition = NULL;
	expect_refused(&work, "there is no condition that can have begun");
	work.condition = &rate;
	work.flags &= ~TRIP_WORK_BEGUN;
	work.triggering_cntr = trip_clock_cntr(harness_domain);
	expect_refused(&work, "condition \"rate\" of a clock");
	work.triggering_cntr = cntr;
	(void)harness_queue(&work);
	rate.when.rate.count = 1;
	rate.when.rate.time = 100000;
	(void)harness_queue(&work);
	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	close_bed();
}

/* Until there is room for another one: what is canceled comes back when the home has seen it. */
static uint64_t
queue_at_last(const struct trip_work *work)
{
	uint64_t id;

	harness_until(trip_work_queue(harness_domain, work, &id) == 0);
	return id;
}

/* Beside operands, which take a slot as well, it takes as many as it says; all come back, whether
 * the home has accepted it or not. */
static void
cond_03_it_takes_slots_and_is_flushed(void **state)
{
	struct trip_condition_info info = {.size = sizeof(info)};
	struct trip_work work, plain;
	uint32_t n = 0;

	open_bed();
	plain = harness_work(cntr, 5, TRIP_OP_CNTR_FILL);
	plain.op.fill.cntr = cntr;
	plain.op.fill.value = 1;
	plain.op.fill.limit = 9;
	while (trip_work_queue(harness_domain, &plain, NULL) == 0)
		n += 2;
	work = watch(COUNT, HOUR);
	assert_int_equal(trip_condition_describe(TRIP_CONDITION_RATE, &info), 0);
	for (unsigned int round = 0; round < 3; round++) {
		uint64_t id = TRIP_WORK_NONE;

		assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
		plain.condition = work.condition;
		for (uint32_t i = 0; i < n / (2 + info.slots); i++)
			id = queue_at_last(&plain);
		assert_int_equal(trip_work_queue(harness_domain, &plain, NULL), -EAGAIN);
		/* Its slots are room for others, and for what settling takes. */
		assert_int_equal(trip_work_cancel(harness_domain, id), 0);
		plain.condition = NULL;
		(void)queue_at_last(&plain);
		if (round == 1)
			harness_settle();
	}
	assert_int_equal(trip_cntr_read(cntr), 0);
	close_bed();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cond_03_less_within_a_window_never_fires_it),
	HARNESS_TEST(cond_04_it_fires_with_the_last_of_them),
	HARNESS_TEST(cond_04_a_burst_fires_it),
	HARNESS_TEST(cond_04_what_came_since_it_was_queued_counts),
	HARNESS_TEST(cond_04_windows_begin_at_the_threshold),
	HARNESS_TEST(cond_05_it_fires_again_for_as_many_more),
	HARNESS_TEST(cond_05_it_fires_again_when_it_was_over),
	HARNESS_TEST(cond_05_it_goes_on_with_what_had_begun),
	HARNESS_TEST(cond_08_a_set_begins_anew),
	HARNESS_TEST(cond_08_errors_behind_a_set_count),
	HARNESS_TEST(cond_04_it_fires_up_to_the_most_a_counter_shows),
	HARNESS_TEST(cond_03_what_is_no_rate_is_refused),
	HARNESS_TEST(cond_03_it_takes_slots_and_is_flushed),
};

HARNESS_MAIN(NULL, tests)
