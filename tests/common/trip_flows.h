/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows whose packets are all known: UDP to one port each, of a length of its own. What is sent and
 * what a burst leaves is told apart by flow, so drops are known to the packet.
 */
#ifndef TRIP_FLOWS_H
#define TRIP_FLOWS_H

#include <stdbool.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <soft_test.h>
#include <trip.h>

#define FLOWS 64
#define FLOWS_BURST_MAX 256
#define FLOWS_PORT 0
/* Lives of a packet: a burst takes one for each time that it drops it. */
#define FLOWS_LIVES 1000

enum flows_action { FLOWS_COUNT, FLOWS_DROP, FLOWS_ALSO };

/* Of one queue. */
struct flows_traffic {
	struct rte_mbuf *packets[FLOWS];
	uint64_t sent[FLOWS];
	uint64_t left[FLOWS];
	struct trip_random random;
};

static inline uint32_t
flows_length(const struct flows_traffic *traffic, uint32_t flow)
{
	return traffic->packets[flow]->pkt_len;
}

static inline void
flows_traffic_open(struct flows_traffic *traffic, uint64_t seed)
{
	static const uint8_t padding[FLOWS];
	struct frame frame;
	uint32_t flow;

	*traffic = (struct flows_traffic){.random = {.state = seed}};
	for (flow = 0; flow < FLOWS; flow++) {
		frame_eth(&frame);
		frame_ipv4(&frame, (struct frame_ip){.dst = 1, .proto = 17, .ttl = 64});
		frame_l4(&frame, 1000, (uint16_t)(flow + 1));
		frame_put(&frame, padding, flow);
		traffic->packets[flow] = mbuf_of(&frame);
		traffic->packets[flow]->hash.usr = flow;
	}
}

static inline void
flows_traffic_close(struct flows_traffic *traffic)
{
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		mbuf_release(traffic->packets[flow]);
}

/* A burst of random flows; half of it of the first few. */
static inline void
flows_burst(struct flows_traffic *traffic, struct trip_port *port, uint16_t queue, uint16_t n)
{
	struct rte_mbuf *pkts[FLOWS_BURST_MAX];
	uint16_t i, left;

	for (i = 0; i < n; i++) {
		uint32_t flow = (uint32_t)trip_random_below(&traffic->random, FLOWS);

		if (trip_random_below(&traffic->random, 2) == 0)
			flow %= 6;
		rte_mbuf_refcnt_set(traffic->packets[flow], FLOWS_LIVES);
		pkts[i] = traffic->packets[flow];
		traffic->sent[flow]++;
	}
	left = trip_port_burst(port, queue, pkts, n);
	for (i = 0; i < left; i++)
		traffic->left[pkts[i]->hash.usr]++;
}

/*
 * A rule for one flow. The variants match the same packets by other masks, so that rules of one
 * flow lie in several tables.
 */
static inline struct trip_flow *
flows_create(struct trip_port *port, uint32_t flow, const struct trip_flow_attr *attr,
	enum flows_action action, uint64_t variant)
{
	const struct rte_flow_item_udp udp = {
		.hdr.dst_port = rte_cpu_to_be_16((uint16_t)(flow + 1))};
	const struct rte_flow_item_udp udp_mask = {.hdr.dst_port = 0xffff};
	const struct rte_flow_item_ipv4 ip = {.hdr.time_to_live = 64, .hdr.type_of_service = 0x10};
	const struct rte_flow_item_ipv4 ip_mask = {.hdr.time_to_live = variant & 1 ? 0xff : 0,
		.hdr.type_of_service = variant & 2 ? 0xff : 0};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	static const enum rte_flow_action_type types[] = {RTE_FLOW_ACTION_TYPE_VOID,
		RTE_FLOW_ACTION_TYPE_DROP, RTE_FLOW_ACTION_TYPE_PASSTHRU};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = types[action]},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct trip_flow *handle;

	assert_int_equal(trip_flow_create(port, attr, items, actions, &handle, NULL), 0);
	return handle;
}

/* A counter of packets and one of bytes. */
static inline void
flows_cntrs_open(struct trip_domain *domain, struct trip_cntr *cntrs[2])
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .events = TRIP_CNTR_EVENTS_COMP};

	assert_int_equal(trip_cntr_open(domain, &attr, &cntrs[0], NULL), 0);
	attr.events = TRIP_CNTR_EVENTS_BYTES;
	assert_int_equal(trip_cntr_open(domain, &attr, &cntrs[1], NULL), 0);
}

/* Destroys a flow whose work has been canceled: what of it had started ends first. */
static inline void
flows_destroy(struct trip_domain *domain, struct trip_flow *flow)
{
	uint32_t tries = 0;
	int result;

	while ((result = trip_flow_destroy(flow)) == -EBUSY && ++tries < 1000000)
		trip_progress(domain);
	assert_int_equal(result, 0);
}

/* A port to give to a domain, without packets of its own. EAL has net_null0. */
static inline void
flows_device_open(uint16_t queues)
{
	static const struct rte_eth_conf conf;
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"flows", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	uint16_t queue;

	assert_non_null(pool);
	assert_int_equal(rte_eth_dev_configure(FLOWS_PORT, queues, queues, &conf), 0);
	for (queue = 0; queue < queues; queue++) {
		assert_int_equal(rte_eth_rx_queue_setup(FLOWS_PORT, queue, 64, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(FLOWS_PORT, queue, 64, 0, NULL), 0);
	}
}

/* A domain without scrub, which the test progresses, and that port in it. */
static inline void
flows_open(struct trip_domain **domain, struct trip_port **port, uint16_t queues,
	uint32_t max_cntrs, uint32_t max_flows)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = max_cntrs,
		.max_flows = max_flows,
		.max_queues = queues,
		.scrub_us = UINT32_MAX};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};

	flows_device_open(queues);
	assert_int_equal(trip_domain_open(&attr, domain, NULL), 0);
	assert_int_equal(trip_port_open(*domain, FLOWS_PORT, &port_attr, port), 0);
}

#endif
