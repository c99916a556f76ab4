/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_FLOW_H
#define TRIPD_FLOW_H

#include "quota.h"

struct trip_rules_count;

/*
 * Opens the flow of a `count` rule on its port, feeding the counters that are open already. Says
 * what fails on stderr.
 *
 * @return
 *   0, or a negative errno.
 */
int tripd_flow_open(const struct trip_rules_count *rule, struct tripd_quota_count *count,
	struct trip_port *port);

#endif
