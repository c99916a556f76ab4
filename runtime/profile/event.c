/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of profiles: who is told, and the looks of the thread that tells them. */
#include <errno.h>
#include <inttypes.h>

#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/teller.h"
#include "profile/profile.h"

static void
tell(struct trip_profile *profile, unsigned int event, struct trip_snapshot *snapshot,
	bool *has_spreads)
{
	struct trip_profile_told *told = &profile->told[event];
	uint64_t value = snapshot->values[trip_catalogue_var_of(
			 trip_catalogue_events[event].var, profile->scope)],
		 more = value - told->last;
	bool grown = value > told->last;
	struct trip_profile_desc desc;

	/* A counter may have been set to less. */
	told->last = value;
	if (!grown)
		return;
	trip_profile_describe(event, &desc);
	if (!*has_spreads)
		trip_profile_sample_spreads(profile, &snapshot->spreads);
	*has_spreads = true;
	trip_profile_telling = profile;
	trip_profile_told_of = snapshot;
	(void)told->callback(profile, &desc, &more, sizeof(more), told->context);
	trip_profile_telling = NULL;
	trip_profile_told_of = NULL;
}

static void
look(struct trip_domain *domain)
{
	struct trip_profile *profile;

	pthread_mutex_lock(&domain->teller.lock);
	LIST_FOREACH (profile, &domain->teller.profiles, next) {
		struct trip_snapshot snapshot;
		bool has_spreads = false;

		trip_profile_sample(profile, &snapshot);
		for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++)
			if (profile->told[i].callback != NULL)
				tell(profile, i, &snapshot, &has_spreads);
	}
	pthread_mutex_unlock(&domain->teller.lock);
}

/* In place of what there was. Under the lock. */
static void
replace(struct trip_profile *profile, unsigned int event, trip_profile_callback_t callback,
	void *context)
{
	struct trip_profile_told *told = &profile->told[event];
	unsigned int before = profile->n_told;
	struct trip_snapshot now;

	profile->n_told += (callback != NULL) - (told->callback != NULL);
	told->callback = callback;
	told->context = context;
	if (callback != NULL) {
		trip_profile_sample(profile, &now);
		told->last = now.values[trip_catalogue_var_of(
			trip_catalogue_events[event].var, profile->scope)];
	}
	if (before == 0 && profile->n_told > 0)
		LIST_INSERT_HEAD(&profile->domain->teller.profiles, profile, next);
	else if (before > 0 && profile->n_told == 0)
		LIST_REMOVE(profile, next);
}

/* Whether one was registered before. */
static bool
change(struct trip_profile *profile, unsigned int event, trip_profile_callback_t callback,
	void *context)
{
	struct trip_teller *teller = &profile->domain->teller;
	bool had;

	pthread_mutex_lock(&teller->lock);
	had = profile->told[event].callback != NULL;
	replace(profile, event, callback, context);
	pthread_mutex_unlock(&teller->lock);
	return had;
}

int
trip_profile_register_callback(struct trip_profile *profile, uint32_t event_id,
	trip_profile_callback_t callback, void *context)
{
	int event = trip_catalogue_event_of(event_id, profile->scope),
	    error = trip_profile_check(profile);

	if (error == 0 && event < 0)
		error = trip_error_set(EINVAL,
			"profile: event 0x%" PRIx32 " is none that its object has", event_id);
	/* The thread is there as long as each callback is, and a little longer. */
	if (error == 0 && callback != NULL)
		error = trip_teller_join(profile->domain, look);
	if (error != 0)
		return error;
	if (change(profile, (unsigned int)event, callback, context))
		trip_teller_leave(profile->domain);
	return 0;
}

void
trip_profile_forget(struct trip_profile *profile)
{
	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++)
		if (change(profile, i, NULL, NULL))
			trip_teller_leave(profile->domain);
}
