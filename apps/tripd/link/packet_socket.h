/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PACKET_SOCKET_H
#define TRIPD_PACKET_SOCKET_H

#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;
struct tripd_losses;
struct tripd_packet_socket;

/* Opens a network interface of the kernel. It is promiscuous for as long as the socket is open,
 * which the kernel sees to, however this process ends. Returns 0, or a negative errno, said on
 * stderr. */
int tripd_packet_socket_open(
	const char *ifname, struct rte_mempool *pool, struct tripd_packet_socket **opened);

void tripd_packet_socket_close(struct tripd_packet_socket *opened);

/*
 * Receives up to n frames as they are on a wire: divided where the kernel carries several as one,
 * with their tags, with checksums, and none that this host sends. By one thread.
 */
uint16_t tripd_packet_socket_receive(
	struct tripd_packet_socket *opened, struct rte_mbuf **pkts, uint16_t n);

/* Sends the first of n frames, and takes those. By one thread, which may be another. Returns how
 * many: fewer where the interface is full. */
uint16_t tripd_packet_socket_send(
	struct tripd_packet_socket *opened, struct rte_mbuf **pkts, uint16_t n);

/* Adds what was lost since it was opened. By the control thread. */
void tripd_packet_socket_losses(struct tripd_packet_socket *opened, struct tripd_losses *losses);

#endif
