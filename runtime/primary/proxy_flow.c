/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of the process that asks. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <trip_error.h>

#include "cntr/cntr.h"
#include "cntr/registry.h"
#include "domain/error.h"
#include "flow/flow.h"
#include "flow/flow_wire.h"
#include "primary/proxy_held.h"

_Static_assert(TRIP_PROTOCOL_RULE == sizeof(struct trip_flow_wire), "a rule fits its message");
_Static_assert(TRIP_PROTOCOL_FLOW_CNTRS == TRIP_FLOW_CNTRS_MAX, "so do its counters");

/* A handle of a counter, as far as a flow needs it. */
static int
hold_cntr(struct trip_domain *domain, uint64_t id, struct trip_cntr *cntr)
{
	struct trip_entry *entry;
	int error = trip_registry_hold(domain, id, &entry);

	if (error != 0)
		return error;
	*cntr = (struct trip_cntr){
		.fid = {.domain = domain, .kind = TRIP_FID_CNTR},
		.found = true,
	};
	trip_cntr_bind(cntr, entry, &entry->flows);
	return 0;
}

static int
hold_cntrs(struct trip_domain *domain, const struct trip_protocol_flow *asked,
	struct trip_held_object *held)
{
	int error = asked->n_cntrs <= TRIP_FLOW_CNTRS_MAX
			    ? 0
			    : trip_error_set(EINVAL,
				      "flow: %" PRIu32 " counters are more than the limit %d",
				      asked->n_cntrs, TRIP_FLOW_CNTRS_MAX);

	for (uint32_t i = 0; error == 0 && i < asked->n_cntrs; i++) {
		error = hold_cntr(domain, asked->cntrs[i], &held->cntrs[i]);
		held->n_cntrs += error == 0;
	}
	return error;
}

/* What an error is about: its place in the message, from 1. */
static uint32_t
cause_of(
	const struct trip_flow_wire *wire, const struct trip_flow_unpacked *rule, const void *cause)
{
	for (uint32_t i = 0; i < wire->n_items; i++)
		if (cause == &rule->items[i])
			return 1 + i;
	for (uint32_t i = 0; i < TRIP_FLOW_WIRE_ACTIONS; i++)
		if (cause == &rule->actions[i])
			return 1 + wire->n_items + i;
	return 0;
}

static struct trip_flow_attr
attr_of(struct trip_protocol_flow *asked)
{
	asked->reason[sizeof(asked->reason) - 1] = 0;
	return (struct trip_flow_attr){
		.size = sizeof(struct trip_flow_attr),
		.priority = asked->priority,
		.group = asked->group,
		.engine = (enum trip_flow_engine)asked->engine,
		.direction = (enum trip_flow_direction)asked->direction,
		.recreate = asked->recreate != 0,
		.reason = asked->reason[0] != 0 ? asked->reason : NULL,
	};
}

static int
create_flow(struct trip_process *process, struct trip_protocol_flow *asked,
	const struct trip_flow_unpacked *rule, bool actions, struct trip_held_object *held,
	struct rte_flow_error *error)
{
	struct trip_cntr *cntrs[TRIP_FLOW_CNTRS_MAX];
	struct trip_flow_attr attr = attr_of(asked);
	const struct trip_held_object *counters = NULL;
	int result;

	/* A port that the process has found stays. */
	if (asked->port >= TRIP_PORTS_MAX || process->held.ports[asked->port] == 0)
		return trip_error_set(EINVAL, "port %" PRIu32 ": process %d has not found it",
			asked->port, (int)process->credentials.pid);
	if (asked->counters != 0 &&
		(counters = trip_proxy_find_counters(process, asked->counters)) == NULL)
		return -EINVAL;
	for (unsigned int i = 0; i < held->n_cntrs; i++)
		cntrs[i] = &held->cntrs[i];
	attr.cntrs = cntrs;
	attr.n_cntrs = held->n_cntrs;
	attr.counters = counters != NULL ? counters->counters : NULL;
	result = trip_flow_create(trip_proxy_domain(process)->ports[asked->port], &attr,
		rule->items, actions ? rule->actions : NULL, &held->flow, error);
	if (result == 0)
		atomic_store_explicit(&trip_flow_more(held->flow)->pid,
			(uint32_t)process->credentials.pid, memory_order_relaxed);
	return result;
}

/* What is said of a rule that was made, or would be. */
static void
answer_made(struct trip_protocol_made *made, int result, const char *text)
{
	*made = (struct trip_protocol_made){.result = result};
	strncpy(made->text, text, sizeof(made->text) - 1);
}

/* Or was refused. */
static void
answer_refused(struct trip_protocol_made *made, int result, const struct rte_flow_error *error,
	uint32_t cause)
{
	answer_made(made, result, error->message != NULL ? error->message : trip_error_message());
	made->type = (uint32_t)error->type;
	made->cause = cause;
}

static int
refuse_rule(const struct trip_proxy_job *job)
{
	return trip_error_set(EPROTO, "flow: the message from process %d is garbage",
		(int)job->process->credentials.pid);
}

int
trip_proxy_flow_create(struct trip_proxy_job *job)
{
	struct trip_protocol_made *made = &job->connection->reply.answer.made;
	struct trip_flow_wire *wire = (void *)job->request.flow.rule;
	struct rte_flow_error error = {0};
	struct trip_flow_unpacked rule;
	struct trip_held_object *held = NULL;
	int result;

	job->size = sizeof(*made);
	if (trip_flow_wire_unpack(wire, &rule) != 0)
		return refuse_rule(job);
	result = trip_proxy_hold(job->process, &held);
	if (result == 0)
		result = hold_cntrs(trip_proxy_domain(job->process), &job->request.flow, held);
	if (result == 0)
		result = create_flow(job->process, &job->request.flow, &rule,
			wire->n_actions != TRIP_FLOW_WIRE_NONE, held, &error);
	if (result != 0) {
		answer_refused(made, result, &error, cause_of(wire, &rule, error.cause));
		if (held != NULL)
			trip_proxy_drop(job->process, held);
		return 0;
	}
	answer_made(made, 0, trip_flow_reason(held->flow));
	made->index = held->flow->index;
	made->flow = held->id;
	return 0;
}

int
trip_proxy_flow_validate(struct trip_proxy_job *job)
{
	struct trip_protocol_made *made = &job->connection->reply.answer.made;
	const struct trip_flow_attr attr = attr_of(&job->request.flow);
	struct trip_flow_wire *wire = (void *)job->request.flow.rule;
	uint32_t port = job->request.flow.port;
	struct rte_flow_error error = {0};
	struct trip_flow_unpacked rule;
	const char *reason = "";
	int result;

	job->size = sizeof(*made);
	if (trip_flow_wire_unpack(wire, &rule) != 0)
		return refuse_rule(job);
	result = trip_flow_validate(port < UINT16_MAX ? (uint16_t)port : UINT16_MAX, &attr,
		rule.items, wire->n_actions != TRIP_FLOW_WIRE_NONE ? rule.actions : NULL, &reason,
		&error);
	if (result < 0)
		answer_refused(made, result, &error, cause_of(wire, &rule, error.cause));
	else
		answer_made(made, result, reason);
	return 0;
}

static int
police(struct trip_proxy_job *job, const struct trip_held_object *held)
{
	uint64_t id = job->request.flow_do.with;
	const struct trip_held_object *with =
		id != 0 ? trip_proxy_find_flow(job->process, id) : NULL;

	if (id != 0 && with == NULL)
		return -EINVAL;
	return trip_flow_police(held->flow, with != NULL ? with->flow : NULL);
}

int
trip_proxy_flow_do(struct trip_proxy_job *job)
{
	struct trip_held_object *held =
		trip_proxy_find_flow(job->process, job->request.flow_do.flow);
	struct trip_protocol_counted *counted = &job->connection->reply.answer.counted;
	struct trip_flow_count count = {.size = sizeof(count)};
	int error;

	if (held == NULL)
		return -EINVAL;
	switch (job->request.flow_do.action) {
	case TRIP_PROTOCOL_FLOW_RETIRE:
		return trip_flow_retire(held->flow);
	case TRIP_PROTOCOL_FLOW_DESTROY:
		return trip_proxy_destroy(job->process, held);
	case TRIP_PROTOCOL_FLOW_POLICE:
		return police(job, held);
	case TRIP_PROTOCOL_FLOW_QUERY:
		error = trip_flow_query(held->flow, &count);
		if (error != 0)
			return error;
		*counted = (struct trip_protocol_counted){
			.packets = count.packets,
			.bytes = count.bytes,
			.policed_packets = count.policed_packets,
			.policed_bytes = count.policed_bytes,
			.police_rate = count.police_rate,
			.police_unit = count.police_unit,
			.police_burst_ms = count.police_burst_ms,
			.fate = (uint32_t)count.fate,
			.engine = (uint32_t)count.engine,
		};
		job->size = sizeof(*counted);
		return 0;
	default:
		return trip_error_set(EINVAL, "flow: request %" PRIu32 " is unknown",
			job->request.flow_do.action);
	}
}
