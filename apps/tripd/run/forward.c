/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forwarding lcores. Each polls its ports in turn, has the burst counted, and sends what the
 * rules leave of it.
 *
 * Order within a flow is kept: a port has one queue, polled by one lcore, which sends a burst
 * before it receives the next. So a packet that is seen at the other end says that all before it
 * are out or never will be, which the demo builds on.
 */
#include <sched.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include <trip.h>

#include "forward.h"
#include "link/link.h"
#include "quota.h"
#include "sample/samples.h"
#include "start/fail.h"
#include "start/preflight.h"

/* As a router does: the source is the Tx port's address, the destination 02:00:00:00 and that
 * port's number. */
static void
rewrite_addresses(uint16_t port, struct rte_mbuf **pkts, uint16_t n)
{
	struct rte_ether_addr own;

	rte_eth_macaddr_get(port, &own);
	for (uint16_t i = 0; i < n; i++) {
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(pkts[i], struct rte_ether_hdr *);

		if (rte_pktmbuf_data_len(pkts[i]) < sizeof(*eth))
			continue;
		eth->src_addr = own;
		eth->dst_addr = (struct rte_ether_addr){
			{0x02, 0, 0, 0, (uint8_t)(port >> 8), (uint8_t)port}};
	}
}

void
tripd_forward_packets(struct tripd_forwarding *forwarding, unsigned int i, uint16_t queue,
	struct rte_mbuf **pkts, uint16_t n)
{
	const struct tripd_plan_port *port = &forwarding->plan->ports[i];
	struct tripd_forward_stats *stats = &forwarding->stats[i];
	struct tripd_catches *catches = forwarding->catches;
	uint16_t left, sent;

	tripd_catch_look(catches, i, TRIP_FLOW_INGRESS, pkts, n);
	left = trip_port_burst(forwarding->quota->ports[i], queue, pkts, n);
	tripd_link_count(&stats->received, n);
	if (port->partner < 0) {
		rte_pktmbuf_free_bulk(pkts, left);
		return;
	}
	if (forwarding->mode == TRIPD_FORWARD_MAC)
		rewrite_addresses(forwarding->plan->ports[port->partner].id, pkts, left);
	tripd_catch_look(catches, (unsigned int)port->partner, TRIP_FLOW_EGRESS, pkts, left);
	if (forwarding->quota->egress[port->partner])
		left = trip_port_burst_tx(forwarding->quota->ports[port->partner], 0, pkts, left);
	sent = left == 0 ? 0 : tripd_link_send(&forwarding->links[port->partner], pkts, left);
	if (sent < left)
		rte_pktmbuf_free_bulk(&pkts[sent], left - sent);
}

static uint16_t
forward_burst(struct tripd_forwarding *forwarding, unsigned int i, uint16_t queue)
{
	struct rte_mbuf *pkts[TRIPD_BURST];
	uint16_t received = tripd_link_receive(&forwarding->links[i], queue, pkts, TRIPD_BURST);

	/* None, too: keys of an `each` that are idle go by that. */
	tripd_forward_packets(forwarding, i, queue, pkts, received);
	return received;
}

static int
run(void *arg)
{
	struct tripd_forward_lcore *lcore = arg;
	struct tripd_forwarding *forwarding = lcore->forwarding;
	const struct tripd_plan *plan = forwarding->plan;
	unsigned int mine[TRIPD_PORTS_MAX], n = 0, i;

	for (i = 0; i < plan->n_ports; i++)
		if (plan->ports[i].forwarder == lcore->index)
			mine[n++] = i;
	/* Relaxed: nothing that stop's writer did before is used here. */
	while (!atomic_load_explicit(&forwarding->stop, memory_order_relaxed)) {
		unsigned int busy = 0;

		for (i = 0; i < n; i++)
			for (uint16_t queue = 0; queue < plan->ports[mine[i]].n_queues; queue++)
				busy += forward_burst(forwarding, mine[i], queue);
		if (plan->manual)
			busy += (unsigned int)trip_progress(forwarding->quota->domain);
		tripd_link_count(&lcore->rounds, 1);
		if (busy > 0)
			continue;
		if (lcore->yields)
			sched_yield();
		else
			rte_pause();
	}
	/* Pairs with tripd_forward_stop(): EAL orders the same, where ThreadSanitizer does not see
	 * it. */
	atomic_store_explicit(&lcore->ended, true, memory_order_release);
	return 0;
}

static bool
share_a_cpu(unsigned int a, unsigned int b)
{
	rte_cpuset_t of_a = rte_lcore_cpuset(a), of_b = rte_lcore_cpuset(b);

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &of_a) && CPU_ISSET(cpu, &of_b))
			return true;
	return false;
}

/* A forwarder yields to the control thread, too: that sleeps most of the time, but a person waits
 * for what it does. */
static bool
must_yield(const struct tripd_plan *plan, unsigned int lcore)
{
	if (share_a_cpu(lcore, rte_get_main_lcore()))
		return true;
	if (plan->poller != lcore && share_a_cpu(lcore, plan->poller))
		return true;
	for (unsigned int i = 0; i < plan->n_forwarders; i++)
		if (plan->forwarders[i] != lcore && share_a_cpu(lcore, plan->forwarders[i]))
			return true;
	return false;
}

int
tripd_forward_start(struct tripd_forwarding *forwarding, const struct tripd_plan *plan,
	struct tripd_link *links, const struct tripd_quota *quota, enum tripd_forward mode)
{
	int ret;

	memset(forwarding, 0, sizeof(*forwarding));
	forwarding->plan = plan;
	forwarding->links = links;
	forwarding->quota = quota;
	forwarding->mode = mode;
	forwarding->catches = quota->samples != NULL ? &quota->samples->catches : NULL;
	for (unsigned int i = 0; i < plan->n_forwarders; i++) {
		struct tripd_forward_lcore *lcore = &forwarding->lcores[i];

		lcore->forwarding = forwarding;
		lcore->index = i;
		lcore->yields = must_yield(plan, plan->forwarders[i]);
		ret = rte_eal_remote_launch(run, lcore, plan->forwarders[i]);
		if (ret != 0)
			return tripd_fail(ret, "lcore %u: %s", plan->forwarders[i], strerror(-ret));
	}
	return 0;
}

void
tripd_forward_stop(struct tripd_forwarding *forwarding)
{
	if (forwarding->plan == NULL)
		return;
	atomic_store_explicit(&forwarding->stop, true, memory_order_relaxed);
	for (unsigned int i = 0; i < forwarding->plan->n_forwarders; i++) {
		rte_eal_wait_lcore(forwarding->plan->forwarders[i]);
		/* Pairs with run(). */
		(void)atomic_load_explicit(&forwarding->lcores[i].ended, memory_order_acquire);
	}
}

uint64_t
tripd_forward_received(const struct tripd_forwarding *forwarding)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < forwarding->plan->n_ports; i++)
		sum += atomic_load_explicit(&forwarding->stats[i].received, memory_order_relaxed);
	return sum;
}

uint64_t
tripd_forward_polls(const struct tripd_forwarding *forwarding)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < forwarding->plan->n_forwarders; i++) {
		uint64_t rounds =
			atomic_load_explicit(&forwarding->lcores[i].rounds, memory_order_relaxed);

		if (rounds < least)
			least = rounds;
	}
	return least;
}
