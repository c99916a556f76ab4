/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include "vcx_test.h"

#define CHECK(condition)                                                          \
	do {                                                                      \
		if (!(condition)) {                                               \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
				rte_strerror(rte_errno));                         \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

enum {
	BULK = 512,
	MBUFS = 8191,
	DESCRIPTORS = 512,
	BURST = 32,
};

const uint8_t vcx_test_rss_key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77,
	0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static enum vcx_engine used;
static struct rte_mempool *pool;
static uint16_t rx_queues[VCX_PORTS];

static const struct {
	const char *name, *devargs, *options;
} engines[] = {
	[VCX_VERBS] = {"verbs", "dv_flow_en=0", ""},
	[VCX_BULK] = {"bulk", "dv_flow_en=1", ""},
	[VCX_FALLBACK] = {"fallback", "dv_flow_en=1", "bulk=0"},
	[VCX_HWS] = {"hws", "dv_flow_en=2", ""},
};

enum vcx_engine
vcx_test_engine(const char *name)
{
	for (unsigned i = 0; i < RTE_DIM(engines); i++) {
		if (name != NULL && strcmp(name, engines[i].name) == 0)
			return (enum vcx_engine)i;
	}
	printf("no engine is called %s\n", name == NULL ? "nothing" : name);
	exit(1);
}

static int
is_driver(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	return strstr(info->dlpi_name, "librte_net_mlx5") != NULL;
}

int
vcx_test_init(enum vcx_engine engine, unsigned ports)
{
	static char words[][40] = {"test", "--lcores=0@0,1@0-1,2@0-1", "--no-huge", "-m", "512",
		"--no-shconf", "--no-telemetry", "--log-level=error"};
	static char devices[VCX_PORTS][64];
	char *args[RTE_DIM(words) + 2 * VCX_PORTS + 1];
	struct vcx_stats stats;
	int n = 0;

	used = engine;
	if (vcx_stats(ports - 1, &stats) != 0) {
		printf("no virtual ConnectX of %u ports here: it needs root and /dev/net/tun\n",
			ports);
		return 77;
	}
	for (; n < (int)RTE_DIM(words); n++)
		args[n] = words[n];
	for (unsigned i = 0; i < ports; i++) {
		snprintf(devices[i], sizeof(devices[i]), "--allow=0000:7f:%02x.0,%s", i,
			engines[engine].devargs);
		args[n++] = devices[i];
	}
	args[n] = NULL;
	setenv("VCX_OPTIONS", engines[engine].options, 1); /* read when the device is probed */
	CHECK(rte_eal_init(n, args) >= 0);
	if (dl_iterate_phdr(is_driver, NULL) == 0) {
		printf("this DPDK has no mlx5 driver\n");
		return 77;
	}
	CHECK(rte_eth_dev_count_avail() == ports);
	pool = rte_pktmbuf_pool_create(
		"vcx", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	CHECK(pool != NULL);
	return 0;
}

void
vcx_test_start(uint16_t port, uint16_t queues, bool isolated)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS},
		.rx_adv_conf = {.rss_conf = {.rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP |
						       RTE_ETH_RSS_TCP}},
		.intr_conf = {.rmv = 1}};
	struct rte_flow_error error;

	rx_queues[port] = queues;
	CHECK(!isolated || rte_flow_isolate(port, 1, &error) == 0);
	CHECK(rte_eth_dev_configure(port, queues, 1, &conf) == 0);
	for (uint16_t queue = 0; queue < queues; queue++)
		CHECK(rte_eth_rx_queue_setup(port, queue, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool) ==
			0);
	CHECK(rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) == 0);
	CHECK(rte_eth_dev_start(port) == 0);
}

void
vcx_test_fini(void)
{
	uint16_t port;

	RTE_ETH_FOREACH_DEV (port) {
		rte_eth_dev_stop(port); /* refused where the device was removed */
		/* The driver (22.11 to 25.11) frees its pools of counters before it stops to listen
		 * for answers, and writes one that comes meanwhile into them. */
		(void)vcx_hold(port, true);
		CHECK(rte_eth_dev_close(port) == 0);
	}
	CHECK(rte_mempool_avail_count(pool) == MBUFS);
	rte_mempool_free(pool);
	CHECK(rte_eal_cleanup() == 0);
}

struct rte_flow *
vcx_test_rule(uint16_t port, uint16_t udp_port, enum vcx_fate fate, uint16_t queue,
	struct rte_flow_error *error)
{
	struct rte_flow_item_udp spec = {.hdr.dst_port = rte_cpu_to_be_16(udp_port)};
	struct rte_flow_item_udp mask = {.hdr.dst_port = 0xffff};
	struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_action_queue one = {.index = queue};
	uint16_t all[16];
	struct rte_flow_action_rss rss = {.types = RTE_ETH_RSS_NONFRAG_IPV4_UDP,
		.queue_num = rx_queues[port],
		.queue = all,
		.key = vcx_test_rss_key,
		.key_len = sizeof(vcx_test_rss_key)};
	struct rte_flow_action_count count = {.id = 0};
	struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &count},
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};

	for (uint16_t i = 0; i < RTE_DIM(all); i++)
		all[i] = i;
	if (fate == VCX_FATE_QUEUE)
		actions[1] =
			(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &one};
	else if (fate == VCX_FATE_RSS)
		actions[1] =
			(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &rss};
	return rte_flow_create(
		port, &(struct rte_flow_attr){.ingress = 1}, pattern, actions, error);
}

int
vcx_test_query(uint16_t port, struct rte_flow *flow, uint64_t *packets, uint64_t *bytes)
{
	static const struct rte_flow_action count[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_query_count told = {.reset = 0};
	struct rte_flow_error error;
	int result = rte_flow_query(port, flow, count, &told, &error);

	if (result != 0)
		return result;
	*packets = told.hits;
	*bytes = told.bytes;
	return told.hits_set && told.bytes_set ? 0 : -ENODATA;
}

void
vcx_test_bulks(uint16_t port, uint64_t bulks)
{
	struct vcx_stats first, now;

	CHECK(vcx_stats(port, &first) == 0);
	do {
		rte_delay_us_sleep(1000);
		CHECK(vcx_stats(port, &now) == 0);
	} while (now.commands[VCX_COUNTER_QUERY_ASYNC] <
		 first.commands[VCX_COUNTER_QUERY_ASYNC] + bulks);
}

bool
vcx_test_told(uint16_t port, struct rte_flow *flow, uint64_t packets, uint64_t bytes)
{
	uint64_t told[2] = {0, 0}, rounds = 0;
	struct vcx_stats stats;
	int result;

	CHECK(vcx_stats(port, &stats) == 0);
	if (used == VCX_BULK)
		rounds = 2 * (stats.counters / BULK);
	for (;; rounds--) {
		result = vcx_test_query(port, flow, &told[0], &told[1]);
		if (result == 0 && told[0] == packets && told[1] == bytes)
			return true;
		if (rounds == 0)
			break;
		vcx_test_bulks(port, 1);
	}
	printf("told %" PRIu64 " packets and %" PRIu64 " bytes of %" PRIu64 " and %" PRIu64
	       ", result %d\n",
		told[0], told[1], packets, bytes, result);
	return false;
}

void
vcx_test_packet(uint8_t *packet, size_t length, uint16_t from, uint16_t to, uint32_t number)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)packet;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	memset(packet, 0, length);
	memcpy(&eth->dst_addr, "\x02\0\0\0\0\x01", 6);
	memcpy(&eth->src_addr, "\x02\0\0\0\0\xee", 6);
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(length - sizeof(*eth)));
	ip->time_to_live = 64;
	ip->next_proto_id = 17;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 1));
	ip->dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 2));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->src_port = rte_cpu_to_be_16(from);
	udp->dst_port = rte_cpu_to_be_16(to);
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(length - sizeof(*eth) - sizeof(*ip)));
	if (length >= 46)
		memcpy(packet + length - 4, &number, 4);
}

uint64_t
vcx_test_receive(uint16_t port, uint16_t queue, uint64_t *bytes)
{
	struct rte_mbuf *burst[BURST];
	uint64_t packets = 0;
	uint16_t n;

	while ((n = rte_eth_rx_burst(port, queue, burst, BURST)) > 0) {
		for (uint16_t i = 0; i < n && bytes != NULL; i++)
			*bytes += rte_pktmbuf_pkt_len(burst[i]);
		rte_pktmbuf_free_bulk(burst, n);
		packets += n;
	}
	return packets;
}
