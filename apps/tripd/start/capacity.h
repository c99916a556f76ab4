/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_CAPACITY_H
#define TRIPD_CAPACITY_H

#include <trip_domain.h>

#include "plan.h"
#include "rules.h"

/* The domain that these rules need; its lcore is the plan's. */
void tripd_capacity_attr(const struct trip_rules *rules, const struct tripd_plan *plan,
	struct trip_domain_attr *attr);

#endif
