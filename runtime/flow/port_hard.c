/* SPDX-License-Identifier: BSD-3-Clause */
/* The hardware engine of a port: its life, and what is told of it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "flow/port.h"
#include "hard.h"
#include "template.h"

static void
notify(void *arg, enum trip_port_event event)
{
	struct trip_port *port = arg;

	if (port->notify != NULL)
		port->notify(port, event, port->notify_arg);
}

/* Grace periods look at it under the lock. */
static void
set_hard(struct trip_domain *domain, uint16_t port_id, struct trip_hard *hard)
{
	pthread_mutex_lock(&domain->lock);
	atomic_store_explicit(&domain->engine.desks[port_id], hard != NULL ? &hard->desk : NULL,
		memory_order_release);
	domain->n_hard += hard != NULL ? 1 : -1u;
	pthread_mutex_unlock(&domain->lock);
}

int
trip_port_hard_start(struct trip_port *port)
{
	int error;

	if (port->hard != NULL)
		return 0;
	error = trip_hard_open(&port->hard, &port->domain->engine, port->port_id, port->flow_queue,
		port->query_us, notify, port);
	if (error != 0)
		return trip_error_set(
			-error, "port %" PRIu16 ": its flow worker does not start", port->port_id);
	set_hard(port->domain, port->port_id, port->hard);
	return 0;
}

void
trip_port_hard_stop(struct trip_port *port)
{
	struct trip_domain *domain = port->domain;

	if (port->hard == NULL)
		return;
	(void)trip_port_hard_quiesce(domain);
	set_hard(domain, port->port_id, NULL);
	trip_progress_quiesce(domain);
	trip_hard_close(port->hard);
	port->hard = NULL;
}

static void
quiesce(struct trip_domain *domain, struct trip_hard *hard)
{
	uint32_t marks[TRIP_HOMES_MAX];

	trip_hard_marks(hard, marks);
	while (!trip_hard_settled(hard, marks))
		trip_progress_wait(domain);
}

static bool
has_hard(const struct trip_domain *domain)
{
	for (unsigned int i = 0; i < TRIP_PORTS_MAX; i++)
		if (trip_engine_desk(&domain->engine, i) != NULL)
			return true;
	return false;
}

int
trip_port_hard_quiesce(struct trip_domain *domain)
{
	if (trip_hard_current != NULL || !has_hard(domain))
		return 0;
	/* So that no port is closed meanwhile. */
	trip_progress_lock(domain);
	for (unsigned int i = 0; i < TRIP_PORTS_MAX; i++)
		if (domain->ports[i] != NULL && domain->ports[i]->hard != NULL)
			quiesce(domain, domain->ports[i]->hard);
	pthread_mutex_unlock(&domain->control);
	return 0;
}

int
trip_port_prepare(uint16_t port_id, uint32_t max_rules)
{
	struct rte_flow_error error = {0};
	struct trip_facts facts;
	uint32_t max = UINT32_MAX;
	int result;

	if (trip_facts_read(port_id, &facts) != 0)
		return trip_error_set(ENODEV, "port %" PRIu16 ": there is no such port", port_id);
	if (facts.kind != TRIP_FACTS_MLX5_HWS || trip_template_configured(port_id, &error))
		return 0;
	result = trip_template_configure(
		port_id, max_rules != 0 ? max_rules : TRIP_PORT_RULES, &max, &error);
	if (result == -ERANGE && max_rules == 0)
		result = trip_template_configure(port_id, max, &max, &error);
	if (result == -ERANGE)
		return trip_error_set(ERANGE,
			"port %" PRIu16 ": %" PRIu32 " rules, but it has %" PRIu32 " counters",
			port_id, max_rules, max);
	if (result != 0)
		return trip_error_set(-result, "port %" PRIu16 ": configuring its flow engine: %s",
			port_id, error.message != NULL ? error.message : strerror(-result));
	return 0;
}

int
trip_port_hard_facts(uint16_t port_id, struct trip_port_facts *out)
{
	struct trip_facts facts;

	if (trip_facts_read(port_id, &facts) != 0)
		return trip_error_set(ENODEV, "port %" PRIu16 ": there is no such port", port_id);
	*out = facts.port;
	return 0;
}

int
trip_port_hard_facts_read(struct trip_port *port, struct trip_port_facts *facts)
{
	struct trip_hard *hard =
		trip_hard_of(trip_engine_desk(&port->domain->engine, port->port_id));

	if (hard == NULL)
		return trip_port_hard_facts(port->port_id, facts);
	trip_hard_facts(hard, facts);
	return 0;
}

int
trip_port_hard_stats_read(struct trip_port *port, struct trip_port_stats *out)
{
	const struct trip_engine *engine = &port->domain->engine;
	const struct trip_hard *hard = trip_hard_of(trip_engine_desk(engine, port->port_id));

	*out = (struct trip_port_stats){0};
	if (hard == NULL)
		return 0;
	*out = (struct trip_port_stats){
		.rules = trip_engine_stat_read(&hard->stats->rules),
		.readings = trip_engine_stat_read(&hard->stats->readings),
		.late_readings = trip_engine_stat_read(&hard->stats->late_readings),
		.failed_readings = trip_engine_stat_read(&hard->stats->failed_readings),
		.longest_gap_ns = trip_engine_ns(
			engine, trip_engine_stat_read(&hard->stats->longest_gap_tsc)),
		.missed = trip_engine_stat_read(&hard->stats->missed),
		.worst_packets = trip_engine_stat_read(&hard->stats->worst_packets),
		.worst_bytes = trip_engine_stat_read(&hard->stats->worst_bytes),
		.operations = trip_engine_stat_read(&hard->stats->operations),
		.failed_operations = trip_engine_stat_read(&hard->stats->failed_operations),
		.refused_operations = trip_engine_stat_read(&hard->desk.refused),
		.lost = trip_engine_stat_read(&hard->stats->lost),
		.recreated = trip_engine_stat_read(&hard->stats->recreated),
		.stale = trip_engine_stat_read(&hard->stats->stale),
		.stale_now = atomic_load_explicit(&hard->stats->stale_now, memory_order_relaxed),
	};
	return 0;
}

int
trip_port_hard_run(
	struct trip_port *port, int (*run)(struct trip_hard *hard, struct trip_hard_call *call))
{
	struct trip_hard_call call = {.run = run};
	int result = trip_progress_check_worker(
		port->domain, "port", port->port_id, "stop or start ports");

	if (result != 0)
		return result;
	trip_progress_lock(port->domain);
	if (port->hard != NULL)
		result = trip_hard_call(port->hard, &call);
	pthread_mutex_unlock(&port->domain->control);
	return result;
}
