/* SPDX-License-Identifier: BSD-3-Clause */
/* What flows do besides counting: groups, marks, and actions that are refused by name. */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

static struct trip_port *port;

static const struct rte_flow_item any[] = {
	{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};

static void
open_port(enum trip_port_mode mode)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = mode};

	if (trip_port_open(harness_domain, traffic_start(1), &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
}

static void
close_port(void)
{
	assert_int_equal(trip_port_close(port), 0);
	traffic_stop();
}

static struct trip_flow *
create(uint32_t group, uint32_t priority, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions)
{
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .group = group, .priority = priority};
	struct rte_flow_error error;
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, pattern, actions, &flow, &error) != 0)
		fail_msg("%s", error.message);
	return flow;
}

static uint64_t
packets_of(struct trip_flow *flow)
{
	struct trip_flow_count count;

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.packets;
}

static void
destroy(struct trip_flow **flows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
}

static void
flow_groups_go_in_order(void **state)
{
	const struct rte_flow_action also[] = {
		{.type = RTE_FLOW_ACTION_TYPE_PASSTHRU}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_flow *flows[5];

	open_port(TRIP_PORT_BURST);
	/* The best priority of a later group comes after the worst of an earlier one. */
	flows[0] = create(UINT32_MAX, 0, any, NULL);
	flows[1] = create(7, 0, any, NULL);
	flows[2] = create(1, UINT32_MAX, traffic_pattern(1000), NULL);
	flows[3] = create(0, 0, traffic_pattern(1001), NULL);
	flows[4] = create(9, 9, any, also);
	traffic_burst(port, 0, 3, 1000, 64);
	traffic_burst(port, 0, 5, 1001, 64);
	traffic_burst(port, 0, 7, 1002, 64);
	assert_int_equal(packets_of(flows[0]), 0);
	assert_int_equal(packets_of(flows[1]), 7);
	assert_int_equal(packets_of(flows[2]), 3);
	assert_int_equal(packets_of(flows[3]), 5);
	assert_int_equal(packets_of(flows[4]), 15);
	destroy(flows, RTE_DIM(flows));
	close_port();
}

static void
expect_mark(uint16_t udp_port, bool marked, uint32_t id)
{
	const uint64_t flags = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
	struct rte_mbuf *pkts[4];

	traffic_make(pkts, RTE_DIM(pkts), udp_port, 64);
	assert_int_equal(trip_port_burst(port, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	for (size_t i = 0; i < RTE_DIM(pkts); i++) {
		assert_int_equal(pkts[i]->ol_flags & flags, marked ? flags : 0);
		if (marked)
			assert_int_equal(pkts[i]->hash.fdir.hi, id);
	}
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
}

#define MARKING(of, more)                                                                          \
	{                                                                                          \
		{.type = RTE_FLOW_ACTION_TYPE_MARK, .conf = &(of)},                                \
			{.type = RTE_FLOW_ACTION_TYPE_##more}, {.type = RTE_FLOW_ACTION_TYPE_END}, \
	}

static void
flow_marks(void **state)
{
	static const struct rte_flow_action_mark first = {.id = 0xdeadbeef}, second = {.id = 2},
						 third = {.id = 3};
	const struct rte_flow_action plain[] = MARKING(first, COUNT);
	const struct rte_flow_action also[] = MARKING(second, PASSTHRU);
	const struct rte_flow_action later[] = MARKING(third, PASSTHRU);
	struct trip_flow *flows[4];

	open_port(TRIP_PORT_BURST);
	flows[0] = create(0, 0, traffic_pattern(1000), plain);
	expect_mark(1000, true, first.id);
	expect_mark(1001, false, 0);
	flows[1] = create(0, 1, any, also);
	flows[2] = create(0, 2, any, later);
	flows[3] = create(0, 3, traffic_pattern(1002), NULL);
	expect_mark(1000, true, first.id);
	expect_mark(1001, true, third.id);
	expect_mark(1002, true, third.id);
	assert_int_equal(trip_flow_destroy(flows[2]), 0);
	expect_mark(1002, true, second.id);
	/* An index that had a mark has none in its next life. */
	flows[2] = create(0, 0, traffic_pattern(1003), NULL);
	assert_int_equal(trip_flow_destroy(flows[1]), 0);
	flows[1] = create(0, 0, traffic_pattern(1004), NULL);
	expect_mark(1003, false, 0);
	expect_mark(1004, false, 0);
	destroy(flows, RTE_DIM(flows));
	close_port();
}

static void
refuse(const struct rte_flow_action *action, int number, enum rte_flow_error_type type,
	const char *says)
{
	const struct rte_flow_action actions[] = {*action, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error = {0};
	struct trip_flow *flow;

	assert_int_equal(trip_flow_create(port, NULL, any, actions, &flow, &error), number);
	assert_int_equal(error.type, type);
	assert_ptr_equal(error.cause, actions);
	if (strstr(error.message, says) == NULL)
		fail_msg("%s", error.message);
}

static void
flow_refuses_actions_by_name(void **state)
{
	const struct rte_flow_action_queue queue = {.index = 0};

	open_port(TRIP_PORT_BURST);
	refuse(&(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
		-ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, "action QUEUE");
	refuse(&(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_RSS}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ACTION, "action RSS");
	refuse(&(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_JUMP}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ACTION, "action JUMP");
	refuse(&(struct rte_flow_action){.type = (enum rte_flow_action_type)4711}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ACTION, "action unknown");
	refuse(&(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_MARK}, -EINVAL,
		RTE_FLOW_ERROR_TYPE_ACTION_CONF, "action MARK");
	close_port();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(flow_groups_go_in_order),
	HARNESS_TEST(flow_marks),
	HARNESS_TEST(flow_refuses_actions_by_name),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
