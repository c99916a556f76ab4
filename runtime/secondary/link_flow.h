/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports, flows and counters objects in an attached process: the primary has them, and makes the
 * calls (proxy.h). What was checked before is what needs no more than this process's handles.
 */
#ifndef TRIP_RUNTIME_LINK_FLOW_H
#define TRIP_RUNTIME_LINK_FLOW_H

#include <stdbool.h>
#include <stdint.h>

struct trip_domain;
struct trip_flow;
struct trip_flow_count;
struct trip_flow_order;
struct trip_port_facts;
struct trip_port_stats;

/* What homes have started on ports for this process has finished when it returns 0. */
int trip_link_quiesce(struct trip_domain *domain);

/* Finds a port, of which *fd has the rules; and lets go of it. */
struct trip_protocol_found;
int trip_link_port_find(
	struct trip_domain *domain, uint16_t port_id, struct trip_protocol_found *found, int *fd);
int trip_link_port_close(struct trip_domain *domain, uint16_t port_id);

/* `domain` NULL: the port need not be open. */
int trip_link_port_facts(
	struct trip_domain *domain, uint16_t port_id, struct trip_port_facts *facts);
int trip_link_port_stats(
	struct trip_domain *domain, uint16_t port_id, struct trip_port_stats *stats);

/* Fills in a flow, whose counters are held: 0, or the error, also as rte_flow has it. */
int trip_link_flow_create(
	struct trip_flow *flow, const struct trip_flow_order *order, uint64_t counters);
/* The engine, or the error, as trip_flow_validate() has it; *reason is good until the thread's next
 * call. */
int trip_link_flow_validate(
	uint16_t port_id, const struct trip_flow_order *order, const char **reason);
int trip_link_flow_query(struct trip_flow *flow, struct trip_flow_count *count);
int trip_link_flow_retire(struct trip_flow *flow);
/* When it returns 0, only the handle is left. */
int trip_link_flow_destroy(struct trip_flow *flow);

int trip_link_counters_create(struct trip_domain *domain, uint32_t slots, uint64_t *id);
/* `flow` is 0 for a static point. */
int trip_link_counters_attach(struct trip_domain *domain, uint64_t id, uint64_t flow,
	uint32_t index, uint32_t description);
int trip_link_counters_read(
	struct trip_domain *domain, uint64_t id, uint64_t *values, uint32_t n, uint32_t flags);
int trip_link_counters_destroy(struct trip_domain *domain, uint64_t id);

#endif
