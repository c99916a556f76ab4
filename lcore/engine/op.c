/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of operations. */
#include <errno.h>

#include "op.h"

static enum trip_op_outcome
fire_unknown(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	event->result = -ENOSYS;
	return TRIP_OP_ENDED;
}

static const struct trip_op_row unknown = {.fire = fire_unknown};

const struct trip_op_row *const trip_op_rows[TRIP_OPS_END] = {
	[0] = &unknown,
	[TRIP_OP_CNTR_ADD] = &trip_op_cntr_add,
	[TRIP_OP_CNTR_SET] = &trip_op_cntr_set,
	[TRIP_OP_FLOW_DROP] = &trip_op_flow_drop,
	[TRIP_OP_FLOW_PASS] = &trip_op_flow_pass,
	[TRIP_OP_FLOW_DELETE] = &trip_op_flow_delete,
	[TRIP_OP_CALL] = &trip_op_call,
	[TRIP_OP_CNTR_FILL] = &trip_op_cntr_fill,
};
