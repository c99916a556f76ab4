/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile: an object, and what this process remembers of reading it. A snapshot is the values of
 * all rows of the catalogue that the object has, by row, and the histograms that its quantiles are
 * of, which are many times as much and copied where somebody asks for them.
 */
#ifndef TRIP_PROFILE_PROFILE_H
#define TRIP_PROFILE_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <trip_profile.h>

#include "profile/catalogue.h"
#include "spread.h"

struct trip_domain;
struct trip_fid;

/* One for each of enum trip_catalogue_spread. */
#define TRIP_PROFILE_SPREADS 3

struct trip_spreads {
	struct trip_spread_copy of[TRIP_PROFILE_SPREADS];
};

struct trip_snapshot {
	uint64_t values[TRIP_CATALOGUE_VARS];
	struct trip_spreads spreads;
};

/* What is registered for an event, and the value of its variable that was told of last. */
struct trip_profile_told {
	trip_profile_callback_t callback;
	void *context;
	uint64_t last;
};

struct trip_profile {
	struct trip_domain *domain;
	struct trip_fid *fid;
	/* One of enum trip_catalogue_scope. */
	uint32_t scope;
	void *context;
	/* What trip_profile_reset() found; relaxed, each by itself. */
	_Atomic uint64_t base[TRIP_CATALOGUE_VARS];
	_Atomic uint64_t base_buckets[TRIP_PROFILE_SPREADS][TRIP_SPREAD_BUCKETS];
	/* Between start and end, one thread's. */
	bool reads;
	struct trip_snapshot held;
	/* Under the teller's lock. */
	struct trip_profile_told told[TRIP_CATALOGUE_EVENTS];
	unsigned int n_told;
	LIST_ENTRY(trip_profile) next;
};

/* In this thread a callback runs: of this profile, by this snapshot. NULL: none does. */
extern _Thread_local const struct trip_profile *trip_profile_telling;
extern _Thread_local const struct trip_snapshot *trip_profile_told_of;

/* Copies what is published of the object now: its values, and its histograms. Any thread. */
void trip_profile_sample(const struct trip_profile *profile, struct trip_snapshot *snapshot);
void trip_profile_sample_spreads(const struct trip_profile *profile, struct trip_spreads *spreads);

/* Likewise, of ports, queues, and statements that count by keys. */
void trip_profile_sample_flows(const struct trip_profile *profile, struct trip_snapshot *snapshot);

/* The place of a variable that the object has. */
uint64_t *trip_profile_value(struct trip_snapshot *snapshot, uint32_t id, uint32_t scope);

/* What a row of the catalogue is, that is of a histogram, by this one. */
uint64_t trip_profile_of_spread(const struct trip_domain *domain,
	const struct trip_catalogue_var *var, const struct trip_spread_copy *spread);

/* Of a row of the catalogue's events. */
void trip_profile_describe(unsigned int event, struct trip_profile_desc *desc);

/* -EBUSY in a callback, -ESHUTDOWN where this process is not attached, or 0. */
int trip_profile_check(const struct trip_profile *profile);

/* Takes all callbacks back; none of them runs any more. */
void trip_profile_forget(struct trip_profile *profile);

#endif
