/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a domain: a table of steps, each with its undo. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "cntr/registry.h"
#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/layout.h"
#include "domain/progress.h"
#include "domain/share.h"
#include "domain/thread.h"
#include "flow/flow.h"
#include "primary/process.h"
#include "primary/server.h"
#include "secondary/attach.h"
#include "secondary/link.h"
#include "memory.h"

/* Spins on a held lock before its holder may need the CPU that we are on. */
#define LOCK_SPINS 1024

void
trip_domain_lock(struct trip_lock *lock)
{
	unsigned int spins = 0;

	while (atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire)) {
		if (++spins % LOCK_SPINS == 0)
			sched_yield();
		else
			rte_pause();
	}
}

void
trip_domain_unlock(struct trip_lock *lock)
{
	atomic_flag_clear_explicit(&lock->held, memory_order_release);
}

bool
trip_domain_on_home(const struct trip_domain *domain)
{
	return trip_engine_current != NULL && trip_engine_current->engine == &domain->engine;
}

void *
trip_domain_context(const struct trip_domain *domain)
{
	return domain->context;
}

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
	engine->reads = trip_memory_reserve(attr->max_flows * sizeof(*engine->reads));
	engine->folded = trip_memory_reserve(
		((size_t)attr->max_queues + 1) * attr->max_flows * sizeof(*engine->folded));
	return domain->flow != NULL && domain->more != NULL && engine->flows != NULL &&
			       engine->reads != NULL && engine->folded != NULL
		       ? 0
		       : trip_error_set(ENOMEM, "domain: no memory for flows");
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
	for (uint32_t i = 0; i < attr->max_flows; i++)
		for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			atomic_init(&engine->feeds[i].cntr[kind], TRIP_NONE);
	for (uint32_t i = 0; i < attr->max_queues; i++)
		trip_claim_init(&engine->claims[i]);
	error = reserve_flows(domain);
	if (error != 0)
		return error;
	engine->functions = calloc(attr->max_functions, sizeof(*engine->functions));
	if (engine->functions == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for functions");
	error = trip_indices_init(&domain->flows, attr->max_flows);
	if (error == 0)
		error = trip_indices_init(&domain->functions, attr->max_functions);
	if (error == 0)
		error = trip_indices_init(&domain->queues, attr->max_queues);
	return error;
}

static void
close_flows(struct trip_domain *domain)
{
	trip_memory_give(domain->engine.flows);
	trip_memory_give(domain->engine.reads);
	trip_memory_give(domain->engine.folded);
	free(domain->engine.functions);
	trip_memory_give(domain->more);
	trip_memory_give(domain->flow);
	for (unsigned int i = 0; i < TRIP_FLOW_REASONS; i++)
		free((void *)(uintptr_t)domain->reasons[i]);
	trip_indices_fini(&domain->flows);
	trip_indices_fini(&domain->functions);
	trip_indices_fini(&domain->queues);
}

int
trip_domain_open_submitter(
	struct trip_submitter *submitter, struct trip_channel_client *channel, uint32_t slots)
{
	atomic_flag_clear(&submitter->lock.held);
	submitter->channel = channel;
	/* The slots that are free from the start hold on to nothing. */
	submitter->reaper = channel->returned;
	submitter->reaper.here = trip_ring_tail(&submitter->reaper);
	submitter->held = calloc((slots + 63) / 64, sizeof(*submitter->held));
	return submitter->held != NULL
		       ? 0
		       : trip_error_set(ENOMEM, "domain: no memory for work references");
}

static int
open_submitters(struct trip_domain *domain, struct trip_home *home)
{
	struct trip_submitter *submitters = calloc(domain->n_channels, sizeof(*submitters));
	int error = 0;

	domain->submitters[home->index] = submitters;
	if (submitters == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for channels");
	for (uint32_t i = 0; i < domain->n_channels && error == 0; i++) {
		submitters[i].number = i;
		error = trip_domain_open_submitter(&submitters[i], &home->clients[i],
			trip_home_channel_slots(&home->shape, i));
	}
	return error;
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
	trip_progress_configure(domain, domain->engine.homes[index]);
	error = open_submitters(domain, domain->engine.homes[index]);
	if (error == 0)
		error = trip_indices_init(&domain->cntrs[index], shape->n_cntrs);
	if (error == 0)
		error = slots_init(&domain->waiters[index], shape->n_waiters);
	return error;
}

static void
close_homes(struct trip_domain *domain)
{
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		for (uint32_t c = 0; domain->submitters[i] != NULL && c < domain->n_channels; c++)
			free(domain->submitters[i][c].held);
		free(domain->submitters[i]);
		trip_indices_fini(&domain->cntrs[i]);
		free(domain->waiters[i].next);
		trip_home_fini(domain->engine.homes[i]);
	}
	domain->engine.n_homes = 0;
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

static const struct {
	int (*open)(struct trip_domain *domain);
	void (*close)(struct trip_domain *domain);
} steps[] = {
	{open_flows, close_flows},
	{open_homes, close_homes},
	{trip_hold_init, trip_hold_fini},
	{trip_thread_init, trip_thread_fini},
	{trip_registry_init, trip_registry_fini},
	{open_share, close_share},
	{trip_progress_start, trip_progress_stop},
	{trip_server_start, trip_server_stop},
	{trip_detach_watch, trip_detach_unwatch},
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

struct trip_domain *
trip_domain_alloc(const char *name, const struct trip_domain_attr *attr, void *context)
{
	struct trip_domain *domain = calloc(1, sizeof(*domain));

	if (domain == NULL) {
		(void)trip_error_set(ENOMEM, "domain: no memory for its handle");
		return NULL;
	}
	domain->attr = *attr;
	domain->context = context;
	strcpy(domain->name, name);
	domain->attr.name = domain->name;
	pthread_mutex_init(&domain->control, NULL);
	pthread_mutex_init(&domain->lock, NULL);
	pthread_mutex_init(&domain->reader, NULL);
	pthread_mutex_init(&domain->helper.lock, NULL);
	domain->helper.domain = domain;
	domain->helper.fd = -1;
	return domain;
}

void
trip_domain_free(struct trip_domain *domain)
{
	pthread_mutex_destroy(&domain->helper.lock);
	pthread_mutex_destroy(&domain->reader);
	pthread_mutex_destroy(&domain->lock);
	pthread_mutex_destroy(&domain->control);
	free(domain);
}

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
		error = trip_progress_check(&attr);
	if (error != 0)
		return error;
	domain = trip_domain_alloc(attr.name, &attr, context);
	if (domain == NULL)
		return -ENOMEM;
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

static int
check_unused(struct trip_domain *domain)
{
	if (domain->n_cntrs > 0 || domain->n_ports > 0 || domain->n_sets > 0 ||
		domain->n_counters > 0 || domain->functions.fresh > domain->functions.n_freed)
		return trip_error_set(EBUSY,
			"domain \"%s\": %" PRIu32 " counters, %" PRIu32
			" counters objects, %" PRIu32 " ports, %" PRIu32
			" poll and wait sets and %" PRIu32 " functions are open",
			domain->name, domain->n_cntrs, domain->n_counters, domain->n_ports,
			domain->n_sets, domain->functions.fresh - domain->functions.n_freed);
	/* One that ends meanwhile is done with the domain when it is not counted any more. */
	if (trip_thread_count(domain) > 0)
		return trip_error_set(EBUSY,
			"domain \"%s\": %" PRIu32 " threads have channels of their own",
			domain->name, trip_thread_count(domain));
	return 0;
}

int
trip_domain_close(struct trip_domain *domain)
{
	int error = trip_detach_check(domain);

	if (error == 0)
		error = check_unused(domain);
	if (error != 0)
		return error;
	if (domain->link != NULL)
		return trip_attach_close(domain);
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

int
trip_domain_footprint(const struct trip_domain_attr *given, struct trip_domain_footprint *footprint)
{
	struct trip_domain_attr attr;
	int error = trip_layout_attr(given, &attr);

	if (error == 0)
		trip_layout_footprint(&attr, footprint);
	return error;
}

static void
write_sentence(void *arg, const char *sentence)
{
	fprintf(arg, "%s\n", sentence);
}

int
trip_domain_check(struct trip_domain *domain, FILE *stream)
{
	unsigned int broken = 0;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (domain->attr.progress != TRIP_PROGRESS_MANUAL)
		return trip_error_set(
			EBUSY, "domain \"%s\": its homes run by themselves", domain->name);
	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		broken += trip_home_check(domain->engine.homes[i], write_sentence, stream);
	return (int)broken;
}
