/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on counters. */
#include "cell.h"
#include "due.h"
#include "engine.h"
#include "op.h"

static uint64_t
saturating_add(uint64_t sum, uint64_t value)
{
	return value > TRIP_CNTR_MAX - sum ? TRIP_CNTR_MAX : sum + value;
}

static enum trip_op_outcome
fire_add(struct trip_home *home, const struct trip_node *item, struct trip_work_event *event)
{
	/* A coalesced firing stands for `count` of them; saturates as they would. */
	uint64_t value = item->value;

	if (event->count > 1)
		value = value > TRIP_CNTR_MAX / event->count ? TRIP_CNTR_MAX : value * event->count;
	trip_due_add(home->engine, item->target, value);
	return TRIP_OP_ENDED;
}

/* Nobody could have seen the sum between two of them that follow each other. */
static void
fire_adds(struct trip_home *home, const uint32_t *nodes, unsigned int n)
{
	for (unsigned int i = 0; i < n;) {
		uint32_t target = home->nodes[nodes[i]].target;
		uint64_t sum = 0;

		for (; i < n && home->nodes[nodes[i]].target == target; i++)
			sum = saturating_add(sum, home->nodes[nodes[i]].value);
		trip_due_add(home->engine, target, sum);
	}
}

static enum trip_op_outcome
fire_set(struct trip_home *home, const struct trip_node *item, struct trip_work_event *event)
{
	if (trip_cell_set(trip_engine_cell(home->engine, item->target), item->value))
		trip_due_ring(home->engine, item->target);
	return TRIP_OP_ENDED;
}

const struct trip_op_row trip_op_cntr_add = {
	.name = "add",
	.target = TRIP_OP_ON_CNTR,
	.has_value = true,
	.counts = true,
	.fire = fire_add,
	.fire_many = fire_adds,
};

const struct trip_op_row trip_op_cntr_set = {
	.name = "set",
	.target = TRIP_OP_ON_CNTR,
	.has_value = true,
	.counts = true,
	.fire = fire_set,
};
