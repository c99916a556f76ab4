/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trips of an `each` that a process which polls a queue has left, whatever it wrote: readers take
 * them as indices of what they have.
 */
#include <rte_ethdev.h>

#include <trip.h>

#include <trip_eal.h>
#include <trip_test.h>

#include "domain/domain.h"
#include "flow/each.h"

#define KEPT 8

static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_each *each;

static void
open_each(void)
{
	static const struct rte_eth_conf conf;
	static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
	static const struct trip_each_when when = {.count = 1};
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 1,
		.max_queues = 1,
		.each_bytes = 1 << 20};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_each_attr each_attr = {.size = sizeof(each_attr),
		.name = "victims",
		.ports = &port,
		.n_ports = 1,
		.parts = by_port,
		.n_parts = 1,
		.max = 8,
		.idle_us = 1000000,
		.trips_kept = KEPT,
		.whens = &when,
		.n_whens = 1};

	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_port_open(domain, 0, &port_attr, &port), 0);
	if (trip_each_open(domain, &each_attr, &each) != 0)
		fail_msg("%s", trip_error_message());
}

/* As the writer of the queue does, of another key each time. */
static void
tell(uint32_t when)
{
	const struct trip_each_ring_at at =
		trip_each_statement_ring(domain->engine.eaches, &each->statement);
	const uint64_t number = trip_each_ring_trips(&at);
	struct trip_each_told told = {.packets = 1, .when = when, .key = {number + 1}}, found;

	trip_each_ring_write(&at, &told);
	assert_int_equal(trip_each_ring_tell(&at, &told, number, &found), TRIP_EACH_TELLS);
}

static void
conditions_that_there_are_none_of_are_left_out(void **state)
{
	static const uint32_t whens[] = {
		0, 1, 3, 3 | TRIP_EACH_TOLD_END, INT32_MAX, 0 | TRIP_EACH_TOLD_END};
	struct trip_each_trip trips[KEPT];

	open_each();
	for (size_t i = 0; i < RTE_DIM(whens); i++)
		tell(whens[i]);
	assert_int_equal(trip_each_trips(each, 0, trips, sizeof(trips[0]), KEPT), 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(trips[i].when, 0);
		assert_int_equal(trips[i].number, i == 0 ? 0 : RTE_DIM(whens) - 1);
		assert_int_equal(trips[i].flags, i == 0 ? 0 : TRIP_EACH_TRIP_END);
	}
	assert_int_equal(trip_each_close(each), 0);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_that_there_are_none_of_are_left_out),
	};

	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
