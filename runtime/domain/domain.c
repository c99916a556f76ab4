/* SPDX-License-Identifier: BSD-3-Clause */
/* What the life of a domain has in common in all processes. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_pause.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/layout.h"
#include "domain/sized.h"
#include "domain/teller.h"
#include "domain/thread.h"

/* Spins on a held lock before its holder may need the CPU that we are on. */
#define LOCK_SPINS 1024

void
trip_domain_wait_lock(struct trip_lock *lock)
{
	unsigned int spins = 0;

	do {
		if (++spins % LOCK_SPINS == 0)
			sched_yield();
		else
			rte_pause();
	} while (atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire));
}

void
trip_domain_count(struct trip_domain *domain, uint32_t *count, int more)
{
	pthread_mutex_lock(&domain->lock);
	*count += (uint32_t)more;
	pthread_mutex_unlock(&domain->lock);
}

void *
trip_domain_context(const struct trip_domain *domain)
{
	return domain->context;
}

static int
open_submitter(struct trip_submitter *submitter, struct trip_home *home,
	struct trip_channel_client *channel)
{
	const struct trip_home_shape *shape = &home->shape;
	uint32_t slots = trip_home_channel_slots(shape, submitter->number);

	atomic_flag_clear(&submitter->lock.held);
	submitter->channel = channel;
	/* The slots that are free from the start hold on to nothing. */
	submitter->reaper = channel->returned;
	submitter->reaper.here = trip_ring_tail(&submitter->reaper);
	submitter->held = calloc((slots + 63) / 64, sizeof(*submitter->held));
	submitter->first_hidden = home->index * home->engine->cntrs_per_home +
				  trip_home_first_hidden(shape, submitter->number);
	submitter->n_groups = trip_home_channel_hidden(shape, submitter->number);
	submitter->groups = calloc(submitter->n_groups, sizeof(*submitter->groups));
	return submitter->held != NULL && submitter->groups != NULL
		       ? 0
		       : trip_error_set(ENOMEM, "domain: no memory for work references");
}

int
trip_domain_open_submitters(struct trip_domain *domain, struct trip_home *home, uint32_t first)
{
	struct trip_submitter *submitters = calloc(domain->n_channels, sizeof(*submitters));
	int error = 0;

	domain->submitters[home->index] = submitters;
	if (submitters == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for channels");
	for (uint32_t i = 0; i < domain->n_channels && error == 0; i++) {
		submitters[i].number = first + i;
		error = open_submitter(&submitters[i], home, &home->clients[i]);
	}
	return error;
}

void
trip_domain_close_homes(struct trip_domain *domain)
{
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		for (uint32_t c = 0; domain->submitters[i] != NULL && c < domain->n_channels; c++) {
			free(domain->submitters[i][c].held);
			free(domain->submitters[i][c].groups);
		}
		free(domain->submitters[i]);
		trip_indices_fini(&domain->cntrs[i]);
		free(domain->waiters[i].next);
		trip_home_fini(domain->engine.homes[i]);
	}
	domain->engine.n_homes = 0;
}

struct trip_domain *
trip_domain_alloc(const char *name, const struct trip_domain_attr *attr,
	const struct trip_backend *backend, void *context)
{
	struct trip_domain *domain = calloc(1, sizeof(*domain));

	if (domain == NULL) {
		(void)trip_error_set(ENOMEM, "domain: no memory for its handle");
		return NULL;
	}
	domain->backend = backend;
	domain->attr = *attr;
	domain->context = context;
	strcpy(domain->name, name);
	domain->attr.name = domain->name;
	pthread_mutex_init(&domain->control, NULL);
	pthread_mutex_init(&domain->lock, NULL);
	pthread_mutex_init(&domain->reader, NULL);
	pthread_mutex_init(&domain->helper.lock, NULL);
	pthread_mutex_init(&domain->teller.life, NULL);
	pthread_mutex_init(&domain->teller.lock, NULL);
	domain->fid = (struct trip_fid){.domain = domain, .kind = TRIP_FID_DOMAIN};
	for (unsigned int i = 0; i < TRIP_HOMES_MAX; i++)
		domain->lcore_fids[i] = (struct trip_fid){.domain = domain, .kind = TRIP_FID_LCORE};
	domain->helper.domain = domain;
	domain->helper.fd = -1;
	return domain;
}

void
trip_domain_free(struct trip_domain *domain)
{
	pthread_mutex_destroy(&domain->teller.life);
	pthread_mutex_destroy(&domain->teller.lock);
	pthread_mutex_destroy(&domain->helper.lock);
	pthread_mutex_destroy(&domain->reader);
	pthread_mutex_destroy(&domain->lock);
	pthread_mutex_destroy(&domain->control);
	free(domain);
}

/* Who is in a call that waits for a time, or has a clock in a poll set. */
static uint32_t
clock_refs(const struct trip_domain *domain)
{
	uint32_t refs = 0;

	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		refs += trip_fid_refs(&domain->clocks[i].fid);
	return refs;
}

/* Of the domain itself and of its lcores; a counter that has some stays open. */
static uint32_t
profiles(const struct trip_domain *domain)
{
	uint32_t refs = trip_fid_refs(&domain->fid);

	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		refs += trip_fid_refs(&domain->lcore_fids[i]);
	return refs;
}

static int
check_unused(struct trip_domain *domain)
{
	uint32_t refs = clock_refs(domain);

	if (domain->n_cntrs > 0 || domain->n_ports > 0 || domain->n_sets > 0 ||
		domain->n_counters > 0 || domain->functions.fresh > domain->functions.n_freed)
		return trip_error_set(EBUSY,
			"domain \"%s\": %" PRIu32 " counters, %" PRIu32
			" counters objects, %" PRIu32 " ports, %" PRIu32
			" poll and wait sets and %" PRIu32 " functions are open",
			domain->name, domain->n_cntrs, domain->n_counters, domain->n_ports,
			domain->n_sets, domain->functions.fresh - domain->functions.n_freed);
	if (!LIST_EMPTY(&domain->sets))
		return trip_error_set(
			EBUSY, "domain \"%s\": sets of addresses or ports are open", domain->name);
	if (domain->n_eaches > 0)
		return trip_error_set(EBUSY,
			"domain \"%s\": %" PRIu32 " handles of what is counted by keys are open",
			domain->name, domain->n_eaches);
	if (refs > 0)
		return trip_error_set(EBUSY,
			"domain \"%s\": %" PRIu32 " waiters or poll sets refer to its clocks",
			domain->name, refs);
	if (profiles(domain) > 0)
		return trip_error_set(EBUSY, "domain \"%s\": %" PRIu32 " profiles are open",
			domain->name, profiles(domain));
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

	/* A child of fork() has no thread of the library's. */
	if (error != 0 && domain->backend->rest != NULL && !trip_detach_forked()) {
		domain->backend->rest(domain);
		trip_teller_rest(domain);
	}
	if (error == 0)
		error = check_unused(domain);
	if (error != 0)
		return error;
	return domain->backend->close(domain);
}

int
trip_domain_footprint(const struct trip_domain_attr *given, struct trip_domain_footprint *footprint)
{
	struct trip_domain_footprint own;
	struct trip_domain_attr attr;
	int error = trip_layout_attr(given, &attr);

	if (error != 0)
		return error;
	trip_layout_footprint(&attr, &own);
	return TRIP_SIZED_GIVE(trip_domain_footprint, footprint, &own);
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
