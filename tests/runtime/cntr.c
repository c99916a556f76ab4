/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a counter, and its life. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "harness.h"

#define MAX TRIP_CNTR_MAX

static void
cntr_01_two_values(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);

	harness_expect(cntr, 0, 0);
	assert_int_equal(trip_cntr_set(cntr, MAX), 0);
	harness_expect(cntr, MAX, 0);
	assert_int_equal(trip_cntr_seterr(cntr, MAX), 0);
	harness_expect(cntr, MAX, MAX);
	assert_int_equal(trip_cntr_set(cntr, 0), 0);
	harness_expect(cntr, 0, MAX);
	harness_cntr_close(cntr);
}

static void
cntr_02_each_call_changes_its_value(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint64_t was;

	assert_int_equal(trip_cntr_add(cntr, 5), 0);
	harness_expect(cntr, 5, 0);
	assert_int_equal(trip_cntr_adderr(cntr, 7), 0);
	harness_expect(cntr, 5, 7);
	assert_int_equal(trip_cntr_set(cntr, 3), 0);
	harness_expect(cntr, 3, 7);
	assert_int_equal(trip_cntr_seterr(cntr, 2), 0);
	harness_expect(cntr, 3, 2);
	assert_int_equal(trip_cntr_add(cntr, 1), 0);
	assert_int_equal(trip_cntr_adderr(cntr, 1), 0);
	harness_expect(cntr, 4, 3);
	assert_int_equal(trip_cntr_reset(cntr, &was), 0);
	assert_int_equal(was, 4);
	harness_expect(cntr, 0, 3);
	assert_int_equal(trip_cntr_reset(cntr, NULL), 0);
	harness_expect(cntr, 0, 3);
	harness_cntr_close(cntr);
}

static int
fail_it(const struct trip_work_event *event, void *arg)
{
	return -EIO;
}

static void
cntr_03_a_failure_changes_the_error_only(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *completion = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(trigger, 1, TRIP_OP_CALL);
	struct trip_function *function;

	assert_int_equal(trip_function_register(harness_domain, fail_it, NULL, &function), 0);
	trip_cntr_set(completion, 9);
	work.op.call.function = function;
	work.completion_cntr = completion;
	harness_queue(&work);
	trip_cntr_add(trigger, 1);
	harness_until(trip_cntr_readerr(completion) == 1);
	harness_expect(completion, 9, 1);
	harness_expect(trigger, 1, 0);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(completion);
	harness_cntr_close(trigger);
}

static void
cntr_04_default_is_none(void **state)
{
	struct trip_cntr *cntr;
	int fd;

	assert_int_equal(trip_cntr_open(harness_domain, NULL, &cntr, state), 0);
	assert_ptr_equal(trip_cntr_context(cntr), state);
	assert_string_equal(trip_cntr_name(cntr), "");
	assert_int_equal(trip_cntr_wait(cntr, 0, 0), -EINVAL);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &fd), -ENOSYS);
	assert_int_equal(trip_cntr_arm(cntr, 1), -EINVAL);
	harness_cntr_close(cntr);
}

static void
refuse_attr(const struct trip_cntr_attr *attr, int error)
{
	struct trip_cntr *cntr = NULL;

	assert_int_equal(trip_cntr_open(harness_domain, attr, &cntr, NULL), error);
	assert_null(cntr);
	assert_true(strlen(trip_error_message()) > 0);
}

static void
cntr_10_attributes_are_checked(void **state)
{
	const struct trip_cntr_attr good = {.size = sizeof(good)};
	struct trip_cntr_attr attr = good;

	for (unsigned int bit = 0; bit < 64; bit++) {
		attr.flags = UINT64_C(1) << bit;
		refuse_attr(&attr, -EINVAL);
	}
	attr = good;
	attr.events = (enum trip_cntr_events)(TRIP_CNTR_EVENTS_BYTES + 1);
	refuse_attr(&attr, -EINVAL);
	attr.events = (enum trip_cntr_events) - 1;
	refuse_attr(&attr, -EINVAL);
	attr = good;
	attr.wait_obj = (enum trip_wait_obj)(TRIP_WAIT_YIELD + 1);
	refuse_attr(&attr, -EINVAL);
	attr.wait_obj = (enum trip_wait_obj) - 1;
	refuse_attr(&attr, -EINVAL);
	for (size_t size = 0; size < 4 * sizeof(attr); size++) {
		if (size >= sizeof(size) && size <= sizeof(attr) && size % sizeof(size) == 0)
			continue;
		attr = good;
		attr.size = size;
		refuse_attr(&attr, -EINVAL);
	}
}

static void
cntr_11_names_are_free_after_close(void **state)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "dns"};
	struct trip_cntr *cntr, *other;

	assert_int_equal(trip_cntr_open(harness_domain, &attr, &cntr, NULL), 0);
	assert_string_equal(trip_cntr_name(cntr), "dns");
	refuse_attr(&attr, -EEXIST);
	harness_cntr_close(cntr);
	assert_int_equal(trip_cntr_open(harness_domain, &attr, &other, NULL), 0);
	harness_cntr_close(other);
}

/* Pending work in any role refuses the closing, which has then changed nothing. */
static void
cntr_11_pending_work_refuses_close(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *target = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *completion = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work add = harness_work(trigger, 10, TRIP_OP_CNTR_ADD);
	struct trip_cntr *const all[] = {trigger, target, completion};
	static struct harness_notes notes;
	struct trip_work call;
	uint64_t id;

	harness_notes_open(&notes);
	add.op.cntr.cntr = target;
	add.op.cntr.value = 3;
	call = harness_noted(&notes, trigger, 10, completion);
	harness_queue(&add);
	id = harness_queue(&call);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(trip_cntr_close(all[i]), -EBUSY);
	if (harness_away == NULL)
		assert_int_equal(trip_function_unregister(notes.function), -EBUSY);
	/* A canceled item has let go, without any progress. */
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	harness_cntr_close(completion);
	harness_notes_close(&notes);
	trip_cntr_add(trigger, 10);
	harness_until(trip_cntr_read(target) == 3);
	harness_cntr_close(target);
	harness_cntr_close(trigger);
}

/* A counter that takes the place of a closed one begins anew: nothing is left of that one. */
static void
cntr_11_a_reused_place_is_new(void **state)
{
	static struct harness_notes notes;

	harness_notes_open(&notes);
	for (unsigned int i = 0; i < 200; i++) {
		struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
		uint64_t id = harness_note(&notes, cntr, 7, i);

		harness_expect(cntr, 0, 0);
		trip_cntr_add(cntr, 6);
		trip_cntr_adderr(cntr, i % 2);
		if (i % 2 == 0)
			assert_int_equal(trip_work_cancel(harness_domain, id), 0);
		else
			harness_until(harness_notes_count(&notes) == (i + 1) / 2);
		harness_cntr_close(cntr);
	}
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 100);
	harness_notes_close(&notes);
}

struct reader {
	struct trip_cntr *cntr;
	_Atomic bool stop;
	uint64_t reads, bad;
};

static void *
read_on(void *arg)
{
	struct reader *reader = arg;
	uint64_t last = 0;

	while (!atomic_load(&reader->stop)) {
		uint64_t value = trip_cntr_read(reader->cntr);

		reader->bad += value < last || trip_cntr_readerr(reader->cntr) != 0;
		reader->reads++;
		last = value;
	}
	return NULL;
}

/* Whoever reads goes on while nobody progresses the domain, and never sees a value go down. */
static void
cntr_18_reads_wait_for_nobody(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	const uint64_t adds = harness_away != NULL ? 9999 : 99999;
	struct reader readers[2];
	pthread_t threads[2];

	for (unsigned int i = 0; i < 2; i++) {
		readers[i] = (struct reader){.cntr = cntr};
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
	}
	for (uint64_t i = 0; i < adds; i++)
		trip_cntr_add(cntr, i % 3);
	for (unsigned int i = 0; i < 2; i++) {
		atomic_store(&readers[i].stop, true);
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].bad, 0);
	}
	harness_expect(cntr, adds, 0);
	harness_cntr_close(cntr);
}

static void *
set_both(void *arg)
{
	struct reader *reader = arg;

	for (uint64_t i = 0; i < (harness_away != NULL ? 10000 : 100000); i++)
		trip_cntr_set(reader->cntr, i % 2 == 0 ? UINT64_C(0x0123456789abcdef) : 0);
	atomic_store(&reader->stop, true);
	return NULL;
}

/* A set that races with sets, adds and reads leaves one of the values that somebody wrote. */
static void
cntr_20_set_never_tears(void **state)
{
	const uint64_t written = UINT64_C(0x0123456789abcdef);
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct reader setters[2];
	pthread_t threads[2];
	uint64_t adds = 0, value;

	for (unsigned int i = 0; i < 2; i++) {
		setters[i] = (struct reader){.cntr = cntr};
		assert_int_equal(pthread_create(&threads[i], NULL, set_both, &setters[i]), 0);
	}
	while (!atomic_load(&setters[0].stop) || !atomic_load(&setters[1].stop)) {
		trip_cntr_add(cntr, 1);
		adds++;
		value = trip_cntr_read(cntr);
		assert_true(value <= adds || (value >= written && value <= written + adds));
	}
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	trip_cntr_set(cntr, 42);
	harness_expect(cntr, 42, 0);
	harness_cntr_close(cntr);
}

static void *
add_ones(void *arg)
{
	struct reader *reader = arg;

	for (uint64_t i = 0; i < (harness_away != NULL ? 10000 : 100000); i++)
		trip_cntr_add(reader->cntr, 1);
	atomic_store(&reader->stop, true);
	return NULL;
}

/* What was taken out, and what is left, is what was added. */
static void
cntr_20_a_reset_loses_nothing(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct reader adders[2];
	pthread_t threads[2];
	uint64_t taken = 0, was;

	for (unsigned int i = 0; i < 2; i++) {
		adders[i] = (struct reader){.cntr = cntr};
		assert_int_equal(pthread_create(&threads[i], NULL, add_ones, &adders[i]), 0);
	}
	while (!atomic_load(&adders[0].stop) || !atomic_load(&adders[1].stop)) {
		assert_int_equal(trip_cntr_reset(cntr, &was), 0);
		taken += was;
	}
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(taken + trip_cntr_read(cntr), 2 * (harness_away != NULL ? 10000 : 100000));
	harness_cntr_close(cntr);
}

static void
cntr_22_values_saturate(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, MAX + 1, TRIP_OP_CNTR_SET);

	trip_cntr_set(cntr, MAX - 1);
	trip_cntr_add(cntr, 1);
	harness_expect(cntr, MAX, 0);
	trip_cntr_add(cntr, 1);
	trip_cntr_add(cntr, UINT64_MAX);
	trip_cntr_add(cntr, UINT32_MAX);
	harness_expect(cntr, MAX, 0);
	trip_cntr_seterr(cntr, MAX - 1);
	trip_cntr_adderr(cntr, UINT64_MAX);
	harness_expect(cntr, MAX, MAX);
	trip_cntr_set(cntr, MAX - 1);
	trip_cntr_add(cntr, UINT64_MAX);
	harness_expect(cntr, MAX, MAX);
	trip_cntr_set(cntr, 1);
	assert_int_equal(trip_cntr_set(cntr, MAX + 1), -EINVAL);
	assert_int_equal(trip_cntr_seterr(cntr, UINT64_MAX), -EINVAL);
	harness_expect(cntr, 1, MAX);
	work.op.cntr.cntr = cntr;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	work.threshold = 1;
	work.op.cntr.value = MAX + 1;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	harness_cntr_close(cntr);
}

static void
cntr_22_beyond_32_bits(void **state)
{
	const uint64_t big = (UINT64_C(1) << 32) + 5;
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	static struct harness_notes notes;

	harness_notes_open(&notes);
	harness_note(&notes, cntr, big, 0);
	trip_cntr_add(cntr, 6);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	trip_cntr_add(cntr, big - 7);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	trip_cntr_add(cntr, 1);
	harness_until(harness_notes_count(&notes) == 1);
	assert_true(notes.event[0].threshold == big && notes.event[0].value == big);
	assert_true(trip_cntr_read(cntr) == big);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* The largest threshold is reached by the largest value, and by nothing else. */
static void
cntr_22_the_largest_threshold(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	static struct harness_notes notes;

	harness_notes_open(&notes);
	harness_note(&notes, cntr, MAX, 0);
	trip_cntr_set(cntr, MAX - 1);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	trip_cntr_add(cntr, UINT64_MAX);
	harness_until(harness_notes_count(&notes) == 1);
	assert_true(notes.event[0].value == MAX);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static void
cntr_23_no_age_without_a_flow(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);

	assert_int_equal(trip_cntr_age(cntr), 0);
	trip_cntr_add(cntr, 1);
	harness_settle();
	assert_int_equal(trip_cntr_age(cntr), 0);
	harness_cntr_close(cntr);
}

static void
cntr_11_others_that_found_it_hold_it_open(void **state)
{
	struct trip_cntr_attr attr = {
		.size = sizeof(attr), .name = "shared", .events = TRIP_CNTR_EVENTS_BYTES};
	struct trip_cntr *own, *found, *again;
	int fd;

	assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), -ENOENT);
	assert_int_equal(trip_cntr_open(harness_domain, &attr, &own, NULL), 0);
	attr.wait_obj = TRIP_WAIT_FD;
	assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, &attr), 0);
	assert_ptr_equal(trip_cntr_context(found), &attr);
	assert_string_equal(trip_cntr_name(found), "shared");
	assert_int_equal(trip_cntr_control(found, TRIP_GETWAIT, &fd), 0);
	trip_cntr_add(own, 3);
	harness_expect(found, 3, 0);
	assert_int_equal(trip_cntr_close(own), -EBUSY);
	harness_expect(own, 3, 0);
	assert_int_equal(trip_cntr_find(harness_domain, &attr, &again, NULL), 0);
	harness_cntr_close(again);
	harness_cntr_close(found);
	harness_cntr_close(own);
	assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), -ENOENT);
	attr.name = NULL;
	assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), -EINVAL);
	assert_int_equal(trip_cntr_find(harness_domain, NULL, &found, NULL), -EINVAL);
}

/* Work that goes on holds the last handle that a process has, and no other. */
static void
cntr_11_pending_work_holds_the_last_handle(void **state)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "shared"};
	struct trip_cntr *own, *found[2];
	struct trip_work add;

	assert_int_equal(trip_cntr_open(harness_domain, &attr, &own, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(trip_cntr_find(harness_domain, &attr, &found[i], NULL), 0);
	add = harness_work(found[0], 10, TRIP_OP_CNTR_ADD);
	add.op.cntr.cntr = found[1];
	add.op.cntr.value = 3;
	harness_queue(&add);
	for (unsigned int i = 0; i < 2; i++)
		harness_cntr_close(found[i]);
	assert_int_equal(trip_cntr_close(own), -EBUSY);
	/* It has not been told of closing, and fires. */
	trip_cntr_add(own, 10);
	harness_until(trip_cntr_read(own) == 13);
	harness_cntr_close(own);
}

static void
cntr_24_names_are_unique_and_found(void **state)
{
	static const char *const bad[] = {"", "1st", "-", ".x", "a b", "a/b", "d\xc3\xa9j\xc3\xa0",
		"a23456789012345678901234567890123"};
	static const char *const good[] = {"_", "A", "a-b.c_d", "a2345678901234567890123456789012"};
	struct trip_cntr_attr attr = {.size = sizeof(attr)};
	struct trip_cntr *cntrs[4], *found;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		attr.name = bad[i];
		refuse_attr(&attr, -EINVAL);
		assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), -EINVAL);
	}
	for (unsigned int i = 0; i < 4; i++) {
		attr.name = good[i];
		attr.events = i % 2 == 0 ? TRIP_CNTR_EVENTS_COMP : TRIP_CNTR_EVENTS_BYTES;
		assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), -ENOENT);
		assert_int_equal(trip_cntr_open(harness_domain, &attr, &cntrs[i], NULL), 0);
		assert_string_equal(trip_cntr_name(cntrs[i]), good[i]);
		trip_cntr_add(cntrs[i], 1 + i);
	}
	for (unsigned int i = 0; i < 4; i++) {
		attr.name = good[i];
		refuse_attr(&attr, -EEXIST);
		assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), 0);
		assert_string_equal(trip_cntr_name(found), good[i]);
		trip_cntr_adderr(found, 2);
		harness_expect(cntrs[i], 1 + i, 2);
		harness_cntr_close(found);
		harness_cntr_close(cntrs[i]);
		assert_int_equal(trip_cntr_find(harness_domain, &attr, &found, NULL), -ENOENT);
	}
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cntr_01_two_values),
	HARNESS_TEST(cntr_02_each_call_changes_its_value),
	HARNESS_TEST(cntr_03_a_failure_changes_the_error_only),
	HARNESS_TEST(cntr_04_default_is_none),
	HARNESS_TEST(cntr_10_attributes_are_checked),
	HARNESS_TEST(cntr_11_names_are_free_after_close),
	HARNESS_TEST(cntr_11_pending_work_refuses_close),
	HARNESS_TEST(cntr_11_a_reused_place_is_new),
	HARNESS_TEST(cntr_18_reads_wait_for_nobody),
	HARNESS_TEST(cntr_20_set_never_tears),
	HARNESS_TEST(cntr_20_a_reset_loses_nothing),
	HARNESS_TEST(cntr_22_values_saturate),
	HARNESS_TEST(cntr_22_beyond_32_bits),
	HARNESS_TEST(cntr_22_the_largest_threshold),
	HARNESS_TEST(cntr_23_no_age_without_a_flow),
	HARNESS_TEST(cntr_11_others_that_found_it_hold_it_open),
	HARNESS_TEST(cntr_11_pending_work_holds_the_last_handle),
	HARNESS_TEST(cntr_24_names_are_unique_and_found),
};

HARNESS_MAIN(NULL, tests)
