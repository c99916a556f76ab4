/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links: what lies between a port and its forwarder, and differs by driver. Which drivers need what
 * is known here alone.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "checksum.h"
#include "link.h"
#include "packet_socket.h"
#include "start/fail.h"
#include "start/interface.h"
#include "start/options.h"
#include "start/plan.h"
#include "start/preflight.h"
#include "start/resolve.h"

static bool
is_driver(uint16_t port, const char *name)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port, &info) == 0 && strcmp(info.driver_name, name) == 0;
}

static bool
is_xdp(uint16_t port)
{
	return is_driver(port, "net_af_xdp");
}

uint16_t
tripd_link_queues(uint16_t port)
{
	struct rte_eth_dev_info info;

	/* They receive on the queues that their words name, be they configured or not. */
	return (is_xdp(port) || is_driver(port, "net_pcap")) &&
			       rte_eth_dev_info_get(port, &info) == 0
		       ? info.max_rx_queues
		       : 1;
}

unsigned int
tripd_link_interface(uint16_t port)
{
	struct rte_eth_dev_info info;

	return !is_driver(port, "net_tap") && rte_eth_dev_info_get(port, &info) == 0 ? info.if_index
										     : 0;
}

bool
tripd_link_copies(uint16_t port)
{
	return is_driver(port, "net_af_packet") || is_driver(port, "net_pcap");
}

bool
tripd_link_has_times(uint16_t port)
{
	struct rte_eth_dev_info info;
	const struct rte_devargs *words;

	if (!is_driver(port, "net_pcap") || rte_eth_dev_info_get(port, &info) != 0)
		return false;
	words = rte_dev_devargs(info.device);
	return words == NULL || words->args == NULL || strstr(words->args, "infinite_rx=1") == NULL;
}

uint16_t
tripd_link_descriptors(uint16_t port)
{
	/* As many as its fill ring lends to the kernel, or the kernel drops what finds no room, and
	 * the driver counts none of that. */
	return is_xdp(port) ? TRIPD_XDP_DESCRIPTORS : TRIPD_DESCRIPTORS;
}

/* Queues of an interface that planned ports take; one port may have the first, another the second.
 */
static unsigned int
count_taken(const struct tripd_plan *plan, unsigned int if_index)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < plan->n_ports; i++)
		if (is_xdp(plan->ports[i].id) &&
			tripd_link_interface(plan->ports[i].id) == if_index)
			n += tripd_link_queues(plan->ports[i].id);
	return n;
}

/* Whatever its names are, and whoever made the ports. */
static int
check_alone(const struct tripd_plan *plan, uint16_t port)
{
	unsigned int if_index = tripd_link_interface(port);
	char own_name[RTE_ETH_NAME_MAX_LEN], name[RTE_ETH_NAME_MAX_LEN];
	char ifname[IF_NAMESIZE];

	if (if_index == 0 || if_indextoname(if_index, ifname) == NULL)
		return 0;
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t other = plan->ports[i].id;

		if (other == port || tripd_link_interface(other) != if_index ||
			(is_xdp(port) && is_xdp(other)))
			continue;
		return tripd_fail(TRIPD_EXIT_USAGE,
			"port %u (%s) and port %u (%s) are both on %s, and its packets would not "
			"count once: leave out one of them",
			port, tripd_resolve_device(port, own_name), other,
			tripd_resolve_device(other, name), ifname);
	}
	return 0;
}

static int
check_queues(const struct tripd_plan *plan, uint16_t port)
{
	unsigned int if_index = tripd_link_interface(port), has, taken;
	char ifname[IF_NAMESIZE];
	const char *word;

	if (!is_xdp(port) || if_indextoname(if_index, ifname) == NULL)
		return 0;
	has = tripd_interface_queues(ifname, &word);
	taken = count_taken(plan, if_index);
	if (taken >= has)
		return 0;
	return tripd_fail(TRIPD_EXIT_USAGE,
		"port %u (net_af_xdp) takes %u of the %u queues of %s, and what arrives on the "
		"others would not be counted: ethtool -L %s %s %u, or take them all by "
		"queue_count or start_queue",
		port, taken, has, ifname, ifname, word, taken);
}

int
tripd_link_check(const struct tripd_plan *plan, uint16_t port)
{
	int ret = check_alone(plan, port);

	return ret == 0 ? check_queues(plan, port) : ret;
}

/* An XDP socket is promiscuous as a packet socket is: the driver's way would outlast tripd. */
static int
hold(struct tripd_link *link, const char *ifname)
{
	int ret;

	/* Of no protocol, so it receives nothing. */
	link->held_by = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	link->is_held = link->held_by >= 0;
	ret = link->is_held ? tripd_interface_hold(link->held_by, ifname) : -errno;
	return ret == 0 ? 0 : tripd_fail(ret, "promiscuous mode of %s: %s", ifname, strerror(-ret));
}

int
tripd_link_open(struct tripd_link *link, uint16_t port, uint16_t n_queues, struct rte_mempool *pool)
{
	char ifname[IF_NAMESIZE] = "";
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port, &info);
	bool packet, xdp;

	*link = (struct tripd_link){.port = port, .n_queues = n_queues};
	if (ret != 0 || info.if_index == 0 || if_indextoname(info.if_index, ifname) == NULL)
		return 0;
	packet = is_driver(port, "net_af_packet");
	xdp = is_xdp(port);
	if ((packet || xdp) && tripd_interface_is_promiscuous(ifname))
		snprintf(link->promiscuous, sizeof(link->promiscuous), "%s", ifname);
	if (packet)
		return tripd_packet_socket_open(ifname, pool, &link->socket);
	if (is_driver(port, "net_tap"))
		snprintf(link->tap, sizeof(link->tap), "%s", ifname);
	/* No wire has seen these frames: what their sender has left to its device nobody has done.
	 */
	link->finishes = xdp && tripd_interface_is_veth(ifname);
	return xdp ? hold(link, ifname) : 0;
}

void
tripd_link_close(struct tripd_link *link)
{
	if (link->socket != NULL)
		tripd_packet_socket_close(link->socket);
	link->socket = NULL;
	if (link->is_held)
		close(link->held_by);
	link->is_held = false;
	if (link->enabled)
		rte_eth_promiscuous_disable(link->port);
	link->enabled = false;
}

uint16_t
tripd_link_receive(struct tripd_link *link, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t received, i;

	if (link->socket != NULL)
		return tripd_packet_socket_receive(link->socket, pkts, n);
	received = rte_eth_rx_burst(link->port, queue, pkts, n);
	for (i = 0; link->finishes && i < received; i++)
		if (!tripd_checksum_finish_if_left(pkts[i]))
			tripd_link_count(&link->unfinished, 1);
	return received;
}

uint16_t
tripd_link_send(struct tripd_link *link, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = link->socket != NULL ? tripd_packet_socket_send(link->socket, pkts, n)
					     : rte_eth_tx_burst(link->port, 0, pkts, n);

	if (sent < n)
		tripd_link_count(&link->full, n - sent);
	return sent;
}

/* Since ever. A device that was removed does not answer, nor is a tap's interface found that was
 * moved to another network: what they said last stays, as no loss is undone. */
static void
read_losses(struct tripd_link *link, struct tripd_losses *losses)
{
	struct rte_eth_stats stats;

	*losses = (struct tripd_losses){
		.frames[TRIPD_LOSS_UNSENT] =
			atomic_load_explicit(&link->full, memory_order_relaxed),
	};
	if (link->socket != NULL) {
		tripd_packet_socket_losses(link->socket, losses);
		return;
	}
	if (rte_eth_stats_get(link->port, &stats) == 0)
		link->by_driver = (struct tripd_losses){{
			[TRIPD_LOSS_MISSED] = stats.imissed,
			[TRIPD_LOSS_NO_BUFFER] = stats.rx_nombuf,
			[TRIPD_LOSS_ERRORS] = stats.ierrors,
		}};
	/* What its kernel sends is what we receive. */
	if (link->tap[0] != '\0')
		tripd_interface_unsent(link->tap, &link->unsent);
	for (unsigned int i = 0; i < TRIPD_LOSSES; i++)
		losses->frames[i] += link->by_driver.frames[i];
	losses->frames[TRIPD_LOSS_MISSED] += link->unsent;
	losses->frames[TRIPD_LOSS_UNFINISHED] =
		atomic_load_explicit(&link->unfinished, memory_order_relaxed);
}

int
tripd_link_started(struct tripd_link *link)
{
	int ret = 0;

	if (link->promiscuous[0] != '\0')
		tripd_interface_make_promiscuous(link->promiscuous);
	if (link->socket == NULL && !link->is_held && rte_eth_promiscuous_get(link->port) == 0) {
		ret = rte_eth_promiscuous_enable(link->port);
		link->enabled = ret == 0;
	}
	read_losses(link, &link->before);
	return ret == -ENOTSUP ? 0 : ret;
}

void
tripd_link_losses(struct tripd_link *link, struct tripd_losses *losses)
{
	read_losses(link, losses);
	for (unsigned int i = 0; i < TRIPD_LOSSES; i++)
		losses->frames[i] -= link->before.frames[i];
}
