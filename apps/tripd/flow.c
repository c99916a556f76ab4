/* SPDX-License-Identifier: BSD-3-Clause */
/* From a `count` rule to flows of the domain: one for each of its patterns, all on its counters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

static void
fill_attr(const struct trip_rules_count *rule, struct trip_flow_attr *attr)
{
	static const enum trip_flow_engine engines[] = {
		[TRIP_RULES_ENGINE_AUTO] = TRIP_ENGINE_AUTO,
		[TRIP_RULES_ENGINE_HW] = TRIP_ENGINE_HW,
		[TRIP_RULES_ENGINE_SW] = TRIP_ENGINE_SW,
	};

	*attr = (struct trip_flow_attr){
		.size = sizeof(*attr),
		.priority = rule->priority,
		.group = rule->group,
		.engine = engines[rule->engine],
		.direction =
			rule->direction == TRIP_RULES_EGRESS ? TRIP_FLOW_EGRESS : TRIP_FLOW_INGRESS,
	};
}

int
tripd_flow_validate(const struct trip_rules_count *rule, const char **reason)
{
	static struct rte_flow_error error;
	struct trip_flow_attr attr;
	struct actions actions;
	int ret = 0;

	fill_attr(rule, &attr);
	fill_actions(rule, &actions);
	for (unsigned int i = 0; i < rule->n_patterns && ret >= 0; i++)
		ret = trip_flow_validate(
			rule->port, &attr, rule->patterns[i], actions.list, reason, &error);
	if (ret < 0)
		*reason = error.message != NULL ? error.message : trip_error_message();
	return ret;
}

int
tripd_flow_open(const struct trip_rules_count *rule, struct tripd_quota_count *count,
	struct trip_port *port)
{
	struct trip_cntr *cntrs[] = {count->packets, count->bytes};
	struct trip_flow_attr attr;
	struct rte_flow_error error = {0};
	struct actions actions;

	fill_attr(rule, &attr);
	attr.cntrs = cntrs;
	attr.n_cntrs = RTE_DIM(cntrs);
	count->flows = calloc(rule->n_patterns, sizeof(struct trip_flow *));
	if (count->flows == NULL)
		return fail(rule, "no memory", -ENOMEM);
	fill_actions(rule, &actions);
	for (unsigned int i = 0; i < rule->n_patterns; i++) {
		int ret = trip_flow_create(
			port, &attr, rule->patterns[i], actions.list, &count->flows[i], &error);

		if (ret != 0)
			return fail(rule,
				error.message != NULL ? error.message : trip_error_message(), ret);
		count->n_flows++;
	}
	return 0;
}

void
tripd_flow_query(const struct tripd_quota_count *count, struct trip_flow_count *sum)
{
	struct trip_flow_count one;

	*sum = (struct trip_flow_count){0};
	for (unsigned int i = 0; i < count->n_flows; i++) {
		trip_flow_query(count->flows[i], &one);
		sum->packets += one.packets;
		sum->bytes += one.bytes;
		sum->fate = one.fate;
		sum->engine = one.engine;
	}
}

void
tripd_flow_retire(struct tripd_quota_count *count)
{
	for (unsigned int i = 0; i < count->n_flows; i++)
		trip_flow_retire(count->flows[i]);
}

const char *
tripd_flow_reason(const struct tripd_quota_count *count)
{
	return count->n_flows > 0 ? trip_flow_reason(count->flows[0]) : "";
}

int
tripd_flow_close(struct tripd_quota_count *count)
{
	int ret = 0;

	for (unsigned int i = 0; i < count->n_flows; i++) {
		int one = trip_flow_destroy(count->flows[i]);

		ret = one != 0 ? one : ret;
	}
	free(count->flows);
	count->flows = NULL;
	count->n_flows = 0;
	return ret;
}
