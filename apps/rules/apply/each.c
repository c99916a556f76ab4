/* SPDX-License-Identifier: BSD-3-Clause */
#include "each.h"

int
trip_apply_each_open(struct trip_domain *domain, const struct trip_rules_each *rule,
	struct trip_port *const *ports, uint32_t n_ports, struct trip_each **each)
{
	struct trip_each_attr attr;

	trip_rules_each_attr(rule, &attr);
	attr.ports = ports;
	attr.n_ports = n_ports;
	return trip_each_open(domain, &attr, each);
}

/* The language refuses what the library would; of such a one the opening says so. */
uint64_t
trip_apply_each_bytes(const struct trip_rules_each *rule, uint32_t n_queues)
{
	struct trip_each_attr attr;
	uint64_t bytes;

	trip_rules_each_attr(rule, &attr);
	return trip_each_footprint(&attr, n_queues, &bytes) == 0 ? bytes : 0;
}
