/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports that rules and options ask for, and what is said where there are none. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apply/port.h"
#include "fail.h"
#include "options.h"
#include "resolve.h"

const char *
tripd_resolve_device(uint16_t port, char name[RTE_ETH_NAME_MAX_LEN])
{
	if (rte_eth_dev_get_name_by_port(port, name) != 0)
		strcpy(name, "?");
	return name;
}

static void
say_ports(const char *what_helps)
{
	char name[RTE_ETH_NAME_MAX_LEN], ifname[IF_NAMESIZE];
	struct rte_eth_dev_info info;
	unsigned int n = 0;
	uint16_t port;

	RTE_ETH_FOREACH_DEV (port) {
		fprintf(stderr, "%s %u (%s", n++ == 0 ? "; the ports are" : ",", port,
			tripd_resolve_device(port, name));
		if (rte_eth_dev_info_get(port, &info) == 0 &&
			if_indextoname(info.if_index, ifname) != NULL)
			fprintf(stderr, ", %s", ifname);
		fputc(')', stderr);
	}
	if (n > 0)
		fprintf(stderr, ": %s\n", what_helps);
	else
		fprintf(stderr, "; there is none: use a network interface by --iface NAME, bind a "
				"device with dpdk-devbind.py, or add one such as --vdev net_tap0 "
				"before --\n");
}

void
tripd_resolve_missing(uint16_t port, const struct trip_rules *rules, bool by_iface)
{
	const char *remedy = by_iface ? "correct --ports or --pair, or add an --iface"
				      : "correct --ports or --pair";
	unsigned int i;

	fprintf(stderr, "tripd: port %u does not exist", port);
	for (i = 0; i < rules->n_counts && rules->counts[i].port != port; i++)
		;
	if (i < rules->n_counts) {
		fprintf(stderr, " (line %u of the rules names it)", rules->counts[i].line);
		remedy = by_iface ? "correct the rules, or add an --iface" : "correct the rules";
	}
	say_ports(remedy);
}

bool
tripd_resolve_unknown(const struct trip_rules *rules)
{
	for (unsigned int i = 0; i < rules->n_counts; i++)
		if (rules->counts[i].port_by != TRIP_RULES_PORT_ID)
			return true;
	return false;
}

static int
say_unknown(const struct trip_rules_count *count)
{
	const uint8_t *mac = count->port_mac;

	if (count->port_by == TRIP_RULES_PORT_NAME)
		fprintf(stderr, "tripd: no port is named \"%s\"", count->port_name);
	else if (count->port_by == TRIP_RULES_PORT_INTERFACE)
		fprintf(stderr, "tripd: no port is on the interface %s; --iface %s makes one",
			count->port_name, count->port_name);
	else
		fprintf(stderr, "tripd: no port has the address %02x:%02x:%02x:%02x:%02x:%02x",
			mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	fprintf(stderr, " (line %u of the rules)", count->line);
	say_ports("correct the rules");
	return TRIPD_EXIT_USAGE;
}

int
tripd_resolve_ports(struct trip_rules *rules)
{
	if (!tripd_resolve_unknown(rules))
		return 0;
	for (unsigned int i = 0; i < rules->n_counts; i++) {
		struct trip_rules_count *count = &rules->counts[i];

		if (count->port_by == TRIP_RULES_PORT_ID)
			continue;
		if (!trip_apply_port(count, &count->port))
			return say_unknown(count);
		count->port_by = TRIP_RULES_PORT_ID;
	}
	if (trip_rules_warn(rules) != 0)
		return tripd_fail(TRIPD_EXIT_RUN, "no memory to compare %u rules", rules->n_counts);
	trip_rules_errors_print(rules->warnings, stderr);
	return 0;
}
