/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Periods that end, all together. What a quota's counter has come to is taken out by one exchange,
 * so each packet is in one period. Its work is taken back before that, and queued again behind it:
 * so none of it fires by the counts of one period for another.
 */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <trip.h>

#include "apply/period.h"
#include "now.h"
#include "start/fail.h"
#include "period.h"
#include "quota.h"
#include "rules.h"

#define LATE_NS UINT64_C(2000000000)

/* Lists of statements by the quota that triggers them: indices, and 1 more. */
struct batch {
	struct tripd_quota *quota;
	/* By counter, of those that end; and by statement. */
	unsigned int *first, *next;
};

static bool
is_over(const struct tripd_quota *quota, const struct tripd_period *period, int64_t now)
{
	return !quota->rules->counters[period->counter].gone &&
	       (period->reset || now >= period->ends);
}

/* Returns whether any does. */
static bool
find_over(struct tripd_quota *quota, int64_t now)
{
	bool any = false;

	for (unsigned int i = 0; i < quota->periods.n; i++) {
		quota->periods.all[i].over = is_over(quota, &quota->periods.all[i], now);
		any |= quota->periods.all[i].over;
	}
	return any;
}

static int
open_batch(struct batch *batch, struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;
	bool *over = calloc(rules->n_counters + 1, sizeof(*over));

	*batch = (struct batch){
		.quota = quota,
		.first = calloc(rules->n_counters + 1, sizeof(*batch->first)),
		.next = calloc(rules->n_whens + 1, sizeof(*batch->next)),
	};
	if (over == NULL || batch->first == NULL || batch->next == NULL) {
		free(over);
		return tripd_fail(-ENOMEM, "no memory for %u quotas", rules->n_counters);
	}
	for (unsigned int i = 0; i < quota->periods.n; i++)
		over[quota->periods.all[i].counter] = quota->periods.all[i].over;
	/* Each list in the order of the rules. */
	for (unsigned int i = rules->n_whens; i-- > 0;) {
		unsigned int counter = tripd_period_in(quota, &rules->whens[i], over);

		if (rules->whens[i].gone || counter == UINT_MAX)
			continue;
		batch->next[i] = batch->first[counter];
		batch->first[counter] = i + 1;
	}
	free(over);
	return 0;
}

/* Nothing of them fires from here on, and what has is known. */
static void
take_back(const struct batch *batch)
{
	struct tripd_quota *quota = batch->quota;

	for (unsigned int i = 0; i < quota->periods.n; i++) {
		unsigned int at = batch->first[quota->periods.all[i].counter];

		for (; at != 0; at = batch->next[at - 1])
			(void)tripd_quota_cancel(quota, at - 1);
	}
	tripd_quota_settled(quota);
}

/* Statements from `at` on that what was spent has made due, and have not fired as often. */
static unsigned int
count_late(const struct batch *batch, unsigned int at, uint64_t spent)
{
	const struct tripd_quota *quota = batch->quota;
	unsigned int n = 0;

	for (; at != 0; at = batch->next[at - 1])
		n += quota->fired[at - 1] < tripd_quota_due(&quota->rules->whens[at - 1], spent);
	return n;
}

/* What was counted since the work was taken back may have crossed a threshold: that fires by a
 * counter that stands in for the quota, whose own has begun anew. */
static void
fire_late(const struct batch *batch, const struct tripd_period *period)
{
	struct tripd_quota *quota = batch->quota;
	const unsigned int first = batch->first[period->counter];
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + LATE_NS;

	if (count_late(batch, first, period->spent) == 0)
		return;
	for (unsigned int at = first; at != 0; at = batch->next[at - 1])
		if (tripd_quota_due(&quota->rules->whens[at - 1], period->spent) >
			quota->fired[at - 1])
			(void)tripd_quota_queue(quota, at - 1, quota->late);
	trip_cntr_set(quota->late, period->spent);
	while (count_late(batch, first, period->spent) > 0 && now_ns(CLOCK_MONOTONIC) < deadline) {
		tripd_quota_pause(quota);
		tripd_quota_read(quota);
	}
	for (unsigned int at = first; at != 0; at = batch->next[at - 1])
		(void)tripd_quota_cancel(quota, at - 1);
	tripd_quota_settled(quota);
	trip_cntr_set(quota->late, 0);
}

static void
end(const struct batch *batch, struct tripd_period *period, int64_t now)
{
	struct tripd_quota *quota = batch->quota;

	fire_late(batch, period);
	period->ended_began = period->began;
	/* It was over then, however late that is seen. */
	period->ended = RTE_MIN(now, period->ends);
	period->n_ended++;
	period->began = period->ended;
	if (now >= period->ends)
		period->ends =
			trip_apply_period_end(quota->rules->counters[period->counter].quota, now);
	period->reset = false;
	if (quota->period_told != NULL)
		quota->period_told(quota->told_arg, period);
	tripd_period_put(quota, period);
	/* What its statements have begun ends with it, and they begin anew. */
	for (unsigned int at = batch->first[period->counter]; at != 0; at = batch->next[at - 1]) {
		quota->items[at - 1].owed |= tripd_quota_holds(quota, at - 1);
		quota->items[at - 1].unarmed = true;
		tripd_quota_rearm(quota, at - 1);
	}
}

/* By the clock of packets all that came is of the periods that end: what comes later is not counted
 * yet. */
static void
freshen(const struct tripd_quota *quota)
{
	uint64_t began = rte_rdtsc();

	for (unsigned int i = 0; quota->plan->by_packets && i < quota->periods.n; i++)
		if (quota->periods.all[i].over)
			tripd_quota_freshen_cntr(
				quota, quota->counters[quota->periods.all[i].counter], began);
}

/* One exchange takes out what each has come to: all of them at once, as far as that can be. */
int
tripd_period_end(struct tripd_quota *quota, int64_t now)
{
	struct batch batch;
	int ret;

	if (!find_over(quota, now))
		return 0;
	ret = open_batch(&batch, quota);
	if (ret == 0) {
		freshen(quota);
		take_back(&batch);
		for (unsigned int i = 0; i < quota->periods.n; i++)
			if (quota->periods.all[i].over)
				(void)trip_cntr_reset(
					quota->counters[quota->periods.all[i].counter],
					&quota->periods.all[i].spent);
		for (unsigned int i = 0; i < quota->periods.n; i++)
			if (quota->periods.all[i].over)
				end(&batch, &quota->periods.all[i], now);
		quota->periods.released = quota->periods.unarmed = true;
	}
	free(batch.first);
	free(batch.next);
	return ret;
}
