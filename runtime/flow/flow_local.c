/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of the primary, for each of which an engine is chosen: flow_soft.c or flow_hard.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_log.h>

#include "domain/backend.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/counters.h"
#include "flow/each.h"
#include "flow/flow.h"

static const char in_hardware[] = "the port's hardware counts it";
static const char by_packets[] =
	"the domain goes by the times of packets, which hardware does not tell";

/* Of an engine that the caller has chosen. */
static const char *
asked_for(const struct trip_flow_order *order)
{
	return order->attr->reason != NULL ? order->attr->reason : "the rule asks for it";
}

/* Tries an engine; what it says against the rule is in `error`. */
static struct trip_flow_order
order_of(const struct trip_flow_order *order, struct rte_flow_error *error)
{
	struct trip_flow_order own = *order;

	*error = (struct rte_flow_error){0};
	own.error = error;
	return own;
}

static int
give_error(const struct trip_flow_order *order, const struct rte_flow_error *error, int result)
{
	if (order->error != NULL)
		*order->error = *error;
	return result;
}

static int
validate_local(uint16_t port_id, const struct trip_flow_order *order, const char **reason)
{
	enum trip_flow_engine engine = order->attr->engine;
	struct rte_flow_error own;
	const char *why = asked_for(order);
	int result = 0;

	if (!rte_eth_dev_is_valid_port(port_id))
		return trip_flow_refuse(order->error, ENODEV, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"port %" PRIu16 ": there is no such port", port_id);
	if (engine != TRIP_FLOW_ENGINE_SW) {
		const struct trip_flow_order hard = order_of(order, &own);

		result = trip_flow_hard.validate(port_id, &hard);
		if (result != 0 && engine == TRIP_FLOW_ENGINE_HW)
			return give_error(order, &own, result);
		why = result != 0 ? own.message : engine == TRIP_FLOW_ENGINE_HW ? why : in_hardware;
		engine = result == 0 ? TRIP_FLOW_ENGINE_HW : TRIP_FLOW_ENGINE_SW;
	}
	if (engine == TRIP_FLOW_ENGINE_SW)
		result = trip_flow_soft.validate(port_id, order);
	if (result != 0)
		return result;
	if (reason != NULL)
		*reason = why;
	return (int)engine;
}

/* Under the control lock. */
static int
create_on(struct trip_flow *flow, const struct trip_flow_ops *ops,
	const struct trip_flow_order *order, const char *reason)
{
	int result = trip_flow_explain(flow, reason, order->error);

	if (result != 0)
		return result;
	flow->hard = ops == &trip_flow_hard;
	result = ops->create(flow, order);
	if (result != 0)
		trip_flow_unexplain(flow);
	return result;
}

/* Under the control lock. */
static int
create(struct trip_flow *flow, const struct trip_flow_order *order)
{
	enum trip_flow_engine engine = order->attr->engine;
	struct rte_flow_error error;
	const struct trip_flow_order hard = order_of(order, &error);
	struct trip_port_facts facts = {.size = sizeof(facts)};
	char reason[TRIP_FLOW_REASON_MAX];
	int result;

	if (engine == TRIP_FLOW_ENGINE_SW)
		return create_on(flow, &trip_flow_soft, order, asked_for(order));
	if (flow->port->domain->attr.clock == TRIP_CLOCK_PACKET)
		return engine == TRIP_FLOW_ENGINE_HW
			       ? trip_flow_refuse(order->error, ENOTSUP,
					 RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, "%s", by_packets)
			       : create_on(flow, &trip_flow_soft, order, by_packets);
	result = create_on(flow, &trip_flow_hard, &hard,
		engine == TRIP_FLOW_ENGINE_HW ? asked_for(order) : in_hardware);
	if (result == 0 || engine == TRIP_FLOW_ENGINE_HW)
		return result == 0 ? 0 : give_error(order, &error, result);
	snprintf(reason, sizeof(reason), "%s", error.message);
	result = create_on(flow, &trip_flow_soft, order, reason);
	if (result == 0 && trip_port_facts(flow->port->port_id, &facts) == 0 &&
		strcmp(facts.engine, "none") != 0)
		RTE_LOG(NOTICE, USER1, "tripline: port %" PRIu16 ": a rule is in software: %s\n",
			flow->port->port_id, reason);
	return result;
}

static int
refuse_full(const struct trip_domain *domain, struct rte_flow_error *error)
{
	return trip_flow_refuse(error, ENOSPC, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"domain \"%s\": all %" PRIu32 " flows are open%s", domain->name,
		domain->attr.max_flows,
		domain->held_flows == 0 ? "" : ", or held up by a burst of another process");
}

/* Where all that are left have been closed, it waits for the iterations that may still be on one:
 * without the lock, so that others go on. NULL: all are open. */
static struct trip_flow *
take_locked(struct trip_port *port)
{
	struct trip_domain *domain = port->domain;
	struct trip_flow *flow;

	trip_progress_lock(domain);
	/* Already now: the port is not closed meanwhile. */
	port->n_flows++;
	while ((flow = trip_flow_take(port)) == NULL && trip_indices_unripe(&domain->flows)) {
		pthread_mutex_unlock(&domain->control);
		trip_progress_wait(domain);
		trip_progress_lock(domain);
	}
	return flow;
}

/* Its packets would be those of keys in hardware. Under the control lock. */
static int
refuse_beside_each(const struct trip_port *port, const struct trip_flow_order *order)
{
	if (port->helped == NULL || order->of_each)
		return 0;
	return trip_flow_refuse(order->error, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"each \"%s\" has port %" PRIu16
		" for itself, as rules of hardware drop packets of its keys",
		port->helped->statement.name, port->port_id);
}

static int
create_local(struct trip_port *port, const struct trip_flow_order *order, struct trip_flow **out)
{
	struct trip_domain *domain = port->domain;
	struct trip_flow *flow = take_locked(port);
	int result = refuse_beside_each(port, order);

	if (result == 0)
		result = flow != NULL ? create(flow, order) : refuse_full(domain, order->error);
	if (flow != NULL && result != 0)
		trip_flow_give(flow);
	if (result != 0)
		port->n_flows--;
	pthread_mutex_unlock(&domain->control);
	if (result == 0)
		*out = flow;
	return result;
}

static int
retire_local(struct trip_flow *flow)
{
	trip_flow_ops(flow)->retire(flow);
	return 0;
}

static int
destroy_local(struct trip_flow *flow)
{
	struct trip_port *port = flow->port;
	struct trip_domain *domain = port->domain;

	/* Operations that have just started: in hardware they reach the port's worker before we do;
	 * in software they finish on an index that is not used again before. */
	if (flow->hard)
		trip_progress_quiesce(domain);
	trip_progress_lock(domain);
	trip_counters_leave(flow);
	pthread_mutex_unlock(&domain->control);
	trip_flow_ops(flow)->quit(flow);
	trip_progress_lock(domain);
	trip_flow_ops(flow)->destroy(flow);
	trip_flow_detach(flow);
	trip_flow_unexplain(flow);
	trip_flow_give(flow);
	port->n_flows--;
	pthread_mutex_unlock(&domain->control);
	return 0;
}

static int
query_local(struct trip_flow *flow, struct trip_flow_count *count)
{
	trip_flow_ops(flow)->query(flow);
	trip_flow_read(flow, count);
	return 0;
}

static struct trip_flow_more *
more_local(const struct trip_flow *flow)
{
	return &trip_flow_domain(flow)->more[flow->index];
}

/* Under the domain's lock. */
static void
begin_police(struct trip_flow *flow, uint32_t own)
{
	struct trip_engine *engine = &trip_flow_domain(flow)->engine;
	struct trip_flow_slot *slot = trip_engine_change(engine, flow->index);

	trip_police_init(&engine->police[own], own);
	slot->police = 0;
	/* Release: who finds it finds it as it begins, in homes and in queues. */
	atomic_store_explicit(&slot->own_police, own + 1, memory_order_release);
	atomic_store_explicit(&engine->police_of[flow->index], own + 1, memory_order_release);
}

static bool
has_police(const struct trip_flow *flow)
{
	const struct trip_engine *engine = &trip_flow_domain(flow)->engine;

	return trip_engine_is_changed(engine, flow->index) &&
	       atomic_load_explicit(&engine->flows[flow->index].own_police, memory_order_acquire) !=
		       0;
}

/* Those of two, of which the second may be NULL or the first again, that have none. */
static unsigned int
want_police(struct trip_flow *const flows[2], struct trip_flow *want[2])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < 2; i++)
		if (flows[i] != NULL && (i == 0 || flows[1] != flows[0]) && !has_police(flows[i]))
			want[n++] = flows[i];
	return n;
}

/* Both or none: how many are wanted yet. False: some may come, so it is to be tried again. */
static bool
try_police(struct trip_domain *domain, struct trip_flow *const flows[2], unsigned int *wanted)
{
	struct trip_flow *want[2];
	uint32_t own[2];
	bool is_all;

	pthread_mutex_lock(&domain->lock);
	*wanted = want_police(flows, want);
	is_all = *wanted == 0 || trip_indices_try(domain, &domain->polices, own, *wanted);
	if (*wanted > 0 && own[0] != TRIP_NONE) {
		for (unsigned int i = 0; i < *wanted; i++)
			begin_police(want[i], own[i]);
		*wanted = 0;
	}
	pthread_mutex_unlock(&domain->lock);
	return is_all;
}

int
trip_flow_police(struct trip_flow *flow, struct trip_flow *with)
{
	struct trip_domain *domain = trip_flow_domain(flow);
	struct trip_flow *const flows[2] = {flow, with};
	struct trip_flow *want[2];
	unsigned int wanted = want_police(flows, want);

	while (wanted > 0 && !try_police(domain, flows, &wanted)) {
		int error = trip_progress_check_worker(
			domain, "flow", flow->index, "police it just now");

		if (error != 0)
			return error;
		trip_progress_wait(domain);
	}
	if (wanted == 0)
		return 0;
	return trip_error_set(ENOSPC,
		"domain \"%s\": flow %" PRIu32 " cannot be policed: max_policed %" PRIu32
		" flows are, or share a rate",
		domain->name, (uint32_t)flow->index, domain->attr.max_policed);
}

const struct trip_flow_backend trip_flow_local = {
	.validate = validate_local,
	.create = create_local,
	.retire = retire_local,
	.query = query_local,
	.destroy = destroy_local,
	.more = more_local,
};
