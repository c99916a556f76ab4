/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_PORT_H
#define TRIP_RUNTIME_PORT_H

#include "soft.h"
#include "domain.h"
#include "table.h"

struct rte_eth_rxtx_callback;

struct trip_port_queue {
	struct trip_soft_queue soft;
	const struct rte_eth_rxtx_callback *callback;
};

struct trip_port {
	struct trip_domain *domain;
	uint16_t port_id;
	enum trip_port_mode mode;
	/* Queues of the domain that stand for this port's. */
	uint32_t first_queue;
	uint16_t n_queues;
	uint32_t n_flows;
	uint64_t next_sequence;
	/* Written under the domain's control lock. */
	struct trip_table *table;
	struct trip_port_queue *queues;
};

#endif
