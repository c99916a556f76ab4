/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A domain in a secondary process. The engine here is a view of the primary's homes: their
 * doorbells, cells and waiters, and this process's channels to each. Everything else is the
 * primary's, and is asked for (link.h).
 *
 * A domain ends when its primary likes, until this process is let in. So attaching goes by three
 * steps. It copies the header, once, and knows the domain by its nonce. It looks up the other
 * memzones, but not into them: that is the last call into EAL, whose locks are not robust, and
 * whoever dies in it was not attached. It asks to be let in, by the nonce: the domain that answers
 * was there when its header was read, so what was looked up since is its own, and stays; and only
 * now are the memzones read, and held against the sizes that follow from the answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_memzone.h>

#include <trip_version.h>

#include "cntr/clock_cntr.h"
#include "cntr/native.h"
#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/layout.h"
#include "domain/share.h"
#include "domain/sized.h"
#include "domain/thread.h"
#include "secondary/link.h"
#include "work/work_refs.h"

/* What is about to change is looked at so often, in a second. */
#define AGAIN_TIMES 200
#define AGAIN_PAUSE_NS 5000000

/* What was found of a domain. */
struct finds {
	struct trip_share share;
	const struct rte_memzone *header, *flows, *counts, *each, *homes[TRIP_HOMES_MAX];
	uint32_t n_homes;
};

static const struct rte_memzone *
find_zone(const char *domain, const char *what)
{
	char name[RTE_MEMZONE_NAMESIZE];
	const struct rte_memzone *zone;

	trip_share_zone_name(domain, what, name, sizeof(name));
	zone = rte_memzone_lookup(name);
	if (zone == NULL)
		(void)trip_error_set(
			ENOENT, "domain \"%s\": the primary has no memzone %s", domain, name);
	return zone;
}

/*
 * A domain that ends frees its memory, and EAL takes the pages away from this process, too: a load
 * would end it then, where a system call says so.
 */
static int
copy_header(const char *name, const struct rte_memzone *zone, struct trip_share *copy)
{
	struct iovec here = {copy, sizeof(*copy)}, there = {zone->addr, sizeof(*copy)};
	ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
	int error = got < 0 && errno != EFAULT ? errno : EAGAIN;

	return got == (ssize_t)sizeof(*copy)
		       ? 0
		       : trip_error_system(error, "domain \"%s\": its header cannot be read", name);
}

static int
check_header(const char *name, const struct trip_share *share)
{
	uint64_t magic = share->magic;

	if (magic == 0)
		return trip_error_set(EAGAIN, "domain \"%s\": it is being opened or closed", name);
	if (magic != TRIP_SHARE_MAGIC)
		return trip_error_set(EPROTO,
			"domain \"%s\": the memory found is none of Tripline's: it begins with "
			"0x%016" PRIx64,
			name, magic);
	if (share->layout != trip_share_layout() ||
		strncmp(share->version, TRIP_VERSION_STRING, sizeof(share->version)) != 0)
		return trip_error_set(EPROTO,
			"domain \"%s\": the primary has version %.16s of the library, this "
			"process " TRIP_VERSION_STRING "; layouts 0x%08" PRIx32 " and 0x%08" PRIx32,
			name, share->version, share->layout, trip_share_layout());
	if (share->socket[0] == 0)
		return trip_error_set(
			ENOTSUP, "domain \"%s\": it was opened without a socket", name);
	if (memchr(share->socket, 0, sizeof(share->socket)) == NULL)
		return trip_error_set(EPROTO,
			"domain \"%s\": the path of its socket has no end within %zu bytes", name,
			sizeof(share->socket));
	return 0;
}

/* How many homes there are is not known yet. */
static void
find_homes(const char *name, struct finds *finds)
{
	const struct rte_memzone *zone;
	char what[16];

	do {
		snprintf(what, sizeof(what), "home%" PRIu32, finds->n_homes);
		zone = find_zone(name, what);
		if (zone != NULL)
			finds->homes[finds->n_homes++] = zone;
	} while (zone != NULL && finds->n_homes < TRIP_HOMES_MAX);
}

static int
find(const char *name, struct finds *finds)
{
	int error = copy_header(name, finds->header, &finds->share);

	if (error == 0)
		error = check_header(name, &finds->share);
	if (error != 0)
		return error;
	find_homes(name, finds);
	finds->flows = find_zone(name, "flows");
	finds->counts = find_zone(name, "counts");
	finds->each = finds->share.has_each != 0 ? find_zone(name, "each") : NULL;
	return 0;
}

/* The domain that we have looked at is not there any more. */
static bool
has_gone(const char *name, const struct finds *finds)
{
	struct trip_share now;

	return find_zone(name, "share") != finds->header ||
	       copy_header(name, finds->header, &now) == -EAGAIN ||
	       now.magic != finds->share.magic || now.nonce != finds->share.nonce;
}

/* The memory of a zone that the primary has reserved for so many bytes. */
static int
open_zone(const struct trip_domain *domain, const char *what, const struct rte_memzone *zone,
	size_t bytes, void **memory)
{
	size_t reserved = RTE_ALIGN_CEIL(bytes, RTE_CACHE_LINE_SIZE);

	*memory = NULL;
	if (zone == NULL)
		return trip_error_set(EPROTO,
			"domain \"%s\": the primary has no memzone for its %s", domain->name, what);
	if (zone->len != reserved)
		return trip_error_set(EPROTO, "domain \"%s\": memzone %s has %zu bytes, not %zu",
			domain->name, zone->name, zone->len, reserved);
	*memory = zone->addr;
	return 0;
}

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
map_homes(
	struct trip_domain *domain, const struct finds *finds, const struct trip_home_shape *shape)
{
	uint32_t n = domain->attr.n_lcores;
	int error = n > 0 && n == finds->n_homes ? 0
						 : trip_error_set(EPROTO,
							   "domain \"%s\": the primary has %" PRIu32
							   " homes, and memzones of %" PRIu32,
							   domain->name, n, finds->n_homes);

	for (uint32_t i = 0; i < n && error == 0; i++) {
		struct trip_home *home;
		void *memory;

		error = open_zone(domain, "homes", finds->homes[i], trip_home_size(shape), &memory);
		if (error != 0)
			break;
		home = trip_home_map(memory, &domain->engine, i, shape, domain->link->number);
		if (home == NULL)
			return trip_error_set(ENOMEM, "domain: no memory for home %" PRIu32, i);
		domain->engine.homes[domain->engine.n_homes++] = home;
		error = trip_domain_open_submitters(
			domain, home, trip_home_client_channel(&home->shape, domain->link->number));
		if (error == 0)
			error = open_lists(domain, i);
	}
	return error;
}

static int
map_flows(struct trip_domain *domain, const struct finds *finds)
{
	const struct trip_domain_attr *attr = &domain->attr;
	void *flows, *counts, *each = NULL;
	int error = open_zone(domain, "flows", finds->flows, trip_layout_flows_size(attr), &flows);

	if (error == 0)
		error = open_zone(
			domain, "counts", finds->counts, trip_layout_counts_size(attr), &counts);
	if (error == 0)
		trip_layout_map_flows(attr, flows, counts, &domain->engine);
	if (error == 0 && attr->each_bytes != 0)
		error = open_zone(domain, "keys", finds->each, trip_layout_each_size(attr), &each);
	domain->engine.eaches = each;
	return error;
}

/* It has been let in. */
static int
map(struct trip_domain *domain, const struct finds *finds)
{
	struct trip_home_shape shape;
	int error;

	trip_layout_home(&domain->attr, &shape);
	domain->engine.cntrs_per_home = shape.n_cntrs;
	domain->engine.waiters_per_home = shape.n_waiters;
	domain->n_channels = trip_home_client_channels(&shape);
	error = map_flows(domain, finds);
	if (error == 0)
		error = map_homes(domain, finds, &shape);
	if (error == 0)
		error = trip_clock_cntr_init(domain);
	if (error == 0)
		error = trip_work_refs_init(domain);
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
	trip_clock_cntr_fini(domain);
	trip_domain_close_homes(domain);
	trip_thread_fini(domain);
	trip_work_refs_fini(domain);
	trip_domain_free(domain);
}

static int
close_domain(struct trip_domain *domain)
{
	int error = trip_link_detach(domain);

	if (error != 0 && error != -ESHUTDOWN)
		return error;
	trip_detach_unwatch(domain);
	trip_native_fini(domain);
	unmap(domain);
	return 0;
}

/* The connection is the parent's. */
static void
forget(struct trip_domain *domain)
{
}

static int
refuse_functions(const struct trip_domain *domain)
{
	return trip_error_set(ENOTSUP,
		"domain \"%s\": functions run in the primary: register them there", domain->name);
}

static void
no_commands(const struct trip_domain *domain, uint64_t *taken, uint64_t *refused)
{
	*taken = *refused = 0;
}

static const struct trip_backend backend = {
	.close = close_domain,
	.forget = forget,
	.rest = trip_link_rest,
	.homes = trip_link_homes,
	.commands = no_commands,
	.quiesce = trip_link_quiesce,
	.check_functions = refuse_functions,
	.police = trip_link_flow_police,
	.cntr = &trip_link_cntr,
	.native = &trip_link_native,
	.port = &trip_link_port,
	.flow = &trip_link_flow,
	.counters = &trip_link_counters,
	.each = &trip_link_each,
};

/* Finds the domain, and is let in: *out is yet to be mapped then. */
static int
enter(const char *name, struct finds *finds, struct trip_domain **out, void *context)
{
	static const struct trip_domain_attr unknown;
	struct trip_domain *domain;
	int error = find(name, finds);

	if (error != 0)
		return error;
	domain = trip_domain_alloc(name, &unknown, &backend, context);
	if (domain == NULL)
		return -ENOMEM;
	error = trip_link_open(domain, finds->share.socket, finds->share.nonce);
	if (error != 0)
		trip_domain_free(domain);
	*out = domain;
	return error;
}

static int
attach(const char *name, struct trip_domain **out, void *context)
{
	struct finds finds = {.header = find_zone(name, "share")};
	struct trip_domain *domain;
	int error;

	if (finds.header == NULL)
		return -ENOENT;
	error = enter(name, &finds, &domain, context);
	/* Then it does not matter what it was that kept us out. */
	if (error != 0)
		return has_gone(name, &finds) ? -EAGAIN : error;
	error = map(domain, &finds);
	if (error == 0)
		error = trip_link_watch(domain);
	if (error == 0)
		error = trip_detach_watch(domain);
	if (error != 0) {
		(void)trip_link_detach(domain);
		unmap(domain);
		return error;
	}
	*out = domain;
	return 0;
}

int
trip_domain_attach(
	const struct trip_domain_attach_attr *given, struct trip_domain **out, void *context)
{
	struct trip_domain_attach_attr attr;
	int error = TRIP_SIZED_TAKE(trip_domain_attach_attr, &attr, given);
	const char *name = attr.name != NULL ? attr.name : "trip";

	if (error == 0)
		error = trip_error_check_name("domain", name, TRIP_DOMAIN_NAME_MAX);
	if (error != 0)
		return error;
	if (rte_eal_process_type() != RTE_PROC_SECONDARY)
		return trip_error_set(
			ENOTSUP, "domain \"%s\": only a secondary process attaches", name);
	error = attach(name, out, context);
	for (unsigned int i = 1; i < AGAIN_TIMES && error == -EAGAIN; i++) {
		trip_thread_pause(AGAIN_PAUSE_NS);
		error = attach(name, out, context);
	}
	return error;
}
