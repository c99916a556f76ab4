/* SPDX-License-Identifier: BSD-3-Clause */
/* A flush beside a thread that cancels and queues items of pairs: it cancels what its counter
 * triggers, and nothing else (WORK-09). */
#include <trip_test.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain/domain.h"

static struct trip_domain *domain;
/* Of homes 0, 1 and 0. */
static struct trip_cntr *cntrs[3];

static void
open_bed(void)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = 2,
		.max_works = 64};

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(trip_cntr_open(domain, NULL, &cntrs[i], NULL), 0);
		assert_int_equal(cntrs[i]->home->index, i % 2);
	}
}

static void
close_bed(void)
{
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

/* The first of its counters says which home has the item. */
static uint64_t
queue(struct trip_cntr *one, struct trip_cntr *other)
{
	const struct trip_pair pairs[] = {{.size = sizeof(pairs[0]), .cntr = one, .threshold = 1},
		{.size = sizeof(pairs[0]), .cntr = other, .threshold = 1}};
	const struct trip_condition all = {
		.size = sizeof(all), .kind = TRIP_CONDITION_ALL, .when.pairs = {pairs, 2}};
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD, .condition = &all};
	uint64_t id;
	int error;

	work.op.cntr.cntr = cntrs[0];
	while ((error = trip_work_queue(domain, &work, &id)) == -EAGAIN)
		(void)trip_progress(domain);
	assert_int_equal(error, 0);
	return id;
}

static void *
flush(void *cntr)
{
	return (void *)(intptr_t)trip_work_flush(domain, cntr);
}

/*
 * While it goes from a pair on home 1 to the item on home 0, that is canceled, and one that the
 * counter does not trigger takes its place. The lock of home 0 keeps the flush there, mostly: no
 * verdict hangs on that.
 */
static void
what_takes_the_place_of_an_item_stays(void **state)
{
	struct trip_lock *lock;
	pthread_t thread;
	void *result;

	open_bed();
	lock = &domain->submitters[0][0].lock;
	for (uint64_t round = trip_test_rounds(500); round > 0; round--) {
		uint64_t old = queue(cntrs[0], cntrs[1]), other;

		trip_domain_lock(lock);
		assert_int_equal(pthread_create(&thread, NULL, flush, cntrs[1]), 0);
		for (unsigned int i = 0; i < 100; i++)
			sched_yield();
		trip_domain_unlock(lock);
		(void)trip_work_cancel(domain, old);
		other = queue(cntrs[0], cntrs[2]);
		pthread_join(thread, &result);
		assert_int_equal((intptr_t)result, 0);
		assert_int_equal(trip_work_cancel(domain, old), -ENOENT);
		assert_int_equal(trip_work_cancel(domain, other), 0);
	}
	close_bed();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_the_place_of_an_item_stays),
	};

	if (trip_eal_init(NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
