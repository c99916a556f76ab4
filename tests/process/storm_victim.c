/* SPDX-License-Identifier: BSD-3-Clause */
/* The part that does everything at once. Its calls hold, or end the test. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "flows.h"
#include "storm.h"

struct storm {
	struct trip_random random;
	struct trip_cntr *theirs, *completion;
};

static void
must(int error)
{
	if (error != 0)
		fail_msg("%s", trip_error_message());
}

static uint64_t
below(struct storm *storm, uint64_t bound)
{
	return trip_random_below(&storm->random, bound);
}

static void
work(struct storm *storm, struct trip_cntr *own, struct trip_flow *flow)
{
	struct storm_draw draw = {.random = &storm->random,
		.theirs = storm->theirs,
		.own = own,
		.clock = trip_clock_cntr(family_domain),
		.completion = storm->completion,
		.flow = flow};
	struct trip_work_event events[16];

	for (unsigned int i = 0; i < 8; i++) {
		uint64_t id = storm_queue(&draw);

		if (id != TRIP_WORK_NONE && below(storm, 2) == 0)
			(void)trip_work_cancel(family_domain, id);
	}
	(void)trip_work_read(family_domain, events, sizeof(struct trip_work_event), 16);
	if (below(storm, 2) == 0)
		(void)trip_work_flush(family_domain, below(storm, 2) ? own : NULL);
}

static void
update(struct storm *storm, struct trip_cntr *own)
{
	trip_cntr_add(own, below(storm, 1000));
	trip_cntr_add(storm->theirs, below(storm, 1000));
	trip_cntr_adderr(storm->theirs, below(storm, 2));
	if (below(storm, 8) == 0)
		trip_cntr_set(own, below(storm, 1000));
}

static void
wait_on(struct storm *storm, struct trip_cntr *own)
{
	struct trip_fid *fid = trip_cntr_fid(own);
	struct pollfd entry = {.events = POLLIN};

	(void)trip_cntr_wait(own, 1u << 20, (int)below(storm, 2));
	if (trip_trywait(family_domain, &fid, 1) == 0 &&
		trip_cntr_control(own, TRIP_GETWAIT, &entry.fd) == 0 && entry.fd < 1024)
		(void)poll(&entry, 1, (int)below(storm, 2));
	(void)trip_cntr_arm(own, 1000000);
}

static void
wait_on_set(struct storm *storm)
{
	const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};
	const struct trip_wait_attr attr = {
		.size = sizeof(attr), .wait_obj = objects[below(storm, 4)]};
	struct trip_cntr_attr member = {.size = sizeof(member), .wait_obj = TRIP_WAIT_SET};
	struct trip_cntr *cntrs[2];

	must(trip_wait_open(family_domain, &attr, &member.wait_set));
	member.name = "theirs";
	must(trip_cntr_find(family_domain, &member, &cntrs[0], NULL));
	member.name = NULL;
	must(trip_cntr_open(family_domain, &member, &cntrs[1], NULL));
	(void)trip_wait(member.wait_set, (int)below(storm, 2));
	for (unsigned int i = 0; i < 2; i++)
		must(trip_cntr_close(cntrs[i]));
	must(trip_wait_close(member.wait_set));
}

/* ---- flows, which the primary makes, and queues that it polls itself --------------------------
 */

/* Others have it, at times. */
static void
poll_queue(struct storm *storm, struct trip_port *port)
{
	uint16_t queue = (uint16_t)below(storm, STORM_QUEUES);

	if (trip_port_claim(port, TRIP_FLOW_INGRESS, queue) != 0)
		return;
	/* Most of it are bursts. */
	for (uint64_t i = below(storm, 1024); i > 0; i--)
		(void)flows_burst(port, queue, (uint16_t)(STORM_UDP + below(storm, 4)),
			(uint16_t)below(storm, FLOWS_BURST + 1));
	/* Or its handle is closed. */
	if (below(storm, 2) == 0)
		must(trip_port_release(port, TRIP_FLOW_INGRESS, queue));
}

/* NULL: bursts that have been stopped hold up all that there are. */
static struct trip_flow *
create_flow(struct storm *storm, struct trip_cntr *own, struct trip_port *port,
	struct trip_counters *counters)
{
	struct trip_cntr *cntrs[] = {below(storm, 2) == 0 ? own : storm->theirs};
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.engine = below(storm, 2) == 0 ? TRIP_FLOW_ENGINE_SW : TRIP_FLOW_ENGINE_AUTO,
		.cntrs = cntrs,
		.n_cntrs = (unsigned int)below(storm, 2),
		.counters = counters};
	struct flows_pattern pattern;
	struct trip_flow *flow;
	int error;

	flows_make_pattern(&pattern, (uint16_t)(STORM_UDP + below(storm, 4)));
	error = trip_flow_create(port, &attr, pattern.items, NULL, &flow, NULL);
	if (error != -ENOSPC)
		must(error);
	return error == 0 ? flow : NULL;
}

static void
destroy_flow(struct storm *storm, struct trip_flow *flow)
{
	if (below(storm, 2) == 0)
		must(trip_flow_retire(flow));
	/* Items may still refer to it. */
	while (trip_flow_destroy(flow) != 0)
		must(trip_work_flush(family_domain, NULL));
}

static void
use_flows(struct storm *storm, struct trip_cntr *own)
{
	const struct trip_counter_attach_attr point = {.size = sizeof(point)};
	struct trip_counters *counters = NULL;
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_flow *flow;
	struct trip_port *port;
	uint64_t value;

	must(trip_port_find(family_domain, 0, &port));
	if (below(storm, 2) == 0) {
		must(trip_counters_create(family_domain, NULL, &counters));
		must(trip_counters_attach_point_flow(counters, &point, NULL));
	}
	poll_queue(storm, port);
	flow = create_flow(storm, own, port, counters);
	poll_queue(storm, port);
	if (flow != NULL) {
		work(storm, own, flow);
		poll_queue(storm, port);
		must(trip_flow_query(flow, &count));
		if (counters != NULL)
			must(trip_counters_read(counters, &value, 1, 0));
		destroy_flow(storm, flow);
	}
	if (counters != NULL)
		must(trip_counters_destroy(counters));
	must(trip_port_close(port));
}

/* There are channels for two of the three. */
static void
change_channels(struct storm *storm)
{
	if (below(storm, 2) == 0)
		(void)trip_thread_detach(family_domain);
	else
		(void)trip_thread_attach(family_domain);
}

static void *
rage(void *arg)
{
	/* Without MUTEX_COND: poll() is tried on what GETWAIT gives. */
	const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_YIELD, TRIP_WAIT_NONE};
	struct storm *storm = arg;

	for (;;) {
		struct trip_cntr *own = family_cntr(NULL, objects[below(storm, 4)]);

		change_channels(storm);
		if (below(storm, 2) == 0)
			use_flows(storm, own);
		work(storm, own, NULL);
		update(storm, own);
		wait_on(storm, own);
		wait_on_set(storm);
		/* Items on theirs may still refer to it. */
		while (trip_cntr_close(own) != 0)
			must(trip_work_flush(family_domain, NULL));
	}
	return NULL;
}

void
storm_play_victim(const char *arg)
{
	static struct storm storms[STORM_THREADS];
	pthread_t thread;

	family_attach();
	for (unsigned int i = 0; i < STORM_THREADS; i++) {
		storms[i] = (struct storm){
			.random = {.state = strtoull(arg, NULL, 0) + i},
			.theirs = family_find("theirs", TRIP_WAIT_UNSPEC),
			.completion = family_find("completion", TRIP_WAIT_NONE),
		};
		assert_int_equal(pthread_create(&thread, NULL, rage, &storms[i]), 0);
	}
	family_say('v');
	for (;;)
		pause();
}
