/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that call everything at once on two homes. What was queued has fired or was canceled,
 * each exactly once, and nothing is left behind.
 */
#include <errno.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "harness.h"

#define THREADS 4
#define OPS 6000
#define CNTRS 8
#define IDS 64
#define RANGE 5000

static struct trip_cntr *cntrs[CNTRS], *sink, *completion;
static struct trip_function *function;
static _Atomic uint64_t called, called_again;

/* Contexts of one-shot and of interval items. */
enum { ONCE, AGAIN };

static int
count_call(const struct trip_work_event *event, void *arg)
{
	atomic_fetch_add(event->context == ONCE ? &called : &called_again, 1);
	return 0;
}

struct worker {
	struct trip_random random;
	bool flush;
	uint64_t ids[IDS];
	/* One-shot items that were queued, and canceled by their id. */
	uint64_t calls, adds, canceled;
	uint64_t errors;
	pthread_t thread;
};

static uint64_t
below(struct worker *worker, uint64_t bound)
{
	return trip_random_below(&worker->random, bound);
}

static struct trip_cntr *
any_cntr(struct worker *worker)
{
	return cntrs[below(worker, CNTRS)];
}

static void
change(struct worker *worker)
{
	struct trip_cntr *cntr = any_cntr(worker);

	switch (below(worker, 8)) {
	case 0:
		trip_cntr_set(cntr, below(worker, RANGE));
		break;
	case 1:
		trip_cntr_seterr(cntr, below(worker, 20));
		break;
	case 2:
		trip_cntr_adderr(cntr, 1);
		break;
	default:
		trip_cntr_add(cntr, below(worker, 20));
	}
}

/* Only what is canceled by its id counts; a slot that is taken over stays queued. */
static void
queue(struct worker *worker)
{
	struct trip_cntr *cntr = any_cntr(worker);
	uint64_t threshold = trip_cntr_read(cntr) + below(worker, 200);
	bool call = below(worker, 2) == 0;
	struct trip_work work =
		harness_work(cntr, threshold, call ? TRIP_OP_CALL : TRIP_OP_CNTR_ADD);
	int error;

	if (call) {
		work.op.call.function = function;
		work.completion_cntr = completion;
	} else {
		work.op.cntr.cntr = sink;
		work.op.cntr.value = 1;
	}
	if (below(worker, 4) == 0)
		work.flags = TRIP_COMPLETION;
	error = trip_work_queue(harness_domain, &work, &worker->ids[below(worker, IDS)]);
	if (error == 0) {
		worker->calls += call;
		worker->adds += !call;
	} else {
		worker->errors += error != -EAGAIN;
	}
}

static void
cancel(struct worker *worker)
{
	uint64_t *id = &worker->ids[below(worker, IDS)];

	if (*id != TRIP_WORK_NONE)
		worker->canceled += trip_work_cancel(harness_domain, *id) == 0;
	*id = TRIP_WORK_NONE;
}

/* An item that fires again and again, for a while. */
static void
repeat(struct worker *worker)
{
	struct trip_cntr *cntr = any_cntr(worker);
	struct trip_work work = harness_work(cntr, trip_cntr_read(cntr), TRIP_OP_CALL);
	uint64_t id;

	work.interval = 1 + below(worker, 50);
	work.context = AGAIN;
	work.flags = below(worker, 2) == 0 ? TRIP_COALESCE : 0;
	work.op.call.function = function;
	if (trip_work_queue(harness_domain, &work, &id) != 0)
		return;
	for (unsigned int i = 0; i < 4; i++)
		change(worker);
	if (trip_work_cancel(harness_domain, id) != 0 && !worker->flush)
		worker->errors++;
}

static void
wait_for(struct worker *worker)
{
	struct trip_cntr *cntr = any_cntr(worker);
	uint64_t threshold = trip_cntr_read(cntr) + below(worker, 20);
	int result = trip_cntr_wait(cntr, threshold, (int)below(worker, 2));

	worker->errors += result != 0 && result != -EIO && result != -ETIMEDOUT;
}

/* A counter's whole life, with a descriptor and with work on it. */
static void
live(struct worker *worker)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};
	struct pollfd fd = {.events = POLLIN};
	struct trip_work work;
	struct trip_cntr *own;
	struct trip_fid *fid;

	if (trip_cntr_open(harness_domain, &attr, &own, NULL) != 0) {
		worker->errors++;
		return;
	}
	fid = trip_cntr_fid(own);
	worker->errors += trip_cntr_control(own, TRIP_GETWAIT, &fd.fd) != 0;
	work = harness_work(own, 1 + below(worker, 3), TRIP_OP_CNTR_ADD);
	work.op.cntr.cntr = sink;
	if (trip_work_queue(harness_domain, &work, NULL) == 0 && below(worker, 2) == 0)
		worker->errors += trip_cntr_close(own) != -EBUSY;
	trip_cntr_arm(own, 2);
	trip_cntr_add(own, below(worker, 4));
	if (trip_trywait(harness_domain, &fid, 1) == 0)
		poll(&fd, 1, 0);
	trip_work_flush(harness_domain, own);
	worker->errors += trip_cntr_close(own) != 0;
}

static void
look(struct worker *worker)
{
	struct trip_work_event events[32];
	struct trip_domain_stats stats;

	trip_work_read(harness_domain, events, 32);
	trip_domain_stats_read(harness_domain, &stats);
	if (worker->flush && below(worker, 16) == 0)
		trip_work_flush(harness_domain, any_cntr(worker));
}

static void *
work_on(void *arg)
{
	struct worker *worker = arg;
	uint64_t ops = trip_test_rounds(OPS);
	cpu_set_t all;

	/* Not on the main lcore's CPU only, where it was started. */
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	for (uint64_t i = 0; i < ops; i++) {
		uint64_t what = below(worker, 100);

		if (what < 45)
			change(worker);
		else if (what < 75)
			queue(worker);
		else if (what < 85)
			cancel(worker);
		else if (what < 88)
			repeat(worker);
		else if (what < 90)
			wait_for(worker);
		else if (what < 92)
			live(worker);
		else if (what < 95)
			look(worker);
		else
			harness_step();
	}
	return NULL;
}

static void
open_objects(void)
{
	static const enum trip_wait_obj objs[] = {TRIP_WAIT_FD, TRIP_WAIT_YIELD};

	harness_open(2, NULL);
	for (unsigned int i = 0; i < CNTRS; i++)
		cntrs[i] = harness_cntr(objs[i % 2]);
	sink = harness_cntr(TRIP_WAIT_NONE);
	completion = harness_cntr(TRIP_WAIT_NONE);
	assert_int_equal(trip_function_register(harness_domain, count_call, NULL, &function), 0);
	atomic_store(&called, 0);
	atomic_store(&called_again, 0);
}

static void
close_objects(void)
{
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(sink);
	harness_cntr_close(completion);
	for (unsigned int i = 0; i < CNTRS; i++)
		harness_cntr_close(cntrs[i]);
}

static void
run(struct worker *workers, bool flush)
{
	struct trip_work_event events[64];

	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.random = {harness_seed + i}, .flush = flush};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work_on, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].errors, 0);
	}
	/* Whatever is left is due now. */
	for (unsigned int i = 0; i < CNTRS; i++)
		trip_cntr_set(cntrs[i], TRIP_CNTR_MAX);
	harness_settle();
	while (trip_work_read(harness_domain, events, 64) > 0)
		;
}

static void
everything_has_one_outcome(void **state)
{
	static struct worker workers[THREADS];
	struct trip_domain_stats stats;
	uint64_t calls = 0, adds = 0, canceled = 0;

	open_objects();
	run(workers, false);
	for (unsigned int i = 0; i < THREADS; i++) {
		calls += workers[i].calls;
		adds += workers[i].adds;
		canceled += workers[i].canceled;
	}
	assert_int_equal(atomic_load(&called) + trip_cntr_read(sink) + canceled, calls + adds);
	harness_expect(completion, atomic_load(&called), 0);
	assert_true(trip_cntr_read(sink) <= adds && trip_cntr_readerr(sink) == 0);
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.pending, 0);
	close_objects();
}

static void
flushes_leave_nothing(void **state)
{
	static struct worker workers[THREADS];
	struct trip_domain_stats stats;

	open_objects();
	run(workers, true);
	harness_expect(completion, atomic_load(&called), 0);
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.pending, 0);
	close_objects();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(everything_has_one_outcome),
	HARNESS_TEST_OWN(flushes_leave_nothing),
};

HARNESS_MAIN(NULL, tests)
