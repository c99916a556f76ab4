/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_COUNTERS_H
#define TRIP_RUNTIME_COUNTERS_H

#include <trip_counters.h>

#include "domain/domain.h"

/* Objects of this process, or of the primary. */
struct trip_counters_backend {
	/* *id: what the primary calls it. */
	int (*create)(struct trip_domain *domain, uint32_t n_slots, uint64_t *id);
	int (*destroy)(struct trip_counters *counters);
	/* `flow` may be NULL; what is given has been checked. */
	int (*attach)(struct trip_counters *counters, const struct trip_counter_attach_attr *attr,
		struct trip_flow *flow);
	int (*read)(struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);
};

extern const struct trip_counters_backend trip_counters_local;

struct trip_domain *trip_counters_domain(const struct trip_counters *counters);
/* In an attached process, what the primary calls the object; 0: it is NULL. */
uint64_t trip_counters_far(const struct trip_counters *counters);

/* Whether a flow of this domain may be created with the object; it may be NULL. */
int trip_counters_check(const struct trip_counters *counters, const struct trip_domain *domain);

/* Gives a flow that has counted nothing yet the object's static points. Under the control lock. */
int trip_counters_bind(struct trip_counters *counters, struct trip_flow *flow);

/* Waits until no reader asks the flow, nor will again: it may go. Under the control lock. */
void trip_counters_leave(struct trip_flow *flow);

/* Folds what a flow, which counts no more, has counted into all objects that are bound to it, and
 * unbinds them. Under the control lock. */
void trip_counters_unbind(struct trip_flow *flow);

#endif
