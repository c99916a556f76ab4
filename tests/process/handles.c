/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several handles that an attached process has of a counter of the primary's: work that goes on
 * holds the last of them, whoever closes which, and when (CNTR-11). Were none held, the primary
 * could close the counter, and the next one in its place would be counted on by the item.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "cntr/cntr.h"
#include "domain/backend.h"
#include "domain/domain.h"
#include "family.h"

#define TOGETHER 300

static uint64_t
queue(struct trip_cntr *trigger, struct trip_cntr *target)
{
	const struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = trigger,
		.threshold = UINT64_C(1) << 40,
		.op.cntr = {.cntr = target, .value = 1}};
	uint64_t id;

	if (trip_work_queue(family_domain, &work, &id) != 0)
		fail_msg("%s", trip_error_message());
	return id;
}

/* ---- two handles, one by one ------------------------------------------------------------------
 */

static void
play_by_turns(const char *arg)
{
	struct trip_cntr *first, *second, *own;
	uint64_t id;

	family_attach();
	own = family_cntr("own", TRIP_WAIT_NONE);
	first = family_find("theirs", TRIP_WAIT_FD);
	second = family_find("theirs", TRIP_WAIT_NONE);
	id = queue(first, own);
	/* It is the first that the item was queued with. */
	assert_int_equal(trip_cntr_close(first), 0);
	assert_int_equal(trip_cntr_close(second), -EBUSY);
	assert_int_equal(trip_cntr_close(own), -EBUSY);
	family_say('b');
	assert_int_equal(family_listen(), 'c');
	/* One more, and the second is not the last. */
	first = family_find("theirs", TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_close(second), 0);
	assert_int_equal(trip_cntr_close(first), -EBUSY);
	assert_int_equal(trip_work_cancel(family_domain, id), 0);
	assert_int_equal(trip_cntr_close(first), 0);
	/* Its own is held by the item, however many find it. */
	first = family_find("own", TRIP_WAIT_NONE);
	id = queue(first, first);
	assert_int_equal(trip_cntr_close(own), -EBUSY);
	assert_int_equal(trip_cntr_close(first), 0);
	assert_int_equal(trip_cntr_close(own), -EBUSY);
	assert_int_equal(trip_work_cancel(family_domain, id), 0);
	assert_int_equal(trip_cntr_close(own), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
cntr_11_one_of_two_handles_is_closed(void **state)
{
	struct trip_cntr *theirs;
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	child = family_start("by_turns", 8, NULL);
	assert_int_equal(family_hear(&child), 'b');
	assert_int_equal(trip_cntr_close(theirs), -EBUSY);
	family_tell(&child, 'c');
	family_end(&child);
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

/* ---- two handles, at once ---------------------------------------------------------------------
 */

static pthread_barrier_t meeting;

struct closer {
	struct trip_cntr *cntr;
	int result;
};

static void *
close_together(void *arg)
{
	struct closer *closer = arg;

	for (unsigned int i = 0; i < TOGETHER; i++) {
		pthread_barrier_wait(&meeting);
		closer->result = trip_cntr_close(closer->cntr);
		pthread_barrier_wait(&meeting);
	}
	return NULL;
}

static void
play_together(const char *arg)
{
	struct closer closers[2];
	pthread_t threads[2];

	family_attach();
	pthread_barrier_init(&meeting, NULL, 3);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, close_together, &closers[i]), 0);
	for (unsigned int i = 0; i < TOGETHER; i++) {
		unsigned int last;
		uint64_t id;

		for (unsigned int c = 0; c < 2; c++)
			closers[c].cntr = family_find("theirs", TRIP_WAIT_NONE);
		id = queue(closers[0].cntr, closers[1].cntr);
		pthread_barrier_wait(&meeting);
		pthread_barrier_wait(&meeting);
		last = closers[0].result == 0;
		assert_int_equal(closers[1 - last].result, 0);
		assert_int_equal(closers[last].result, -EBUSY);
		assert_int_equal(trip_work_cancel(family_domain, id), 0);
		assert_int_equal(trip_cntr_close(closers[last].cntr), 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(family_try_close(), 0);
}

static void
cntr_11_of_two_that_are_closed_at_once_one_is_last(void **state)
{
	struct trip_cntr *theirs;
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	child = family_start("together", 8, NULL);
	family_end(&child);
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

/* ---- found while it is opened ------------------------------------------------------------------
 */

static const struct trip_cntr_backend *real;
static struct trip_cntr *found;

/* Others may find a counter as soon as it has its name, and it has yet to get its wait object. */
static int
open_and_be_found(struct trip_cntr *cntr, const struct trip_cntr_attr *attr)
{
	const struct trip_cntr_attr named = {.size = sizeof(named), .name = "brief"};
	int error = real->open(cntr, attr);

	if (error == 0 && !cntr->found)
		assert_int_equal(trip_cntr_find(cntr->fid.domain, &named, &found, NULL), 0);
	return error;
}

/* As it fails where no descriptor is left. */
static void
fail_to_open(void)
{
	const struct trip_cntr_attr attr = {
		.size = sizeof(attr), .name = "brief", .wait_obj = TRIP_WAIT_FD};
	const struct trip_backend *was = family_domain->backend;
	struct trip_backend backend = *was;
	struct trip_cntr_backend cntrs = *was->cntr;
	struct rlimit limit, none;
	struct trip_cntr *cntr;

	real = was->cntr;
	cntrs.open = open_and_be_found;
	backend.cntr = &cntrs;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	family_domain->backend = &backend;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(trip_cntr_open(family_domain, &attr, &cntr, NULL), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	family_domain->backend = was;
	assert_non_null(strstr(trip_error_message(), "descriptor"));
}

/* Whoever has found it is told, and is the last. */
static void
fail_and_let_go(void)
{
	fail_to_open();
	family_until(trip_cntr_readerr(found) == 1);
	assert_int_equal(trip_cntr_close(found), 0);
	assert_int_equal(trip_cntr_close(family_cntr("brief", TRIP_WAIT_NONE)), 0);
}

static void
play_failing(const char *arg)
{
	family_attach();
	fail_and_let_go();
	assert_int_equal(family_try_close(), 0);
}

static void
cntr_24_what_fails_to_open_is_its_finders(void **state)
{
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	fail_and_let_go();
	child = family_start("failing", 8, NULL);
	family_end(&child);
	family_close();
}

static const struct family_part parts[] = {
	{"by_turns", play_by_turns},
	{"failing", play_failing},
	{"together", play_together},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cntr_11_one_of_two_handles_is_closed),
		cmocka_unit_test(cntr_11_of_two_that_are_closed_at_once_one_is_last),
		cmocka_unit_test(cntr_24_what_fails_to_open_is_its_finders),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
