/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC's driver tells by an event that it has been unplugged. Of an interface of the kernel
 * (af_packet, af_xdp) nobody tells: its queues are merely quiet from then on. So the kernel is
 * asked for it, by its index, which no later interface of the same name has.
 */
#include <errno.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <trip.h>

#include "link/link.h"
#include "start/plan.h"
#include "quota.h"
#include "removal.h"

static struct {
	/* 0: it is no interface of the kernel. */
	unsigned int if_index;
	char name[IF_NAMESIZE];
	bool said;
	/* Written by whoever is told, read by the control thread; nothing else comes with it. */
	atomic_bool gone;
} ports[RTE_MAX_ETHPORTS];

/* To ask by; -1: there is none. */
static int asking = -1;

void
tripd_removal_note(uint16_t port)
{
	atomic_store_explicit(&ports[port].gone, true, memory_order_relaxed);
}

bool
tripd_removal_of(uint16_t port)
{
	return atomic_load_explicit(&ports[port].gone, memory_order_relaxed);
}

static int
note_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *details)
{
	tripd_removal_note(port);
	return 0;
}

static void
begin(uint16_t port, struct trip_port *handle)
{
	struct trip_port_stats stats = {.size = sizeof(stats)};
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port, &info) != 0 || trip_port_stats_read(handle, &stats) != 0)
		return;
	if ((*info.dev_flags & RTE_ETH_DEV_INTR_RMV) == 0) {
		ports[port].if_index = tripd_link_interface(port);
		/* It may be gone already. */
		if (if_indextoname(ports[port].if_index, ports[port].name) == NULL)
			strcpy(ports[port].name, "?");
	} else if (stats.rules == 0) {
		/* With rules in hardware the domain tells (quota.c), once their last counts are
		 * known. */
		rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV, note_event, NULL);
	}
}

void
tripd_removal_begin(const struct tripd_plan *plan, const struct tripd_quota *quota)
{
	asking = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (unsigned int i = 0; i < plan->n_ports; i++)
		begin(plan->ports[i].id, quota->ports[i]);
}

void
tripd_removal_end(const struct tripd_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_ports; i++)
		rte_eth_dev_callback_unregister(
			plan->ports[i].id, RTE_ETH_EVENT_INTR_RMV, note_event, NULL);
	if (asking >= 0)
		close(asking);
	asking = -1;
}

static bool
has_gone(unsigned int if_index)
{
	struct ifreq request = {.ifr_ifindex = (int)if_index};

	return asking >= 0 && ioctl(asking, SIOCGIFNAME, &request) != 0 && errno == ENODEV;
}

bool
tripd_removal_check(const struct tripd_plan *plan)
{
	bool news = false;

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t port = plan->ports[i].id;

		if (ports[port].if_index != 0 && !tripd_removal_of(port) &&
			has_gone(ports[port].if_index))
			tripd_removal_note(port);
		news |= tripd_removal_of(port) && !ports[port].said;
	}
	return news;
}

void
tripd_removal_say(const struct tripd_plan *plan)
{
	char device[RTE_ETH_NAME_MAX_LEN];
	unsigned int left = plan->n_ports - tripd_removal_count(plan);

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t port = plan->ports[i].id;

		if (!tripd_removal_of(port) || ports[port].said)
			continue;
		ports[port].said = true;
		if (rte_eth_dev_get_name_by_port(port, device) != 0)
			strcpy(device, "?");
		fprintf(stderr,
			"tripd: port %u (%s%s%s) has been removed: nothing is received there any "
			"more%s\n",
			port, device, ports[port].if_index != 0 ? ", " : "", ports[port].name,
			left == 0 ? ", and no port is left" : "; the others go on");
	}
}

unsigned int
tripd_removal_count(const struct tripd_plan *plan)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < plan->n_ports; i++)
		n += tripd_removal_of(plan->ports[i].id);
	return n;
}
