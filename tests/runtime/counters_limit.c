/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters objects at their limit, which no traffic of a test reaches (counts are put where a queue
 * has them), and what objects cost. */
#include <sys/mman.h>
#include <unistd.h>

#include <trip_test.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain/domain.h"
#include "flow/flow.h"

#define QUEUES 2
#define LIMIT TRIP_CNTR_MAX

static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_counters *counters;

static void
open_port(uint32_t max_flows)
{
	static const struct rte_eth_conf conf;
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 1,
		.max_flows = max_flows,
		.max_queues = QUEUES};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};

	assert_int_equal(rte_eth_dev_configure(0, QUEUES, QUEUES, &conf), 0);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_port_open(domain, 0, &port_attr, &port), 0);
	assert_int_equal(trip_counters_create(domain, NULL, &counters), 0);
}

static void
close_port(void)
{
	assert_int_equal(trip_counters_destroy(counters), 0);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

static struct trip_flow *
create(void)
{
	const struct rte_flow_item any[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct trip_flow_attr attr = {.size = sizeof(attr), .counters = counters};
	struct trip_flow *flow;

	assert_int_equal(trip_flow_create(port, &attr, any, NULL, &flow, NULL), 0);
	return flow;
}

static void
put_packets(const struct trip_flow *flow, uint32_t queue, uint64_t packets)
{
	struct trip_count *count = trip_engine_count(
		&domain->engine, trip_flow_side(flow)->first_queue + queue, flow->index);

	atomic_store(&count->packets, packets);
}

static void
attach(uint32_t index, enum trip_counter_description desc, struct trip_flow *flow)
{
	const struct trip_counter_attach_attr attr = {
		.size = sizeof(attr), .index = index, .counter_desc = desc};

	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), 0);
}

static void
expect(uint64_t first, uint64_t second)
{
	uint64_t values[2];

	assert_int_equal(trip_counters_read(counters, values, 2, 0), 0);
	assert_true(values[0] == first);
	assert_true(values[1] == second);
}

static void
slots_stay_at_the_limit(void **state)
{
	struct trip_flow *flow, *other;

	open_port(4);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	for (uint32_t i = 0; i < TRIP_COUNTERS_POINTS_MAX; i++)
		attach(1, TRIP_COUNTER_PACKETS, NULL);
	flow = create();
	other = create();
	put_packets(flow, 0, UINT64_C(1) << 47);
	expect(UINT64_C(1) << 47, TRIP_COUNTERS_POINTS_MAX * (UINT64_C(1) << 47));
	/* Its product with the weight alone is beyond 64 bits. */
	put_packets(flow, 1, UINT64_C(1) << 62);
	expect((UINT64_C(1) << 62) + (UINT64_C(1) << 47), LIMIT);
	put_packets(flow, 0, (UINT64_C(1) << 62) - 2);
	expect(LIMIT - 1, LIMIT);
	put_packets(other, 0, 1);
	expect(LIMIT, LIMIT);
	put_packets(other, 1, LIMIT);
	expect(LIMIT, LIMIT);
	/* What is folded is no more than that. */
	assert_int_equal(trip_flow_destroy(other), 0);
	expect(LIMIT, LIMIT);
	attach(1, TRIP_COUNTER_BYTES, flow);
	assert_int_equal(trip_flow_destroy(flow), 0);
	expect(LIMIT, LIMIT);
	close_port();
}

static void
points_that_come_late_are_exact_near_the_limit(void **state)
{
	struct trip_flow *flow;

	open_port(4);
	flow = create();
	put_packets(flow, 0, LIMIT - 10);
	attach(0, TRIP_COUNTER_PACKETS, flow);
	put_packets(flow, 0, LIMIT - 5);
	expect(5, 0);
	attach(0, TRIP_COUNTER_PACKETS, flow);
	put_packets(flow, 0, LIMIT);
	expect(15, 0);
	assert_int_equal(trip_flow_destroy(flow), 0);
	expect(15, 0);
	close_port();
}

static size_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.heap_allocsz_bytes;
}

#define OBJECTS 100

/* Which others share, and run out of. */
static void
objects_take_nothing_of_eals_heap(void **state)
{
	const struct trip_counters_init_attr attr = {
		.size = sizeof(attr), .n_slots = TRIP_COUNTERS_SLOTS_MAX};
	struct trip_counters *first, *many[OBJECTS];
	uint64_t values[2];
	struct trip_flow *flow;
	size_t before;

	open_port(4);
	first = counters;
	before = heap_bytes();
	flow = create();
	for (unsigned int i = 0; i < OBJECTS; i++) {
		assert_int_equal(trip_counters_create(domain, &attr, &many[i]), 0);
		counters = many[i];
		attach(0, TRIP_COUNTER_PACKETS, flow);
		attach(1, TRIP_COUNTER_BYTES, flow);
		assert_int_equal(trip_counters_read(counters, values, 2, 0), 0);
	}
	assert_int_equal(heap_bytes(), before);
	assert_int_equal(trip_flow_destroy(flow), 0);
	for (unsigned int i = 0; i < OBJECTS; i++)
		assert_int_equal(trip_counters_destroy(many[i]), 0);
	assert_int_equal(heap_bytes(), before);
	counters = first;
	close_port();
}

#define RULES 256
/* So many that what they have is pages of its own. */
#define FLOWS 65536

/* Nobody has looked at what operations may have changed of a flow that is only counted. */
static void
a_rule_takes_no_page_of_what_only_some_have(void **state)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr)};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = FLOWS * sizeof(struct trip_flow_slot) / page, taken = 0;
	unsigned char *resident = malloc(pages);
	struct rte_flow_item_ipv4 address = {0};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &address},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_flow *flows[RULES];

	open_port(FLOWS);
	for (uint32_t i = 0; i < RULES; i++) {
		address.hdr.dst_addr = rte_cpu_to_be_32(i + 1);
		assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flows[i], NULL), 0);
	}
	assert_int_equal(mincore(domain->engine.flows, pages * page, resident), 0);
	for (size_t i = 0; i < pages; i++)
		taken += resident[i] & 1;
	assert_int_equal(taken, 0);
	for (uint32_t i = 0; i < RULES; i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
	close_port();
	free(resident);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_stay_at_the_limit),
		cmocka_unit_test(objects_take_nothing_of_eals_heap),
		cmocka_unit_test(points_that_come_late_are_exact_near_the_limit),
		cmocka_unit_test(a_rule_takes_no_page_of_what_only_some_have),
	};

	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
