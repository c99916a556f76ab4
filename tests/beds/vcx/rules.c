/* SPDX-License-Identifier: BSD-3-Clause */
/* One, a hundred and four thousand counted rules: each counts its own packets exactly, and what a
 * query costs and how late it is are printed. */
#include <inttypes.h>
#include <string.h>
#include <rte_cycles.h>
#include <rte_ip.h>
#include "trip_test.h"
#include "vcx_test.h"

enum {
	QUEUES = 2,
	LENGTH = 64,
	MOST = 100000,
	SOURCE_AT = 26, /* of the IPv4 source address in a packet */
};

static struct rte_flow *flows[MOST];
static enum vcx_engine engine;

/* Rule i takes 1 + i modulo 7 packets, every fourth of them drops. */
static uint64_t
packets_of(unsigned i)
{
	return 1 + i % 7;
}

static double
us_since(uint64_t start)
{
	return (double)(rte_get_tsc_cycles() - start) * 1e6 / (double)rte_get_tsc_hz();
}

static rte_be32_t
source_of(unsigned i)
{
	return rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 0) + i);
}

static struct rte_flow *
create_one(unsigned i, struct rte_flow_error *error)
{
	struct rte_flow_item_ipv4 spec = {.hdr.src_addr = source_of(i)};
	struct rte_flow_item_ipv4 mask = {.hdr.src_addr = UINT32_MAX};
	struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_action_queue queue = {.index = (uint16_t)(i % QUEUES)};
	struct rte_flow_action_count count = {.id = 0};
	struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &count},
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
		{.type = RTE_FLOW_ACTION_TYPE_END}};

	if (i % 4 == 3)
		actions[1] = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_DROP};
	return rte_flow_create(0, &(struct rte_flow_attr){.ingress = 1}, pattern, actions, error);
}

static void
packet_for(unsigned i, uint8_t *packet)
{
	rte_be32_t source = source_of(i);

	vcx_test_packet(packet, LENGTH, 9, 53, i);
	memcpy(packet + SOURCE_AT, &source, sizeof(source));
}

static void
create(unsigned rules)
{
	struct rte_flow_error error;
	uint64_t start = rte_get_tsc_cycles();

	for (unsigned i = 0; i < rules; i++) {
		flows[i] = create_one(i, &error);
		assert_non_null(flows[i]);
	}
	printf("%u rules: %.1f us for each creation", rules, us_since(start) / rules);
}

static void
inject(unsigned rules)
{
	uint64_t received[QUEUES] = {0}, expected[QUEUES] = {0}, bytes = 0;
	uint8_t packet[LENGTH];
	struct vcx_injected to;

	for (unsigned i = 0; i < rules; i++) {
		packet_for(i, packet);
		assert_int_equal(vcx_inject(0, packet, LENGTH, packets_of(i), false, &to), 0);
		assert_int_equal(i % 4 == 3 ? to.dropped : to.delivered, packets_of(i));
		expected[i % QUEUES] += to.delivered;
		for (uint16_t queue = 0; queue < QUEUES; queue++)
			received[queue] += vcx_test_receive(0, queue, &bytes);
	}
	for (uint16_t queue = 0; queue < QUEUES; queue++)
		assert_int_equal(received[queue], expected[queue]);
	assert_int_equal(bytes, (expected[0] + expected[1]) * LENGTH);
}

static void
query(unsigned rules)
{
	uint64_t start, packets, bytes;

	for (unsigned i = 0; i < rules; i++)
		assert_true(vcx_test_told(0, flows[i], packets_of(i), packets_of(i) * LENGTH));
	start = rte_get_tsc_cycles();
	for (unsigned i = 0; i < rules; i++)
		assert_int_equal(vcx_test_query(0, flows[i], &packets, &bytes), 0);
	printf(", %.2f us for each query", us_since(start) / rules);
}

static void
destroy(unsigned rules)
{
	struct rte_flow_error error;
	uint64_t start = rte_get_tsc_cycles();

	for (unsigned i = 0; i < rules; i++)
		assert_int_equal(rte_flow_destroy(0, flows[i], &error), 0);
	printf(", %.1f us for each destruction\n", us_since(start) / rules);
}

static void
rules_count_exactly(void **state)
{
	unsigned rules = *(const unsigned *)*state;
	struct vcx_stats stats;

	create(rules);
	assert_int_equal(vcx_stats(0, &stats), 0);
	assert_int_equal(stats.rules, rules);
	inject(rules);
	query(rules);
	destroy(rules);
	assert_int_equal(vcx_stats(0, &stats), 0);
	assert_int_equal(stats.rules, 0);
}

/* A query asks the device once in verbs and in fallback, and what it tells is of that moment; in
 * bulk it asks nothing, and tells what the last bulk brought. */
static void
query_is_as_late_as_its_engine(void **state)
{
	struct rte_flow_error error;
	struct rte_flow *flow = vcx_test_rule(0, 53, VCX_FATE_DROP, 0, &error);
	uint64_t packets = 0, bytes, start;
	struct vcx_stats before, after;
	uint8_t packet[LENGTH];
	double late;

	assert_non_null(flow);
	packet_for(0, packet);
	/* What a bulk that is under way will tell waits until the query is over. */
	if (engine == VCX_BULK)
		assert_int_equal(vcx_hold(0, true), 0);
	assert_int_equal(vcx_stats(0, &before), 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 5, false, NULL), 0);
	start = rte_get_tsc_cycles();
	assert_int_equal(vcx_test_query(0, flow, &packets, &bytes), 0);
	assert_int_equal(vcx_stats(0, &after), 0);
	if (engine != VCX_BULK) {
		assert_int_equal(packets, 5);
		assert_int_equal(
			after.commands[VCX_COUNTER_QUERY] - before.commands[VCX_COUNTER_QUERY], 1);
	} else {
		assert_int_equal(
			after.commands[VCX_COUNTER_QUERY] - before.commands[VCX_COUNTER_QUERY], 0);
		assert_int_equal(packets, 0);
		assert_int_equal(vcx_hold(0, false), 0);
		assert_true(vcx_test_told(0, flow, 5, 5 * LENGTH));
	}
	late = us_since(start);
	printf("a count is told %.1f us after it happened\n", late);
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

int
main(int argc, char **argv)
{
	static unsigned counts[] = {1, 100, 4000, MOST};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(rules_count_exactly, &counts[0]),
		cmocka_unit_test_prestate(rules_count_exactly, &counts[1]),
		cmocka_unit_test_prestate(rules_count_exactly, &counts[2]),
		cmocka_unit_test_prestate(rules_count_exactly, &counts[3]),
		cmocka_unit_test(query_is_as_late_as_its_engine),
	};
	int result;

	engine = vcx_test_engine(argc > 1 ? argv[1] : NULL);
	result = vcx_test_init(engine, 1);
	if (result != 0)
		return result;
	vcx_test_start(0, QUEUES, true);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	vcx_test_fini();
	return result;
}
