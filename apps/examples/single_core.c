/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credit flow control on a single core. The sending side may have WINDOW packets under way. Each
 * GRANT packets that the receiving side has counted give it GRANT credits: deferred work, a counter
 * add with an interval. Receiving, counting, progress and sending are one loop of the main lcore.
 *
 *	trip-single-core -l 0 --vdev=net_ring0
 *
 * net_ring0 receives what it sends, and loses packets when more than its ring holds are under way.
 */
#include <string.h>

#include "example.h"

#define TOTAL 100000u
#define WINDOW 64u
#define GRANT 16u
/* We receive slower than we send, so that it is the credits that hold us back. */
#define RX_BURST 8

static struct rte_mempool *pool;

/* Sends at most as many packets as there are credits left. */
static uint16_t
send_some(uint64_t credits)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = (uint16_t)RTE_MIN(credits, BURST), sent;

	if (n == 0)
		return 0;
	must(rte_pktmbuf_alloc_bulk(pool, pkts, n) == 0, "there is a packet for each credit");
	for (uint16_t i = 0; i < n; i++)
		memset(rte_pktmbuf_append(pkts[i], RTE_ETHER_MIN_LEN), 0, RTE_ETHER_MIN_LEN);
	sent = rte_eth_tx_burst(0, 0, pkts, n);
	must(sent == n, "there is room for what there is a credit for");
	return sent;
}

int
main(int argc, char **argv)
{
	const struct trip_port_attr by_call = {sizeof(by_call), TRIP_PORT_BURST};
	struct trip_work grant = {sizeof(grant), .threshold = GRANT, .interval = GRANT,
		.op_type = TRIP_OP_CNTR_ADD, .op.cntr.value = GRANT};
	uint64_t sent = 0, received = 0, most = 0, held_back = 0, id;
	struct trip_cntr *packets, *credits;
	const struct trip_flow_attr in = {sizeof(in), .cntrs = &packets, .n_cntrs = 1};
	struct trip_domain *domain;
	struct trip_port *port;
	struct trip_flow *flow;

	pool = start(argc, argv);
	/* No attributes: a domain that the application progresses, on whatever thread it is. */
	must(trip_domain_open(NULL, &domain, NULL) == 0, "a domain opens");
	must(trip_cntr_open(domain, NULL, &packets, NULL) == 0, "a counter of packets opens");
	must(trip_cntr_open(domain, NULL, &credits, NULL) == 0, "a counter of credits opens");
	trip_cntr_set(credits, WINDOW);
	grant.triggering_cntr = packets;
	grant.op.cntr.cntr = credits;
	must(trip_port_open(domain, 0, &by_call, &port) == 0, "port 0 is in the domain");
	must(trip_flow_create(port, &in, every_packet, NULL, &flow, NULL) == 0, "it is counted");
	must(trip_work_queue(domain, &grant, &id) == 0, "a grant for each GRANT packets");

	while (received < TOTAL) {
		received += receive_some(port, RX_BURST);
		trip_progress(domain);
		if (sent == trip_cntr_read(credits))
			held_back++;
		sent += send_some(trip_cntr_read(credits) - sent);
		most = RTE_MAX(most, sent - received);
	}
	printf("sent %" PRIu64 ", received %" PRIu64 ", at most %" PRIu64
	       " under way; held back %" PRIu64 " times\n",
		sent, received, most, held_back);
	must(most == WINDOW, "the window is used, and kept");
	must(held_back > 0, "credits held the sender back");
	/* Later bursts may have been counted that this loop's last progress has not seen. */
	while (received < sent)
		received += receive_some(port, RX_BURST);
	while (trip_progress(domain) > 0)
		;
	must(trip_cntr_read(credits) == WINDOW + sent / GRANT * GRANT, "no credit is lost");

	/* It would grant for ever. */
	must(trip_work_cancel(domain, id) == 0, "a queued item is canceled");
	close_all(flow, port, packets, credits, domain);
	return finish();
}
