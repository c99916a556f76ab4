/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ports at once: each has its own rules, packets go by wire from one to the other, and what is
 * injected patiently in one thread arrives whole in another. */
#include <pthread.h>
#include <string.h>
#include <rte_mbuf.h>
#include "trip_test.h"
#include "vcx_test.h"

enum {
	QUEUES = 2,
	LENGTH = 128,
};

static struct rte_flow_error error;

static void
ports_have_rules_of_their_own(void **state)
{
	struct rte_flow *first = vcx_test_rule(0, 53, VCX_FATE_DROP, 0, &error);
	struct rte_flow *second = vcx_test_rule(1, 53, VCX_FATE_DROP, 0, &error);
	uint8_t packet[LENGTH];

	(void)state;
	assert_non_null(first);
	assert_non_null(second);
	vcx_test_packet(packet, LENGTH, 1, 53, 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 3, false, NULL), 0);
	assert_int_equal(vcx_inject(1, packet, LENGTH, 4, false, NULL), 0);
	assert_true(vcx_test_told(0, first, 3, 3 * LENGTH));
	assert_true(vcx_test_told(1, second, 4, 4 * LENGTH));
	assert_int_equal(rte_flow_destroy(0, first, &error), 0);
	assert_int_equal(rte_flow_destroy(1, second, &error), 0);
}

static void
wire_leads_to_the_other_port(void **state)
{
	struct rte_mempool *pool = rte_mempool_lookup("vcx");
	struct rte_flow *flow = vcx_test_rule(1, 53, VCX_FATE_QUEUE, 1, &error);
	uint64_t rounds = trip_test_rounds(300), bytes = 0;

	(void)state;
	assert_non_null(flow);
	assert_int_equal(vcx_tx_mode(0, VCX_TX_WIRE), 0);
	for (uint64_t i = 0; i < rounds; i++) {
		struct rte_mbuf *burst[7];

		for (unsigned k = 0; k < RTE_DIM(burst); k++) {
			burst[k] = rte_pktmbuf_alloc(pool);
			vcx_test_packet((uint8_t *)rte_pktmbuf_append(burst[k], LENGTH), LENGTH, 1,
				53, (uint32_t)i);
		}
		assert_int_equal(rte_eth_tx_burst(0, 0, burst, RTE_DIM(burst)), RTE_DIM(burst));
		assert_int_equal(vcx_tx_flush(0, NULL), 0);
		for (uint64_t n = 0; n < RTE_DIM(burst);)
			n += vcx_test_receive(1, 1, &bytes);
	}
	assert_int_equal(bytes, 7 * rounds * LENGTH);
	assert_true(vcx_test_told(1, flow, 7 * rounds, 7 * rounds * LENGTH));
	assert_int_equal(vcx_tx_mode(0, VCX_TX_DROP), 0);
	assert_int_equal(rte_flow_destroy(1, flow, &error), 0);
}

/* An egress rule counts what a port sends, in the DV engine. */
static void
egress_counts_what_is_sent(void **state)
{
	struct rte_mempool *pool = rte_mempool_lookup("vcx");
	struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_attr attr = {.egress = 1};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct vcx_stats before, after;
	struct rte_flow *flow;

	if (*(enum vcx_engine *)*state == VCX_VERBS) {
		rte_pktmbuf_free(mbuf);
		skip();
	}
	flow = rte_flow_create(0, &attr, pattern, actions, &error);
	assert_non_null(flow);
	assert_int_equal(vcx_stats(0, &before), 0);
	vcx_test_packet((uint8_t *)rte_pktmbuf_append(mbuf, LENGTH), LENGTH, 1, 53, 0);
	assert_int_equal(rte_eth_tx_burst(0, 0, &mbuf, 1), 1);
	assert_int_equal(vcx_tx_flush(0, NULL), 0);
	assert_true(vcx_test_told(0, flow, 1, LENGTH));
	assert_int_equal(vcx_stats(0, &after), 0);
	assert_int_equal(after.tx_packets, before.tx_packets);
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

struct injection {
	uint64_t packets;
	struct vcx_injected to;
	int result;
};

static void *
inject_patiently(void *argument)
{
	struct injection *injection = argument;
	uint8_t packet[LENGTH];

	vcx_test_packet(packet, LENGTH, 1, 53, 0);
	injection->result = vcx_inject(1, packet, LENGTH, injection->packets, true, &injection->to);
	return NULL;
}

static void
patient_packets_wait_for_room(void **state)
{
	struct rte_flow *flow = vcx_test_rule(1, 53, VCX_FATE_QUEUE, 0, &error);
	struct injection injection = {.packets = trip_test_rounds(20000)};
	uint64_t received = 0, bytes = 0;
	pthread_t thread;

	(void)state;
	assert_non_null(flow);
	assert_int_equal(pthread_create(&thread, NULL, inject_patiently, &injection), 0);
	while (received < injection.packets)
		received += vcx_test_receive(1, 0, &bytes);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(injection.result, 0);
	assert_int_equal(injection.to.delivered, injection.packets);
	assert_int_equal(bytes, injection.packets * LENGTH);
	assert_true(vcx_test_told(1, flow, injection.packets, bytes));
	assert_int_equal(rte_flow_destroy(1, flow, &error), 0);
}

int
main(int argc, char **argv)
{
	static enum vcx_engine engine;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_have_rules_of_their_own),
		cmocka_unit_test(wire_leads_to_the_other_port),
		cmocka_unit_test_prestate(egress_counts_what_is_sent, &engine),
		cmocka_unit_test(patient_packets_wait_for_room),
	};
	int result;

	engine = vcx_test_engine(argc > 1 ? argv[1] : NULL);
	result = vcx_test_init(engine, 2);
	if (result != 0)
		return result;
	vcx_test_start(0, QUEUES, true);
	vcx_test_start(1, QUEUES, true);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	vcx_test_fini();
	return result;
}
