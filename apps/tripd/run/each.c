/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys, at work. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apply/each.h"
#include "now.h"
#include "quota.h"
#include "sample/samples.h"
#include "start/fail.h"

#define TRIPS_BURST TRIPD_TOPS_TRIPS
/* What is behind trips is looked for in one of so many parts of the time, whatever trips. */
#define TOPS_SHARE 10u
/* And no longer than that at a time, as trips wait for it: of several queues with millions of keys
 * it would be half a minute. */
#define TOPS_NS UINT64_C(250000000)

int
tripd_quota_each_open(const struct tripd_quota *quota, const struct trip_rules_each *rule,
	struct trip_each **each)
{
	struct trip_port *ports[TRIPD_PORTS_MAX];

	/* They are among those of the plan, each once. */
	for (unsigned int i = 0; i < rule->count.n_ports; i++)
		ports[i] = quota->ports[tripd_plan_find(quota->plan, rule->count.ports[i].id)];
	return trip_apply_each_open(
		quota->domain, rule, ports, rule->count.n_ports, quota->plan->event_keys, each);
}

void
tripd_quota_each_take(struct tripd_quota *quota, unsigned int i, struct trip_each *each)
{
	quota->eaches[i] = (struct tripd_each){.each = each, .opening = ++quota->n_openings};
}

/* Of what is told again and again, the last that was reached. */
static uint64_t
threshold_of(const struct trip_rules_when *when, uint64_t value)
{
	if (when->condition.kind != TRIP_CONDITION_NONE)
		return value;
	if (when->every == 0 || value < when->threshold)
		return when->threshold;
	return value - (value - when->threshold) % when->every;
}

struct tripd_trip
tripd_quota_each_trip(const struct tripd_quota *quota, unsigned int i,
	const struct trip_each_trip *trip, uint64_t time_ns)
{
	const struct trip_rules_each *rule = &quota->rules->eaches[i];
	const struct tripd_each *each = &quota->eaches[i];
	const struct trip_rules_when *when;
	char key[TRIP_EACH_TEXT_MAX];
	struct tripd_trip own = {.time_ns = time_ns,
		.packet_ns = quota->packet_began + trip->ns,
		.ends = (trip->flags & TRIP_EACH_TRIP_END) != 0};

	own.when = rule->whens[trip->when];
	when = &quota->rules->whens[own.when];
	own.value = when->ref == TRIP_RULES_REF_KEY_BYTES ? trip->bytes : trip->packets;
	own.threshold = threshold_of(when, own.value);
	own.count = trip->times;
	(void)trip_each_text(each->each, trip->key, key, sizeof(key));
	own.key = strdup(key);
	return own;
}

/* Where packets of it will be; NULL: nowhere. */
static const char *
sample(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trip,
	const char *key, uint64_t time_ns)
{
	const struct trip_rules_count *count = &quota->rules->eaches[i].count;
	struct tripd_sample_trip own = {.each = i,
		.each_name = count->name,
		.key = key,
		.of = {.each = quota->eaches[i].each,
			.direction = count->direction == TRIP_RULES_EGRESS ? TRIP_FLOW_EGRESS
									   : TRIP_FLOW_INGRESS,
			.key_size = trip->key_size},
		.time_ns = time_ns};

	memcpy(own.of.key, trip->key, sizeof(trip->key));
	for (unsigned int k = 0; k < count->n_ports; k++)
		own.of.ports |= UINT64_C(1) << tripd_plan_find(quota->plan, count->ports[k].id);
	return tripd_samples_begin(quota->samples, &own);
}

static void
tell(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trip,
	const struct tripd_tops *tops, uint64_t time_ns)
{
	struct tripd_trip own = tripd_quota_each_trip(quota, i, trip, time_ns);

	own.tops = tops;
	if (quota->samples != NULL && own.key != NULL && !own.ends)
		own.sample = sample(quota, i, trip, own.key, time_ns);
	if (own.key == NULL)
		quota->n_untold++;
	else
		tripd_quota_tell(quota, &own);
}

static void
tell_by_hand(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trip)
{
	char key[TRIP_EACH_TEXT_MAX];

	if (trip_each_text(quota->eaches[i].each, trip->key, key, sizeof(key)) == 0)
		tripd_quota_each_told(quota, i, trip, key);
}

/* A trip that was overwritten before it was read is told of as a number. */
static void
take(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trip,
	const struct tripd_tops *tops, uint64_t time_ns)
{
	struct tripd_each *each = &quota->eaches[i];

	quota->n_unread += trip->number - each->next;
	each->next = trip->number + 1;
	if ((trip->flags & TRIP_EACH_TRIP_HAND) != 0)
		tell_by_hand(quota, i, trip);
	else
		tell(quota, i, trip, tops, time_ns);
}

/* Their tops are freed. */
static void
take_all(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trips, int n,
	struct tripd_tops *tops, uint64_t time_ns)
{
	for (int k = 0; k < n; k++)
		take(quota, i, &trips[k], tops != NULL && tops[k].n > 0 ? &tops[k] : NULL, time_ns);
	free(tops);
}

uint64_t
tripd_quota_each_trips(const struct tripd_each *each)
{
	struct trip_each_info info = {.size = sizeof(info)};

	return trip_each_query(each->each, &info) == 0 ? info.trips : 0;
}

/* With what is behind the first of them, where that is to be looked for until a time. */
static size_t
read_trips(struct tripd_quota *quota, unsigned int i, uint64_t tops_until, uint64_t time_ns)
{
	const struct tripd_each *each = &quota->eaches[i];
	const uint64_t end = tripd_quota_each_trips(each);
	struct trip_each_trip trips[TRIPS_BURST];
	size_t n_new = 0;
	int n;

	while (each->next < end && (n = trip_each_trips(each->each, each->next, trips,
					    sizeof(trips[0]), TRIPS_BURST)) > 0) {
		take_all(quota, i, trips, n,
			tops_until != 0 && n_new == 0
				? tripd_quota_tops(quota, i, trips, (unsigned int)n, tops_until)
				: NULL,
			time_ns);
		n_new += (size_t)n;
	}
	return n_new;
}

/* All that had happened when it was called. */
size_t
tripd_quota_each_read(struct tripd_quota *quota, uint64_t time_ns)
{
	uint64_t began = now_ns(CLOCK_MONOTONIC), ended;
	bool tops = began >= quota->tops_ns;
	size_t n_new = 0;

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++)
		if (quota->eaches[i].each != NULL)
			n_new += read_trips(quota, i, tops ? began + TOPS_NS : 0, time_ns);
	ended = now_ns(CLOCK_MONOTONIC);
	if (tops && n_new > 0)
		quota->tops_ns = ended + TOPS_SHARE * (ended - began);
	return n_new;
}

bool
tripd_quota_keys_tripped(const struct tripd_quota *quota)
{
	struct trip_each_trip trip;

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++) {
		const struct tripd_each *each = &quota->eaches[i];

		if (each->each != NULL &&
			trip_each_trips(each->each, each->next, &trip, sizeof(trip), 1) > 0)
			return true;
	}
	return false;
}

void
tripd_quota_each_settle(const struct tripd_each *each)
{
	if (each->each != NULL && trip_each_settle(each->each) != 0)
		tripd_fail(0, "warning: %s", trip_error_message());
}

void
tripd_quota_eaches_settle(const struct tripd_quota *quota)
{
	for (unsigned int i = 0; i < quota->rules->n_eaches; i++)
		tripd_quota_each_settle(&quota->eaches[i]);
}

int
tripd_quota_each_close(struct tripd_quota *quota, unsigned int i)
{
	struct tripd_each *each = &quota->eaches[i];
	int ret;

	tripd_quota_each_settle(each);
	tripd_quota_keys_read_all(quota, i);
	tripd_quota_each_info(each, &each->last);
	tripd_samples_forget(quota->samples, i);
	ret = each->each != NULL ? trip_each_close(each->each) : 0;
	if (ret != 0)
		return ret;
	each->each = NULL;
	free(each->next_events);
	each->next_events = NULL;
	return 0;
}

void
tripd_quota_each_info(const struct tripd_each *each, struct trip_each_info *info)
{
	struct trip_each_info now = {.size = sizeof(now)};

	if (each->each != NULL && trip_each_query(each->each, &now) == 0)
		*info = now;
	else if (info != &each->last)
		*info = each->last;
}

const char *
tripd_quota_key_state(uint32_t op)
{
	return op == TRIP_EACH_OP_PASS     ? "pass"
	       : op == TRIP_EACH_OP_DROP   ? trip_rules_op_of(TRIP_RULES_OP_KEY_DROP)->word
	       : op == TRIP_EACH_OP_POLICE ? trip_rules_op_of(TRIP_RULES_OP_KEY_POLICE)->word
					   : NULL;
}

/* At most once in so long. */
#define SAY_NS UINT64_C(10000000000)

static uint64_t
refused(const struct tripd_each *each)
{
	struct trip_each_info info = {.size = sizeof(info)};

	return each->each != NULL && trip_each_query(each->each, &info) == 0 ? info.refused_packets
									     : 0;
}

static bool
is_full(const struct tripd_each *each, uint64_t now)
{
	return (each->said_ns == 0 || now - each->said_ns >= SAY_NS) &&
	       refused(each) > each->said_refused;
}

bool
tripd_quota_eaches_are_full(struct tripd_quota *quota)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++)
		if (is_full(&quota->eaches[i], now))
			return true;
	return false;
}

void
tripd_quota_eaches_say(struct tripd_quota *quota)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++) {
		const struct trip_rules_each *rule = &quota->rules->eaches[i];
		struct tripd_each *each = &quota->eaches[i];

		if (!is_full(each, now))
			continue;
		each->said_ns = now;
		each->said_refused = refused(each);
		tripd_fail(0,
			"warning: each %s is full: %" PRIu64
			" packets of new keys so far %s, as there is no room for these",
			rule->count.name, each->said_refused,
			rule->full == TRIP_EACH_CLOSED ? "are dropped" : "pass uncounted");
	}
}
