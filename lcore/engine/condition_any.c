/* SPDX-License-Identifier: BSD-3-Clause */
/* ANY: one of its pairs has been reached (COND-07). group.h has both kinds. */
#include "group.h"

static uint64_t
needs(uint64_t pairs)
{
	return pairs > 0;
}

const struct trip_condition_row trip_condition_any = {
	.name = "any",
	.parameters = sizeof(struct trip_group_pairs),
	.memory = TRIP_GROUP_MEMORY,
	.takes = trip_group_takes,
	.tell = trip_group_tell,
	.needs = needs,
	.look = trip_group_look,
	.end = trip_group_end,
};
