/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_PORT_H
#define TRIP_RUNTIME_PORT_H

#include "soft.h"
#include "domain.h"
#include "table.h"

struct rte_eth_rxtx_callback;
struct trip_hard;

struct trip_port_queue {
	struct trip_soft_queue soft;
	const struct rte_eth_rxtx_callback *callback;
};

/* What a port receives, or what it sends. */
struct trip_port_side {
	/* Queues of the domain that stand for this port's. */
	uint32_t first_queue;
	uint16_t n_queues;
	/* Written under the domain's control lock; NULL where there are no queues. */
	struct trip_table *table;
	struct trip_port_queue *queues;
};

#define TRIP_PORT_SIDES 2

struct trip_port {
	struct trip_domain *domain;
	uint16_t port_id;
	enum trip_port_mode mode;
	uint32_t n_flows;
	/* Handles that attached processes have of it; none finds it any more. Under the control
	 * lock. */
	uint32_t n_found;
	bool closing;
	uint64_t next_sequence;
	uint32_t query_us;
	uint32_t flow_queue;
	trip_port_notify_t notify;
	void *notify_arg;
	/* Once a flow in hardware has been asked for. Under the control lock. */
	struct trip_hard *hard;
	struct trip_port_side sides[TRIP_PORT_SIDES]; /* by enum trip_flow_direction */
};

/* For ports with TRIP_PORT_CALLBACK. */
int trip_port_callback_add(struct trip_port *port);
void trip_port_callback_remove(struct trip_port *port);

/* The port's hardware engine, started where it is not yet: 0, or the error. Under the control lock.
 */
int trip_port_hard_start(struct trip_port *port);

/* Takes it away. After the last flow, without the control lock. */
void trip_port_hard_stop(struct trip_port *port);

#endif
