/* SPDX-License-Identifier: BSD-3-Clause */
/* ALL: each of its pairs has been reached (COND-07). group.h has both kinds. */
#include "group.h"

static uint64_t
needs(uint64_t pairs)
{
	return pairs;
}

const struct trip_condition_row trip_condition_all = {
	.name = "all",
	.parameters = sizeof(struct trip_group_pairs),
	.memory = TRIP_GROUP_MEMORY,
	.takes = trip_group_takes,
	.tell = trip_group_tell,
	.needs = needs,
	.look = trip_group_look,
	.end = trip_group_end,
};
