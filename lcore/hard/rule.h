/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One counted rule over rte_flow: what was asked for, copied, and the calls. Every call here may
 * take as long as the device's firmware likes; by one thread of the process for a port, its worker.
 *
 * A counter belongs to a rule (direct), or to a handle that rules share and that outlives them
 * (indirect). Neither is ever reset: `last` is what it read last.
 */
#ifndef TRIP_RULE_H
#define TRIP_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#include "count.h"

/* What a caller has asked for. */
struct trip_rule_order {
	struct rte_flow_item *pattern;   /* a deep copy */
	struct rte_flow_action *actions; /* a deep copy; MARK, QUEUE and RSS of it are used */
	uint32_t group;
	uint32_t priority;
};

struct trip_rule {
	struct trip_rule_order order;
	/* NULL: there is none, or it is dead. */
	struct rte_flow *flow;
	/* NULL: the counter is the rule's own. */
	struct rte_flow_action_handle *shared;
	uint64_t last[TRIP_COUNT_KINDS];
	bool drop;
};

/* Copies what was asked for; 0, or -ENOMEM, -EINVAL: rte_flow cannot copy it. */
int trip_rule_init(struct trip_rule *rule, uint32_t group, uint32_t priority,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions);
void trip_rule_fini(struct trip_rule *rule);

/* Whether a port would take such a rule: 0, or the driver's error. Changes nothing. */
int trip_rule_validate(
	uint16_t port_id, struct trip_rule *rule, bool drop, struct rte_flow_error *error);

/* Whether rules of the port can share a counter. */
bool trip_rule_probe_shared(uint16_t port_id);

/* Gives the rule a counter that outlives it. */
int trip_rule_share(uint16_t port_id, struct trip_rule *rule, struct rte_flow_error *error);

/* Puts the rule in, which counts from then on: 0, or the driver's error, and nothing has changed.
 */
int trip_rule_create(
	uint16_t port_id, struct trip_rule *rule, bool drop, struct rte_flow_error *error);

/* What its counter has grown by, by kind, since this was last asked: 0, or the driver's error. */
int trip_rule_read(uint16_t port_id, struct trip_rule *rule, uint64_t grew[TRIP_COUNT_KINDS]);

/*
 * Makes the rule drop, or pass: the new one stands before the old one goes. What the old one has
 * counted last is in `grew`. Where the counter is not shared, the drop is above what it replaces,
 * so nothing reaches that any more when it is read; what replaces a drop is below it, and packets
 * that are dropped between the last reading and the destruction are not counted. An error leaves
 * the old rule as it was.
 */
int trip_rule_swap(uint16_t port_id, struct trip_rule *rule, bool drop,
	uint64_t grew[TRIP_COUNT_KINDS], struct rte_flow_error *error);

/* Takes the rule out. A shared counter stays, and can be read. */
int trip_rule_destroy(uint16_t port_id, struct trip_rule *rule);

/* Gives the shared counter back. */
void trip_rule_unshare(uint16_t port_id, struct trip_rule *rule);

#endif
