/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is to happen later. When a flow has had QUOTA packets it is dropped, and a function sees to
 * it that it passes again PENALTY_NS later: by an item on the clock, which is queued, canceled and
 * told of as any other.
 *
 *	trip-later -l 0 --vdev=net_null0
 */
#include "example.h"

#define QUOTA 1000u
#define PENALTY_NS UINT64_C(250000000)

struct scene {
	struct trip_domain *domain;
	struct trip_flow *flow;
	/* By the clock; 0: it has not been dropped yet. */
	uint64_t dropped_ns;
};

/* On the home, behind the drop. */
static int
pass_later(const struct trip_work_event *event, void *arg)
{
	struct scene *scene = arg;
	struct trip_work pass = {
		sizeof(pass), .op_type = TRIP_OP_FLOW_PASS, .op.flow = scene->flow};

	pass.triggering_cntr = trip_clock_cntr(scene->domain);
	scene->dropped_ns = trip_cntr_read(pass.triggering_cntr);
	pass.threshold = scene->dropped_ns + PENALTY_NS;
	return trip_work_queue(scene->domain, &pass, NULL);
}

int
main(int argc, char **argv)
{
	const struct trip_port_attr by_call = {sizeof(by_call), TRIP_PORT_BURST};
	struct trip_work drop = {sizeof(drop), .threshold = QUOTA, .op_type = TRIP_OP_FLOW_DROP};
	struct trip_work call = {sizeof(call), .threshold = QUOTA, .op_type = TRIP_OP_CALL};
	struct trip_cntr *packets, *clock;
	const struct trip_flow_attr in = {sizeof(in), .cntrs = &packets, .n_cntrs = 1};
	struct scene scene = {0};
	struct trip_port *port;
	uint64_t lasted = 0;

	start(argc, argv);
	must(trip_domain_open(NULL, &scene.domain, NULL) == 0, "a domain opens");
	must(trip_cntr_open(scene.domain, NULL, &packets, NULL) == 0, "a counter of packets opens");
	must(trip_port_open(scene.domain, 0, &by_call, &port) == 0, "port 0 is in the domain");
	must(trip_flow_create(port, &in, every_packet, NULL, &scene.flow, NULL) == 0,
		"it is counted");
	must(trip_function_register(scene.domain, pass_later, &scene, &call.op.call.function) == 0,
		"a function is there to be called");
	drop.triggering_cntr = packets;
	drop.op.flow = scene.flow;
	call.triggering_cntr = packets;
	/* Of one threshold: in this order. */
	must(trip_work_queue(scene.domain, &drop, NULL) == 0 &&
			trip_work_queue(scene.domain, &call, NULL) == 0,
		"work is queued");

	clock = trip_clock_cntr(scene.domain);
	while (lasted == 0) {
		if (receive_some(port, BURST) > 0 && scene.dropped_ns != 0)
			lasted = trip_cntr_read(clock) - scene.dropped_ns;
		trip_progress(scene.domain);
	}
	printf("dropped for %" PRIu64 " us\n", lasted / 1000);
	must(lasted >= PENALTY_NS, "nothing is done early");

	/* The clock is the domain's: nobody closes it. */
	must(trip_function_unregister(call.op.call.function) == 0, "nothing calls it any more");
	must(trip_flow_destroy(scene.flow) == 0 && trip_port_close(port) == 0 &&
			trip_cntr_close(packets) == 0 && trip_domain_close(scene.domain) == 0,
		"all of it closes");
	return finish();
}
