/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that the proxy makes, each on objects of the process that asks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <trip_error.h>

#include "domain.h"
#include "error.h"
#include "flow.h"
#include "flow_wire.h"
#include "process.h"
#include "progress.h"
#include "proxy.h"
#include "registry.h"
#include "counters.h"

_Static_assert(TRIP_PROTOCOL_RULE == sizeof(struct trip_flow_wire), "a rule fits its message");
_Static_assert(TRIP_PROTOCOL_FLOW_CNTRS == TRIP_FLOW_CNTRS_MAX, "so do its counters");

struct trip_held_flow {
	LIST_ENTRY(trip_held_flow) next;
	uint64_t id;
	struct trip_flow *flow;
	/* Handles of its counters, which the process owns or has found. */
	struct trip_cntr cntrs[TRIP_FLOW_CNTRS_MAX];
	unsigned int n_cntrs;
};

struct trip_held_counters {
	LIST_ENTRY(trip_held_counters) next;
	uint64_t id;
	struct trip_counters *counters;
};

static struct trip_domain *
domain_of(const struct trip_process *process)
{
	return process->server->domain;
}

static int
check_room(const struct trip_process *process)
{
	const struct trip_domain *domain = domain_of(process);

	if (process->held.n < domain->attr.max_process_flows)
		return 0;
	return trip_error_set(ENOSPC,
		"domain \"%s\": process %d has all %" PRIu32
		" flows and counters objects open that a process may",
		domain->name, (int)process->credentials.pid, domain->attr.max_process_flows);
}

static struct trip_held_flow *
find_flow(const struct trip_process *process, uint64_t id)
{
	struct trip_held_flow *held;

	LIST_FOREACH (held, &process->held.flows, next)
		if (held->id == id)
			return held;
	(void)trip_error_set(EINVAL, "flow 0x%" PRIx64 ": process %d has no such flow", id,
		(int)process->credentials.pid);
	return NULL;
}

static struct trip_held_counters *
find_counters(const struct trip_process *process, uint64_t id)
{
	struct trip_held_counters *held;

	LIST_FOREACH (held, &process->held.counters, next)
		if (held->id == id)
			return held;
	(void)trip_error_set(EINVAL,
		"counters 0x%" PRIx64 ": process %d has no such counters object", id,
		(int)process->credentials.pid);
	return NULL;
}

/* ---- flows ------------------------------------------------------------------------------------
 */

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
		.id = id,
		.found = true,
		.global = entry->global,
		.events = entry->events,
		.flows = &entry->flows,
	};
	cntr->home = trip_engine_home(&domain->engine, cntr->global, &cntr->local);
	cntr->cell = &cntr->home->cells[cntr->local];
	return 0;
}

static void
drop_cntrs(struct trip_domain *domain, struct trip_held_flow *held)
{
	while (held->n_cntrs > 0) {
		struct trip_entry *entry = &domain->entries[held->cntrs[--held->n_cntrs].global];

		if (!trip_registry_drop(domain, entry))
			continue;
		/* An operation that has just started may still be about to write the cell. */
		for (uint32_t i = 0; i < domain->engine.n_homes; i++)
			trip_progress_quiesce(domain, domain->engine.homes[i]);
		trip_registry_free(domain, entry);
	}
}

static int
hold_cntrs(struct trip_domain *domain, const struct trip_protocol_flow *asked,
	struct trip_held_flow *held)
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
	if (error != 0)
		drop_cntrs(domain, held);
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
attr_of(const struct trip_protocol_flow *asked)
{
	return (struct trip_flow_attr){
		.size = sizeof(struct trip_flow_attr),
		.priority = asked->priority,
		.group = asked->group,
		.engine = (enum trip_flow_engine)asked->engine,
		.direction = (enum trip_flow_direction)asked->direction,
		.recreate = asked->recreate != 0,
	};
}

static int
create_flow(struct trip_process *process, const struct trip_protocol_flow *asked,
	const struct trip_flow_unpacked *rule, bool actions, struct trip_held_flow *held,
	struct rte_flow_error *error)
{
	const struct trip_cntr *const cntrs[] = {&held->cntrs[0], &held->cntrs[1]};
	struct trip_flow_attr attr = attr_of(asked);
	const struct trip_held_counters *counters = NULL;
	int result;

	/* A port that the process has found stays. */
	if (asked->port >= TRIP_PORTS_MAX || process->held.ports[asked->port] == 0)
		return trip_error_set(EINVAL, "port %" PRIu32 ": process %d has not found it",
			asked->port, (int)process->credentials.pid);
	if (asked->counters != 0 && (counters = find_counters(process, asked->counters)) == NULL)
		return -EINVAL;
	attr.cntrs = (struct trip_cntr *const *)(uintptr_t)cntrs;
	attr.n_cntrs = held->n_cntrs;
	attr.counters = counters != NULL ? counters->counters : NULL;
	result = trip_flow_create(domain_of(process)->ports[asked->port], &attr, rule->items,
		actions ? rule->actions : NULL, &held->flow, error);
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

static int
run_flow(struct trip_proxy_job *job)
{
	struct trip_protocol_made *made = &job->peer->reply.answer.made;
	struct trip_flow_wire *wire = (void *)job->request.flow.rule;
	struct trip_domain *domain = domain_of(job->process);
	struct rte_flow_error error = {0};
	struct trip_flow_unpacked rule;
	struct trip_held_flow *held;
	int result = check_room(job->process);

	job->size = sizeof(*made);
	if (trip_flow_wire_unpack(wire, &rule) != 0)
		return refuse_rule(job);
	held = result == 0 ? calloc(1, sizeof(*held)) : NULL;
	if (result == 0 && held == NULL)
		result = trip_error_set(ENOMEM, "flow: no memory for its handle");
	if (result == 0)
		result = hold_cntrs(domain, &job->request.flow, held);
	if (result == 0) {
		result = create_flow(job->process, &job->request.flow, &rule,
			wire->n_actions != TRIP_FLOW_WIRE_NONE, held, &error);
		if (result != 0)
			drop_cntrs(domain, held);
	}
	if (result != 0) {
		answer_refused(made, result, &error, cause_of(wire, &rule, error.cause));
		free(held);
		return 0;
	}
	answer_made(made, 0, trip_flow_reason(held->flow));
	made->index = held->flow->index;
	made->flow = held->id = ++job->process->held.last_id;
	LIST_INSERT_HEAD(&job->process->held.flows, held, next);
	job->process->held.n++;
	return 0;
}

static int
run_validate(struct trip_proxy_job *job)
{
	struct trip_protocol_made *made = &job->peer->reply.answer.made;
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
destroy_flow(struct trip_process *process, struct trip_held_flow *held)
{
	int error = trip_flow_destroy(held->flow);

	if (error != 0)
		return error;
	drop_cntrs(domain_of(process), held);
	LIST_REMOVE(held, next);
	process->held.n--;
	free(held);
	return 0;
}

static int
run_flow_do(struct trip_proxy_job *job)
{
	struct trip_held_flow *held = find_flow(job->process, job->request.flow_do.flow);
	struct trip_protocol_counted *counted = &job->peer->reply.answer.counted;
	struct trip_flow_count count;
	int error;

	if (held == NULL)
		return -EINVAL;
	switch (job->request.flow_do.deed) {
	case TRIP_PROTOCOL_FLOW_RETIRE:
		return trip_flow_retire(held->flow);
	case TRIP_PROTOCOL_FLOW_DESTROY:
		return destroy_flow(job->process, held);
	case TRIP_PROTOCOL_FLOW_QUERY:
		error = trip_flow_query(held->flow, &count);
		if (error != 0)
			return error;
		*counted = (struct trip_protocol_counted){
			.packets = count.packets,
			.bytes = count.bytes,
			.fate = (uint32_t)count.fate,
			.engine = (uint32_t)count.engine,
		};
		job->size = sizeof(*counted);
		return 0;
	default:
		return trip_error_set(
			EINVAL, "flow: request %" PRIu32 " is unknown", job->request.flow_do.deed);
	}
}

/* ---- counters objects -------------------------------------------------------------------------
 */

static int
run_counters(struct trip_proxy_job *job)
{
	const struct trip_counters_init_attr attr = {
		.size = sizeof(attr), .n_slots = job->request.counters.slots};
	struct trip_held_counters *held;
	int error = check_room(job->process);

	if (error != 0)
		return error;
	held = calloc(1, sizeof(*held));
	if (held == NULL)
		return trip_error_set(ENOMEM, "counters: no memory for its handle");
	error = trip_counters_create(domain_of(job->process), &attr, &held->counters);
	if (error != 0) {
		free(held);
		return error;
	}
	held->id = ++job->process->held.last_id;
	LIST_INSERT_HEAD(&job->process->held.counters, held, next);
	job->process->held.n++;
	job->peer->reply.answer.counters = held->id;
	job->size = sizeof(held->id);
	return 0;
}

static int
run_point(struct trip_proxy_job *job)
{
	const struct trip_protocol_point *asked = &job->request.point;
	const struct trip_counter_attach_attr attr = {.size = sizeof(attr),
		.index = asked->index,
		.counter_desc = (enum trip_counter_description)asked->desc};
	const struct trip_held_counters *held = find_counters(job->process, asked->counters);
	const struct trip_held_flow *flow = NULL;

	if (held == NULL ||
		(asked->flow != 0 && (flow = find_flow(job->process, asked->flow)) == NULL))
		return -EINVAL;
	return trip_counters_attach_point_flow(
		held->counters, &attr, flow != NULL ? flow->flow : NULL);
}

static int
run_counters_read(struct trip_proxy_job *job)
{
	const struct trip_protocol_counters_read *asked = &job->request.counters_read;
	const struct trip_held_counters *held = find_counters(job->process, asked->counters);
	struct trip_protocol_values *values = &job->peer->reply.answer.values;
	uint64_t all[TRIP_COUNTERS_SLOTS_MAX];
	int error;

	if (held == NULL)
		return -EINVAL;
	if (asked->count > TRIP_PROTOCOL_VALUES || asked->first > TRIP_COUNTERS_SLOTS_MAX ||
		asked->first + asked->count > TRIP_COUNTERS_SLOTS_MAX)
		return trip_error_set(EINVAL,
			"counters: %" PRIu32 " slots from %" PRIu32 " on are not to be had",
			asked->count, asked->first);
	error = trip_counters_read(held->counters, all, asked->first + asked->count, asked->flags);
	if (error != 0)
		return error;
	values->count = asked->count;
	values->reserved = 0;
	memcpy(values->value, all + asked->first, asked->count * sizeof(*all));
	job->size = offsetof(struct trip_protocol_values, value) + asked->count * sizeof(*all);
	return 0;
}

static int
destroy_counters(struct trip_process *process, struct trip_held_counters *held)
{
	int error = trip_counters_destroy(held->counters);

	if (error != 0)
		return error;
	LIST_REMOVE(held, next);
	process->held.n--;
	free(held);
	return 0;
}

static int
run_counters_close(struct trip_proxy_job *job)
{
	struct trip_held_counters *held = find_counters(job->process, job->request.closed);

	return held != NULL ? destroy_counters(job->process, held) : -EINVAL;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

/* All are retired before any is destroyed, which may wait for a last refresh of them. */
static void
clean(struct trip_process *process)
{
	struct trip_domain *domain = domain_of(process);
	struct trip_held_counters *counters;
	struct trip_held_flow *flow;

	LIST_FOREACH (flow, &process->held.flows, next)
		(void)trip_flow_retire(flow->flow);
	/* Nothing of the process refers to one any more. */
	while ((flow = LIST_FIRST(&process->held.flows)) != NULL)
		(void)destroy_flow(process, flow);
	while ((counters = LIST_FIRST(&process->held.counters)) != NULL)
		(void)destroy_counters(process, counters);
	trip_progress_lock(domain);
	for (uint32_t i = 0; i < TRIP_PORTS_MAX; i++)
		if (process->held.ports[i] > 0)
			domain->ports[i]->n_found -= process->held.ports[i];
	pthread_mutex_unlock(&domain->control);
	memset(process->held.ports, 0, sizeof(process->held.ports));
}

static int (*const runs[TRIP_PROTOCOL_TYPES])(struct trip_proxy_job *job) = {
	[TRIP_PROTOCOL_PORT] = trip_proxy_port_run,
	[TRIP_PROTOCOL_FLOW] = run_flow,
	[TRIP_PROTOCOL_FLOW_DO] = run_flow_do,
	[TRIP_PROTOCOL_COUNTERS] = run_counters,
	[TRIP_PROTOCOL_POINT] = run_point,
	[TRIP_PROTOCOL_COUNTERS_READ] = run_counters_read,
	[TRIP_PROTOCOL_COUNTERS_CLOSE] = run_counters_close,
	[TRIP_PROTOCOL_QUIESCE] = trip_proxy_port_quiesce,
	[TRIP_PROTOCOL_VALIDATE] = run_validate,
	[TRIP_PROTOCOL_PORT_FACTS] = trip_proxy_port_facts,
	[TRIP_PROTOCOL_PORT_STATS] = trip_proxy_port_stats,
};

void
trip_proxy_flow_run(struct trip_proxy_job *job)
{
	if (job->peer == NULL) {
		clean(job->process);
		return;
	}
	job->size = 0;
	job->error = runs[job->type](job);
	if (job->error != 0)
		trip_peer_explain(job->peer);
}
