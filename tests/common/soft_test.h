/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames and mbufs for tests of the software flow engine, without an EAL. Each segment's buffer is
 * a heap block of exactly its length, so that AddressSanitizer sees any byte read past it. A
 * reference count of 2 stands for "alive": freeing makes it 1 and touches no mempool.
 */
#ifndef SOFT_TEST_H
#define SOFT_TEST_H

#include <rte_mbuf.h>

#include "trip_test.h"

#define FRAME_MAX 512

/* All that a parser can be asked for, of packets received. */
#define WANTS (TRIP_WANT_MORE | TRIP_WANT_TUNNEL)

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t length;
};

static inline void
frame_put(struct frame *frame, const void *bytes, uint32_t length)
{
	assert_true(frame->length + length <= FRAME_MAX);
	memcpy(frame->bytes + frame->length, bytes, length);
	frame->length += length;
}

static inline void
frame_put16(struct frame *frame, uint16_t value)
{
	uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	frame_put(frame, bytes, 2);
}

/* Both addresses; the EtherType, or a tag, comes next. */
static inline void
frame_eth(struct frame *frame)
{
	static const uint8_t addresses[12] = {0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2};

	frame->length = 0;
	frame_put(frame, addresses, sizeof(addresses));
}

static inline void
frame_tag(struct frame *frame, uint16_t tpid, uint16_t tci)
{
	frame_put16(frame, tpid);
	frame_put16(frame, tci);
}

struct frame_ip {
	uint8_t src; /* last byte of 10.0.0.x or fd00::x */
	uint8_t dst;
	uint8_t proto;
	uint8_t ttl;
	uint16_t fragment; /* flags and offset, of IPv4 */
	uint8_t options;   /* 32-bit words of IPv4 options */
};

static inline void
frame_ipv4(struct frame *frame, struct frame_ip ip)
{
	uint8_t header[20] = {0x45, 0x10, 0, 100, 0, 7, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, 0};
	static const uint8_t options[40];

	header[0] = (uint8_t)(header[0] + ip.options);
	header[6] = (uint8_t)(ip.fragment >> 8);
	header[7] = (uint8_t)ip.fragment;
	header[8] = ip.ttl;
	header[9] = ip.proto;
	header[15] = ip.src;
	header[19] = ip.dst;
	frame_put16(frame, 0x0800);
	frame_put(frame, header, sizeof(header));
	frame_put(frame, options, 4u * ip.options);
}

static inline void
frame_ipv6(struct frame *frame, struct frame_ip ip)
{
	uint8_t header[40] = {0x60, 0, 0, 0, 0, 60, 0, 0, 0xfd};

	header[6] = ip.proto;
	header[7] = ip.ttl;
	header[23] = ip.src;
	header[24] = 0xfd;
	header[39] = ip.dst;
	frame_put16(frame, 0x86dd);
	frame_put(frame, header, sizeof(header));
}

/* Ports, and what of TCP, UDP or ICMP follows; 20 bytes serve all three. */
static inline void
frame_l4(struct frame *frame, uint16_t src, uint16_t dst)
{
	static const uint8_t rest[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0x50, 0x02, 1, 2};

	frame_put16(frame, src);
	frame_put16(frame, dst);
	frame_put(frame, rest, sizeof(rest));
}

/* One segment of exactly these bytes. */
static inline struct rte_mbuf *
mbuf_segment(const uint8_t *bytes, uint32_t length)
{
	struct rte_mbuf *mbuf = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*mbuf));

	assert_non_null(mbuf);
	memset(mbuf, 0, sizeof(*mbuf));
	mbuf->buf_addr = malloc(length > 0 ? length : 1);
	assert_non_null(mbuf->buf_addr);
	if (length > 0)
		memcpy(mbuf->buf_addr, bytes, length);
	mbuf->buf_len = (uint16_t)length;
	mbuf->data_len = (uint16_t)length;
	mbuf->pkt_len = length;
	mbuf->nb_segs = 1;
	rte_mbuf_refcnt_set(mbuf, 2);
	return mbuf;
}

static inline struct rte_mbuf *
mbuf_of(const struct frame *frame)
{
	return mbuf_segment(frame->bytes, frame->length);
}

/* Takes a packet of whole segments apart again. */
static inline void
mbuf_release(struct rte_mbuf *mbuf)
{
	while (mbuf != NULL) {
		struct rte_mbuf *next = mbuf->next;

		free(mbuf->buf_addr);
		free(mbuf);
		mbuf = next;
	}
}

#endif
