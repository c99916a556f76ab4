/* SPDX-License-Identifier: BSD-3-Clause */
/* Deferred work of the rules: queued and canceled. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_common.h>

#include "apply/when.h"
#include "now.h"
#include "quota.h"
#include "rules.h"
#include "signals.h"

#define DONE_NS UINT64_C(2000000000)

static struct trip_cntr *
trigger(const struct tripd_quota *quota, enum trip_rules_ref ref, unsigned int index)
{
	switch (ref) {
	case TRIP_RULES_REF_PACKETS:
		return quota->counts[index].packets;
	case TRIP_RULES_REF_BYTES:
		return quota->counts[index].bytes;
	case TRIP_RULES_REF_CLOCK:
		return trip_clock_cntr(quota->domain);
	case TRIP_RULES_REF_COUNTER:
		return quota->counters[index];
	case TRIP_RULES_REF_PAIRS:
	case TRIP_RULES_REF_KEY_PACKETS:
	case TRIP_RULES_REF_KEY_BYTES:
	case TRIP_RULES_REF_KEY_PAIRS:
		break;
	}
	return NULL;
}

struct trip_cntr *
tripd_quota_trigger(const struct tripd_quota *quota, const struct trip_rules_when *when)
{
	return trigger(quota, when->ref, when->index);
}

/* Whose work is being queued. */
struct queueing {
	struct tripd_quota *quota;
	struct tripd_item *item;
};

static struct trip_cntr *
find_of_pair(void *arg, const struct trip_rules_pair *pair)
{
	const struct queueing *queueing = arg;

	return trigger(queueing->quota, pair->ref, pair->index);
}

int
tripd_quota_room(struct tripd_item *item, unsigned int n)
{
	uint64_t *more;

	if (n <= item->room + 1)
		return 0;
	more = reallocarray(item->more, n - 1, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	item->more = more;
	item->room = n - 1;
	return 0;
}

int
tripd_quota_gate(const struct tripd_quota *quota, struct tripd_item *item,
	const struct trip_rules_when *when)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr)};

	/* A reset is one item here. */
	if (item->gate != NULL || when->op == TRIP_RULES_OP_RESET ||
		!trip_apply_when_is_gated(when))
		return 0;
	return trip_cntr_open(quota->domain, &attr, &item->gate, NULL);
}

int
tripd_quota_item_close(struct tripd_item *item)
{
	free(item->more);
	return item->gate != NULL ? trip_cntr_close(item->gate) : 0;
}

static void
keep_id(struct tripd_item *item, uint64_t id)
{
	if (item->n == 0)
		item->first = id;
	else
		item->more[item->n - 1] = id;
	item->n++;
}

/* -EAGAIN: the submission ring is full, until the home has emptied it. */
static int
queue_one(struct tripd_quota *quota, const struct trip_work *work, uint64_t *id)
{
	uint64_t deadline =
		quota->queue_by != 0 ? quota->queue_by : now_ns(CLOCK_MONOTONIC) + DONE_NS;
	int ret;

	if (!quota->at_work && tripd_signals_came())
		return -EINTR;
	while ((ret = trip_work_queue(quota->domain, work, id)) == -EAGAIN &&
		now_ns(CLOCK_MONOTONIC) < deadline) {
		if (quota->manual)
			trip_progress(quota->domain);
		else
			sched_yield();
	}
	return ret;
}

static int
queue_work(void *arg, const struct trip_work *work)
{
	const struct queueing *queueing = arg;
	struct trip_work own = *work;
	uint64_t id;
	int ret;

	/* Time may have gone on while it was taken back. */
	if (queueing->quota->plan->by_packets && work->interval != 0 &&
		work->triggering_cntr == trip_clock_cntr(queueing->quota->domain))
		own.flags |= TRIP_WORK_COALESCE;
	ret = queue_one(queueing->quota, &own, &id);

	if (ret == 0)
		keep_id(queueing->item, id);
	return ret;
}

int
tripd_quota_item_queue(
	struct tripd_quota *quota, struct tripd_item *item, const struct trip_apply_when *when)
{
	struct queueing queueing = {quota, item};
	struct trip_apply_when own = *when;
	unsigned int n = when->count != NULL ? when->count->n_flows : 1;
	int ret = tripd_quota_room(item, item->n + n + (when->gate != NULL));

	own.find = find_of_pair;
	own.queue = queue_work;
	own.arg = &queueing;
	return ret == 0 ? trip_apply_when(&own) : ret;
}

/* A statement as it is put to work: what triggers it and when is the caller's. */
static struct trip_apply_when
work_of(struct tripd_quota *quota, unsigned int i, const struct trip_rules_when *rule)
{
	enum trip_op_target target = trip_rules_op_of(rule->op)->target;

	return (struct trip_apply_when){
		.rule = rule,
		.since = quota->items[i].since,
		.count = target == TRIP_OP_ON_FLOW ? &quota->counts[rule->target] : NULL,
		.cntr = target == TRIP_OP_ON_CNTR ? quota->counters[rule->target] : NULL,
		.function = rule->op == TRIP_RULES_OP_EXEC ? quota->exec : quota->log,
		.context = i,
	};
}

/* `begun`: what another has begun goes on. */
static int
queue(struct tripd_quota *quota, unsigned int i, struct trip_cntr *trigger, bool begun)
{
	struct trip_rules_when rule = quota->rules->whens[i];
	struct trip_apply_when when;
	int ret = tripd_quota_gate(quota, &quota->items[i], &rule);

	/* What is of keys is no work of its own. */
	if (ret != 0 || trip_rules_is_of_keys(&rule))
		return ret;
	/* Whoever reads of it resets, and takes out what that has come to (anew.h). */
	if (rule.op == TRIP_RULES_OP_RESET)
		rule.op = TRIP_RULES_OP_LOG;
	rule.on_count = false;
	/* A counter says how many of its pairs hold. */
	if (rule.pairs != NULL && trigger != NULL) {
		rule.threshold = trip_apply_when_opens_at(rule.pairs);
		rule.condition.kind = TRIP_CONDITION_NONE;
		rule.pairs = NULL;
	}
	/* What is queued again goes on where it was; a condition begins anew. */
	if (rule.condition.kind == TRIP_CONDITION_NONE)
		rule.threshold += rule.every * quota->fired[i];
	when = work_of(quota, i, &rule);
	when.trigger = trigger;
	when.gate = rule.pairs != NULL ? quota->items[i].gate : NULL;
	when.begun = begun;
	quota->items[i].n = 0;
	return tripd_quota_item_queue(quota, &quota->items[i], &when);
}

int
tripd_quota_queue(struct tripd_quota *quota, unsigned int i, struct trip_cntr *trigger)
{
	int ret = queue(quota, i, trigger, false);

	/* All of it is, or nothing; and it is to be. */
	if (ret != 0) {
		(void)tripd_quota_cancel(quota, i);
		quota->items[i].torn = false;
	}
	quota->items[i].unarmed = ret != 0;
	quota->periods.unarmed |= ret != 0;
	return ret;
}

bool
tripd_quota_lasts(const struct trip_rules_when *when)
{
	return when->lasts != 0 || (when->condition.kind == TRIP_CONDITION_RATE &&
					   when->condition.when.rate.until_time > 0);
}

/* The last of its flows has the event. */
static int
go_on_as_begun(struct tripd_quota *quota, unsigned int i)
{
	struct tripd_item *item = &quota->items[i];
	int ret = queue(quota, i, tripd_quota_trigger(quota, &quota->rules->whens[i]), true);

	if (ret == 0)
		item->begun = item->n == 1 ? item->first : item->more[item->n - 2];
	return ret;
}

static int
go_on_for_a_time(struct tripd_quota *quota, unsigned int i)
{
	struct tripd_item *item = &quota->items[i];
	struct trip_rules_when rule = {.op = TRIP_RULES_OP_DROP,
		.target = quota->rules->whens[i].target,
		.lasts = quota->rules->whens[i].lasts};
	uint64_t since = trip_cntr_read(trip_clock_cntr(quota->domain)) - item->fired_ns;
	struct trip_apply_when when = work_of(quota, i, &rule);
	int ret;

	/* Its end is told in any case. */
	rule.lasts = RTE_MAX(rule.lasts, since + 1) - since;
	/* Any counter has reached 0; what waits for the idle one is flushed. */
	when.trigger = when.count->packets;
	item->goes_on++;
	item->goes_on_at = quota->n_events;
	ret = tripd_quota_item_queue(quota, item, &when);
	item->goes_on -= ret != 0;
	return ret;
}

int
tripd_quota_go_on(struct tripd_quota *quota, unsigned int i)
{
	return quota->rules->whens[i].lasts != 0 ? go_on_for_a_time(quota, i)
						 : go_on_as_begun(quota, i);
}

bool
tripd_quota_item_cancel(const struct tripd_quota *quota, struct tripd_item *item)
{
	bool waited = false;

	/* The last of one firing has its event: where that has fired, all have. */
	for (unsigned int k = item->n; k > 0; k--) {
		uint64_t id = k == 1 ? item->first : item->more[k - 2];
		bool canceled = trip_work_cancel(quota->domain, id) == 0;

		waited |= canceled && k == item->n;
		item->torn |= waited && !canceled;
	}
	item->n = 0;
	return waited;
}

bool
tripd_quota_cancel(struct tripd_quota *quota, unsigned int i)
{
	bool waited = tripd_quota_item_cancel(quota, &quota->items[i]);

	quota->torn |= quota->items[i].torn;
	return waited;
}

void
tripd_quota_rearm(struct tripd_quota *quota, unsigned int i)
{
	quota->fired[i] = 0;
	quota->items[i].goes_on = 0;
	quota->items[i].begun = TRIP_WORK_NONE;
	if (quota->items[i].gate != NULL)
		trip_cntr_set(quota->items[i].gate, 0);
}

static bool
is_periodic(const struct trip_rules_when *when)
{
	return when->ref == TRIP_RULES_REF_CLOCK && when->every != 0 && !when->gone;
}

void
tripd_quota_rest(struct tripd_quota *quota)
{
	for (unsigned int i = 0; i < quota->rules->n_whens; i++)
		if (is_periodic(&quota->rules->whens[i]))
			(void)tripd_quota_cancel(quota, i);
	tripd_quota_settled(quota);
}

void
tripd_quota_go_round(struct tripd_quota *quota)
{
	for (unsigned int i = 0; i < quota->rules->n_whens; i++)
		if (is_periodic(&quota->rules->whens[i]) && quota->items[i].n == 0)
			quota->periods.unarmed = quota->items[i].unarmed = true;
}

/* ---- what was taken back in the midst of its firing -------------------------------------------
 */

/* What reaches it again is due at once: a threshold, or a gate that has opened. Of what is over by
 * then, what its counter shows is the threshold. */
static int
queue_rest(struct tripd_quota *quota, unsigned int i)
{
	struct trip_rules_when rule = quota->rules->whens[i];
	struct trip_apply_when when;

	if (rule.pairs != NULL || rule.condition.kind == TRIP_CONDITION_NONE)
		return queue(quota, i, tripd_quota_trigger(quota, &rule), false);
	rule.condition = (struct trip_condition){.kind = TRIP_CONDITION_NONE};
	when = work_of(quota, i, &rule);
	when.trigger = tripd_quota_trigger(quota, &rule);
	rule.threshold = trip_cntr_read(when.trigger);
	return tripd_quota_item_queue(quota, &quota->items[i], &when);
}

static bool
is_torn(const struct tripd_quota *quota, unsigned int i)
{
	return quota->items[i].torn && quota->fired[i] == 0;
}

/* Some of its flows are dropped, and nobody was told: the others are, too, and it has fired. */
static void
mend_torn(struct tripd_quota *quota)
{
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + DONE_NS;
	bool left = true;

	for (unsigned int i = 0; i < quota->rules->n_whens; i++)
		quota->items[i].torn = is_torn(quota, i) && queue_rest(quota, i) == 0;
	while (left && now_ns(CLOCK_MONOTONIC) < deadline) {
		tripd_quota_pause(quota);
		tripd_quota_read(quota);
		left = false;
		for (unsigned int i = 0; i < quota->rules->n_whens; i++)
			left |= is_torn(quota, i);
	}
	for (unsigned int i = 0; i < quota->rules->n_whens; i++) {
		if (!quota->items[i].torn)
			continue;
		(void)tripd_quota_cancel(quota, i);
		quota->items[i].torn = false;
	}
	quota->torn = false;
}

static void
settle(struct tripd_quota *quota)
{
	/* Nothing waits for this counter; what others have started has finished. */
	trip_work_flush(quota->domain, quota->idle);
	tripd_quota_read(quota);
}

void
tripd_quota_settled(struct tripd_quota *quota)
{
	settle(quota);
	if (!quota->torn)
		return;
	mend_torn(quota);
	settle(quota);
}
