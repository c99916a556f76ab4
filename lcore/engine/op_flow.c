/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on flows: a change of the action word in software, an errand for the port's worker in
 * hardware. */
#include <errno.h>

#include "errand.h"
#include "fate.h"
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

/* In hardware the fate moves with the errand: one that is not sent changes nothing. */
static enum trip_op_outcome
operate(struct trip_home *home, const struct trip_node *item, struct trip_event *event,
	void (*decide)(_Atomic uint64_t *fate))
{
	_Atomic uint8_t *action = &home->engine->actions[item->target];
	_Atomic uint64_t *fate = &home->engine->flows[item->target].fate;
	uint16_t port = trip_engine_hard_port(home->engine, item->target);
	enum trip_op_outcome outcome = TRIP_OP_ENDED;

	if (port != TRIP_FLOW_SOFT)
		outcome = send_errand(home, item, event, port);
	if (event->result != 0)
		return outcome;
	decide(fate);
	if (port == TRIP_FLOW_SOFT &&
		(trip_fate_obey(fate, action, TRIP_ACTION_DROP) & TRIP_ACTION_ACTIVE) == 0)
		event->result = -ENOENT;
	return outcome;
}

static enum trip_op_outcome
fire_drop(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	return operate(home, item, event, trip_fate_drop);
}

static enum trip_op_outcome
fire_pass(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	return operate(home, item, event, trip_fate_pass);
}

static enum trip_op_outcome
fire_delete(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	_Atomic uint8_t *action = &home->engine->actions[item->target];
	uint16_t port = trip_engine_hard_port(home->engine, item->target);

	if (port != TRIP_FLOW_SOFT)
		return operate(home, item, event, trip_fate_pass);
	/* It drops nothing more, whatever its word says. */
	trip_fate_pass(&home->engine->flows[item->target].fate);
	if ((atomic_fetch_and(action, (uint8_t)~TRIP_ACTION_ACTIVE) & TRIP_ACTION_ACTIVE) == 0)
		event->result = -ENOENT;
	return TRIP_OP_ENDED;
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
