/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A glance at a condition whose alarm has been reached, in place of a look (condition.h). Most
 * looks at a counter that advances note its sum, and put the alarm on. That moves nothing else, so
 * it need not wait until the volley has fired; and it takes half the instructions, and neither the
 * item nor the record of its counter.
 *
 * So the condition's node says what it needs of these: the counter, in place of a generation, which
 * a condition has none of.
 */
#ifndef TRIP_GLANCE_H
#define TRIP_GLANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "node.h"

struct trip_glance {
	struct trip_home *home;
	/* The first of the nodes that the condition remembers in. */
	uint32_t first;
	/* As in a look that finds no set, and no flows that feed the counter. */
	uint64_t sum, known;
};

/* No slot has come to that generation. */
#define TRIP_GLANCE_WATCHES (UINT64_C(1) << 35)

/* An item was accepted that has no operands; its condition may be glanced at. */
static inline void
trip_glance_begin(struct trip_node *condition, uint32_t cntr)
{
	condition->generation = TRIP_GLANCE_WATCHES | cntr;
}

/* Whether a node is a condition that may be glanced at. */
static inline bool
trip_glance_may(const struct trip_node *node)
{
	return trip_node_is_condition(node) && (node->generation & TRIP_GLANCE_WATCHES) != 0;
}

/* What that will touch beside the node. */
static inline void
trip_glance_prefetch(const struct trip_home *home, const struct trip_node *condition)
{
	__builtin_prefetch(&home->cells[(uint32_t)condition->generation]);
	__builtin_prefetch(&home->nodes[condition->more], 1);
}

/* The alarm of such a condition was taken out of the clock's pending set. True: it stands there
 * again; false: nothing is done, and the condition is to be looked at. */
bool trip_glance_at(struct trip_home *home, uint32_t condition);

#endif
