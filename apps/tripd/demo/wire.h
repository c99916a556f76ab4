/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_WIRE_H
#define TRIPD_WIRE_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/* The demo's flows, sent by the kernel: UDP to two ports, echo requests, and markers. */
enum tripd_wire_flow {
	TRIPD_WIRE_DNS,
	TRIPD_WIRE_WEB,
	TRIPD_WIRE_PING,
	TRIPD_WIRE_MARKER,
	TRIPD_WIRE_FLOWS,
};

/* The kernel's ends of the two taps. */
struct tripd_wire {
	int sockets[TRIPD_WIRE_FLOWS];
	/* Sees every frame that comes out of the second tap. */
	int capture;
	struct sockaddr_in peers[TRIPD_WIRE_FLOWS];
	uint64_t sent[TRIPD_WIRE_FLOWS];
	uint64_t arrived[TRIPD_WIRE_FLOWS];
	/* The last marker that arrived. */
	uint32_t marker;
	uint16_t sequence;
};

/* Moves this process into a network of its own, which ends with it; the host's is not touched.
 * Before any thread is started. Says on stderr what fails. Returns 0, or a negative errno. */
int tripd_wire_unshare(void);

/* Gives the first tap an address and a neighbour, and opens the sockets. Likewise. */
int tripd_wire_open(struct tripd_wire *wire, const char *first, const char *second);

void tripd_wire_close(struct tripd_wire *wire);

/* Bytes of a frame of this flow, without FCS. */
size_t tripd_wire_frame(enum tripd_wire_flow flow);

/* Sends n packets of a flow. Returns 0 or a negative errno. */
int tripd_wire_send(struct tripd_wire *wire, enum tripd_wire_flow flow, unsigned int n);

/* Sends a marker behind all that was sent, and counts what arrives until it does: what was sent
 * before has arrived then, or never will. Returns 0, -ETIMEDOUT: it did not arrive within ten
 * seconds, -ENOBUFS: the capture lost frames, or what the kernel said. */
int tripd_wire_fence(struct tripd_wire *wire);

#endif
