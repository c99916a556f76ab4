/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A domain in a secondary process. The engine here is a view of the primary's homes: their
 * doorbells, cells and waiters, and this process's channels to each. Everything else is the
 * primary's, and is asked for (link.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_memzone.h>

#include "attach.h"
#include "detach.h"
#include "domain.h"
#include "error.h"
#include "layout.h"
#include "link.h"
#include "share.h"
#include "thread.h"

static void *
find_zone(const char *domain, const char *what, size_t bytes)
{
	char name[RTE_MEMZONE_NAMESIZE];
	const struct rte_memzone *zone;

	trip_share_zone_name(domain, what, name, sizeof(name));
	zone = rte_memzone_lookup(name);
	if (zone == NULL)
		(void)trip_error_set(
			ENOENT, "domain \"%s\": the primary has no memzone %s", domain, name);
	else if (zone->len < bytes)
		(void)trip_error_set(EPROTO, "domain \"%s\": memzone %s has %zu bytes, not %zu",
			domain, name, zone->len, bytes);
	return zone != NULL && zone->len >= bytes ? zone->addr : NULL;
}

static int
check_share(const char *name, const struct trip_share *share)
{
	if (share->magic != TRIP_SHARE_MAGIC)
		return trip_error_set(
			EPROTO, "domain \"%s\": the memory found is none of Tripline's", name);
	if (share->layout != trip_share_layout() || strcmp(share->version, TRIP_VERSION) != 0)
		return trip_error_set(EPROTO,
			"domain \"%s\": the primary has version %.16s of the library, this "
			"process " TRIP_VERSION,
			name, share->version);
	if (share->socket[0] == 0)
		return trip_error_set(
			ENOTSUP, "domain \"%s\": it was opened without a socket", name);
	return 0;
}

static int
open_submitters(struct trip_domain *domain, struct trip_home *home)
{
	uint32_t first = trip_home_client_channel(&home->shape, domain->link->number);
	struct trip_submitter *submitters = calloc(domain->n_channels, sizeof(*submitters));
	int error = 0;

	domain->submitters[home->index] = submitters;
	if (submitters == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for channels");
	for (uint32_t i = 0; i < domain->n_channels && error == 0; i++) {
		submitters[i].number = first + i;
		error = trip_domain_open_submitter(&submitters[i], &home->clients[i],
			trip_home_channel_slots(&home->shape, first + i));
	}
	return error;
}

/* The lists begin empty: what is in them comes from the primary. */
static int
open_lists(struct trip_domain *domain, uint32_t home)
{
	struct trip_slots *waiters = &domain->waiters[home];
	uint32_t count = domain->engine.waiters_per_home;
	_Atomic uint32_t *next = calloc(count, sizeof(*next));

	if (next == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for waiters");
	/* None is free until the primary gives some. */
	trip_slots_init(waiters, next, 0, 0);
	return 0;
}

static int
map_homes(struct trip_domain *domain, void **memory, const struct trip_home_shape *shape)
{
	int error = 0;

	for (uint32_t i = 0; i < domain->attr.n_lcores && error == 0; i++) {
		struct trip_home *home =
			trip_home_map(memory[i], &domain->engine, i, shape, domain->link->number);

		if (home == NULL)
			return trip_error_set(ENOMEM, "domain: no memory for home %" PRIu32, i);
		domain->engine.homes[domain->engine.n_homes++] = home;
		error = open_submitters(domain, home);
		if (error == 0)
			error = open_lists(domain, i);
	}
	return error;
}

static int
find_homes(struct trip_domain *domain, void **memory, const struct trip_home_shape *shape)
{
	for (uint32_t i = 0; i < domain->attr.n_lcores; i++) {
		char what[16];

		snprintf(what, sizeof(what), "home%" PRIu32, i);
		memory[i] = find_zone(domain->name, what, trip_home_size(shape));
		if (memory[i] == NULL)
			return -ENOENT;
	}
	return 0;
}

static int
map(struct trip_domain *domain, const struct trip_share *share)
{
	void *memory[TRIP_HOMES_MAX], *flows, *counts;
	struct trip_home_shape shape;
	int error;

	trip_layout_home(&domain->attr, &shape);
	domain->engine.cntrs_per_home = shape.n_cntrs;
	domain->engine.waiters_per_home = shape.n_waiters;
	domain->engine.tsc_hz = share->tsc_hz;
	domain->n_channels = trip_home_client_channels(&shape);
	/* After the last call into EAL comes the attachment: whoever dies in EAL was not attached.
	 */
	error = find_homes(domain, memory, &shape);
	flows = find_zone(domain->name, "flows", trip_layout_flows_size(&domain->attr));
	counts = find_zone(domain->name, "counts", trip_layout_counts_size(&domain->attr));
	if (flows == NULL || counts == NULL)
		return -ENOENT;
	trip_layout_map_flows(&domain->attr, flows, counts, &domain->engine);
	if (error == 0)
		error = trip_link_open(domain, share->socket, share->nonce);
	if (error == 0)
		error = map_homes(domain, memory, &shape);
	if (error == 0)
		error = trip_hold_init(domain);
	if (error == 0)
		error = trip_thread_init(domain);
	/* The primary's homes progress by themselves, as seen from here. */
	domain->attr.progress = TRIP_PROGRESS_LCORE;
	/* As many as the ring of this process's events has room for. */
	domain->attr.max_events = shape.n_client_slots;
	return error;
}

static void
unmap(struct trip_domain *domain)
{
	if (domain->link != NULL)
		trip_link_close(domain);
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		for (uint32_t c = 0; domain->submitters[i] != NULL && c < domain->n_channels; c++)
			free(domain->submitters[i][c].held);
		free(domain->submitters[i]);
		free(domain->waiters[i].next);
		trip_home_fini(domain->engine.homes[i]);
	}
	trip_thread_fini(domain);
	trip_hold_fini(domain);
	trip_domain_free(domain);
}

int
trip_domain_attach(const char *name, struct trip_domain **out, void *context)
{
	const struct trip_share *share;
	struct trip_domain *domain;
	int error;

	if (name == NULL)
		name = "trip";
	error = trip_error_check_name("domain", name, TRIP_DOMAIN_NAME_MAX);
	if (error != 0)
		return error;
	if (rte_eal_process_type() != RTE_PROC_SECONDARY)
		return trip_error_set(
			ENOTSUP, "domain \"%s\": only a secondary process attaches", name);
	share = find_zone(name, "share", sizeof(*share));
	if (share == NULL)
		return -ENOENT;
	error = check_share(name, share);
	if (error != 0)
		return error;
	domain = trip_domain_alloc(name, &share->attr, context);
	if (domain == NULL)
		return -ENOMEM;
	error = map(domain, share);
	if (error == 0)
		error = trip_detach_watch(domain);
	if (error == 0)
		error = trip_link_watch(domain);
	if (error != 0) {
		unmap(domain);
		return error;
	}
	*out = domain;
	return 0;
}

int
trip_attach_close(struct trip_domain *domain)
{
	int error = trip_link_detach(domain);

	if (error != 0 && error != -ESHUTDOWN)
		return error;
	trip_detach_unwatch(domain);
	trip_native_fini(domain);
	unmap(domain);
	return 0;
}
