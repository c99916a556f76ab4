/* SPDX-License-Identifier: BSD-3-Clause */
/* A port of rings in the primary, and the flows of packets to a UDP port that secondaries have it
 * make. */
#ifndef TRIP_PROCESS_FLOWS_H
#define TRIP_PROCESS_FLOWS_H

#include <rte_flow.h>
#include <rte_mbuf.h>

#include <trip_flow.h>

#include "family.h"

#define FLOWS_DEVICE "net_ring0"
#define FLOWS_PACKET 64
#define FLOWS_DNS 53
/* That a process may have. */
#define FLOWS_EACH 6

/* The engine that flows are asked for, and what the primary does for it; NULL: nothing. */
struct flows_engine {
	enum trip_flow_engine engine;
	/* Processes that flows_test_death() kills: each may take a second, where a cache stands
	 * between the device and its counters. */
	unsigned int deaths;
	/* Before the domain is opened, before its port starts, after both are closed. */
	void (*open)(void);
	void (*prepare)(uint16_t port_id);
	void (*close)(void);
	/* Packets to this UDP port are received; returns how many the rules leave. */
	uint16_t (*receive)(uint16_t udp_port, uint16_t n);
	/* Of the port. */
	trip_port_notify_t notify;
};

extern const struct flows_engine *flows_engine;

/* family_main() of a program whose flows are counted in software, on FLOWS_DEVICE. */
int flows_main(int argc, char **argv, const struct family_part *parts, int (*tests)(void));

/* --- in the primary --- */

extern struct trip_port *flows_port;
uint16_t flows_port_id(void);

/* The domain, and its port in it. */
void flows_open(enum trip_progress progress);
void flows_close(void);

/* The port alone, with so many queues. */
void flows_open_port(uint16_t n_queues);
void flows_close_port(void);

/* In software. */
uint16_t flows_receive_burst(uint16_t udp_port, uint16_t n);

/* Has a secondary do all that there is to do with flows. */
void flows_test(enum trip_progress progress);
/* Its flows end, and what they have counted stays where others use that. */
void flows_test_death(enum trip_progress progress);

/* --- parts --- */

void flows_play(const char *arg);
void flows_play_holder(const char *arg);

/* --- in any process --- */

/* Appends a packet to a UDP port. */
void flows_write(struct rte_mbuf *pkt, uint16_t udp_port);

/* Polls a queue once, with packets that are in this process's memory: whoever dies with them leaves
 * nothing. Returns how many the rules leave. */
#define FLOWS_BURST 8
uint16_t flows_burst(struct trip_port *found, uint16_t queue, uint16_t udp_port, uint16_t n);

/* A pattern of packets to a UDP port. */
struct flows_pattern {
	struct rte_flow_item_udp spec;
	struct rte_flow_item items[4];
};

extern const struct rte_flow_item_udp flows_udp_mask;

void flows_make_pattern(struct flows_pattern *pattern, uint16_t udp_port);

/* The port, and a flow on it. */
struct trip_port *flows_find(void);
struct trip_flow *flows_create(
	struct trip_port *found, const struct trip_flow_attr *attr, uint16_t udp_port);

struct trip_cntr *flows_bytes_cntr(const char *name);

/* Queues an operation on a flow. */
void flows_operate(struct trip_cntr *trigger, uint64_t threshold, enum trip_op op,
	struct trip_flow *flow, struct trip_cntr *completion);

#endif
