/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process holds of the primary's, and the calls on it: between the proxy's files. */
#ifndef TRIP_RUNTIME_PROXY_HELD_H
#define TRIP_RUNTIME_PROXY_HELD_H

#include "domain/domain.h"
#include "primary/process.h"

/* A flow or a counters object: the other is NULL. */
struct trip_held_object {
	/* What the process calls it: its place, and above that how often this was taken. */
	uint64_t id;
	struct trip_flow *flow;
	struct trip_counters *counters;
	/* Of a flow: handles of its counters, which the process owns or has found. */
	struct trip_cntr cntrs[TRIP_FLOW_CNTRS_MAX];
	unsigned int n_cntrs;
};

static inline struct trip_domain *
trip_proxy_domain(const struct trip_process *process)
{
	return process->server->domain;
}

/* Gives one more object, which is nothing yet, its place and id: 0, -ENOSPC: the process has all
 * that it may, or -ENOMEM. And takes it away, with its handles of counters. */
int trip_proxy_hold(struct trip_process *process, struct trip_held_object **out);
void trip_proxy_drop(struct trip_process *process, struct trip_held_object *held);

/* What the process calls so; NULL: it has none of it. */
struct trip_held_object *trip_proxy_find_flow(const struct trip_process *process, uint64_t id);
struct trip_held_object *trip_proxy_find_counters(const struct trip_process *process, uint64_t id);

/* It ends, and its handle: 0 or the error. */
int trip_proxy_destroy(struct trip_process *process, struct trip_held_object *held);

/* What is asked. */
trip_request_slow trip_proxy_flow_create, trip_proxy_flow_validate, trip_proxy_flow_do,
	trip_proxy_counters_create, trip_proxy_counters_point, trip_proxy_counters_read,
	trip_proxy_counters_close, trip_proxy_port_run, trip_proxy_port_facts,
	trip_proxy_port_stats, trip_proxy_port_quiesce, trip_proxy_each_run,
	trip_proxy_each_by_hand;

#endif
