/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a handler gives back while its own operation is under way: whatever that does to it yet, it
 * does to nobody else's.
 */
#include <trip_test.h>

#include <errno.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain/domain.h"
#include "work/submitter.h"

/* As many as one home has. */
#define CNTRS 4

static struct trip_domain *domain;
static struct trip_cntr *trigger, *closed, *opened;
static struct trip_function *given_back, *taken;
/* What opening said in the handler. */
static int result;

static void
open_domain(uint32_t max_functions)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = CNTRS,
		.max_functions = max_functions,
		.scrub_us = UINT32_MAX};

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &trigger, NULL), 0);
}

static void
close_domain(void)
{
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

/* One call of `handler`, and an iteration or more behind it. */
static void
fire(trip_function_t handler, struct trip_cntr *completion)
{
	struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CALL,
		.triggering_cntr = trigger,
		.threshold = trip_cntr_read(trigger) + 1,
		.completion_cntr = completion};

	assert_int_equal(trip_function_register(domain, handler, NULL, &work.op.call.function), 0);
	assert_int_equal(trip_work_queue(domain, &work, NULL), 0);
	assert_int_equal(trip_cntr_add(trigger, 1), 0);
	while (trip_progress(domain) > 0)
		;
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
}

/* Its own completion counter: no pending work refers to that any more. */
static int
close_and_open(const struct trip_work_event *event, void *arg)
{
	assert_int_equal(trip_cntr_close(closed), 0);
	result = trip_cntr_open(domain, NULL, &opened, NULL);
	return 0;
}

static void
a_completion_is_counted_on_no_successor(void **state)
{
	open_domain(1);
	assert_int_equal(trip_cntr_open(domain, NULL, &closed, NULL), 0);
	fire(close_and_open, closed);
	assert_int_equal(result, 0);
	assert_int_equal(trip_cntr_read(opened), 0);
	assert_int_equal(trip_cntr_readerr(opened), 0);
	assert_int_equal(trip_cntr_close(opened), 0);
	close_domain();
}

/* It cannot wait for the end of its own iteration. */
static void
where_all_are_taken_a_handler_is_refused(void **state)
{
	struct trip_cntr *others[CNTRS];

	open_domain(1);
	for (unsigned int i = 2; i < CNTRS; i++)
		assert_int_equal(trip_cntr_open(domain, NULL, &others[i], NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &closed, NULL), 0);
	fire(close_and_open, closed);
	assert_int_equal(result, -ENOSPC);
	/* Behind that, its place is to be had. */
	assert_int_equal(trip_cntr_open(domain, NULL, &opened, NULL), 0);
	assert_int_equal(trip_cntr_read(opened), 0);
	assert_int_equal(trip_cntr_close(opened), 0);
	for (unsigned int i = 2; i < CNTRS; i++)
		assert_int_equal(trip_cntr_close(others[i]), 0);
	close_domain();
}

static int
do_nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

/* Another home may be about to call it by its index. */
static int
unregister_and_register(const struct trip_work_event *event, void *arg)
{
	assert_int_equal(trip_function_unregister(given_back), 0);
	result = trip_function_register(domain, do_nothing, NULL, &taken);
	return 0;
}

static void
a_function_takes_no_place_of_one_that_may_be_called_yet(void **state)
{
	struct trip_function *all[3];
	uint32_t before;

	open_domain(RTE_DIM(all));
	assert_int_equal(trip_function_register(domain, do_nothing, NULL, &given_back), 0);
	before = given_back->index;
	fire(unregister_and_register, NULL);
	assert_int_equal(result, 0);
	assert_int_not_equal(taken->index, before);
	assert_int_equal(trip_function_unregister(taken), 0);
	/* Behind that, all places are to be had. */
	for (unsigned int i = 0; i < RTE_DIM(all); i++)
		assert_int_equal(trip_function_register(domain, do_nothing, NULL, &all[i]), 0);
	for (unsigned int i = 0; i < RTE_DIM(all); i++)
		assert_int_equal(trip_function_unregister(all[i]), 0);
	close_domain();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_completion_is_counted_on_no_successor),
		cmocka_unit_test(where_all_are_taken_a_handler_is_refused),
		cmocka_unit_test(a_function_takes_no_place_of_one_that_may_be_called_yet),
	};

	if (trip_eal_init(NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
