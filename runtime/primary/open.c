/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain is opened by its primary: a table of steps, each with its undo. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "cntr/clock_cntr.h"
#include "cntr/cntr.h"
#include "cntr/native.h"
#include "cntr/registry.h"
#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/layout.h"
#include "domain/launch.h"
#include "domain/progress.h"
#include "domain/share.h"
#include "domain/stats.h"
#include "domain/thread.h"
#include "flow/counters.h"
#include "flow/each.h"
#include "flow/flow.h"
#include "flow/port.h"
#include "primary/process.h"
#include "primary/server.h"
#include "telemetry/telemetry.h"
#include "work/work_refs.h"
#include "memory.h"

static int
slots_init(struct trip_slots *slots, uint32_t count)
{
	_Atomic uint32_t *next = malloc(count * sizeof(*next));

	if (next == NULL)
		return trip_error_set(
			ENOMEM, "domain: no memory for %" PRIu32 " waiter slots", count);
	trip_slots_init(slots, next, 0, count);
	return 0;
}

/* Reserves a memzone `<domain>_<what>` on the node of `lcore`. */
static int
reserve(struct trip_domain *domain, const char *what, size_t bytes, unsigned int lcore,
	void **memory)
{
	char name[RTE_MEMZONE_NAMESIZE];
	const struct rte_memzone *zone;
	int socket = lcore == LCORE_ID_ANY ? SOCKET_ID_ANY : (int)rte_lcore_to_socket_id(lcore);

	/* Defined where this fails, too: a compiler does not know that no error is 0. */
	*memory = NULL;
	trip_share_zone_name(domain->name, what, name, sizeof(name));
	zone = rte_memzone_reserve_aligned(name, bytes, socket, 0, RTE_CACHE_LINE_SIZE);
	if (zone == NULL && rte_errno == EEXIST)
		return trip_error_set(EEXIST, "domain \"%s\" is open already", domain->name);
	if (zone == NULL) {
		struct trip_domain_footprint needs;

		trip_layout_footprint(&domain->attr, &needs);
		return trip_error_set(ENOMEM,
			"domain \"%s\": %zu bytes for memzone %s are not to be had (%s); the "
			"domain "
			"needs %" PRIu64 " free hugepages of %" PRIu64 " KiB",
			domain->name, bytes, name, rte_strerror(rte_errno), needs.hugepages,
			needs.hugepage_bytes / 1024);
	}
	domain->zones[domain->n_zones++] = zone;
	memset(zone->addr, 0, bytes);
	*memory = zone->addr;
	return 0;
}

/* What only some flows need is there for each, and takes pages where it is touched. */
static int
reserve_flows(struct trip_domain *domain)
{
	const struct trip_domain_attr *attr = &domain->attr;
	struct trip_engine *engine = &domain->engine;

	domain->flow = trip_memory_reserve(attr->max_flows * sizeof(*domain->flow));
	domain->more = trip_memory_reserve(attr->max_flows * sizeof(*domain->more));
	engine->flows = trip_memory_reserve(attr->max_flows * sizeof(*engine->flows));
	engine->changed =
		trip_memory_reserve((attr->max_flows + 63) / 64 * sizeof(*engine->changed));
	engine->reads = trip_memory_reserve(attr->max_flows * sizeof(*engine->reads));
	engine->folded = trip_memory_reserve(
		((size_t)attr->max_queues + 1) * attr->max_flows * sizeof(*engine->folded));
	return domain->flow != NULL && domain->more != NULL && engine->flows != NULL &&
			       engine->changed != NULL && engine->reads != NULL &&
			       engine->folded != NULL
		       ? 0
		       : trip_error_set(ENOMEM, "domain: no memory for flows");
}

/* All of it is zero: no queue counts any. */
static int
open_each(struct trip_domain *domain)
{
	size_t size = trip_layout_each_size(&domain->attr);
	void *memory = NULL;
	int error = size == 0 ? 0 : reserve(domain, "each", size, domain->lcores[0], &memory);

	domain->engine.eaches = memory;
	return error;
}

static int
open_flows(struct trip_domain *domain)
{
	const struct trip_domain_attr *attr = &domain->attr;
	struct trip_engine *engine = &domain->engine;
	void *flows, *counts;
	int error =
		reserve(domain, "flows", trip_layout_flows_size(attr), domain->lcores[0], &flows);

	if (error == 0)
		error = reserve(domain, "counts", trip_layout_counts_size(attr), domain->lcores[0],
			&counts);
	if (error != 0)
		return error;
	trip_layout_map_flows(attr, flows, counts, engine);
	error = open_each(domain);
	if (error != 0)
		return error;
	for (uint32_t i = 0; i < attr->max_flows; i++)
		for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			atomic_init(&engine->feeds[i].cntr[kind], TRIP_NONE);
	for (uint32_t i = 0; i < attr->max_queues; i++)
		trip_claim_init(&engine->claims[i]);
	error = reserve_flows(domain);
	if (error != 0)
		return error;
	engine->functions = calloc(attr->max_functions, sizeof(*engine->functions));
	domain->function_names = calloc(attr->max_functions, sizeof(*domain->function_names));
	if (engine->functions == NULL || domain->function_names == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for functions");
	error = trip_indices_init(&domain->flows, attr->max_flows);
	if (error == 0)
		error = trip_indices_init(&domain->functions, attr->max_functions);
	if (error == 0)
		error = trip_indices_init(&domain->polices, attr->max_policed);
	return error;
}

static void
close_flows(struct trip_domain *domain)
{
	trip_memory_give(domain->engine.flows);
	trip_memory_give(domain->engine.changed);
	trip_memory_give(domain->engine.reads);
	trip_memory_give(domain->engine.folded);
	free(domain->engine.functions);
	free(domain->function_names);
	trip_memory_give(domain->more);
	trip_memory_give(domain->flow);
	for (unsigned int i = 0; i < TRIP_FLOW_REASONS; i++)
		free((void *)(uintptr_t)domain->reasons[i]);
	trip_indices_fini(&domain->flows);
	trip_indices_fini(&domain->functions);
	trip_indices_fini(&domain->polices);
}

static int
open_home(struct trip_domain *domain, uint32_t index, const struct trip_home_shape *shape)
{
	char what[16];
	void *memory;
	int error;

	snprintf(what, sizeof(what), "home%" PRIu32, index);
	error = reserve(domain, what, trip_home_size(shape), domain->lcores[index], &memory);
	if (error != 0)
		return error;
	domain->engine.homes[index] = trip_home_init(memory, &domain->engine, index, shape);
	if (domain->engine.homes[index] == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for home %" PRIu32, index);
	domain->engine.n_homes++;
	trip_launch_configure(domain, domain->engine.homes[index]);
	error = trip_domain_open_submitters(domain, domain->engine.homes[index], 0);
	if (error == 0)
		error = trip_indices_init(&domain->cntrs[index], shape->n_cntrs - shape->n_hidden);
	if (error == 0)
		error = slots_init(&domain->waiters[index], shape->n_waiters);
	return error;
}

static int
open_homes(struct trip_domain *domain)
{
	struct trip_home_shape shape;
	int error = 0;

	trip_layout_home(&domain->attr, &shape);
	domain->engine.cntrs_per_home = shape.n_cntrs;
	domain->engine.waiters_per_home = shape.n_waiters;
	domain->engine.tsc_hz = rte_get_tsc_hz();
	domain->engine.base_tsc =
		domain->attr.clock == TRIP_CLOCK_PACKET ? TRIP_CLOCK_FED : rte_rdtsc();
	domain->n_channels = trip_home_own_channels(&shape);
	for (uint32_t i = 0; i < domain->attr.n_lcores && error == 0; i++)
		error = open_home(domain, i, &shape);
	return error;
}

static void
free_zones(struct trip_domain *domain)
{
	while (domain->n_zones > 0)
		rte_memzone_free(domain->zones[--domain->n_zones]);
}

static int
open_share(struct trip_domain *domain)
{
	void *memory;
	int error = reserve(domain, "share", sizeof(*domain->share), domain->lcores[0], &memory);

	if (error == 0) {
		domain->share = memory;
		trip_share_write(domain, domain->share);
	}
	return error;
}

/* Its memory goes with the other zones. */
static void
close_share(struct trip_domain *domain)
{
	domain->share = NULL;
}

/*
 * A process is let in under the lock, and only while the domain is open (process.c): those that are
 * attached when it has been shut are all that there will be.
 */
static void
set_open(struct trip_domain *domain, bool open)
{
	pthread_mutex_lock(&domain->lock);
	domain->open = open;
	pthread_mutex_unlock(&domain->lock);
	trip_share_show(domain->share, open);
}

static int
show(struct trip_domain *domain)
{
	trip_telemetry_show(domain, domain->server != NULL ? domain->server->path : "");
	return 0;
}

static const struct {
	int (*open)(struct trip_domain *domain);
	void (*close)(struct trip_domain *domain);
} steps[] = {
	{open_flows, close_flows},
	{open_homes, trip_domain_close_homes},
	{trip_clock_cntr_init, trip_clock_cntr_fini},
	{trip_work_refs_init, trip_work_refs_fini},
	{trip_thread_init, trip_thread_fini},
	{trip_registry_init, trip_registry_fini},
	{open_share, close_share},
	{trip_launch_start, trip_launch_stop},
	{trip_server_start, trip_server_stop},
	{trip_detach_watch, trip_detach_unwatch},
	{show, trip_telemetry_hide},
};

static void
undo(struct trip_domain *domain, unsigned int n)
{
	while (n > 0)
		steps[--n].close(domain);
	trip_native_fini(domain);
	free_zones(domain);
	trip_domain_free(domain);
}

/* Those that have died are cleared away in a moment; those that live keep it open. */
static int
wait_for_processes(struct trip_domain *domain)
{
	enum trip_client_state state;
	uint32_t pid;

	while (trip_process_any(domain->server, &pid, &state)) {
		if (state != TRIP_CLIENT_DROPPING)
			return trip_error_set(EBUSY,
				"domain \"%s\": process %" PRIu32 " is attached", domain->name,
				pid);
		trip_progress_wait(domain);
	}
	return 0;
}

/* Nothing of it is open. */
static int
close_domain(struct trip_domain *domain)
{
	int error = 0;

	set_open(domain, false);
	if (domain->server != NULL)
		error = wait_for_processes(domain);
	if (error != 0) {
		set_open(domain, true);
		return error;
	}
	undo(domain, RTE_DIM(steps));
	return 0;
}

static int
run_functions(const struct trip_domain *domain)
{
	return 0;
}

static const struct trip_backend backend = {
	.close = close_domain,
	.forget = trip_server_forget,
	.homes = trip_stats_homes,
	.commands = trip_command_stats,
	.quiesce = trip_port_hard_quiesce,
	.check_functions = run_functions,
	.police = trip_flow_police,
	.cntr = &trip_cntr_local,
	.native = &trip_native_local,
	.port = &trip_port_local,
	.flow = &trip_flow_local,
	.counters = &trip_counters_local,
	.each = &trip_each_local,
};

static int
check_process(void)
{
	if (trip_detach_forked())
		return trip_error_set(
			ESHUTDOWN, "domain: this process was forked by one that has a domain open");
	if (rte_eal_process_type() == RTE_PROC_INVALID || rte_get_main_lcore() == UINT32_MAX)
		return trip_error_set(ENODEV, "domain: rte_eal_init() has not run");
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return trip_error_set(
			ENOTSUP, "domain: only a primary process opens one, this is a secondary");
	return 0;
}

int
trip_domain_open(const struct trip_domain_attr *given, struct trip_domain **out, void *context)
{
	struct trip_domain_attr attr;
	struct trip_domain *domain;
	unsigned int done = 0;
	int error = trip_layout_attr(given, &attr);

	if (error == 0)
		error = check_process();
	if (error == 0)
		error = trip_launch_check(&attr);
	if (error != 0)
		return error;
	domain = trip_domain_alloc(attr.name, &attr, &backend, context);
	if (domain == NULL)
		return -ENOMEM;
	domain->claimant = TRIP_CLAIM_PRIMARY;
	for (unsigned int i = 0; i < attr.n_lcores; i++)
		domain->lcores[i] = attr.lcores != NULL ? attr.lcores[i] : LCORE_ID_ANY;
	domain->attr.lcores = attr.lcores != NULL ? domain->lcores : NULL;
	while (done < RTE_DIM(steps) && error == 0)
		error = steps[done++].open(domain);
	if (error != 0) {
		undo(domain, done);
		return error;
	}
	set_open(domain, true);
	*out = domain;
	return 0;
}
