/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "flows.h"

const struct flows_engine *flows_engine;

int
flows_main(int argc, char **argv, const struct family_part *parts, int (*tests)(void))
{
	static const struct flows_engine software = {.engine = TRIP_FLOW_ENGINE_SW};

	flows_engine = &software;
	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, tests);
}
struct trip_port *flows_port;

static struct rte_mempool *pool;
static uint16_t port_id;
static bool by_hand;

void
flows_open_port(uint16_t n_queues)
{
	const struct rte_eth_conf conf = {0};
	const struct trip_port_attr attr = {
		.size = sizeof(attr), .mode = TRIP_PORT_BURST, .notify = flows_engine->notify};

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create(
			"flows", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_eth_dev_get_port_by_name(FLOWS_DEVICE, &port_id), 0);
	assert_int_equal(rte_eth_dev_configure(port_id, n_queues, 1, &conf), 0);
	for (uint16_t q = 0; q < n_queues; q++)
		assert_int_equal(
			rte_eth_rx_queue_setup(port_id, q, 64, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port_id, 0, 64, SOCKET_ID_ANY, NULL), 0);
	if (flows_engine->prepare != NULL)
		flows_engine->prepare(port_id);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_open(family_domain, port_id, &attr, &flows_port), 0);
}

void
flows_open(enum trip_progress progress)
{
	const struct trip_domain_attr attr = {.max_process_flows = FLOWS_EACH};

	by_hand = progress == TRIP_PROGRESS_MANUAL;
	if (flows_engine->open != NULL)
		flows_engine->open();
	family_open(progress, &attr);
	flows_open_port(1);
}

void
flows_close_port(void)
{
	if (trip_port_close(flows_port) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
}

void
flows_close(void)
{
	flows_close_port();
	if (by_hand) {
		while (trip_progress(family_domain) > 0)
			;
		assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	}
	family_close();
	if (flows_engine->close != NULL)
		flows_engine->close();
}

uint16_t
flows_port_id(void)
{
	return port_id;
}

void
flows_write(struct rte_mbuf *pkt, uint16_t udp_port)
{
	char *data = rte_pktmbuf_append(pkt, FLOWS_PACKET);
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)data;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	memset(data, 0, FLOWS_PACKET);
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->total_length = rte_cpu_to_be_16(FLOWS_PACKET - sizeof(*eth));
	ip->next_proto_id = IPPROTO_UDP;
	udp->dst_port = rte_cpu_to_be_16(udp_port);
}

uint16_t
flows_receive_burst(uint16_t udp_port, uint16_t n)
{
	struct rte_mbuf *pkts[64];
	uint16_t left;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		flows_write(pkts[i], udp_port);
	left = trip_port_burst(flows_port, 0, pkts, n);
	rte_pktmbuf_free_bulk(pkts, left);
	return left;
}

uint16_t
flows_burst(struct trip_port *found, uint16_t queue, uint16_t udp_port, uint16_t n)
{
	static _Thread_local struct {
		struct rte_mbuf mbuf;
		char data[FLOWS_PACKET];
	} packets[FLOWS_BURST];
	struct rte_mbuf *pkts[FLOWS_BURST];

	assert_true(n <= FLOWS_BURST);
	for (uint16_t i = 0; i < n; i++) {
		pkts[i] = &packets[i].mbuf;
		*pkts[i] = (struct rte_mbuf){.buf_addr = packets[i].data,
			.buf_len = sizeof(packets[i].data),
			.nb_segs = 1};
		/* A reference too many: whoever frees it gives it to no pool. */
		rte_mbuf_refcnt_set(pkts[i], 2);
		flows_write(pkts[i], udp_port);
	}
	return trip_port_burst(found, queue, pkts, n);
}

const struct rte_flow_item_udp flows_udp_mask = {.hdr.dst_port = RTE_BE16(0xffff)};

void
flows_make_pattern(struct flows_pattern *pattern, uint16_t udp_port)
{
	*pattern = (struct flows_pattern){
		.spec.hdr.dst_port = rte_cpu_to_be_16(udp_port),
		.items = {{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_IPV4},
			{.type = RTE_FLOW_ITEM_TYPE_UDP, .mask = &flows_udp_mask},
			{.type = RTE_FLOW_ITEM_TYPE_END}},
	};
	pattern->items[2].spec = &pattern->spec;
}

struct trip_flow *
flows_create(struct trip_port *found, const struct trip_flow_attr *attr, uint16_t udp_port)
{
	struct rte_flow_error error;
	struct trip_flow *flow;
	struct flows_pattern pattern;

	flows_make_pattern(&pattern, udp_port);
	if (trip_flow_create(found, attr, pattern.items, NULL, &flow, &error) != 0)
		fail_msg("%s", error.message);
	return flow;
}

struct trip_port *
flows_find(void)
{
	struct trip_port *found;

	if (trip_port_find(family_domain, 0, &found) != 0)
		fail_msg("%s", trip_error_message());
	return found;
}

struct trip_cntr *
flows_bytes_cntr(const char *name)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr),
		.name = name,
		.wait_obj = TRIP_WAIT_UNSPEC,
		.events = TRIP_CNTR_EVENTS_BYTES};
	struct trip_cntr *cntr;

	assert_int_equal(trip_cntr_open(family_domain, &attr, &cntr, NULL), 0);
	return cntr;
}

void
flows_operate(struct trip_cntr *trigger, uint64_t threshold, enum trip_op op,
	struct trip_flow *flow, struct trip_cntr *completion)
{
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = threshold,
		.op_type = op,
		.op.flow = flow,
		.completion_cntr = completion};

	if (trip_work_queue(family_domain, &work, NULL) != 0)
		fail_msg("%s", trip_error_message());
}
