/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules by templates: for a driver that takes no rte_flow_create(), as mlx5 with dv_flow_en=2. A
 * rule goes into a table, made for rules of its shape (items, masks, actions, priority), by an
 * operation on a flow queue; batch.h has what is done by operations. On the port's worker, which
 * alone uses the queue.
 *
 * Rows. A driver may find the rule to take out by what it matches (mlx5 does), so of two that match
 * the same in one table it might take the wrong one: no table has two, the second is refused. A
 * drop and what it replaces are in different tables, as their priorities differ.
 *
 * Group 0. mlx5 counts in no rule of it. So the rule stands in a group of ours, and a second one in
 * group 0 that matches the same brings it its packets. What no rule matches goes where it always
 * went. A jump for all packets would be cheaper, but what then matches no rule would be dropped,
 * or have to be sent somewhere by us: on an isolated port it would be taken from the kernel.
 */
#ifndef TRIP_TEMPLATE_H
#define TRIP_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#include "batch.h"
#include "draft.h"
#include "rule.h"
#include "shape.h"

/* Tables of a port, and rules of a table: when one is full there is another. */
#define TRIP_TEMPLATE_TABLES 128
#define TRIP_TEMPLATE_RULES 4096

/* Where rules stand that were asked for in group 0: "tr". */
#define TRIP_TEMPLATE_GROUP 0x7472

/* The last priority in group 0 that is ours: mlx5 has 16 there, and its own rules, which take all
 * that the port is to receive, have the last three. A jump with a later one would be reached by
 * nothing. */
#define TRIP_TEMPLATE_LAST_PRIORITY 12

/* Counters that a port is prepared with on top of those that are asked for. mlx5 keeps 254 of them
 * for each queue's own use, and those given back for a refresh period. */
#define TRIP_TEMPLATE_SPARE 1024

struct trip_template_table {
	/* NULL: none. */
	struct rte_flow_template_table *handle;
	struct rte_flow_pattern_template *pattern;
	struct rte_flow_actions_template *actions;
	struct rte_flow_attr attr;
	uint32_t action_types[TRIP_DRAFT_ACTIONS];
	struct trip_shape shape;
	uint32_t n_rules;
	/* By row, trip_shape_key(); 0: the row is free. */
	uint64_t *keys;
};

struct trip_template {
	uint16_t port_id;
	uint32_t queue;
	struct trip_batch batch;
	struct trip_template_table tables[TRIP_TEMPLATE_TABLES];
};

/* Whether a port has the template API, and whether its flow engine is configured already. */
bool trip_template_offered(uint16_t port_id);
bool trip_template_configured(uint16_t port_id, struct rte_flow_error *error);

/*
 * Configures the flow engine of a port that is not started, with one flow queue: 0, or -ERANGE:
 * more rules than the port has counters for, which are in `max`; or the driver's error.
 */
int trip_template_configure(
	uint16_t port_id, uint32_t n_rules, uint32_t *max, struct rte_flow_error *error);

/* NULL: no memory. */
struct trip_template *trip_template_open(
	uint16_t port_id, uint32_t queue, int (*wait)(void *arg), void *arg);

/* Gives the tables back, unless the driver has thrown them away. After the last rule. */
void trip_template_close(struct trip_template *templates, bool dead);

/*
 * Enqueues the creation of a rule, which stands in a row from then on: 0, and `completion` comes
 * back from the queue; or -EEXIST, -ENOSPC, -ENOTSUP, or the driver's error, and nothing has
 * changed. With `jump` it is the one that brings packets to the rule.
 */
int trip_template_put(struct trip_template *templates, struct trip_rule_entry *entry,
	const struct trip_rule *rule, bool drop, bool jump, void *completion,
	struct rte_flow_error *error);

/* The rule of this row is gone. */
void trip_template_free(struct trip_template *templates, struct trip_rule_entry *entry);

/* The port's stop has ended all rules, also those that nobody could take out. */
void trip_template_clear(struct trip_template *templates);

#endif
