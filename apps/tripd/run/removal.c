/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC's driver tells by an event that it has been unplugged. Of an interface of the kernel
 * (af_packet, af_xdp) nobody tells: its queues are merely quiet from then on. So the kernel is
 * asked for it, by its index, which no later interface of the same name has, and whether it is up.
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
#include "now.h"
#include "quota.h"
#include "removal.h"
#include "start/plan.h"
#include "start/resolve.h"

/* One that is on its way out is down for a moment, and one that is set up for another: neither is
 * worth a line. */
#define STATE_LASTS_NS UINT64_C(500000000)

enum state {
	IS_UP,
	IS_DOWN,
	HAS_NO_CARRIER,
};

static const char *const states[] = {
	[IS_UP] = "is up",
	[IS_DOWN] = "is down, as by ip link set down: nothing arrives there, and nothing is sent",
	[HAS_NO_CARRIER] = "has no carrier: nothing arrives there before its other end is up",
};

static struct {
	/* 0: it is no interface of the kernel. */
	unsigned int if_index;
	char name[IF_NAMESIZE];
	bool said;
	/* Of the interface: as it was said last, and as it has been since a moment. */
	enum state said_state, state;
	uint64_t state_ns;
	/* Written by whoever is told, read by the control thread; nothing else comes with it. */
	atomic_bool gone;
} ports[RTE_MAX_ETHPORTS];

/* The socket to ask the kernel by; -1: there is none. */
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

static enum state
state_of(uint16_t port)
{
	struct ifreq request = {.ifr_ifindex = (int)ports[port].if_index};

	/* Of one that is gone nothing is said but that. */
	if (asking < 0 || ioctl(asking, SIOCGIFNAME, &request) != 0 ||
		ioctl(asking, SIOCGIFFLAGS, &request) != 0)
		return ports[port].state;
	return (request.ifr_flags & IFF_UP) == 0        ? IS_DOWN
	       : (request.ifr_flags & IFF_RUNNING) == 0 ? HAS_NO_CARRIER
							: IS_UP;
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
		/* The interface may be gone already. */
		if (if_indextoname(ports[port].if_index, ports[port].name) == NULL)
			strcpy(ports[port].name, "?");
		/* For all that is known it has been so for long. */
		ports[port].state = state_of(port);
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
	tripd_removal_say(plan);
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

/* Whether it is another than the one that was said, and has lasted. */
static bool
has_new_state(uint16_t port)
{
	return ports[port].state != ports[port].said_state &&
	       now_ns(CLOCK_MONOTONIC) - ports[port].state_ns >= STATE_LASTS_NS;
}

static bool
has_news(uint16_t port)
{
	enum state state;

	if (tripd_removal_of(port))
		return !ports[port].said;
	if (ports[port].if_index == 0)
		return false;
	if (has_gone(ports[port].if_index)) {
		tripd_removal_note(port);
		return true;
	}
	state = state_of(port);
	if (state != ports[port].state) {
		ports[port].state = state;
		ports[port].state_ns = now_ns(CLOCK_MONOTONIC);
	}
	return has_new_state(port);
}

bool
tripd_removal_check(const struct tripd_plan *plan)
{
	bool news = false;

	for (unsigned int i = 0; i < plan->n_ports; i++)
		news |= has_news(plan->ports[i].id);
	return news;
}

static void
say_port(uint16_t port, const char *what)
{
	char device[RTE_ETH_NAME_MAX_LEN];

	fprintf(stderr, "tripd: port %u (%s%s%s) %s\n", port, tripd_resolve_device(port, device),
		ports[port].if_index != 0 ? ", " : "", ports[port].name, what);
}

void
tripd_removal_say(const struct tripd_plan *plan)
{
	unsigned int left = plan->n_ports - tripd_removal_count(plan);

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t port = plan->ports[i].id;

		if (tripd_removal_of(port) && !ports[port].said) {
			ports[port].said = true;
			say_port(port, left == 0
					       ? "has been removed: nothing is received there any "
						 "more, and no port is left"
					       : "has been removed: nothing is received there any "
						 "more; the others go on");
		} else if (!tripd_removal_of(port) && has_new_state(port)) {
			ports[port].said_state = ports[port].state;
			say_port(port, states[ports[port].state]);
		}
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
