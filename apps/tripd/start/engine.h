/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_ENGINE_H
#define TRIPD_ENGINE_H

#include <stdint.h>

struct trip_rules;
struct trip_rules_count;

#define TRIPD_ENGINE_REASON_MAX 160

/* All Rx queues that a port of rules in hardware is configured with. */
extern const uint16_t tripd_engine_queues[1];

/* Tells in which engine a rule would be counted on one of its ports, and why. Rules that leave it
 * open are all in one engine of their port. Returns an enum trip_flow_engine, or a negative errno;
 * *reason says why in either case. */
int tripd_engine_of(const struct trip_rules *rules, const struct trip_rules_count *rule,
	uint16_t port, const char **reason);

/*
 * Whether a rule that comes while others are at work may be where it has to be: rules that leave
 * the engine open stay in hardware where they are. 0, or -ENOTSUP, and why not.
 */
int tripd_engine_keep(const struct trip_rules *rules, const struct trip_rules_count *rule,
	uint16_t port, const char **reason);

#endif
