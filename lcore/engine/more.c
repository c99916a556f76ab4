/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots that an item names beside its own become nodes of the home. */
#include "condition.h"
#include "more.h"
#include "node.h"

/* The nodes that an item has beside its own: the first, TRIP_NONE where it has none; and the one
 * whose `more` is the next. */
struct more {
	struct trip_home *home;
	uint32_t channel, first, last;
};

/* The node of a slot, which is the home's from now on, comes behind those that it has: TRIP_NONE
 * where the slot is none of the channel. */
static uint32_t
take_slot(struct more *more, uint32_t slot)
{
	struct trip_home *home = more->home;
	uint32_t node;

	if (!trip_channel_take_operands(&home->channels[more->channel], slot))
		return TRIP_NONE;
	node = trip_node_take_operands(home, more->channel, slot);
	home->nodes[node].more = TRIP_NONE;
	if (more->first == TRIP_NONE)
		more->first = node;
	else
		home->nodes[more->last].more = node;
	more->last = node;
	return node;
}

/* Whether the condition takes its parameters. */
static bool
take_condition(struct more *more, const struct trip_work_desc *desc)
{
	uint32_t node = take_slot(more, desc->condition - 1);
	struct trip_op_refusal refusal;

	return node != TRIP_NONE &&
	       trip_condition_takes(trip_condition_of(desc->condition_kind),
		       more->home->nodes[node].condition.memory, desc->interval, &refusal);
}

/* Whether the operation takes its operands. */
static bool
take_operands(struct more *more, const struct trip_op_row *op, const struct trip_work_desc *desc)
{
	uint32_t node = take_slot(more, desc->operands - 1);
	struct trip_op_refusal refusal;

	if (node == TRIP_NONE)
		return false;
	more->home->nodes[node].op = desc->op;
	return op->takes(more->home->engine, desc, more->home->nodes[node].operands, &refusal);
}

/* What lasts for a time ends. */
static bool
take_end(struct more *more, const struct trip_op_row *op, const struct trip_work_desc *desc)
{
	uint32_t node;

	if (desc->end == 0)
		return !op->has_time || desc->value == 0;
	node = op->end != NULL ? take_slot(more, desc->end - 1) : TRIP_NONE;
	if (node == TRIP_NONE)
		return false;
	more->home->nodes[node].op = 0;
	more->home->nodes[node].flags = TRIP_CONDITION_NONE;
	return true;
}

static bool
take_memory(struct more *more, const struct trip_work_desc *desc)
{
	const struct trip_channel_home *channel = &more->home->channels[more->channel];
	uint32_t slot = desc->memory - 1;

	for (unsigned int n = trip_condition_of(desc->condition_kind)->memory; n > 0; n--) {
		uint32_t node = take_slot(more, slot);

		if (node == TRIP_NONE)
			return false;
		more->home->nodes[node].op = desc->op;
		slot = trip_channel_next(channel, slot) - 1;
	}
	return true;
}

bool
trip_more_take(struct trip_home *home, uint32_t channel, const struct trip_op_row *op,
	const struct trip_work_desc *desc, uint32_t *first)
{
	struct more more = {.home = home, .channel = channel, .first = TRIP_NONE};
	bool taken = (desc->condition == 0 || take_condition(&more, desc)) &&
		     (op->operands == 0 || take_operands(&more, op, desc)) &&
		     take_end(&more, op, desc) &&
		     (desc->condition == 0 || take_memory(&more, desc));

	if (!taken)
		trip_node_return_more(home, channel, more.first);
	*first = more.first;
	return taken;
}
