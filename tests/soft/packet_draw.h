/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames, patterns and mbufs drawn from a source of numbers: a random one, or the input of a
 * fuzzer. Frames are mostly what headers say they are, and often lie.
 */
#ifndef PACKET_DRAW_H
#define PACKET_DRAW_H

#include <stdint.h>

#include <rte_flow.h>
#include <rte_mbuf.h>

#define DRAW_FRAME_MAX 1024
#define DRAW_ITEMS_MAX 16
#define DRAW_ITEM_SIZE 64

/* below(arg, n): 0 .. n - 1. */
struct draw {
	uint32_t (*below)(void *arg, uint32_t n);
	void *arg;
};

struct draw_frame {
	uint8_t bytes[DRAW_FRAME_MAX];
	uint32_t length;
};

struct draw_pattern {
	struct rte_flow_item items[DRAW_ITEMS_MAX];
	uint8_t specs[DRAW_ITEMS_MAX][DRAW_ITEM_SIZE];
	uint8_t masks[DRAW_ITEMS_MAX][DRAW_ITEM_SIZE];
};

void draw_frame(struct draw *draw, struct draw_frame *frame);

/* One that the compiler takes; its values are mostly those of the frame. */
void draw_pattern(struct draw *draw, const struct draw_frame *frame, struct draw_pattern *pattern);

/*
 * An mbuf of that frame, in up to eight segments of exactly their bytes, with tags of the frame
 * moved beside it and lengths that lie; mbuf_release() of soft_test.h takes it apart. The frame is
 * cut to what the mbuf says of it. *sent: the tags are such as Tx puts in.
 */
struct rte_mbuf *draw_mbuf(struct draw *draw, struct draw_frame *frame, uint32_t *sent);

#endif
