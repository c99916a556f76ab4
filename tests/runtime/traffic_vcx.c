/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic through a virtual ConnectX, with the driver's own rules under those of the test. */
#include <rte_common.h>
#include <rte_ethdev.h>

#include "harness.h"
#include "traffic.h"
#include "vcx_test.h"

#define PORT 0
/* Rules that the driver keeps counters for together, and asks for together. */
#define BULK 512
/* As many packets at once as a queue surely has room for. */
#define INJECT_MAX 256

static enum vcx_engine engine;
static uint16_t queues;
/* Something was sent since the last wait. */
static bool sent;

uint16_t
traffic_start(uint16_t n_queues)
{
	queues = n_queues;
	vcx_test_start(PORT, n_queues, false);
	assert_int_equal(rte_eth_promiscuous_enable(PORT), 0);
	return PORT;
}

void
traffic_stop(void)
{
	assert_int_equal(rte_eth_dev_stop(PORT), 0);
}

/* As an application does that has rules in software, too. */
static uint64_t
receive(struct trip_port *port, uint16_t queue)
{
	struct rte_mbuf *pkts[32];
	uint64_t left = 0;
	uint16_t n;

	while ((n = rte_eth_rx_burst(PORT, queue, pkts, RTE_DIM(pkts))) > 0) {
		if (port != NULL)
			n = trip_port_burst(port, queue, pkts, n);
		rte_pktmbuf_free_bulk(pkts, n);
		left += n;
	}
	return left;
}

/* The card chooses the queue; the packets of each of the test's come from another port. */
static uint16_t
inject(struct trip_port *port, uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	uint8_t packet[VCX_FRAME_MAX];
	uint64_t left = 0;

	sent = true;
	vcx_test_packet(packet, bytes, (uint16_t)(100 + queue), udp_port, 0);
	for (uint16_t done = 0; done < n; done += INJECT_MAX) {
		uint16_t some = RTE_MIN(INJECT_MAX, n - done);
		struct vcx_injected to;

		assert_int_equal(vcx_inject(PORT, packet, bytes, some, false, &to), 0);
		assert_int_equal(to.delivered + to.dropped, some);
		for (uint16_t q = 0; q < queues; q++)
			left += receive(port, q);
	}
	return (uint16_t)left;
}

uint16_t
traffic_burst(struct trip_port *port, uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	return inject(port, queue, n, udp_port, bytes);
}

uint16_t
traffic_loop(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes)
{
	return inject(NULL, queue, n, udp_port, bytes);
}

enum trip_flow_engine
traffic_engine(void)
{
	return TRIP_FLOW_ENGINE_HW;
}

bool
traffic_is_late(void)
{
	return engine == VCX_BULK;
}

void
traffic_wait(void)
{
	struct vcx_stats stats;

	if (!traffic_is_late() || !sent)
		return;
	sent = false;
	assert_int_equal(vcx_stats(PORT, &stats), 0);
	vcx_test_bulks(PORT, 2 * (stats.counters / BULK));
}

uint64_t
traffic_rounds(uint64_t rounds)
{
	/* But in verbs, the end of a flow waits for the refresh lag, which may be a second. */
	return RTE_MAX(rounds / (engine == VCX_VERBS ? 10 : 100), (uint64_t)2);
}

static int
start(void)
{
	return vcx_test_init(engine, 1);
}

/* Before the words of the harness stands the engine. */
int
traffic_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
	int result;

	engine = vcx_test_engine(argc > 1 ? argv[1] : NULL);
	result = harness_main(argc - 1, argv + 1, start, tests, n);
	if (result == 0)
		vcx_test_fini();
	return result;
}
