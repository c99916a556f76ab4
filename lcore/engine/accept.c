/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client submits is copied once, and the copy is validated: the arena stays the client's to
 * write. Counters, flows and functions are known by index, so the worst that garbage does is to
 * operate on the wrong object of the domain.
 */
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "accept.h"
#include "clock.h"
#include "condition.h"
#include "drop.h"
#include "due.h"
#include "fire.h"
#include "lasting.h"
#include "more.h"
#include "node.h"
#include "op.h"

#define BATCH 32

bool
trip_accept_done(const struct trip_home *home)
{
	return home->accept.n_sweep == 0;
}

/* How much a client has submitted; what it says may be garbage. */
static void
note_depth(struct trip_home *home, const struct trip_channel_home *channel, uint32_t tail)
{
	uint32_t depth = tail - channel->submit.here;

	if (likely(depth <= channel->submit.size))
		trip_engine_stat_most(&home->stats.deepest, depth);
}

void
trip_accept_begin(struct trip_home *home)
{
	uint32_t rung[TRIP_CHANNELS_MAX];
	unsigned int n = trip_doorbell_take(
		&home->doorbell, TRIP_BELL_CHANNEL, rung, home->shape.n_channels);

	home->accept.n_sweep = 0;
	for (unsigned int i = 0; i < n; i++) {
		struct trip_channel_home *channel = &home->channels[rung[i]];
		uint32_t tail;

		home->scrub.channels[rung[i]] = false;
		if (trip_drop_has(home, rung[i]))
			continue;
		tail = trip_channel_pending_tail(channel);
		note_depth(home, channel, tail);
		if (trip_channel_pending(channel, tail))
			home->accept.sweep[home->accept.n_sweep++] =
				(struct trip_sweep_channel){.channel = rung[i], .tail = tail};
		if (!home->accept.canceling[rung[i]] && trip_channel_canceling(channel)) {
			home->accept.canceling[rung[i]] = true;
			home->n_canceling++;
		}
	}
}

/* The counter is one of ours, or our clock. */
static inline bool
is_trigger(const struct trip_home *home, uint32_t cntr, uint32_t *local)
{
	if (likely(trip_engine_has_cntr(home->engine, cntr)))
		return trip_engine_home(home->engine, cntr, local) == home;
	*local = home->shape.n_cntrs;
	return cntr == trip_clock_global(home);
}

/* What items that come in a run have in common: operation and objects. */
struct kind {
	const struct trip_op_row *op;
	uint32_t trigger, target, completion;
	/* Local index of the triggering counter. */
	uint32_t cntr;
};

/* Each object is one of the domain. */
static bool
is_kind(const struct trip_home *home, const struct trip_work_desc *desc, struct kind *kind)
{
	const struct trip_engine *engine = home->engine;
	const struct trip_op_row *op = trip_op_of(desc->op);

	kind->op = NULL;
	if (!is_trigger(home, desc->trigger, &kind->cntr))
		return false;
	/* An unknown operation has no targets. */
	if (desc->target >= trip_op_targets(engine, op->target))
		return false;
	if (desc->completion != TRIP_NONE &&
		(op->counts || !trip_engine_has_cntr(engine, desc->completion)))
		return false;
	kind->op = op;
	kind->trigger = desc->trigger;
	kind->target = desc->target;
	kind->completion = desc->completion;
	return true;
}

/* Each number is within its limit, and each object one of the domain. That is known of one of the
 * same kind as the last valid one, as most are. `kind` has no operation where there was none. */
static inline bool
is_valid(const struct trip_home *home, const struct trip_work_desc *desc, struct kind *kind)
{
	/* Who has no value has 0. */
	if ((desc->threshold | desc->interval | desc->value) > TRIP_CNTR_MAX)
		return false;
	if (likely(kind->op == trip_op_of(desc->op) && kind->trigger == desc->trigger &&
		    kind->target == desc->target && kind->completion == desc->completion))
		return true;
	return is_kind(home, desc, kind);
}

unsigned int
trip_accept_deferred(struct trip_home *home, uint32_t cntr_index, unsigned int budget)
{
	struct trip_home_cntr *cntr = &home->cntrs[cntr_index];
	unsigned int done = 0;

	for (; cntr->deferred != TRIP_NONE && done < budget; done++) {
		uint32_t index = cntr->deferred;

		if (!trip_due_queue(home, cntr_index, home->nodes[index].threshold, index))
			break;
		trip_node_undefer(home, index);
		home->nodes[index].queued = true;
	}
	return done;
}

void
trip_accept_remove(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];

	if (node->queued) {
		trip_pending_cancel(&home->pool, &home->cntrs[node->cntr].pending, index);
		trip_due_dropped(home, node->cntr, node->threshold);
	}
	if (node->deferred)
		trip_node_undefer(home, index);
}

static void
refuse(struct trip_home *home, uint32_t channel_index, uint32_t slot, uint64_t generation)
{
	struct trip_channel_home *channel = &home->channels[channel_index];

	trip_engine_stat(&home->stats.refused, 1);
	channel->garbage++;
	(void)trip_channel_claim(channel, slot, generation);
	trip_channel_return(channel, slot);
}

_Static_assert(
	(TRIP_CNTR_MAX & (TRIP_CNTR_MAX + 1)) == 0, "numbers are within it if their union is");

/* The node of an item that is valid, which has nothing beside it yet. */
static __rte_always_inline uint32_t
enter(struct trip_home *home, uint32_t channel, uint32_t slot, uint64_t generation,
	const struct trip_op_row *op, const struct trip_work_desc *desc, uint32_t cntr)
{
	uint32_t index = trip_node_take(home, channel, slot);

	home->nodes[index] = (struct trip_node){
		.threshold = desc->threshold,
		.interval = desc->interval,
		.context = desc->context,
		.value = desc->value,
		.generation = generation,
		.channel = channel,
		.op = desc->op,
		.flags = desc->flags,
		.many = op->fire_many != NULL && desc->interval == 0 &&
			(desc->flags & TRIP_WORK_COMPLETION) == 0,
		.target = desc->target,
		.completion = desc->completion,
		.cntr = cntr,
	};
	trip_node_queue(home, index);
	trip_due_touch(home, cntr);
	trip_engine_stat(&home->stats.accepted, 1);
	return index;
}

/* Out of line: items that have nothing more do nothing for it. */
static __attribute__((noinline)) void
enter_with_more(struct trip_home *home, uint32_t channel, uint32_t slot, uint64_t generation,
	const struct trip_work_desc *desc, uint32_t cntr)
{
	const struct trip_op_row *op = trip_op_of(desc->op);
	struct trip_node *node;
	uint32_t index, first;

	if (!trip_more_take(home, channel, op, desc, &first)) {
		refuse(home, channel, slot, generation);
		return;
	}
	index = enter(home, channel, slot, generation, op, desc, cntr);
	node = &home->nodes[index];
	node->many = false;
	node->has_more = true;
	node->more = first;
	/* In this order: its end is found behind its condition, which has to be known as one. */
	if (desc->condition != 0)
		trip_condition_begin(home, index, desc->condition_kind);
	if (desc->end != 0)
		trip_lasting_begin(home, index);
}

static inline void
accept_one(struct trip_home *home, uint32_t channel, uint32_t slot, struct kind *kind)
{
	struct trip_work_desc desc;
	uint64_t generation = trip_channel_read(&home->channels[channel], slot, &desc);

	if (!is_valid(home, &desc, kind))
		refuse(home, channel, slot, generation);
	else if (unlikely((kind->op->operands | desc.condition | desc.end) != 0 ||
			  (kind->op->has_time && desc.value != 0)))
		enter_with_more(home, channel, slot, generation, &desc, kind->cntr);
	else
		(void)enter(home, channel, slot, generation, kind->op, &desc, kind->cntr);
}

/* Accepts from the last channel of the sweep. What was canceled already and what is garbage are
 * things done, too: 0 would say that the home is idle. */
static unsigned int
accept_batch(struct trip_home *home)
{
	const struct trip_sweep_channel *at = &home->accept.sweep[home->accept.n_sweep - 1];
	struct trip_channel_home *channel = &home->channels[at->channel];
	struct kind kind = {0};
	uint32_t slots[BATCH];
	int n = trip_channel_accept(channel, at->tail, slots, BATCH);

	if (n < 0) {
		/* The client's index is garbage: nothing more of it can be found. */
		trip_engine_stat(&home->stats.refused, 1);
		home->accept.n_sweep--;
		return 1;
	}
	for (int i = 0; i < n; i++)
		accept_one(home, at->channel, slots[i], &kind);
	if (!trip_channel_pending(channel, at->tail))
		home->accept.n_sweep--;
	return n > 0 ? (unsigned int)n : 1;
}

unsigned int
trip_accept_sweep(struct trip_home *home, unsigned int budget)
{
	unsigned int done = 0;

	for (unsigned int looked = 0; home->accept.n_sweep > 0 && looked < budget; looked += BATCH)
		done += accept_batch(home);
	return done;
}

void
trip_accept_forget(struct trip_home *home, uint32_t channel)
{
	for (uint32_t i = home->accept.n_sweep; i > 0; i--)
		if (home->accept.sweep[i - 1].channel == channel)
			home->accept.sweep[i - 1] = home->accept.sweep[--home->accept.n_sweep];
	if (home->accept.canceling[channel])
		home->n_canceling--;
	home->accept.canceling[channel] = false;
}

/* It is never queued: which sample it were to be measured by no sweep says. */
static void
fail_one(struct trip_home *home, uint32_t channel, uint32_t slot)
{
	struct trip_work_desc desc;
	uint64_t generation = trip_channel_read(&home->channels[channel], slot, &desc);
	struct kind kind = {0};
	uint32_t more;

	if (!is_valid(home, &desc, &kind) ||
		!trip_more_take(home, channel, kind.op, &desc, &more)) {
		refuse(home, channel, slot, generation);
		return;
	}
	if (trip_channel_claim(&home->channels[channel], slot, generation))
		trip_fire_fail(home, desc.op, desc.target, desc.completion);
	trip_node_return_more(home, channel, more);
	trip_channel_return(&home->channels[channel], slot);
	trip_engine_stat(&home->stats.accepted, 1);
	trip_engine_stat(&home->stats.canceled, 1);
}

bool
trip_accept_fail(struct trip_home *home, uint32_t channel, unsigned int budget)
{
	struct trip_channel_home *from = &home->channels[channel];
	uint32_t slots[BATCH], tail = trip_channel_pending_tail(from);

	for (unsigned int looked = 0; looked < budget; looked += BATCH) {
		int n = trip_channel_accept(from, tail, slots, BATCH);

		for (int i = 0; i < n; i++)
			fail_one(home, channel, slots[i]);
		/* Of garbage, nothing more can be found. */
		if (n < 0 || !trip_channel_pending(from, tail))
			return false;
	}
	return true;
}

static unsigned int
cancel_batch(struct trip_home *home, uint32_t channel)
{
	uint32_t slots[BATCH];
	unsigned int n = trip_channel_take_canceled(&home->channels[channel], slots, BATCH),
		     cut = 0;

	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(&home->nodes[trip_node_of(home, channel, slots[i])]);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t index = trip_node_of(home, channel, slots[i]);

		cut += trip_lasting_is_over(home, trip_node_end(home, &home->nodes[index]));
		trip_accept_remove(home, index);
		trip_node_drop(home, index);
	}
	trip_engine_stat(&home->stats.canceled, n - cut);
	trip_engine_stat(&home->stats.cut, cut);
	return n;
}

unsigned int
trip_accept_canceled(struct trip_home *home, unsigned int budget)
{
	unsigned int done = 0;

	for (uint32_t i = 0; home->n_canceling > 0 && i < home->shape.n_channels; i++) {
		if (!home->accept.canceling[i])
			continue;
		for (unsigned int looked = 0; looked < budget; looked += BATCH)
			done += cancel_batch(home, i);
		if (!trip_channel_canceling(&home->channels[i])) {
			home->accept.canceling[i] = false;
			home->n_canceling--;
		}
	}
	return done;
}
