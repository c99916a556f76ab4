/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a counter has come to is taken out by one exchange, so each packet is in what it was, or in
 * what it becomes. Its work is taken back before that, and queued again behind it: so none of it
 * fires by the counts of one for the other.
 */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <trip.h>

#include "anew.h"
#include "apply/period.h"
#include "now.h"
#include "period.h"
#include "quota.h"
#include "rules.h"
#include "start/fail.h"

#define LATE_NS UINT64_C(2000000000)

/* ---- what there is: packets and bytes of each count, then the counters -------------------------
 */

static unsigned int
n_values(const struct tripd_quota *quota)
{
	return 2 * quota->rules->n_counts + quota->rules->n_counters;
}

/* UINT_MAX: it is none of these. */
static unsigned int
value_of(const struct tripd_quota *quota, enum trip_rules_ref ref, unsigned int index)
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

static struct tripd_anew *
anew_of(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	return value < n ? &quota->anew_counts[value] : &quota->anew_counters[value - n];
}

static struct trip_cntr *
cntr_of(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	if (value >= n)
		return quota->counters[value - n];
	return value % 2 == 0 ? quota->counts[value / 2].packets : quota->counts[value / 2].bytes;
}

static bool
is_gone(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	return value < n ? quota->rules->counts[value / 2].gone
			 : quota->rules->counters[value - n].gone;
}

static bool
is_quota(const struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 2 * quota->rules->n_counts;

	return value >= n && quota->rules->counters[value - n].quota != NULL;
}

/* ---- what is to begin -------------------------------------------------------------------------
 */

static void
ask(struct tripd_quota *quota, bool on_count, unsigned int index, bool asked)
{
	unsigned int n = on_count ? 2 : 1;
	unsigned int value =
		value_of(quota, on_count ? TRIP_RULES_REF_PACKETS : TRIP_RULES_REF_COUNTER, index);

	for (unsigned int i = value; i < value + n; i++)
		anew_of(quota, i)->asked = asked;
	quota->anew_asked |= asked;
}

void
tripd_anew_reset(struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];
	unsigned int value = value_of(quota,
		when->on_count ? TRIP_RULES_REF_PACKETS : TRIP_RULES_REF_COUNTER, when->target);

	/* What has been crossed before the exchange resets what that has begun anew. */
	if (!quota->items[i].late || !anew_of(quota, value)->begins)
		ask(quota, when->on_count, when->target, true);
}

int
tripd_anew_reset_now(struct tripd_quota *quota, bool on_count, unsigned int index)
{
	bool before =
		on_count ? quota->anew_counts[2 * index].asked : quota->anew_counters[index].asked;
	int ret;

	quota->periods.failed = 0;
	ask(quota, on_count, index, true);
	ret = tripd_period_update(quota, tripd_quota_seconds(quota));
	if (ret != 0 && !before)
		ask(quota, on_count, index, false);
	return ret;
}

static bool
is_over(const struct tripd_quota *quota, const struct tripd_period *period, int64_t now)
{
	return !quota->rules->counters[period->counter].gone && now >= period->ends;
}

/* Returns whether anything begins. */
static bool
find(struct tripd_quota *quota, int64_t now)
{
	const struct tripd_periods *periods = &quota->periods;
	bool any = quota->anew_asked;

	for (unsigned int i = 0; i < periods->n && !any; i++)
		any = is_over(quota, &periods->all[i], now);
	if (!any)
		return false;
	for (unsigned int i = 0; i < n_values(quota); i++) {
		struct tripd_anew *anew = anew_of(quota, i);

		anew->begins = anew->asked && !is_gone(quota, i);
	}
	for (unsigned int i = 0; i < periods->n; i++)
		quota->anew_counters[periods->all[i].counter].begins |=
			is_over(quota, &periods->all[i], now);
	return true;
}

/* ---- what stands on that ----------------------------------------------------------------------
 */

/* Lists of statements by the value that triggers them: indices, and 1 more. */
struct batch {
	struct tripd_quota *quota;
	/* By value, of those that begin anew; and by statement. */
	unsigned int *first, *next;
};

struct finding {
	const struct tripd_quota *quota;
	unsigned int value;
};

static void
find_value(void *arg, struct trip_rules_pair *pair)
{
	struct finding *finding = arg;
	unsigned int value = value_of(finding->quota, pair->ref, pair->index);

	if (value != UINT_MAX && anew_of(finding->quota, value)->begins)
		finding->value = value;
}

/* How often it is due at 0: that is no crossing, and does not happen again. The next period of a
 * quota is told to what waits for its beginning. */
static uint64_t
due_at_0(const struct tripd_quota *quota, unsigned int i, unsigned int value)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	if (is_quota(quota, value) && when->op != TRIP_RULES_OP_RESET)
		return 0;
	return tripd_quota_due(when, trip_cntr_readerr(cntr_of(quota, value)));
}

/* What of it speaks of a value that begins anew, and makes a difference to it; else UINT_MAX. */
static unsigned int
find_in(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];
	struct trip_rules_pair own = {.ref = when->ref, .index = when->index};
	struct finding finding = {quota, UINT_MAX};

	if (when->gone)
		return UINT_MAX;
	find_value(&finding, &own);
	trip_rules_pairs_walk(when->pairs, find_value, &finding);
	if (finding.value != UINT_MAX && when->every == 0 && due_at_0(quota, i, finding.value) > 0)
		return UINT_MAX;
	return finding.value;
}

static int
open_batch(struct batch *batch, struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;

	*batch = (struct batch){
		.quota = quota,
		.first = calloc(n_values(quota) + 1, sizeof(*batch->first)),
		.next = calloc(rules->n_whens + 1, sizeof(*batch->next)),
	};
	if (batch->first == NULL || batch->next == NULL)
		return tripd_fail(-ENOMEM, "no memory for %u counters", n_values(quota));
	/* Each list in the order of the rules. */
	for (unsigned int i = rules->n_whens; i-- > 0;) {
		unsigned int value = find_in(quota, i);

		if (value == UINT_MAX)
			continue;
		batch->next[i] = batch->first[value];
		batch->first[value] = i + 1;
	}
	return 0;
}

/* Nothing of them fires from here on, and what has is known. */
static void
take_back(const struct batch *batch)
{
	struct tripd_quota *quota = batch->quota;

	for (unsigned int i = 0; i < n_values(quota); i++)
		for (unsigned int at = batch->first[i]; at != 0; at = batch->next[at - 1])
			(void)tripd_quota_cancel(quota, at - 1);
	tripd_quota_settled(quota);
}

/* ---- what was crossed since -------------------------------------------------------------------
 */

static bool
is_late(const struct tripd_quota *quota, unsigned int i, uint64_t sum)
{
	return quota->fired[i] < tripd_quota_due(&quota->rules->whens[i], sum);
}

/* Statements from `at` on that a sum has made due, and have not fired as often. */
static unsigned int
count_late(const struct batch *batch, unsigned int at, uint64_t sum)
{
	unsigned int n = 0;

	for (; at != 0; at = batch->next[at - 1])
		n += is_late(batch->quota, at - 1, sum);
	return n;
}

/* What was counted since the work was taken back may have crossed a threshold: that fires by a
 * counter that stands in for the one that has begun anew. */
static void
fire_late(const struct batch *batch, unsigned int value)
{
	struct tripd_quota *quota = batch->quota;
	const unsigned int first = batch->first[value];
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + LATE_NS, sum;

	if (first == 0)
		return;
	sum = RTE_MIN(anew_of(quota, value)->was + trip_cntr_readerr(cntr_of(quota, value)),
		TRIP_CNTR_MAX);
	if (count_late(batch, first, sum) == 0)
		return;
	for (unsigned int at = first; at != 0; at = batch->next[at - 1]) {
		quota->items[at - 1].late = is_late(quota, at - 1, sum);
		if (quota->items[at - 1].late)
			(void)tripd_quota_queue(quota, at - 1, quota->late);
	}
	trip_cntr_set(quota->late, sum);
	while (count_late(batch, first, sum) > 0 && now_ns(CLOCK_MONOTONIC) < deadline) {
		tripd_quota_pause(quota);
		tripd_quota_read(quota);
	}
	for (unsigned int at = first; at != 0; at = batch->next[at - 1])
		if (quota->items[at - 1].late)
			(void)tripd_quota_cancel(quota, at - 1);
	tripd_quota_settled(quota);
	for (unsigned int at = first; at != 0; at = batch->next[at - 1])
		quota->items[at - 1].late = false;
	trip_cntr_set(quota->late, 0);
}

/* ---- they begin -------------------------------------------------------------------------------
 */

static void
end_period(struct tripd_quota *quota, struct tripd_period *period, int64_t now)
{
	period->spent = quota->anew_counters[period->counter].was;
	period->ended_began = period->began;
	/* It was over then, however late that is seen. */
	period->ended = RTE_MIN(now, period->ends);
	period->n_ended++;
	period->began = period->ended;
	if (now >= period->ends)
		period->ends =
			trip_apply_period_end(quota->rules->counters[period->counter].quota, now);
	if (quota->period_told != NULL)
		quota->period_told(quota->told_arg, period);
	tripd_period_put(quota, period);
}

/* What its statements have begun ends with it, and they begin anew. */
static void
rearm(const struct batch *batch, unsigned int value)
{
	struct tripd_quota *quota = batch->quota;

	for (unsigned int at = batch->first[value]; at != 0; at = batch->next[at - 1]) {
		unsigned int i = at - 1;
		uint64_t stays = RTE_MIN(quota->fired[i], due_at_0(quota, i, value));

		tripd_quota_end_lasting(quota, i);
		quota->items[i].owed |= tripd_quota_holds(quota, i);
		quota->items[i].unarmed = true;
		tripd_quota_rearm(quota, i);
		quota->fired[i] = stays;
	}
}

/* A home reads what queues have counted when somebody waits for it, and else now and then: packets
 * and bytes of a count would be of moments that are far apart. */
static void
look(struct tripd_quota *quota)
{
	tripd_quota_now_begin(quota);
	for (unsigned int i = 0; i < n_values(quota); i++)
		if (anew_of(quota, i)->begins)
			tripd_quota_now_look(quota, cntr_of(quota, i));
	tripd_quota_now_looked(quota);
}

/* One exchange takes out what each has come to: all of them at once, as far as that can be. What is
 * asked for from here on is another time. */
static void
exchange(struct tripd_quota *quota)
{
	quota->anew_asked = false;
	for (unsigned int i = 0; i < n_values(quota); i++) {
		struct tripd_anew *anew = anew_of(quota, i);

		anew->asked &= !anew->begins && !is_gone(quota, i);
		quota->anew_asked |= anew->asked;
		if (anew->begins)
			(void)trip_cntr_reset(cntr_of(quota, i), &anew->was);
	}
}

static void
begin(const struct batch *batch, int64_t now)
{
	struct tripd_quota *quota = batch->quota;

	take_back(batch);
	look(quota);
	exchange(quota);
	for (unsigned int i = 0; i < n_values(quota); i++)
		fire_late(batch, i);
	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (quota->anew_counters[quota->periods.all[i].counter].begins)
			end_period(quota, &quota->periods.all[i], now);
	for (unsigned int i = 0; i < n_values(quota); i++)
		rearm(batch, i);
	quota->periods.released = quota->periods.unarmed = true;
}

int
tripd_anew_begin(struct tripd_quota *quota, int64_t now)
{
	struct batch batch = {0};
	int ret;

	if (!find(quota, now))
		return 0;
	ret = tripd_period_late(quota);
	if (ret == 0)
		ret = open_batch(&batch, quota);
	if (ret == 0)
		begin(&batch, now);
	free(batch.first);
	free(batch.next);
	return ret;
}
