/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the functions that the application has registered. */
#include <errno.h>

#include "home.h"
#include "op.h"

static enum trip_op_outcome
fire_call(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	const struct trip_function_slot *slot = &home->engine->functions[item->target];
	/* Partner: the release store in trip_function_register(). */
	trip_function_t function = atomic_load_explicit(&slot->function, memory_order_acquire);

	struct trip_work_event shown;

	trip_event_show(event, &shown);
	home->completes = item->completion;
	event->result = function != NULL ? function(&shown, slot->arg) : -ENOENT;
	return TRIP_OP_ENDED;
}

const struct trip_op_row trip_op_call = {
	.name = "call",
	.target = TRIP_OP_ON_FUNCTION,
	.shows_event = true,
	.fire = fire_call,
};
