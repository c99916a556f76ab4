/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs the homes: dedicated lcores, service cores, or whoever calls. */
#ifndef TRIP_RUNTIME_LAUNCH_H
#define TRIP_RUNTIME_LAUNCH_H

#include "domain/domain.h"

/* Whether the attributes name lcores that can be had. */
int trip_launch_check(const struct trip_domain_attr *attr);

/* Sets a home's periods and budget. */
void trip_launch_configure(struct trip_domain *domain, struct trip_home *home);

/* How long one of its iterations should take at most: a microsecond for each thing that one of its
 * steps may do, of which there are some that take a tenth of that. */
static inline uint64_t
trip_launch_bound_ns(const struct trip_domain_attr *attr)
{
	return UINT64_C(1000) << attr->budget_log2;
}

int trip_launch_start(struct trip_domain *domain);
void trip_launch_stop(struct trip_domain *domain);

/* One iteration by whoever calls; nothing where another thread is in one. How much was done. */
unsigned int trip_launch_iterate(struct trip_home *home);

#endif
