/* SPDX-License-Identifier: BSD-3-Clause */
/* What a domain reserves for each counter, work item and rule; exact, and without EAL. */
#include "trip_test.h"

#include <errno.h>
#include <string.h>

#include <trip.h>

#define MANY (1u << 20)

static uint64_t
bytes(uint32_t cntrs, uint32_t works, uint32_t flows)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = cntrs,
		.max_works = works,
		.max_flows = flows,
		.max_queues = 1};
	struct trip_domain_footprint print = {.size = sizeof(print)};

	assert_int_equal(trip_domain_footprint(&attr, &print), 0);
	return print.bytes;
}

static void
test_a_counter_takes_three_lines(void **state)
{
	(void)state;
	assert_true((bytes(2 * MANY, 64, 1) - bytes(MANY, 64, 1)) / MANY < 192);
}

/* Its slot, the home's copy, and its place in the pending set; of conditions of pairs there are as
 * many as somebody asks for, however many items there may be. */
static void
test_a_work_item_takes_three_lines(void **state)
{
	(void)state;
	assert_true((bytes(1, 2 * MANY, 1) - bytes(1, MANY, 1)) / MANY < 192);
}

/* Of the 128 that are promised; a rule's handle, entry and key take the others. */
static void
test_a_rule_takes_less_than_a_line(void **state)
{
	(void)state;
	assert_true((bytes(1, 64, 2 * MANY) - bytes(1, 64, MANY)) / MANY < 56);
}

/* Each counter has a number of its own, and so have those that nobody opens; ids have 24 bits of
 * it. */
static void
test_all_homes_have_16_mi_counters(void **state)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = 8,
		.max_works = 2 * MANY,
		.max_groups = 2 * MANY};
	struct trip_domain_footprint print = {.size = sizeof(print)};

	(void)state;
	assert_int_equal(trip_domain_footprint(&attr, &print), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "more than 16777216"));
	attr.n_lcores = 7;
	assert_int_equal(trip_domain_footprint(&attr, &print), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_counter_takes_three_lines),
		cmocka_unit_test(test_a_work_item_takes_three_lines),
		cmocka_unit_test(test_a_rule_takes_less_than_a_line),
		cmocka_unit_test(test_all_homes_have_16_mi_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
