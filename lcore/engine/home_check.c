/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for a home between two iterations. */
#include <stdio.h>

#include "drop.h"
#include "condition.h"
#include "home.h"
#include "node.h"
#include "waiter.h"

struct checker {
	void (*report)(void *arg, const char *sentence);
	void *arg;
	uint32_t home;
	unsigned int broken;
};

static void
expect(struct checker *checker, const char *broken, uint32_t index)
{
	char sentence[256];

	if (broken == NULL)
		return;
	snprintf(sentence, sizeof(sentence), "home %u, index %u: %s", checker->home, index, broken);
	checker->report(checker->arg, sentence);
	checker->broken++;
}

static void
check_deferred(struct checker *checker, struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	uint32_t prev = TRIP_NONE;

	if (cntr->deferred != TRIP_NONE && cntr->due != TRIP_DUE_FIRING &&
		!(cntr->due == TRIP_DUE_SWEPT && cntr->stale))
		expect(checker, "items are deferred, but nothing they wait for is under way",
			index);
	for (uint32_t i = cntr->deferred; i != TRIP_NONE; i = home->nodes[i].next_deferred) {
		const struct trip_node *node = &home->nodes[i];

		if (!node->deferred || node->queued || node->cntr != index ||
			(prev != TRIP_NONE && node->prev_deferred != prev))
			expect(checker, "the list of deferred items is broken", index);
		prev = i;
	}
	if (prev != TRIP_NONE && home->nodes[cntr->deferred].prev_deferred != prev)
		expect(checker, "the first deferred item does not know the last", index);
}

/* Those of a counter, or with TRIP_NONE those that are to be looked at; how many. */
static uint32_t
check_conditions(struct checker *checker, struct trip_home *home, uint32_t first, uint32_t cntr)
{
	uint32_t at = first, n = 0;

	if (first == TRIP_NONE)
		return 0;
	do {
		const struct trip_node *node = &home->nodes[at];

		if (!trip_node_is_condition(node) ||
			home->nodes[node->condition.next].condition.prev != at ||
			(cntr != TRIP_NONE && home->nodes[node->condition.item].cntr != cntr)) {
			expect(checker, "a list of conditions is broken", cntr);
			break;
		}
		at = node->condition.next;
	} while (++n < home->n_nodes && at != first);
	return n;
}

static void
check_hot(struct checker *checker, struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	const struct trip_hot *hot = &home->hot.places[cntr->hot - 1];

	if (cntr->hot > home->n_hot || hot->cntr != index)
		expect(checker, "it is hot, but polled at no place", index);
	else if (trip_due_has_settled(home, index) &&
		 hot->bound > trip_pending_bound(&home->pool, &cntr->pending))
		expect(checker, "it is polled for a sum above its next threshold", index);
	if (cntr->due == TRIP_DUE_NONE && atomic_load(&home->cells[index].armed) != 0)
		expect(checker, "it is polled, but its cell is armed", index);
}

static void
check_cntr(struct checker *checker, struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	uint32_t waiters = 0, watchers = 0;

	for (uint32_t i = cntr->waiters; i != TRIP_NONE; i = home->waiter_nodes[i].next) {
		const struct trip_waiter_node *node = &home->waiter_nodes[i];

		waiters++;
		watchers += node->threshold == TRIP_WAITER_ANY;
		if (node->cntr != index || node->word == 0)
			expect(checker, "a waiter in the list waits for something else", index);
	}
	if (watchers != cntr->watchers)
		expect(checker, "the number of watchers is not that of the list", index);
	check_deferred(checker, home, index);
	if (cntr->hot != 0)
		check_hot(checker, home, index);
	else if (trip_due_has_settled(home, index) &&
		 (waiters > 0 || trip_pending_count(&cntr->pending) > 0) &&
		 (atomic_load(&home->cells[index].armed) == 0 ||
			 (home->armed[index / 64] >> index % 64 & 1) == 0))
		expect(checker, "somebody waits, but the cell is not armed", index);
	expect(checker, trip_cell_check(&home->cells[index]), index);
	expect(checker, trip_pending_check(&home->pool, &cntr->pending), index);
}

/* What an item that waits has beside its own slot. */
static void
check_beside(struct checker *checker, struct trip_home *home, uint32_t channel, uint32_t index)
{
	uint32_t slot = index - trip_node_first(home, &home->channels[channel]);

	if (slot >= home->channels[channel].map.slots ||
		!trip_channel_has_operands(&home->channels[channel], slot))
		expect(checker, "an item waits, and a slot beside its own has been returned", slot);
}

/* How many slots it is to have. */
static uint32_t
slots_beside(
	const struct trip_home *home, const struct trip_node *node, const struct trip_node *more)
{
	uint32_t n =
		(trip_op_of(node->op)->operands != 0) + (trip_node_end(home, node) != TRIP_NONE);

	return trip_node_is_condition(more) ? 1 + n + trip_condition_of(more->flags)->memory : n;
}

/* How many it has. */
static uint32_t
check_more(struct checker *checker, struct trip_home *home, const struct trip_node *node)
{
	const struct trip_node *more = &home->nodes[node->more];
	uint32_t n = 0, end = trip_node_end(home, node);

	if (!node->has_more)
		return 0;
	if (end != TRIP_NONE && &home->nodes[home->nodes[end].end.item] != node)
		expect(checker, "the end of an item is another's", end);
	if (trip_node_is_condition(more) && &home->nodes[more->condition.item] != node)
		expect(checker, "the condition of an item is another's", node->more);
	for (uint32_t at = node->more; at != TRIP_NONE && n <= TRIP_CHANNEL_MORE;
		at = home->nodes[at].more, n++)
		check_beside(checker, home, node->channel, at);
	if (n != slots_beside(home, node, more))
		expect(checker, "an item has other slots than it should", n);
	return n;
}

/* An item waits, or has a condition that decides when it does, or an end. */
static bool
is_waiting(
	const struct trip_home *home, const struct trip_node *node, uint32_t channel, uint32_t slot)
{
	const struct trip_channel_home *from = &home->channels[channel];

	/* What its node says is in part of the item that was there last. */
	if (trip_channel_has_operands(from, slot))
		return false;
	return node->queued || node->deferred ||
	       (trip_channel_held(from, slot) && (trip_node_has_condition(home, node) ||
							 trip_node_end(home, node) != TRIP_NONE));
}

/* Each item that was to fire is still, or has fired, or was canceled. */
static void
check_works(struct checker *checker, const struct trip_home *home)
{
	const struct trip_home_stats *stats = &home->stats;
	uint64_t begun =
		trip_engine_stat_read(&stats->accepted) + trip_engine_stat_read(&stats->rearmed);
	uint64_t ended =
		trip_engine_stat_read(&stats->fired) + trip_engine_stat_read(&stats->canceled);
	uint64_t left =
		trip_engine_stat_read(&stats->pending) - trip_engine_stat_read(&stats->lasting);
	struct trip_spread_copy firings = {0};

	trip_spread_copy(&home->spreads[TRIP_HOME_FIRING], &firings);
	if (trip_spread_count(&firings) != trip_engine_stat_read(&stats->fired))
		expect(checker, "its histogram has other firings than it counts",
			(uint32_t)trip_spread_count(&firings));
	if (begun != ended + left)
		expect(checker, "items were accepted and have neither fired nor been canceled",
			(uint32_t)(begun - ended - left));
}

static void
check_nodes(struct checker *checker, struct trip_home *home)
{
	uint32_t listed = check_conditions(checker, home, home->looks, TRIP_NONE);
	uint64_t used = 0;

	for (uint32_t i = 0; i < trip_home_cntrs(&home->shape); i++)
		listed += check_conditions(checker, home, home->cntrs[i].conditions, i);
	for (uint32_t c = 0; c < home->shape.n_channels; c++) {
		uint32_t slots = trip_home_channel_slots(&home->shape, c), operands = 0;

		expect(checker, trip_channel_check(&home->channels[c]), c);
		for (uint32_t s = 0; s < slots; s++) {
			const struct trip_node *node = &home->nodes[trip_node_of(home, c, s)];

			if (!is_waiting(home, node, c, s))
				continue;
			used++;
			operands += check_more(checker, home, node);
			listed -= trip_node_has_condition(home, node);
			if (node->channel != c)
				expect(checker, "the node of a slot belongs to another slot", s);
			if (!trip_channel_held(&home->channels[c], s))
				expect(checker, "an item waits whose slot has been returned", s);
		}
		for (uint32_t s = 0; s < slots; s++)
			operands -= trip_channel_has_operands(&home->channels[c], s);
		if (operands != 0)
			expect(checker, "slots have operands, but of no item", c);
	}
	if (used != atomic_load(&home->stats.pending))
		expect(checker, "the items that wait are not as many as it says", (uint32_t)used);
	check_works(checker, home);
	if (listed != 0)
		expect(checker, "the conditions in lists are not those of the items that wait",
			listed);
}

/* What a sweep has noted of a channel is what its client has submitted. */
static void
check_sweep(struct checker *checker, struct trip_home *home)
{
	bool swept[TRIP_CHANNELS_MAX] = {false};

	for (uint32_t i = 0; i < home->accept.n_sweep; i++) {
		uint32_t channel = home->accept.sweep[i].channel;
		const struct trip_ring_end *ring = &home->channels[channel].submit;

		if (swept[channel])
			expect(checker, "the channel stands in the sweep twice", channel);
		if (trip_drop_has(home, channel))
			expect(checker, "the channel is being dropped, and in the sweep", channel);
		if (home->accept.sweep[i].tail - ring->here > trip_ring_tail(ring) - ring->here)
			expect(checker, "the sweep goes beyond what was submitted", channel);
		swept[channel] = true;
	}
}

static void
check_channels(struct checker *checker, struct trip_home *home)
{
	uint32_t canceling = 0, drops = 0;

	for (uint32_t c = 0; c < home->shape.n_channels; c++) {
		canceling += home->accept.canceling[c];
		if (home->accept.canceling[c] && trip_drop_has(home, c))
			expect(checker, "the channel is being dropped, and canceled from", c);
	}
	for (uint32_t i = 0; i < home->shape.n_clients; i++)
		drops += home->drops[i].under_way;
	if (canceling != home->n_canceling)
		expect(checker, "the channels to cancel from are not as many as it says",
			canceling);
	if (drops != home->n_drops)
		expect(checker, "the clients to drop are not as many as it says", drops);
	check_sweep(checker, home);
}

unsigned int
trip_home_check(struct trip_home *home, void (*report)(void *arg, const char *sentence), void *arg)
{
	struct checker checker = {.report = report, .arg = arg, .home = home->index};

	for (uint32_t i = 0; i < trip_home_cntrs(&home->shape); i++)
		check_cntr(&checker, home, i);
	for (uint32_t i = 0; i < home->n_hot; i++)
		if (home->cntrs[home->hot.places[i].cntr].hot != i + 1)
			expect(&checker, "a place of the hot ones is no counter's", i);
	check_nodes(&checker, home);
	check_channels(&checker, home);
	expect(&checker, trip_doorbell_check(&home->doorbell), 0);
	for (uint32_t i = 0; i <= home->shape.n_clients; i++)
		expect(&checker, trip_event_ring_check(&home->events[i]), i);
	return checker.broken;
}
