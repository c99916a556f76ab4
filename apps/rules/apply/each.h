/* SPDX-License-Identifier: BSD-3-Clause */
/* An `each` rule in a domain. */
#ifndef TRIP_APPLY_EACH_H
#define TRIP_APPLY_EACH_H

#include <stdint.h>

#include <trip.h>

#include "rules.h"

/* Opens it on ports of the domain, each once; whether it `tells` which keys come and go. Returns
 * what trip_each_open() does. */
int trip_apply_each_open(struct trip_domain *domain, const struct trip_rules_each *rule,
	struct trip_port *const *ports, uint32_t n_ports, bool tells, struct trip_each **each);

/* What the language knows nothing of: 0, or the error of trip_each_footprint(). */
int trip_apply_each_check(const struct trip_rules_each *rule);

/* What its tables, if that is 0, take of the domain's memory, on so many queues. */
uint64_t trip_apply_each_bytes(const struct trip_rules_each *rule, uint32_t n_queues, bool tells);

/* How many flows its keys in hardware are, at most. */
uint64_t trip_apply_each_flows(const struct trip_rules_each *rule);

#endif
