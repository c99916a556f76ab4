/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home and whoever needs it share one CPU. Turns are dealt by hand: the scheduler is the test's,
 * which stands in the place of sched_yield().
 */
#include <trip_test.h>

#include <sched.h>

#include <rte_service.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain.h"

static unsigned int yields;

int
sched_yield(void)
{
	yields++;
	return 0;
}

/* A domain whose home runs one iteration, and what comes behind it, when it is told to. */
static struct trip_home *
open_service(struct trip_domain **domain)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_SERVICE,
		.max_cntrs = 2,
		.max_works = 64,
		.scrub_us = UINT32_MAX};

	assert_int_equal(trip_domain_open(&attr, domain, NULL), 0);
	/* No core is its own. */
	assert_true((*domain)->engine.homes[0]->shares_cpu);
	return (*domain)->engine.homes[0];
}

static unsigned int
yields_of_a_turn(const struct trip_domain *domain)
{
	yields = 0;
	(void)rte_service_run_iter_on_app_lcore(domain->services[0], 1);
	return yields;
}

static uint64_t
busy_iterations(struct trip_domain *domain)
{
	struct trip_domain_stats stats;

	trip_domain_stats_read(domain, &stats);
	return stats.busy_iterations;
}

static void
a_home_that_shares_its_cpu_yields_after_each_iteration(void **state)
{
	struct trip_domain *domain;
	struct trip_home *home = open_service(&domain);
	struct trip_cntr *cntr;
	uint64_t busy;

	assert_int_equal(trip_cntr_open(domain, NULL, &cntr, NULL), 0);
	/* The counter rang when it was opened. */
	busy = busy_iterations(domain);
	assert_int_equal(yields_of_a_turn(domain), 1);
	assert_true(busy_iterations(domain) == busy + 1);
	/* A round is under way, of which this iteration has nothing to do. */
	home->refresh_left = 1;
	assert_int_equal(yields_of_a_turn(domain), 1);
	assert_true(busy_iterations(domain) == busy + 1);
	home->refresh_left = 0;
	assert_int_equal(yields_of_a_turn(domain), 1);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

static void
a_home_that_has_a_cpu_or_spins_keeps_it(void **state)
{
	struct trip_domain *domain;
	struct trip_home *home = open_service(&domain);

	home->shares_cpu = false;
	home->refresh_left = 1;
	assert_int_equal(yields_of_a_turn(domain), 0);
	home->shares_cpu = true;
	home->idle = TRIP_IDLE_SPIN;
	assert_int_equal(yields_of_a_turn(domain), 0);
	home->refresh_left = 0;
	assert_int_equal(yields_of_a_turn(domain), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_home_that_shares_its_cpu_yields_after_each_iteration),
		cmocka_unit_test(a_home_that_has_a_cpu_or_spins_keeps_it),
	};

	if (trip_eal_init("net_null0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
