/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A quota in a pipeline. One lcore receives and hands over by a ring; the next one counts, with
 * trip_port_burst(), and works on what is left; a third is Tripline's. main() sleeps in epoll.
 *
 *	trip-pipeline -l 0-3 --vdev=net_null0
 */
#include <stdatomic.h>
#include <sys/epoll.h>

#include <rte_ring.h>

#include "example.h"

#define QUOTA 100000u

static struct rte_ring *stage;
static struct trip_port *port;
static atomic_bool stop;
static _Atomic uint64_t missed, taken, passed; /* ring full; off the ring; not dropped */

static int
receive(void *arg)
{
	struct rte_mbuf *pkts[BURST];

	while (!stop) {
		unsigned int n = rte_eth_rx_burst(0, 0, pkts, BURST);
		unsigned int sent = rte_ring_enqueue_burst(stage, (void **)pkts, n, NULL);

		missed += n - sent;
		rte_pktmbuf_free_bulk(pkts + sent, n - sent);
	}
	return 0;
}

static int
work(void *arg)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	do {
		n = (uint16_t)rte_ring_dequeue_burst(stage, (void **)pkts, BURST, NULL);
		taken += n;
		/* Counts all and frees what a rule drops; what is left stands in front. */
		n = trip_port_burst(port, 0, pkts, n);
		passed += n;
		rte_pktmbuf_free_bulk(pkts, n);
	} while (!stop);
	return 0;
}

/* A counter whose descriptor epoll reports, once, when the counter reaches `threshold`. */
static struct trip_cntr *
watch(struct trip_domain *domain, int epoll, const char *name, uint64_t threshold)
{
	struct trip_cntr_attr attr = {sizeof(attr), .wait_obj = TRIP_WAIT_FD, .name = name};
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
	struct trip_cntr *cntr;
	int fd;

	must(trip_cntr_open(domain, &attr, &cntr, NULL) == 0, "a counter opens");
	event.data.ptr = cntr;
	trip_cntr_control(cntr, TRIP_GETWAIT, &fd);
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "its descriptor is watched");
	must(trip_cntr_arm(cntr, threshold) == 0, "it is armed");
	return cntr;
}

/* Until we were told of half the quota and of the drop, and as many again were counted. */
static void
run(const unsigned int lcores[2], int epoll, const struct trip_work *drop)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	struct epoll_event event;
	uint64_t at_drop;

	rte_eal_remote_launch(receive, NULL, lcores[0]);
	rte_eal_remote_launch(work, NULL, lcores[1]);
	for (int told = 0; told < 2; told++) {
		must(epoll_wait(epoll, &event, 1, PATIENCE_MS) == 1, "epoll wakes us");
		printf("told of %s\n", trip_cntr_name(event.data.ptr));
	}
	at_drop = passed;
	must(trip_cntr_wait(drop->triggering_cntr, 2 * QUOTA, PATIENCE_MS) == 0, "drops count");
	stop = true;
	rte_eal_wait_lcore(lcores[0]);
	rte_eal_wait_lcore(lcores[1]);
	printf("missed %" PRIu64 ", passed %" PRIu64 "\n", missed, passed);
	trip_flow_query(drop->op.flow, &count);
	must(count.packets == taken, "each packet off the ring counts once");
	must(passed >= QUOTA && passed <= at_drop + BURST, "nothing passes after the drop");
}

int
main(int argc, char **argv)
{
	unsigned int lcores[3], lcore = UINT_MAX;
	const struct trip_domain_attr attr = {sizeof(attr), .lcores = &lcores[2], .n_lcores = 1};
	const struct trip_port_attr by_call = {sizeof(by_call), TRIP_PORT_BURST};
	struct trip_work drop = {sizeof(drop), .threshold = QUOTA, .op_type = TRIP_OP_FLOW_DROP};
	const struct trip_flow_attr in = {sizeof(in), .cntrs = &drop.triggering_cntr, .n_cntrs = 1};
	struct trip_domain *domain;
	int epoll = epoll_create1(0);

	start(argc, argv);
	for (int i = 0; i < 3; i++)
		lcores[i] = lcore = rte_get_next_lcore(lcore, 1, 0);
	stage = rte_ring_create("stage", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	must(trip_domain_open(&attr, &domain, NULL) == 0, "a domain opens on the third worker");
	drop.triggering_cntr = watch(domain, epoll, "packets", QUOTA / 2);
	drop.completion_cntr = watch(domain, epoll, "drops", 1);
	must(trip_port_open(domain, 0, &by_call, &port) == 0, "port 0 is in the domain");
	must(trip_flow_create(port, &in, every_packet, NULL, &drop.op.flow, NULL) == 0, "counted");
	must(trip_work_queue(domain, &drop, NULL) == 0, "it has a quota");
	run(lcores, epoll, &drop);
	close_all(drop.op.flow, port, drop.triggering_cntr, drop.completion_cntr, domain);
	return finish();
}
