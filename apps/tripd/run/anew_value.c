/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include <rte_common.h>

#include <trip.h>

#include "anew_value.h"
#include "quota.h"
#include "rules.h"

unsigned int
tripd_anew_values(const struct tripd_quota *quota)
{
	return 2 * quota->rules->n_counts + quota->rules->n_counters;
}

unsigned int
tripd_anew_value(const struct tripd_quota *quota, enum trip_rules_ref ref, unsigned int index)
{
	switch (ref) {
	case TRIP_RULES_REF_PACKETS:
		return 2 * index;
	case TRIP_RULES_REF_BYTES:
		return 2 * index + 1;
	case TRIP_RULES_REF_COUNTER:
		return 2 * quota->rules->n_counts + index;
	default:
		return UINT_MAX;
	}
}

struct tripd_anew *
tripd_anew_of(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	return value < n ? &quota->anew_counts[value] : &quota->anew_counters[value - n];
}

struct trip_cntr *
tripd_anew_cntr(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	if (value >= n)
		return quota->counters[value - n];
	return value % 2 == 0 ? quota->counts[value / 2].packets : quota->counts[value / 2].bytes;
}

bool
tripd_anew_is_gone(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	return value < n ? quota->rules->counts[value / 2].gone
			 : quota->rules->counters[value - n].gone;
}

struct finding {
	const struct tripd_quota *quota;
	bool found;
};

static void
find_value(void *arg, struct trip_rules_pair *pair)
{
	struct finding *finding = arg;
	unsigned int value = tripd_anew_value(finding->quota, pair->ref, pair->index);

	finding->found |= value != UINT_MAX && tripd_anew_of(finding->quota, value)->begins;
}

bool
tripd_anew_is_in(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];
	struct trip_rules_pair own = {.ref = when->ref, .index = when->index};
	struct finding finding = {quota, false};

	find_value(&finding, &own);
	trip_rules_pairs_walk(when->pairs, find_value, &finding);
	return finding.found;
}

uint64_t
tripd_anew_sum(const struct tripd_quota *quota, unsigned int value, enum tripd_anew_moment moment)
{
	const struct tripd_anew *anew = tripd_anew_of(quota, value);
	struct trip_cntr *cntr = tripd_anew_cntr(quota, value);
	uint64_t sum = trip_cntr_readerr(cntr);

	if (!anew->begins)
		sum += trip_cntr_read(cntr);
	else if (moment == TRIPD_ANEW_WAS)
		sum += anew->was;
	/* A threshold is at most that. */
	return RTE_MIN(sum, TRIP_CNTR_MAX);
}

static bool
pair_holds(const struct tripd_quota *quota, const struct trip_rules_pair *pair, uint64_t since,
	enum tripd_anew_moment moment)
{
	unsigned int value = tripd_anew_value(quota, pair->ref, pair->index);

	if (pair->condition.kind != TRIP_CONDITION_NONE)
		return false;
	if (pair->ref == TRIP_RULES_REF_CLOCK)
		return trip_cntr_read(trip_clock_cntr(quota->domain)) >= pair->threshold + since;
	return value != UINT_MAX && tripd_anew_sum(quota, value, moment) >= pair->threshold;
}

static bool
pairs_hold(const struct tripd_quota *quota, const struct trip_rules_pairs *pairs, uint64_t since,
	enum tripd_anew_moment moment)
{
	bool all = true, any = false;

	for (unsigned int i = 0; i < pairs->n; i++) {
		const struct trip_rules_pair *pair = &pairs->pair[i];
		/* One that is nested has no pairs that are. */
		bool holds = pair->nested != NULL ? pairs_hold(quota, pair->nested, since, moment)
						  : pair_holds(quota, pair, since, moment);

		all &= holds;
		any |= holds;
	}
	return pairs->kind == TRIP_CONDITION_ALL ? all : any;
}

uint64_t
tripd_anew_due(const struct tripd_quota *quota, unsigned int i, enum tripd_anew_moment moment)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];
	unsigned int value = tripd_anew_value(quota, when->ref, when->index);

	if (when->pairs != NULL)
		return pairs_hold(quota, when->pairs, quota->items[i].since, moment);
	return value == UINT_MAX ? 0 : tripd_quota_due(when, tripd_anew_sum(quota, value, moment));
}
