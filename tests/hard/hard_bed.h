/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows in hardware on a driver that the test plays (fake_nic.h): one port, counters for its flows,
 * and what tests do with them. Packets are of 100 bytes, flows of one UDP port each. */
#ifndef TRIP_HARD_BED_H
#define TRIP_HARD_BED_H

#include "fake_nic.h"
#include "harness.h"
#include "traffic.h"

#define HARD_PACKET 100

struct hard_bed {
	struct trip_port *port;
	uint16_t port_id;
	/* Each flow counts into the first two; queued operations complete in the third. */
	struct trip_cntr *packets, *bytes, *completion;
	/* How often the port has told each trip_port_event. */
	_Atomic unsigned int n_events[16];
	/* NULL, or what else the port's notification does. */
	_Atomic(void (*)(enum trip_port_event event)) on_event;
};
extern struct hard_bed hard_bed;

/* Whose counters belong to one rule, or are shared, and then survive a stop or not. */
extern const struct fake_nic hard_direct, hard_shared, hard_forgetful;
/* With a cache of a short, known period. */
extern const struct fake_nic hard_cached;

void hard_open(const struct fake_nic *nic);
void hard_open_homes(
	unsigned int n_homes, const struct fake_nic *nic, const struct trip_domain_attr *tune);
void hard_close(void);
/* The two steps of opening, and all but the driver's end, for what comes in between. */
void hard_open_domain(
	unsigned int n_homes, const struct fake_nic *nic, const struct trip_domain_attr *tune);
void hard_open_port(uint32_t flow_queue);
void hard_close_port(void);

int hard_try_create(const struct rte_flow_item *pattern, const struct trip_flow_attr *more,
	struct trip_flow **flow, struct rte_flow_error *error);
/* In hardware, or the test fails. */
struct trip_flow *hard_create(uint16_t udp_port, bool recreate);
/* Likewise in software. */
struct trip_flow *hard_create_soft(uint16_t udp_port);
void hard_destroy(struct trip_flow *flow);
void hard_expect_flow(struct trip_flow *flow, uint64_t n, enum trip_flow_fate fate);
enum trip_flow_fate hard_fate_of(struct trip_flow *flow);
struct trip_port_stats hard_stats_of(void);

/* The port receives n, of which so many are left, and the driver's cache is refreshed. */
void hard_receive(uint16_t udp_port, uint64_t n, uint64_t left);

/* On packets. */
void hard_queue_op(struct trip_flow *flow, uint64_t threshold, enum trip_op op);

#endif
