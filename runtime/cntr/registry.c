/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, finds, closes and names counters, by index and by name. */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "fire.h"

#define INDEX_MASK ((UINT64_C(1) << TRIP_REGISTRY_INDEX_BITS) - 1)

static uint32_t
entry_count(const struct trip_domain *domain)
{
	return domain->engine.n_homes * domain->engine.cntrs_per_home;
}

int
trip_registry_init(struct trip_domain *domain)
{
	domain->entries = calloc(entry_count(domain), sizeof(*domain->entries));
	return domain->entries != NULL
		       ? 0
		       : trip_error_set(ENOMEM, "domain: no memory for %" PRIu32 " counters",
				 entry_count(domain));
}

void
trip_registry_fini(struct trip_domain *domain)
{
	free(domain->entries);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct trip_entry *)a)->name, ((const struct trip_entry *)b)->name);
}

/* The cell may still be armed for a predecessor; only its home writes that. */
static void
reset(struct trip_home *home, uint32_t local)
{
	(void)trip_cell_set(&home->cells[local], 0);
	(void)trip_cell_seterr(&home->cells[local], 0);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, local);
}

static uint32_t
take_ripe(struct trip_domain *domain, uint32_t home)
{
	trip_indices_ripen(domain, &domain->cntrs[home]);
	return trip_indices_take(&domain->cntrs[home]);
}

/* In a handler: but the one that its own operation will be completed on. */
static uint32_t
take_unripe(struct trip_domain *domain, uint32_t home)
{
	uint32_t completes = trip_engine_current->completes, but = TRIP_NONE;

	if (completes != TRIP_NONE && completes / domain->engine.cntrs_per_home == home)
		but = completes % domain->engine.cntrs_per_home;
	return trip_indices_take_unripe(&domain->cntrs[home], but);
}

/* Takes an index of the next home that has one. Under the lock. */
static struct trip_entry *
place(struct trip_domain *domain, uint32_t (*take)(struct trip_domain *domain, uint32_t home))
{
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		uint32_t home = domain->next_home++ % domain->engine.n_homes;
		uint32_t local = take(domain, home), global;

		if (local == TRIP_NONE)
			continue;
		global = home * domain->engine.cntrs_per_home + local;
		domain->entries[global].global = global;
		reset(domain->engine.homes[home], local);
		return &domain->entries[global];
	}
	return NULL;
}

/* The indices of its home, and which of these is its. */
static struct trip_indices *
place_of(struct trip_domain *domain, const struct trip_entry *entry, uint32_t *local)
{
	*local = entry->global % domain->engine.cntrs_per_home;
	return &domain->cntrs[entry->global / domain->engine.cntrs_per_home];
}

/* Under the lock. */
static int
enter_name(struct trip_domain *domain, struct trip_entry *entry, const char *name)
{
	struct trip_entry **found;

	entry->name[0] = 0;
	if (name == NULL)
		return 0;
	strcpy(entry->name, name);
	found = tsearch(entry, &domain->names, by_name);
	if (found == NULL)
		return trip_error_set(ENOMEM, "cntr \"%s\": no memory for its name", name);
	if (*found != entry)
		return trip_error_set(EEXIST, "cntr \"%s\": the name is taken by counter %" PRIu32,
			name, (*found)->global);
	return 0;
}

/* -EAGAIN: there will be room when a grace period is over. Under the lock. */
static int
enter(struct trip_domain *domain, const char *name, struct trip_entry **out)
{
	struct trip_indices *indices;
	struct trip_entry *entry;
	uint32_t local;
	int error;

	if (domain->n_cntrs >= domain->attr.max_cntrs)
		return trip_error_set(ENOSPC, "domain \"%s\": all %" PRIu32 " counters are open",
			domain->name, domain->attr.max_cntrs);
	entry = place(domain, take_ripe);
	if (entry == NULL && trip_domain_on_home(domain))
		entry = place(domain, take_unripe);
	if (entry == NULL)
		return trip_error_set(EAGAIN,
			"domain \"%s\": of its %" PRIu32 " counters, none is free before the "
			"iterations end that run",
			domain->name, domain->attr.max_cntrs);
	error = enter_name(domain, entry, name);
	if (error != 0) {
		/* Nobody has known it. */
		indices = place_of(domain, entry, &local);
		trip_indices_give(indices, local);
		return error;
	}
	domain->n_cntrs++;
	entry->id = ++domain->last_serial << TRIP_REGISTRY_INDEX_BITS | entry->global;
	*out = entry;
	return 0;
}

int
trip_registry_try_enter(struct trip_domain *domain, const char *name, enum trip_cntr_events events,
	uint32_t owner, struct trip_entry **out)
{
	int error;

	pthread_mutex_lock(&domain->lock);
	error = enter(domain, name, out);
	if (error == 0) {
		(*out)->owner = owner;
		(*out)->events = events;
		(*out)->users = 0;
		(*out)->retired = false;
	}
	pthread_mutex_unlock(&domain->lock);
	return error;
}

int
trip_registry_enter(struct trip_domain *domain, const char *name, enum trip_cntr_events events,
	struct trip_entry **out)
{
	uint64_t until = rte_rdtsc() + rte_get_tsc_hz() / 1000 * TRIP_REGISTRY_GRACE_MS;
	int error;

	/* Not for ever: a home by hand may never go on. On a home, or a port's worker, which may be
	 * what is waited for, not at all. */
	while ((error = trip_registry_try_enter(
			domain, name, events, TRIP_REGISTRY_PRIMARY, out)) == -EAGAIN &&
		!trip_progress_on_worker(domain) && rte_rdtsc() < until)
		trip_progress_wait(domain);
	return error == -EAGAIN ? -ENOSPC : error;
}

struct trip_entry *
trip_registry_of_name(struct trip_domain *domain, const char *name)
{
	struct trip_entry key, **found;

	strcpy(key.name, name);
	found = tfind(&key, &domain->names, by_name);
	if (found != NULL)
		return *found;
	(void)trip_error_set(
		ENOENT, "cntr \"%s\": no counter of domain \"%s\"", name, domain->name);
	return NULL;
}

struct trip_entry *
trip_registry_of_id(struct trip_domain *domain, uint64_t id)
{
	uint64_t index = id & INDEX_MASK;

	if (id != 0 && index < entry_count(domain) && domain->entries[index].id == id &&
		!domain->entries[index].retired)
		return &domain->entries[index];
	(void)trip_error_set(ENOENT, "cntr 0x%" PRIx64 ": it is closed, or never was", id);
	return NULL;
}

/* Under the lock; NULL: there was none to be found. */
static int
add_user(struct trip_entry *entry, struct trip_entry **out)
{
	*out = entry;
	if (entry == NULL)
		return -ENOENT;
	entry->users++;
	return 0;
}

int
trip_registry_find(struct trip_domain *domain, const char *name, struct trip_entry **out)
{
	int error;

	pthread_mutex_lock(&domain->lock);
	error = add_user(trip_registry_of_name(domain, name), out);
	pthread_mutex_unlock(&domain->lock);
	return error;
}

int
trip_registry_hold(struct trip_domain *domain, uint64_t id, struct trip_entry **out)
{
	int error;

	pthread_mutex_lock(&domain->lock);
	error = add_user(trip_registry_of_id(domain, id), out);
	pthread_mutex_unlock(&domain->lock);
	return error;
}

/* Under the lock. */
static void
retire(struct trip_domain *domain, struct trip_entry *entry)
{
	entry->retired = true;
	if (entry->name[0] != 0)
		tdelete(entry, &domain->names, by_name);
	entry->name[0] = 0;
	/* Whoever watches it from outside is told by this, and finds it closed. */
	trip_fire_complete(&domain->engine, entry->global, -ECANCELED);
}

/* Under the lock. */
static void
give_back(struct trip_domain *domain, struct trip_entry *entry)
{
	uint32_t local;
	struct trip_indices *indices = place_of(domain, entry, &local);

	entry->id = 0;
	trip_indices_retire(domain, indices, local);
	domain->n_cntrs--;
}

/* Likewise. */
static void
end_unless_used(struct trip_domain *domain, struct trip_entry *entry)
{
	if (entry->users > 0 || entry->owner != TRIP_REGISTRY_GONE)
		return;
	retire(domain, entry);
	give_back(domain, entry);
}

void
trip_registry_drop(struct trip_domain *domain, struct trip_entry *entry)
{
	pthread_mutex_lock(&domain->lock);
	entry->users--;
	end_unless_used(domain, entry);
	pthread_mutex_unlock(&domain->lock);
}

int
trip_registry_retire(struct trip_domain *domain, struct trip_entry *entry)
{
	uint32_t users;

	pthread_mutex_lock(&domain->lock);
	users = entry->users;
	if (users == 0)
		retire(domain, entry);
	pthread_mutex_unlock(&domain->lock);
	return users == 0
		       ? 0
		       : trip_error_set(EBUSY,
				 "cntr %" PRIu32 " \"%s\": %" PRIu32 " other handles have it open",
				 entry->global, entry->name, users);
}

void
trip_registry_orphan(struct trip_domain *domain, struct trip_entry *entry)
{
	pthread_mutex_lock(&domain->lock);
	entry->owner = TRIP_REGISTRY_GONE;
	if (entry->users > 0)
		trip_fire_complete(&domain->engine, entry->global, -ECANCELED);
	end_unless_used(domain, entry);
	pthread_mutex_unlock(&domain->lock);
}

void
trip_registry_free(struct trip_domain *domain, struct trip_entry *entry)
{
	pthread_mutex_lock(&domain->lock);
	give_back(domain, entry);
	pthread_mutex_unlock(&domain->lock);
}
