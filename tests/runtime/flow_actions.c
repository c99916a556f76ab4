/* SPDX-License-Identifier: BSD-3-Clause */
/* What flows do besides counting what is received: groups, marks, egress, and what is refused. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "harness.h"
#include "traffic.h"

static struct trip_port *port;

static const struct rte_flow_item any[] = {
	{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};

static void
open_port(enum trip_port_mode mode)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = mode, .n_tx_queues = 1};

	port = traffic_open(1, &attr);
}

static void
close_port(void)
{
	traffic_close(port);
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
	struct trip_flow_count count = {.size = sizeof(count)};

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

static struct trip_flow *
create_egress(const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct trip_cntr **cntrs, unsigned int n_cntrs)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.direction = TRIP_FLOW_EGRESS,
		.cntrs = cntrs,
		.n_cntrs = n_cntrs};
	struct rte_flow_error error;
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, pattern, actions, &flow, &error) != 0)
		fail_msg("%s", error.message);
	return flow;
}

static const struct rte_flow_action drop[] = {
	{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};

/* What Tx is asked to put in is of the packet; what Rx stripped is not sent. */
static void
send_tagged(uint64_t flags)
{
	struct rte_mbuf *pkt;

	traffic_make(&pkt, 1, 1001, 64);
	pkt->vlan_tci = 5;
	pkt->ol_flags = flags;
	assert_int_equal(trip_port_burst_tx(port, 0, &pkt, 1), 1);
	rte_pktmbuf_free(pkt);
}

static void
flow_egress_by_call(void **state)
{
	const struct rte_flow_item tagged[] = {
		{.type = RTE_FLOW_ITEM_TYPE_VLAN}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_flow *flows[4];
	struct rte_mbuf *pkts[20];
	struct trip_flow_count count = {.size = sizeof(count)};

	open_port(TRIP_PORT_BURST);
	flows[0] = create_egress(traffic_pattern(1000), drop, &cntr, 1);
	flows[1] = create_egress(tagged, NULL, NULL, 0);
	flows[2] = create_egress(any, NULL, NULL, 0);
	flows[3] = create(0, 0, any, NULL);
	for (uint16_t i = 0; i < RTE_DIM(pkts); i++)
		traffic_make(&pkts[i], 1, 1000 + i % 2, 64);
	assert_int_equal(trip_port_burst_tx(port, 0, pkts, RTE_DIM(pkts)), 10);
	rte_pktmbuf_free_bulk(pkts, 10);
	assert_int_equal(packets_of(flows[0]), 10);
	assert_int_equal(packets_of(flows[2]), 10);
	send_tagged(RTE_MBUF_F_TX_VLAN);
	send_tagged(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	assert_int_equal(packets_of(flows[2]), 11);
	assert_int_equal(trip_flow_query(flows[1], &count), 0);
	assert_int_equal(count.packets, 1);
	assert_int_equal(count.bytes, 68);
	/* Each direction has rules of its own. */
	assert_int_equal(traffic_burst(port, 0, 3, 1000, 64), 3);
	assert_int_equal(packets_of(flows[3]), 3);
	assert_int_equal(packets_of(flows[0]), 10);
	destroy(flows, RTE_DIM(flows));
	harness_expect(cntr, 10, 0);
	close_port();
	harness_cntr_close(cntr);
}

static void
flow_egress_in_callbacks(void **state)
{
	struct trip_flow *flows[2];
	struct rte_mbuf *pkts[40];
	uint16_t id, sent, i;

	open_port(TRIP_PORT_CALLBACK);
	assert_int_equal(rte_eth_dev_get_port_by_name(TRAFFIC_VDEV, &id), 0);
	flows[0] = create_egress(traffic_pattern(1000), drop, NULL, 0);
	flows[1] = create(0, 0, any, NULL);
	for (i = 0; i < RTE_DIM(pkts); i++)
		traffic_make(&pkts[i], 1, i % 4 == 0 ? 1001 : 1000, (uint16_t)(64 + i));
	sent = rte_eth_tx_burst(id, 0, pkts, RTE_DIM(pkts));
	assert_int_equal(sent, RTE_DIM(pkts) / 4);
	/* The rest is the caller's still, each packet once: traffic_stop() counts the pool. */
	for (i = sent; i < RTE_DIM(pkts); i++) {
		assert_int_equal(rte_mbuf_refcnt_read(pkts[i]), 1);
		assert_int_not_equal((pkts[i]->pkt_len - 64) % 4, 0);
	}
	rte_pktmbuf_free_bulk(pkts + sent, RTE_DIM(pkts) - sent);
	/* What went out came in, in order. */
	assert_int_equal(rte_eth_rx_burst(id, 0, pkts, RTE_DIM(pkts)), sent);
	for (i = 0; i < sent; i++)
		assert_int_equal(pkts[i]->pkt_len, 64 + 4 * i);
	rte_pktmbuf_free_bulk(pkts, sent);
	assert_int_equal(packets_of(flows[0]), RTE_DIM(pkts) - sent);
	assert_int_equal(packets_of(flows[1]), sent);
	destroy(flows, RTE_DIM(flows));
	close_port();
	/* No callback is left. */
	traffic_start(1);
	assert_int_equal(traffic_loop(0, 8, 1000, 64), 8);
	traffic_stop();
}

static void
flow_egress_is_asked_for(void **state)
{
	const struct rte_flow_action_mark mark = {.id = 1};
	const struct rte_flow_action marking[] = MARKING(mark, COUNT);
	struct trip_flow_attr attr = {.size = sizeof(attr), .direction = TRIP_FLOW_EGRESS};
	struct trip_port_attr port_attr = {.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	struct rte_flow_error error;
	struct trip_flow *flow;
	uint16_t id;

	open_port(TRIP_PORT_BURST);
	assert_int_equal(trip_flow_create(port, &attr, any, marking, &flow, &error), -EINVAL);
	assert_int_equal(error.type, RTE_FLOW_ERROR_TYPE_ACTION);
	attr.direction = (enum trip_flow_direction)2;
	assert_int_equal(trip_flow_create(port, &attr, any, NULL, &flow, &error), -EINVAL);
	assert_int_equal(error.type, RTE_FLOW_ERROR_TYPE_ATTR);
	close_port();
	/* By default nothing that is sent is counted. */
	id = traffic_start(1);
	port_attr.n_tx_queues = 2;
	assert_int_equal(trip_port_open(harness_domain, id, &port_attr, &port), -EINVAL);
	port_attr.n_tx_queues = 0;
	assert_int_equal(trip_port_open(harness_domain, id, &port_attr, &port), 0);
	attr.direction = TRIP_FLOW_EGRESS;
	assert_int_equal(trip_flow_create(port, &attr, any, NULL, &flow, &error), -ENOTSUP);
	assert_int_equal(error.type, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS);
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
	HARNESS_TEST(flow_egress_by_call),
	HARNESS_TEST(flow_egress_in_callbacks),
	HARNESS_TEST(flow_egress_is_asked_for),
	HARNESS_TEST(flow_refuses_actions_by_name),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
