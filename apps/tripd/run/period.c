/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The periods of quotas, on the control thread, which looks at the wall clock each time that it
 * wakes: how long it sleeps decides when a period ends, but not what is counted. What a quota's
 * counter has come to is taken out by one exchange, so each packet is in one period.
 *
 * Its work is taken back before that, and queued again behind it: so none of it fires by the counts
 * of one period for another.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include <trip.h>

#include "apply/period.h"
#include "start/fail.h"
#include "period.h"
#include "quota.h"
#include "rules.h"

static const struct trip_rules_quota *
rule_of(const struct tripd_quota *quota, const struct tripd_period *period)
{
	return quota->rules->counters[period->counter].quota;
}

int
tripd_period_open(struct tripd_quota *quota, int64_t now)
{
	struct tripd_periods *periods = &quota->periods;

	periods->all = calloc(quota->rules->n_counters + 1, sizeof(*periods->all));
	if (periods->all == NULL)
		return tripd_fail(-ENOMEM, "no memory for %u quotas", quota->rules->n_counters);
	for (unsigned int i = 0; i < quota->rules->n_counters; i++)
		if (quota->rules->counters[i].quota != NULL)
			periods->all[periods->n++] = (struct tripd_period){
				.counter = i,
				.began = now,
				.ends = trip_apply_period_end(quota->rules->counters[i].quota, now),
			};
	return 0;
}

void
tripd_period_close(struct tripd_quota *quota)
{
	free(quota->periods.all);
}

static bool
is_of(const struct trip_rules_quota *rule, unsigned int count)
{
	unsigned int i = 0;

	while (i < rule->n_counts && rule->counts[i] != count)
		i++;
	return i < rule->n_counts;
}

uint32_t
tripd_period_feeds(const struct tripd_quota *quota, unsigned int count, struct trip_cntr **more)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (is_of(rule_of(quota, &quota->periods.all[i]), count))
			more[n++] = quota->counters[quota->periods.all[i].counter];
	return n;
}

void
tripd_period_reset(struct tripd_quota *quota, unsigned int counter)
{
	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (quota->periods.all[i].counter == counter)
			quota->periods.all[i].reset = true;
}

static bool
is_triggered(const struct trip_rules_when *when, unsigned int counter)
{
	return when->ref == TRIP_RULES_REF_COUNTER && when->index == counter;
}

/* What it has begun is there until it ends, or a pass. */
static bool
holds(const struct trip_rules_when *when)
{
	return when->op == TRIP_RULES_OP_DROP || when->op == TRIP_RULES_OP_POLICE;
}

/* A statement of something else than the quota of this counter has dropped the count, or polices
 * it, and its time has not come. */
static bool
is_held(const struct tripd_quota *quota, unsigned int count, unsigned int counter)
{
	const struct trip_rules *rules = quota->rules;

	for (unsigned int i = 0; i < rules->n_whens; i++)
		if (holds(&rules->whens[i]) && rules->whens[i].target == count &&
			quota->fired[i] > 0 && !quota->items[i].ended &&
			!is_triggered(&rules->whens[i], counter))
			return true;
	return false;
}

/* By work that is due at once, before what is queued behind it can be. */
static int
pass_count(struct tripd_quota *quota, unsigned int count, unsigned int counter)
{
	struct trip_work work = {
		.size = sizeof(work),
		.triggering_cntr = quota->counters[counter],
		.op_type = TRIP_OP_FLOW_PASS,
	};
	int ret = 0;

	for (unsigned int i = 0; i < quota->counts[count].n_flows && ret == 0; i++) {
		work.op.flow = quota->counts[count].flows[i];
		ret = tripd_quota_queue_work(quota, &work);
	}
	return ret == 0 || ret == -EINTR
		       ? ret
		       : tripd_fail(ret, "pass %s: %s", quota->rules->counts[count].name,
				 trip_error_message());
}

/* What quotas have dropped or policed in periods that are over passes, unless something holds it
 * yet. */
static int
pass_owed(struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;
	int ret = 0;

	for (unsigned int i = 0; i < rules->n_whens && ret == 0; i++) {
		const struct trip_rules_when *when = &rules->whens[i];

		if (!quota->items[i].owed || is_held(quota, when->target, when->index))
			continue;
		quota->items[i].owed = false;
		ret = pass_count(quota, when->target, when->index);
	}
	return ret;
}

/* What the period's statements have begun ends with it, and they begin anew. */
static int
arm_again(struct tripd_quota *quota, const struct tripd_period *period)
{
	const struct trip_rules *rules = quota->rules;
	int ret;

	for (unsigned int i = 0; i < rules->n_whens; i++)
		if (holds(&rules->whens[i]) && is_triggered(&rules->whens[i], period->counter) &&
			quota->fired[i] > 0)
			quota->items[i].owed = true;
	ret = pass_owed(quota);
	for (unsigned int i = 0; i < rules->n_whens && ret == 0; i++) {
		if (!is_triggered(&rules->whens[i], period->counter))
			continue;
		quota->fired[i] = 0;
		ret = tripd_quota_queue_when(quota, i);
	}
	return ret;
}

static int
begin(struct tripd_quota *quota, struct tripd_period *period, int64_t now)
{
	struct trip_cntr *cntr = quota->counters[period->counter];
	int ret = trip_work_flush(quota->domain, cntr);

	if (ret != 0)
		return tripd_fail(ret, "quota %s: %s", quota->rules->counters[period->counter].name,
			trip_error_message());
	/* All of them fired in the period that ends. */
	tripd_quota_read(quota);
	(void)trip_cntr_reset(cntr, &period->spent);
	period->ended_began = period->began;
	period->ended = now;
	period->n_ended++;
	period->began = now;
	if (now >= period->ends)
		period->ends = trip_apply_period_end(rule_of(quota, period), now);
	period->reset = false;
	if (quota->period_told != NULL)
		quota->period_told(quota->told_arg, period);
	return arm_again(quota, period);
}

int
tripd_period_update(struct tripd_quota *quota, int64_t now)
{
	int ret = quota->periods.released ? pass_owed(quota) : 0;

	quota->periods.released = false;
	for (unsigned int i = 0; i < quota->periods.n && ret == 0; i++) {
		struct tripd_period *period = &quota->periods.all[i];

		if (period->reset || now >= period->ends)
			ret = begin(quota, period, now);
	}
	return ret;
}

bool
tripd_period_has_news(const struct tripd_quota *quota)
{
	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (quota->periods.all[i].n_said < quota->periods.all[i].n_ended)
			return true;
	return false;
}

void
tripd_period_say(struct tripd_quota *quota, FILE *out)
{
	for (unsigned int i = 0; i < quota->periods.n; i++) {
		struct tripd_period *period = &quota->periods.all[i];
		const struct trip_rules_counter *counter = &quota->rules->counters[period->counter];

		if (period->n_said == period->n_ended)
			continue;
		fprintf(out, "quota %s begins anew: it was %" PRIu64 " of %" PRIu64 " %s\n",
			counter->name, period->spent, counter->quota->limit,
			counter->quota->events == TRIP_CNTR_EVENTS_BYTES ? "bytes" : "packets");
		period->n_said = period->n_ended;
	}
}
