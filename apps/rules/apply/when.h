/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A `when` as deferred work: one item, or one for each flow of the rule that it acts on.
 *
 * Items of one counter fire in their order, so the last of them tells that all have. Items of pairs
 * have each a counter of their own. So of an all() or any() that is several items there is just one
 * of pairs, which adds to a counter of the statement, its gate; and the others stand on that.
 */
#ifndef TRIP_APPLY_WHEN_H
#define TRIP_APPLY_WHEN_H

#include <trip_work.h>

#include "count.h"
#include "rules.h"

/* What a `when` speaks of, in the domain. */
struct trip_apply_when {
	const struct trip_rules_when *rule;
	struct trip_cntr *trigger;
	/* Where it has pairs, the counter that one of these speaks of; NULL: it cannot be found. */
	struct trip_cntr *(*find)(void *arg, const struct trip_rules_pair *pair);
	/* NULL, or a counter of its own, which is 0 until its pairs hold. */
	struct trip_cntr *gate;
	/* What the clock was when the rules were put to work. */
	uint64_t since;
	/* What it acts on: a count's flows, a counter, or a function. Functions are the primary's;
	 * without one, `cntr` is raised to 0, which is seen by its events alone, also that of its
	 * end. */
	const struct trip_apply_count *count;
	struct trip_cntr *cntr;
	struct trip_function *function;
	/* Its rate, which has an until, holds already: another has begun what goes on. */
	bool begun;
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

/* What triggers it, filled in: its counter and threshold, its gate, or its pairs, and its
 * condition. Of what `work` refers to then, `condition` keeps its own. 0, or -ENOENT: a counter of
 * a pair is not to be found. */
struct trip_apply_condition {
	struct trip_condition own, nested[TRIP_CONDITION_PAIRS_MAX];
	struct trip_pair pairs[1 + TRIP_CONDITION_PAIRS_MAX][TRIP_CONDITION_PAIRS_MAX];
};
int trip_apply_when_trigger(const struct trip_apply_when *when,
	struct trip_apply_condition *condition, struct trip_work *work);

/* What a trip by these pairs says: as many of them as have to hold. */
uint64_t trip_apply_when_opens_at(const struct trip_rules_pairs *pairs);

/* Whether it is to have a gate. */
bool trip_apply_when_is_gated(const struct trip_rules_when *rule);

/* Whether it tells of an end that comes by itself: by an until, or behind its time. */
bool trip_apply_when_ends(const struct trip_rules_when *rule);

/* How many of `max_works` that takes. */
unsigned int trip_apply_when_works(
	const struct trip_rules *rules, const struct trip_rules_when *rule);

/* Queues them; of those of one firing the last has an event. Returns what `queue` did. */
int trip_apply_when(const struct trip_apply_when *when);

#endif
