/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a counted flow on the software engine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#include "soft.h"
#include "error.h"
#include "pattern.h"
#include "port.h"
#include "progress.h"
#include "source.h"
#include "work.h"

/* What a flow's attributes and actions come to. */
struct plan {
	struct trip_pattern pattern;
	enum trip_flow_direction direction;
	uint32_t group;
	uint32_t priority;
	uint32_t mark;
	uint8_t actions; /* TRIP_ACTION_* */
	bool also;
};

static int
refuse(struct rte_flow_error *error, int number, enum rte_flow_error_type type, const void *cause,
	const char *message)
{
	if (error != NULL)
		*error = (struct rte_flow_error){.type = type, .cause = cause, .message = message};
	return trip_error_set(number, "flow: %s", message);
}

static int
plan_mark(struct plan *plan, const struct rte_flow_action *action, struct rte_flow_error *error)
{
	const struct rte_flow_action_mark *mark = action->conf;

	if (mark == NULL)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
			"action MARK says no id");
	if (plan->direction == TRIP_FLOW_EGRESS)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, action,
			"action MARK is for packets that are received, not for egress");
	plan->actions |= TRIP_ACTION_MARK;
	plan->mark = mark->id;
	return 0;
}

static int
refuse_action(const struct rte_flow_action *action, struct rte_flow_error *error)
{
	static _Thread_local char message[128];
	const char *name = NULL;

	if (rte_flow_conv(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, &name, sizeof(name),
		    (const void *)(uintptr_t)(unsigned int)action->type, NULL) < 0)
		name = "unknown";
	snprintf(message, sizeof(message),
		"action %s is not one of the software engine's: COUNT, DROP, MARK, PASSTHRU", name);
	return refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action, message);
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
			result = refuse_action(actions, error);
		}
	}
	if (result != 0)
		return result;
	if ((plan->actions & TRIP_ACTION_DROP) != 0 && plan->also)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, actions,
			"DROP and PASSTHRU exclude each other");
	return 0;
}

static int
plan_attr(struct plan *plan, const struct trip_flow_attr *attr, struct rte_flow_error *error)
{
	if (attr->size != sizeof(*attr))
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr,
			"the attribute size is not the known one");
	if (attr->engine == TRIP_ENGINE_HW)
		return refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR, attr,
			"the hardware engine is not built yet: choose auto or sw");
	if ((unsigned int)attr->engine > TRIP_ENGINE_SW)
		return refuse(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr, "the engine is unknown");
	if ((unsigned int)attr->direction > TRIP_FLOW_EGRESS)
		return refuse(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr, "the direction is unknown");
	plan->direction = attr->direction;
	plan->group = attr->group;
	plan->priority = attr->priority;
	return 0;
}

static int
check_cntrs(const struct trip_port *port, const struct trip_flow_attr *attr,
	struct rte_flow_error *error)
{
	if (attr->n_cntrs > TRIP_FLOW_CNTRS_MAX || (attr->n_cntrs > 0 && attr->cntrs == NULL))
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr,
			"a flow feeds at most one counter of packets and one of bytes");
	for (unsigned int i = 0; i < attr->n_cntrs; i++) {
		if (attr->cntrs[i] == NULL)
			return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr,
				"one of its counters is NULL");
		if (attr->cntrs[i]->fid.domain != port->domain)
			return refuse(error, EXDEV, RTE_FLOW_ERROR_TYPE_ATTR, attr,
				"one of its counters is of another domain");
		if (i > 0 && attr->cntrs[i]->events == attr->cntrs[0]->events)
			return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, attr,
				"both of its counters count the same events");
	}
	return 0;
}

static int
plan_pattern(struct plan *plan, const struct rte_flow_item *pattern, struct rte_flow_error *error)
{
	struct rte_flow_error own = {0};
	int result;

	if (pattern == NULL)
		return refuse(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, NULL, "no pattern is given");
	result = trip_pattern_compile(pattern, &plan->pattern, &own);
	return result == 0 ? 0
			   : refuse(error, -result, own.type, own.cause,
				     own.message != NULL ? own.message : "the pattern is refused");
}

/* Links the flow's counters, through their homes. Under the control lock. */
static void
link_cntrs(struct trip_flow *flow, const struct trip_flow_attr *attr)
{
	struct trip_domain *domain = flow->port->domain;
	struct trip_flow_slot *slot = &domain->engine.flows[flow->index];

	slot->first_queue = (uint16_t)flow->side->first_queue;
	slot->n_queues = flow->side->n_queues;
	for (unsigned int i = 0; i < attr->n_cntrs; i++) {
		struct trip_cntr *cntr = attr->cntrs[i];

		flow->cntrs[flow->n_cntrs++] = cntr;
		atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&cntr->flows, 1, memory_order_relaxed);
		atomic_store_explicit(
			&slot->source[cntr->events].cntr, cntr->global, memory_order_release);
	}
	for (unsigned int i = 0; i < flow->n_cntrs; i++)
		if (i == 0 || flow->cntrs[i]->home != flow->cntrs[0]->home)
			trip_progress_call(
				domain, flow->cntrs[i]->home, trip_source_link, flow->index);
}

/* The homes fold what is left. Under the control lock. */
static void
unlink_cntrs(struct trip_flow *flow)
{
	struct trip_domain *domain = flow->port->domain;
	struct trip_flow_slot *slot = &domain->engine.flows[flow->index];

	for (unsigned int i = 0; i < flow->n_cntrs; i++)
		if (i == 0 || flow->cntrs[i]->home != flow->cntrs[0]->home)
			trip_progress_call(
				domain, flow->cntrs[i]->home, trip_source_unlink, flow->index);
	for (unsigned int i = 0; i < flow->n_cntrs; i++) {
		atomic_store_explicit(&slot->source[flow->cntrs[i]->events].cntr, TRIP_NONE,
			memory_order_relaxed);
		atomic_fetch_sub_explicit(&flow->cntrs[i]->flows, 1, memory_order_relaxed);
		atomic_fetch_sub_explicit(&flow->cntrs[i]->refs, 1, memory_order_release);
	}
	flow->n_cntrs = 0;
}

/* Takes a slot whose counts no queue can reach any more, and makes it new. Under the control lock.
 */
static int
take_slot(struct trip_flow *flow)
{
	struct trip_domain *domain = flow->port->domain;
	uint32_t index = trip_domain_take(&domain->flows);

	if (index == TRIP_NONE)
		return trip_error_set(ENOSPC, "domain \"%s\": all %" PRIu32 " flows are open",
			domain->name, domain->attr.max_flows);
	flow->index = index;
	for (uint32_t q = 0; q < flow->side->n_queues; q++)
		trip_count_init(
			trip_engine_count(&domain->engine, flow->side->first_queue + q, index));
	return 0;
}

/* Under the control lock. */
static int
insert(struct trip_flow *flow, const struct plan *plan, const struct trip_flow_attr *attr,
	struct rte_flow_error *error)
{
	struct trip_port *port = flow->port;
	struct trip_domain *domain = port->domain;
	struct trip_table_rule rule = {
		.group = plan->group,
		.priority = plan->priority,
		.sequence = port->next_sequence,
		.mark = plan->mark,
		.also = plan->also,
	};
	int result = take_slot(flow);

	if (result != 0)
		return result;
	rule.rule = flow->index;
	link_cntrs(flow, attr);
	atomic_store_explicit(&domain->engine.actions[flow->index],
		(uint8_t)(TRIP_ACTION_ACTIVE | plan->actions), memory_order_release);
	result = trip_table_add(flow->side->table, &rule, &plan->pattern);
	if (result != 0) {
		unlink_cntrs(flow);
		trip_domain_give(&domain->flows, flow->index);
		return refuse(error, -result, RTE_FLOW_ERROR_TYPE_HANDLE, NULL,
			result == -ENOSPC ? "the port has the most different masks that it can have"
					  : "no memory for the rule");
	}
	port->next_sequence++;
	port->n_flows++;
	return 0;
}

static int
plan_rule(struct plan *plan, const struct trip_flow_attr *attr, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions, struct rte_flow_error *error)
{
	int result = plan_attr(plan, attr, error);

	if (result == 0)
		result = plan_actions(plan, actions, error);
	return result == 0 ? plan_pattern(plan, pattern, error) : result;
}

static const struct trip_flow_attr default_attr = {.size = sizeof(default_attr)};

int
trip_flow_validate(uint16_t port_id, const struct trip_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	const char **reason, struct rte_flow_error *error)
{
	struct plan plan = {0};
	int result;

	if (attr == NULL)
		attr = &default_attr;
	if (!rte_eth_dev_is_valid_port(port_id)) {
		refuse(error, ENODEV, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"there is no such port");
		return trip_error_set(ENODEV, "port %" PRIu16 ": there is no such port", port_id);
	}
	result = plan_rule(&plan, attr, pattern, actions, error);
	if (result != 0)
		return result;
	if (reason != NULL)
		*reason = attr->engine == TRIP_ENGINE_SW
				  ? "the rule asks for it"
				  : "flow counters of hardware are not built yet";
	return TRIP_ENGINE_SW;
}

int
trip_flow_create(struct trip_port *port, const struct trip_flow_attr *given,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct trip_flow **out, struct rte_flow_error *error)
{
	const struct trip_flow_attr *attr = given != NULL ? given : &default_attr;
	struct plan plan = {0};
	struct trip_flow *flow;
	int result;

	if (trip_domain_on_home(port->domain))
		return refuse(error, EDEADLK, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"a home cannot create flows, which would wait for it");
	result = plan_rule(&plan, attr, pattern, actions, error);
	if (result == 0 && port->sides[plan.direction].n_queues == 0)
		result = refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, attr,
			"egress: the port was opened with n_tx_queues 0");
	if (result == 0)
		result = check_cntrs(port, attr, error);
	if (result != 0)
		return result;
	flow = calloc(1, sizeof(*flow));
	if (flow == NULL)
		return refuse(error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"no memory for its handle");
	flow->port = port;
	flow->side = &port->sides[plan.direction];
	pthread_mutex_lock(&port->domain->control);
	result = insert(flow, &plan, attr, error);
	pthread_mutex_unlock(&port->domain->control);
	if (result != 0) {
		free(flow);
		return result;
	}
	*out = flow;
	return 0;
}

int
trip_flow_destroy(struct trip_flow *flow)
{
	struct trip_port *port = flow->port;
	struct trip_domain *domain = port->domain;
	uint32_t refs;

	if (trip_domain_on_home(domain))
		return trip_error_set(EDEADLK,
			"flow %" PRIu32 ": a home cannot destroy flows, which "
			"would wait for it",
			flow->index);
	trip_work_reap(domain);
	refs = atomic_load_explicit(&flow->refs, memory_order_acquire);
	if (refs > 0)
		return trip_error_set(EBUSY,
			"flow %" PRIu32 ": %" PRIu32 " pending work items refer to it", flow->index,
			refs);
	/* An operation on it that has just started finishes first. */
	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		trip_progress_quiesce(domain, domain->engine.homes[i]);
	pthread_mutex_lock(&domain->control);
	trip_table_remove(flow->side->table, flow->index);
	while (!trip_table_quiet(flow->side->table, flow->index))
		trip_progress_wait(domain);
	unlink_cntrs(flow);
	atomic_store_explicit(&domain->engine.actions[flow->index], 0, memory_order_relaxed);
	trip_domain_give(&domain->flows, flow->index);
	port->n_flows--;
	pthread_mutex_unlock(&domain->control);
	free(flow);
	return 0;
}

const struct trip_domain *
trip_flow_domain(const struct trip_flow *flow)
{
	return flow->port->domain;
}

int
trip_flow_query(struct trip_flow *flow, struct trip_flow_count *count)
{
	const struct trip_engine *engine = &flow->port->domain->engine;
	uint8_t action = atomic_load_explicit(&engine->actions[flow->index], memory_order_relaxed);

	*count = (struct trip_flow_count){.engine = TRIP_ENGINE_SW};
	for (uint32_t q = 0; q < flow->side->n_queues; q++) {
		const struct trip_count *line =
			trip_engine_count(engine, flow->side->first_queue + q, flow->index);

		count->packets += trip_count_read(line, TRIP_COUNT_KIND_PACKETS);
		count->bytes += trip_count_read(line, TRIP_COUNT_KIND_BYTES);
	}
	if ((action & TRIP_ACTION_ACTIVE) == 0)
		count->fate = TRIP_FATE_DELETED;
	else if ((action & TRIP_ACTION_DROP) != 0)
		count->fate = TRIP_FATE_DROP;
	return 0;
}
