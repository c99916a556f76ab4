/* SPDX-License-Identifier: BSD-3-Clause */
/* From a `count` rule to a flow of the domain. */
#include <errno.h>
#include <stdio.h>

#include <rte_flow.h>

#include "flow.h"
#include "rules.h"

/* What the actions of a rule point to. */
struct actions {
	struct rte_flow_action list[6];
	struct rte_flow_action_mark mark;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
};

static void
fill_actions(const struct trip_rules_count *rule, struct actions *actions)
{
	/* All that a port is configured with. */
	static const uint16_t queues[] = {0};
	struct rte_flow_action *at = actions->list;

	*actions = (struct actions){
		.mark.id = rule->mark,
		.queue.index = rule->queue,
		.rss = {.queue_num = RTE_DIM(queues), .queue = queues},
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

static int
fail(const struct trip_rules_count *rule, const char *message, int ret)
{
	fprintf(stderr, "tripd: line %u of the rules, count %s: %s\n", rule->line, rule->name,
		message);
	return ret;
}

int
tripd_flow_open(const struct trip_rules_count *rule, struct tripd_quota_count *count,
	struct trip_port *port)
{
	struct trip_cntr *cntrs[] = {count->packets, count->bytes};
	struct trip_flow_attr attr = {
		.size = sizeof(attr),
		.cntrs = cntrs,
		.n_cntrs = RTE_DIM(cntrs),
		.priority = rule->priority,
		.group = rule->group,
		.engine = rule->engine == TRIP_RULES_ENGINE_HW   ? TRIP_ENGINE_HW
			  : rule->engine == TRIP_RULES_ENGINE_SW ? TRIP_ENGINE_SW
								 : TRIP_ENGINE_AUTO,
	};
	struct rte_flow_error error = {0};
	struct actions actions;
	int ret;

	if (rule->direction == TRIP_RULES_EGRESS)
		return fail(rule, "egress: what a port sends is not counted yet", -ENOTSUP);
	fill_actions(rule, &actions);
	ret = trip_flow_create(port, &attr, rule->items, actions.list, &count->flow, &error);
	if (ret != 0)
		return fail(
			rule, error.message != NULL ? error.message : trip_error_message(), ret);
	return 0;
}
