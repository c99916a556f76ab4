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

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <rte_flow.h>

#include "count.h"

struct trip_template;

/* Of a driver that fails, which says how by either sign; -EIO is for one that does not. */
static inline int
trip_rule_error(int result)
{
	return result != 0 ? -abs(result) : -EIO;
}

/* What a caller has asked for. */
struct trip_rule_order {
	struct rte_flow_item *pattern;   /* a deep copy */
	struct rte_flow_action *actions; /* a deep copy; MARK, QUEUE and RSS of it are used */
	uint32_t group;
	uint32_t priority;
};

/* A rule as the driver has it. */
struct trip_rule_entry {
	/* NULL: there is none, or it is dead. */
	struct rte_flow *flow;
	/* Where there are templates. */
	uint16_t table, row;
};

struct trip_rule {
	struct trip_rule_order order;
	struct trip_rule_entry entry;
	/* Brings it the packets of group 0, where that takes a rule of its own: see template.h. */
	struct trip_rule_entry jump;
	/* NULL: the counter is the rule's own. */
	struct rte_flow_action_handle *shared;
	uint64_t last[TRIP_COUNT_KINDS];
	bool drop;
	/* A rule may stand that nobody can take out any more, until the port has stopped: so long
	 * the counter is not given back. */
	bool stuck;
};

/* A port, and how rules are put into it. */
struct trip_rule_port {
	uint16_t port_id;
	/* NULL: by rte_flow_create(). */
	struct trip_template *templates;
};

/* Copies what was asked for; 0, or -ENOMEM, -EINVAL: rte_flow cannot copy it. */
int trip_rule_init(struct trip_rule *rule, uint32_t group, uint32_t priority,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions);
void trip_rule_fini(struct trip_rule *rule);

/* Whether a port would take such a rule: 0, or the driver's error. Changes nothing. With
 * `templates` the driver is not asked: mlx5 HWS of DPDK 22.11 calls a null pointer in
 * rte_flow_validate(). */
int trip_rule_validate(uint16_t port_id, bool templates, struct trip_rule *rule, bool drop,
	struct rte_flow_error *error);

/* Whether rules of the port can share a counter: 0, or -EBUSY, -EAGAIN: it does not say. */
int trip_rule_probe_shared(uint16_t port_id, bool *shared, struct rte_flow_error *error);

/* Gives the rule a counter that outlives it, and notes what that shows already: 0, or the driver's
 * error. */
int trip_rule_share(uint16_t port_id, struct trip_rule *rule, struct rte_flow_error *error);

/* What its counter has grown by, by kind, since this was last asked: 0, or the driver's error. */
int trip_rule_read(uint16_t port_id, struct trip_rule *rule, uint64_t grew[TRIP_COUNT_KINDS]);

enum trip_rule_want {
	/* Puts the rule in, which counts from then on. An error: nothing has changed. */
	TRIP_RULE_PUT,
	/*
	 * Makes the rule drop, or pass: the new one stands before the old one goes. What the old
	 * one has counted last is in `grew`. Where the counter is not shared, the drop is above
	 * what it replaces, so nothing reaches that any more when it is read; what replaces a drop
	 * is below it, and packets that are dropped between the last reading and the destruction
	 * are not counted. An error leaves the old rule as it was; where templates are used and the
	 * old one's handle is gone all the same, the new one stays.
	 */
	TRIP_RULE_SWAP,
	/* Takes the rule out. A shared counter stays, and can be read. */
	TRIP_RULE_TAKE,
};

struct trip_rule_change {
	struct trip_rule *rule;
	enum trip_rule_want want;
	/* Of PUT and SWAP. */
	bool drop;
	struct rte_flow_error *error;
	/* 0, or the driver's error. */
	int result;
	uint64_t grew[TRIP_COUNT_KINDS];
	/* While a swap is under way. */
	struct trip_rule_entry fresh;
};

/* Makes changes of different rules, in no order. */
void trip_rule_apply(
	const struct trip_rule_port *port, struct trip_rule_change *changes, uint32_t n);

/* Takes one rule out: 0, or the driver's error. */
int trip_rule_take(const struct trip_rule_port *port, struct trip_rule *rule);

/* The driver has thrown the rule away. */
void trip_rule_forget(const struct trip_rule_port *port, struct trip_rule *rule);

/* Gives the shared counter back. */
void trip_rule_unshare(uint16_t port_id, struct trip_rule *rule);

#endif
