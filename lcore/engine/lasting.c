/* SPDX-License-Identifier: BSD-3-Clause */
/* What has begun and is to end. lasting.h tells how. */
#include <rte_common.h>

#include "clock.h"
#include "due.h"
#include "errand.h"
#include "fire.h"
#include "home.h"
#include "lasting.h"
#include "node.h"
#include "op.h"

void
trip_lasting_begin(struct trip_home *home, uint32_t item)
{
	struct trip_node *node = &home->nodes[trip_node_end(home, &home->nodes[item])];

	/* All of it: what was in the node last may have been an item. */
	*node = (struct trip_node){
		.end.item = item,
		.has_more = true,
		.cntr = home->shape.n_cntrs,
		.more = node->more,
	};
}

static void
stand(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];

	node->queued = true;
	trip_pending_insert(&home->pool, &home->cntrs[node->cntr].pending,
		RTE_MIN(node->end.until, TRIP_PENDING_NONE - 1), index);
	trip_due_rearm(home, node->cntr);
}

/* Takes the end; false where the item was canceled, which the bell of its channel brings. */
static bool
take(struct trip_home *home, uint32_t index, struct trip_node *end)
{
	const struct trip_node *item = &home->nodes[index];
	struct trip_channel_home *channel = &home->channels[item->channel];
	uint32_t slot = index - trip_node_first(home, channel);

	if (!(end->end.over ? trip_channel_claim(channel, slot, item->generation)
			    : trip_channel_queued(channel, slot, item->generation)))
		return false;
	end->end.lasts = end->end.due = false;
	end->end.begun = 0;
	if (end->end.over)
		trip_node_drop(home, index);
	return true;
}

void
trip_lasting_fired(struct trip_home *home, uint32_t index, struct trip_event *event, bool more)
{
	const struct trip_node *item = &home->nodes[index];
	uint32_t end = trip_node_end(home, item);
	struct trip_node *node = &home->nodes[end];

	node->end.over = !more;
	trip_engine_stat(&home->stats.lasting, !more);
	if (event->result != 0) {
		if (!more && !node->end.lasts && take(home, index, node))
			event->flags &= ~TRIP_WORK_MORE;
		return;
	}
	node->end.lasts = true;
	node->end.due = false;
	node->end.threshold = event->threshold;
	node->end.value = event->value;
	if (!trip_op_of(item->op)->has_time || item->value == 0)
		return;
	/* A clock rounds down. */
	node->end.until = trip_clock_at(home, trip_home_clock(home)) + 1 + item->value;
	if (!node->queued)
		stand(home, end);
}

bool
trip_lasting_reached(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];

	if (!trip_node_is_end(node))
		return false;
	node->queued = false;
	if (node->end.until > home->cntrs[node->cntr].pending.sample)
		stand(home, index);
	else
		trip_lasting_end(home, node->end.item);
	return true;
}

void
trip_lasting_end(struct trip_home *home, uint32_t index)
{
	/* The nodes may be another item's by the time that it is undone. */
	struct trip_node item = home->nodes[index];
	struct trip_node *node = &home->nodes[trip_node_end(home, &item)];
	const struct trip_node end = *node;
	struct trip_event event = {
		.id = trip_node_id(home, index, item.generation),
		.context = item.context,
		.threshold = end.end.threshold,
		.value = end.end.value,
		.count = 1,
		.op_type = item.op,
		.flags = TRIP_WORK_END | (end.end.over ? 0 : TRIP_WORK_MORE),
	};

	if (!end.end.lasts)
		return;
	node->end.due = end.end.errands > 0;
	if (node->end.due || !take(home, index, node))
		return;
	item.completion = TRIP_NONE;
	trip_fire_end(home, &item, end.end.begun, &event);
}

void
trip_lasting_told(struct trip_home *home, const struct trip_errand *errand, uint32_t port)
{
	struct trip_node *node = errand->end != TRIP_NONE ? &home->nodes[errand->end] : NULL;

	if (errand->begun != 0)
		trip_op_flow_begun(
			home->engine, errand, port, node != NULL ? &node->end.begun : NULL);
	if (node != NULL && --node->end.errands == 0 && node->end.due)
		trip_lasting_end(home, node->end.item);
}

/* This node waits no more for what was sent to a port. */
static void
leave_errands(struct trip_errand_ring *ring, uint32_t end)
{
	struct trip_errand *errand;

	for (uint32_t i = 0; (errand = trip_errand_unsettled(ring, i)) != NULL; i++)
		if (errand->lasts && errand->end == end)
			errand->end = TRIP_NONE;
}

static void
leave_all_errands(struct trip_home *home, uint32_t end)
{
	for (uint32_t port = 0; port < TRIP_PORTS_MAX; port++) {
		struct trip_errand_desk *desk = trip_engine_desk(home->engine, port);

		if (desk != NULL)
			leave_errands(&desk->rings[home->index], end);
	}
}

bool
trip_lasting_is_over(const struct trip_home *home, uint32_t end)
{
	return end != TRIP_NONE && home->nodes[end].end.over;
}

void
trip_lasting_drop(struct trip_home *home, uint32_t index)
{
	struct trip_node item = home->nodes[index];
	uint32_t end = trip_node_end(home, &item);
	struct trip_node *node = &home->nodes[end];
	struct trip_event event = {.op_type = item.op};

	if (node->queued) {
		node->queued = false;
		trip_pending_cancel(&home->pool, &home->cntrs[node->cntr].pending, end);
		/* It may have been the next one. */
		trip_due_dropped(home, node->cntr, 0);
	}
	if (node->end.errands > 0)
		leave_all_errands(home, end);
	if (node->end.over)
		trip_engine_stat(&home->stats.lasting, UINT64_MAX);
	if (!node->end.lasts)
		return;
	node->end.lasts = false;
	item.completion = TRIP_NONE;
	item.flags = 0;
	trip_fire_end(home, &item, node->end.begun, &event);
}
