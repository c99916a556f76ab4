/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is: operations and conditions, by their rows. */
#include <errno.h>

#include "domain/error.h"
#include "domain/sized.h"
#include "condition.h"
#include "op.h"

int
trip_condition_describe(enum trip_condition_kind kind, struct trip_condition_info *info)
{
	const struct trip_condition_row *row = trip_condition_of(kind);
	const struct trip_condition_info own = {
		.name = row->name,
		.kind = kind,
		.repeats = row->interval_max > 0,
		.slots = 1u + row->memory,
		.pairs = row->needs != NULL ? TRIP_CONDITION_PAIRS_MAX : 0,
	};

	if (row->name == NULL)
		return trip_error_set(ENOSYS, "condition %d is unknown", (int)kind);
	return TRIP_SIZED_GIVE(trip_condition_info, info, &own);
}

int
trip_op_describe(enum trip_op number, struct trip_op_info *info)
{
	const struct trip_op_row *op = trip_op_of(number);
	const struct trip_op_info own = {.name = op->name,
		.target = op->target,
		.has_value = op->has_value,
		.has_time = op->has_time};

	if (op->name == NULL)
		return trip_error_set(ENOSYS, "operation %d is unknown", (int)number);
	return TRIP_SIZED_GIVE(trip_op_info, info, &own);
}
