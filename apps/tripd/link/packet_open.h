/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PACKET_OPEN_H
#define TRIPD_PACKET_OPEN_H

/*
 * Opens a packet socket on a network interface of the kernel, promiscuous and with room: each of
 * its messages is a frame that arrives, behind a struct virtio_net_hdr, with its tag beside it
 * (struct tpacket_auxdata). The sockets on that interface which the driver of its port has opened
 * get nothing any more.
 *
 * @return
 *   The socket, or a negative errno, said on stderr.
 */
int tripd_packet_open(const char *ifname);

#endif
