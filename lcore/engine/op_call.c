/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the functions that the application has registered. */
#include <errno.h>

#include <rte_common.h>

#include "home.h"
#include "op.h"

static enum trip_op_outcome
fire_call(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	const struct trip_function_slot *slot = &home->engine->functions[item->target];
	/* Partner: the release store in trip_function_register(). */
	trip_function_t function = atomic_load_explicit(&slot->function, memory_order_acquire);

	union trip_event_shown *told = container_of(event, union trip_event_shown, own.event);
	uint32_t ring = told->shown.reserved;

	told->shown.reserved = 0;
	home->completes = item->completion;
	event->result = function != NULL ? function(&told->shown, slot->arg) : -ENOENT;
	told->shown.reserved = ring;
	return TRIP_OP_ENDED;
}

/* Called again; not for what was canceled. */
static enum trip_op_outcome
end_call(struct trip_home *home, const struct trip_node *item, uint64_t begun,
	struct trip_event *event)
{
	union trip_event_shown told = {.own = {.size = sizeof(told.shown), .event = *event}};

	if ((event->flags & TRIP_WORK_END) != 0) {
		(void)fire_call(home, item, &told.own.event);
		event->result = told.own.event.result;
	}
	return TRIP_OP_ENDED;
}

const struct trip_op_row trip_op_call = {
	.name = "call",
	.target = TRIP_OP_ON_FUNCTION,
	.shows_event = true,
	.fire = fire_call,
	.end = end_call,
};
