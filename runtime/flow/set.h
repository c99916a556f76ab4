/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets, as flows ask for them. */
#ifndef TRIP_RUNTIME_SET_H
#define TRIP_RUNTIME_SET_H

#include <sys/queue.h>

#include "flow/port.h"
#include "pattern.h"

struct trip_set {
	struct trip_domain *domain;
	/* Of the domain's; it, members and flows under the control lock. */
	LIST_ENTRY(trip_set) other;
	struct trip_members *members;
	uint64_t n_flows;
	char name[TRIP_NAME_MAX + 1];
};

/* The tests of a flow's pattern, which gets their bits, and gives them back: 0, or the error, said
 * in `error`. Under the control lock; to give, when the flow's rule is quiet. */
int trip_set_attach(const struct trip_flow *flow, const struct trip_pattern_tests *tests,
	struct trip_pattern *pattern, struct rte_flow_error *error);
void trip_set_detach(struct trip_port_side *side, const struct trip_pattern *pattern);

/* The items of a flow's tests, behind those that they are about. Under the control lock. */
struct trip_pattern_items;
void trip_set_describe(const struct trip_port_side *side, const struct trip_pattern *pattern,
	struct trip_pattern_items *items);

#endif
