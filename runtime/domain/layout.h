/* SPDX-License-Identifier: BSD-3-Clause */
/* What a domain's attributes mean in memory. */
#ifndef TRIP_RUNTIME_LAYOUT_H
#define TRIP_RUNTIME_LAYOUT_H

#include <stddef.h>

#include <trip_domain.h>

#include "home.h"

/* Bits of the number of a counter of all homes, those that nobody opens among them. */
#define TRIP_LAYOUT_CNTR_BITS 24

/* Fills in defaults and checks the ranges: 0, or the error. `given` may be NULL. */
int trip_layout_attr(const struct trip_domain_attr *given, struct trip_domain_attr *attr);

/* The shape of each home of a domain with these (complete) attributes. */
void trip_layout_home(const struct trip_domain_attr *attr, struct trip_home_shape *shape);

/* Bytes of what homes share of flows; of the queues' counts and moments. */
size_t trip_layout_flows_size(const struct trip_domain_attr *attr);
size_t trip_layout_counts_size(const struct trip_domain_attr *attr);

/* Of what its queues count by keys; 0: there is none. */
size_t trip_layout_each_size(const struct trip_domain_attr *attr);

/* Where these are, in zones of those sizes. */
void trip_layout_map_flows(
	const struct trip_domain_attr *attr, void *flows, void *counts, struct trip_engine *engine);

/* Sums it up, in hugepages of this process's EAL where it runs. */
void trip_layout_footprint(
	const struct trip_domain_attr *attr, struct trip_domain_footprint *footprint);

#endif
