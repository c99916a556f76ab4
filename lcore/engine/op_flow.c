/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on flows: a change of the action word in software, an errand for the port's worker in
 * hardware. */
#include <errno.h>

#include "errand.h"
#include "home.h"
#include "op.h"
#include "soft.h"

static enum trip_op_outcome
send_errand(struct trip_home *home, const struct trip_node *item, struct trip_event *event,
	uint16_t port)
{
	struct trip_errand_desk *desk =
		port < TRIP_PORTS_MAX ? trip_engine_desk(home->engine, port) : NULL;
	const struct trip_errand errand = {
		.event = *event,
		.flow = item->target,
		.completion = item->completion,
		.flags = (uint8_t)item->flags,
	};

	if (desk == NULL)
		event->result = -ENOENT;
	else if (!trip_errand_hand_in(desk, home->index, &errand))
		event->result = -EAGAIN;
	else
		return TRIP_OP_SENT;
	return TRIP_OP_ENDED;
}

static enum trip_op_outcome
change(struct trip_home *home, const struct trip_node *item, struct trip_event *event, uint8_t set,
	uint8_t clear)
{
	_Atomic uint8_t *action = &home->engine->actions[item->target];
	uint16_t port = trip_engine_hard_port(home->engine, item->target);
	uint8_t old;

	if (port != TRIP_FLOW_SOFT)
		return send_errand(home, item, event, port);
	old = set != 0 ? atomic_fetch_or(action, set) : atomic_fetch_and(action, (uint8_t)~clear);
	if ((old & TRIP_ACTION_ACTIVE) == 0)
		event->result = -ENOENT;
	return TRIP_OP_ENDED;
}

static enum trip_op_outcome
fire_drop(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	return change(home, item, event, TRIP_ACTION_DROP, 0);
}

static enum trip_op_outcome
fire_pass(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	return change(home, item, event, 0, TRIP_ACTION_DROP);
}

static enum trip_op_outcome
fire_delete(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	return change(home, item, event, 0, TRIP_ACTION_ACTIVE);
}

const struct trip_op_row trip_op_flow_drop = {
	.name = "drop",
	.target = TRIP_OP_ON_FLOW,
	.fire = fire_drop,
};

const struct trip_op_row trip_op_flow_pass = {
	.name = "pass",
	.target = TRIP_OP_ON_FLOW,
	.fire = fire_pass,
};

const struct trip_op_row trip_op_flow_delete = {
	.name = "delete",
	.target = TRIP_OP_ON_FLOW,
	.fire = fire_delete,
};
