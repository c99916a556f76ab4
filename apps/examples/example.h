/* SPDX-License-Identifier: BSD-3-Clause */
/* What the examples share: DPDK as any application sets it up, and the end. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <trip.h>

#define BURST 32
/* Far beyond what any of this takes. */
#define PATIENCE_MS 60000

/* Every packet. */
static const struct rte_flow_item every_packet[] = {
	{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};

/* Ends the program where what it shows does not happen; trip_error_message() says why. */
static inline void
must(bool holds, const char *what)
{
	if (!holds)
		rte_exit(EXIT_FAILURE, "This does not hold: %s. %s\n", what, trip_error_message());
}

/* Starts EAL, and port 0 with one Rx and one Tx queue. Returns the pool of its packets. */
static inline struct rte_mempool *
start(int argc, char **argv)
{
	const struct rte_eth_conf conf = {0};
	struct rte_mempool *pool;

	must(rte_eal_init(argc, argv) >= 0, "EAL starts");
	must(rte_eth_dev_is_valid_port(0), "a port is given, such as --vdev=net_null0");
	pool = rte_pktmbuf_pool_create(
		"packets", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	must(pool != NULL, "there is memory for packets");
	must(rte_eth_dev_configure(0, 1, 1, &conf) == 0 &&
			rte_eth_rx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL, pool) == 0 &&
			rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL) == 0 &&
			rte_eth_dev_start(0) == 0,
		"port 0 starts");
	/* What comes back to it has no address; a virtual port asks for none. */
	(void)rte_eth_promiscuous_enable(0);
	return pool;
}

/* Receives up to `most` packets, and has them counted. How many pass. */
static inline uint16_t
receive_some(struct trip_port *port, uint16_t most)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(0, 0, pkts, most);

	n = trip_port_burst(port, 0, pkts, n);
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

/* Sends a packet of each of BURST connections from the UDP ports behind `first` to 443. */
static inline unsigned int
send_udp(struct rte_mempool *pool, unsigned int first)
{
	static const uint8_t headers[60] = {[12] = 8,
		[14] = 0x45,
		[17] = 46,
		[22] = 64,
		[23] = 17,
		[26] = 10,
		[29] = 1,
		[30] = 10,
		[33] = 2,
		[36] = 443 >> 8,
		[37] = 443 & 0xff,
		[39] = 26};
	struct rte_mbuf *pkts[BURST];

	must(rte_pktmbuf_alloc_bulk(pool, pkts, BURST) == 0, "there are packets to send");
	for (unsigned int i = 0; i < BURST; i++) {
		uint8_t *frame = (uint8_t *)rte_pktmbuf_append(pkts[i], sizeof(headers));

		memcpy(frame, headers, sizeof(headers));
		frame[34] = (uint8_t)((first + i) >> 8);
		frame[35] = (uint8_t)(first + i);
	}
	/* A card has room when it has sent those before. */
	for (uint16_t n = 0; n < BURST;)
		n += rte_eth_tx_burst(0, 0, pkts + n, (uint16_t)(BURST - n));
	return BURST;
}

/* In the reverse order of opening: a domain closes when nothing is open in it. */
static inline void
close_all(struct trip_flow *flow, struct trip_port *port, struct trip_cntr *a, struct trip_cntr *b,
	struct trip_domain *domain)
{
	must(trip_flow_destroy(flow) == 0 && trip_port_close(port) == 0 &&
			trip_cntr_close(a) == 0 && trip_cntr_close(b) == 0 &&
			trip_domain_close(domain) == 0,
		"all of it closes");
}

static inline int
finish(void)
{
	must(rte_eth_dev_stop(0) == 0 && rte_eth_dev_close(0) == 0, "port 0 stops");
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
