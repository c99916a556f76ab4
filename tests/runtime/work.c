/* SPDX-License-Identifier: BSD-3-Clause */
/* What a work item does, and what becomes of it. work_order.c has when. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

static struct harness_notes notes;

static int
return_arg(const struct trip_work_event *event, void *arg)
{
	return *(const int *)arg;
}

static struct trip_function *
function_open(trip_function_t function, void *arg)
{
	struct trip_function *handle;

	assert_int_equal(trip_function_register(harness_domain, function, arg, &handle), 0);
	return handle;
}

static void
work_05_completions_are_counted(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *completion = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CALL);
	int good = 0, bad = -EIO;
	struct trip_function *const functions[] = {
		function_open(return_arg, &good), function_open(return_arg, &bad)};
	uint64_t id = 0;

	work.completion_cntr = completion;
	for (unsigned int i = 0; i < 7; i++) {
		work.op.call.function = functions[i % 3 == 0];
		id = harness_queue(&work);
	}
	/* What is canceled completes nothing. */
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	harness_settle();
	harness_expect(completion, 0, 0);
	trip_cntr_add(cntr, 1);
	harness_until(trip_cntr_read(completion) + trip_cntr_readerr(completion) == 6);
	harness_settle();
	harness_expect(completion, 4, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(trip_function_unregister(functions[i]), 0);
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

static void
work_06_counter_operations_change_their_target_only(void **state)
{
	static const uint64_t levels[] = {149, 150, 151, 0, 400, 399, TRIP_CNTR_MAX};
	static const uint64_t raised[] = {150, 150, 151, 151, 400, 400, TRIP_CNTR_MAX};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *target = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 5, TRIP_OP_CNTR_ADD);

	work.op.cntr.cntr = target;
	work.op.cntr.value = 3;
	harness_queue(&work);
	work.threshold = 6;
	work.op_type = TRIP_OP_CNTR_SET;
	work.op.cntr.value = 100;
	harness_queue(&work);
	work.threshold = 7;
	work.op_type = TRIP_OP_CNTR_FILL;
	work.op.fill.value = 70;
	work.op.fill.limit = 150;
	harness_queue(&work);
	work.op_type = TRIP_OP_CNTR_RAISE;
	for (unsigned int i = 0; i < RTE_DIM(levels); i++) {
		work.threshold = 8 + i;
		work.op.cntr.value = levels[i];
		harness_queue(&work);
	}
	work.completion_cntr = cntr;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.op_type = TRIP_OP_CNTR_FILL;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.op_type = TRIP_OP_CNTR_SET;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.op_type = TRIP_OP_CNTR_ADD;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	trip_cntr_adderr(target, 2);
	trip_cntr_add(cntr, 5);
	harness_until(trip_cntr_read(target) == 3);
	harness_expect(cntr, 5, 0);
	trip_cntr_add(cntr, 1);
	harness_until(trip_cntr_read(target) == 100);
	trip_cntr_add(cntr, 1);
	harness_until(trip_cntr_read(target) == 150);
	for (unsigned int i = 0; i < RTE_DIM(levels); i++) {
		trip_cntr_add(cntr, 1);
		harness_settle();
		harness_expect(target, raised[i], 2);
	}
	work = harness_work(cntr, 8 + RTE_DIM(levels), TRIP_OP_CNTR_RESET);
	work.op.cntr.cntr = target;
	harness_queue(&work);
	trip_cntr_add(cntr, 1);
	harness_until(trip_cntr_read(target) == 0);
	harness_expect(target, 0, 2);
	harness_expect(cntr, 8 + RTE_DIM(levels), 0);
	harness_cntr_close(target);
	harness_cntr_close(cntr);
}

static int
compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
work_08_ids_are_never_reused(void **state)
{
	static uint64_t ids[60000];
	const struct trip_domain_attr attr = {.max_works = 16};
	struct trip_cntr *cntr;
	size_t n = 0;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	harness_notes_open(&notes);
	while (n < sizeof(ids) / sizeof(*ids)) {
		struct trip_work work = harness_noted(&notes, cntr, n % 2, NULL);
		int error;

		error = trip_work_queue(harness_domain, &work, &ids[n]);
		if (error == 0 && n % 2 == 1)
			assert_int_equal(trip_work_cancel(harness_domain, ids[n]), 0);
		if (error == 0) {
			n++;
			continue;
		}
		assert_int_equal(error, -EAGAIN);
		harness_step();
	}
	qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < n; i++)
		assert_true(ids[i] != ids[i - 1]);
	assert_int_equal(trip_work_cancel(harness_domain, ids[0]), -ENOENT);
	assert_int_equal(trip_work_cancel(harness_domain, TRIP_WORK_NONE), -ENOENT);
	assert_int_equal(trip_work_cancel(harness_domain, UINT64_MAX), -ENOENT);
	harness_until(harness_notes_count(&notes) == n / 2);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

#define RACES 20000

struct canceler {
	_Atomic uint64_t id[64];
	_Atomic uint32_t queued;
	_Atomic bool stop;
	uint64_t canceled;
};

static void *
cancel_on(void *arg)
{
	struct canceler *canceler = arg;
	uint32_t done = 0;

	while (!atomic_load(&canceler->stop)) {
		uint64_t id;

		if (done == atomic_load(&canceler->queued)) {
			sched_yield();
			continue;
		}
		id = atomic_load(&canceler->id[done++ % 64]);
		canceler->canceled += trip_work_cancel(harness_domain, id) == 0;
	}
	return NULL;
}

/* An item either fires or is canceled, and whoever cancels is told which. */
static void
work_08_exactly_one_outcome(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *completion = harness_cntr(TRIP_WAIT_NONE);
	static struct canceler canceler;
	struct trip_work work;
	uint64_t races = harness_rounds(RACES);
	pthread_t thread;

	harness_notes_open(&notes);
	memset(&canceler, 0, sizeof(canceler));
	assert_int_equal(pthread_create(&thread, NULL, cancel_on, &canceler), 0);
	work = harness_noted(&notes, cntr, 0, completion);
	for (uint64_t i = 1; i <= races; i++) {
		uint64_t id;

		work.threshold = i;
		harness_until(trip_work_queue(harness_domain, &work, &id) == 0);
		atomic_store(&canceler.id[(i - 1) % 64], id);
		atomic_fetch_add(&canceler.queued, 1);
		trip_cntr_add(cntr, 1);
		if (i % 4 == 0)
			harness_step();
	}
	harness_settle();
	atomic_store(&canceler.stop, true);
	pthread_join(thread, NULL);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes) + canceler.canceled, races);
	harness_expect(completion, harness_notes_count(&notes), 0);
	harness_notes_close(&notes);
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

static void
work_09_flush_cancels_what_a_counter_triggers(void **state)
{
	struct trip_cntr *one = harness_cntr(TRIP_WAIT_NONE), *two = harness_cntr(TRIP_WAIT_NONE);
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	harness_notes_open(&notes);
	for (uint64_t i = 0; i < 500; i++) {
		harness_note(&notes, one, 5 + i, i);
		harness_note(&notes, two, 5 + i, 1000 + i);
	}
	assert_int_equal(trip_work_flush(harness_domain, one), 0);
	trip_cntr_add(one, 1000);
	trip_cntr_add(two, 5);
	harness_until(harness_notes_count(&notes) == 1);
	assert_int_equal(notes.event[0].context, 1000);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	trip_cntr_add(two, 1000);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 1);
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.pending, 0);
	/* Nothing of it holds on to anything any more. */
	harness_notes_close(&notes);
	harness_cntr_close(one);
	harness_cntr_close(two);
}

static _Atomic bool started, finished, stop;

static int
take_time(const struct trip_work_event *event, void *arg)
{
	atomic_store(&started, true);
	for (unsigned int i = 0; i < 100; i++)
		sched_yield();
	atomic_store(&finished, true);
	return 0;
}

static void *
progress_on(void *arg)
{
	while (!atomic_load(&stop))
		trip_progress(harness_domain);
	return NULL;
}

static void
work_09_flush_waits_for_what_has_started(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_function *function = function_open(take_time, NULL);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CALL);
	pthread_t thread;

	work.op.call.function = function;
	atomic_store(&stop, false);
	if (harness_mode == TRIP_PROGRESS_MANUAL)
		assert_int_equal(pthread_create(&thread, NULL, progress_on, NULL), 0);
	for (uint64_t i = 1; i <= 100; i++) {
		atomic_store(&started, false);
		atomic_store(&finished, false);
		work.threshold = i;
		harness_queue(&work);
		trip_cntr_add(cntr, 1);
		while (!atomic_load(&started))
			sched_yield();
		assert_int_equal(trip_work_flush(harness_domain, i % 2 ? cntr : NULL), 0);
		assert_true(atomic_load(&finished));
	}
	atomic_store(&stop, true);
	if (harness_mode == TRIP_PROGRESS_MANUAL)
		pthread_join(thread, NULL);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(cntr);
}

static int
flush_here(const struct trip_work_event *event, void *arg)
{
	*(int *)arg = trip_work_flush(harness_domain, NULL);
	return 0;
}

static void
work_09_flush_from_a_function_does_not_wait(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	int result = 1;
	struct trip_function *function = function_open(flush_here, &result);
	struct trip_cntr *completion = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CALL);

	harness_notes_open(&notes);
	work.op.call.function = function;
	work.completion_cntr = completion;
	harness_queue(&work);
	for (uint64_t i = 0; i < 100; i++)
		harness_note(&notes, cntr, 2 + i, i);
	/* All of them are ready when the first one flushes. */
	trip_cntr_add(cntr, 1000);
	harness_until(trip_cntr_read(completion) == 1);
	assert_int_equal(result, -EINPROGRESS);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	harness_notes_close(&notes);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

/* More are canceled than one iteration looks at: that is no idle home. */
static void
wait_11_what_was_canceled_hides_nothing(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE),
			 *target = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CNTR_ADD);
	uint64_t id[1000];

	work.op.cntr.cntr = target;
	work.op.cntr.value = 1;
	for (unsigned int i = 0; i < RTE_DIM(id); i++)
		id[i] = harness_queue(&work);
	for (unsigned int i = 0; i < RTE_DIM(id); i++)
		assert_int_equal(trip_work_cancel(harness_domain, id[i]), 0);
	work.threshold = 0;
	harness_queue(&work);
	harness_settle();
	harness_expect(target, 1, 0);
	harness_cntr_close(cntr);
	harness_cntr_close(target);
}

static void
work_10_descriptors_are_copied(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work;

	harness_notes_open(&notes);
	work = harness_noted(&notes, cntr, 3, NULL);
	work.context = 11;
	harness_queue(&work);
	memset(&work, 0xa5, sizeof(work));
	trip_cntr_add(cntr, 3);
	harness_until(harness_notes_count(&notes) == 1);
	assert_int_equal(notes.event[0].threshold, 3);
	assert_int_equal(notes.event[0].context, 11);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static void
refuse(const struct trip_work *work, int error)
{
	uint64_t id = 42;

	assert_int_equal(trip_work_queue(harness_domain, work, &id), error);
	assert_int_equal(id, 42);
	assert_true(strlen(trip_error_message()) > 0);
}

static void
work_11_bad_items_are_refused(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	const struct trip_work good = {.size = sizeof(good),
		.triggering_cntr = cntr,
		.threshold = 1,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = cntr, .value = 1}};
	struct trip_work work;

	for (unsigned int op = 0; op < 1024; op++) {
		work = good;
		work.op_type = (enum trip_op)op;
		if (op == 0 || op > TRIP_OP_CALL + 64)
			refuse(&work, -ENOSYS);
	}
	work = good;
	work.op_type = (enum trip_op) - 1;
	refuse(&work, -ENOSYS);
	work = good;
	work.size++;
	refuse(&work, -EINVAL);
	work = good;
	work.triggering_cntr = NULL;
	refuse(&work, -EINVAL);
	work = good;
	work.op.cntr.cntr = NULL;
	refuse(&work, -EINVAL);
	work = good;
	work.interval = TRIP_CNTR_MAX + 1;
	refuse(&work, -EINVAL);
	work = good;
	work.flags = UINT32_C(1) << 31;
	refuse(&work, -EINVAL);
	work = good;
	work.op_type = TRIP_OP_CNTR_FILL;
	work.op.fill.limit = TRIP_CNTR_MAX + 1;
	refuse(&work, -EINVAL);
	work = good;
	work.op_type = TRIP_OP_CALL;
	work.op.call.function = NULL;
	refuse(&work, -EINVAL);
	work.op_type = TRIP_OP_FLOW_DROP;
	work.op.flow = NULL;
	refuse(&work, -EINVAL);
	/* Nothing is left behind: nothing holds the counter, and nothing fires. */
	trip_cntr_add(cntr, 10);
	harness_settle();
	harness_expect(cntr, 10, 0);
	harness_cntr_close(cntr);
}

static void
work_11_objects_of_another_domain_are_refused(void **state)
{
	struct trip_domain *other = harness_open_other();
	struct trip_cntr *own = harness_cntr(TRIP_WAIT_NONE), *foreign;
	struct trip_work work = harness_work(own, 1, TRIP_OP_CNTR_ADD);

	assert_int_equal(trip_cntr_open(other, NULL, &foreign, NULL), 0);
	work.op.cntr.cntr = foreign;
	refuse(&work, -EXDEV);
	work.op.cntr.cntr = own;
	work.triggering_cntr = foreign;
	refuse(&work, -EXDEV);
	work = harness_work(own, 1, TRIP_OP_CALL);
	work.completion_cntr = foreign;
	refuse(&work, -EXDEV);
	assert_int_equal(trip_work_flush(harness_domain, foreign), -EXDEV);
	assert_int_equal(trip_cntr_close(foreign), 0);
	harness_close_other(other);
	harness_cntr_close(own);
}

static void
work_11_functions_of_another_domain_are_refused(void **state)
{
	struct trip_domain *other = harness_open_other();
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CALL);
	int zero = 0;

	assert_int_equal(
		trip_function_register(other, return_arg, &zero, &work.op.call.function), 0);
	refuse(&work, -EXDEV);
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	harness_close_other(other);
	harness_cntr_close(cntr);
}

static void
work_11_a_full_arena_says_again(void **state)
{
	const struct trip_domain_attr attr = {.max_works = 16};
	struct trip_cntr *cntr;
	struct trip_work work;
	uint64_t id = 0;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	harness_notes_open(&notes);
	for (unsigned int i = 0; i < 16; i++)
		id = harness_note(&notes, cntr, 1, i);
	work = harness_noted(&notes, cntr, 1, NULL);
	refuse(&work, -EAGAIN);
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	harness_until(trip_work_queue(harness_domain, &work, &id) == 0);
	refuse(&work, -EAGAIN);
	trip_cntr_add(cntr, 1);
	harness_until(harness_notes_count(&notes) == 16);
	harness_settle();
	for (unsigned int i = 0; i < 16; i++)
		harness_note(&notes, cntr, 1, i);
	harness_until(harness_notes_count(&notes) == 32);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* An item with operands takes two places, or none. */
static void
work_11_operands_take_a_place(void **state)
{
	const struct trip_domain_attr attr = {.max_works = 16};
	struct trip_cntr *cntr, *target;
	struct trip_work fill, add;
	uint64_t ids[7];

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	target = harness_cntr(TRIP_WAIT_NONE);
	fill = harness_work(cntr, 1, TRIP_OP_CNTR_FILL);
	fill.op.fill.cntr = target;
	fill.op.fill.value = 3;
	fill.op.fill.limit = 10;
	add = harness_work(cntr, 2, TRIP_OP_CNTR_ADD);
	add.op.cntr.cntr = target;
	add.op.cntr.value = 1;
	for (unsigned int i = 0; i < 7; i++)
		ids[i] = harness_queue(&fill);
	harness_queue(&add);
	refuse(&fill, -EAGAIN);
	harness_queue(&add);
	refuse(&add, -EAGAIN);
	refuse(&fill, -EAGAIN);
	/* What is canceled comes back with its operands. */
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(trip_work_cancel(harness_domain, ids[i]), 0);
	for (unsigned int i = 0; i < 3; i++)
		harness_until(trip_work_queue(harness_domain, &fill, &ids[i]) == 0);
	refuse(&add, -EAGAIN);
	trip_cntr_add(cntr, 1);
	harness_until(trip_cntr_read(target) == 10);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(trip_work_cancel(harness_domain, ids[i]), -ENOENT);
	trip_cntr_add(cntr, 1);
	harness_settle();
	harness_expect(target, 10, 0);
	for (unsigned int i = 0; i < 16; i++)
		harness_queue(&add);
	harness_until(trip_cntr_read(target) == 26);
	harness_cntr_close(target);
	harness_cntr_close(cntr);
}

/* Adds 1 to `target` each time that `cntr` grows by 1. */
static uint64_t
echo(struct trip_cntr *cntr, struct trip_cntr *target)
{
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CNTR_ADD);

	work.interval = 1;
	work.op.cntr.cntr = target;
	work.op.cntr.value = 1;
	return harness_queue(&work);
}

/* A chain that never ends leaves room for others, and can be ended. */
static void
run_cycle(unsigned int n, unsigned int homes)
{
	struct trip_cntr *cntr[3], *other;
	uint64_t id[3];

	harness_open(homes, NULL);
	other = harness_cntr(TRIP_WAIT_NONE);
	harness_notes_open(&notes);
	for (unsigned int i = 0; i < n; i++)
		cntr[i] = harness_cntr(TRIP_WAIT_NONE);
	for (unsigned int i = 0; i < n; i++)
		id[i] = echo(cntr[i], cntr[(i + 1) % n]);
	trip_cntr_add(cntr[0], 1);
	for (uint64_t i = 0; i < 100; i++) {
		harness_note(&notes, other, i, i);
		trip_cntr_add(other, 1);
		harness_until(harness_notes_count(&notes) == i + 1);
		harness_until(trip_cntr_read(cntr[n - 1]) > 10 * i);
		if (harness_mode == TRIP_PROGRESS_MANUAL)
			assert_true(trip_progress(harness_domain) <= 4096);
	}
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_work_cancel(harness_domain, id[i]), 0);
	harness_settle();
	for (unsigned int i = 1; i < n; i++)
		assert_true(trip_cntr_read(cntr[0]) + 2 * n >= trip_cntr_read(cntr[i]) &&
			    trip_cntr_read(cntr[i]) + 2 * n >= trip_cntr_read(cntr[0]));
	for (unsigned int i = 0; i < n; i++)
		harness_cntr_close(cntr[i]);
	harness_notes_close(&notes);
	harness_cntr_close(other);
}

static void
work_12_an_item_may_target_its_own_trigger(void **state)
{
	run_cycle(1, 1);
}

static void
work_12_chains_may_be_cyclic(void **state)
{
	run_cycle(3, 1);
}

static void
work_12_chains_may_be_cyclic_over_homes(void **state)
{
	run_cycle(3, 2);
}

/* One counter fires the next, in as many steps as there are counters. */
static void
work_12_long_chains(void **state)
{
	struct trip_cntr *cntr[40];
	struct trip_work work;

	harness_open(2, NULL);
	for (unsigned int i = 0; i < 40; i++)
		cntr[i] = harness_cntr(TRIP_WAIT_NONE);
	for (unsigned int i = 0; i < 39; i++) {
		work = harness_work(cntr[i], 5, TRIP_OP_CNTR_ADD);
		work.op.cntr.cntr = cntr[i + 1];
		work.op.cntr.value = 5 + i;
		harness_queue(&work);
	}
	trip_cntr_add(cntr[0], 5);
	harness_until(trip_cntr_read(cntr[39]) == 43);
	for (unsigned int i = 1; i < 40; i++)
		harness_expect(cntr[i], 4 + i, 0);
	for (unsigned int i = 0; i < 40; i++)
		harness_cntr_close(cntr[i]);
}

static void
work_15_completion_events(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 10, TRIP_OP_CNTR_ADD);
	struct trip_work_event events[8];
	uint64_t id[2], context = UINT64_C(0xfedcba9876543210);

	work.flags = TRIP_WORK_COMPLETION;
	work.context = context;
	work.op.cntr.cntr = cntr;
	id[0] = harness_queue(&work);
	work.threshold = 12;
	work.op_type = TRIP_OP_CNTR_SET;
	work.op.cntr.value = 15;
	work.context = 0;
	id[1] = harness_queue(&work);
	/* Neither one without the flag nor a canceled one makes an event. */
	work.flags = 0;
	harness_queue(&work);
	work.flags = TRIP_WORK_COMPLETION;
	assert_int_equal(trip_work_cancel(harness_domain, harness_queue(&work)), 0);
	assert_int_equal(
		trip_work_read(harness_domain, events, sizeof(struct trip_work_event), 8), 0);
	trip_cntr_add(cntr, 15);
	harness_settle();
	assert_int_equal(
		trip_work_read(harness_domain, events, sizeof(struct trip_work_event), 0), 0);
	assert_int_equal(
		trip_work_read(harness_domain, events, sizeof(struct trip_work_event), 8), 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(events[i].id, id[i]);
		assert_true(events[i].context == (i == 0 ? context : 0));
		assert_int_equal(events[i].threshold, i == 0 ? 10 : 12);
		assert_int_equal(events[i].value, 15);
		assert_int_equal(events[i].count, 1);
		assert_int_equal(events[i].result, 0);
		assert_int_equal(events[i].op_type, i == 0 ? TRIP_OP_CNTR_ADD : TRIP_OP_CNTR_SET);
		assert_int_equal(events[i].flags, 0);
	}
	assert_int_equal(
		trip_work_read(harness_domain, events, sizeof(struct trip_work_event), 8), 0);
	harness_cntr_close(cntr);
}

static void
work_15_events_tell_the_result(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CALL);
	struct trip_work_event event;
	int bad = -ENXIO;

	work.flags = TRIP_WORK_COMPLETION;
	work.op.call.function = function_open(return_arg, &bad);
	harness_queue(&work);
	event = harness_event();
	assert_int_equal(event.result, -ENXIO);
	assert_int_equal(event.op_type, TRIP_OP_CALL);
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	harness_cntr_close(cntr);
}

/* The event of a one-shot item is never lost: an item without room for one is refused. */
static void
work_15_no_event_is_lost(void **state)
{
	const struct trip_domain_attr attr = {.max_events = 8};
	struct trip_cntr *cntr, *target;
	struct trip_work_event events[8];
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct trip_work work;
	uint64_t next = 0;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	target = harness_cntr(TRIP_WAIT_NONE);
	work = harness_work(cntr, 0, TRIP_OP_CNTR_ADD);
	work.flags = TRIP_WORK_COMPLETION;
	work.op.cntr.cntr = target;
	for (uint64_t i = 0; i < 1000; i++) {
		work.context = i;
		while (trip_work_queue(harness_domain, &work, NULL) != 0) {
			int n;

			harness_until((n = trip_work_read(harness_domain, events,
					       sizeof(struct trip_work_event), 3)) > 0);
			for (int k = 0; k < n; k++)
				assert_int_equal(events[k].context, next++);
		}
	}
	harness_settle();
	for (int n; (n = trip_work_read(
			     harness_domain, events, sizeof(struct trip_work_event), 8)) > 0;)
		for (int k = 0; k < n; k++)
			assert_int_equal(events[k].context, next++);
	assert_int_equal(next, 1000);
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.events_lost, 0);
	harness_cntr_close(cntr);
	harness_cntr_close(target);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(work_05_completions_are_counted),
	HARNESS_TEST(work_06_counter_operations_change_their_target_only),
	HARNESS_TEST_OWN(work_08_ids_are_never_reused),
	HARNESS_TEST(work_08_exactly_one_outcome),
	HARNESS_TEST(work_09_flush_cancels_what_a_counter_triggers),
	HARNESS_TEST(work_09_flush_waits_for_what_has_started),
	HARNESS_TEST(work_09_flush_from_a_function_does_not_wait),
	HARNESS_TEST(wait_11_what_was_canceled_hides_nothing),
	HARNESS_TEST(work_10_descriptors_are_copied),
	HARNESS_TEST(work_11_bad_items_are_refused),
	HARNESS_TEST(work_11_objects_of_another_domain_are_refused),
	HARNESS_TEST(work_11_functions_of_another_domain_are_refused),
	HARNESS_TEST_OWN(work_11_a_full_arena_says_again),
	HARNESS_TEST_OWN(work_11_operands_take_a_place),
	HARNESS_TEST_OWN(work_12_an_item_may_target_its_own_trigger),
	HARNESS_TEST_OWN(work_12_chains_may_be_cyclic),
	HARNESS_TEST_OWN(work_12_chains_may_be_cyclic_over_homes),
	HARNESS_TEST_OWN(work_12_long_chains),
	HARNESS_TEST(work_15_completion_events),
	HARNESS_TEST(work_15_events_tell_the_result),
	HARNESS_TEST_OWN(work_15_no_event_is_lost),
};

HARNESS_MAIN(NULL, tests)
