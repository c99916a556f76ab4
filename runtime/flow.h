/* SPDX-License-Identifier: BSD-3-Clause */
/* What a counted flow is in each engine, and what both need to make one. */
#ifndef TRIP_RUNTIME_FLOW_H
#define TRIP_RUNTIME_FLOW_H

#include <rte_flow.h>

#include "port.h"

/* What a caller of trip_flow_create() asks for; `attr` is never NULL. */
struct trip_flow_order {
	const struct trip_flow_attr *attr;
	const struct rte_flow_item *pattern;
	const struct rte_flow_action *actions;
	/* Where to say what is wrong; may be NULL. */
	struct rte_flow_error *error;
};

/* An engine. */
struct trip_flow_ops {
	enum trip_flow_engine engine;
	/* Whether it would take such a rule on a port: 0, or the error. Changes nothing. */
	int (*validate)(uint16_t port_id, const struct trip_flow_order *order);
	/* Makes a rule for a flow, which counts from then on, or leaves nothing behind. Under the
	 * domain's control lock. */
	int (*create)(struct trip_flow *flow, const struct trip_flow_order *order);
	/* The flow matches no more, and keeps its value. */
	void (*retire)(struct trip_flow *flow);
	/* Brings what can be read of it up to date. */
	void (*query)(struct trip_flow *flow);
	/* When it returns, nobody counts on the flow any more. */
	void (*quit)(struct trip_flow *flow);
	/* After that, under the control lock. */
	void (*destroy)(struct trip_flow *flow);
};

extern const struct trip_flow_ops trip_flow_soft, trip_flow_hard;

/* Says what is wrong, as rte_flow has it and as the library has it; returns -number. */
int trip_flow_refuse(struct rte_flow_error *error, int number, enum rte_flow_error_type type,
	const void *cause, const char *message);

/* Writes a pattern as testpmd has it; cut where there is no room. */
void trip_flow_text(const struct rte_flow_item *pattern, char *out, size_t size);
/* That of an open flow; good until it is destroyed. */
const char *trip_flow_pattern(const struct trip_flow *flow);

/*
 * Gives a flow its index, fresh counts on these queues of the domain, and its counters; and takes
 * them away again, when nobody counts any more: what was counted is folded first. Under the control
 * lock.
 */
int trip_flow_attach(struct trip_flow *flow, const struct trip_flow_attr *attr,
	uint32_t first_queue, uint16_t n_queues);
void trip_flow_detach(struct trip_flow *flow);

#endif
