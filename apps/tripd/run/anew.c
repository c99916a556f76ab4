/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a counter has come to is taken out by one exchange, so each packet is in what it was, or in
 * what it becomes. Its work is taken back before that, and queued again behind it: so none of it
 * fires by the counts of one for the other.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <trip.h>

#include "anew.h"
#include "anew_value.h"
#include "apply/period.h"
#include "apply/when.h"
#include "now.h"
#include "period.h"
#include "quota.h"
#include "rules.h"
#include "start/fail.h"

#define LATE_NS UINT64_C(2000000000)
/* Of these there are two lots at a time, and there is room for them beside the work of all rules
 * (start/plan.c). */
#define LOOKS 24

/* ---- what is to begin -------------------------------------------------------------------------
 */

static void
ask(struct tripd_quota *quota, bool on_count, unsigned int index, bool asked)
{
	unsigned int n = on_count ? 2 : 1;
	unsigned int value = tripd_anew_value(
		quota, on_count ? TRIP_RULES_REF_PACKETS : TRIP_RULES_REF_COUNTER, index);

	for (unsigned int i = value; i < value + n; i++)
		tripd_anew_of(quota, i)->asked = asked;
	quota->anew_asked |= asked;
}

void
tripd_anew_reset(struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];
	unsigned int value = tripd_anew_value(quota,
		when->on_count ? TRIP_RULES_REF_PACKETS : TRIP_RULES_REF_COUNTER, when->target);

	/* What has been crossed before the exchange resets what that has begun anew. */
	if (!quota->items[i].late || !tripd_anew_of(quota, value)->begins)
		ask(quota, when->on_count, when->target, true);
}

int
tripd_anew_reset_now(struct tripd_quota *quota, bool on_count, unsigned int index)
{
	bool before =
		on_count ? quota->anew_counts[2 * index].asked : quota->anew_counters[index].asked;
	int64_t now = tripd_quota_seconds(quota);
	int ret;

	ask(quota, on_count, index, true);
	ret = tripd_anew_begin(quota, now);
	/* No rule has asked meanwhile: until they begin, nothing is read that could fail then. */
	if (ret != 0)
		ask(quota, on_count, index, before);
	else
		(void)tripd_period_update(quota, now);
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
	for (unsigned int i = 0; i < tripd_anew_values(quota); i++) {
		struct tripd_anew *anew = tripd_anew_of(quota, i);

		anew->begins = anew->asked && !tripd_anew_is_gone(quota, i);
		anew->over = false;
	}
	for (unsigned int i = 0; i < periods->n; i++) {
		struct tripd_anew *anew = &quota->anew_counters[periods->all[i].counter];

		anew->over = is_over(quota, &periods->all[i], now);
		anew->begins |= anew->over;
	}
	return true;
}

/* ---- what stands on that ----------------------------------------------------------------------
 */

/* Lists of statements by the value that triggers them, and of those that pairs do, by how many have
 * to hold: indices, and 1 more. */
struct batch {
	struct tripd_quota *quota;
	unsigned int n, *first;
	/* By statement. */
	unsigned int *next;
};

/* How often it is due as they begin: that is no crossing, and does not happen again. The end of a
 * period is told to what waits for the beginning of the next. */
static uint64_t
due_at_0(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	if (when->ref == TRIP_RULES_REF_COUNTER && when->op != TRIP_RULES_OP_RESET &&
		quota->anew_counters[when->index].over)
		return 0;
	return tripd_anew_due(quota, i, TRIPD_ANEW_BEGINS);
}

/* It speaks of a value that begins anew, and that makes a difference to it. */
static bool
begins_too(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	return !when->gone && tripd_anew_is_in(quota, i) &&
	       (when->every != 0 || due_at_0(quota, i) == 0);
}

static unsigned int
list_of(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	return when->pairs == NULL ? tripd_anew_value(quota, when->ref, when->index)
				   : tripd_anew_values(quota) +
					     (unsigned int)trip_apply_when_opens_at(when->pairs);
}

static int
open_batch(struct batch *batch, struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;
	unsigned int n = tripd_anew_values(quota) + TRIP_CONDITION_PAIRS_MAX + 1;

	*batch = (struct batch){
		.quota = quota,
		.n = n,
		.first = calloc(n, sizeof(*batch->first)),
		.next = calloc(rules->n_whens + 1, sizeof(*batch->next)),
	};
	if (batch->first == NULL || batch->next == NULL)
		return tripd_fail(-ENOMEM, "no memory for %u counters", n);
	/* Each list in the order of the rules. */
	for (unsigned int i = rules->n_whens; i-- > 0;) {
		unsigned int list = list_of(quota, i);

		if (!begins_too(quota, i))
			continue;
		batch->next[i] = batch->first[list];
		batch->first[list] = i + 1;
	}
	return 0;
}

/* Nothing of them fires from here on, and what has is known. */
static void
take_back(const struct batch *batch)
{
	struct tripd_quota *quota = batch->quota;

	for (unsigned int i = 0; i < batch->n; i++)
		for (unsigned int at = batch->first[i]; at != 0; at = batch->next[at - 1])
			(void)tripd_quota_cancel(quota, at - 1);
	tripd_quota_settled(quota);
}

/* ---- what was crossed since -------------------------------------------------------------------
 */

static bool
is_late(const struct tripd_quota *quota, unsigned int i)
{
	struct trip_cntr *gate = quota->items[i].gate;

	/* It may have fired, and not be known to. */
	if (quota->rules->whens[i].every != 0 && quota->items[i].n_overrun != quota->n_overrun)
		return false;
	/* Where that is open all pairs had held, and what stands on it was taken back. */
	if (gate != NULL && trip_cntr_read(gate) != 0)
		return quota->fired[i] == 0;
	return quota->fired[i] < tripd_anew_due(quota, i, TRIPD_ANEW_WAS);
}

/* Of the statements from `at` on, finds those that what was has made due, and that have not fired
 * as often. Returns how many there are. */
static unsigned int
find_late(const struct batch *batch, unsigned int at)
{
	unsigned int n = 0;

	for (; at != 0; at = batch->next[at - 1]) {
		batch->quota->items[at - 1].late = is_late(batch->quota, at - 1);
		n += batch->quota->items[at - 1].late;
	}
	return n;
}

static bool
any_is_late(const struct batch *batch, unsigned int at)
{
	while (at != 0 && !(batch->quota->items[at - 1].late && is_late(batch->quota, at - 1)))
		at = batch->next[at - 1];
	return at != 0;
}

/* What the counter is that stands in for what a list waits for. */
static uint64_t
stands_for(const struct tripd_quota *quota, unsigned int list)
{
	unsigned int n = tripd_anew_values(quota);

	return list < n ? tripd_anew_sum(quota, list, TRIPD_ANEW_WAS) : list - n;
}

static void
say_undone(struct tripd_quota *quota, unsigned int i, const char *why)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	quota->undone = true;
	tripd_fail(-EIO, "line %u of the rules, %s: what was due as it began anew is not done: %s",
		when->line, when->source, why);
}

static void
queue_late(const struct batch *batch, unsigned int at)
{
	struct tripd_quota *quota = batch->quota;

	for (; at != 0; at = batch->next[at - 1])
		if (quota->items[at - 1].late &&
			tripd_quota_queue(quota, at - 1, quota->late) != 0) {
			quota->items[at - 1].late = false;
			say_undone(quota, at - 1, trip_error_message());
		}
}

static void
end_late(const struct batch *batch, unsigned int at)
{
	struct tripd_quota *quota = batch->quota;

	for (; at != 0; at = batch->next[at - 1]) {
		if (quota->items[at - 1].late && is_late(quota, at - 1))
			say_undone(quota, at - 1, "it does not fire");
		quota->items[at - 1].late = false;
	}
	trip_cntr_set(quota->late, 0);
}

/* What was counted since the work was taken back may have crossed a threshold: that fires by a
 * counter that stands in for the one that has begun anew, or for pairs. It cannot be tried again:
 * what it was is over. */
static void
fire_late(const struct batch *batch, unsigned int list)
{
	struct tripd_quota *quota = batch->quota;
	const unsigned int first = batch->first[list];

	if (find_late(batch, first) == 0)
		return;
	queue_late(batch, first);
	trip_cntr_set(quota->late, stands_for(quota, list));
	while (any_is_late(batch, first) && now_ns(CLOCK_MONOTONIC) < quota->queue_by) {
		tripd_quota_pause(quota);
		tripd_quota_read(quota);
	}
	for (unsigned int at = first; at != 0; at = batch->next[at - 1])
		if (quota->items[at - 1].late)
			(void)tripd_quota_cancel(quota, at - 1);
	tripd_quota_settled(quota);
	end_late(batch, first);
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
rearm(const struct batch *batch, unsigned int list)
{
	struct tripd_quota *quota = batch->quota;

	for (unsigned int at = batch->first[list]; at != 0; at = batch->next[at - 1]) {
		unsigned int i = at - 1;
		uint64_t stays = RTE_MIN(quota->fired[i], due_at_0(quota, i));

		tripd_quota_end_lasting(quota, i);
		quota->items[i].owed |= tripd_quota_holds(quota, i);
		/* It may hold by what another value has come to meanwhile. */
		quota->items[i].unarmed = stays == 0 || quota->rules->whens[i].every != 0;
		tripd_quota_rearm(quota, i);
		quota->fired[i] = stays;
		quota->items[i].n_overrun = quota->n_overrun;
	}
}

/* From one on, both values of a count or none. Returns which one is next. */
static unsigned int
look_at_some(struct tripd_quota *quota, unsigned int value)
{
	unsigned int n = 0;

	tripd_quota_now_begin(quota);
	for (; value < tripd_anew_values(quota) && n < LOOKS; value++) {
		if (!tripd_anew_of(quota, value)->begins)
			continue;
		tripd_quota_now_look(quota, tripd_anew_cntr(quota, value));
		n++;
	}
	tripd_quota_now_looked(quota);
	return value;
}

/* A home reads what queues have counted when somebody waits for it, and else now and then: packets
 * and bytes of a count would be of moments that are far apart. */
static void
look(struct tripd_quota *quota)
{
	unsigned int value = 0;

	quota->queue_by = now_ns(CLOCK_MONOTONIC) + LATE_NS;
	do
		value = look_at_some(quota, value);
	while (value < tripd_anew_values(quota) && quota->now.result == 0);
	quota->queue_by = 0;
}

/* One exchange takes out what each has come to: all of them at once, as far as that can be. What is
 * asked for from here on is another time. */
static void
exchange(struct tripd_quota *quota)
{
	quota->anew_asked = false;
	for (unsigned int i = 0; i < tripd_anew_values(quota); i++) {
		struct tripd_anew *anew = tripd_anew_of(quota, i);

		anew->asked &= !anew->begins && !tripd_anew_is_gone(quota, i);
		quota->anew_asked |= anew->asked;
		if (anew->begins)
			(void)trip_cntr_reset(tripd_anew_cntr(quota, i), &anew->was);
	}
}

static void
begin(const struct batch *batch, int64_t now)
{
	struct tripd_quota *quota = batch->quota;

	take_back(batch);
	look(quota);
	exchange(quota);
	/* All of it waits but once. */
	quota->queue_by = now_ns(CLOCK_MONOTONIC) + LATE_NS;
	for (unsigned int i = 0; i < batch->n; i++)
		fire_late(batch, i);
	quota->queue_by = 0;
	for (unsigned int i = 0; i < quota->periods.n; i++)
		if (quota->anew_counters[quota->periods.all[i].counter].begins)
			end_period(quota, &quota->periods.all[i], now);
	for (unsigned int i = 0; i < batch->n; i++)
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
