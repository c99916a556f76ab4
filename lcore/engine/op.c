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

#define ROW(number, name) [TRIP_OP_##number] = &trip_op_##name,
const struct trip_op_row *const trip_op_rows[TRIP_OPS_END] = {&unknown, TRIP_OP_ROWS(ROW)};
