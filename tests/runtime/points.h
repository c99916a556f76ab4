/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of counters objects share: a port with two queues, flows on it, and points. */
#ifndef TRIP_POINTS_H
#define TRIP_POINTS_H

#include "harness.h"
#include "traffic.h"

extern struct trip_port *points_port;

/* A domain of one home and the port. */
int points_setup(void **state);
int points_teardown(void **state);

#define POINTS_TEST(f)                                     \
	{                                                  \
#f, f, points_setup, points_teardown, NULL \
	}

struct trip_counters *points_open(uint32_t n_slots);
void points_close(struct trip_counters *counters);

/* Attaches; the second must succeed. */
int points_try(struct trip_counters *counters, uint32_t index, enum trip_counter_description desc,
	struct trip_flow *flow);
void points_attach(struct trip_counters *counters, uint32_t index,
	enum trip_counter_description desc, struct trip_flow *flow);

/* A flow of packets to this UDP port; the object may be NULL. */
struct trip_flow *points_create(uint16_t udp_port, struct trip_counters *counters);

/* Reads when what was sent shows. */
int points_read(struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);

/* n packets to this UDP port, by one queue after the other. */
void points_send(uint16_t udp_port, uint16_t n, uint16_t bytes);

#endif
