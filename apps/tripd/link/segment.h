/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_SEGMENT_H
#define TRIPD_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "headers.h"

/* Of a tunnel both ones, with all options of Geneve. */
#define TRIPD_SEGMENT_HEADERS_MAX 512

struct virtio_net_hdr;

/*
 * A joined frame: TCP or UDP that the kernel carries as one, for its sender's device to divide
 * (TSO, USO) or since it joined what arrived (GRO). On a wire it is many frames, and these are what
 * is counted and forwarded. In a tunnel each of them has all of the tunnel's headers.
 */
struct tripd_joined {
	const uint8_t *frame;
	size_t length;
	/* In a tunnel the inner ones. */
	struct tripd_headers headers;
	bool tunnelled;
	/* The outer ones. */
	struct tripd_headers tunnel;
	/* Where they all end. */
	size_t payload;
	/* Payload of each frame but the last one. */
	size_t size;
	/* CWR answers a mark of congestion. */
	bool answers;
	/* Payload that is divided already, and in how many frames. */
	size_t done;
	unsigned int n;
};

/* One of its frames: headers of its own, and a part of the joined one's payload. */
struct tripd_segment {
	uint8_t headers[TRIPD_SEGMENT_HEADERS_MAX];
	size_t n_headers;
	const uint8_t *payload;
	size_t n_payload;
};

/* Begins to divide a frame, which must stay where it is; its headers may be changed. Returns
 * whether it can be divided: TCP or UDP over IPv4 or IPv6, with any tags, and in one tunnel at
 * most: IP, GRE, or any over UDP such as VXLAN and Geneve. One that cannot is left as it is. */
bool tripd_joined_begin(struct tripd_joined *joined, uint8_t *frame, size_t length,
	const struct virtio_net_hdr *header);

/* Makes the next frame, checksums included. Returns false when there is none left. */
bool tripd_joined_next(struct tripd_joined *joined, struct tripd_segment *segment);

#endif
