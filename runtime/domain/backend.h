/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who does what the calls ask for: this process, where it is the primary, or the primary, for an
 * attached process. A table for each kind of object; a domain has its tables from its beginning on.
 * The calls of the data path (add, read, queue, burst) are the same in all processes, and none of
 * these.
 */
#ifndef TRIP_RUNTIME_BACKEND_H
#define TRIP_RUNTIME_BACKEND_H

#include <stdint.h>

struct trip_client_home;
struct trip_domain;
struct trip_flow;

struct trip_backend {
	/* The handle, of which nothing is open, goes: 0 or the error. */
	int (*close)(struct trip_domain *domain);
	/* In a child of fork(): descriptors that its parent serves. */
	void (*forget)(struct trip_domain *domain);
	/* The primary has ended, so the handle stays, and all that is open of it. Behind this, no
	 * thread of the library's is in the domain's memory any more. NULL in the primary. */
	void (*rest)(struct trip_domain *domain);
	/* What the homes have done, TRIP_HOMES_MAX at most: how many, or the error. */
	int (*homes)(struct trip_domain *domain, struct trip_client_home *homes);
	/* Commands to the application, and those refused, of which only the primary knows. */
	void (*commands)(const struct trip_domain *domain, uint64_t *taken, uint64_t *refused);
	/* Returns when what homes have started on ports has finished, and was told of; at once from
	 * a worker. 0, or -ESHUTDOWN: the primary has ended meanwhile. */
	int (*quiesce)(struct trip_domain *domain);
	/* Whether functions can be registered: 0 or the error. */
	int (*check_functions)(const struct trip_domain *domain);
	/* The flow may be policed, and others may share its rate, until it ends, and so may `with`,
	 * unless it is NULL: 0; or nothing has changed, and it is -ENOSPC: as many flows may as the
	 * domain's max_policed, -EDEADLK, or what asking the primary fails with. */
	int (*police)(struct trip_flow *flow, struct trip_flow *with);
	const struct trip_cntr_backend *cntr;
	const struct trip_native_backend *native;
	const struct trip_port_backend *port;
	const struct trip_flow_backend *flow;
	const struct trip_counters_backend *counters;
	const struct trip_each_backend *each;
};

#endif
