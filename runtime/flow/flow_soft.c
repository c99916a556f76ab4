/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows on the software engine: rules of a port's tables. */
#include <errno.h>

#include <rte_cycles.h>

#include "domain/progress.h"
#include "flow/flow.h"
#include "flow/set.h"
#include "fate.h"
#include "pattern.h"
#include "soft.h"

/* In the sequence of all flows that are not allowed: so those that are go before them. */
#define NOT_ALLOWED ((TRIP_TABLE_SEQUENCE_MAX + 1) / 2)

/* What a flow's attributes and actions come to. */
struct plan {
	struct trip_pattern pattern;
	struct trip_pattern_tests tests;
	enum trip_flow_direction direction;
	uint32_t group;
	uint32_t priority;
	uint32_t mark;
	uint8_t actions; /* TRIP_ACTION_* */
	bool also;
};

static int
plan_mark(struct plan *plan, const struct rte_flow_action *action, struct rte_flow_error *error)
{
	const struct rte_flow_action_mark *mark = action->conf;

	if (mark == NULL)
		return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
			"action MARK says no id");
	if (plan->direction == TRIP_FLOW_EGRESS)
		return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, action,
			"action MARK is for packets that are received, not for egress");
	plan->actions |= TRIP_ACTION_MARK;
	plan->mark = mark->id;
	return 0;
}

static int
plan_actions(struct plan *plan, const struct rte_flow_action *actions, struct rte_flow_error *error)
{
	int result = 0;

	for (; actions != NULL && actions->type != RTE_FLOW_ACTION_TYPE_END && result == 0;
		actions++) {
		switch (actions->type) {
		case RTE_FLOW_ACTION_TYPE_VOID:
		case RTE_FLOW_ACTION_TYPE_COUNT:
			break;
		case RTE_FLOW_ACTION_TYPE_DROP:
			plan->actions |= TRIP_ACTION_DROP;
			break;
		case RTE_FLOW_ACTION_TYPE_PASSTHRU:
			plan->also = true;
			break;
		case RTE_FLOW_ACTION_TYPE_MARK:
			result = plan_mark(plan, actions, error);
			break;
		default:
			return trip_flow_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, actions,
				"action %s is not one of the software engine's: COUNT, DROP, MARK, "
				"PASSTHRU",
				trip_flow_name(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, actions->type));
		}
	}
	if (result != 0)
		return result;
	if ((plan->actions & TRIP_ACTION_DROP) != 0 && plan->also)
		return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, actions,
			"DROP and PASSTHRU exclude each other");
	if ((plan->actions & TRIP_ACTION_ALLOW) != 0 &&
		(plan->also || (plan->actions & TRIP_ACTION_DROP) != 0))
		return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, actions,
			"what is allowed can have neither DROP nor PASSTHRU");
	return 0;
}

static int
plan_pattern(struct plan *plan, const struct rte_flow_item *pattern, struct rte_flow_error *error)
{
	struct rte_flow_error own = {0};
	int result = trip_pattern_compile_tests(pattern, &plan->pattern, &plan->tests, &own);

	return result == 0 ? 0
			   : trip_flow_refuse(error, -result, own.type, own.cause, "%s",
				     own.message != NULL ? own.message : "the pattern is refused");
}

static int
plan_rule(struct plan *plan, const struct trip_flow_order *order)
{
	int result;

	plan->direction = order->attr->direction;
	plan->group = order->attr->group;
	plan->priority = order->attr->priority;
	if (order->attr->allow) {
		plan->group = plan->priority = 0;
		plan->actions = TRIP_ACTION_ALLOW;
	}
	result = plan_actions(plan, order->actions, order->error);
	return result == 0 ? plan_pattern(plan, order->pattern, order->error) : result;
}

static int
validate(uint16_t port_id, const struct trip_flow_order *order)
{
	struct plan plan = {0};

	return plan_rule(&plan, order);
}

/* No burst of this process counts on it any more. */
static void
take_out(const struct trip_flow *flow)
{
	struct trip_table *table = trip_flow_side(flow)->table;
	uint64_t began = rte_rdtsc();

	trip_table_remove(table, flow->index);
	while (!trip_table_quiet(table, flow->index))
		trip_progress_wait_burst(began);
}

static int
insert(struct trip_flow *flow, const struct plan *plan, const struct trip_flow_order *order)
{
	struct trip_port *port = flow->port;
	struct trip_port_side *side = trip_flow_side(flow);
	struct trip_engine *engine = &port->domain->engine;
	bool drops = (plan->actions & TRIP_ACTION_DROP) != 0;
	struct trip_table_rule rule = {
		.rule = flow->index,
		.group = plan->group,
		.priority = plan->priority,
		.sequence = port->next_sequence |
			    ((plan->actions & TRIP_ACTION_ALLOW) != 0 ? 0 : NOT_ALLOWED),
		.mark = plan->mark,
		.also = plan->also,
	};
	int result;

	if (drops || trip_engine_is_changed(engine, flow->index))
		trip_fate_begin(&trip_engine_change(engine, flow->index)->fate, drops);
	atomic_store_explicit(&engine->actions[flow->index],
		(uint8_t)(TRIP_ACTION_ACTIVE | plan->actions), memory_order_release);
	result = trip_table_add(side->table, &rule, &plan->pattern);
	if (result == 0 && side->rules != NULL &&
		(result = trip_rulebook_put(side->rules, &rule, &plan->pattern)) != 0)
		take_out(flow);
	if (result != 0)
		return trip_flow_refuse(order->error, -result, RTE_FLOW_ERROR_TYPE_HANDLE, NULL,
			"%s",
			result == -ENOSPC ? "the port has the most different masks that it can have"
					  : "no memory for the rule");
	port->next_sequence++;
	return 0;
}

static int
create(struct trip_flow *flow, const struct trip_flow_order *order)
{
	struct plan plan = {0};
	int result = plan_rule(&plan, order);

	flow->direction = plan.direction & 1;
	if (result == 0 && trip_flow_side(flow)->n_queues == 0)
		result = trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS,
			order->given, "egress: the port was opened with n_tx_queues 0");
	if (result == 0)
		result = trip_set_attach(flow, &plan.tests, &plan.pattern, order->error);
	if (result != 0)
		return result;
	result = trip_flow_attach(flow, order->attr);
	if (result == 0 && (result = insert(flow, &plan, order)) != 0)
		trip_flow_detach(flow);
	if (result != 0)
		trip_set_detach(trip_flow_side(flow), &plan.pattern);
	return result;
}

static void
retire(struct trip_flow *flow)
{
	atomic_fetch_and_explicit(&flow->port->domain->engine.actions[flow->index],
		(uint8_t)~TRIP_ACTION_ACTIVE, memory_order_relaxed);
}

/* The queues' own counts are read. */
static void
query(struct trip_flow *flow)
{
}

/* The table is the control lock's. */
static void
quit(struct trip_flow *flow)
{
}

static void
destroy(struct trip_flow *flow)
{
	struct trip_port_side *side = trip_flow_side(flow);
	struct trip_pattern pattern = {0};
	struct trip_table_rule rule;
	uint64_t stamp = 0;

	if (side->rules != NULL)
		stamp = trip_rulebook_take(side->rules, flow->index);
	(void)trip_table_get(side->table, flow->index, &rule, &pattern);
	take_out(flow);
	trip_set_detach(side, &pattern);
	if (side->rules != NULL && !trip_port_wait_past(flow->port, side, stamp))
		trip_flow_hold_back(flow, stamp);
}

const struct trip_flow_ops trip_flow_soft = {
	.engine = TRIP_FLOW_ENGINE_SW,
	.validate = validate,
	.create = create,
	.retire = retire,
	.query = query,
	.quit = quit,
	.destroy = destroy,
};
