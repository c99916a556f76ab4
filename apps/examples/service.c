/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tripline beside other services. A service core receives for the application, as a service, and
 * runs the home of a domain as well; the domain sees the packets by an Rx callback. Each MEGABYTE
 * that is received calls a function there. The main lcore sleeps until it was called often enough.
 *
 *	trip-service -l 0-1 --vdev=net_null0
 */
#include <stdatomic.h>

#include <rte_service.h>
#include <rte_service_component.h>

#include "example.h"

#define MEGABYTE 1000000u
#define TIMES 10u

static _Atomic uint64_t received; /* bytes */

/* The application's own service: it knows nothing of Tripline. */
static int32_t
receive(void *arg)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(0, 0, pkts, BURST);

	for (uint16_t i = 0; i < n; i++)
		received += pkts[i]->pkt_len;
	rte_pktmbuf_free_bulk(pkts, n);
	return n > 0 ? 0 : -EAGAIN;
}

/* On the home of the counter, which is the service core: short, and it never blocks. */
static int
megabyte(const struct trip_work_event *event, void *lcore)
{
	printf("lcore %u: %" PRIu64 " bytes, %" PRIu64 " now\n", rte_lcore_id(), event->threshold,
		event->value);
	return rte_lcore_id() == *(unsigned int *)lcore ? 0 : -EXDEV;
}

/* Makes a service core of the first worker, with the application's service on it. */
static uint32_t
start_service(unsigned int *lcore)
{
	const struct rte_service_spec spec = {.name = "receive", .callback = receive};
	uint32_t service;

	*lcore = rte_get_next_lcore(UINT_MAX, 1, 0);
	must(rte_service_lcore_add(*lcore) == 0, "there is a second lcore");
	must(rte_service_component_register(&spec, &service) == 0 &&
			rte_service_component_runstate_set(service, 1) == 0 &&
			rte_service_runstate_set(service, 1) == 0 &&
			rte_service_map_lcore_set(service, *lcore, 1) == 0 &&
			rte_service_lcore_start(*lcore) == 0,
		"the application's service starts");
	return service;
}

static void
stop_service(uint32_t service, unsigned int lcore)
{
	must(rte_service_runstate_set(service, 0) == 0 && rte_service_lcore_stop(lcore) == 0,
		"the application's service was left as it was, and stops");
	rte_eal_wait_lcore(lcore);
	must(rte_service_component_unregister(service) == 0, "it ends");
}

int
main(int argc, char **argv)
{
	unsigned int lcore;
	struct trip_domain_attr attr = {
		sizeof(attr), .progress = TRIP_PROGRESS_SERVICE, .lcores = &lcore, .n_lcores = 1};
	const struct trip_cntr_attr bytes = {sizeof(bytes), .events = TRIP_CNTR_EVENTS_BYTES};
	const struct trip_cntr_attr sleeps = {sizeof(sleeps), .wait_obj = TRIP_WAIT_FD};
	struct trip_work call = {
		sizeof(call), .threshold = MEGABYTE, .interval = MEGABYTE, .op_type = TRIP_OP_CALL};
	const struct trip_flow_attr in = {sizeof(in), .cntrs = &call.triggering_cntr, .n_cntrs = 1};
	struct trip_domain *domain;
	struct trip_port *port;
	struct trip_flow *flow;
	uint32_t service;
	uint64_t id;

	start(argc, argv);
	service = start_service(&lcore);
	must(trip_domain_open(&attr, &domain, NULL) == 0 &&
			trip_cntr_open(domain, &bytes, &call.triggering_cntr, NULL) == 0 &&
			trip_cntr_open(domain, &sleeps, &call.completion_cntr, NULL) == 0 &&
			trip_function_register(domain, megabyte, &lcore, &call.op.call.function) ==
				0,
		"a domain opens on the service core");
	must(trip_port_open(domain, 0, NULL, &port) == 0, "port 0 is in the domain");
	must(trip_flow_create(port, &in, every_packet, NULL, &flow, NULL) == 0, "it is counted");
	must(trip_work_queue(domain, &call, &id) == 0, "a call for each megabyte");

	must(trip_cntr_wait(call.completion_cntr, TIMES, PATIENCE_MS) == 0, "it is called");
	must(trip_cntr_readerr(call.completion_cntr) == 0, "on the service core");

	/* It would be called for ever. */
	must(trip_work_cancel(domain, id) == 0, "a queued item is canceled");
	must(trip_function_unregister(call.op.call.function) == 0, "its function is free to go");
	close_all(flow, port, call.triggering_cntr, call.completion_cntr, domain);
	stop_service(service, lcore);
	printf("received %" PRIu64 " bytes\n", received);
	must(received >= TIMES * MEGABYTE, "so much was received");
	return finish();
}
