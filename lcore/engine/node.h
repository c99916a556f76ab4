/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The home's nodes: one for each slot of each channel, in the same order. A slot comes back to its
 * client behind all free ones, so the node of an item that was canceled lies still for as long as
 * there are others, and its place in the pending set may have been swept by then.
 */
#ifndef TRIP_NODE_H
#define TRIP_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "home.h"

/* Bytes that a condition has for its parameters and what it remembers. */
#define TRIP_CONDITION_MEMORY 32

/* Home's copy of a work item, outside any channel: one cache line, and where it has operands or a
 * condition, that of the slot which they came in. */
struct trip_node {
	union {
		struct {
			uint64_t threshold;
			uint64_t interval;
			uint64_t context;
			uint64_t value;
			uint32_t target;
			uint32_t completion;
			/* Of the first: the last. */
			uint32_t prev_deferred;
			uint32_t next_deferred;
		};
		/* Of an item. What follows is of the item that was here last, but `op`, which is
		 * that of this one. */
		uint64_t operands[TRIP_OPERANDS_MAX / 8];
		/* Of an item. What follows is its own: `op` is 0, which is no operation, and
		 * `flags` its kind. */
		struct {
			uint64_t memory[TRIP_CONDITION_MEMORY / 8];
			uint32_t item;
			/* Of its counter when it was last looked at. */
			uint32_t setgen;
			/* Of the first: the last. */
			uint32_t prev;
			uint32_t next;
		} condition;
		/* Of an item whose operation lasts: how it ends. So, too, and its kind is none. */
		struct {
			/* By the clock; 0: something else ends it. */
			uint64_t until;
			/* The operation's: what it has begun. */
			uint64_t begun;
			/* Of the event that told of it. */
			uint64_t threshold;
			uint64_t value;
			uint32_t item;
			/* Errands that are to tell what they have begun. */
			uint32_t errands;
			/* It has begun, and not ended. */
			bool lasts;
			/* It ends when those have told. */
			bool due;
			/* The item does not fire again. */
			bool over;
		} end;
	};
	/* Of its slot, which follows from the node: node.h. The client's id is made of both. Of a
	 * condition: glance.h. */
	uint64_t generation : 36;
	uint64_t channel : 8;
	uint64_t op : 8;
	uint64_t flags : 8;
	/* In the pending set of its counter, or about to fire. */
	uint64_t queued : 1;
	/* In its counter's list of deferred items. */
	uint64_t deferred : 1;
	/* May fire in a row with others of its channel and operation: op.h. */
	uint64_t many : 1;
	/* `more` is the first of those that it has beside its own, and that of each the next, or
	 * TRIP_NONE: its condition, its operands, its end, what the condition remembers in. Those
	 * of a condition and of an end say so of themselves, too. */
	uint64_t has_more : 1;
	/* Local index of the triggering counter; of a condition and an end, the clock's. */
	uint32_t cntr;
	uint32_t more;
};

_Static_assert(sizeof(struct trip_node) == 64, "a node is one cache line");
_Static_assert(offsetof(struct trip_node, cntr) == TRIP_OPERANDS_MAX + 8,
	"operands leave the counter that the node was queued at last");

static inline bool
trip_node_is_condition(const struct trip_node *node)
{
	return node->op == 0 && node->flags != TRIP_CONDITION_NONE;
}

static inline bool
trip_node_is_end(const struct trip_node *node)
{
	return node->op == 0 && node->flags == TRIP_CONDITION_NONE;
}

/* Of an item. */
static inline bool
trip_node_has_condition(const struct trip_home *home, const struct trip_node *item)
{
	return item->has_more && trip_node_is_condition(&home->nodes[item->more]);
}

/* The node of slot 0 of a channel; those of its other slots follow. */
static inline uint32_t
trip_node_first(const struct trip_home *home, const struct trip_channel_home *channel)
{
	return channel->map.first - home->first_slot;
}

/* The node of a slot. */
static inline uint32_t
trip_node_of(const struct trip_home *home, uint32_t channel, uint32_t slot)
{
	return trip_node_first(home, &home->channels[channel]) + slot;
}

/* The id that the client knows its item by: trip_channel_id(). */
static inline uint64_t
trip_node_id(const struct trip_home *home, uint32_t node, uint64_t generation)
{
	return generation << TRIP_CHANNEL_SLOT_BITS | (home->first_slot + node);
}

/* What firing a node will touch: it, and the state of its slot, in the channel that has the most.
 */
static inline void
trip_node_prefetch(const struct trip_home *home, uint32_t node)
{
	if (node >= home->n_nodes)
		return;
	__builtin_prefetch(&home->nodes[node], 1);
	if (node < home->shape.n_slots)
		__builtin_prefetch(&home->channels[0].map.state[node], 1);
}

/* The node of a slot that was accepted. What was in it last may have been canceled, and its counter
 * not come by since. */
static inline uint32_t
trip_node_of_free(struct trip_home *home, uint32_t channel, uint32_t slot)
{
	uint32_t index = trip_node_of(home, channel, slot);

	trip_pending_forget(&home->pool, &home->cntrs[home->nodes[index].cntr].pending, index);
	return index;
}

/* Likewise of an item; its caller fills it in. */
static inline uint32_t
trip_node_take(struct trip_home *home, uint32_t channel, uint32_t slot)
{
	trip_engine_stat(&home->stats.pending, 1);
	return trip_node_of_free(home, channel, slot);
}

/* The node of a slot that operands or a condition came in, which are in it now. */
uint32_t trip_node_take_operands(struct trip_home *home, uint32_t channel, uint32_t slot);

/* Those of an item that has some. They stay until the home accepts again, also where it has given
 * the item back. */
static inline const void *
trip_node_operands(const struct trip_home *home, const struct trip_node *item)
{
	const struct trip_node *more = &home->nodes[item->more];

	return trip_node_is_condition(more) ? home->nodes[more->more].operands : more->operands;
}

/* The end of an item whose operation lasts, or TRIP_NONE. */
uint32_t trip_node_end(const struct trip_home *home, const struct trip_node *item);

/* Queues a node at its threshold. One that cannot be yet is deferred until its counter settles, and
 * with it what follows it on that counter. */
void trip_node_queue(struct trip_home *home, uint32_t node);

/* Takes a node that was deferred out of the list of its counter. */
void trip_node_undefer(struct trip_home *home, uint32_t node);

/* Gives back the slots of a chain of nodes that an item has beside its own. */
void trip_node_return_more(struct trip_home *home, uint32_t channel, uint32_t first);

/* Gives a node back, and its slot to its client. It is in no list, and in no pending set but
 * as a canceled item. */
void trip_node_drop(struct trip_home *home, uint32_t node);

/* The same of nodes of this channel that have no `more`, at most TRIP_CHANNEL_RETURNS. */
void trip_node_drop_many(struct trip_home *home, struct trip_channel_home *channel,
	const uint32_t *nodes, unsigned int n);

#endif
