/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PORT_H
#define TRIPD_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mempool;
struct tripd_link;
struct tripd_options;
struct tripd_plan;
struct trip_rules;

/* Checks that every planned port exists and may be taken. Says what is wrong on stderr. Returns 0,
 * or the exit code. */
int tripd_port_check(const struct tripd_plan *plan, const struct tripd_options *options,
	const struct trip_rules *rules);

/* Notes how many Rx queues each planned port has. */
void tripd_port_plan_queues(struct tripd_plan *plan);

/* Configures the planned ports, with their Rx queues and one Tx queue each, and opens their links.
 * Says what fails on stderr. Returns 0, or the exit code. */
int tripd_port_configure(const struct tripd_plan *plan, struct tripd_link *links, bool isolate,
	uint32_t max_flows, struct rte_mempool *pool);

/* Starts them, likewise. */
int tripd_port_start(const struct tripd_plan *plan, struct tripd_link *links);

/* Stops and closes them. */
void tripd_port_close(const struct tripd_plan *plan, struct tripd_link *links);

#endif
