/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_APPLY_PERIOD_H
#define TRIP_APPLY_PERIOD_H

#include <stdint.h>

#include "rules.h"

/* When the period ends in which `now` is, both in seconds since the epoch, by local time: above
 * now. INT64_MAX: never. */
int64_t trip_apply_period_end(const struct trip_rules_quota *quota, int64_t now);

#endif
