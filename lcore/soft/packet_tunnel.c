/* SPDX-License-Identifier: BSD-3-Clause */
/* From the header of a tunnel into the packet that it carries: one level, no further. */
#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_geneve.h>
#include <rte_gtp.h>
#include <rte_vxlan.h>

#include "packet_priv.h"

#define UDP_LENGTH 8

#define GRE_CHECKSUM 0x8000
#define GRE_ROUTING 0x4000
#define GRE_KEY 0x2000
#define GRE_SEQUENCE 0x1000
#define GRE_VERSION 0x0007

#define GENEVE_VERSION 0xc0
#define GENEVE_WORDS 0x3f

/* GTP version 1, and not GTP'. */
#define GTP_KIND 0xf0
#define GTP_USER 0x30
#define GTP_HAS_EXTENSION 0x04
#define GTP_HAS_ANY 0x07 /* extension, sequence number or N-PDU number: then room for all three */
#define GTP_PACKET 255
#define GTP_SESSION 0x85
#define GTP_EXTENSIONS_MAX 8

#define PPPOE_DATA 0x1100 /* version, type, and the code 0 */
#define PPP_IPV4 0x0021
#define PPP_IPV6 0x0057

/* Reads the first bytes of the tunnel's header, at most 8, and stands behind them. Returns how many
 * there are; the others are zeros. */
static uint32_t
read_header(struct trip_packet_stack *inner, uint32_t count)
{
	const uint8_t *header;
	uint8_t copy[8];
	uint32_t length;

	header = trip_packet_look(inner->window, inner->at, copy, count, &length);
	memcpy(inner->fields + TRIP_PLACE_TUNNEL, header, count);
	inner->more |= TRIP_MORE_HEADER(0) * ((1u << length) - 1);
	inner->at += count;
	return length;
}

/* IP whose version nothing but itself tells. */
static void
read_ip(struct trip_packet_stack *inner)
{
	uint32_t length;
	uint8_t copy;
	const uint8_t *first = trip_packet_look(inner->window, inner->at, &copy, 1, &length);

	if (length == 1 && *first >> 4 == 4)
		trip_packet_ip(inner, RTE_ETHER_TYPE_IPV4);
	else if (length == 1 && *first >> 4 == 6)
		trip_packet_ip(inner, RTE_ETHER_TYPE_IPV6);
}

static void
read_typed(struct trip_packet_stack *inner, uint16_t type)
{
	if (type == RTE_ETHER_TYPE_TEB)
		trip_packet_ethernet(inner, NULL, 0);
	else
		trip_packet_ip(inner, type);
}

static void
enter_vxlan(struct trip_packet_stack *inner, const uint8_t *header)
{
	read_header(inner, 8);
	trip_packet_ethernet(inner, NULL, 0);
}

static void
enter_geneve(struct trip_packet_stack *inner, const uint8_t *header)
{
	if (read_header(inner, 8) < 4 || (header[0] & GENEVE_VERSION) != 0)
		return;
	inner->at += (header[0] & GENEVE_WORDS) * 4u;
	read_typed(inner, trip_packet_be16(header + 2));
}

static void
enter_gre(struct trip_packet_stack *inner, const uint8_t *header)
{
	uint32_t length = read_header(inner, 4);
	uint16_t flags = trip_packet_be16(header);

	/* Source routes (RFC 1701, withdrawn since) and PPTP's version 1 are not looked behind. */
	if (length < 4 || (flags & (GRE_ROUTING | GRE_VERSION)) != 0)
		return;
	inner->at += (flags & GRE_CHECKSUM) != 0 ? 4 : 0;
	inner->at += (flags & GRE_KEY) != 0 ? 4 : 0;
	inner->at += (flags & GRE_SEQUENCE) != 0 ? 4 : 0;
	read_typed(inner, trip_packet_be16(header + 2));
}

/* False: what is behind them cannot be found. */
static bool
walk_gtp_extensions(struct trip_packet_stack *inner, uint8_t type)
{
	for (unsigned int n = 0; type != 0; n++) {
		const uint8_t *bytes;
		uint32_t length;
		uint8_t copy[3];

		if (n == GTP_EXTENSIONS_MAX)
			return false;
		bytes = trip_packet_look(inner->window, inner->at, copy, sizeof(copy), &length);
		if (type == GTP_SESSION && (inner->more & TRIP_MORE_SESSION) == 0) {
			memcpy(inner->fields + TRIP_PLACE_SESSION, bytes, sizeof(copy));
			inner->more |= TRIP_MORE_SESSION |
				       TRIP_MORE_SESSION_BYTE(0) * ((1u << length) - 1);
		}
		/* Words, the next one's type at their end. One of none would lead to itself. */
		if (bytes[0] == 0)
			return false;
		inner->at += bytes[0] * 4u;
		bytes = trip_packet_look(inner->window, inner->at - 1, copy, 1, &length);
		if (length == 0)
			return false;
		type = bytes[0];
	}
	return true;
}

static void
enter_gtpu(struct trip_packet_stack *inner, const uint8_t *header)
{
	uint32_t there = read_header(inner, 8);
	const uint8_t *more;
	uint8_t copy[4];

	if (there < 8 || (header[0] & GTP_KIND) != GTP_USER)
		return;
	if ((header[0] & GTP_HAS_ANY) != 0) {
		more = trip_packet_look(inner->window, inner->at, copy, sizeof(copy), &there);
		inner->at += sizeof(copy);
		if ((header[0] & GTP_HAS_EXTENSION) != 0 &&
			(there < 4 || !walk_gtp_extensions(inner, more[3])))
			return;
	}
	if (header[1] == GTP_PACKET)
		read_ip(inner);
}

/* Up to the bottom of the stack. */
static void
enter_mpls(struct trip_packet_stack *inner, const uint8_t *header)
{
	uint32_t at = inner->at, length = read_header(inner, 8);
	uint8_t copy[3];

	if (length >= 3 && (header[2] & 1) == 0)
		inner->more |= TRIP_MORE_DEEPER;
	inner->at = at;
	for (unsigned int n = 0; n < TRIP_PACKET_LABELS_MAX; n++) {
		const uint8_t *label =
			trip_packet_look(inner->window, inner->at, copy, sizeof(copy), &length);

		inner->at += 4;
		if (length < sizeof(copy))
			return;
		if ((label[2] & 1) != 0) {
			read_ip(inner);
			return;
		}
	}
}

/* What is not a session's data (RFC 2516) carries nothing. */
static void
enter_pppoe(struct trip_packet_stack *inner, const uint8_t *header)
{
	uint32_t length = read_header(inner, 8);

	if (length < 8 || trip_packet_be16(header) != PPPOE_DATA)
		return;
	if (trip_packet_be16(header + 6) == PPP_IPV4)
		trip_packet_ip(inner, RTE_ETHER_TYPE_IPV4);
	else if (trip_packet_be16(header + 6) == PPP_IPV6)
		trip_packet_ip(inner, RTE_ETHER_TYPE_IPV6);
}

/* What announces a tunnel, and what reads its header, which it leaves in `header`. */
static const struct door {
	enum trip_flow_announcer announcer;
	uint16_t number;
	void (*enter)(struct trip_packet_stack *inner, const uint8_t *header);
} doors[] = {
	{TRIP_FLOW_BY_UDP_PORT, RTE_VXLAN_DEFAULT_PORT, enter_vxlan},
	{TRIP_FLOW_BY_UDP_PORT, RTE_GENEVE_DEFAULT_PORT, enter_geneve},
	{TRIP_FLOW_BY_UDP_PORT, RTE_GTPU_UDP_PORT, enter_gtpu},
	{TRIP_FLOW_BY_PROTOCOL, IPPROTO_GRE, enter_gre},
	{TRIP_FLOW_BY_ETHERTYPE, RTE_ETHER_TYPE_MPLS, enter_mpls},
	{TRIP_FLOW_BY_ETHERTYPE, RTE_ETHER_TYPE_PPPOE_SESSION, enter_pppoe},
};

const bool trip_packet_tunnel_ports[256] = {
	[RTE_VXLAN_DEFAULT_PORT >> 8] = true,
	[RTE_GENEVE_DEFAULT_PORT >> 8] = true,
	[RTE_GTPU_UDP_PORT >> 8] = true,
};

bool
trip_packet_inner(const struct trip_packet_stack *outer, struct trip_packet_fields *fields)
{
	struct trip_packet_stack inner = {.window = outer->window,
		.fields = fields->bytes + TRIP_PLACE_INNER,
		.at = outer->at};
	const struct door *door = doors;

	while (door->announcer != outer->announcer || door->number != outer->number)
		if (++door == doors + RTE_DIM(doors))
			return false;
	if (door->announcer == TRIP_FLOW_BY_UDP_PORT) {
		inner.at += UDP_LENGTH;
	} else if (door->announcer == TRIP_FLOW_BY_ETHERTYPE) {
		memcpy(inner.fields + TRIP_PLACE_TUNNEL_TYPE, &door->number, 2);
		inner.more |= TRIP_MORE_TUNNEL_TYPE;
	}
	door->enter(&inner, inner.fields + TRIP_PLACE_TUNNEL);
	memcpy(inner.fields + TRIP_PLACE_BITS, &inner.bits, sizeof(inner.bits));
	memcpy(inner.fields + TRIP_PLACE_MORE, &inner.more, sizeof(inner.more));
	return true;
}
