/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a home (COND-01). A verdict depends on what the clock shows and on the order of
 * things, never on how long anything took: ../engine/clock.c has a clock of its own.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
#define TIMES 20

static struct harness_notes notes;

static struct trip_cntr *
clock_cntr(void)
{
	return trip_clock_cntr(harness_domain);
}

static uint64_t
now(void)
{
	return trip_cntr_read(clock_cntr());
}

static void
cond_01_it_only_grows(void **state)
{
	uint64_t before = now(), after;

	assert_true(clock_cntr() == clock_cntr());
	for (unsigned int i = 0; i < 10000; i++, before = after) {
		after = now();
		assert_true(after >= before);
	}
	harness_until(now() > before + MS);
	assert_int_equal(trip_cntr_readerr(clock_cntr()), 0);
	assert_int_equal(trip_cntr_age(clock_cntr()), 0);
	assert_string_equal(trip_cntr_name(clock_cntr()), "");
	assert_null(trip_cntr_context(clock_cntr()));
}

static void
refuse_work(struct trip_cntr *target, struct trip_cntr *completion)
{
	struct trip_work work = harness_work(target, 0, TRIP_OP_CNTR_ADD);

	work.op.cntr.cntr = target;
	work.completion_cntr = completion;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.op_type = TRIP_OP_CNTR_SET;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
}

static void
cond_01_nothing_but_time_changes_it(void **state)
{
	int (*volatile add)(struct trip_cntr * cntr, uint64_t value) = trip_cntr_add;
	struct trip_cntr *clock = clock_cntr(), *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint64_t before = now(), after;
	int fd;

	assert_int_equal(trip_cntr_add(clock, HOUR), -EINVAL);
	assert_int_equal(trip_cntr_add(clock, 1), -EINVAL);
	assert_int_equal(add(clock, HOUR), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "clock of home 0"));
	assert_int_equal(trip_cntr_set(clock, 0), -EINVAL);
	assert_int_equal(trip_cntr_reset(clock, NULL), -EINVAL);
	assert_int_equal(trip_cntr_adderr(clock, 1), -EINVAL);
	assert_int_equal(trip_cntr_seterr(clock, 0), -EINVAL);
	assert_int_equal(trip_cntr_close(clock), -EINVAL);
	assert_int_equal(trip_cntr_arm(clock, 1), -EINVAL);
	assert_int_equal(trip_cntr_control(clock, TRIP_GETWAIT, &fd), -ENOSYS);
	refuse_work(clock, NULL);
	refuse_work(cntr, clock);
	after = now();
	assert_true(after >= before && after < before + HOUR);
	assert_int_equal(trip_cntr_readerr(clock), 0);
	harness_cntr_close(cntr);
}

/* Queued in no order of their times; some have passed by then. */
static void
cond_01_nothing_fires_early(void **state)
{
	static const int ahead[] = {9, 1, 5, 0, 7, 3, 8, 2, 6, 4};
	uint64_t began = now();

	harness_notes_open(&notes);
	for (unsigned int i = 0; i < RTE_DIM(ahead); i++)
		harness_note(&notes, clock_cntr(), began + (uint64_t)ahead[i] * MS, i);
	harness_until(harness_notes_count(&notes) == RTE_DIM(ahead));
	for (unsigned int i = 0; i < RTE_DIM(ahead); i++) {
		const struct trip_work_event *event = &notes.event[i];

		assert_true(event->threshold == began + (uint64_t)ahead[event->context] * MS);
		assert_true(event->value >= event->threshold && event->value <= now());
		/* By hand, all of them are accepted before any fires. */
		if (i > 0 && harness_away == NULL && harness_mode == TRIP_PROGRESS_MANUAL)
			assert_true(event->threshold > notes.event[i - 1].threshold);
	}
	harness_notes_close(&notes);
}

/* The first iteration finds that its time has come, the second one fires it. */
static void
cond_01_what_is_due_fires_at_once(void **state)
{
	uint64_t time = now();

	harness_notes_open(&notes);
	for (unsigned int i = 0; i < TIMES; i++) {
		time = now() + MS;
		harness_note(&notes, clock_cntr(), time, i);
		harness_settle();
		while (now() < time)
			harness_step();
		/* The iteration that the first one waits for may have read its clock before. */
		harness_settle();
		harness_settle();
		assert_int_equal(harness_notes_count(&notes), i + 1);
	}
	harness_notes_close(&notes);
}

static void
cond_01_an_interval_is_a_period(void **state)
{
	struct trip_work work;
	uint64_t began = now(), id;
	uint32_t n;

	harness_notes_open(&notes);
	work = harness_noted(&notes, clock_cntr(), began + MS, NULL);
	work.interval = MS;
	id = harness_queue(&work);
	harness_until(harness_notes_count(&notes) >= TIMES);
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	assert_int_equal(trip_work_flush(harness_domain, clock_cntr()), 0);
	n = harness_notes_count(&notes);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(notes.event[i].threshold == began + (i + 1) * MS);
		assert_true(notes.event[i].value >= notes.event[i].threshold);
	}
	harness_until(now() > began + (n + 2) * MS);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), n);
	harness_notes_close(&notes);
}

/* And holds what it acts on, though nobody has opened the clock. */
static void
cond_01_pending_work_is_flushed(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE),
			 *other = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(clock_cntr(), now() + HOUR, TRIP_OP_CNTR_ADD);

	work.op.cntr.cntr = cntr;
	work.op.cntr.value = 1;
	(void)harness_queue(&work);
	harness_settle();
	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	work.triggering_cntr = other;
	work.threshold = 1;
	(void)harness_queue(&work);
	/* The clock's alone. */
	assert_int_equal(trip_work_flush(harness_domain, clock_cntr()), 0);
	trip_cntr_add(other, 1);
	harness_await(cntr, 1, 0);
	harness_cntr_close(other);
	harness_cntr_close(cntr);
}

static void
cond_01_it_is_waited_for(void **state)
{
	struct trip_cntr *clock = clock_cntr();
	uint64_t time;

	assert_int_equal(trip_cntr_wait(clock, 0, 0), 0);
	assert_int_equal(trip_cntr_wait(clock, now(), 0), 0);
	assert_int_equal(trip_cntr_wait(clock, now() + HOUR, 0), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait(clock, now() + HOUR, 1), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait(clock, TRIP_CNTR_MAX + 1, 0), -EINVAL);
	for (unsigned int i = 0; i < TIMES; i++) {
		time = now() + MS;
		assert_int_equal(trip_cntr_wait(clock, time, -1), 0);
		assert_true(now() >= time);
		time = now() + MS;
		assert_int_equal(
			trip_cntr_wait_from(clock, time, trip_cntr_errgen(clock), 60000), 0);
		assert_true(now() >= time);
	}
}

static void
cond_01_it_is_always_due(void **state)
{
	struct trip_fid *fid = trip_cntr_fid(clock_cntr());
	struct trip_poll_set *set;
	void *context[2] = {&set, &set};

	(void)now();
	harness_until(trip_trywait(harness_domain, &fid, 1) == -EAGAIN);
	assert_int_equal(trip_poll_open(harness_domain, NULL, &set), 0);
	assert_int_equal(trip_poll_add(set, fid, 0), 0);
	assert_int_equal(trip_poll_add(set, fid, 0), -EEXIST);
	for (unsigned int i = 0; i < TIMES; i++)
		harness_until(trip_poll(set, context, 2) == 1);
	assert_null(context[0]);
	assert_true(context[1] == &set);
	assert_int_equal(trip_poll_del(set, fid, 0), 0);
	assert_int_equal(trip_poll_close(set), 0);
}

/* A descriptor for a time is that of a counter to which work adds then. */
static void
cond_01_work_signals_a_descriptor(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	struct trip_work work = harness_work(clock_cntr(), now() + MS, TRIP_OP_CNTR_ADD);

	work.op.cntr.cntr = cntr;
	work.op.cntr.value = 1;
	(void)harness_queue(&work);
	assert_int_equal(trip_cntr_wait(cntr, 1, -1), 0);
	assert_true(now() >= work.threshold);
	harness_cntr_close(cntr);
}

static struct {
	struct trip_cntr *clock[HARNESS_HOMES_MAX];
	uint64_t shown[HARNESS_HOMES_MAX];
	_Atomic unsigned int n;
} seen;

static int
see(const struct trip_work_event *event, void *arg)
{
	seen.clock[event->context] = trip_clock_cntr(harness_domain);
	seen.shown[event->context] = trip_cntr_read(seen.clock[event->context]);
	atomic_fetch_add(&seen.n, 1);
	return 0;
}

/* A function has that of the home that calls it; all of them show the same. */
static void
cond_01_each_home_has_one(void **state)
{
	struct trip_cntr *cntr[HARNESS_HOMES_MAX];
	struct trip_function *function;
	uint64_t before;

	harness_open(HARNESS_HOMES_MAX, NULL);
	assert_int_equal(trip_function_register(harness_domain, see, NULL, &function), 0);
	memset(&seen, 0, sizeof(seen));
	before = now();
	for (unsigned int i = 0; i < HARNESS_HOMES_MAX; i++) {
		struct trip_work work;

		/* They go to the homes by turns. */
		cntr[i] = harness_cntr(TRIP_WAIT_NONE);
		work = harness_work(cntr[i], 0, TRIP_OP_CALL);
		work.op.call.function = function;
		work.context = i;
		(void)harness_queue(&work);
	}
	harness_until(atomic_load(&seen.n) == HARNESS_HOMES_MAX);
	for (unsigned int i = 0; i < HARNESS_HOMES_MAX; i++) {
		assert_true(seen.shown[i] >= before && seen.shown[i] <= now());
		assert_true(i == 0 || seen.clock[i] != seen.clock[0]);
		/* Any thread may use any of them. */
		assert_int_equal(trip_cntr_wait(seen.clock[i], now() + MS, -1), 0);
		harness_cntr_close(cntr[i]);
	}
	assert_int_equal(trip_function_unregister(function), 0);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cond_01_it_only_grows),
	HARNESS_TEST(cond_01_nothing_but_time_changes_it),
	HARNESS_TEST(cond_01_nothing_fires_early),
	HARNESS_TEST(cond_01_what_is_due_fires_at_once),
	HARNESS_TEST(cond_01_an_interval_is_a_period),
	HARNESS_TEST(cond_01_pending_work_is_flushed),
	HARNESS_TEST(cond_01_it_is_waited_for),
	HARNESS_TEST(cond_01_it_is_always_due),
	HARNESS_TEST(cond_01_work_signals_a_descriptor),
	HARNESS_TEST_OWN(cond_01_each_home_has_one),
};

HARNESS_MAIN(NULL, tests)
