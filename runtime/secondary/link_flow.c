/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "client/protocol.h"
#include "domain/error.h"
#include "flow/counters.h"
#include "flow/flow.h"
#include "flow/flow_wire.h"
#include "secondary/link.h"
#include "secondary/link_flow.h"

int
trip_link_quiesce(struct trip_domain *domain)
{
	uint32_t n_ports;

	pthread_mutex_lock(&domain->lock);
	n_ports = domain->n_ports;
	pthread_mutex_unlock(&domain->lock);
	/* A port is closed after its flows, and a flow is destroyed after what was done to it. */
	return n_ports > 0 ? trip_link_call_slow(domain, TRIP_PROTOCOL_QUIESCE, NULL, 0, NULL) : 0;
}

int
trip_link_port_find(
	struct trip_domain *domain, uint16_t port_id, struct trip_protocol_found *found, int *fd)
{
	const struct trip_protocol_port port = {.port = port_id};
	union trip_protocol_answer answer;
	int error = trip_link_call_slow_fd(
		domain, TRIP_PROTOCOL_PORT, &port, sizeof(port), &answer, fd);

	if (error != 0)
		return error;
	*found = answer.port;
	if (*fd >= 0)
		return 0;
	(void)trip_link_port_close(domain, port_id);
	return trip_error_set(EMFILE,
		"port %" PRIu16 ": the process has no descriptor left to find its rules by",
		port_id);
}

int
trip_link_port_close(struct trip_domain *domain, uint16_t port_id)
{
	const struct trip_protocol_port port = {.port = port_id, .close = 1};

	return trip_link_call_slow(domain, TRIP_PROTOCOL_PORT, &port, sizeof(port), NULL);
}

/* The constant string that a text of the primary's is: of drivers and engines, there are few. */
static const char *
constant(const char *text, size_t size)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char texts[16][sizeof(((struct trip_protocol_facts *)0)->driver)];
	unsigned int i = 0;

	pthread_mutex_lock(&lock);
	while (i < RTE_DIM(texts) && texts[i][0] != 0 && strncmp(texts[i], text, size) != 0)
		i++;
	if (i < RTE_DIM(texts) && texts[i][0] == 0)
		memcpy(texts[i], text, size - 1);
	pthread_mutex_unlock(&lock);
	return i < RTE_DIM(texts) ? texts[i] : "unknown";
}

int
trip_link_port_facts(struct trip_domain *domain, uint16_t port_id, struct trip_port_facts *facts)
{
	const struct trip_protocol_port_ask asked = {.port = port_id, .open = domain != NULL};
	const enum trip_protocol_type type = TRIP_PROTOCOL_PORT_FACTS;
	union trip_protocol_answer answer;
	const struct trip_protocol_facts *told = &answer.facts;
	int error = domain != NULL
			    ? trip_link_call_slow(domain, type, &asked, sizeof(asked), &answer)
			    : trip_link_call_once(type, &asked, sizeof(asked), &answer);

	if (error != 0)
		return error;
	*facts = (struct trip_port_facts){
		.driver = constant(told->driver, sizeof(told->driver)),
		.engine = constant(told->engine, sizeof(told->engine)),
		.refresh_lag_ns = told->refresh_lag_ns,
		.query_ns = told->query_ns,
		.refresh_lag_from = (enum trip_fact)told->refresh_lag_from,
		.query_from = (enum trip_fact)told->query_from,
		.indirect = told->indirect != 0,
		.indirect_from = (enum trip_fact)told->indirect_from,
		.thread_safe = told->thread_safe != 0,
		.keeps_rules = told->keeps_rules != 0,
		.keeps_shared = told->keeps_shared != 0,
		.templates = told->templates != 0,
		.templates_from = (enum trip_fact)told->templates_from,
	};
	return 0;
}

int
trip_link_port_stats(struct trip_domain *domain, uint16_t port_id, struct trip_port_stats *stats)
{
	const struct trip_protocol_port_ask asked = {.port = port_id};
	union trip_protocol_answer answer;
	int error = trip_link_call_slow(
		domain, TRIP_PROTOCOL_PORT_STATS, &asked, sizeof(asked), &answer);

	if (error == 0)
		*stats = answer.port_stats;
	return error;
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

/* In the words of the primary, which are good until the thread's next refusal. */
static int
refuse(const struct trip_flow_order *order, const struct trip_flow_wire *wire,
	const struct trip_protocol_made *made)
{
	static _Thread_local char text[sizeof(made->text)];
	int number = made->result < 0 ? -made->result : EPROTO;

	memcpy(text, made->text, sizeof(text) - 1);
	return trip_flow_refuse(order->error, number, (enum rte_flow_error_type)made->type,
		cause_of(order, wire, made->cause), text);
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
	(void)trip_link_flow_destroy(flow);
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
	*asked = (struct trip_protocol_flow){
		.priority = attr->priority,
		.group = attr->group,
		.engine = (uint32_t)attr->engine,
		.direction = (uint32_t)attr->direction,
		.recreate = attr->recreate,
		.port = port_id,
	};
	/* What lies behind the rule is nobody's business. */
	memset(wire->bytes + wire->used, 0, sizeof(wire->bytes) - wire->used);
	memcpy(asked->rule, wire, sizeof(asked->rule));
	return 0;
}

int
trip_link_flow_create(
	struct trip_flow *flow, const struct trip_flow_order *order, uint64_t counters)
{
	const struct trip_flow_attr *attr = order->attr;
	struct trip_protocol_flow asked;
	struct trip_flow_wire wire;
	union trip_protocol_answer answer;
	int error = pack(&asked, order, flow->port->port_id, &wire);

	if (error != 0)
		return error;
	asked.counters = counters;
	asked.n_cntrs = attr->n_cntrs;
	for (unsigned int i = 0; i < attr->n_cntrs; i++)
		asked.cntrs[i] = attr->cntrs[i]->id;
	error = trip_link_call_slow(
		flow->port->domain, TRIP_PROTOCOL_FLOW, &asked, sizeof(asked), &answer);
	if (error != 0)
		return trip_flow_refuse(order->error, -error, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the primary does not answer");
	return take_made(flow, order, &wire, &answer.made);
}

int
trip_link_flow_validate(uint16_t port_id, const struct trip_flow_order *order, const char **reason)
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
			error == -ENOTSUP ? "only the primary's driver can be asked, and this "
					    "process is attached to no domain"
					  : "the primary does not answer");
	if (answer.made.result < 0)
		return refuse(order, &wire, &answer.made);
	if (reason != NULL)
		*reason = answer.made.text;
	return answer.made.result;
}

static int
ask_of(struct trip_flow *flow, enum trip_protocol_deed deed, union trip_protocol_answer *answer)
{
	const struct trip_protocol_flow_do asked = {.flow = trip_flow_more(flow)->id, .deed = deed};

	return trip_link_call_slow(
		flow->port->domain, TRIP_PROTOCOL_FLOW_DO, &asked, sizeof(asked), answer);
}

int
trip_link_flow_query(struct trip_flow *flow, struct trip_flow_count *count)
{
	union trip_protocol_answer answer;
	int error = ask_of(flow, TRIP_PROTOCOL_FLOW_QUERY, &answer);

	if (error != 0)
		return error;
	*count = (struct trip_flow_count){
		.packets = answer.counted.packets,
		.bytes = answer.counted.bytes,
		.fate = (enum trip_fate)answer.counted.fate,
		.engine = (enum trip_flow_engine)answer.counted.engine,
	};
	return 0;
}

int
trip_link_flow_retire(struct trip_flow *flow)
{
	return ask_of(flow, TRIP_PROTOCOL_FLOW_RETIRE, NULL);
}

int
trip_link_flow_destroy(struct trip_flow *flow)
{
	return ask_of(flow, TRIP_PROTOCOL_FLOW_DESTROY, NULL);
}

int
trip_link_counters_create(struct trip_domain *domain, uint32_t slots, uint64_t *id)
{
	const struct trip_protocol_counters asked = {.slots = slots};
	union trip_protocol_answer answer;
	int error =
		trip_link_call_slow(domain, TRIP_PROTOCOL_COUNTERS, &asked, sizeof(asked), &answer);

	if (error == 0)
		*id = answer.counters;
	return error;
}

int
trip_link_counters_attach(struct trip_domain *domain, uint64_t id, uint64_t flow, uint32_t index,
	uint32_t description)
{
	const struct trip_protocol_point asked = {
		.counters = id, .flow = flow, .index = index, .desc = description};

	return trip_link_call_slow(domain, TRIP_PROTOCOL_POINT, &asked, sizeof(asked), NULL);
}

int
trip_link_counters_read(
	struct trip_domain *domain, uint64_t id, uint64_t *values, uint32_t n, uint32_t flags)
{
	struct trip_protocol_counters_read asked = {.counters = id, .flags = flags};
	union trip_protocol_answer answer;

	/* Also for none, which may be wrong in other ways. */
	do {
		int error;

		asked.count = RTE_MIN(n - asked.first, TRIP_PROTOCOL_VALUES);
		error = trip_link_call_slow(
			domain, TRIP_PROTOCOL_COUNTERS_READ, &asked, sizeof(asked), &answer);
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

int
trip_link_counters_destroy(struct trip_domain *domain, uint64_t id)
{
	return trip_link_call_slow(domain, TRIP_PROTOCOL_COUNTERS_CLOSE, &id, sizeof(id), NULL);
}
