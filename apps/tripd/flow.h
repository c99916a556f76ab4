/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_FLOW_H
#define TRIPD_FLOW_H

#include "quota.h"

struct trip_flow_count;
struct trip_rules_count;

/*
 * Opens the flows of a `count` rule on its port, feeding the counters that are open already. Says
 * what fails on stderr.
 *
 * @return
 *   0, or a negative errno.
 */
int tripd_flow_open(const struct trip_rules *rules, const struct trip_rules_count *rule,
	struct tripd_quota_count *count, struct trip_port *port);

/*
 * Tells in which engine a rule would be counted on its port, and why. Rules that leave it open are
 * all in one engine of their port.
 *
 * @return
 *   An enum trip_flow_engine, or a negative errno; *reason says why in either case.
 */
int tripd_flow_validate(
	const struct trip_rules *rules, const struct trip_rules_count *rule, const char **reason);

/* What all flows of the rule have counted; their fate and engine are one. */
void tripd_flow_query(const struct tripd_quota_count *count, struct trip_flow_count *sum);

/* Ends the flows; they stay open. */
void tripd_flow_retire(struct tripd_quota_count *count);

/* Destroys as many as were opened. Returns the last error, or 0. */
int tripd_flow_close(struct tripd_quota_count *count);

#endif
