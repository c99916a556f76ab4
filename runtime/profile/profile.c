/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: opened, described, read, reset. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "profile/profile.h"

_Thread_local const struct trip_profile *trip_profile_telling;
_Thread_local const struct trip_snapshot *trip_profile_told_of;

struct trip_fid *
trip_domain_fid(struct trip_domain *domain)
{
	return &domain->fid;
}

struct trip_fid *
trip_lcore_fid(struct trip_domain *domain, uint32_t lcore)
{
	return lcore < domain->engine.n_homes ? &domain->lcore_fids[lcore] : NULL;
}

static int
check_flags(uint64_t flags)
{
	return flags == 0
		       ? 0
		       : trip_error_set(EINVAL, "profile: flags are 0x%" PRIx64 ", not 0", flags);
}

/* Of calls that take flags of a profile that is open. */
static int
check_call(const struct trip_profile *profile, uint64_t flags)
{
	int error = trip_detach_check(profile->domain);

	return error == 0 ? check_flags(flags) : error;
}

static int
check_outside(void)
{
	return trip_profile_telling == NULL
		       ? 0
		       : trip_error_set(EBUSY, "profile: a callback of one reads, and no more");
}

int
trip_profile_check(const struct trip_profile *profile)
{
	int error = trip_detach_check(profile->domain);

	return error == 0 ? check_outside() : error;
}

/* 0: it has none. */
static uint32_t
scope_of(const struct trip_fid *fid)
{
	static const uint32_t scopes[] = {
		[TRIP_FID_CNTR] = TRIP_CATALOGUE_CNTR,
		[TRIP_FID_WAIT_SET] = 0,
		[TRIP_FID_POLL_SET] = 0,
		[TRIP_FID_DOMAIN] = TRIP_CATALOGUE_DOMAIN,
		[TRIP_FID_LCORE] = TRIP_CATALOGUE_LCORE,
		[TRIP_FID_PORT] = TRIP_CATALOGUE_PORT,
		[TRIP_FID_QUEUE] = TRIP_CATALOGUE_QUEUE,
		[TRIP_FID_EACH] = TRIP_CATALOGUE_EACH,
	};

	return scopes[fid->kind];
}

int
trip_profile_open(struct trip_fid *fid, uint64_t flags, struct trip_profile **out, void *context)
{
	struct trip_profile *profile;
	int error = fid != NULL ? trip_detach_check(fid->domain)
				: trip_error_set(EINVAL, "profile: there is no such object");

	if (error == 0)
		error = check_outside();
	if (error == 0)
		error = check_flags(flags);
	if (error == 0 && scope_of(fid) == 0)
		error = trip_error_set(ENOSYS, "profile: poll sets and wait sets have none");
	if (error != 0)
		return error;
	profile = calloc(1, sizeof(*profile));
	if (profile == NULL)
		return trip_error_set(ENOMEM, "profile: no memory for its handle");
	profile->domain = fid->domain;
	profile->fid = fid;
	profile->scope = scope_of(fid);
	profile->context = context;
	trip_fid_hold(fid);
	*out = profile;
	return 0;
}

int
trip_profile_close(struct trip_profile *profile)
{
	int error = trip_profile_check(profile);

	if (error != 0)
		return error;
	trip_profile_forget(profile);
	trip_fid_let_go(profile->fid);
	free(profile);
	return 0;
}

void *
trip_profile_context(const struct trip_profile *profile)
{
	return profile->context;
}

/* Before a list of what there is of `what` is filled: how many it has room for, or the error. */
static int
check_query(const struct trip_profile *profile, const struct trip_profile_desc *list,
	const size_t *count, size_t size, const char *what, size_t *room)
{
	int error = trip_profile_check(profile);

	if (error == 0 && count == NULL)
		error = trip_error_set(EINVAL, "profile: no place for how many %s there are", what);
	if (error == 0)
		error = TRIP_SIZED_CHECK(trip_profile_desc, size);
	if (error == 0)
		*room = list != NULL ? *count : 0;
	return error;
}

/* At its place among elements of that size, as far as these go. */
static void
put(struct trip_profile_desc *list, size_t at, size_t size, const struct trip_profile_desc *desc)
{
	struct trip_profile_desc *to = (void *)((char *)list + at * size);

	to->size = size;
	(void)TRIP_SIZED_GIVE(trip_profile_desc, to, desc);
}

int
trip_profile_query_vars(
	struct trip_profile *profile, struct trip_profile_desc *list, size_t *count, size_t size)
{
	size_t room, n = 0, written = 0;
	int error = check_query(profile, list, count, size, "variables", &room);

	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS && error == 0; i++) {
		const struct trip_catalogue_var *var = &trip_catalogue_vars[i];
		const struct trip_profile_desc desc = {
			.id = var->id,
			.type = TRIP_PROFILE_U64,
			.kind = var->kind,
			.unit = var->unit,
			.data_size = sizeof(uint64_t),
			.name = var->name,
			.desc = var->meaning,
		};

		if ((var->scopes & profile->scope) == 0)
			continue;
		if (n++ < room)
			put(list, written++, size, &desc);
	}
	if (error == 0)
		*count = n;
	return error == 0 ? (int)written : error;
}

void
trip_profile_describe(unsigned int event, struct trip_profile_desc *desc)
{
	const struct trip_catalogue_event *row = &trip_catalogue_events[event];

	/* By how much it has grown, in the unit of its variable. */
	*desc = (struct trip_profile_desc){
		.size = sizeof(*desc),
		.id = row->id,
		.type = TRIP_PROFILE_U64,
		.kind = TRIP_PROFILE_TOTAL,
		.data_size = sizeof(uint64_t),
		.name = row->name,
		.desc = row->meaning,
	};
}

int
trip_profile_query_events(
	struct trip_profile *profile, struct trip_profile_desc *list, size_t *count, size_t size)
{
	size_t room, n = 0, written = 0;
	int error = check_query(profile, list, count, size, "events", &room);

	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS && error == 0; i++) {
		struct trip_profile_desc desc;

		if (trip_catalogue_event_of(trip_catalogue_events[i].id, profile->scope) < 0)
			continue;
		trip_profile_describe(i, &desc);
		if (n++ < room)
			put(list, written++, size, &desc);
	}
	if (error == 0)
		*count = n;
	return error == 0 ? (int)written : error;
}

/* Since the profile was reset. What was sampled before that may be below what it found. */
static uint64_t
rebased(const struct trip_profile *profile, unsigned int row, uint64_t value)
{
	uint64_t base = atomic_load_explicit(&profile->base[row], memory_order_relaxed);

	switch (trip_catalogue_vars[row].kind) {
	case TRIP_PROFILE_TOTAL:
		return value > base ? value - base : 0;
	case TRIP_PROFILE_MOST:
		return value > base ? value : 0;
	case TRIP_PROFILE_NOW:
	case TRIP_PROFILE_LIMIT:
	case TRIP_PROFILE_QUANTILE:
		break;
	}
	return value;
}

/* Likewise. */
static uint64_t
rebased_spread(const struct trip_profile *profile, const struct trip_catalogue_var *var,
	const struct trip_spreads *spreads)
{
	const _Atomic uint64_t *base = profile->base_buckets[var->spread - 1];
	struct trip_spread_copy since = spreads->of[var->spread - 1];

	for (unsigned int i = 0; i < TRIP_SPREAD_BUCKETS; i++) {
		uint64_t before = atomic_load_explicit(&base[i], memory_order_relaxed);

		since.buckets[i] -= since.buckets[i] < before ? since.buckets[i] : before;
	}
	return trip_profile_of_spread(profile->domain, var, &since);
}

/* NULL: what there is now. */
static uint64_t
read_row(const struct trip_profile *profile, unsigned int row, const struct trip_snapshot *from)
{
	const struct trip_catalogue_var *var = &trip_catalogue_vars[row];
	struct trip_snapshot now;

	if (from == NULL) {
		from = &now;
		if (var->spread == TRIP_CATALOGUE_NO_SPREAD)
			trip_profile_sample(profile, &now);
		else
			trip_profile_sample_spreads(profile, &now.spreads);
	}
	return var->spread == TRIP_CATALOGUE_NO_SPREAD
		       ? rebased(profile, row, from->values[row])
		       : rebased_spread(profile, var, &from->spreads);
}

int
trip_profile_read_u64(struct trip_profile *profile, uint32_t var_id, uint64_t *data)
{
	int row = trip_catalogue_var_of(var_id, profile->scope),
	    error = trip_detach_check(profile->domain);
	const struct trip_snapshot *from = NULL;

	if (error != 0)
		return error;
	if (row < 0)
		return trip_error_set(EINVAL,
			"profile: variable 0x%" PRIx32 " is none that its object has", var_id);
	if (trip_profile_telling == profile)
		from = trip_profile_told_of;
	else if (profile->reads)
		from = &profile->held;
	*data = read_row(profile, (unsigned int)row, from);
	return 0;
}

int
trip_profile_reset(struct trip_profile *profile, uint64_t flags)
{
	int error = check_call(profile, flags);
	struct trip_snapshot now;

	if (error != 0)
		return error;
	trip_profile_sample(profile, &now);
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++)
		atomic_store_explicit(&profile->base[i], now.values[i], memory_order_relaxed);
	trip_profile_sample_spreads(profile, &now.spreads);
	for (unsigned int i = 0; i < TRIP_PROFILE_SPREADS; i++)
		for (unsigned int at = 0; at < TRIP_SPREAD_BUCKETS; at++)
			atomic_store_explicit(&profile->base_buckets[i][at],
				now.spreads.of[i].buckets[at], memory_order_relaxed);
	return 0;
}

int
trip_profile_start_reads(struct trip_profile *profile, uint64_t flags)
{
	int error = check_call(profile, flags);

	if (error != 0)
		return error;
	if (trip_profile_telling == profile || profile->reads)
		return trip_error_set(EBUSY, "profile: its reads are of one snapshot already");
	trip_profile_sample(profile, &profile->held);
	trip_profile_sample_spreads(profile, &profile->held.spreads);
	profile->reads = true;
	return 0;
}

int
trip_profile_end_reads(struct trip_profile *profile, uint64_t flags)
{
	int error = check_call(profile, flags);

	if (error != 0)
		return error;
	if (trip_profile_telling == profile || !profile->reads)
		return trip_error_set(EINVAL, "profile: no snapshot has begun here");
	profile->reads = false;
	return 0;
}
