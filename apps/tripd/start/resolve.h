/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_RESOLVE_H
#define TRIPD_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "plan.h"
#include "rules.h"

/* DPDK's name of a port's device, or "?". */
const char *tripd_resolve_device(uint16_t port, char name[RTE_ETH_NAME_MAX_LEN]);

/* Says on stderr that a port does not exist, who asks for it, and which there are. */
void tripd_resolve_missing(uint16_t port, const struct trip_rules *rules, bool by_iface);

/* Says that there is no such port, by what a rule calls it. */
void tripd_resolve_say(const struct trip_rules_port *port, FILE *file);

/* Does a rule call a port by name, by MAC address, or any? */
bool tripd_resolve_unknown(const struct trip_rules *rules);

/* Finds the ports that a rule calls by name or address: 0, -ENOMEM, or -ENODEV and which there is
 * not. */
int tripd_resolve_count(struct trip_rules_count *count, const struct trip_rules_port **missing);

/* Likewise those of all. Says on stderr which there is not. Returns 0, or the exit code. */
int tripd_resolve_ports(struct trip_rules *rules);

/* Then, with all that are in use: finds those of any, and says what the rules are warned about now
 * that it is known which have one port. Returns 0, or the exit code. */
int tripd_resolve_any(struct trip_rules *rules, const struct tripd_plan *plan);

#endif
