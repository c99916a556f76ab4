/* SPDX-License-Identifier: BSD-3-Clause */
/* What has fired: the events of items, kept for the report, and what each statement has begun and
 * holds by them. */
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>

#include "apply/when.h"
#include "grow.h"
#include "now.h"
#include "quota.h"
#include "rules.h"

#define EVENTS_BURST 256

static void
keep(struct tripd_quota *quota, const struct tripd_trip *trip)
{
	if (tripd_grow(&quota->trips, &quota->max_trips, quota->n_trips + 1,
		    quota->keep + TRIPD_TRIPS_MAX, sizeof(*quota->trips)) != 0) {
		quota->n_untold++;
		free(trip->key);
		return;
	}
	quota->trips[quota->n_trips] = *trip;
	quota->trips[quota->n_trips].sample = NULL;
	quota->trips[quota->n_trips++].tops = NULL;
}

bool
tripd_quota_is_hold(enum trip_rules_op op)
{
	return op == TRIP_RULES_OP_DROP || op == TRIP_RULES_OP_POLICE;
}

bool
tripd_quota_owes(const struct tripd_quota *quota, unsigned int i)
{
	return quota->items[i].owed &&
	       quota->items[i].fired_at > quota->holds[quota->rules->whens[i].target].passed_at;
}

bool
tripd_quota_has_held(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	return tripd_quota_is_hold(when->op) && quota->fired[i] > 0 && !quota->items[i].ended &&
	       quota->items[i].fired_at > quota->holds[when->target].passed_at;
}

bool
tripd_quota_holds(const struct tripd_quota *quota, unsigned int i)
{
	return !quota->rules->whens[i].gone && tripd_quota_has_held(quota, i);
}

void
tripd_quota_passed(
	struct tripd_quota *quota, unsigned int count, enum trip_rules_op op, uint64_t at)
{
	struct tripd_hold *hold = &quota->holds[count];

	/* Of operations that are under way it is known yet when they are done. */
	hold->by_hand = 0;
	hold->passed = op == TRIP_RULES_OP_PASS;
	hold->passed_at = at;
	hold->passes = false;
}

static bool
repeats(const struct trip_rules_when *when)
{
	return when->every != 0 && when->condition.kind == TRIP_CONDITION_NONE &&
	       !trip_rules_is_of_keys(when);
}

/* How often a statement has fired by then: of what repeats, trips before it may have been lost. */
static uint64_t
fired_by(const struct tripd_quota *quota, const struct tripd_trip *trip)
{
	const struct trip_rules_when *when = &quota->rules->whens[trip->when];
	uint64_t fired = quota->fired[trip->when];

	if (!repeats(when))
		return fired + trip->count;
	return RTE_MAX(fired, 1 + (trip->threshold - when->threshold) / when->every);
}

/* What has become of a statement, and of what it acts on. */
static void
note(struct tripd_quota *quota, const struct tripd_trip *trip)
{
	const struct trip_rules_when *when = &quota->rules->whens[trip->when];
	struct tripd_item *item = &quota->items[trip->when];
	uint64_t fired;

	quota->n_events++;
	item->ended = trip->ends;
	item->owed &= trip->ends;
	quota->periods.released |= trip->ends;
	if (trip->ends)
		return;
	item->last_threshold = trip->threshold;
	item->last_value = trip->value;
	fired = quota->fired[trip->when];
	quota->fired[trip->when] = fired_by(quota, trip);
	item->n_overrun = quota->n_overrun;
	item->fired_at = quota->n_events;
	if (when->lasts != 0)
		item->fired_ns = trip_cntr_read(trip_clock_cntr(quota->domain));
	if (when->op == TRIP_RULES_OP_PASS || when->op == TRIP_RULES_OP_DELETE)
		tripd_quota_passed(quota, when->target, when->op, quota->n_events);
	/* It may have been made up for. */
	if (when->op == TRIP_RULES_OP_RESET && quota->fired[trip->when] > fired)
		tripd_anew_reset(quota, trip->when);
}

/* Trips were lost: no event will have anybody reset what they did. */
static void
make_up_for_resets(struct tripd_quota *quota)
{
	for (unsigned int i = 0; i < quota->rules->n_whens; i++) {
		const struct trip_rules_when *when = &quota->rules->whens[i];
		uint64_t value;

		/* What is taken back fires as it is queued again. */
		if (when->gone || when->op != TRIP_RULES_OP_RESET || !repeats(when) ||
			quota->items[i].n == 0)
			continue;
		value = tripd_quota_value(quota, when);
		if (value < when->threshold + when->every * quota->fired[i])
			continue;
		quota->fired[i] = 1 + (value - when->threshold) / when->every;
		tripd_anew_reset(quota, i);
	}
}

/* What goes on is begun at once; what has a threshold of 0 has fired before. Its end is none where
 * the statement has fired since: that lasts longer. */
static bool
is_of_going_on(struct tripd_item *item, bool ends)
{
	if (ends)
		return item->goes_on_at != 0 && item->fired_at > item->goes_on_at;
	if (item->goes_on == 0)
		return false;
	item->goes_on--;
	return true;
}

/* A rate that goes on holds at once; from then on it is as any other. */
static bool
is_of_beginning(struct tripd_item *item, const struct trip_work_event *event)
{
	if (event->id != item->begun || item->begun == TRIP_WORK_NONE)
		return false;
	item->begun = TRIP_WORK_NONE;
	return true;
}

void
tripd_quota_tell(struct tripd_quota *quota, const struct tripd_trip *trip)
{
	note(quota, trip);
	if (quota->told != NULL)
		quota->told(quota->told_arg, trip);
	keep(quota, trip);
}

void
tripd_quota_end_lasting(struct tripd_quota *quota, unsigned int i)
{
	const struct tripd_item *item = &quota->items[i];
	const struct tripd_trip trip = {
		.when = i,
		.time_ns = now_ns(CLOCK_REALTIME),
		.packet_ns = quota->packet_ns,
		.threshold = item->last_threshold,
		.value = item->last_value,
		.count = 1,
		.ends = true,
	};

	if (tripd_quota_lasts(&quota->rules->whens[i]) && quota->fired[i] > 0 && !item->ended)
		tripd_quota_tell(quota, &trip);
}

static void
take(struct tripd_quota *quota, const struct trip_work_event *event, uint64_t time_ns)
{
	struct tripd_item *item = &quota->items[event->context];
	uint64_t offset = trip_apply_when_offset(&quota->rules->whens[event->context], item->since);
	const struct tripd_trip trip = {
		.when = (unsigned int)event->context,
		.result = event->result,
		.time_ns = time_ns,
		.packet_ns = quota->packet_ns,
		.threshold = event->threshold - offset,
		.value = event->value - offset,
		.latency_ns = event->latency_ns,
		.count = event->count,
		.ends = (event->flags & TRIP_WORK_END) != 0,
	};

	if (is_of_beginning(item, event) ||
		(event->threshold == 0 && is_of_going_on(item, trip.ends)))
		return;
	tripd_quota_tell(quota, &trip);
}

void
tripd_quota_forget(struct tripd_quota *quota)
{
	if (quota->n_trips <= quota->keep)
		return;
	if (quota->keep != 0)
		quota->n_unkept += quota->n_trips - quota->keep;
	while (quota->n_trips > quota->keep)
		free(quota->trips[--quota->n_trips].key);
}

/* All that had happened when it was called: where trips come as fast as they are told, there is no
 * end to them. */
size_t
tripd_quota_read(struct tripd_quota *quota)
{
	struct trip_work_event events[EVENTS_BURST];
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	size_t n_new = 0;
	uint64_t time_ns;
	int n;

	do {
		n = trip_work_read(
			quota->domain, events, sizeof(struct trip_work_event), EVENTS_BURST);
		time_ns = now_ns(CLOCK_REALTIME);
		for (int i = 0; i < n; i++)
			if (events[i].context >= TRIPD_NOW)
				tripd_quota_did(quota, &events[i]);
			else
				take(quota, &events[i], time_ns);
		n_new += (size_t)n;
	} while (n == EVENTS_BURST && n_new < 2 * (size_t)quota->max_events);
	n_new += tripd_quota_each_read(quota, time_ns);
	trip_domain_stats_read(quota->domain, &stats);
	if (quota->n_overrun != stats.events_lost)
		make_up_for_resets(quota);
	quota->n_overrun = stats.events_lost;
	quota->n_refused = stats.commands_refused;
	return n_new;
}
