/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The periods of quotas, on the control thread, which looks at the wall clock each time that it
 * wakes: how long it sleeps decides when a period ends, but not what is counted (anew.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <trip.h>

#include "apply/period.h"
#include "grow.h"
#include "now.h"
#include "start/fail.h"
#include "period.h"
#include "quota.h"
#include "rules.h"

#define SECOND_NS UINT64_C(1000000000)
#define ARM_NS UINT64_C(2000000000)

const char *
tripd_period_unit(const struct trip_rules_quota *quota)
{
	return quota->events == TRIP_CNTR_EVENTS_BYTES ? "bytes" : "packets";
}

int
tripd_period_room(struct tripd_quota *quota, unsigned int more)
{
	struct tripd_periods *periods = &quota->periods;
	struct tripd_period *all;

	if (more == 0)
		return 0;
	all = reallocarray(periods->all, (size_t)periods->n + more, sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	periods->all = all;
	return tripd_period_late(quota);
}

int
tripd_period_late(struct tripd_quota *quota)
{
	int ret;

	if (quota->late != NULL)
		return 0;
	ret = trip_apply_cntr(
		quota->domain, "quotas", ".late", TRIP_CNTR_EVENTS_COMP, &quota->late);
	return ret == 0 ? 0 : tripd_fail(ret, "counter quotas.late: %s", trip_error_message());
}

void
tripd_period_begin(struct tripd_quota *quota, unsigned int counter, int64_t now)
{
	quota->periods.all[quota->periods.n++] = (struct tripd_period){
		.counter = counter,
		.began = now,
		.ends = trip_apply_period_end(quota->rules->counters[counter].quota, now),
	};
}

struct tripd_period *
tripd_period_of(const struct tripd_quota *quota, unsigned int counter)
{
	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (quota->periods.all[i].counter == counter)
			return &quota->periods.all[i];
	return NULL;
}

struct finding {
	const struct tripd_quota *quota;
	bool found;
};

static void
find_quota(void *arg, struct trip_rules_pair *pair)
{
	struct finding *finding = arg;

	finding->found |= pair->ref == TRIP_RULES_REF_COUNTER &&
			  finding->quota->rules->counters[pair->index].quota != NULL;
}

bool
tripd_period_in(const struct tripd_quota *quota, const struct trip_rules_when *when)
{
	struct trip_rules_pair own = {.ref = when->ref, .index = when->index};
	struct finding finding = {quota, false};

	find_quota(&finding, &own);
	trip_rules_pairs_walk(when->pairs, find_quota, &finding);
	return finding.found;
}

void
tripd_period_change(struct tripd_quota *quota, unsigned int counter)
{
	struct tripd_period *period = tripd_period_of(quota, counter);
	int64_t now = tripd_quota_seconds(quota);

	/* One that is over ends yet. */
	if (period->ends > now)
		period->ends = trip_apply_period_end(quota->rules->counters[counter].quota, now);
}

int
tripd_period_open(struct tripd_quota *quota, int64_t now)
{
	const struct trip_rules *rules = quota->rules;
	unsigned int n = 0;
	int ret;

	for (unsigned int i = 0; i < rules->n_counters; i++)
		n += rules->counters[i].quota != NULL;
	ret = tripd_period_room(quota, n);
	if (ret != 0)
		return tripd_fail(ret, "%u quotas: %s", n, trip_strerror(ret));
	for (unsigned int i = 0; i < rules->n_counters; i++)
		if (rules->counters[i].quota != NULL)
			tripd_period_begin(quota, i, now);
	return 0;
}

void
tripd_period_restart(struct tripd_quota *quota, int64_t now)
{
	unsigned int n = quota->periods.n;

	quota->periods.n = 0;
	for (unsigned int i = 0; i < n; i++)
		tripd_period_begin(quota, quota->periods.all[i].counter, now);
}

uint64_t
tripd_period_next(const struct tripd_quota *quota)
{
	int64_t next = INT64_MAX;

	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (!quota->rules->counters[quota->periods.all[i].counter].gone)
			next = RTE_MIN(next, quota->periods.all[i].ends);
	return next > INT64_MAX / (int64_t)SECOND_NS ? UINT64_MAX : (uint64_t)next * SECOND_NS;
}

void
tripd_period_close(struct tripd_quota *quota)
{
	free(quota->periods.all);
	free(quota->periods.lines);
}

/* ---- what passes ------------------------------------------------------------------------------
 */

/* What holds a count beside what is over. A police that ends by itself keeps all as it is until
 * then: one that is begun anew would not end with it. */
static void
find_held(struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;

	for (unsigned int i = 0; i < rules->n_counts; i++) {
		quota->holds[i].held = quota->holds[i].by_hand != 0;
		quota->holds[i].passes = false;
		quota->holds[i].police = 0;
		quota->holds[i].left = 0;
		quota->holds[i].error = 0;
	}
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		const struct trip_rules_when *when = &rules->whens[i];
		struct tripd_hold *hold;

		if (!tripd_quota_holds(quota, i))
			continue;
		hold = &quota->holds[when->target];
		if (when->op != TRIP_RULES_OP_POLICE || tripd_quota_lasts(when))
			hold->held = true;
		else if (hold->police == 0 ||
			 quota->items[hold->police - 1].fired_at < quota->items[i].fired_at)
			hold->police = i + 1;
	}
}

/* A drop is above a police, and of two the one that began last is in force: what is beneath the
 * police that stays changes nothing. */
static bool
is_above_police(const struct tripd_quota *quota, unsigned int i)
{
	unsigned int police = quota->holds[quota->rules->whens[i].target].police;

	return police == 0 || quota->rules->whens[i].op == TRIP_RULES_OP_DROP ||
	       quota->items[i].fired_at > quota->items[police - 1].fired_at;
}

static void
find_passing(struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;

	find_held(quota);
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		struct tripd_hold *hold;

		if (!quota->items[i].owed)
			continue;
		hold = &quota->holds[rules->whens[i].target];
		/* It may have passed since, by another. */
		quota->items[i].owed = tripd_quota_owes(quota, i);
		hold->passes |= quota->items[i].owed && !hold->held && is_above_police(quota, i);
	}
	for (unsigned int i = 0; i < rules->n_counts; i++) {
		struct tripd_hold *hold = &quota->holds[i];

		if (hold->passes && hold->refused == quota->periods.looked_at + 1) {
			hold->passes = false;
			quota->periods.released = true;
		}
	}
}

/* It passes, and at once the police of another statement, if there is one, is in force again. */
static void
let_pass(struct tripd_quota *quota, unsigned int count)
{
	static const struct trip_rules_when pass = {.op = TRIP_RULES_OP_PASS};
	struct tripd_hold *hold = &quota->holds[count];

	(void)tripd_quota_now_add(quota, &quota->counts[count], &pass, hold);
	if (hold->police != 0)
		(void)tripd_quota_now_add(
			quota, &quota->counts[count], &quota->rules->whens[hold->police - 1], hold);
}

/* Returns what keeps a count from passing. */
static int
check_passed(struct tripd_quota *quota, unsigned int count)
{
	struct tripd_hold *hold = &quota->holds[count];
	int error = hold->left > 0 && hold->error == 0 ? -ETIMEDOUT : hold->error;

	/* What was deleted passes already. */
	if (error == 0 || error == -ENOENT) {
		hold->refused = 0;
		return 0;
	}
	/* What is tried again is said once. */
	if (hold->refused == 0)
		tripd_fail(error, "count %s: what was dropped or policed does not pass: %s",
			quota->rules->counts[count].name, trip_strerror(error));
	hold->passes = false;
	hold->refused = quota->periods.looked_at + 1;
	quota->periods.released = true;
	return error;
}

static void
note_passed(struct tripd_quota *quota, uint64_t now)
{
	for (unsigned int i = 0; i < quota->rules->n_whens; i++) {
		struct tripd_hold *hold;

		/* What has fired meanwhile owes nothing. */
		if (!quota->items[i].owed)
			continue;
		hold = &quota->holds[quota->rules->whens[i].target];
		quota->items[i].owed = !hold->passes;
		if (!hold->passes)
			continue;
		hold->passed = true;
		/* What polices it again, does from when it began. */
		if (hold->police == 0)
			hold->passed_at = RTE_MAX(hold->passed_at, now);
	}
}

int
tripd_period_pass(struct tripd_quota *quota)
{
	uint64_t now = quota->n_events;
	int ret, first = 0;

	/* What ends while others pass may release more. */
	quota->periods.released = false;
	find_passing(quota);
	tripd_quota_now_begin(quota);
	for (unsigned int i = 0; i < quota->rules->n_counts; i++)
		if (quota->holds[i].passes && !quota->rules->counts[i].gone)
			let_pass(quota, i);
	(void)tripd_quota_now_end(quota);
	for (unsigned int i = 0; i < quota->rules->n_counts; i++) {
		if (!quota->holds[i].passes)
			continue;
		ret = check_passed(quota, i);
		first = first == 0 ? ret : first;
	}
	note_passed(quota, now);
	return first;
}

/* ---- what has ended begins anew ----------------------------------------------------------------
 */

/* What is tried again is said once. */
static int
arm_one(struct tripd_quota *quota, unsigned int i, int64_t now)
{
	struct tripd_item *item = &quota->items[i];
	int ret;

	if (item->refused != 0)
		ret = tripd_quota_queue(
			quota, i, tripd_quota_trigger(quota, &quota->rules->whens[i]));
	else
		ret = tripd_quota_queue_when(quota, i);
	item->refused = ret != 0 ? now + 1 : 0;
	return ret;
}

/* What cannot be queued now is a second later, and keeps nothing else from it. All of it waits for
 * room but once. */
static int
arm(struct tripd_quota *quota, int64_t now)
{
	int ret, first = 0;

	quota->periods.unarmed = false;
	quota->queue_by = now_ns(CLOCK_MONOTONIC) + ARM_NS;
	for (unsigned int i = 0; i < quota->rules->n_whens; i++) {
		struct tripd_item *item = &quota->items[i];

		item->unarmed &= !quota->rules->whens[i].gone;
		if (!item->unarmed)
			continue;
		ret = item->refused != now + 1 ? arm_one(quota, i, now) : 0;
		quota->periods.unarmed |= item->unarmed;
		first = first == 0 ? ret : first;
	}
	quota->queue_by = 0;
	return first;
}

/* The clock was set back. One that began later than what is the next end by now ends there: else it
 * would last for as long as the clock was ahead. */
static void
follow_back(struct tripd_quota *quota, int64_t now)
{
	for (unsigned int i = 0; i < quota->periods.n; i++) {
		struct tripd_period *period = &quota->periods.all[i];
		const struct trip_rules_counter *counter = &quota->rules->counters[period->counter];
		int64_t end =
			counter->gone ? INT64_MAX : trip_apply_period_end(counter->quota, now);

		if (end >= period->began)
			continue;
		period->began = now;
		period->ends = end;
	}
}

int
tripd_period_update(struct tripd_quota *quota, int64_t now)
{
	struct tripd_periods *periods = &quota->periods;
	int began = 0, passed = 0, armed = 0;

	if (now < periods->looked_at)
		follow_back(quota, now);
	periods->looked_at = now;
	if (periods->failed != now + 1) {
		began = tripd_anew_begin(quota, now);
		periods->failed = began != 0 ? now + 1 : 0;
	}
	/* Before anything drops again. */
	if (periods->released)
		passed = tripd_period_pass(quota);
	if (periods->unarmed)
		armed = arm(quota, now);
	if (began != 0)
		return began;
	return passed != 0 ? passed : armed;
}

/* ---- what has ended is said --------------------------------------------------------------------
 */

void
tripd_period_put(struct tripd_quota *quota, const struct tripd_period *period)
{
	struct tripd_periods *periods = &quota->periods;

	if (tripd_grow(&periods->lines, &periods->max_lines, periods->n_lines + 1,
		    TRIPD_PERIOD_LINES_MAX, sizeof(*periods->lines)) != 0) {
		periods->n_unsaid++;
		return;
	}
	periods->lines[periods->n_lines++] = (struct tripd_period_line){
		.counter = period->counter,
		.spent = period->spent,
		.limit = quota->rules->counters[period->counter].quota->limit,
		.ended = period->ended,
		.n_trips = quota->n_trips,
	};
}

bool
tripd_period_is_full(const struct tripd_quota *quota)
{
	return quota->periods.n_lines >= TRIPD_PERIOD_LINES_MAX / 2;
}

void
tripd_period_forget(struct tripd_quota *quota)
{
	quota->periods.n_lines = 0;
}
