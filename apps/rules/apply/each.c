/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_common.h>

#include "each.h"

/* Of each queue: what comes and goes of a full table of this many, and of a larger one in a moment
 * in which it is not read. */
#define EVENTS_MIN 1024u
#define EVENTS_MAX 65536u

static void
attr_of(const struct trip_rules_each *rule, bool tells, struct trip_each_attr *attr)
{
	trip_rules_each_attr(rule, attr);
	if (tells)
		attr->events_kept =
			rte_align32pow2(RTE_MIN(RTE_MAX(2 * rule->max, EVENTS_MIN), EVENTS_MAX));
}

int
trip_apply_each_open(struct trip_domain *domain, const struct trip_rules_each *rule,
	struct trip_port *const *ports, uint32_t n_ports, bool tells, struct trip_each **each)
{
	struct trip_each_attr attr;

	attr_of(rule, tells, &attr);
	attr.ports = ports;
	attr.n_ports = n_ports;
	return trip_each_open(domain, &attr, each);
}

int
trip_apply_each_check(const struct trip_rules_each *rule)
{
	struct trip_each_attr attr;
	uint64_t bytes;

	attr_of(rule, false, &attr);
	return trip_each_footprint(&attr, 1, &bytes);
}

uint64_t
trip_apply_each_bytes(const struct trip_rules_each *rule, uint32_t n_queues, bool tells)
{
	struct trip_each_attr attr;
	uint64_t bytes;

	attr_of(rule, tells, &attr);
	return trip_each_footprint(&attr, n_queues, &bytes) == 0 ? bytes : 0;
}

uint64_t
trip_apply_each_flows(const struct trip_rules_each *rule)
{
	return UINT64_C(2) * rule->hardware;
}
