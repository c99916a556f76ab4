/* SPDX-License-Identifier: BSD-3-Clause */
/* A `when` as deferred work: one item, or one for each flow of the rule that it acts on. */
#ifndef TRIP_APPLY_WHEN_H
#define TRIP_APPLY_WHEN_H

#include <trip_work.h>

#include "count.h"
#include "rules.h"

/* What a `when` speaks of, in the domain. */
struct trip_apply_when {
	const struct trip_rules_when *rule;
	struct trip_cntr *trigger;
	/* What the clock was when the rules were put to work. */
	uint64_t since;
	/* What it acts on: a count's flows, a counter, or a function. Functions are the primary's;
	 * without one, `cntr` has 0 added to it, which is seen by its event alone. */
	const struct trip_apply_count *count;
	struct trip_cntr *cntr;
	struct trip_function *function;
	/* Of every event. */
	uint64_t context;
	/* Counts a firing on flows when all of them have done it, or NULL. */
	struct trip_cntr *flows_done;
	/* Queues one item: 0, or the error that ends it. */
	int (*queue)(void *arg, const struct trip_work *work);
	void *arg;
};

/* How far what the trigger has come to is from what the rule says. */
uint64_t trip_apply_when_offset(const struct trip_rules_when *rule, uint64_t since);

/* What has to hold beside the threshold, or NULL. */
const struct trip_condition *trip_apply_when_condition(const struct trip_rules_when *rule);

/* How many of `max_works` that takes. */
unsigned int trip_apply_when_works(
	const struct trip_rules *rules, const struct trip_rules_when *rule);

/* Queues them; of those of one firing the last has an event. Returns what `queue` did. */
int trip_apply_when(const struct trip_apply_when *when);

#endif
