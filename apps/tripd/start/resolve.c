/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports that rules and options ask for, and what is said where there are none. */
#include <errno.h>
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
	const struct trip_rules_count *rule;

	fprintf(stderr, "tripd: port %u does not exist", port);
	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		if (trip_rules_has_port(rule, port))
			break;
	if (rule != NULL) {
		fprintf(stderr, " (line %u of the rules names it)", rule->line);
		remedy = by_iface ? "correct the rules, or add an --iface" : "correct the rules";
	}
	say_ports(remedy);
}

bool
tripd_resolve_unknown(const struct trip_rules *rules)
{
	const struct trip_rules_count *rule;

	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		for (unsigned int k = 0; k < rule->n_ports; k++)
			if (rule->ports[k].by != TRIP_RULES_PORT_ID)
				return true;
	return false;
}

void
tripd_resolve_say(const struct trip_rules_port *port, FILE *file)
{
	const uint8_t *mac = port->mac;

	if (port->by == TRIP_RULES_PORT_NAME)
		fprintf(file, "no port is named \"%s\"", port->name);
	else if (port->by == TRIP_RULES_PORT_INTERFACE)
		fprintf(file, "no port is on the interface %s", port->name);
	else
		fprintf(file, "no port has the address %02x:%02x:%02x:%02x:%02x:%02x", mac[0],
			mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static int
say_unknown(const struct trip_rules_port *port, unsigned int line)
{
	fprintf(stderr, "tripd: ");
	tripd_resolve_say(port, stderr);
	if (port->by == TRIP_RULES_PORT_INTERFACE)
		fprintf(stderr, "; --iface %s makes one", port->name);
	fprintf(stderr, " (line %u of the rules)", line);
	say_ports("correct the rules");
	return TRIPD_EXIT_USAGE;
}

int
tripd_resolve_count(struct trip_rules_count *count, const struct trip_rules_port **missing)
{
	uint16_t ids[TRIP_RULES_PORTS_MAX];

	for (unsigned int i = 0; i < count->n_ports; i++)
		if (count->ports[i].by == TRIP_RULES_PORT_ANY)
			return 0;
		else if (!trip_apply_port(&count->ports[i], &ids[i])) {
			*missing = &count->ports[i];
			return -ENODEV;
		}
	/* Two may be one. */
	return trip_rules_set_ports(count, ids, count->n_ports);
}

int
tripd_resolve_ports(struct trip_rules *rules)
{
	const struct trip_rules_port *missing;
	struct trip_rules_count *rule;

	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++) {
		int ret = tripd_resolve_count(rule, &missing);

		if (ret == -ENODEV)
			return say_unknown(missing, rule->line);
		if (ret != 0)
			return tripd_fail(TRIPD_EXIT_RUN, "no memory for the ports of a rule");
	}
	return 0;
}

int
tripd_resolve_any(struct trip_rules *rules, const struct tripd_plan *plan)
{
	struct trip_rules_count *rule;
	int ret = 0;

	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL && ret == 0; i++)
		ret = tripd_plan_any(plan, rule);
	if (ret != 0 || trip_rules_warn(rules) != 0)
		return tripd_fail(TRIPD_EXIT_RUN, "no memory to compare %u rules", rules->n_counts);
	trip_rules_errors_print(rules->warnings, stderr);
	return 0;
}
