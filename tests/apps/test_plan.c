/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ports and lcores a run uses, and who does what. */
#include <errno.h>
#include <string.h>

#include "start/plan.h"
#include "rules.h"
#include "trip_test.h"

static int
plan_of(struct tripd_plan *plan, struct tripd_options *options, const uint16_t *ports,
	unsigned int n)
{
	static struct trip_rules_count counts[128];
	static struct trip_rules_port named[128];
	struct trip_rules rules = {.counts = counts, .n_counts = n};
	unsigned int i;

	for (i = 0; i < n; i++) {
		named[i].id = ports[i];
		counts[i] = (struct trip_rules_count){.ports = &named[i], .n_ports = 1};
	}
	memset(plan, 0xa5, sizeof(*plan));
	return tripd_plan_ports(plan, options, &rules);
}

static void
neighbours_are_partners(void **state)
{
	struct tripd_options options = {0};
	struct tripd_plan plan;

	assert_int_equal(plan_of(&plan, &options, (uint16_t[]){3, 0, 2, 1, 0, 5}, 6), 0);
	assert_int_equal(plan.n_ports, 5);
	assert_int_equal(plan.ports[0].id, 0);
	assert_int_equal(plan.ports[0].partner, 1);
	assert_int_equal(plan.ports[1].partner, 0);
	assert_int_equal(plan.ports[2].partner, 3);
	assert_int_equal(plan.ports[3].partner, 2);
	assert_int_equal(plan.ports[4].id, 5);
	assert_int_equal(plan.ports[4].partner, -1);
}

static void
only_named_ports_are_used(void **state)
{
	struct tripd_options options = {.ports = {4}, .n_ports = 1};
	struct tripd_plan plan;

	assert_int_equal(plan_of(&plan, &options, (uint16_t[]){0}, 1), 0);
	assert_int_equal(plan.n_ports, 2);
	assert_int_equal(plan.ports[0].partner, -1);
	assert_int_equal(plan.ports[1].id, 4);
	options.n_ports = 0;
	assert_int_equal(plan_of(&plan, &options, NULL, 0), -ENOENT);
}

static void
pairs_come_first(void **state)
{
	struct tripd_options options = {.pairs = {{0, 2}, {7, 7}}, .n_pairs = 2};
	struct tripd_plan plan;

	assert_int_equal(plan_of(&plan, &options, (uint16_t[]){0, 1, 3}, 3), 0);
	assert_int_equal(plan.n_ports, 5);
	assert_int_equal(plan.ports[0].partner, 2);
	assert_int_equal(plan.ports[2].partner, 0);
	/* 1 and 3 have lost their neighbours to the pair. */
	assert_int_equal(plan.ports[1].partner, -1);
	assert_int_equal(plan.ports[3].partner, -1);
	/* A port may be its own. */
	assert_int_equal(plan.ports[4].partner, 4);
}

static void
none_has_no_partners(void **state)
{
	struct tripd_options options = {.forward = TRIPD_FORWARD_NONE};
	struct tripd_plan plan;

	assert_int_equal(plan_of(&plan, &options, (uint16_t[]){0, 1}, 2), 0);
	assert_int_equal(plan.ports[0].partner, -1);
	assert_int_equal(plan.ports[1].partner, -1);
}

static void
too_many_ports_are_refused(void **state)
{
	struct tripd_options options = {0};
	uint16_t ports[TRIPD_PORTS_MAX + 1];
	struct tripd_plan plan;
	uint16_t i;

	for (i = 0; i < TRIPD_PORTS_MAX + 1; i++)
		ports[i] = i;
	assert_int_equal(plan_of(&plan, &options, ports, TRIPD_PORTS_MAX), 0);
	assert_int_equal(plan_of(&plan, &options, ports, TRIPD_PORTS_MAX + 1), -ENOSPC);
}

static void
lcores_have_one_job_each(void **state)
{
	const unsigned int workers[] = {3, 5, 8, 9};
	struct tripd_options options = {0};
	struct tripd_plan plan;

	assert_int_equal(plan_of(&plan, &options, (uint16_t[]){0, 1}, 2), 0);
	assert_int_equal(tripd_plan_lcores(&plan, workers, 0), -ENOSPC);
	assert_int_equal(tripd_plan_lcores(&plan, workers, 1), 0);
	assert_true(plan.manual);
	assert_int_equal(plan.n_forwarders, 1);
	assert_int_equal(plan.forwarders[0], 3);
	assert_int_equal(tripd_plan_lcores(&plan, workers, 2), 0);
	assert_false(plan.manual);
	assert_int_equal(plan.poller, 5);
	assert_int_equal(plan.n_forwarders, 1);
	assert_int_equal(plan.ports[0].forwarder, 0);
	assert_int_equal(plan.ports[1].forwarder, 0);
	assert_int_equal(tripd_plan_lcores(&plan, workers, 4), 0);
	assert_int_equal(plan.poller, 9);
	assert_int_equal(plan.n_forwarders, 2);
	assert_int_equal(plan.ports[1].forwarder, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_partners),
		cmocka_unit_test(only_named_ports_are_used),
		cmocka_unit_test(pairs_come_first),
		cmocka_unit_test(none_has_no_partners),
		cmocka_unit_test(too_many_ports_are_refused),
		cmocka_unit_test(lcores_have_one_job_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
