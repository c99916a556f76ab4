/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "harness.h"
#include "traffic.h"

#define PACKETS "traffic"
#define MBUFS 4095
#define RING_BURST 512

static struct rte_mempool *pool;
static uint16_t port_id;

uint16_t
traffic_start(uint16_t n_queues)
{
	const struct rte_eth_conf conf = {0};

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create(
			PACKETS, MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_eth_dev_get_port_by_name(TRAFFIC_VDEV, &port_id), 0);
	assert_int_equal(rte_eth_dev_configure(port_id, n_queues, n_queues, &conf), 0);
	for (uint16_t q = 0; q < n_queues; q++) {
		assert_int_equal(
			rte_eth_rx_queue_setup(port_id, q, 512, SOCKET_ID_ANY, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port_id, q, 512, SOCKET_ID_ANY, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	return port_id;
}

void
traffic_stop(void)
{
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static void
write_headers(struct rte_mbuf *pkt, uint16_t udp_port, uint16_t bytes)
{
	char *data = rte_pktmbuf_append(pkt, bytes);
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)data;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	assert_non_null(data);
	memset(data, 0, bytes);
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(bytes - sizeof(*eth)));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32(UINT32_C(0xc0000201));
	ip->dst_addr = rte_cpu_to_be_32(UINT32_C(0xc0000202));
	udp->src_port = rte_cpu_to_be_16(1234);
	udp->dst_port = rte_cpu_to_be_16(udp_port);
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(bytes - sizeof(*eth) - sizeof(*ip)));
}

void
traffic_make(struct rte_mbuf **pkts, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	/* The primary has made it. */
	if (pool == NULL)
		pool = rte_mempool_lookup(PACKETS);
	assert_non_null(pool);
	/* To DPDK, none are too many. */
	if (n > 0)
		assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		write_headers(pkts[i], udp_port, bytes);
}

uint16_t
traffic_burst(struct trip_port *port, uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	struct rte_mbuf *pkts[TRAFFIC_BURST_MAX];
	uint16_t left;

	if (harness_away != NULL && harness_away->burst != NULL)
		return harness_away->burst(queue, n, udp_port, bytes);
	traffic_make(pkts, n, udp_port, bytes);
	left = trip_port_burst(port, queue, pkts, n);
	assert_true(left <= n);
	rte_pktmbuf_free_bulk(pkts, left);
	return left;
}

uint16_t
traffic_loop(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	struct rte_mbuf *pkts[RING_BURST];
	uint16_t left;

	if (harness_away != NULL)
		return harness_away->loop(queue, n, udp_port, bytes);
	traffic_make(pkts, n, udp_port, bytes);
	assert_int_equal(rte_eth_tx_burst(port_id, queue, pkts, n), n);
	left = rte_eth_rx_burst(port_id, queue, pkts, RING_BURST);
	assert_true(left <= n);
	rte_pktmbuf_free_bulk(pkts, left);
	return left;
}

enum trip_flow_engine
traffic_engine(void)
{
	return TRIP_FLOW_ENGINE_SW;
}

bool
traffic_is_late(void)
{
	return false;
}

void
traffic_wait(void)
{
}

uint64_t
traffic_rounds(uint64_t rounds)
{
	return harness_away != NULL ? (rounds + 7) / 8 : rounds;
}

static int
start(void)
{
	return harness_start(TRAFFIC_VDEV);
}

int
traffic_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
	return harness_main(argc, argv, start, tests, n);
}
