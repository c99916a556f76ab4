/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows in hardware: rules of a port's rte_flow, by its worker. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <trip_set.h>

#include "domain/progress.h"
#include "flow/flow.h"
#include "fate.h"
#include "hard.h"

static int
refuse_pattern(const struct trip_flow_order *order, const struct trip_facts *facts)
{
	const struct rte_flow_item *worst;
	enum trip_facts_match match;

	for (worst = order->pattern; worst->type != RTE_FLOW_ITEM_TYPE_END; worst++)
		if ((int)worst->type == TRIP_FLOW_ITEM_TYPE_SET)
			return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
				worst, "item set: what is in a set only software knows");
	match = trip_facts_pattern(facts->kind, order->pattern, &worst);

	if (match == TRIP_FACTS_ALIKE ||
		(match == TRIP_FACTS_UNKNOWN && order->attr->engine == TRIP_FLOW_ENGINE_HW))
		return 0;
	return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, worst,
		match == TRIP_FACTS_OTHERS
			? "item %s matches other packets in %s than in software"
			: "item %s is not known to match the same packets in %s as in software",
		trip_flow_name(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, worst->type), facts->port.engine);
}

static int
refuse_actions(const struct trip_flow_order *order)
{
	const struct rte_flow_action *action = order->actions;

	for (; action != NULL && action->type != RTE_FLOW_ACTION_TYPE_END; action++) {
		switch (action->type) {
		case RTE_FLOW_ACTION_TYPE_VOID:
		case RTE_FLOW_ACTION_TYPE_COUNT:
		case RTE_FLOW_ACTION_TYPE_DROP:
		case RTE_FLOW_ACTION_TYPE_MARK:
		case RTE_FLOW_ACTION_TYPE_QUEUE:
		case RTE_FLOW_ACTION_TYPE_RSS:
			break;
		default:
			return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION,
				action,
				"action %s is not one of counted rules in hardware: COUNT, DROP, "
				"MARK, QUEUE, RSS",
				trip_flow_name(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, action->type));
		}
	}
	return 0;
}

/* What can be said without asking the driver. */
static int
refuse(const struct trip_flow_order *order, const struct trip_facts *facts)
{
	const struct trip_flow_attr *attr = order->attr;
	int result;

	if (facts->kind == TRIP_FACTS_NONE)
		return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
			NULL, "the driver %s has no rte_flow", facts->port.driver);
	if (attr->allow)
		return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR,
			order->given, "only software puts a rule before all others");
	if (attr->direction == TRIP_FLOW_EGRESS)
		return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS,
			order->given, "hardware counts what a port receives, not what it sends");
	if (attr->group != 0 && attr->engine != TRIP_FLOW_ENGINE_HW)
		return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_GROUP,
			order->given,
			"in hardware packets come to a group by a jump, in software to each");
	result = refuse_actions(order);
	return result == 0 ? refuse_pattern(order, facts) : result;
}

static bool
is_drop(const struct trip_flow_order *order)
{
	const struct rte_flow_action *action = order->actions;

	for (; action != NULL && action->type != RTE_FLOW_ACTION_TYPE_END; action++)
		if (action->type == RTE_FLOW_ACTION_TYPE_DROP)
			return true;
	return false;
}

/* The driver's words. */
static int
refuse_driver(const struct trip_flow_order *order, int result, const struct rte_flow_error *error)
{
	return trip_flow_refuse(order->error, -result, error->type, error->cause, "%s",
		error->message != NULL ? error->message
				       : "the driver refuses, and does not say why");
}

static int
init_rule(struct trip_rule *rule, const struct trip_flow_order *order)
{
	if (trip_rule_init(rule, order->attr->group, order->attr->priority, order->pattern,
		    order->actions) == 0)
		return 0;
	return trip_flow_refuse(order->error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"its pattern and actions cannot be copied");
}

static int
validate(uint16_t port_id, const struct trip_flow_order *order)
{
	struct rte_flow_error error = {0};
	struct trip_facts facts;
	struct trip_rule rule;
	int result = trip_facts_read(port_id, &facts);

	if (result == 0)
		result = refuse(order, &facts);
	if (result == 0)
		result = init_rule(&rule, order);
	if (result != 0)
		return result;
	result = trip_rule_validate(port_id, facts.port.templates, &rule, is_drop(order), &error);
	trip_rule_fini(&rule);
	return result == 0 ? 0 : refuse_driver(order, result, &error);
}

static int
add(struct trip_flow *flow, const struct trip_flow_order *order)
{
	struct rte_flow_error error = {0};
	struct trip_hard_call call = {
		.run = trip_hard_add, .flow = trip_flow_more(flow)->hard, .error = &error};
	int result = trip_flow_attach(flow, order->attr);

	if (result != 0)
		return result;
	trip_flow_more(flow)->hard->index = flow->index;
	trip_fate_begin(&trip_engine_change(&flow->port->domain->engine, flow->index)->fate,
		is_drop(order));
	result = trip_hard_call(flow->port->hard, &call);
	if (result == 0)
		return 0;
	trip_flow_detach(flow);
	return refuse_driver(order, result, &error);
}

static void
free_hard(struct trip_flow *flow)
{
	struct trip_flow_more *more = trip_flow_more(flow);

	trip_rule_fini(&more->hard->rule);
	free(more->hard);
	more->hard = NULL;
}

static int
create(struct trip_flow *flow, const struct trip_flow_order *order)
{
	struct trip_hard *hard = flow->port->hard;
	struct trip_hard_flow *made;
	/* A worker asks the driver itself, and knows the kind of engine. Not every port gets one:
	 * so before there is one, we ask. */
	int result =
		hard != NULL ? refuse(order, &hard->facts) : validate(flow->port->port_id, order);

	if (result == 0)
		result = trip_port_hard_start(flow->port);
	if (result != 0)
		return result;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return trip_flow_refuse(order->error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"no memory for its rule");
	made->final = true;
	made->recreate = order->attr->recreate;
	result = init_rule(&made->rule, order);
	made->rule.drop = is_drop(order);
	trip_flow_more(flow)->hard = made;
	if (result == 0)
		result = add(flow, order);
	if (result != 0)
		free_hard(flow);
	return result;
}

/* Has it run until the worker does not put it off any more. */
static void
call_patiently(struct trip_flow *flow, struct trip_hard_call *call)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	while (trip_hard_call(flow->port->hard, call) == -EAGAIN)
		nanosleep(&pause, NULL);
}

static void
retire(struct trip_flow *flow)
{
	struct trip_hard_call call = {.run = trip_hard_retire, .flow = trip_flow_more(flow)->hard};

	call_patiently(flow, &call);
}

static void
quit(struct trip_flow *flow)
{
	struct trip_hard_call call = {.run = trip_hard_remove, .flow = trip_flow_more(flow)->hard};

	retire(flow);
	call_patiently(flow, &call);
}

static void
query(struct trip_flow *flow)
{
	struct trip_hard_call call = {.run = trip_hard_query, .flow = trip_flow_more(flow)->hard};

	/* What the device does not answer, it has answered before. */
	if (!trip_progress_on_worker(flow->port->domain))
		call_patiently(flow, &call);
}

const struct trip_flow_ops trip_flow_hard = {
	.engine = TRIP_FLOW_ENGINE_HW,
	.validate = validate,
	.create = create,
	.retire = retire,
	.query = query,
	.quit = quit,
	.destroy = free_hard,
};
