/* SPDX-License-Identifier: BSD-3-Clause */
/* What a counted rule is created from: the attributes and actions that a driver is given. */
#ifndef TRIP_DRAFT_H
#define TRIP_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_config.h>
#include <rte_flow.h>

struct trip_rule;

#define TRIP_DRAFT_ACTIONS 4

/* Points into itself: not to be copied. */
struct trip_draft {
	struct rte_flow_attr attr;
	/* Up to the end, in the one order that every engine of mlx5 takes. */
	struct rte_flow_action actions[TRIP_DRAFT_ACTIONS];
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	uint16_t queues[RTE_MAX_QUEUES_PER_PORT];
};

/* Drafts a rule that drops, or does what was asked for: 0, or -ENOTSUP, or what ethdev says of the
 * port, and `error` is filled in. */
int trip_draft_rule(struct trip_draft *draft, uint16_t port_id, const struct trip_rule *rule,
	bool drop, struct rte_flow_error *error);

#endif
