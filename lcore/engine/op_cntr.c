/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on counters. */
#include "cell.h"
#include "due.h"
#include "node.h"
#include "op.h"
#include "source.h"

static uint64_t
saturating_add(uint64_t sum, uint64_t value)
{
	return value > TRIP_CNTR_MAX - sum ? TRIP_CNTR_MAX : sum + value;
}

/* A coalesced firing stands for `count` of them; saturates as they would. */
static uint64_t
value_of(const struct trip_node *item, const struct trip_event *event)
{
	if (event->count > 1 && item->value > TRIP_CNTR_MAX / event->count)
		return TRIP_CNTR_MAX;
	return item->value * event->count;
}

static enum trip_op_outcome
fire_add(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	trip_home_add(home->engine, item->target, value_of(item, event));
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
		trip_home_add(home->engine, target, sum);
	}
}

/* By a clock that is fed, what was counted before the clock moved is in the sum before an item of
 * that moment changes it: two runs do the same, whenever the home has looked. Nothing that this
 * makes due is left: that fired before the clock moved. */
static void
gather_fed(struct trip_home *home, uint32_t target)
{
	uint32_t local;

	if (home->engine->base_tsc == TRIP_CLOCK_FED &&
		trip_engine_home(home->engine, target, &local) == home &&
		home->cntrs[local].sources != TRIP_NONE)
		(void)trip_source_fold(home, local);
}

static enum trip_op_outcome
fire_set(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	gather_fed(home, item->target);
	if (trip_cell_set(trip_home_cell(home->engine, item->target), item->value))
		trip_due_ring(home->engine, item->target);
	return TRIP_OP_ENDED;
}

static enum trip_op_outcome
fire_reset(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	uint64_t was;

	gather_fed(home, item->target);
	if (trip_cell_reset(trip_home_cell(home->engine, item->target), &was))
		trip_due_ring(home->engine, item->target);
	return TRIP_OP_ENDED;
}

static enum trip_op_outcome
fire_raise(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	if (trip_cell_fill(trip_home_cell(home->engine, item->target), TRIP_CNTR_MAX, item->value))
		trip_due_ring(home->engine, item->target);
	return TRIP_OP_ENDED;
}

/* What it has raised stays so: its end is for whoever is told. */
static enum trip_op_outcome
end_raise(struct trip_home *home, const struct trip_node *item, uint64_t begun,
	struct trip_event *event)
{
	return TRIP_OP_ENDED;
}

struct fill {
	uint64_t limit;
};

static bool
takes_fill(const struct trip_engine *engine, const struct trip_work_desc *desc,
	const void *operands, struct trip_op_refusal *refusal)
{
	const struct fill *fill = operands;

	*refusal = (struct trip_op_refusal){
		.operand = "limit", .value = fill->limit, .limit = TRIP_CNTR_MAX};
	return fill->limit <= TRIP_CNTR_MAX;
}

static enum trip_op_outcome
fire_fill(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	const struct fill *fill = trip_node_operands(home, item);

	if (trip_cell_fill(
		    trip_home_cell(home->engine, item->target), value_of(item, event), fill->limit))
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

const struct trip_op_row trip_op_cntr_fill = {
	.name = "fill",
	.target = TRIP_OP_ON_CNTR,
	.has_value = true,
	.counts = true,
	.operands = sizeof(struct fill),
	.takes = takes_fill,
	.fire = fire_fill,
};

const struct trip_op_row trip_op_cntr_raise = {
	.name = "raise",
	.target = TRIP_OP_ON_CNTR,
	.has_value = true,
	.counts = true,
	.fire = fire_raise,
	.end = end_raise,
};

const struct trip_op_row trip_op_cntr_reset = {
	.name = "reset",
	.target = TRIP_OP_ON_CNTR,
	.counts = true,
	.fire = fire_reset,
};
