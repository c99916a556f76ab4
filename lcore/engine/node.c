/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes, queues, defers and gives back nodes. */
#include "condition.h"
#include "due.h"
#include "lasting.h"
#include "node.h"
#include "op.h"

uint32_t
trip_node_take_operands(struct trip_home *home, uint32_t channel, uint32_t slot)
{
	uint32_t index = trip_node_of_free(home, channel, slot);

	trip_channel_read_operands(&home->channels[channel], slot, home->nodes[index].operands);
	return index;
}

void
trip_node_drop_many(struct trip_home *home, struct trip_channel_home *channel,
	const uint32_t *nodes, unsigned int n)
{
	uint32_t first = trip_node_first(home, channel), slots[TRIP_CHANNEL_RETURNS];

	for (unsigned int i = 0; i < n; i++) {
		struct trip_node *node = &home->nodes[nodes[i]];

		node->queued = false;
		node->deferred = false;
		slots[i] = nodes[i] - first;
	}
	trip_channel_return_many(channel, slots, n);
	trip_engine_stat(&home->stats.pending, 0 - (uint64_t)n);
}

void
trip_node_return_more(struct trip_home *home, uint32_t channel, uint32_t first)
{
	struct trip_channel_home *from = &home->channels[channel];

	for (uint32_t at = first; at != TRIP_NONE; at = home->nodes[at].more)
		trip_channel_return(from, at - trip_node_first(home, from));
}

uint32_t
trip_node_end(const struct trip_home *home, const struct trip_node *item)
{
	uint32_t at = item->has_more ? item->more : TRIP_NONE;

	if (at != TRIP_NONE && trip_node_is_condition(&home->nodes[at]))
		at = home->nodes[at].more;
	if (at != TRIP_NONE && trip_op_of(item->op)->operands != 0)
		at = home->nodes[at].more;
	return at != TRIP_NONE && trip_node_is_end(&home->nodes[at]) ? at : TRIP_NONE;
}

/* Out of line: most have nothing. */
static __attribute__((noinline)) void
drop_more(struct trip_home *home, uint32_t index)
{
	const struct trip_node *node = &home->nodes[index];

	if (trip_node_is_condition(&home->nodes[node->more]))
		trip_condition_end(home, node->more);
	if (trip_node_end(home, node) != TRIP_NONE)
		trip_lasting_drop(home, index);
	trip_node_return_more(home, node->channel, node->more);
}

void
trip_node_drop(struct trip_home *home, uint32_t index)
{
	const struct trip_node *node = &home->nodes[index];
	struct trip_channel_home *channel = &home->channels[node->channel];

	if (node->has_more)
		drop_more(home, index);
	trip_node_drop_many(home, channel, &index, 1);
}

static void
defer(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];
	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];

	node->deferred = true;
	node->next_deferred = TRIP_NONE;
	if (cntr->deferred == TRIP_NONE) {
		cntr->deferred = index;
	} else {
		node->prev_deferred = home->nodes[cntr->deferred].prev_deferred;
		home->nodes[node->prev_deferred].next_deferred = index;
	}
	home->nodes[cntr->deferred].prev_deferred = index;
	trip_due_deferred(home, node->cntr, node->threshold);
}

void
trip_node_undefer(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];
	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];

	if (cntr->deferred == index)
		cntr->deferred = node->next_deferred;
	else
		home->nodes[node->prev_deferred].next_deferred = node->next_deferred;
	/* Behind the last there is the first, which knows the last; where there is any. */
	if (node->next_deferred != TRIP_NONE)
		home->nodes[node->next_deferred].prev_deferred = node->prev_deferred;
	else if (cntr->deferred != TRIP_NONE)
		home->nodes[cntr->deferred].prev_deferred = node->prev_deferred;
	node->deferred = false;
}

void
trip_node_queue(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];

	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];

	node->queued = cntr->deferred == TRIP_NONE &&
		       (trip_due_queue_above(&home->pool, cntr, node->threshold, index) ||
			       trip_due_queue(home, node->cntr, node->threshold, index));
	if (!node->queued)
		defer(home, index);
}
