/* SPDX-License-Identifier: BSD-3-Clause */
/* The long way of reading a packet, header by header, through whatever segments it is in. */
#ifndef TRIP_PACKET_PRIV_H
#define TRIP_PACKET_PRIV_H

#include <trip_flow_item.h>

#include "packet.h"

/* Behind more of these than a network has, nothing is looked for. */
#define TRIP_PACKET_TAGS_MAX 8
#define TRIP_PACKET_EXTENSIONS_MAX 16
#define TRIP_PACKET_LABELS_MAX 16

/* The segment of a packet that was read last. */
struct trip_packet_window {
	const struct rte_mbuf *first;
	const struct rte_mbuf *segment;
	const uint8_t *data;
	uint32_t begin; /* the bytes of the packet that are in it */
	uint32_t end;
	uint32_t behind; /* segments */
};

/* A stack of headers, outer or inner, of which some have been read. */
struct trip_packet_stack {
	struct trip_packet_window *window;
	uint8_t *fields;
	uint32_t at; /* where the next header begins */
	uint32_t bits;
	uint32_t more;
	/* The last number that was read of what comes next, at `at` or, of a port, behind UDP. */
	enum trip_flow_announcer announcer;
	uint16_t number;
};

static inline uint16_t
trip_packet_be16(const uint8_t *from)
{
	return (uint16_t)(from[0] << 8 | from[1]);
}

uint32_t trip_packet_window_take(
	struct trip_packet_window *window, uint32_t at, uint8_t *to, uint32_t count);

/* `count` bytes at `at`, of which there are *there, and zeros behind them: where they lie, or in
 * `copy` where they do not lie together. */
static inline const uint8_t *
trip_packet_look(struct trip_packet_window *window, uint32_t at, uint8_t *copy, uint32_t count,
	uint32_t *there)
{
	if (unlikely(at < window->begin || at + count > window->end)) {
		*there = trip_packet_window_take(window, at, copy, count);
		return copy;
	}
	*there = count;
	return window->data + (at - window->begin);
}

/* `mbuf` is that of the outer frame, which may have tags beside its bytes, or NULL. Returns how
 * many bytes those tags have on the wire. */
uint32_t trip_packet_ethernet(
	struct trip_packet_stack *stack, const struct rte_mbuf *mbuf, uint32_t wants);
void trip_packet_ip(struct trip_packet_stack *stack, uint16_t type);
void trip_packet_ipv6(struct trip_packet_stack *stack);
/* The presence bits of what a protocol number announces, where all of that is there. */
uint32_t trip_packet_protocol(uint8_t protocol, bool ipv6);
/* `header`: it is in this packet, at `at`, as far as that goes. */
void trip_packet_l4(struct trip_packet_stack *stack, uint8_t protocol, bool header, bool ipv6);
/* False: what comes next is no tunnel. */
bool trip_packet_inner(const struct trip_packet_stack *outer, struct trip_packet_fields *fields);
/* AH, in the same terms as L4. */
void trip_packet_auth(struct trip_packet_stack *stack, bool header);

/* Which bits of what both IP versions have in their first four bytes are there. */
static inline uint32_t
trip_packet_first_bits(uint32_t length)
{
	return (length >= 1 ? TRIP_HAS_IP_FIRST0 : 0) | (length >= 2 ? TRIP_HAS_IP_FIRST1 : 0) |
	       (length >= 4 ? TRIP_HAS_IP_FIRST : 0);
}

#endif
