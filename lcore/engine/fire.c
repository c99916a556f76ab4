/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation never recurses: what it makes due rings a doorbell and has its turn in a later
 * round, so a cyclic chain keeps a home busy but never one iteration (WORK-12).
 *
 * Before its operation starts, a one-shot item has given its slot back, and the slot of an interval
 * item says that it is queued. So whoever sees an effect of the operation finds the item gone or
 * cancelable already, and a function can cancel the interval item that calls it. The home has it in
 * the pending set again behind the operation, whose effect somebody may be waiting for.
 */
#include <assert.h>
#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "clock.h"
#include "condition.h"
#include "due.h"
#include "errand.h"
#include "fire.h"
#include "glance.h"
#include "home.h"
#include "lasting.h"
#include "node.h"
#include "op.h"

/* Ports whose errands are settled in one iteration. */
#define SETTLE_BATCH 4
/* Nodes before a condition when what a glance at it touches is fetched. */
#define GLANCES_AHEAD 6

/* Once in each of the two ways of an item: with more than its slot, and without. */
#define IN_BOTH_WAYS static inline __attribute__((always_inline))

/* How many intervals this firing stands for: 1, or where they coalesce all that the sample covers.
 * With errors that may be above the largest threshold, which none of them passes. */
IN_BOTH_WAYS uint64_t
firing_count(const struct trip_node *item, uint64_t sum)
{
	if ((item->flags & TRIP_WORK_COALESCE) == 0 || item->interval == 0 ||
		sum <= item->threshold)
		return 1;
	return (trip_cell_clamp(sum) - item->threshold) / item->interval + 1;
}

/*
 * Takes the firing: false where the item was canceled. Its slot has then been given back, or is on
 * its way by the channel's canceled doorbell, as channel.h has it. One with `more` to come goes on:
 * it ends where threshold + interval would pass the largest value. One that `lasts` goes on, too.
 */
IN_BOTH_WAYS bool
take(struct trip_home *home, uint32_t index, uint64_t reached, bool lasts, bool *more)
{
	const struct trip_node *node = &home->nodes[index];
	struct trip_channel_home *channel = &home->channels[node->channel];
	uint32_t slot = index - trip_node_first(home, channel);
	bool claimed;

	*more = node->interval != 0 && reached <= TRIP_CNTR_MAX - node->interval &&
		trip_channel_queued(channel, slot, node->generation);
	if (*more)
		return true;
	if (unlikely(lasts))
		return trip_channel_queued(channel, slot, node->generation);
	claimed = trip_channel_claim(channel, slot, node->generation);
	if (!claimed)
		trip_engine_stat(&home->stats.canceled, 1);
	trip_node_drop(home, index);
	return claimed;
}

/* An interval item that goes on. Its slot has said all the time that it is queued, and whoever took
 * it back meanwhile has rung for the home to come by here. */
IN_BOTH_WAYS void
queue_again(struct trip_home *home, uint32_t index, uint64_t threshold)
{
	struct trip_node *node = &home->nodes[index];
	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];

	node->threshold = threshold;
	trip_engine_stat(&home->stats.rearmed, 1);
	/* A condition is no jump. */
	if (threshold > cntr->pending.sample || unlikely(home->holds == index)) {
		trip_node_queue(home, index);
		return;
	}
	/* A further firing of the jump under way, whatever was set since (WORK-13). */
	node->queued = true;
	trip_pending_insert(&home->pool, &cntr->pending, threshold, index);
}

void
trip_fire_complete(const struct trip_engine *engine, uint32_t completion, int result)
{
	struct trip_cell *cell;

	if (completion == TRIP_NONE)
		return;
	cell = trip_home_cell(engine, completion);
	if (result == 0 ? trip_cell_add(cell, 1) : trip_cell_adderr(cell, 1))
		trip_due_ring(engine, completion);
}

void
trip_fire_fail(struct trip_home *home, uint8_t op, uint32_t target, uint32_t completion)
{
	uint32_t told = trip_op_of(op)->counts ? target : completion;

	if (told != TRIP_NONE && !trip_home_is_hidden(home->engine, told))
		trip_fire_complete(home->engine, told, -ECANCELED);
}

/* The ring of events of the process that queued an item. */
IN_BOTH_WAYS uint16_t
ring_of(const struct trip_home *home, uint32_t channel)
{
	uint32_t client = trip_home_client_of(&home->shape, channel);

	return client == TRIP_NONE ? 0 : (uint16_t)(1 + client);
}

IN_BOTH_WAYS void
tell(struct trip_home *home, uint8_t flags, const struct trip_event *event)
{
	if ((flags & TRIP_WORK_COMPLETION) != 0)
		trip_engine_stat(trip_event_ring_push(&home->events[event->ring], event)
					 ? &home->stats.events_told
					 : &home->stats.events_lost,
			1);
}

void
trip_fire_end(struct trip_home *home, const struct trip_node *item, uint64_t begun,
	struct trip_event *event)
{
	event->ring = ring_of(home, item->channel);
	if (trip_op_of(item->op)->end(home, item, begun, event) == TRIP_OP_ENDED)
		tell(home, (uint8_t)item->flags, event);
}

unsigned int
trip_fire_settle(struct trip_home *home)
{
	uint32_t ports[SETTLE_BATCH];
	unsigned int done = 0,
		     n = trip_doorbell_take(&home->doorbell, TRIP_BELL_HARD, ports, SETTLE_BATCH);

	for (unsigned int i = 0; i < n; i++) {
		struct trip_errand_desk *desk = trip_engine_desk(home->engine, ports[i]);
		const struct trip_errand *errand;

		home->scrub.ports[ports[i]] = false;
		/* As many as its ring holds, at most. */
		for (; desk != NULL &&
			(errand = trip_errand_back(&desk->rings[home->index])) != NULL;
			done++) {
			if (errand->event.result != 0)
				trip_engine_stat(&home->stats.failed, 1);
			tell(home, errand->flags, &errand->event);
			if (unlikely(errand->lasts))
				trip_lasting_told(home, errand, ports[i]);
			trip_errand_settle(&desk->rings[home->index]);
		}
	}
	return done;
}

/* Of an item that is none of the clock's: how late that is, is no count of anything. */
static inline void
note_overshoot(struct trip_home *home, uint64_t overshoot)
{
	trip_engine_stat_most(&home->stats.worst_overshoot, overshoot);
	trip_spread_add(&home->spreads[TRIP_HOME_OVERSHOOT], overshoot, 1);
}

/* Ticks that what fires of a counter by then has been due. */
IN_BOTH_WAYS uint64_t
waited(const struct trip_home_cntr *cntr, uint64_t tsc)
{
	/* Nothing has happened to what was due from the beginning. */
	return cntr->since_tsc != 0 && tsc > cntr->since_tsc ? tsc - cntr->since_tsc : 0;
}

/* Where nobody looks at when it was: reading the clock takes as long as the rest. */
IN_BOTH_WAYS uint64_t
fires_at(struct trip_home *home)
{
	if (home->fires_tsc == 0)
		home->fires_tsc = trip_home_clock(home);
	return home->fires_tsc;
}

IN_BOTH_WAYS void
fire_item(struct trip_home *home, uint32_t index, bool lasts)
{
	struct trip_node *node = &home->nodes[index];
	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];
	/* The node may be another item's by the time the operation runs. */
	const struct trip_node item = *node;
	uint64_t sum = home->holds == index ? item.threshold : cntr->pending.sample;
	union trip_event_shown told = {
		.own = {.size = sizeof(told.shown),
			.event = {
				.id = trip_node_id(home, index, item.generation),
				.context = item.context,
				.value = sum,
				.count = firing_count(&item, sum),
				.op_type = item.op,
			}}};
	struct trip_event *event = &told.own.event;
	const struct trip_op_row *op = trip_op_of(item.op);
	enum trip_op_outcome outcome;
	uint64_t ticks;
	bool shows, more;

	assert(sum >= item.threshold);
	/* Where somebody waits for it, it is his again soon after it has come. */
	if (item.completion != TRIP_NONE)
		__builtin_prefetch(trip_home_cell(home->engine, item.completion), 1);
	node->queued = false;
	event->threshold = item.threshold + (event->count - 1) * item.interval;
	if (!take(home, index, event->threshold, lasts, &more))
		return;
	if (more || lasts)
		event->flags |= TRIP_WORK_MORE;
	if ((item.flags & TRIP_WORK_COMPLETION) != 0) {
		event->ring = ring_of(home, item.channel);
		event->one_shot = item.interval == 0 && !lasts;
	}
	shows = op->shows_event || (item.flags & TRIP_WORK_COMPLETION) != 0;
	ticks = waited(cntr, shows ? trip_home_clock(home) : fires_at(home));
	if (shows)
		event->latency_ns = trip_engine_ns(home->engine, ticks);
	trip_spread_add(&home->spreads[TRIP_HOME_FIRING], ticks, 1);
	if (home->holds != index && !trip_clock_is(home, item.cntr))
		note_overshoot(home, sum - event->threshold);
	outcome = op->fire(home, &item, event);
	if (unlikely(lasts))
		trip_lasting_fired(home, index, event, more);
	trip_engine_stat(&home->stats.fired, 1);
	if (outcome == TRIP_OP_ENDED) {
		if (unlikely(event->result != 0))
			trip_engine_stat(&home->stats.failed, 1);
		trip_fire_complete(home->engine, item.completion, event->result);
		tell(home, (uint8_t)item.flags, event);
	}
	if (more)
		queue_again(home, index, event->threshold + item.interval);
}

/* Out of line: items that have nothing more do nothing for it. */
static __attribute__((noinline)) void
fire_with_more(struct trip_home *home, uint32_t index)
{
	fire_item(home, index, trip_node_end(home, &home->nodes[index]) != TRIP_NONE);
}

static void
fire_one(struct trip_home *home, uint32_t index)
{
	if (unlikely(home->nodes[index].has_more))
		fire_with_more(home, index);
	else
		fire_item(home, index, false);
}

/* Takes out of the nodes those that were canceled; how many are left to fire. */
static unsigned int
claim(struct trip_home *home, struct trip_channel_home *channel, const uint32_t *nodes,
	unsigned int n, uint32_t *claimed)
{
	uint32_t first = trip_node_first(home, channel);
	unsigned int count = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct trip_node *node = &home->nodes[nodes[i]];

		claimed[count] = nodes[i];
		count += trip_channel_claim(channel, nodes[i] - first, node->generation);
	}
	return count;
}

/* Items of one counter that fire together. */
static void
note_run(struct trip_home *home, const struct trip_home_cntr *cntr, const uint32_t *nodes,
	unsigned int n)
{
	struct trip_spread *spread = &home->spreads[TRIP_HOME_OVERSHOOT];
	uint64_t sum = cntr->pending.sample, most = 0, all = 0;

	trip_spread_add(&home->spreads[TRIP_HOME_FIRING], waited(cntr, fires_at(home)), n);
	if (trip_clock_is(home, home->nodes[nodes[0]].cntr))
		return;
	for (unsigned int i = 0; i < n; i++) {
		uint64_t overshoot = sum - home->nodes[nodes[i]].threshold;

		assert(sum >= home->nodes[nodes[i]].threshold);
		trip_spread_more(&spread->buckets[trip_spread_bucket(overshoot)], 1);
		most = RTE_MAX(most, overshoot);
		all += overshoot;
	}
	trip_spread_more(&spread->sum, all);
	trip_engine_stat_most(&home->stats.worst_overshoot, most);
}

/* They come counter by counter. */
static void
note_many(struct trip_home *home, const uint32_t *nodes, unsigned int n)
{
	for (unsigned int i = 0, end; i < n; i = end) {
		uint32_t cntr = home->nodes[nodes[i]].cntr;

		for (end = i + 1; end < n && home->nodes[nodes[end]].cntr == cntr; end++)
			;
		note_run(home, &home->cntrs[cntr], &nodes[i], end - i);
	}
}

/*
 * Items of one channel and one operation go step by step together: all are claimed, then all have
 * given their slots back, then all fire. The nodes are this home's until it accepts again, whoever
 * has their slots.
 */
static void
fire_many(struct trip_home *home, const uint32_t *nodes, unsigned int n)
{
	struct trip_channel_home *channel = &home->channels[home->nodes[nodes[0]].channel];
	uint32_t claimed[TRIP_FIRE_BATCH];
	unsigned int count = claim(home, channel, nodes, n, claimed);

	trip_node_drop_many(home, channel, nodes, n);
	if (count < n)
		trip_engine_stat(&home->stats.canceled, n - count);
	if (count == 0)
		return;
	note_many(home, claimed, count);
	trip_op_of(home->nodes[claimed[0]].op)->fire_many(home, claimed, count);
	trip_engine_stat(&home->stats.fired, count);
}

static void
prefetch_glance(const struct trip_home *home, uint32_t index)
{
	const struct trip_node *node = &home->nodes[index];

	if (trip_glance_may(node))
		trip_glance_prefetch(home, node);
}

void
trip_fire(struct trip_home *home, const uint32_t *nodes, unsigned int n)
{
	home->fires_tsc = 0;
	for (unsigned int i = 0, end; i < n; i = end) {
		const struct trip_node *node = &home->nodes[nodes[i]], *next;

		end = i + 1;
		if (!node->many) {
			if (unlikely(node->has_more) && i + GLANCES_AHEAD < n)
				prefetch_glance(home, nodes[i + GLANCES_AHEAD]);
			if (likely(!node->has_more) ||
				(!trip_lasting_reached(home, nodes[i]) &&
					trip_condition_fires(home, nodes[i])))
				fire_one(home, nodes[i]);
			continue;
		}
		for (; end < n; end++) {
			next = &home->nodes[nodes[end]];
			if (!next->many || next->channel != node->channel || next->op != node->op)
				break;
		}
		fire_many(home, &nodes[i], end - i);
	}
}
