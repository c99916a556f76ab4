/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "rule.h"

/* The rte_flow priorities of one of ours: a drop goes above what it replaces. */
#define PRIORITY_DROP 0
#define PRIORITY_PASS 1
#define PRIORITIES 2

static const struct rte_flow_action_count no_count;

/* What a rule is created from. */
struct draft {
	struct rte_flow_attr attr;
	struct rte_flow_action actions[6];
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	uint16_t queues[RTE_MAX_QUEUES_PER_PORT];
};

static void *
copy(enum rte_flow_conv_op op, const void *from)
{
	struct rte_flow_error error;
	int size = rte_flow_conv(op, NULL, 0, from, &error);
	void *to = size > 0 ? malloc((size_t)size) : NULL;

	if (to != NULL && rte_flow_conv(op, to, (size_t)size, from, &error) != size) {
		free(to);
		to = NULL;
	}
	return to;
}

int
trip_rule_init(struct trip_rule *rule, uint32_t group, uint32_t priority,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions)
{
	static const struct rte_flow_action none = {.type = RTE_FLOW_ACTION_TYPE_END};

	*rule = (struct trip_rule){.order = {.group = group, .priority = priority}};
	rule->order.pattern = copy(RTE_FLOW_CONV_OP_PATTERN, pattern);
	rule->order.actions = copy(RTE_FLOW_CONV_OP_ACTIONS, actions != NULL ? actions : &none);
	if (rule->order.pattern != NULL && rule->order.actions != NULL)
		return 0;
	trip_rule_fini(rule);
	return -ENOMEM;
}

void
trip_rule_fini(struct trip_rule *rule)
{
	free(rule->order.pattern);
	free(rule->order.actions);
	rule->order = (struct trip_rule_order){0};
}

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
draft_default(struct draft *draft, uint16_t port_id, struct rte_flow_action *fate)
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
draft_fate(struct draft *draft, uint16_t port_id, const struct trip_rule *rule, bool drop,
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

static int
draft_rule(struct draft *draft, uint16_t port_id, const struct trip_rule *rule, bool drop,
	struct rte_flow_error *error)
{
	struct rte_flow_action *at = draft->actions;
	const struct rte_flow_action *mark =
		find_action(rule->order.actions, RTE_FLOW_ACTION_TYPE_MARK);
	int result;

	*draft = (struct draft){.attr = {.group = rule->order.group, .ingress = 1}};
	if (rule->order.priority > (UINT32_MAX - PRIORITY_PASS) / PRIORITIES)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, NULL,
			"the priority is beyond those of rte_flow");
	draft->attr.priority =
		rule->order.priority * PRIORITIES + (drop ? PRIORITY_DROP : PRIORITY_PASS);
	if (rule->shared != NULL)
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_INDIRECT, .conf = rule->shared};
	else
		*at++ = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &no_count};
	if (mark != NULL && !drop)
		*at++ = *mark;
	result = draft_fate(draft, port_id, rule, drop, at++);
	*at = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_END};
	return result == 0 ? 0
			   : rte_flow_error_set(error, -result, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
				     NULL, "the port does not say what queues it has");
}

/* A driver that fails has to say how; -EIO is for one that does not. */
static int
error_of(int result)
{
	return result < 0 ? result : result > 0 ? -result : -EIO;
}

int
trip_rule_validate(
	uint16_t port_id, struct trip_rule *rule, bool drop, struct rte_flow_error *error)
{
	struct rte_eth_dev_info info;
	struct draft draft;
	int result;

	/* Before it is configured a port has no queue that the driver would take. */
	drop |= rte_eth_dev_info_get(port_id, &info) == 0 && info.nb_rx_queues == 0;
	result = draft_rule(&draft, port_id, rule, drop, error);
	if (result != 0)
		return result;
	result = rte_flow_validate(port_id, &draft.attr, rule->order.pattern, draft.actions, error);
	return result == 0 ? 0 : error_of(result);
}

static struct rte_flow_action_handle *
create_counter(uint16_t port_id, struct rte_flow_error *error)
{
	static const struct rte_flow_indir_action_conf conf = {.ingress = 1};
	static const struct rte_flow_action count = {
		.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &no_count};

	return rte_flow_action_handle_create(port_id, &conf, &count, error);
}

bool
trip_rule_probe_shared(uint16_t port_id)
{
	struct rte_flow_error error;
	struct rte_flow_action_handle *handle = create_counter(port_id, &error);

	return handle != NULL && rte_flow_action_handle_destroy(port_id, handle, &error) == 0;
}

static int
query(uint16_t port_id, const struct trip_rule *rule, struct rte_flow_query_count *count)
{
	/* The list is the query's own: a driver may look at each action of it. */
	static const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &no_count},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error;
	int result;

	*count = (struct rte_flow_query_count){0};
	if (rule->shared != NULL)
		result = rte_flow_action_handle_query(port_id, rule->shared, count, &error);
	else if (rule->flow != NULL)
		result = rte_flow_query(port_id, rule->flow, actions, count, &error);
	else
		return -ENOENT;
	if (result != 0)
		return error_of(result);
	return count->hits_set ? 0 : -ENODATA;
}

int
trip_rule_share(uint16_t port_id, struct trip_rule *rule, struct rte_flow_error *error)
{
	struct rte_flow_query_count count;

	rule->shared = create_counter(port_id, error);
	if (rule->shared == NULL)
		return error_of(-rte_errno);
	/* A counter that was another's may begin anywhere. */
	if (query(port_id, rule, &count) == 0) {
		rule->last[TRIP_COUNT_KIND_PACKETS] = count.hits;
		rule->last[TRIP_COUNT_KIND_BYTES] = count.bytes;
	}
	return 0;
}

static struct rte_flow *
create(uint16_t port_id, const struct trip_rule *rule, bool drop, struct rte_flow_error *error,
	int *result)
{
	struct rte_flow *flow = NULL;
	struct draft draft;

	*result = draft_rule(&draft, port_id, rule, drop, error);
	if (*result != 0)
		return NULL;
	rte_errno = 0;
	flow = rte_flow_create(port_id, &draft.attr, rule->order.pattern, draft.actions, error);
	if (flow == NULL)
		*result = error_of(-rte_errno);
	return flow;
}

/* The rule's own counter is a new one. */
static void
begin(struct trip_rule *rule, struct rte_flow *flow, bool drop)
{
	rule->flow = flow;
	rule->drop = drop;
	if (rule->shared == NULL)
		rule->last[TRIP_COUNT_KIND_PACKETS] = rule->last[TRIP_COUNT_KIND_BYTES] = 0;
}

int
trip_rule_create(uint16_t port_id, struct trip_rule *rule, bool drop, struct rte_flow_error *error)
{
	int result;
	struct rte_flow *flow = create(port_id, rule, drop, error, &result);

	if (flow != NULL)
		begin(rule, flow, drop);
	return result;
}

static uint64_t
growth(uint64_t *last, uint64_t now)
{
	/* One that has gone down has begun anew. */
	uint64_t grew = now >= *last ? now - *last : now;

	*last = now;
	return grew;
}

int
trip_rule_read(uint16_t port_id, struct trip_rule *rule, uint64_t grew[TRIP_COUNT_KINDS])
{
	struct rte_flow_query_count count;
	int result = query(port_id, rule, &count);

	grew[TRIP_COUNT_KIND_PACKETS] = grew[TRIP_COUNT_KIND_BYTES] = 0;
	if (result != 0)
		return result;
	grew[TRIP_COUNT_KIND_PACKETS] = growth(&rule->last[TRIP_COUNT_KIND_PACKETS], count.hits);
	if (count.bytes_set)
		grew[TRIP_COUNT_KIND_BYTES] =
			growth(&rule->last[TRIP_COUNT_KIND_BYTES], count.bytes);
	return 0;
}

/* A rule that has stood for a moment: what came by counts. */
static void
take_back(uint16_t port_id, const struct trip_rule *rule, struct rte_flow *flow,
	uint64_t grew[TRIP_COUNT_KINDS])
{
	struct trip_rule brief = {.flow = flow};
	struct rte_flow_error error;
	uint64_t more[TRIP_COUNT_KINDS];

	if (rule->shared == NULL && trip_rule_read(port_id, &brief, more) == 0)
		for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			grew[kind] += more[kind];
	rte_flow_destroy(port_id, flow, &error);
}

int
trip_rule_swap(uint16_t port_id, struct trip_rule *rule, bool drop, uint64_t grew[TRIP_COUNT_KINDS],
	struct rte_flow_error *error)
{
	struct rte_flow *flow;
	int result;

	grew[TRIP_COUNT_KIND_PACKETS] = grew[TRIP_COUNT_KIND_BYTES] = 0;
	flow = create(port_id, rule, drop, error, &result);
	if (flow == NULL)
		return result;
	/* The last of the old one's own counter, before that goes with it. */
	if (rule->shared == NULL)
		result = trip_rule_read(port_id, rule, grew);
	if (result == 0)
		result = rte_flow_destroy(port_id, rule->flow, error);
	if (result != 0) {
		take_back(port_id, rule, flow, grew);
		return error_of(result);
	}
	begin(rule, flow, drop);
	return 0;
}

int
trip_rule_destroy(uint16_t port_id, struct trip_rule *rule)
{
	struct rte_flow_error error;
	int result;

	if (rule->flow == NULL)
		return 0;
	result = rte_flow_destroy(port_id, rule->flow, &error);
	/* Whatever it says: a handle that destroy has seen is not used again. */
	rule->flow = NULL;
	return result == 0 ? 0 : error_of(result);
}

void
trip_rule_unshare(uint16_t port_id, struct trip_rule *rule)
{
	struct rte_flow_error error;

	if (rule->shared != NULL)
		rte_flow_action_handle_destroy(port_id, rule->shared, &error);
	rule->shared = NULL;
}
