/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_RESOLVE_H
#define TRIPD_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "rules.h"

/* DPDK's name of a port's device, or "?". */
const char *tripd_resolve_device(uint16_t port, char name[RTE_ETH_NAME_MAX_LEN]);

/* Says on stderr that a port does not exist, who asks for it, and which there are. */
void tripd_resolve_missing(uint16_t port, const struct trip_rules *rules, bool by_iface);

/* Does a rule call its port by name or MAC address? */
bool tripd_resolve_unknown(const struct trip_rules *rules);

/* Finds the ports that rules call so. Says on stderr which there is not, and what the rules are
 * warned about now that it is known which have one port. Returns 0, or the exit code. */
int tripd_resolve_ports(struct trip_rules *rules);

#endif
