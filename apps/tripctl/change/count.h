/* SPDX-License-Identifier: BSD-3-Clause */
/* A `count` of this process: flows on a port of the primary, which makes the calls for us. */
#ifndef TRIPCTL_COUNT_H
#define TRIPCTL_COUNT_H

#include <stdbool.h>

#include <trip.h>

#include "apply/count.h"

struct tripctl_count {
	struct trip_port *port;
	struct trip_apply_count applied;
};

/* Whether it is such that this process can have it: 0, or the exit code, with the reason said. */
int tripctl_count_check(const struct trip_rules_count *rule);

/* 0, or the exit code, with the reason said; close in any case. */
int tripctl_count_open(struct tripctl_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule);

/* Writes what it has counted, unless the primary has ended. */
void tripctl_count_tell(
	const struct tripctl_count *count, const struct trip_rules_count *rule, bool json);

/* When no work refers to it any more. */
void tripctl_count_close(struct tripctl_count *count);

#endif
