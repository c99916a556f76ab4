/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock that is fed (COND-02). Each verdict is about a moment of it, to the nanosecond: nothing
 * here takes any time of its own.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static struct harness_notes notes;

static const struct trip_domain_attr by_packets = {.clock = TRIP_CLOCK_PACKET};

static int
open_fed(void **state)
{
	harness_open(1, &by_packets);
	return 0;
}

#define FED_TEST(f)                                     \
	{                                               \
#f, f, open_fed, harness_teardown, NULL \
	}

static struct trip_cntr *
clock_cntr(void)
{
	return trip_clock_cntr(harness_domain);
}

/* All that is due by then has been noted, in one more look: here the value says when. */
static void
expect_noted(uint32_t n, uint64_t context, uint64_t value)
{
	assert_int_equal(harness_notes_count(&notes), n);
	assert_int_equal(notes.event[n - 1].context, context);
	assert_int_equal(notes.event[n - 1].value, value);
}

static void
cond_02_it_shows_what_it_is_fed(void **state)
{
	struct trip_cntr *clock = clock_cntr();

	assert_int_equal(trip_cntr_read(clock), 0);
	harness_advance(5 * SECOND);
	assert_int_equal(trip_cntr_read(clock), 5 * SECOND);
	assert_int_equal(trip_cntr_wait(clock, 5 * SECOND, 0), 0);
	assert_int_equal(trip_cntr_wait(clock, 5 * SECOND + 1, 0), -ETIMEDOUT);
	/* Never backwards. */
	harness_advance(4 * SECOND);
	assert_int_equal(trip_cntr_read(clock), 5 * SECOND);
	assert_int_equal(trip_cntr_add(clock, 1), -EINVAL);
	assert_int_equal(trip_cntr_set(clock, 6 * SECOND), -EINVAL);
	assert_int_equal(trip_cntr_read(clock), 5 * SECOND);
	harness_advance(UINT64_MAX);
	assert_int_equal(trip_cntr_read(clock), TRIP_CNTR_MAX);
}

/* It stops at each of them on its way, so none is late, however far it jumps. */
static void
cond_02_it_passes_through_what_is_due(void **state)
{
	static const uint64_t at[] = {30, 10, 20, 1};
	struct trip_work work;

	harness_notes_open(&notes);
	for (unsigned int i = 0; i < RTE_DIM(at); i++)
		harness_note(&notes, clock_cntr(), at[i] * SECOND, at[i]);
	work = harness_noted(&notes, clock_cntr(), 12 * SECOND, NULL);
	work.interval = 7 * SECOND;
	(void)harness_queue(&work);
	harness_advance(SECOND - 1);
	assert_int_equal(harness_notes_count(&notes), 0);
	harness_advance(SECOND);
	expect_noted(1, 1, SECOND);
	harness_advance(40 * SECOND);
	/* 10, 12, 19, 20, 26, 30, 33, 40. */
	assert_int_equal(harness_notes_count(&notes), 9);
	for (unsigned int i = 0; i < 9; i++) {
		assert_int_equal(notes.event[i].value, notes.event[i].threshold);
		assert_true(i == 0 || notes.event[i].value > notes.event[i - 1].value);
	}
	assert_int_equal(trip_work_flush(harness_domain, clock_cntr()), 0);
	harness_notes_close(&notes);
}

/* What an item of the clock makes due fires before it goes on. */
static void
cond_02_it_stands_while_something_is_due(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(clock_cntr(), SECOND, TRIP_OP_CNTR_ADD);

	harness_notes_open(&notes);
	work.op.cntr.cntr = cntr;
	work.op.cntr.value = 1;
	(void)harness_queue(&work);
	work.triggering_cntr = cntr;
	work.threshold = 1;
	work.interval = 1;
	/* Each step makes the next one. */
	work.op_type = TRIP_OP_CNTR_FILL;
	work.op.fill.cntr = cntr;
	work.op.fill.value = 1;
	work.op.fill.limit = 1000;
	(void)harness_queue(&work);
	harness_note(&notes, clock_cntr(), SECOND + 1, 1);
	harness_note(&notes, cntr, 1000, 0);
	harness_advance(2 * SECOND);
	assert_int_equal(harness_notes_count(&notes), 2);
	assert_int_equal(notes.event[0].context, 0);
	expect_noted(2, 1, SECOND + 1);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_cntr_close(cntr);
	harness_notes_close(&notes);
}

static struct trip_work
watch(struct trip_cntr *cntr, struct trip_condition *condition)
{
	struct trip_work work = harness_noted(&notes, cntr, 0, NULL);

	condition->size = sizeof(*condition);
	work.interval = 1;
	work.condition = condition;
	return work;
}

static void
add_at(struct trip_cntr *cntr, uint64_t ns, uint64_t n)
{
	harness_advance(ns);
	assert_int_equal(trip_cntr_add(cntr, n), 0);
}

/* From the last of them on, which came at rest: no earlier, and no later than the next look. */
static void
cond_02_an_idle_time_is_the_clocks(void **state)
{
	struct trip_condition idle = {.kind = TRIP_CONDITION_IDLE, .when.idle.time = SECOND};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work;

	harness_notes_open(&notes);
	work = watch(cntr, &idle);
	(void)harness_queue(&work);
	for (unsigned int i = 1; i <= 20; i++)
		add_at(cntr, i * SECOND - i * 10 * MS, 1);
	/* Since the last, at 19.8 s. */
	harness_advance(20800 * MS);
	assert_int_equal(harness_notes_count(&notes), 0);
	harness_advance(20800 * MS + SECOND / 100);
	assert_int_equal(harness_notes_count(&notes), 1);
	harness_advance(30 * SECOND);
	assert_int_equal(harness_notes_count(&notes), 1);
	/* A jump passes through the end of the time. */
	add_at(cntr, 30 * SECOND, 1);
	harness_advance(1000 * SECOND);
	assert_int_equal(harness_notes_count(&notes), 2);
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	harness_cntr_close(cntr);
	harness_notes_close(&notes);
}

/* However long the counter was at rest before, the first of a window is in it. */
static void
cond_02_a_window_is_of_the_clock(void **state)
{
	struct trip_condition rate = {
		.kind = TRIP_CONDITION_RATE, .when.rate = {.count = 3, .time = SECOND}};
	const uint64_t shorter = SECOND - SECOND / 64;
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work;

	harness_notes_open(&notes);
	work = watch(cntr, &rate);
	(void)harness_queue(&work);
	for (uint64_t i = 1, at = SECOND; i <= 20; i++, at += 100 * i * SECOND + 12345) {
		/* Two at a time, a window apart. */
		add_at(cntr, at, 2);
		add_at(cntr, at + SECOND, 1);
		/* Three within one. */
		add_at(cntr, at + 10 * SECOND, 1);
		add_at(cntr, at + 10 * SECOND + shorter / 2, 1);
		harness_advance(at + 10 * SECOND + shorter);
		assert_int_equal(harness_notes_count(&notes), i - 1);
		assert_int_equal(trip_cntr_add(cntr, 1), 0);
		harness_advance(at + 10 * SECOND + shorter);
		assert_int_equal(harness_notes_count(&notes), i);
	}
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	harness_cntr_close(cntr);
	harness_notes_close(&notes);
}

static void *
wait_for(void *arg)
{
	struct trip_cntr *clock = clock_cntr();
	uint64_t time = *(const uint64_t *)arg;

	assert_int_equal(trip_cntr_wait(clock, time, -1), 0);
	assert_true(trip_cntr_read(clock) >= time);
	return NULL;
}

static void
cond_02_it_is_waited_for(void **state)
{
	uint64_t time[4];
	pthread_t thread[RTE_DIM(time)];

	for (unsigned int i = 0; i < RTE_DIM(time); i++) {
		time[i] = (i + 1) * SECOND;
		assert_int_equal(pthread_create(&thread[i], NULL, wait_for, &time[i]), 0);
	}
	for (uint64_t now = 0; now <= RTE_DIM(time) * SECOND; now += 10 * MS)
		harness_advance(now);
	for (unsigned int i = 0; i < RTE_DIM(time); i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* What a run over a capture of its own leaves. */
struct firing {
	uint64_t context, threshold, value;
};

#define WATCHED 4

static void
queue_all(struct trip_cntr *const *cntr)
{
	struct trip_condition idle = {.kind = TRIP_CONDITION_IDLE, .when.idle.time = 3 * MS};
	struct trip_condition rate = {
		.kind = TRIP_CONDITION_RATE, .when.rate = {.count = 5, .time = MS}};
	struct trip_work work;

	for (unsigned int i = 0; i < WATCHED; i++) {
		work = watch(cntr[i], &idle);
		work.context = 4 * i;
		(void)harness_queue(&work);
		work = watch(cntr[i], &rate);
		work.context = 4 * i + 1;
		(void)harness_queue(&work);
		work = harness_noted(&notes, cntr[i], 3, NULL);
		work.interval = 7;
		work.context = 4 * i + 2;
		(void)harness_queue(&work);
		work = harness_noted(&notes, clock_cntr(), MS * (i + 1), NULL);
		work.interval = MS * (i + 5);
		work.context = 4 * i + 3;
		(void)harness_queue(&work);
	}
}

/* Of so many times of packets, with some that jump and some that go back; in between, as much else
 * as a thread of the application may ask of the homes. */
static uint32_t
replay(uint64_t seed, bool disturbed, struct firing *firing)
{
	struct trip_cntr *cntr[WATCHED];
	struct trip_random random = {seed};
	uint64_t now = SECOND, n;

	harness_notes_open(&notes);
	for (unsigned int i = 0; i < WATCHED; i++)
		cntr[i] = harness_cntr(TRIP_WAIT_NONE);
	queue_all(cntr);
	for (unsigned int i = 0; i < 500; i++) {
		uint64_t drawn = trip_random_u64(&random);

		now += drawn % 50 == 0 ? 20 * MS : drawn % 500000;
		add_at(cntr[drawn >> 20 & (WATCHED - 1)], now - (drawn % 7 == 0 ? MS : 0),
			1 + (drawn >> 30 & 1));
		for (n = disturbed ? drawn >> 40 & 3 : 0; n > 0; n--)
			harness_step();
	}
	harness_advance(now + SECOND);
	n = harness_notes_count(&notes);
	assert_true(n > 500 && n <= HARNESS_NOTES);
	for (uint64_t i = 0; i < n; i++)
		firing[i] = (struct firing){
			notes.event[i].context, notes.event[i].threshold, notes.event[i].value};
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	for (unsigned int i = 0; i < WATCHED; i++)
		harness_cntr_close(cntr[i]);
	harness_notes_close(&notes);
	return (uint32_t)n;
}

static void
cond_02_the_same_fire_in_the_same_order(void **state)
{
	static struct firing first[HARNESS_NOTES], again[HARNESS_NOTES];
	uint32_t n = 0;

	for (unsigned int i = 0; i < 3; i++) {
		uint32_t m;

		harness_open(1, &by_packets);
		m = replay(harness_seed, i == 2, i == 0 ? first : again);
		harness_close();
		if (i == 0)
			n = m;
		assert_int_equal(m, n);
		assert_true(i == 0 || memcmp(first, again, n * sizeof(*first)) == 0);
	}
}

static int
feed(const struct trip_work_event *event, void *arg)
{
	return trip_clock_advance(harness_domain, SECOND);
}

static void
cond_02_a_function_does_not_feed_it(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE), *done = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CALL);

	assert_int_equal(
		trip_function_register(harness_domain, feed, NULL, &work.op.call.function), 0);
	work.completion_cntr = done;
	work.flags = TRIP_WORK_COMPLETION;
	(void)harness_queue(&work);
	harness_advance(1);
	assert_int_equal(harness_event().result, -EDEADLK);
	assert_int_equal(trip_cntr_read(clock_cntr()), 1);
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	harness_cntr_close(done);
	harness_cntr_close(cntr);
}

static void
cond_02_who_may_feed_it(void **state)
{
	struct trip_domain_attr attr = {.size = sizeof(attr), .clock = TRIP_CLOCK_PACKET};
	static const unsigned int lcore = 1;
	struct trip_domain *other;

	attr.lcores = &lcore;
	attr.n_lcores = 1;
	assert_int_equal(trip_domain_open(&attr, &other, NULL), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "TRIP_PROGRESS_MANUAL"));
	attr = (struct trip_domain_attr){.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.clock = (enum trip_clock)(TRIP_CLOCK_PACKET + 1)};
	assert_int_equal(trip_domain_open(&attr, &other, NULL), -EINVAL);
	other = harness_open_other();
	assert_int_equal(trip_clock_advance(other, SECOND), -EINVAL);
	harness_close_other(other);
}

static void
cond_02_an_attached_process_sees_it(void **state)
{
	if (harness_away != NULL)
		assert_int_equal(trip_clock_advance(harness_domain, SECOND), -ENOTSUP);
	harness_advance(2 * SECOND);
	assert_int_equal(trip_cntr_read(clock_cntr()), 2 * SECOND);
}

static const struct CMUnitTest tests[] = {
	FED_TEST(cond_02_it_shows_what_it_is_fed),
	FED_TEST(cond_02_it_passes_through_what_is_due),
	FED_TEST(cond_02_it_stands_while_something_is_due),
	FED_TEST(cond_02_an_idle_time_is_the_clocks),
	FED_TEST(cond_02_a_window_is_of_the_clock),
	FED_TEST(cond_02_it_is_waited_for),
	HARNESS_TEST_OWN(cond_02_the_same_fire_in_the_same_order),
	FED_TEST(cond_02_a_function_does_not_feed_it),
	HARNESS_TEST_OWN(cond_02_who_may_feed_it),
	FED_TEST(cond_02_an_attached_process_sees_it),
};

HARNESS_MAIN(NULL, tests)
