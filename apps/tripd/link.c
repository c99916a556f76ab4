/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links: what lies between a port and its forwarder, and differs by driver. Which drivers need what
 * is known here alone.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "link.h"
#include "packet_socket.h"

static bool
is_driver(const struct rte_eth_dev_info *info, const char *name)
{
	return strcmp(info->driver_name, name) == 0;
}

int
tripd_link_open(struct tripd_link *link, uint16_t port, struct rte_mempool *pool)
{
	char ifname[IF_NAMESIZE] = "";
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port, &info);

	*link = (struct tripd_link){.port = port};
	if (ret != 0 || info.if_index == 0 || if_indextoname(info.if_index, ifname) == NULL)
		return 0;
	if (is_driver(&info, "net_af_packet"))
		return tripd_packet_socket_open(ifname, pool, &link->socket);
	return 0;
}

void
tripd_link_close(struct tripd_link *link)
{
	if (link->socket != NULL)
		tripd_packet_socket_close(link->socket);
	link->socket = NULL;
}

uint16_t
tripd_link_receive(struct tripd_link *link, struct rte_mbuf **pkts, uint16_t n)
{
	if (link->socket != NULL)
		return tripd_packet_socket_receive(link->socket, pkts, n);
	return rte_eth_rx_burst(link->port, 0, pkts, n);
}

uint16_t
tripd_link_send(struct tripd_link *link, struct rte_mbuf **pkts, uint16_t n)
{
	return link->socket != NULL ? tripd_packet_socket_send(link->socket, pkts, n)
				    : rte_eth_tx_burst(link->port, 0, pkts, n);
}
