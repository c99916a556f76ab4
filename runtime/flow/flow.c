/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of counted flows; what a flow is in the primary: flow_local.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <rte_eal.h>

#include <trip_error.h>
#include <trip_set.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "flow/counters.h"
#include "flow/flow.h"
#include "work/submitter.h"
#include "work/work_refs.h"
#include "source.h"

int
trip_flow_refuse(struct rte_flow_error *error, int number, enum rte_flow_error_type type,
	const void *cause, const char *format, ...)
{
	static _Thread_local char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (error != NULL)
		*error = (struct rte_flow_error){.type = type, .cause = cause, .message = message};
	return trip_error_set(number, "flow: %s", message);
}

const char *
trip_flow_name(enum rte_flow_conv_op op, unsigned int type)
{
	const char *name = NULL;

	if (op == RTE_FLOW_CONV_OP_ITEM_NAME_PTR && (int)type == TRIP_FLOW_ITEM_TYPE_SET)
		return "set";
	if (rte_flow_conv(op, &name, sizeof(name), (const void *)(uintptr_t)type, NULL) < 0)
		name = NULL;
	return name != NULL ? name : "unknown";
}

/* One of its counters beside those before it: they are told together, by their one home. */
static int
check_beside(const struct trip_flow_order *order, unsigned int i)
{
	struct trip_cntr *const *cntrs = order->attr->cntrs;
	unsigned int like = 0;

	for (unsigned int other = 0; other < i; other++) {
		if (cntrs[other]->global == cntrs[i]->global)
			return trip_flow_refuse(order->error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR,
				order->given, "it would feed one of its counters twice");
		if (cntrs[other]->events != cntrs[i]->events)
			continue;
		like++;
		if (cntrs[other]->home != cntrs[i]->home)
			return trip_flow_refuse(order->error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR,
				order->given,
				"counters of the same events are of homes %" PRIu32 " and %" PRIu32,
				cntrs[other]->home->index, cntrs[i]->home->index);
	}
	if (like == TRIP_FLOW_CNTRS_MAX / TRIP_COUNT_KINDS)
		return trip_flow_refuse(order->error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR,
			order->given, "a flow feeds at most %u counters of the same events", like);
	return 0;
}

static int
check_cntrs(const struct trip_port *port, const struct trip_flow_order *order)
{
	const struct trip_flow_attr *attr = order->attr, *given = order->given;
	struct rte_flow_error *error = order->error;
	int result;

	if (attr->n_cntrs > TRIP_FLOW_CNTRS_MAX || (attr->n_cntrs > 0 && attr->cntrs == NULL))
		return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, given,
			"a flow feeds at most %u counters", TRIP_FLOW_CNTRS_MAX);
	for (unsigned int i = 0; i < attr->n_cntrs; i++) {
		if (attr->cntrs[i] == NULL)
			return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, given,
				"one of its counters is NULL");
		if (attr->cntrs[i]->fid.domain != port->domain)
			return trip_flow_refuse(error, EXDEV, RTE_FLOW_ERROR_TYPE_ATTR, given,
				"one of its counters is of another domain");
		if (attr->cntrs[i]->is_clock)
			return trip_flow_refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, given,
				"one of its counters is a clock, which only time changes");
		result = check_beside(order, i);
		if (result != 0)
			return result;
	}
	if (attr->counters != NULL && attr->counters->domain != port->domain)
		return trip_flow_refuse(error, EXDEV, RTE_FLOW_ERROR_TYPE_ATTR, given,
			"its counters object is of another domain");
	return 0;
}

/* Makes our copy of the attributes, and checks what holds for either engine. */
static int
take_attr(const struct trip_flow_order *order, struct trip_flow_attr *attr)
{
	const struct trip_flow_attr *given = order->given;
	struct rte_flow_error *error = order->error;

	if (TRIP_SIZED_TAKE(trip_flow_attr, attr, given) != 0) {
		if (error != NULL)
			*error = (struct rte_flow_error){.type = RTE_FLOW_ERROR_TYPE_ATTR,
				.cause = given,
				.message = trip_error_message()};
		return -EINVAL;
	}
	if ((unsigned int)attr->engine > TRIP_FLOW_ENGINE_SW)
		return trip_flow_refuse(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, given, "the engine is unknown");
	if ((unsigned int)attr->direction > TRIP_FLOW_EGRESS)
		return trip_flow_refuse(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, given, "the direction is unknown");
	if (order->pattern == NULL)
		return trip_flow_refuse(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, NULL, "no pattern is given");
	return 0;
}

int
trip_flow_validate(uint16_t port_id, const struct trip_flow_attr *given,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	const char **reason, struct rte_flow_error *error)
{
	struct trip_flow_attr attr;
	const struct trip_flow_order order = {
		.attr = &attr,
		.given = given,
		.pattern = pattern,
		.actions = actions,
		.error = error,
	};
	const struct trip_backend *backend;
	int result = take_attr(&order, &attr);

	if (result != 0)
		return result;
	if (rte_eal_process_type() != RTE_PROC_SECONDARY)
		return trip_flow_local.validate(port_id, &order, reason);
	backend = trip_detach_backend();
	if (backend == NULL)
		return trip_flow_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"only the primary's driver can be asked, and this process is attached to "
			"no domain");
	return backend->flow->validate(port_id, &order, reason);
}

int
trip_flow_create(struct trip_port *port, const struct trip_flow_attr *given,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct trip_flow **out, struct rte_flow_error *error)
{
	struct trip_flow_attr attr;
	const struct trip_flow_order order = {
		.attr = &attr,
		.given = given,
		.pattern = pattern,
		.actions = actions,
		.error = error,
	};
	int result;

	if (trip_detach_check(port->domain) != 0)
		return trip_flow_refuse(error, ESHUTDOWN, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"this process was forked by one that is attached to the domain");
	if (trip_progress_on_worker(port->domain))
		return trip_flow_refuse(error, EDEADLK, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"neither a home nor a port's worker can create flows, which would wait for "
			"it");
	result = take_attr(&order, &attr);
	if (result == 0)
		result = check_cntrs(port, &order);
	return result == 0 ? port->domain->backend->flow->create(port, &order, out) : result;
}

/* Whether the caller may end it. */
static int
check_end(const struct trip_flow *flow)
{
	int error = trip_detach_check(trip_flow_domain(flow));

	return error == 0 ? trip_progress_check_worker(
				    trip_flow_domain(flow), "flow", flow->index, "end flows")
			  : error;
}

int
trip_flow_retire(struct trip_flow *flow)
{
	int error = check_end(flow);

	return error == 0 ? trip_flow_domain(flow)->backend->flow->retire(flow) : error;
}

int
trip_flow_destroy(struct trip_flow *flow)
{
	struct trip_domain *domain = trip_flow_domain(flow);
	int error = check_end(flow);
	uint32_t refs;

	if (error != 0)
		return error;
	trip_submitter_reap(domain);
	refs = trip_work_refs_count(domain, TRIP_OP_ON_FLOW, flow->index);
	if (refs > 0)
		return trip_error_set(EBUSY,
			"flow %" PRIu32 ": %" PRIu32 " pending work items refer to it", flow->index,
			refs);
	return domain->backend->flow->destroy(flow);
}

static void
read_police(const struct trip_engine *engine, uint32_t flow, struct trip_flow_count *count)
{
	uint32_t own = atomic_load_explicit(&engine->police_of[flow], memory_order_acquire) - 1;
	const struct trip_police *police;
	uint64_t word;

	/* It has none, or another process has written there. */
	if (own >= engine->n_police)
		return;
	police = &engine->police[own];
	word = atomic_load_explicit(&police->word, memory_order_relaxed);
	count->policed_packets = atomic_load_explicit(&police->packets, memory_order_relaxed);
	count->policed_bytes = atomic_load_explicit(&police->bytes, memory_order_relaxed);
	if (trip_police_rate(word) == 0)
		return;
	if (count->fate == TRIP_FLOW_FATE_PASS)
		count->fate = TRIP_FLOW_FATE_POLICE;
	count->police_rate = trip_police_rate(word);
	count->police_unit = (word & TRIP_POLICE_PACKETS) != 0 ? TRIP_POLICE_UNIT_PACKETS
							       : TRIP_POLICE_UNIT_BITS;
	count->police_burst_ms = trip_police_burst_ms(word);
}

void
trip_flow_read(const struct trip_flow *flow, struct trip_flow_count *count)
{
	const struct trip_engine *engine = &flow->port->domain->engine;
	const struct trip_flow_slot *slot = &engine->flows[flow->index];
	uint8_t action = atomic_load_explicit(&engine->actions[flow->index], memory_order_relaxed);
	uint32_t first_queue;
	uint16_t n_queues = trip_flow_queues(flow, &first_queue);

	*count = (struct trip_flow_count){.engine = trip_flow_ops(flow)->engine};
	trip_source_count(
		engine, flow->index, first_queue, n_queues, &count->packets, &count->bytes);
	if (flow->hard && atomic_load_explicit(&slot->lost, memory_order_relaxed))
		count->fate = TRIP_FLOW_FATE_LOST;
	else if ((action & TRIP_ACTION_ACTIVE) == 0)
		count->fate = TRIP_FLOW_FATE_DELETED;
	else if ((action & TRIP_ACTION_DROP) != 0)
		count->fate = TRIP_FLOW_FATE_DROP;
	if (!flow->hard)
		read_police(engine, flow->index, count);
}

int
trip_flow_query(struct trip_flow *flow, struct trip_flow_count *count)
{
	struct trip_flow_count own;
	int error = trip_detach_check(flow->port->domain);

	if (error == 0)
		error = trip_flow_domain(flow)->backend->flow->query(flow, &own);
	return error == 0 ? TRIP_SIZED_GIVE(trip_flow_count, count, &own) : error;
}
