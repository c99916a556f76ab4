/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys, at work. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apply/each.h"
#include "now.h"
#include "quota.h"
#include "start/fail.h"

#define TRIPS_BURST 64

int
tripd_quota_each_open(const struct tripd_quota *quota, const struct trip_rules_each *rule,
	struct trip_each **each)
{
	struct trip_port *ports[TRIPD_PORTS_MAX];

	/* They are among those of the plan, each once. */
	for (unsigned int i = 0; i < rule->count.n_ports; i++)
		ports[i] = quota->ports[tripd_plan_find(quota->plan, rule->count.ports[i].id)];
	return trip_apply_each_open(quota->domain, rule, ports, rule->count.n_ports, each);
}

/* A trip that was overwritten before it was read is told of as a number. */
static void
take(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trip, uint64_t time_ns)
{
	const struct trip_rules_each *rule = &quota->rules->eaches[i];
	struct tripd_each *each = &quota->eaches[i];
	const struct trip_rules_when *when;
	char key[TRIP_EACH_TEXT_MAX];
	struct tripd_trip own = {.time_ns = time_ns,
		.packet_ns = quota->packet_began + trip->ns,
		.count = 1,
		.ends = (trip->flags & TRIP_EACH_TRIP_END) != 0};

	quota->n_unread += trip->number - each->next;
	each->next = trip->number + 1;
	own.when = rule->whens[trip->when];
	when = &quota->rules->whens[own.when];
	own.value = when->ref == TRIP_RULES_REF_KEY_BYTES ? trip->bytes : trip->packets;
	own.threshold = when->condition.kind == TRIP_CONDITION_NONE ? when->threshold : own.value;
	(void)trip_each_text(each->each, trip->key, key, sizeof(key));
	own.key = strdup(key);
	if (own.key == NULL)
		quota->n_untold++;
	else
		tripd_quota_tell(quota, &own);
}

size_t
tripd_quota_each_read(struct tripd_quota *quota, uint64_t time_ns)
{
	struct trip_each_trip trips[TRIPS_BURST];
	size_t n_new = 0;
	int n;

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++)
		while (quota->eaches[i].each != NULL && quota->rules->eaches[i].n_whens > 0 &&
			(n = trip_each_trips(quota->eaches[i].each, quota->eaches[i].next, trips,
				 sizeof(trips[0]), TRIPS_BURST)) > 0) {
			for (int k = 0; k < n; k++)
				take(quota, i, &trips[k], time_ns);
			n_new += (size_t)n;
		}
	return n_new;
}

int
tripd_quota_each_close(struct tripd_each *each)
{
	int ret;

	tripd_quota_each_info(each, &each->last);
	ret = each->each != NULL ? trip_each_close(each->each) : 0;
	if (ret == 0)
		each->each = NULL;
	return ret;
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
