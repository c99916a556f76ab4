/* SPDX-License-Identifier: BSD-3-Clause */
/* How many lines may tell of a `when`. */
#include "limit.h"

static bool
is_over(const struct trip_apply_limit *limit, const struct trip_rules_when *rule, uint64_t now)
{
	return limit->written == 0 || now - limit->since >= rule->per;
}

bool
trip_apply_limit_take(
	struct trip_apply_limit *limit, const struct trip_rules_when *rule, uint64_t now)
{
	if (is_over(limit, rule, now)) {
		limit->since = now;
		limit->written = 0;
	}
	if (limit->written == rule->most) {
		limit->left_out++;
		return false;
	}
	limit->written++;
	return true;
}

uint64_t
trip_apply_limit_left_out(
	struct trip_apply_limit *limit, const struct trip_rules_when *rule, uint64_t now)
{
	uint64_t left_out = limit->left_out;

	if (left_out == 0 || !is_over(limit, rule, now))
		return 0;
	limit->left_out = 0;
	return left_out;
}
