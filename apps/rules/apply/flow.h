/* SPDX-License-Identifier: BSD-3-Clause */
/* What trip_flow_create() is asked for by a `count` rule, for each of its patterns. */
#ifndef TRIP_APPLY_FLOW_H
#define TRIP_APPLY_FLOW_H

#include "rules.h"

/* Actions of a rule, with what they point to: it stays where it is. */
struct trip_apply_actions {
	/* COUNT, MARK, QUEUE, RSS, DROP, PASSTHRU, END. */
	struct rte_flow_action list[7];
	struct rte_flow_action_mark mark;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
};

/* `queues` are all that its port is configured with, for TRIP_RULES_ACTION_RSS; they stay, too. */
void trip_apply_flow_actions(const struct trip_rules_count *rule, const uint16_t *queues,
	uint32_t n_queues, struct trip_apply_actions *actions);

/* All but its counters. */
void trip_apply_flow_attr(const struct trip_rules_count *rule, struct trip_flow_attr *attr);

#endif
