/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows and counters objects of an attached process: the primary has them, and makes the calls
 * (proxy.h). What was checked before is what needs no more than this process's handles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "client/protocol.h"
#include "domain/domain.h"
#include "flow/counters.h"
#include "flow/flow.h"
#include "flow/flow_wire.h"
#include "secondary/link.h"

struct far_flow {
	struct trip_flow flow;
	struct trip_flow_more more;
};

/* The handle is what it begins with. */
static struct trip_flow_more *
more_of(const struct trip_flow *flow)
{
	return &((struct far_flow *)(uintptr_t)flow)->more;
}

static struct trip_flow *
alloc_flow(struct trip_port *port, const struct trip_flow_attr *attr)
{
	struct far_flow *far = calloc(1, sizeof(*far));

	if (far == NULL)
		return NULL;
	far->flow.port = port;
	/* Its counters are held from closing. */
	for (unsigned int i = 0; i < attr->n_cntrs; i++) {
		far->more.cntrs[far->flow.n_cntrs++] = attr->cntrs[i];
		trip_fid_hold(&attr->cntrs[i]->fid);
	}
	return &far->flow;
}

static void
free_flow(struct trip_flow *flow)
{
	struct trip_flow_more *more = trip_flow_more(flow);

	while (flow->n_cntrs > 0)
		trip_fid_let_go(&more->cntrs[--flow->n_cntrs]->fid);
	free(more->reason);
	/* The handle is what it begins with. */
	free(flow);
}

static int
ask_of(struct trip_flow *flow, enum trip_protocol_flow_action action,
	union trip_protocol_answer *answer)
{
	const struct trip_protocol_flow_do asked = {
		.flow = trip_flow_more(flow)->id, .action = action};

	return trip_link_call(
		flow->port->domain, TRIP_PROTOCOL_FLOW_DO, &asked, sizeof(asked), answer, NULL);
}

/* The item or action of the caller's that an answer is about. */
static const void *
cause_of(const struct trip_flow_order *order, const struct trip_flow_wire *wire, uint32_t cause)
{
	if (cause == 0)
		return NULL;
	if (cause <= wire->n_items)
		return &order->pattern[cause - 1];
	cause -= wire->n_items;
	return order->actions != NULL && cause <= wire->n_actions ? &order->actions[cause - 1]
								  : NULL;
}

/* In the words of the primary. */
static int
refuse(const struct trip_flow_order *order, const struct trip_flow_wire *wire,
	const struct trip_protocol_made *made)
{
	int number = made->result < 0 ? -made->result : EPROTO;

	return trip_flow_refuse(order->error, number, (enum rte_flow_error_type)made->type,
		cause_of(order, wire, made->cause), "%.*s", (int)sizeof(made->text) - 1,
		made->text);
}

static int
take_made(struct trip_flow *flow, const struct trip_flow_order *order,
	const struct trip_flow_wire *wire, const struct trip_protocol_made *made)
{
	struct trip_flow_more *more = trip_flow_more(flow);

	if (made->result != 0)
		return refuse(order, wire, made);
	if (made->index >= flow->port->domain->attr.max_flows)
		return trip_flow_refuse(order->error, EPROTO, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the primary gives a flow that the domain does not have");
	more->id = made->flow;
	flow->index = made->index & 0x3fffff;
	more->reason = strndup(made->text, sizeof(made->text));
	if (more->reason != NULL)
		return 0;
	(void)ask_of(flow, TRIP_PROTOCOL_FLOW_DESTROY, NULL);
	return trip_flow_refuse(order->error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"no memory for its handle");
}

/* What is asked of the primary for a rule: 0, or the error. */
static int
pack(struct trip_protocol_flow *asked, const struct trip_flow_order *order, uint16_t port_id,
	struct trip_flow_wire *wire)
{
	const struct trip_flow_attr *attr = order->attr;
	int error = trip_flow_wire_pack(wire, order->pattern, order->actions, order->error);

	if (error != 0)
		return error;
	if (attr->allow)
		return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR,
			order->given, "only the primary allows");
	*asked = (struct trip_protocol_flow){
		.priority = attr->priority,
		.group = attr->group,
		.engine = (uint32_t)attr->engine,
		.direction = (uint32_t)attr->direction,
		.recreate = attr->recreate,
		.port = port_id,
	};
	if (attr->reason != NULL)
		strncpy(asked->reason, attr->reason, sizeof(asked->reason) - 1);
	/* What lies behind the rule is nobody's business. */
	memset(wire->bytes + wire->used, 0, sizeof(wire->bytes) - wire->used);
	memcpy(asked->rule, wire, sizeof(asked->rule));
	return 0;
}

static int
ask_for(struct trip_flow *flow, const struct trip_flow_order *order)
{
	const struct trip_flow_attr *attr = order->attr;
	struct trip_protocol_flow asked;
	struct trip_flow_wire wire;
	union trip_protocol_answer answer;
	int error = pack(&asked, order, flow->port->port_id, &wire);

	if (error != 0)
		return error;
	asked.counters = attr->counters != NULL ? attr->counters->far : 0;
	asked.n_cntrs = attr->n_cntrs;
	for (unsigned int i = 0; i < attr->n_cntrs; i++)
		asked.cntrs[i] = attr->cntrs[i]->id;
	error = trip_link_call(
		flow->port->domain, TRIP_PROTOCOL_FLOW, &asked, sizeof(asked), &answer, NULL);
	if (error != 0)
		return trip_flow_refuse(order->error, -error, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the primary does not answer");
	return take_made(flow, order, &wire, &answer.made);
}

static int
create(struct trip_port *port, const struct trip_flow_order *order, struct trip_flow **out)
{
	struct trip_flow *flow = alloc_flow(port, order->attr);
	int result;

	if (flow == NULL)
		return trip_flow_refuse(order->error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"no memory for its handle");
	result = ask_for(flow, order);
	if (result != 0) {
		free_flow(flow);
		return result;
	}
	trip_domain_count(port->domain, &port->n_flows, 1);
	*out = flow;
	return 0;
}

static int
validate(uint16_t port_id, const struct trip_flow_order *order, const char **reason)
{
	static _Thread_local union trip_protocol_answer answer;
	struct trip_protocol_flow asked;
	struct trip_flow_wire wire;
	int error = pack(&asked, order, port_id, &wire);

	if (error != 0)
		return error;
	error = trip_link_call_once(TRIP_PROTOCOL_VALIDATE, &asked, sizeof(asked), &answer);
	if (error != 0)
		return trip_flow_refuse(order->error, -error, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the primary does not answer");
	if (answer.made.result < 0)
		return refuse(order, &wire, &answer.made);
	if (reason != NULL)
		*reason = answer.made.text;
	return answer.made.result;
}

static int
query(struct trip_flow *flow, struct trip_flow_count *count)
{
	union trip_protocol_answer answer;
	int error = ask_of(flow, TRIP_PROTOCOL_FLOW_QUERY, &answer);

	if (error != 0)
		return error;
	*count = (struct trip_flow_count){
		.packets = answer.counted.packets,
		.bytes = answer.counted.bytes,
		.policed_packets = answer.counted.policed_packets,
		.policed_bytes = answer.counted.policed_bytes,
		.police_rate = answer.counted.police_rate,
		.police_unit = answer.counted.police_unit,
		.police_burst_ms = answer.counted.police_burst_ms,
		.fate = (enum trip_flow_fate)answer.counted.fate,
		.engine = (enum trip_flow_engine)answer.counted.engine,
	};
	return 0;
}

static int
retire(struct trip_flow *flow)
{
	return ask_of(flow, TRIP_PROTOCOL_FLOW_RETIRE, NULL);
}

static int
destroy(struct trip_flow *flow)
{
	int error = ask_of(flow, TRIP_PROTOCOL_FLOW_DESTROY, NULL);

	if (error != 0)
		return error;
	trip_domain_count(flow->port->domain, &flow->port->n_flows, -1);
	free_flow(flow);
	return 0;
}

/* If so, until it ends. */
static bool
has_police(const struct trip_flow *flow)
{
	const struct trip_engine *engine = &flow->port->domain->engine;

	return atomic_load_explicit(&engine->police_of[flow->index], memory_order_relaxed) != 0;
}

int
trip_link_flow_police(struct trip_flow *flow, struct trip_flow *with)
{
	const struct trip_protocol_flow_do asked = {
		.flow = trip_flow_more(flow)->id,
		.with = with != NULL ? trip_flow_more(with)->id : 0,
		.action = TRIP_PROTOCOL_FLOW_POLICE,
	};

	if (has_police(flow) && (with == NULL || has_police(with)))
		return 0;
	return trip_link_call(
		flow->port->domain, TRIP_PROTOCOL_FLOW_DO, &asked, sizeof(asked), NULL, NULL);
}

const struct trip_flow_backend trip_link_flow = {
	.validate = validate,
	.create = create,
	.retire = retire,
	.query = query,
	.destroy = destroy,
	.more = more_of,
};

/* ---- counters objects ---- */

static int
create_counters(struct trip_domain *domain, uint32_t slots, uint64_t *id)
{
	const struct trip_protocol_counters asked = {.slots = slots};
	union trip_protocol_answer answer;
	int error = trip_link_call(
		domain, TRIP_PROTOCOL_COUNTERS, &asked, sizeof(asked), &answer, NULL);

	if (error == 0)
		*id = answer.counters;
	return error;
}

static int
attach_point(struct trip_counters *counters, const struct trip_counter_attach_attr *attr,
	struct trip_flow *flow)
{
	const struct trip_protocol_point asked = {
		.counters = counters->far,
		.flow = flow != NULL ? trip_flow_more(flow)->id : 0,
		.index = attr->index,
		.desc = (uint32_t)attr->counter_desc,
	};

	return trip_link_call(
		counters->domain, TRIP_PROTOCOL_POINT, &asked, sizeof(asked), NULL, NULL);
}

static int
read_counters(struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	struct trip_protocol_counters_read asked = {.counters = counters->far, .flags = flags};
	union trip_protocol_answer answer;

	/* Also for none, which may be wrong in other ways. */
	do {
		int error;

		asked.count = RTE_MIN(n - asked.first, TRIP_PROTOCOL_VALUES);
		error = trip_link_call(counters->domain, TRIP_PROTOCOL_COUNTERS_READ, &asked,
			sizeof(asked), &answer, NULL);
		if (error != 0)
			return error;
		if (asked.count > 0)
			memcpy(values + asked.first, answer.values.value,
				asked.count * sizeof(*values));
		asked.first += asked.count;
		/* The sources have been asked. */
		asked.flags |= TRIP_READ_CACHED;
	} while (asked.first < n);
	return 0;
}

static int
destroy_counters(struct trip_counters *counters)
{
	return trip_link_call(counters->domain, TRIP_PROTOCOL_COUNTERS_CLOSE, &counters->far,
		sizeof(counters->far), NULL, NULL);
}

const struct trip_counters_backend trip_link_counters = {
	.create = create_counters,
	.destroy = destroy_counters,
	.attach = attach_point,
	.read = read_counters,
};
