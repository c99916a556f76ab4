/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process holds, which call a request is, and what is left when the process is gone. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "flow/port.h"
#include "primary/proxy_held.h"

int
trip_proxy_check_room(const struct trip_process *process)
{
	const struct trip_domain *domain = trip_proxy_domain(process);

	if (process->held.n < domain->attr.max_process_flows)
		return 0;
	return trip_error_set(ENOSPC,
		"domain \"%s\": process %d has all %" PRIu32
		" flows and counters objects open that a process may",
		domain->name, (int)process->credentials.pid, domain->attr.max_process_flows);
}

struct trip_held_flow *
trip_proxy_find_flow(const struct trip_process *process, uint64_t id)
{
	struct trip_held_flow *held;

	LIST_FOREACH (held, &process->held.flows, next)
		if (held->id == id)
			return held;
	(void)trip_error_set(EINVAL, "flow 0x%" PRIx64 ": process %d has no such flow", id,
		(int)process->credentials.pid);
	return NULL;
}

struct trip_held_counters *
trip_proxy_find_counters(const struct trip_process *process, uint64_t id)
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

/* All are retired before any is destroyed, which may wait for a last refresh of them. */
static void
clean(struct trip_process *process)
{
	struct trip_domain *domain = trip_proxy_domain(process);
	struct trip_held_counters *counters;
	struct trip_held_flow *flow;

	/* Its bursts are waited for no more. */
	trip_port_reclaim(domain, process->number);
	LIST_FOREACH (flow, &process->held.flows, next)
		(void)trip_flow_retire(flow->flow);
	/* Nothing of the process refers to one any more. */
	while ((flow = LIST_FIRST(&process->held.flows)) != NULL)
		(void)trip_proxy_flow_destroy(process, flow);
	while ((counters = LIST_FIRST(&process->held.counters)) != NULL)
		(void)trip_proxy_counters_destroy(process, counters);
	trip_progress_lock(domain);
	for (uint32_t i = 0; i < TRIP_PORTS_MAX; i++)
		if (process->held.ports[i] > 0)
			domain->ports[i]->n_found -= process->held.ports[i];
	pthread_mutex_unlock(&domain->control);
	memset(process->held.ports, 0, sizeof(process->held.ports));
}

static int (*const runs[TRIP_PROTOCOL_TYPES])(struct trip_proxy_job *job) = {
	[TRIP_PROTOCOL_PORT] = trip_proxy_port_run,
	[TRIP_PROTOCOL_FLOW] = trip_proxy_flow_create,
	[TRIP_PROTOCOL_FLOW_DO] = trip_proxy_flow_do,
	[TRIP_PROTOCOL_COUNTERS] = trip_proxy_counters_create,
	[TRIP_PROTOCOL_POINT] = trip_proxy_counters_point,
	[TRIP_PROTOCOL_COUNTERS_READ] = trip_proxy_counters_read,
	[TRIP_PROTOCOL_COUNTERS_CLOSE] = trip_proxy_counters_close,
	[TRIP_PROTOCOL_QUIESCE] = trip_proxy_port_quiesce,
	[TRIP_PROTOCOL_VALIDATE] = trip_proxy_flow_validate,
	[TRIP_PROTOCOL_PORT_FACTS] = trip_proxy_port_facts,
	[TRIP_PROTOCOL_PORT_STATS] = trip_proxy_port_stats,
};

void
trip_proxy_run(struct trip_proxy_job *job)
{
	if (job->peer == NULL) {
		clean(job->process);
		return;
	}
	job->size = 0;
	job->error = runs[job->type](job);
	if (job->refused != 0)
		job->error = job->refused;
	else if (job->error != 0)
		trip_peer_explain(job->peer);
}
