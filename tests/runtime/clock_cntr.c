/* SPDX-License-Identifier: BSD-3-Clause */
/* The handles of the clocks, which are the domain's: which one who gets, and what keeps them. */
#include <trip_test.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain/domain.h"

#define HOMES 3

static struct trip_domain *domain;

static void
open_domain(void)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = HOMES,
		.max_process_threads = 2};

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
}

static void *
wait_for_ever(void *arg)
{
	return (void *)(intptr_t)trip_cntr_wait(arg, TRIP_CNTR_MAX, -1);
}

static void
a_waiter_keeps_the_domain_open(void **state)
{
	struct trip_cntr *clock;
	pthread_t thread;
	void *result;

	open_domain();
	clock = trip_clock_cntr(domain);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, clock), 0);
	while (atomic_load(&clock->fid.refs) == 0)
		sched_yield();
	assert_int_equal(trip_domain_close(domain), -EBUSY);
	assert_non_null(strstr(trip_error_message(), "clocks"));
	/* No call changes it: this ends the wait. */
	(void)trip_cell_adderr(clock->cell, 1);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -EIO);
	assert_int_equal(trip_domain_close(domain), 0);
}

static void *
ask(void *arg)
{
	struct trip_cntr **clock = arg;

	clock[0] = trip_clock_cntr(domain);
	assert_int_equal(trip_thread_attach(domain), 0);
	clock[1] = trip_clock_cntr(domain);
	clock[2] = trip_clock_cntr(domain);
	assert_int_equal(trip_thread_detach(domain), 0);
	return NULL;
}

/* Those with channels of their own are spread over the homes. */
static void
a_thread_has_always_the_same(void **state)
{
	struct trip_cntr *clock[3];
	pthread_t thread;

	open_domain();
	assert_int_equal(pthread_create(&thread, NULL, ask, clock), 0);
	pthread_join(thread, NULL);
	assert_ptr_equal(clock[0], trip_clock_cntr(domain));
	assert_ptr_not_equal(clock[1], clock[0]);
	assert_ptr_equal(clock[2], clock[1]);
	assert_int_equal(trip_domain_close(domain), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_keeps_the_domain_open),
		cmocka_unit_test(a_thread_has_always_the_same),
	};

	if (trip_eal_init(NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
