/* SPDX-License-Identifier: BSD-3-Clause */
/* The unmodified mlx5 driver on the virtual device: it probes, starts, receives and sends, its
 * rules count and lead packets to queues, and it stops and starts again. */
#include <string.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_thash.h>
#include "trip_test.h"
#include "vcx_test.h"

enum {
	QUEUES = 4,
	LENGTH = 100,
};

static struct rte_flow_error error;
static enum vcx_engine engine;

/* The vectorised receive function answers a burst of less than 4 with nothing. */
static struct rte_mbuf *
receive_one(uint16_t queue)
{
	struct rte_mbuf *burst[32];

	assert_int_equal(rte_eth_rx_burst(0, queue, burst, 32), 1);
	return burst[0];
}

static void
probe_tells_what_the_device_is(void **state)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	char name[64];

	(void)state;
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_string_equal(info.driver_name, "mlx5_pci");
	assert_int_equal(rte_eth_macaddr_get(0, &mac), 0);
	assert_memory_equal(&mac, "\x02\0\0\0\0\x01", 6);
	assert_int_equal(vcx_ifname(0, name, sizeof(name)), 0);
	assert_int_equal(vcx_ifname(0, name, 3), -EMSGSIZE);
	assert_int_equal(vcx_ifname(VCX_PORTS, name, sizeof(name)), -ENODEV);
}

static void
packet_arrives_as_it_was(void **state)
{
	struct rte_flow *flow = vcx_test_rule(0, 53, VCX_FATE_QUEUE, 1, &error);
	uint8_t packet[LENGTH];
	struct vcx_injected to;
	struct rte_mbuf *mbuf;

	(void)state;
	assert_non_null(flow);
	vcx_test_packet(packet, LENGTH, 1000, 53, 0xabcd);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 1, false, &to), 0);
	assert_int_equal(to.delivered, 1);
	assert_int_equal(vcx_test_receive(0, 0, NULL), 0);
	mbuf = receive_one(1);
	assert_int_equal(rte_pktmbuf_pkt_len(mbuf), LENGTH);
	assert_memory_equal(rte_pktmbuf_mtod(mbuf, void *), packet, LENGTH);
	assert_int_equal(mbuf->packet_type,
		RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_UDP);
	rte_pktmbuf_free(mbuf);
	assert_true(vcx_test_told(0, flow, 1, LENGTH));
	vcx_test_packet(packet, LENGTH, 1000, 54, 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 3, false, &to), 0);
	assert_int_equal(to.unmatched, 3);
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

static void
drop_counts_and_delivers_nothing(void **state)
{
	struct rte_flow *flow = vcx_test_rule(0, 53, VCX_FATE_DROP, 0, &error);
	uint8_t packet[LENGTH];
	struct vcx_injected to;

	(void)state;
	assert_non_null(flow);
	vcx_test_packet(packet, LENGTH, 1000, 53, 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 1000, false, &to), 0);
	assert_int_equal(to.dropped, 1000);
	for (uint16_t queue = 0; queue < QUEUES; queue++)
		assert_int_equal(vcx_test_receive(0, queue, NULL), 0);
	assert_true(vcx_test_told(0, flow, 1000, 1000 * LENGTH));
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

/* The ring has 512 buffers: what comes beyond them counts in the rule, and is lost behind it. The
 * driver knows of the loss in the DV engine; in verbs it would read it from a file of the kernel's.
 */
static void
full_ring_loses_but_counts(void **state)
{
	struct rte_eth_stats before, after;
	struct rte_flow *flow = vcx_test_rule(0, 53, VCX_FATE_QUEUE, 0, &error);
	uint8_t packet[LENGTH];
	struct vcx_injected to;

	(void)state;
	assert_non_null(flow);
	vcx_test_packet(packet, LENGTH, 1000, 53, 0);
	assert_int_equal(rte_eth_stats_get(0, &before), 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 600, false, &to), 0);
	assert_int_equal(to.delivered, 512);
	assert_int_equal(to.no_buffer, 88);
	assert_int_equal(vcx_test_receive(0, 0, NULL), 512);
	assert_int_equal(rte_eth_stats_get(0, &after), 0);
	assert_int_equal(after.ipackets - before.ipackets, 512);
	if (engine != VCX_VERBS)
		assert_int_equal(after.imissed - before.imissed, 88);
	assert_true(vcx_test_told(0, flow, 600, 600 * LENGTH));
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

/* The queue follows from DPDK's own Toeplitz over addresses and ports, and many rounds of each ring
 * are right, wraps of indices and owner bits among them. */
static void
rss_spreads_as_the_hash_says(void **state)
{
	struct rte_flow *flow = vcx_test_rule(0, 4789 + 1, VCX_FATE_RSS, 0, &error);
	uint64_t expected[QUEUES] = {0}, rounds = trip_test_rounds(20000);
	struct rte_ipv4_tuple tuple = {.src_addr = RTE_IPV4(10, 0, 0, 1),
		.dst_addr = RTE_IPV4(10, 0, 0, 2),
		.dport = 4790};
	uint8_t packet[LENGTH];
	struct vcx_injected to;

	(void)state;
	assert_non_null(flow);
	for (uint64_t i = 0; i < rounds; i++) {
		struct rte_mbuf *mbuf;
		uint32_t hash;
		uint16_t queue;

		tuple.sport = (uint16_t)i;
		hash = rte_softrss((uint32_t *)&tuple, 3, vcx_test_rss_key);
		queue = (uint16_t)(hash % QUEUES);
		expected[queue]++;
		vcx_test_packet(packet, LENGTH, (uint16_t)i, 4790, (uint32_t)i);
		assert_int_equal(vcx_inject(0, packet, LENGTH, 1, false, &to), 0);
		assert_int_equal(to.delivered, 1);
		mbuf = receive_one(queue);
		assert_memory_equal(rte_pktmbuf_mtod(mbuf, void *), packet, LENGTH);
		assert_int_equal(mbuf->hash.rss, hash);
		rte_pktmbuf_free(mbuf);
	}
	for (uint16_t queue = 0; queue < QUEUES; queue++)
		assert_true(expected[queue] > rounds / QUEUES / 2);
	assert_true(vcx_test_told(0, flow, rounds, rounds * LENGTH));
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

/* Of two rules with one pattern the older one counts, until it is destroyed: what replaces a rule
 * by one with another fate loses no packet. */
static void
second_of_equal_rules_takes_over(void **state)
{
	struct rte_flow *queue = vcx_test_rule(0, 53, VCX_FATE_QUEUE, 0, &error);
	struct rte_flow *drop = vcx_test_rule(0, 53, VCX_FATE_DROP, 0, &error);
	uint8_t packet[LENGTH];
	struct vcx_injected to;

	(void)state;
	assert_non_null(queue);
	assert_non_null(drop);
	vcx_test_packet(packet, LENGTH, 1000, 53, 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 5, false, &to), 0);
	assert_int_equal(to.delivered, 5);
	assert_int_equal(rte_flow_destroy(0, queue, &error), 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 7, false, &to), 0);
	assert_int_equal(to.dropped, 7);
	assert_true(vcx_test_told(0, drop, 7, 7 * LENGTH));
	assert_int_equal(rte_flow_destroy(0, drop, &error), 0);
	assert_int_equal(vcx_test_receive(0, 0, NULL), 5);
}

/* More than the send ring holds, so that descriptors are given back by completions. */
static void
sent_packets_go_where_they_should(void **state)
{
	struct rte_mempool *pool = rte_mempool_lookup("vcx");
	uint64_t rounds = trip_test_rounds(2000);
	uint8_t packet[LENGTH], back[LENGTH];
	struct vcx_stats before, after;
	size_t length;

	(void)state;
	assert_int_equal(vcx_stats(0, &before), 0);
	assert_int_equal(vcx_tx_mode(0, VCX_TX_CAPTURE), 0);
	for (uint64_t i = 0; i < rounds; i++) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

		vcx_test_packet(packet, LENGTH, 7, 8, (uint32_t)i);
		memcpy(rte_pktmbuf_append(mbuf, LENGTH), packet, LENGTH);
		assert_int_equal(rte_eth_tx_burst(0, 0, &mbuf, 1), 1);
		assert_int_equal(vcx_tx_flush(0, NULL), 0);
		length = LENGTH - 1;
		assert_int_equal(vcx_tx_read(0, back, &length), -EMSGSIZE);
		length = LENGTH;
		assert_int_equal(vcx_tx_read(0, back, &length), 0);
		assert_memory_equal(back, packet, LENGTH);
		assert_int_equal(vcx_tx_read(0, back, &length), -EAGAIN);
	}
	assert_int_equal(vcx_tx_mode(0, VCX_TX_DROP), 0);
	assert_int_equal(vcx_stats(0, &after), 0);
	assert_int_equal(after.tx_packets - before.tx_packets, rounds);
	assert_int_equal(after.tx_bytes - before.tx_bytes, rounds * LENGTH);
}

static void
stop_flushes_rules_and_start_begins_anew(void **state)
{
	uint8_t packet[LENGTH];
	struct vcx_injected to;
	struct vcx_stats stats;
	struct rte_flow *flow;

	(void)state;
	vcx_test_packet(packet, LENGTH, 1000, 53, 0);
	for (unsigned round = 0; round < 3; round++) {
		flow = vcx_test_rule(0, 53, VCX_FATE_QUEUE, 2, &error);
		assert_non_null(flow);
		assert_int_equal(vcx_inject(0, packet, LENGTH, 10, false, &to), 0);
		assert_int_equal(to.delivered, 10);
		assert_int_equal(vcx_test_receive(0, 2, NULL), 10);
		assert_true(vcx_test_told(0, flow, 10, 10 * LENGTH));
		assert_int_equal(rte_eth_dev_stop(0), 0);
		assert_int_equal(vcx_stats(0, &stats), 0);
		assert_int_equal(stats.rules, 0);
		assert_int_equal(vcx_inject(0, packet, LENGTH, 1, false, &to), 0);
		assert_int_equal(to.unmatched, 1);
		assert_int_equal(rte_eth_dev_start(0), 0);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_tells_what_the_device_is),
		cmocka_unit_test(packet_arrives_as_it_was),
		cmocka_unit_test(drop_counts_and_delivers_nothing),
		cmocka_unit_test(full_ring_loses_but_counts),
		cmocka_unit_test(rss_spreads_as_the_hash_says),
		cmocka_unit_test(second_of_equal_rules_takes_over),
		cmocka_unit_test(sent_packets_go_where_they_should),
		cmocka_unit_test(stop_flushes_rules_and_start_begins_anew),
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
