/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that are done at once, and awaited. */
#include <errno.h>
#include <time.h>

#include "apply/when.h"
#include "now.h"
#include "quota.h"
#include "rules.h"

#define DONE_NS UINT64_C(2000000000)

static void
note_error(struct tripd_quota *quota, struct tripd_hold *hold, int error)
{
	if (quota->now.result == 0)
		quota->now.result = error;
	if (hold != NULL && hold->error == 0)
		hold->error = error;
}

void
tripd_quota_did(struct tripd_quota *quota, const struct trip_work_event *event)
{
	struct tripd_now *now = &quota->now;
	uint64_t of = event->context % TRIPD_NOW_TIME;

	/* One that came too late was given up. */
	if (event->context - of != now->context || now->left == 0)
		return;
	now->left--;
	now->done_at = quota->n_events;
	if (of != 0)
		quota->holds[of - 1].left--;
	note_error(quota, of != 0 ? &quota->holds[of - 1] : NULL, event->result);
}

void
tripd_quota_now_begin(struct tripd_quota *quota)
{
	struct tripd_now *now = &quota->now;

	now->context = TRIPD_NOW | (now->context + TRIPD_NOW_TIME);
	now->left = 0;
	now->result = 0;
	now->item.n = 0;
}

static int
add_now(struct tripd_quota *quota, struct trip_apply_when *when, struct tripd_hold *hold)
{
	bool awaited = when->context == quota->now.context;
	int ret;

	if (hold != NULL)
		when->context += 1 + (uint64_t)(hold - quota->holds);
	ret = tripd_quota_item_queue(quota, &quota->now.item, when);
	quota->now.left += ret == 0 && awaited;
	if (hold != NULL)
		hold->left += ret == 0;
	note_error(quota, hold, ret);
	return ret;
}

/* What waits for 1 has the home look, if flows have counted anything. Where it is not known that
 * they have, it may not fire; its event is nobody's. */
void
tripd_quota_now_look(struct tripd_quota *quota, struct trip_cntr *cntr)
{
	static const struct trip_rules_when one = {.op = TRIP_RULES_OP_ADD, .threshold = 1};
	struct trip_apply_when when = {
		.rule = &one,
		.trigger = cntr,
		.cntr = quota->idle,
		.context = trip_cntr_read(cntr) > 0 ? quota->now.context : TRIPD_NOW,
	};

	(void)add_now(quota, &when, NULL);
}

/* When this is done, all that was added before has been accepted, and has rung if it is to. Before
 * a home accepts one more, it looks at what has rung. */
void
tripd_quota_now_looked(struct tripd_quota *quota)
{
	static const struct trip_rules_when nothing = {.op = TRIP_RULES_OP_ADD};
	struct trip_apply_when when = {
		.rule = &nothing,
		.trigger = quota->idle,
		.cntr = quota->idle,
		.context = quota->now.context,
	};

	for (unsigned int i = 0; i < 2; i++) {
		(void)add_now(quota, &when, NULL);
		(void)tripd_quota_now_end(quota);
	}
	(void)tripd_quota_item_cancel(quota, &quota->now.item);
}

int
tripd_quota_now_add(struct tripd_quota *quota, const struct trip_apply_count *count,
	const struct trip_rules_when *rule, struct tripd_hold *hold)
{
	const struct trip_rules_when at_once = {
		.op = rule->op, .value = rule->value, .unit = rule->unit, .target = rule->target};
	struct trip_apply_when when = {
		.rule = &at_once,
		.context = quota->now.context,
		.trigger = quota->idle,
		.count = count,
		.cntr = count == NULL ? quota->counters[rule->target] : NULL,
	};

	return add_now(quota, &when, hold);
}

int
tripd_quota_now_end(struct tripd_quota *quota)
{
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + DONE_NS;
	struct tripd_now *now = &quota->now;

	while (now->left > 0 && now_ns(CLOCK_MONOTONIC) < deadline) {
		tripd_quota_pause(quota);
		tripd_quota_read(quota);
	}
	if (now->left > 0 && now->result == 0)
		now->result = -ETIMEDOUT;
	now->left = 0;
	if (now->result != 0)
		(void)tripd_quota_item_cancel(quota, &now->item);
	return now->result;
}

int
tripd_quota_do(struct tripd_quota *quota, const struct trip_apply_count *count,
	const struct trip_rules_when *rule)
{
	tripd_quota_now_begin(quota);
	(void)tripd_quota_now_add(quota, count, rule, NULL);
	return tripd_quota_now_end(quota);
}
