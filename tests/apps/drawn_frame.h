/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that the kernel has joined, drawn at random, for what divides and finishes them. */
#ifndef DRAWN_FRAME_H
#define DRAWN_FRAME_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trip_test.h"

#define FRAME_MAX 70000

/* A joined frame, and what it was drawn from. */
struct drawn {
	uint8_t bytes[FRAME_MAX];
	size_t l3, l4, payload, length;
	bool ipv6, tcp;
	struct virtio_net_hdr header;
};

/* One in a tunnel, as it is carried: with lengths and checksums that are right. */
struct tunnelled {
	struct drawn outer, inner;
	uint8_t protocol;
	/* Where the inner frame would begin, if it had an Ethernet header; where what there is of
	 * it begins. */
	size_t shift, at;
	struct virtio_net_hdr header;
};

/* TCP or UDP over IPv4 or IPv6, with tags and options. */
void frame_draw(struct trip_random *rng, struct drawn *drawn);

/* One such, in a tunnel. */
void frame_draw_tunnelled(struct trip_random *rng, struct tunnelled *drawn);

/* Draws a frame that is not joined, as it is on a wire. Returns its length. */
size_t frame_draw_right(struct trip_random *rng, struct drawn *drawn, uint8_t *frame);

/* What the kernel's senders leave of a frame's checksum: the sum of the pseudo header. */
uint16_t frame_pseudo(const struct drawn *drawn, const uint8_t *frame, size_t length);

#endif
