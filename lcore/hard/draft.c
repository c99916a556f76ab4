/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the attributes and actions of a counted rule. */
#include <errno.h>

#include <rte_ethdev.h>

#include "draft.h"
#include "rule.h"

/* The rte_flow priorities of one of ours: a drop goes above what it replaces. */
#define PRIORITY_DROP 0
#define PRIORITY_PASS 1
#define PRIORITIES 2

static const struct rte_flow_action_count no_count;

static const struct rte_flow_action *
find_action(const struct rte_flow_action *actions, enum rte_flow_action_type type)
{
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++)
		if (actions->type == type)
			return actions;
	return NULL;
}

/* Where packets go that nobody has said anything about: where they went without the rule, which is
 * over all queues of the port, by its hash. */
static int
draft_default(struct trip_draft *draft, uint16_t port_id, struct rte_flow_action *fate)
{
	struct rte_eth_rss_conf conf = {0};
	struct rte_eth_dev_info info;
	int error = rte_eth_dev_info_get(port_id, &info);

	if (error != 0)
		return error;
	/* Without a hash all go to the first. */
	if (info.nb_rx_queues < 2 || rte_eth_dev_rss_hash_conf_get(port_id, &conf) != 0 ||
		conf.rss_hf == 0) {
		*fate = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &draft->queue};
		return 0;
	}
	for (uint16_t q = 0; q < info.nb_rx_queues; q++)
		draft->queues[q] = q;
	draft->rss = (struct rte_flow_action_rss){
		.types = conf.rss_hf, .queue_num = info.nb_rx_queues, .queue = draft->queues};
	*fate = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &draft->rss};
	return 0;
}

static int
draft_fate(struct trip_draft *draft, uint16_t port_id, const struct trip_rule *rule, bool drop,
	struct rte_flow_action *fate)
{
	const struct rte_flow_action *asked;

	if (drop) {
		*fate = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_DROP};
		return 0;
	}
	asked = find_action(rule->order.actions, RTE_FLOW_ACTION_TYPE_QUEUE);
	if (asked == NULL)
		asked = find_action(rule->order.actions, RTE_FLOW_ACTION_TYPE_RSS);
	if (asked == NULL)
		return draft_default(draft, port_id, fate);
	*fate = *asked;
	return 0;
}

int
trip_draft_rule(struct trip_draft *draft, uint16_t port_id, const struct trip_rule *rule, bool drop,
	struct rte_flow_error *error)
{
	struct rte_flow_action *at = draft->actions;
	const struct rte_flow_action *mark =
		find_action(rule->order.actions, RTE_FLOW_ACTION_TYPE_MARK);
	int result;

	*draft = (struct trip_draft){.attr = {.group = rule->order.group, .ingress = 1}};
	if (rule->order.priority > (UINT32_MAX - PRIORITY_PASS) / PRIORITIES)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, NULL,
			"the priority is beyond those of rte_flow");
	draft->attr.priority =
		rule->order.priority * PRIORITIES + (drop ? PRIORITY_DROP : PRIORITY_PASS);
	if (mark != NULL && !drop)
		*at++ = *mark;
	if (rule->shared != NULL)
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_INDIRECT, .conf = rule->shared};
	else
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &no_count};
	result = draft_fate(draft, port_id, rule, drop, at++);
	*at = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_END};
	return result == 0 ? 0
			   : rte_flow_error_set(error, -result, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
				     NULL, "the port does not say what queues it has");
}
