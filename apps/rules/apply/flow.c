/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes of a rule's pattern and actions what trip_flow_create() takes. */
#include "flow.h"

void
trip_apply_flow_actions(const struct trip_rules_count *rule, const uint16_t *queues,
	uint32_t n_queues, struct trip_apply_actions *actions)
{
	struct rte_flow_action *at = actions->list;

	*actions = (struct trip_apply_actions){
		.mark.id = rule->mark,
		.queue.index = rule->queue,
		.rss = {.queue_num = n_queues, .queue = queues},
	};
	*at++ = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_COUNT};
	if (rule->actions & TRIP_RULES_ACTION_MARK)
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_MARK, .conf = &actions->mark};
	if (rule->actions & TRIP_RULES_ACTION_QUEUE)
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &actions->queue};
	if (rule->actions & TRIP_RULES_ACTION_RSS)
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &actions->rss};
	if (rule->actions & TRIP_RULES_ACTION_DROP)
		*at++ = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_DROP};
	if (rule->also || rule->actions & TRIP_RULES_ACTION_PASSTHRU)
		*at++ = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_PASSTHRU};
	*at = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_END};
}

void
trip_apply_flow_attr(const struct trip_rules_count *rule, struct trip_flow_attr *attr)
{
	*attr = (struct trip_flow_attr){
		.size = sizeof(*attr),
		.priority = rule->priority,
		.allow = rule->allow,
		.group = rule->group,
		.engine = rule->engine,
		.direction =
			rule->direction == TRIP_RULES_EGRESS ? TRIP_FLOW_EGRESS : TRIP_FLOW_INGRESS,
		/* Where a driver recovers from an error and loses its rules. */
		.recreate = true,
	};
}
