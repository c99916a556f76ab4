/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ALL and ANY (COND-07): an item of pairs. It stands on a hidden counter, which nobody opens, and
 * each of its pairs is an ordinary item, on whatever counter of whatever home, with whatever
 * condition, that adds 1 to that. One of the other kind that is nested is such an item, too, with
 * a hidden counter of its own. All hidden counters of one are on the home of its first pair, and of
 * the channel that it is queued by; its pairs are in the channels of the same number of their
 * homes. So what is true of items is true of it: cancel, flush, death, order.
 *
 * A hidden counter is used again, while what fed it may be about to. So each use has a base, which
 * is GROUP_STEP above the last one: the counter is raised to that before anything is queued, and an
 * item that feeds it fills it to just as many above that as there are pairs. What comes of an
 * earlier use is past its limit, and adds nothing.
 *
 * The item has the ids of its pairs with it. What is left of them when it is about to fire, or is
 * given back, is canceled by its home; and where its client cancels it, by that, at once. An id is
 * never used again, so that may be done twice, and later.
 */
#ifndef TRIP_GROUP_H
#define TRIP_GROUP_H

#include <stdint.h>

#include <trip_work.h>

#include "condition.h"

/* From one base of a hidden counter to the next. */
#define TRIP_GROUP_STEP 16
_Static_assert(
	TRIP_CONDITION_PAIRS_MAX < TRIP_GROUP_STEP, "a base and all pairs are below the next");

/* Hidden counters of the smallest channel: for one whose pairs are all nested. */
#define TRIP_GROUPS_LEAST (1 + TRIP_CONDITION_PAIRS_MAX)

/* Those of a channel with so many slots, unless it is told otherwise. */
static inline uint32_t
trip_group_share(uint32_t slots)
{
	return slots / 64 + TRIP_GROUPS_LEAST;
}

/* Ids in a node, and nodes of them. */
#define TRIP_GROUP_IDS (TRIP_OPERANDS_MAX / 8)
#define TRIP_GROUP_MEMORY ((TRIP_CONDITION_PAIRS_MAX + TRIP_GROUP_IDS - 1) / TRIP_GROUP_IDS)

/* Its parameters. */
struct trip_group_pairs {
	uint64_t n;
	uint64_t base;
};

/* What both rows have. */
bool trip_group_takes(const void *parameters, uint64_t interval, struct trip_op_refusal *refusal);
void trip_group_tell(const void *parameters, struct trip_condition_told *told);
/* How many have been, where the counter shows this. */
uint64_t trip_group_reached(const void *parameters, uint64_t sum);
enum trip_condition_state trip_group_look(struct trip_condition_look *look);
void trip_group_end(const struct trip_condition_look *look);

#endif
