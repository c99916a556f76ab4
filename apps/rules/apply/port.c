/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the port that a rule names. */
#include <net/if.h>
#include <string.h>

#include <rte_ethdev.h>

#include "port.h"

static bool
find_mac(const uint8_t mac[6], uint16_t *found)
{
	struct rte_ether_addr address;
	uint16_t port;

	RTE_ETH_FOREACH_DEV (port) {
		if (rte_eth_macaddr_get(port, &address) != 0 ||
			memcmp(address.addr_bytes, mac, sizeof(address.addr_bytes)) != 0)
			continue;
		*found = port;
		return true;
	}
	return false;
}

static bool
find_interface(const char *name, uint16_t *found)
{
	unsigned int index = if_nametoindex(name);
	struct rte_eth_dev_info info;
	uint16_t port;

	RTE_ETH_FOREACH_DEV (port) {
		if (index == 0 || rte_eth_dev_info_get(port, &info) != 0 || info.if_index != index)
			continue;
		*found = port;
		return true;
	}
	return false;
}

bool
trip_apply_port(const struct trip_rules_port *named, uint16_t *port)
{
	switch (named->by) {
	case TRIP_RULES_PORT_NAME:
		return rte_eth_dev_get_port_by_name(named->name, port) == 0;
	case TRIP_RULES_PORT_MAC:
		return find_mac(named->mac, port);
	case TRIP_RULES_PORT_INTERFACE:
		return find_interface(named->name, port);
	default:
		*port = named->id;
		return true;
	}
}
