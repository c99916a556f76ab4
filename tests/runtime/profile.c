/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: what has one, what it lists, and that what is read of it holds together. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define DESCS 128

static struct trip_profile *
profile_open(struct trip_fid *fid)
{
	struct trip_profile *profile;

	if (trip_profile_open(fid, 0, &profile, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return profile;
}

static void
profile_close(struct trip_profile *profile)
{
	assert_int_equal(trip_profile_close(profile), 0);
}

static uint64_t
read_var(struct trip_profile *profile, uint32_t var)
{
	uint64_t value = 0;

	assert_int_equal(trip_profile_read_u64(profile, var, &value), 0);
	return value;
}

/* ---- objects ----------------------------------------------------------------------------------
 */

static void
prof_01_domains_lcores_and_counters_have_one(void **state)
{
	const struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_UNSPEC};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *profile, *other;
	struct trip_wait_set *set;
	int context;

	profile = profile_open(trip_domain_fid(harness_domain));
	other = profile_open(trip_lcore_fid(harness_domain, 0));
	assert_int_equal(read_var(profile, TRIP_VAR_LCORES_LIMIT), 1);
	assert_int_equal(read_var(profile, TRIP_VAR_ITERATION_NS_LIMIT),
		read_var(other, TRIP_VAR_ITERATION_NS_LIMIT));
	profile_close(other);
	profile_close(profile);
	assert_int_equal(trip_profile_open(trip_cntr_fid(cntr), 0, &profile, &context), 0);
	assert_ptr_equal(trip_profile_context(profile), &context);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTR_VALUE_LIMIT), TRIP_CNTR_MAX);
	profile_close(profile);
	profile = profile_open(trip_cntr_fid(trip_clock_cntr(harness_domain)));
	assert_true(read_var(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL) > 0);
	profile_close(profile);
	assert_int_equal(trip_wait_open(harness_domain, &attr, &set), 0);
	assert_int_equal(trip_profile_open(trip_wait_fid(set), 0, &profile, NULL), -ENOSYS);
	assert_int_equal(trip_wait_close(set), 0);
	assert_null(trip_lcore_fid(harness_domain, 1));
	assert_int_equal(trip_profile_open(NULL, 0, &profile, NULL), -EINVAL);
	assert_int_equal(trip_profile_open(trip_cntr_fid(cntr), 1, &profile, NULL), -EINVAL);
	harness_cntr_close(cntr);
}

/* ---- lists ------------------------------------------------------------------------------------
 */

typedef int (*query_t)(
	struct trip_profile *profile, struct trip_profile_desc *list, size_t *count, size_t size);

static void
expect_list(struct trip_profile *profile, query_t query)
{
	struct trip_profile_desc list[DESCS], again[DESCS];
	size_t count = 7, all;

	assert_int_equal(query(profile, NULL, &count, sizeof(list[0])), 0);
	all = count;
	assert_true(all > 0 && all < DESCS);
	assert_int_equal(query(profile, list, &count, sizeof(list[0])), all);
	assert_int_equal(count, all);
	count = DESCS;
	assert_int_equal(query(profile, again, &count, sizeof(list[0])), all);
	assert_int_equal(count, all);
	assert_memory_equal(list, again, all * sizeof(list[0]));
	count = all - 1;
	memset(again, 0x5a, sizeof(again));
	assert_int_equal(query(profile, again, &count, sizeof(list[0])), all - 1);
	assert_int_equal(count, all);
	assert_memory_equal(list, again, (all - 1) * sizeof(list[0]));
	assert_int_equal(*(const uint8_t *)&again[all - 1], 0x5a);
	count = 0;
	assert_int_equal(query(profile, again, &count, sizeof(list[0])), 0);
	assert_int_equal(count, all);
	assert_int_equal(query(profile, list, NULL, sizeof(list[0])), -EINVAL);
	assert_int_equal(query(profile, list, &count, sizeof(list[0]) + 8), -EINVAL);
	assert_int_equal(query(profile, list, &count, 4), -EINVAL);
}

/* A program that knows the first members alone has them side by side. */
static void
expect_short_list(struct trip_profile *profile)
{
	struct trip_profile_desc list[DESCS];
	struct {
		size_t size;
		uint32_t id;
		enum trip_profile_type type;
	} shorts[DESCS];
	size_t count = DESCS, n = DESCS;

	assert_true(trip_profile_query_vars(profile, list, &count, sizeof(list[0])) > 0);
	assert_int_equal(
		trip_profile_query_vars(profile, (void *)shorts, &n, sizeof(shorts[0])), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(shorts[i].id, list[i].id);
		assert_int_equal(shorts[i].size, sizeof(shorts[0]));
	}
}

static void
prof_02_lists_say_how_many_there_are(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_fid *const fids[] = {trip_domain_fid(harness_domain),
		trip_lcore_fid(harness_domain, 0), trip_cntr_fid(cntr)};

	for (unsigned int i = 0; i < RTE_DIM(fids); i++) {
		struct trip_profile *profile = profile_open(fids[i]);

		expect_list(profile, trip_profile_query_vars);
		expect_list(profile, trip_profile_query_events);
		expect_short_list(profile);
		profile_close(profile);
	}
	harness_cntr_close(cntr);
}

/* All of several objects, one behind the other; how many. */
static size_t
list_all(struct trip_fid *const *fids, size_t n, struct trip_profile_desc *all, size_t room)
{
	static const query_t queries[] = {trip_profile_query_vars, trip_profile_query_events};
	size_t done = 0;

	for (size_t i = 0; i < n * RTE_DIM(queries); i++) {
		struct trip_profile *profile = profile_open(fids[i / 2]);
		size_t count = room - done;

		done += (size_t)queries[i % 2](profile, &all[done], &count, sizeof(all[0]));
		profile_close(profile);
	}
	return done;
}

static void
prof_03_a_name_is_one_number(void **state)
{
	static struct trip_profile_desc all[4 * DESCS];
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_fid *const fids[] = {trip_domain_fid(harness_domain),
		trip_lcore_fid(harness_domain, 0), trip_cntr_fid(cntr)};
	size_t n = list_all(fids, RTE_DIM(fids), all, RTE_DIM(all)), same = 0;

	for (size_t i = 0; i < n; i++) {
		assert_true(strlen(all[i].desc) > 0);
		assert_int_equal(all[i].data_size, sizeof(uint64_t));
		for (size_t other = 0; other < i; other++) {
			bool is_id = all[i].id == all[other].id;

			assert_int_equal(is_id, strcmp(all[i].name, all[other].name) == 0);
			/* They are the library's: the same ones for whoever asks. */
			assert_int_equal(is_id, all[i].name == all[other].name);
			same += is_id;
		}
	}
	assert_true(same > 0);
	harness_cntr_close(cntr);
}

static int
no_callback(struct trip_profile *profile, const struct trip_profile_desc *event, void *param,
	size_t size, void *context)
{
	return 0;
}

/* Each that is listed can be read; of what is not, nothing can. */
static void
prof_04_what_is_not_listed_is_refused(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_fid *const fids[] = {trip_domain_fid(harness_domain),
		trip_lcore_fid(harness_domain, 0), trip_cntr_fid(cntr)};
	struct trip_profile_desc list[DESCS];
	uint64_t value = 12345;

	for (unsigned int i = 0; i < RTE_DIM(fids); i++) {
		struct trip_profile *profile = profile_open(fids[i]);
		size_t count = DESCS;
		unsigned int known = 0;

		(void)trip_profile_query_vars(profile, list, &count, sizeof(list[0]));
		for (uint32_t id = 0; id < 0x2000; id++)
			known += trip_profile_read_u64(profile, id, &value) == 0;
		assert_int_equal(known, count);
		for (size_t at = 0; at < count; at++)
			(void)read_var(profile, list[at].id);
		value = 12345;
		assert_int_equal(trip_profile_read_u64(profile, 0, &value), -EINVAL);
		assert_int_equal(value, 12345);
		assert_int_equal(
			trip_profile_register_callback(profile, 0, no_callback, NULL), -EINVAL);
		assert_int_equal(
			trip_profile_register_callback(profile, list[0].id, no_callback, NULL),
			-EINVAL);
		profile_close(profile);
	}
	harness_cntr_close(cntr);
}

/* ---- events -----------------------------------------------------------------------------------
 */

struct told {
	struct trip_profile *profile;
	_Atomic uint64_t times, grown, wrong;
};

static int
note(struct trip_profile *profile, const struct trip_profile_desc *event, void *param, size_t size,
	void *context)
{
	struct told *told = context;
	bool right = profile == told->profile && event->id == TRIP_EVENT_CNTR_SUCCEEDED &&
		     strcmp(event->name, "cntr_succeeded") == 0 && size == sizeof(uint64_t);

	atomic_fetch_add(&told->wrong, !right);
	atomic_fetch_add(&told->times, 1);
	atomic_fetch_add(&told->grown, *(const uint64_t *)param);
	return 0;
}

static void
prof_05_registering_again_replaces(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct told first = {.profile = profile_open(trip_cntr_fid(cntr))}, second = first;
	struct told other = {.profile = profile_open(trip_cntr_fid(cntr))};

	assert_int_equal(trip_cntr_add(cntr, 100), 0);
	assert_int_equal(trip_profile_register_callback(
				 first.profile, TRIP_EVENT_CNTR_SUCCEEDED, note, &first),
		0);
	assert_int_equal(trip_profile_register_callback(
				 other.profile, TRIP_EVENT_CNTR_SUCCEEDED, note, &other),
		0);
	assert_int_equal(trip_cntr_add(cntr, 5), 0);
	/* Not of what was there before. */
	harness_until(first.grown == 5 && other.grown == 5);
	assert_int_equal(trip_profile_register_callback(
				 first.profile, TRIP_EVENT_CNTR_SUCCEEDED, note, &second),
		0);
	assert_int_equal(trip_cntr_add(cntr, 7), 0);
	harness_until(second.grown == 7 && other.grown == 12);
	assert_int_equal(first.grown, 5);
	assert_int_equal(trip_profile_register_callback(
				 first.profile, TRIP_EVENT_CNTR_SUCCEEDED, NULL, NULL),
		0);
	/* Who were told would have been told by then: both are looked at together. */
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(trip_cntr_add(cntr, 1), 0);
		harness_until(other.grown == 12 + i);
	}
	assert_int_equal(first.grown + second.grown, 12);
	/* Lowered, it has not grown; and what comes then is counted from there. */
	assert_int_equal(trip_cntr_set(cntr, 0), 0);
	assert_int_equal(trip_cntr_set(cntr, 1000), 0);
	harness_until(other.grown > 15);
	assert_int_equal(first.wrong + second.wrong + other.wrong, 0);
	profile_close(other.profile);
	profile_close(first.profile);
	harness_cntr_close(cntr);
}

struct inside {
	uint64_t value;
	int results[9];
	_Atomic bool done;
};

/* All of it in a callback. */
static int
try_all(struct trip_profile *profile, const struct trip_profile_desc *event, void *param,
	size_t size, void *context)
{
	struct inside *inside = context;
	struct trip_profile *other;
	size_t count = 0;

	inside->results[0] = trip_profile_register_callback(profile, event->id, NULL, NULL);
	inside->results[1] =
		trip_profile_query_vars(profile, NULL, &count, sizeof(struct trip_profile_desc));
	inside->results[2] =
		trip_profile_query_events(profile, NULL, &count, sizeof(struct trip_profile_desc));
	inside->results[3] = trip_profile_open(trip_domain_fid(harness_domain), 0, &other, NULL);
	inside->results[4] = trip_profile_close(profile);
	inside->results[5] = trip_profile_start_reads(profile, 0);
	inside->results[6] =
		trip_profile_read_u64(profile, TRIP_VAR_CNTR_ERROR_TOTAL, &inside->value);
	atomic_store(&inside->done, true);
	return 0;
}

static void
prof_05_a_callback_reads_and_no_more(void **state)
{
	static const int results[] = {-EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY, 0};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *profile = profile_open(trip_cntr_fid(cntr));
	struct inside inside = {0};

	assert_int_equal(
		trip_profile_register_callback(profile, TRIP_EVENT_CNTR_FAILED, try_all, &inside),
		0);
	assert_int_equal(trip_cntr_adderr(cntr, 3), 0);
	harness_until(inside.done);
	profile_close(profile);
	for (unsigned int i = 0; i < RTE_DIM(results); i++)
		assert_int_equal(inside.results[i], results[i]);
	assert_int_equal(inside.value, 3);
	harness_cntr_close(cntr);
}

/* ---- snapshots --------------------------------------------------------------------------------
 */

static void
prof_06_a_snapshot_stays_as_it_is(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *profile = profile_open(trip_cntr_fid(cntr)),
			    *other = profile_open(trip_cntr_fid(cntr));

	assert_int_equal(trip_profile_end_reads(profile, 0), -EINVAL);
	assert_int_equal(trip_profile_start_reads(profile, 1), -EINVAL);
	assert_int_equal(trip_profile_start_reads(profile, 0), 0);
	assert_int_equal(trip_profile_start_reads(profile, 0), -EBUSY);
	assert_int_equal(trip_cntr_add(cntr, 5), 0);
	harness_until(trip_cntr_read(cntr) == 5);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL), 0);
	assert_int_equal(read_var(other, TRIP_VAR_CNTR_SUCCESS_TOTAL), 5);
	assert_int_equal(trip_profile_end_reads(profile, 1), -EINVAL);
	assert_int_equal(trip_profile_end_reads(profile, 0), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL), 5);
	profile_close(other);
	profile_close(profile);
	harness_cntr_close(cntr);
}

struct reader {
	struct trip_fid *fid;
	uint64_t snapshots, broken, changes;
	pthread_t thread;
};

static void
look(struct reader *reader, struct trip_profile *profile, uint64_t *last)
{
	uint64_t accepted = 0, pending = 0, fired = 0, canceled = 0;
	int error = trip_profile_start_reads(profile, 0);

	error |= trip_profile_read_u64(profile, TRIP_VAR_WORKS_ACCEPTED_TOTAL, &accepted);
	error |= trip_profile_read_u64(profile, TRIP_VAR_WORKS_FIRED_TOTAL, &fired);
	error |= trip_profile_read_u64(profile, TRIP_VAR_WORKS_PENDING_NOW, &pending);
	error |= trip_profile_read_u64(profile, TRIP_VAR_WORKS_CANCELED_TOTAL, &canceled);
	error |= trip_profile_end_reads(profile, 0);
	reader->broken += error != 0 || accepted != pending + fired + canceled || accepted < *last;
	reader->changes += accepted != *last;
	*last = accepted;
}

static void *
read_on(void *arg)
{
	struct reader *reader = arg;
	struct trip_profile *profile = NULL;
	uint64_t last = 0;

	if (trip_profile_open(reader->fid, 0, &profile, NULL) != 0)
		return NULL;
	for (uint64_t i = 0; i < reader->snapshots; i++)
		look(reader, profile, &last);
	/* Whatever the load did by then: some were of different moments. */
	while (reader->changes < 10)
		look(reader, profile, &last);
	reader->broken += trip_profile_close(profile) != 0;
	return NULL;
}

/* Items fire once, again and again, or are canceled before, on both lcores. */
struct load {
	struct trip_cntr *cntrs[2], *sink;
	uint64_t again[2];
	_Atomic bool over;
	pthread_t thread;
};

static void *
work_on(void *arg)
{
	struct load *load = arg;
	uint64_t ids[8], done = 0;

	for (uint64_t sum = 1; !atomic_load(&load->over); sum++) {
		struct trip_work work =
			harness_work(load->cntrs[sum % 2], sum / 2 + sum % 3, TRIP_OP_CNTR_ADD);

		work.op.cntr.cntr = load->sink;
		work.op.cntr.value = 1;
		/* As many as there is room for. */
		if (trip_work_queue(harness_domain, &work, &ids[sum % 8]) == 0)
			done++;
		if (sum % 5 == 0)
			(void)trip_work_cancel(harness_domain, ids[sum % 8]);
		(void)trip_cntr_add(load->cntrs[sum % 2], 1);
	}
	return (void *)(uintptr_t)done;
}

static void
load_begin(struct load *load)
{
	load->sink = harness_cntr(TRIP_WAIT_NONE);
	for (unsigned int i = 0; i < 2; i++) {
		struct trip_work work;

		load->cntrs[i] = harness_cntr(TRIP_WAIT_NONE);
		work = harness_work(load->cntrs[i], 1, TRIP_OP_CNTR_ADD);
		work.interval = 3;
		work.op.cntr.cntr = load->sink;
		load->again[i] = harness_queue(&work);
	}
	assert_int_equal(pthread_create(&load->thread, NULL, work_on, load), 0);
}

static void
load_end(struct load *load)
{
	void *done;

	atomic_store(&load->over, true);
	pthread_join(load->thread, &done);
	assert_true((uintptr_t)done > 0);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_settle();
	for (unsigned int i = 0; i < 2; i++)
		harness_cntr_close(load->cntrs[i]);
	harness_cntr_close(load->sink);
}

static _Atomic uint32_t n_reading;

static void *
read_and_tell(void *arg)
{
	(void)read_on(arg);
	atomic_fetch_sub(&n_reading, 1);
	return NULL;
}

static void
prof_06_snapshots_hold_together_under_load(void **state)
{
	struct reader readers[3] = {0};
	struct load load = {0};

	harness_open(2, NULL);
	load_begin(&load);
	readers[0].fid = trip_domain_fid(harness_domain);
	readers[1].fid = trip_lcore_fid(harness_domain, 0);
	readers[2].fid = trip_lcore_fid(harness_domain, 1);
	atomic_store(&n_reading, RTE_DIM(readers));
	for (unsigned int i = 0; i < RTE_DIM(readers); i++) {
		readers[i].snapshots = harness_rounds(20000);
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_and_tell, &readers[i]), 0);
	}
	while (atomic_load(&n_reading) > 0)
		harness_step();
	for (unsigned int i = 0; i < RTE_DIM(readers); i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].broken, 0);
	}
	load_end(&load);
}

/* In the middle of an iteration, and of what it has counted. */
static int
stand(const struct trip_work_event *event, void *arg)
{
	_Atomic uint32_t *stage = arg;

	atomic_store(stage, 1);
	while (atomic_load(stage) != 2)
		sched_yield();
	return -EIO;
}

static void *
progress(void *arg)
{
	if (harness_mode == TRIP_PROGRESS_MANUAL)
		(void)trip_progress(harness_domain);
	return NULL;
}

static void
prof_06_nobody_waits_for_an_lcore_that_is_stopped(void **state)
{
	struct trip_profile *profile = profile_open(trip_lcore_fid(harness_domain, 0));
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE),
			 *completion = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CALL);
	struct trip_function *function;
	_Atomic uint32_t stage = 0;
	uint64_t fired;
	pthread_t thread;

	assert_int_equal(trip_function_register(harness_domain, stand, &stage, &function), 0);
	work.op.call.function = function;
	work.completion_cntr = completion;
	(void)harness_queue(&work);
	harness_settle();
	harness_until(read_var(profile, TRIP_VAR_WORKS_PENDING_NOW) == 1);
	fired = read_var(profile, TRIP_VAR_WORKS_FIRED_TOTAL);
	assert_int_equal(trip_cntr_add(cntr, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, progress, NULL), 0);
	while (atomic_load(&stage) != 1)
		sched_yield();
	for (unsigned int i = 0; i < 1000; i++) {
		assert_int_equal(trip_profile_start_reads(profile, 0), 0);
		assert_int_equal(read_var(profile, TRIP_VAR_WORKS_FIRED_TOTAL), fired);
		assert_int_equal(read_var(profile, TRIP_VAR_WORKS_PENDING_NOW), 1);
		assert_int_equal(trip_profile_end_reads(profile, 0), 0);
	}
	atomic_store(&stage, 2);
	pthread_join(thread, NULL);
	harness_await(completion, 0, 1);
	harness_until(read_var(profile, TRIP_VAR_WORKS_FAILED_TOTAL) == 1);
	assert_int_equal(read_var(profile, TRIP_VAR_WORKS_PENDING_NOW), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	profile_close(profile);
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

/* What a handle has not read itself is due to it, whoever looks beside it. */
static void
prof_06_to_look_is_not_to_read(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	struct trip_fid *fid = trip_cntr_fid(cntr);
	struct trip_profile *profile = profile_open(fid);
	struct told told = {.profile = profile};

	harness_until(trip_trywait(harness_domain, &fid, 1) == 0);
	assert_int_equal(
		trip_profile_register_callback(profile, TRIP_EVENT_CNTR_SUCCEEDED, note, &told), 0);
	assert_int_equal(trip_cntr_add(cntr, 3), 0);
	assert_int_equal(trip_cntr_adderr(cntr, 2), 0);
	harness_until(read_var(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL) == 3 &&
		      read_var(profile, TRIP_VAR_CNTR_ERROR_TOTAL) == 2 && told.grown == 3);
	assert_int_equal(trip_trywait(harness_domain, &fid, 1), -EAGAIN);
	assert_int_equal(trip_cntr_read(cntr), 3);
	assert_int_equal(trip_trywait(harness_domain, &fid, 1), -EAGAIN);
	assert_int_equal(trip_cntr_readerr(cntr), 2);
	harness_until(trip_trywait(harness_domain, &fid, 1) == 0);
	profile_close(profile);
	harness_cntr_close(cntr);
}

/* ---- histograms -------------------------------------------------------------------------------
 */

/* Of 100 items, 90 are passed by 3 each, and the others by 1000. */
static void
pass_by(struct trip_cntr *cntr, struct trip_cntr *sink)
{
	uint64_t sum = trip_cntr_read(cntr), fired = trip_cntr_read(sink);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CNTR_ADD);

	work.op.cntr.cntr = sink;
	work.op.cntr.value = 1;
	for (unsigned int i = 1; i <= 100; i++) {
		uint64_t past = i <= 90 ? 3 : 1000;

		work.threshold = sum + 1;
		sum += 1 + past;
		(void)harness_queue(&work);
		assert_int_equal(trip_cntr_add(cntr, 1 + past), 0);
		harness_await(sink, fired + i, 0);
	}
}

/* To an eighth, and not below. */
static bool
is_near_1000(uint64_t value)
{
	return value >= 1000 && value <= 1125;
}

static void
expect_overshoots(struct trip_profile *profile)
{
	assert_int_equal(read_var(profile, TRIP_VAR_OVERSHOOT_P50), 3);
	assert_int_equal(read_var(profile, TRIP_VAR_OVERSHOOT_P90), 3);
	assert_true(is_near_1000(read_var(profile, TRIP_VAR_OVERSHOOT_P99)));
	assert_true(is_near_1000(read_var(profile, TRIP_VAR_OVERSHOOT_P999)));
	assert_int_equal(read_var(profile, TRIP_VAR_OVERSHOOT_MOST), 1000);
}

/* Each is at least as much as the one before. */
static void
expect_times(struct trip_profile *profile, uint32_t first)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < 5; i++) {
		uint64_t value = read_var(profile, first + i);

		assert_true(value >= last);
		last = value;
	}
	assert_true(last > 0);
}

static void
prof_06_quantiles_are_those_of_what_fired(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE), *sink = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *domain = profile_open(trip_domain_fid(harness_domain)),
			    *lcore = profile_open(trip_lcore_fid(harness_domain, 0));

	assert_int_equal(trip_profile_reset(domain, 0), 0);
	assert_int_equal(trip_profile_reset(lcore, 0), 0);
	pass_by(cntr, sink);
	harness_until(read_var(domain, TRIP_VAR_WORKS_FIRED_TOTAL) == 100);
	expect_overshoots(domain);
	expect_overshoots(lcore);
	expect_times(domain, TRIP_VAR_DETECTION_NS_P50);
	assert_int_equal(trip_profile_start_reads(lcore, 0), 0);
	expect_times(lcore, TRIP_VAR_FIRING_NS_P50);
	/* Of one snapshot, whatever comes. */
	pass_by(cntr, sink);
	pass_by(cntr, sink);
	assert_int_equal(read_var(lcore, TRIP_VAR_WORKS_FIRED_TOTAL), 100);
	expect_overshoots(lcore);
	assert_int_equal(trip_profile_end_reads(lcore, 0), 0);
	profile_close(lcore);
	profile_close(domain);
	harness_cntr_close(sink);
	harness_cntr_close(cntr);
}

static void
prof_07_quantiles_are_of_what_comes_behind_a_reset(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE), *sink = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *profile = profile_open(trip_lcore_fid(harness_domain, 0)),
			    *other = profile_open(trip_lcore_fid(harness_domain, 0));

	assert_int_equal(trip_profile_reset(other, 0), 0);
	pass_by(cntr, sink);
	harness_until(read_var(other, TRIP_VAR_WORKS_FIRED_TOTAL) == 100);
	assert_int_equal(trip_profile_reset(profile, 0), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_OVERSHOOT_P999), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_FIRING_NS_MOST), 0);
	expect_overshoots(other);
	pass_by(cntr, sink);
	harness_until(read_var(profile, TRIP_VAR_WORKS_FIRED_TOTAL) == 100);
	assert_int_equal(read_var(profile, TRIP_VAR_OVERSHOOT_P90), 3);
	assert_true(is_near_1000(read_var(profile, TRIP_VAR_OVERSHOOT_P99)));
	expect_overshoots(other);
	profile_close(other);
	profile_close(profile);
	harness_cntr_close(sink);
	harness_cntr_close(cntr);
}

/* ---- reset and close --------------------------------------------------------------------------
 */

/* What the harness does beside it is done when nothing is under way. */
static void
queue_and_cancel(struct trip_cntr *cntr, unsigned int n)
{
	struct trip_work work = harness_work(cntr, 1000, TRIP_OP_CNTR_ADD);
	uint64_t ids[16];

	work.op.cntr.cntr = cntr;
	for (unsigned int i = 0; i < n; i++)
		ids[i] = harness_queue(&work);
	harness_settle();
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_work_cancel(harness_domain, ids[i]), 0);
	harness_settle();
}

static void
prof_07_reset_is_that_of_one_profile(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *profile = profile_open(trip_domain_fid(harness_domain)),
			    *other = profile_open(trip_domain_fid(harness_domain));
	uint64_t most, limit;

	queue_and_cancel(cntr, 5);
	harness_until(read_var(profile, TRIP_VAR_WORKS_CANCELED_TOTAL) == 5);
	most = read_var(profile, TRIP_VAR_SUBMIT_RING_MOST);
	assert_true(most > 0);
	limit = read_var(profile, TRIP_VAR_CNTRS_LIMIT);
	assert_int_equal(trip_profile_reset(profile, 1), -EINVAL);
	assert_int_equal(read_var(profile, TRIP_VAR_WORKS_CANCELED_TOTAL), 5);
	assert_int_equal(trip_profile_reset(profile, 0), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_WORKS_CANCELED_TOTAL), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_SUBMIT_RING_MOST), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTRS_LIMIT), limit);
	assert_int_equal(read_var(other, TRIP_VAR_WORKS_CANCELED_TOTAL), 5);
	assert_int_equal(read_var(other, TRIP_VAR_SUBMIT_RING_MOST), most);
	queue_and_cancel(cntr, 3);
	harness_until(read_var(profile, TRIP_VAR_WORKS_CANCELED_TOTAL) == 3);
	assert_int_equal(read_var(other, TRIP_VAR_WORKS_CANCELED_TOTAL), 8);
	profile_close(other);
	profile_close(profile);
	harness_cntr_close(cntr);
}

static void
prof_07_reset_leaves_the_object_alone(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *profile = profile_open(trip_cntr_fid(cntr));

	assert_int_equal(trip_cntr_add(cntr, 10), 0);
	assert_int_equal(trip_cntr_adderr(cntr, 2), 0);
	assert_int_equal(trip_profile_reset(profile, 0), 0);
	assert_int_equal(trip_cntr_add(cntr, 7), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL), 7);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTR_ERROR_TOTAL), 0);
	harness_expect(cntr, 17, 2);
	/* Below where it began there is nothing. */
	assert_int_equal(trip_cntr_set(cntr, 4), 0);
	assert_int_equal(read_var(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL), 0);
	profile_close(profile);
	harness_cntr_close(cntr);
}

static void
prof_07_close_lets_go_of_the_object(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_profile *of_cntr = profile_open(trip_cntr_fid(cntr));
	struct trip_domain *domain = harness_open_other();
	struct trip_profile *of_domain = profile_open(trip_domain_fid(domain)),
			    *of_lcore = profile_open(trip_lcore_fid(domain, 0));
	struct told told = {.profile = of_cntr};

	assert_int_equal(
		trip_profile_register_callback(of_cntr, TRIP_EVENT_CNTR_SUCCEEDED, note, &told), 0);
	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	profile_close(of_cntr);
	harness_cntr_close(cntr);
	assert_int_equal(trip_domain_close(domain), -EBUSY);
	assert_non_null(strstr(trip_error_message(), "2 profiles are open"));
	profile_close(of_domain);
	assert_int_equal(trip_domain_close(domain), -EBUSY);
	profile_close(of_lcore);
	harness_close_other(domain);
}

const struct CMUnitTest tests[] = {
	HARNESS_TEST(prof_01_domains_lcores_and_counters_have_one),
	HARNESS_TEST(prof_02_lists_say_how_many_there_are),
	HARNESS_TEST(prof_03_a_name_is_one_number),
	HARNESS_TEST(prof_04_what_is_not_listed_is_refused),
	HARNESS_TEST(prof_05_registering_again_replaces),
	HARNESS_TEST(prof_05_a_callback_reads_and_no_more),
	HARNESS_TEST(prof_06_a_snapshot_stays_as_it_is),
	HARNESS_TEST_OWN(prof_06_snapshots_hold_together_under_load),
	HARNESS_TEST(prof_06_nobody_waits_for_an_lcore_that_is_stopped),
	HARNESS_TEST(prof_06_to_look_is_not_to_read),
	HARNESS_TEST(prof_06_quantiles_are_those_of_what_fired),
	HARNESS_TEST(prof_07_quantiles_are_of_what_comes_behind_a_reset),
	HARNESS_TEST(prof_07_reset_is_that_of_one_profile),
	HARNESS_TEST(prof_07_reset_leaves_the_object_alone),
	HARNESS_TEST(prof_07_close_lets_go_of_the_object),
};

HARNESS_MAIN(NULL, tests)
