/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home and whoever needs it share one CPU. Turns are dealt by hand: the scheduler is the test's,
 * which stands in the place of sched_yield() and nanosleep().
 */
#include <trip_test.h>

#include <sched.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_service.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain/domain.h"
#include "flow/flow.h"

#define MANY 1000

static unsigned int yields, naps;
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

/* Likewise: a burst, which ends then. */
static struct trip_era_reader *burst;

static void
end_burst(void)
{
	if (burst != NULL)
		trip_era_leave(burst);
	burst = NULL;
}

/* What whoever gives the CPU away must not hold; NULL: nothing. */
static pthread_mutex_t *unlocked;

int
sched_yield(void)
{
	yields++;
	if (unlocked != NULL) {
		assert_int_equal(pthread_mutex_trylock(unlocked), 0);
		pthread_mutex_unlock(unlocked);
	}
	if (other != NULL)
		take_turn(other);
	end_burst();
	return 0;
}

int
nanosleep(const struct timespec *time, struct timespec *left)
{
	naps++;
	end_burst();
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
	struct trip_domain_stats stats = {.size = sizeof(stats)};

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
	home->n_canceling = 1;
	assert_int_equal(yields_of_a_turn(domain), 1);
	assert_true(busy_iterations(domain) == busy + 1);
	home->n_canceling = 0;
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
	home->n_canceling = 1;
	assert_int_equal(yields_of_a_turn(domain), 0);
	home->shares_cpu = true;
	home->idle = TRIP_IDLE_SPIN;
	assert_int_equal(yields_of_a_turn(domain), 0);
	home->n_canceling = 0;
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
		.max_flows = max_cntrs / 2,
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

/* ---- flows ------------------------------------------------------------------------------------
 */

struct counted {
	struct trip_flow *flow;
	struct trip_cntr *cntrs[2];
};

static struct trip_port *
open_null(struct trip_domain *domain)
{
	static const struct rte_eth_conf conf;
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	struct trip_port *port;

	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(trip_port_open(domain, 0, &attr, &port), 0);
	return port;
}

static void
create_flow(struct trip_port *port, uint32_t i, struct counted *counted)
{
	const struct rte_flow_item_ipv4 spec = {.hdr.dst_addr = rte_cpu_to_be_32(i)};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &spec, .mask = &rte_flow_item_ipv4_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = counted->cntrs,
		.n_cntrs = 2,
		.engine = TRIP_FLOW_ENGINE_SW};

	assert_int_equal(trip_flow_create(port, &attr, items, NULL, &counted->flow, NULL), 0);
}

static void
create_counted(
	struct trip_domain *domain, struct trip_port *port, uint32_t i, struct counted *counted)
{
	struct trip_cntr_attr cntr = {.size = sizeof(cntr), .events = TRIP_CNTR_EVENTS_COMP};

	assert_int_equal(trip_cntr_open(domain, &cntr, &counted->cntrs[0], NULL), 0);
	cntr.events = TRIP_CNTR_EVENTS_BYTES;
	assert_int_equal(trip_cntr_open(domain, &cntr, &counted->cntrs[1], NULL), 0);
	create_flow(port, i, counted);
}

static void
close_counted(struct counted *counted)
{
	assert_int_equal(trip_cntr_close(counted->cntrs[0]), 0);
	assert_int_equal(trip_cntr_close(counted->cntrs[1]), 0);
}

/* As a burst would have. */
static void
put_counts(const struct trip_domain *domain, const struct trip_flow *flow, uint64_t packets)
{
	struct trip_count *count =
		trip_engine_count(&domain->engine, trip_flow_side(flow)->first_queue, flow->index);

	atomic_store(&count->packets, packets);
	atomic_store(&count->bytes, 100 * packets);
}

static void
flows_come_and_go_in_few_turns(void **state)
{
	static struct counted all[MANY];
	struct trip_domain *domain;
	struct trip_port *port;

	open_shared(&domain, 2 * MANY);
	port = open_null(domain);
	for (unsigned int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MANY; i++)
			create_counted(domain, port, i, &all[i]);
		for (uint32_t i = 0; i < MANY; i++) {
			assert_int_equal(trip_flow_destroy(all[i].flow), 0);
			close_counted(&all[i]);
		}
	}
	print_message("%u turns for %u flows\n", yields, 3 * MANY);
	/* In each it does a budget's worth of what it was asked to. */
	assert_true(yields <= 3 * MANY / 32);
	assert_int_equal(trip_port_close(port), 0);
	close_shared(domain);
}

/* Who waits for a place keeps nobody else from flows and ports. */
static void
a_flow_is_waited_for_without_the_lock(void **state)
{
	struct trip_domain *domain;
	struct counted counted[2];
	struct trip_port *port;

	open_shared(&domain, 4);
	port = open_null(domain);
	create_counted(domain, port, 0, &counted[0]);
	create_counted(domain, port, 1, &counted[1]);
	assert_int_equal(trip_flow_destroy(counted[0].flow), 0);
	unlocked = &domain->control;
	yields = 0;
	create_flow(port, 2, &counted[0]);
	assert_true(yields > 0);
	unlocked = NULL;
	assert_int_equal(trip_flow_destroy(counted[0].flow), 0);
	assert_int_equal(trip_flow_destroy(counted[1].flow), 0);
	close_counted(&counted[0]);
	close_counted(&counted[1]);
	assert_int_equal(trip_port_close(port), 0);
	close_shared(domain);
}

/* Though the home has not even heard of them (PNT-07). */
static void
last_counts_are_in_without_a_turn(void **state)
{
	struct trip_domain *domain;
	struct counted counted[2];
	struct trip_port *port;

	open_shared(&domain, 4);
	port = open_null(domain);
	create_counted(domain, port, 0, &counted[0]);
	create_counted(domain, port, 1, &counted[1]);
	take_turn(other);
	put_counts(domain, counted[0].flow, 7);
	put_counts(domain, counted[1].flow, 9);
	yields = 0;
	assert_int_equal(trip_flow_destroy(counted[0].flow), 0);
	assert_int_equal(trip_cntr_read(counted[0].cntrs[0]), 7);
	assert_int_equal(trip_cntr_read(counted[0].cntrs[1]), 700);
	assert_int_equal(yields, 0);
	/* Nor twice, when it has. */
	for (unsigned int i = 0; i < 4; i++)
		take_turn(other);
	assert_int_equal(trip_cntr_read(counted[0].cntrs[0]), 7);
	assert_int_equal(trip_flow_destroy(counted[1].flow), 0);
	assert_int_equal(trip_cntr_read(counted[1].cntrs[0]), 9);
	assert_int_equal(trip_cntr_read(counted[1].cntrs[1]), 900);
	close_counted(&counted[0]);
	close_counted(&counted[1]);
	assert_int_equal(trip_port_close(port), 0);
	close_shared(domain);
}

/* A thread that polls does not yield between its bursts: who yields to it has lost a slice. */
static void
bursts_are_slept_for(void **state)
{
	struct trip_domain *domain;
	struct trip_port_side *side;
	struct counted counted;
	struct trip_port *port;

	open_shared(&domain, 4);
	port = open_null(domain);
	side = &port->sides[TRIP_FLOW_INGRESS];
	create_counted(domain, port, 0, &counted);
	burst = &side->queues[0].soft.reader;
	trip_era_enter(&side->table->era, burst);
	yields = naps = 0;
	assert_int_equal(trip_flow_destroy(counted.flow), 0);
	assert_null(burst);
	assert_int_equal(yields, 0);
	assert_int_equal(naps, 1);
	burst = &side->queues[0].soft.reader;
	trip_era_enter(&side->table->era, burst);
	assert_int_equal(trip_port_close(port), 0);
	assert_null(burst);
	assert_int_equal(yields, 0);
	close_counted(&counted);
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
		cmocka_unit_test(flows_come_and_go_in_few_turns),
		cmocka_unit_test(a_flow_is_waited_for_without_the_lock),
		cmocka_unit_test(last_counts_are_in_without_a_turn),
		cmocka_unit_test(bursts_are_slept_for),
	};

	if (trip_eal_init("net_null0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
