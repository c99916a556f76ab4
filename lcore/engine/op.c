/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of operations. */
#include <errno.h>

#include <rte_common.h>

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

/* A number without a row does not compile. Nor is there a hole: the table ends before the last. */
#pragma GCC diagnostic error "-Wswitch"
#define CASE(number, name) case TRIP_OP_##number:
__rte_unused static void
each_has_a_row(enum trip_op op)
{
	switch (op) {
		TRIP_OP_ROWS(CASE)
		return;
	}
}
