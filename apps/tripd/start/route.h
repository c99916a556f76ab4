/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_ROUTE_H
#define TRIPD_ROUTE_H

#include <stdbool.h>

/*
 * Whether the host's default route, of IPv4 or IPv6, leaves through this network interface: itself,
 * or as a lower device (of a bond, a bridge, a VLAN) of the one that the route names.
 *
 * @param root
 *   "" for this machine, or the directory under which a test has laid out proc and sys.
 */
bool tripd_route_is_default(const char *root, const char *ifname);

#endif
