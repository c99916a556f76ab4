/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that tell of a `when`: at most so many within each so many nanoseconds, from a line on. */
#ifndef TRIP_APPLY_LIMIT_H
#define TRIP_APPLY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "rules.h"

/* Of one `when`; begins as zeros. */
struct trip_apply_limit {
	/* When that time began, and what was written and left out in it. */
	uint64_t since, written, left_out;
};

/* Whether one more line may be written at `now`, in nanoseconds that only grow. */
bool trip_apply_limit_take(
	struct trip_apply_limit *limit, const struct trip_rules_when *rule, uint64_t now);

/* How many lines have been left out, once that time is over; each is told once. UINT64_MAX is the
 * end of all times. */
uint64_t trip_apply_limit_left_out(
	struct trip_apply_limit *limit, const struct trip_rules_when *rule, uint64_t now);

#endif
