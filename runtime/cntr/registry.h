/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of a domain, as its primary process knows them: who owns each, what it is called,
 * and how many other handles of any process have found it. Everything here takes the domain's lock.
 */
#ifndef TRIP_RUNTIME_REGISTRY_H
#define TRIP_RUNTIME_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <trip_cntr.h>
#include <trip_domain.h>

#include "domain/layout.h"

/* An owner: this process, an attached one (its number + 1), or one that has died. */
#define TRIP_REGISTRY_PRIMARY 0u
#define TRIP_REGISTRY_GONE UINT32_MAX

/* Bits of a counter's id that are its index; those above are a serial number, never used again. */
#define TRIP_REGISTRY_INDEX_BITS TRIP_LAYOUT_CNTR_BITS

struct trip_entry {
	/* 0: the index is free. */
	uint64_t id;
	uint32_t global;
	uint32_t owner;
	/* Handles that have found it, the owner's not among them. */
	uint32_t users;
	enum trip_cntr_events events;
	/* That feed it, by whichever handle. */
	_Atomic uint32_t flows;
	/* It is on its way out: nobody finds it any more. */
	bool retired;
	char name[TRIP_NAME_MAX + 1];
};

int trip_registry_init(struct trip_domain *domain);
void trip_registry_fini(struct trip_domain *domain);

/* How long whoever opens one waits for the end of iterations. */
#define TRIP_REGISTRY_GRACE_MS 1000

/* Enters a counter; `name` may be NULL. 0, -EEXIST, -ENOSPC, -ENOMEM, or -EAGAIN: all that are
 * closed wait for their grace period. */
int trip_registry_try_enter(struct trip_domain *domain, const char *name,
	enum trip_cntr_events events, uint32_t owner, struct trip_entry **out);

/* The same of the primary's own, but waits for that; on a home it is -ENOSPC at once. */
int trip_registry_enter(struct trip_domain *domain, const char *name, enum trip_cntr_events events,
	struct trip_entry **out);

/* One more handle has found it, by name or id: 0 or -ENOENT. */
int trip_registry_find(struct trip_domain *domain, const char *name, struct trip_entry **out);
int trip_registry_hold(struct trip_domain *domain, uint64_t id, struct trip_entry **out);

/* Such a handle lets go of it. The last one, of a counter whose owner has died, ends it. */
void trip_registry_drop(struct trip_domain *domain, struct trip_entry *entry);

/* Its owner closes it: 0, nobody can find it any more, or -EBUSY: others have it open. */
int trip_registry_retire(struct trip_domain *domain, struct trip_entry *entry);

/* Its owner has died, which ends it unless others have it open. */
void trip_registry_orphan(struct trip_domain *domain, struct trip_entry *entry);

/* Gives the index of a retired counter back, to be used again behind a grace period. */
void trip_registry_free(struct trip_domain *domain, struct trip_entry *entry);

/* The entry of an id or a name; NULL, and the sentence: there is none. Under the domain's lock, and
 * valid as long as that is held. */
struct trip_entry *trip_registry_of_id(struct trip_domain *domain, uint64_t id);
struct trip_entry *trip_registry_of_name(struct trip_domain *domain, const char *name);

#endif
