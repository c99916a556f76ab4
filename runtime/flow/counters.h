/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_COUNTERS_H
#define TRIP_RUNTIME_COUNTERS_H

#include <trip_counters.h>

#include "domain/domain.h"

struct trip_binding;

struct trip_counters_slot {
	uint64_t folded;
	/* Static points. */
	uint16_t weight[TRIP_COUNT_KINDS];
};

struct trip_counters {
	struct trip_domain *domain;
	uint32_t id;
	/* In an attached process, what the primary calls it; all else is there. */
	uint64_t far;
	pthread_mutex_t lock;
	/* The last reader has left a binding that is leaving. */
	pthread_cond_t left;
	LIST_HEAD(, trip_binding) bindings;
	/* Slots and kinds that have static points. */
	uint32_t n_static;
	uint32_t n_slots;
	struct trip_counters_slot slots[];
};

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

/* Gives a flow that has counted nothing yet the object's static points. Under the control lock. */
int trip_counters_bind(struct trip_counters *counters, struct trip_flow *flow);

/* Waits until no reader asks the flow, nor will again: it may go. Under the control lock. */
void trip_counters_leave(struct trip_flow *flow);

/* Folds what a flow, which counts no more, has counted into all objects that are bound to it, and
 * unbinds them. Under the control lock. */
void trip_counters_unbind(struct trip_flow *flow);

#endif
