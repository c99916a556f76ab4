/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of every kind for a victim: each condition, nested ones too, on counters and the clock, and
 * each operation, also those that end: in a time, or with their condition. */
#include <errno.h>

#include <rte_common.h>

#include "family.h"
#include "storm.h"

#define NEVER (UINT64_C(1) << 40)

/* What a condition refers to lives as long as it does. */
struct drawn {
	struct trip_condition conditions[8];
	struct trip_pair pairs[8];
	unsigned int n_conditions, n_pairs;
};

static uint64_t
below(struct storm_draw *draw, uint64_t bound)
{
	return trip_random_below(draw->random, bound);
}

/* A millisecond or two, or for as long as the domain lives. */
static uint64_t
time_of(struct storm_draw *draw)
{
	return 100000 + below(draw, 8) * 300000 + (below(draw, 4) == 0 ? NEVER : 0);
}

static struct trip_cntr *
cntr_of(struct storm_draw *draw)
{
	return below(draw, 2) == 0 ? draw->own : draw->theirs;
}

static uint64_t
threshold_of(struct storm_draw *draw, const struct trip_cntr *trigger)
{
	if (trigger != draw->clock)
		return below(draw, UINT64_C(1) << (below(draw, 2) == 0 ? 12 : 40));
	return trip_cntr_read(draw->clock) + time_of(draw);
}

static struct trip_condition *
add_condition(struct drawn *drawn, enum trip_condition_kind kind)
{
	struct trip_condition *condition = &drawn->conditions[drawn->n_conditions++];

	*condition = (struct trip_condition){.size = sizeof(*condition), .kind = kind};
	return condition;
}

static struct trip_condition *
draw_idle(struct storm_draw *draw, struct drawn *drawn)
{
	struct trip_condition *idle = add_condition(drawn, TRIP_CONDITION_IDLE);

	idle->when.idle.time = time_of(draw);
	return idle;
}

static struct trip_condition *
draw_rate(struct storm_draw *draw, struct drawn *drawn, bool may_end)
{
	struct trip_condition *rate = add_condition(drawn, TRIP_CONDITION_RATE);

	rate->when.rate.time = time_of(draw);
	rate->when.rate.count = 1 + below(draw, 2000);
	if (may_end && below(draw, 2) == 0) {
		rate->when.rate.until_count = 1 + below(draw, 2000);
		rate->when.rate.until_time = time_of(draw);
	}
	return rate;
}

static struct trip_pair
draw_pair(struct storm_draw *draw, struct drawn *drawn)
{
	struct trip_pair pair = {.size = sizeof(pair), .cntr = cntr_of(draw)};

	switch (below(draw, 4)) {
	case 0:
		pair.condition = draw_idle(draw, drawn);
		break;
	case 1:
		pair.condition = draw_rate(draw, drawn, false);
		break;
	case 2:
		pair.cntr = draw->clock;
	}
	pair.threshold = threshold_of(draw, pair.cntr);
	return pair;
}

static struct trip_condition *
draw_pairs(struct storm_draw *draw, struct drawn *drawn)
{
	struct trip_condition *outer =
		add_condition(drawn, below(draw, 2) == 0 ? TRIP_CONDITION_ALL : TRIP_CONDITION_ANY);
	struct trip_condition *inner;
	struct trip_pair *pairs = drawn->pairs;

	outer->when.pairs.of = pairs;
	outer->when.pairs.count = 1 + below(draw, 3);
	for (unsigned int i = 0; i < 3; i++)
		pairs[i] = draw_pair(draw, drawn);
	if (below(draw, 2) == 0)
		return outer;
	inner = add_condition(
		drawn, outer->kind == TRIP_CONDITION_ALL ? TRIP_CONDITION_ANY : TRIP_CONDITION_ALL);
	inner->when.pairs.of = &pairs[3];
	inner->when.pairs.count = 2;
	pairs[3] = draw_pair(draw, drawn);
	pairs[4] = draw_pair(draw, drawn);
	pairs[0] = (struct trip_pair){.size = sizeof(pairs[0]), .condition = inner};
	return outer;
}

static void
draw_condition(struct storm_draw *draw, struct drawn *drawn, struct trip_work *work)
{
	switch (below(draw, 5)) {
	case 0:
		work->condition = draw_idle(draw, drawn);
		break;
	case 1:
		work->condition = draw_rate(draw, drawn, true);
		if (work->condition->when.rate.until_time != 0 && below(draw, 2) == 0)
			work->flags |= TRIP_WORK_BEGUN;
		work->interval = work->condition->when.rate.until_time != 0 || below(draw, 2) == 0;
		break;
	case 2:
		work->condition = draw_pairs(draw, drawn);
		work->triggering_cntr = NULL;
		work->threshold = work->interval = 0;
		break;
	case 3:
		work->triggering_cntr = draw->clock;
		work->threshold = threshold_of(draw, draw->clock);
		work->interval = below(draw, 2) * 1000000;
	}
}

static void
draw_operation(struct storm_draw *draw, struct trip_work *work)
{
	uint64_t kind = below(draw, draw->flow != NULL ? 6 : 2);

	work->completion_cntr = kind < 2 ? NULL : draw->completion;
	switch (kind) {
	case 0:
		work->op_type = TRIP_OP_CNTR_FILL;
		work->op.fill.cntr = below(draw, 2) == 0 ? draw->own : draw->completion;
		work->op.fill.value = 1;
		work->op.fill.limit = TRIP_CNTR_MAX;
		break;
	case 1:
		work->op_type = TRIP_OP_CNTR_ADD;
		work->op.cntr.cntr = below(draw, 2) == 0 ? draw->own : draw->completion;
		work->op.cntr.value = 1;
		break;
	case 2:
	case 3:
		work->op_type = TRIP_OP_FLOW_DROP;
		work->op.drop.flow = draw->flow;
		work->op.drop.time = below(draw, 4) == 0 ? 0 : time_of(draw);
		break;
	case 4:
		work->op_type = TRIP_OP_FLOW_POLICE;
		work->op.police.flow = draw->flow;
		work->op.police.rate = 1 + below(draw, 1000);
		work->op.police.unit = TRIP_POLICE_UNIT_PACKETS;
		break;
	default:
		work->op_type = below(draw, 8) == 0 ? TRIP_OP_FLOW_DELETE : TRIP_OP_FLOW_PASS;
		work->op.flow = draw->flow;
	}
}

uint64_t
storm_queue(struct storm_draw *draw)
{
	struct drawn drawn = {0};
	struct trip_work work = {.size = sizeof(work), .triggering_cntr = cntr_of(draw)};
	uint64_t id;
	int error;

	work.threshold = threshold_of(draw, work.triggering_cntr);
	work.interval = below(draw, 2) * 1000000;
	work.flags = below(draw, 2) != 0 ? TRIP_WORK_COMPLETION : 0;
	draw_condition(draw, &drawn, &work);
	draw_operation(draw, &work);
	error = trip_work_queue(family_domain, &work, &id);
	/* All that it may have is in use. */
	if (error == -EAGAIN || error == -ENOSPC)
		return TRIP_WORK_NONE;
	if (error != 0)
		fail_msg("%s", trip_error_message());
	return id;
}
