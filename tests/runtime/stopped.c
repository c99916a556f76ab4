/* SPDX-License-Identifier: BSD-3-Clause */
/* CNTR-14, CNTR-18: reads go on whoever is stopped, and wherever, and errors are not missed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <trip_step.h>

#include "waits.h"

#define READS 20

/* Reads change nothing, so one call is stopped often. As many calls of each kind are. */
#define CALLS 8

static struct trip_cntr *cntr, *fd, *target;
static struct trip_wait_set *wait_set;
static struct trip_poll_set *poll_set;
static struct trip_function *function;

static void
add(void *arg)
{
	trip_cntr_add(cntr, 5);
}

static void
add_much(void *arg)
{
	trip_cntr_add(cntr, UINT64_C(5) << 32);
}

static void
adderr(void *arg)
{
	trip_cntr_adderr(cntr, 3);
}

static void
set(void *arg)
{
	trip_cntr_set(cntr, trip_cntr_read(cntr) + 5);
}

static void
seterr(void *arg)
{
	trip_cntr_seterr(cntr, trip_cntr_readerr(cntr) + 3);
}

static void
add_armed(void *arg)
{
	trip_cntr_add(fd, 1);
	trip_cntr_add(cntr, 5);
	trip_cntr_add(fd, 1);
}

static void
queue_and_cancel(void *arg)
{
	struct trip_work work = harness_work(cntr, TRIP_CNTR_MAX, TRIP_OP_CNTR_ADD);
	uint64_t id;

	work.op.cntr.cntr = target;
	work.op.cntr.value = 1;
	if (trip_work_queue(harness_domain, &work, &id) == 0)
		trip_work_cancel(harness_domain, id);
}

static void
open_and_close(void *arg)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD, .name = "it"};
	struct trip_cntr *own;

	if (trip_cntr_open(harness_domain, &attr, &own, NULL) == 0)
		trip_cntr_close(own);
}

static void
wait_in_vain(void *arg)
{
	trip_cntr_wait(cntr, TRIP_CNTR_MAX, 0);
	trip_wait(wait_set, 0);
	trip_cntr_arm(fd, TRIP_CNTR_MAX);
}

static void
ask(void *arg)
{
	void *context;

	waits_try(trip_cntr_fid(fd));
	waits_try(trip_wait_fid(wait_set));
	trip_poll(poll_set, &context, 1);
}

/* Calls, what they add to the values, and how many instructions lie between two stops at most. */
static const struct call {
	const char *name;
	void (*run)(void *arg);
	uint64_t success, error, stride;
} calls[] = {
	{"add", add, 5, 0, 1},
	{"add of more than 32 bits", add_much, UINT64_C(5) << 32, 0, 1},
	{"adderr", adderr, 0, 3, 1},
	{"set", set, 5, 0, 1},
	{"seterr", seterr, 0, 3, 1},
	{"adds that ring", add_armed, 5, 0, 4},
	{"queue and cancel", queue_and_cancel, 0, 0, 16},
	{"open and close", open_and_close, 0, 0, 128},
	{"wait and arm", wait_in_vain, 0, 0, 16},
	{"trywait and poll", ask, 0, 0, 32},
};

static void
open_all(void)
{
	struct trip_cntr *member;

	cntr = harness_cntr(TRIP_WAIT_UNSPEC);
	fd = harness_cntr(TRIP_WAIT_FD);
	target = harness_cntr(TRIP_WAIT_NONE);
	wait_set = waits_set(TRIP_WAIT_UNSPEC);
	member = waits_member(wait_set);
	harness_cntr_close(member);
	assert_int_equal(trip_poll_open(harness_domain, NULL, &poll_set), 0);
	assert_int_equal(trip_poll_add(poll_set, trip_cntr_fid(cntr), 0), 0);
}

static void
close_all(void)
{
	assert_int_equal(trip_poll_del(poll_set, trip_cntr_fid(cntr), 0), 0);
	assert_int_equal(trip_poll_close(poll_set), 0);
	assert_int_equal(trip_wait_close(wait_set), 0);
	harness_cntr_close(target);
	harness_cntr_close(fd);
	harness_cntr_close(cntr);
}

/* Each value is the old or the new one, and does not move while its adder is stopped. */
static void
read_beside(const struct call *call, uint64_t success, uint64_t error)
{
	uint64_t first = trip_cntr_read(cntr), first_error = trip_cntr_readerr(cntr);

	assert_true(first == success || first == success + call->success);
	assert_true(first_error == error || first_error == error + call->error);
	for (unsigned int i = 0; i < READS; i++) {
		assert_true(trip_cntr_read(cntr) == first);
		assert_true(trip_cntr_readerr(cntr) == first_error);
		trip_cntr_errgen(cntr);
		assert_int_equal(trip_cntr_age(cntr), 0);
	}
}

/* Returns how often it was stopped, which is behind random instructions. */
static unsigned int
stop_often(const struct call *call, struct trip_random *random)
{
	uint64_t success = trip_cntr_read(cntr), error = trip_cntr_readerr(cntr);
	uint64_t stride = call->stride * (harness_away != NULL ? 16 : 1);
	struct trip_step step;
	unsigned int stops = 0;
	bool stopped;

	/* Those that ring are to ring. */
	assert_int_equal(trip_cntr_arm(fd, trip_cntr_read(fd) + 1), 0);
	harness_settle();
	stopped = trip_step_start(&step, call->run, NULL, 1 + trip_random_below(random, stride));
	for (; stopped; stops++) {
		read_beside(call, success, error);
		stopped =
			trip_step_on(&step, step.executed + 1 + trip_random_below(random, stride));
	}
	trip_step_finish(&step);
	assert_true(trip_cntr_read(cntr) == success + call->success);
	assert_true(trip_cntr_readerr(cntr) == error + call->error);
	return stops;
}

static void
cntr_18_callers_are_stopped(void **state)
{
	struct trip_random random = {harness_seed};
	unsigned int n = harness_away != NULL ? CALLS / 4 : CALLS;

	if (!TRIP_STEP_POSSIBLE)
		skip();
	harness_open(1, NULL);
	open_all();
	for (unsigned int i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		unsigned int stops = 0;

		for (unsigned int k = 0; k < n; k++)
			stops += stop_often(&calls[i], &random);
		assert_true(stops > n);
		printf("%s: stopped %u times in %u calls\n", calls[i].name, stops, n);
	}
	close_all();
}

/* Whoever is stopped there for good, was killed. */
static void
cntr_14_an_error_is_there_before_its_generation(void **state)
{
	static void (*const changes[])(void *arg) = {adderr, seterr};
	struct trip_step step;
	unsigned int changed;
	bool stopped;

	if (!TRIP_STEP_POSSIBLE)
		skip();
	harness_open(1, NULL);
	open_all();
	for (unsigned int i = 0; i < 2; i++) {
		changed = 0;
		for (uint64_t k = 1, errgen; k == 1 || stopped; k++) {
			uint64_t error = trip_cntr_readerr(cntr);
			bool now;

			errgen = trip_cntr_errgen(cntr);
			stopped = trip_step_start(&step, changes[i], NULL, k);
			now = trip_cntr_readerr(cntr) != error;
			assert_int_equal(trip_cntr_wait_from(cntr, TRIP_CNTR_MAX, errgen, 0),
				now ? -EIO : -ETIMEDOUT);
			trip_step_finish(&step);
			changed += now && stopped;
		}
		assert_true(changed > 1);
	}
	close_all();
}

/* A value that passes the maximum for a moment is never seen there. */
static void
cntr_18_adders_are_stopped_at_the_maximum(void **state)
{
	struct trip_step step;
	bool stopped;

	if (!TRIP_STEP_POSSIBLE)
		skip();
	harness_open(1, NULL);
	open_all();
	trip_cntr_set(cntr, TRIP_CNTR_MAX - 2);
	for (uint64_t k = 1;; k++) {
		stopped = trip_step_start(&step, add, NULL, k);
		for (unsigned int i = 0; i < READS; i++)
			trip_assert_range(trip_cntr_read(cntr), TRIP_CNTR_MAX - 2, TRIP_CNTR_MAX);
		trip_step_finish(&step);
		assert_true(trip_cntr_read(cntr) == TRIP_CNTR_MAX);
		if (!stopped)
			break;
	}
	close_all();
}

static void
progress_on(void *arg)
{
	while (trip_progress(harness_domain) > 0)
		;
}

/* Returns how often the home was stopped. */
static unsigned int
stop_home(struct trip_random *random)
{
	struct trip_work work = harness_work(fd, trip_cntr_read(fd) + 1, TRIP_OP_CNTR_ADD);
	uint64_t value = trip_cntr_read(target);
	struct trip_step step;
	unsigned int stops = 0;
	bool stopped;

	work.op.cntr.cntr = target;
	work.op.cntr.value = 7;
	harness_queue(&work);
	assert_int_equal(trip_cntr_arm(fd, work.threshold), 0);
	harness_settle();
	trip_cntr_add(fd, 1);
	stopped = trip_step_start(&step, progress_on, NULL, 1 + trip_random_below(random, 32));
	for (; stopped; stops++) {
		for (unsigned int i = 0; i < READS; i++) {
			uint64_t now = trip_cntr_read(target);

			assert_true(now == value || now == value + 7);
			assert_true(trip_cntr_read(fd) == work.threshold);
		}
		stopped = trip_step_on(&step, step.executed + 1 + trip_random_below(random, 32));
	}
	trip_step_finish(&step);
	assert_true(trip_cntr_read(target) == value + 7);
	return stops;
}

/* By hand: the home itself, while it fires, wakes and settles. */
static void
cntr_18_the_home_is_stopped(void **state)
{
	struct trip_random random = {harness_seed};
	unsigned int stops = 0;

	if (!TRIP_STEP_POSSIBLE || harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	harness_open(1, NULL);
	open_all();
	for (unsigned int i = 0; i < CALLS; i++)
		stops += stop_home(&random);
	assert_true(stops > CALLS);
	printf("the home: stopped %u times in %u rounds\n", stops, CALLS);
	close_all();
}

static _Atomic bool held, released;

static int
hold(const struct trip_work_event *event, void *arg)
{
	atomic_store(&held, true);
	while (!atomic_load(&released))
		sched_yield();
	return 0;
}

static void *
progress_until_released(void *arg)
{
	while (!atomic_load(&released))
		trip_progress(harness_domain);
	return NULL;
}

/* In a function that it calls. */
static void
cntr_18_the_home_is_held(void **state)
{
	struct trip_work work;
	pthread_t thread;
	bool by_hand = harness_mode == TRIP_PROGRESS_MANUAL;

	open_all();
	atomic_store(&held, false);
	atomic_store(&released, false);
	assert_int_equal(trip_function_register(harness_domain, hold, NULL, &function), 0);
	work = harness_work(cntr, 1, TRIP_OP_CALL);
	work.op.call.function = function;
	work.completion_cntr = target;
	harness_queue(&work);
	trip_cntr_add(cntr, 1);
	if (by_hand)
		assert_int_equal(pthread_create(&thread, NULL, progress_until_released, NULL), 0);
	while (!atomic_load(&held))
		sched_yield();
	for (uint64_t i = 1; i <= 100000; i++) {
		trip_cntr_add(cntr, 1);
		assert_true(trip_cntr_read(cntr) == 1 + i && trip_cntr_readerr(cntr) == 0);
		assert_int_equal(trip_cntr_read(target), 0);
	}
	atomic_store(&released, true);
	if (by_hand)
		pthread_join(thread, NULL);
	harness_until(trip_cntr_read(target) == 1);
	assert_int_equal(trip_function_unregister(function), 0);
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(cntr_14_an_error_is_there_before_its_generation),
	HARNESS_TEST_OWN(cntr_18_callers_are_stopped),
	HARNESS_TEST_OWN(cntr_18_adders_are_stopped_at_the_maximum),
	HARNESS_TEST_OWN(cntr_18_the_home_is_stopped),
	HARNESS_TEST(cntr_18_the_home_is_held),
};

HARNESS_MAIN(NULL, tests)
