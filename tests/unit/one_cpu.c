/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home and whoever needs it share one CPU. Turns are dealt by hand: the scheduler is the test's,
 * which stands in the place of sched_yield().
 */
#include <trip_test.h>

#include <sched.h>

#include <rte_cycles.h>
#include <rte_service.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain.h"

#define MANY 1000

static unsigned int yields;
/* Whose turn it is when the CPU is given away; NULL: nobody's. */
static struct trip_home *other;

/*
 * The scheduler never takes the CPU from a home between two iterations. So whoever looks at it
 * finds it in the middle of one, and its turn ends in the middle of the next.
 */
static void
take_turn(struct trip_home *home)
{
	atomic_fetch_add(home->epoch, 1);
	(void)trip_home_iterate(home, rte_rdtsc());
	atomic_fetch_add(home->epoch, 1);
}

int
sched_yield(void)
{
	yields++;
	if (other != NULL)
		take_turn(other);
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

/* ---- whoever waits for a home ------------------------------------------------------------------
 */

/* A domain whose home has an lcore, which is on the CPU of this thread. */
static void
open_shared(struct trip_domain **domain, uint32_t max_cntrs)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = max_cntrs,
		.max_works = 64,
		.scrub_us = UINT32_MAX};

	assert_int_equal(trip_domain_open(&attr, domain, NULL), 0);
	(*domain)->attr.progress = TRIP_PROGRESS_LCORE;
	other = (*domain)->engine.homes[0];
	atomic_fetch_add(other->epoch, 1);
	yields = 0;
}

static void
close_shared(struct trip_domain *domain)
{
	atomic_fetch_add(other->epoch, 1);
	other = NULL;
	domain->attr.progress = TRIP_PROGRESS_MANUAL;
	assert_int_equal(trip_domain_close(domain), 0);
}

static void
closing_counters_waits_for_no_turn(void **state)
{
	static struct trip_cntr *cntrs[MANY];
	struct trip_domain *domain;

	open_shared(&domain, MANY);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < MANY; i++)
			assert_int_equal(trip_cntr_open(domain, NULL, &cntrs[i], NULL), 0);
		for (unsigned int i = 0; i < MANY; i++)
			assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	}
	/* Opening found all places taken twice, and waited then for all that had been closed. */
	print_message("%u turns for %u closes\n", yields, 3 * MANY);
	assert_true(yields <= 2 * 2);
	close_shared(domain);
}

/* Its place is not another's while an iteration may write there that has begun before. */
static void
a_place_is_free_when_iterations_have_ended(void **state)
{
	struct trip_cntr *cntrs[2], *next;
	struct trip_domain *domain;

	open_shared(&domain, 2);
	assert_int_equal(trip_cntr_open(domain, NULL, &cntrs[0], NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &cntrs[1], NULL), 0);
	assert_int_equal(trip_cntr_close(cntrs[0]), 0);
	yields = 0;
	assert_int_equal(trip_cntr_open(domain, NULL, &next, NULL), 0);
	assert_int_equal(yields, 1);
	assert_int_equal(trip_cntr_close(next), 0);
	/* Nobody need wait where an iteration has ended meanwhile. */
	take_turn(other);
	yields = 0;
	assert_int_equal(trip_cntr_open(domain, NULL, &next, NULL), 0);
	assert_int_equal(yields, 0);
	assert_int_equal(trip_cntr_close(next), 0);
	assert_int_equal(trip_cntr_close(cntrs[1]), 0);
	close_shared(domain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_home_that_shares_its_cpu_yields_after_each_iteration),
		cmocka_unit_test(a_home_that_has_a_cpu_or_spins_keeps_it),
		cmocka_unit_test(closing_counters_waits_for_no_turn),
		cmocka_unit_test(a_place_is_free_when_iterations_have_ended),
	};

	if (trip_eal_init("net_null0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
