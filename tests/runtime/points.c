/* SPDX-License-Identifier: BSD-3-Clause */
#include "points.h"

#define QUEUES 2

struct trip_port *points_port;

int
points_setup(void **state)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};

	harness_open(1, NULL);
	points_port = traffic_open(QUEUES, &attr);
	return 0;
}

int
points_teardown(void **state)
{
	traffic_close(points_port);
	harness_close();
	return 0;
}

struct trip_counters *
points_open(uint32_t n_slots)
{
	const struct trip_counters_init_attr attr = {.size = sizeof(attr), .n_slots = n_slots};
	struct trip_counters *counters;

	if (trip_counters_create(harness_domain, &attr, &counters) != 0)
		fail_msg("%s", trip_error_message());
	return counters;
}

void
points_close(struct trip_counters *counters)
{
	if (trip_counters_destroy(counters) != 0)
		fail_msg("%s", trip_error_message());
}

int
points_try(struct trip_counters *counters, uint32_t index, enum trip_counter_description desc,
	struct trip_flow *flow)
{
	const struct trip_counter_attach_attr attr = {
		.size = sizeof(attr), .counter_desc = desc, .index = index};

	traffic_wait();
	return trip_counters_attach_point_flow(counters, &attr, flow);
}

void
points_attach(struct trip_counters *counters, uint32_t index, enum trip_counter_description desc,
	struct trip_flow *flow)
{
	if (points_try(counters, index, desc, flow) != 0)
		fail_msg("%s", trip_error_message());
}

struct trip_flow *
points_create(uint16_t udp_port, struct trip_counters *counters)
{
	const struct trip_flow_attr attr = {.counters = counters};

	return traffic_flow(points_port, &attr, udp_port);
}

int
points_read(struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	traffic_wait();
	return trip_counters_read(counters, values, n, flags);
}

void
points_send(uint16_t udp_port, uint16_t n, uint16_t bytes)
{
	static uint16_t queue;

	traffic_burst(points_port, queue++ % QUEUES, n, udp_port, bytes);
}
