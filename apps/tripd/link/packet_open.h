/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PACKET_OPEN_H
#define TRIPD_PACKET_OPEN_H

/* One socket each: the kernel tells an error of either direction to whoever calls next, and drops
 * what was to be sent by that call. */
struct tripd_packet_fds {
	int receiver;
	int sender;
};

/*
 * Opens packet sockets on a network interface of the kernel, promiscuous and with room: each
 * message of the receiver is a frame that arrives, behind a struct virtio_net_hdr, with its tag
 * beside it (struct tpacket_auxdata); each of the sender is a frame. The sockets on that interface
 * which the driver of its port has opened get nothing any more. Returns 0, or a negative errno,
 * said on stderr.
 */
int tripd_packet_open(const char *ifname, struct tripd_packet_fds *fds);

void tripd_packet_close(const struct tripd_packet_fds *fds);

#endif
