/* SPDX-License-Identifier: BSD-3-Clause */
/* From the headers of VXLAN and GRE into the packet that they carry: one level, no further. */
#include "packet_priv.h"

#define UDP_LENGTH 8
#define VXLAN_LENGTH 8
#define GRE_LENGTH 4

#define TYPE_ETHERNET 0x6558

#define GRE_CHECKSUM 0x8000
#define GRE_ROUTING 0x4000
#define GRE_KEY 0x2000
#define GRE_SEQUENCE 0x1000
#define GRE_VERSION 0x0007

/* Of a header of which so many bytes are there. */
static uint32_t
header_bits(uint32_t length)
{
	return TRIP_MORE_HEADER(0) * ((1u << length) - 1);
}

static void
read_vxlan(struct trip_packet_stack *inner)
{
	uint8_t copy[VXLAN_LENGTH];
	const uint8_t *header;
	uint32_t length;

	inner->at += UDP_LENGTH;
	header = trip_packet_look(inner->window, inner->at, copy, sizeof(copy), &length);
	memcpy(inner->fields + TRIP_PLACE_TUNNEL, header, VXLAN_LENGTH);
	inner->more |= header_bits(length);
	inner->at += VXLAN_LENGTH;
	trip_packet_ethernet(inner, NULL, 0);
}

static void
read_gre(struct trip_packet_stack *inner)
{
	uint8_t copy[GRE_LENGTH];
	const uint8_t *header;
	uint16_t flags, type;
	uint32_t length;

	header = trip_packet_look(inner->window, inner->at, copy, sizeof(copy), &length);
	flags = trip_packet_be16(header);
	type = trip_packet_be16(header + 2);
	memcpy(inner->fields + TRIP_PLACE_TUNNEL, header, GRE_LENGTH);
	inner->more |= header_bits(length);
	/* Source routes (RFC 1701, withdrawn since) and PPTP's version 1 are not looked behind. */
	if (length < 4 || (flags & (GRE_ROUTING | GRE_VERSION)) != 0)
		return;
	inner->at += GRE_LENGTH;
	inner->at += (flags & GRE_CHECKSUM) != 0 ? 4 : 0;
	inner->at += (flags & GRE_KEY) != 0 ? 4 : 0;
	inner->at += (flags & GRE_SEQUENCE) != 0 ? 4 : 0;
	if (type == TYPE_ETHERNET)
		trip_packet_ethernet(inner, NULL, 0);
	else
		trip_packet_ip(inner, type);
}

void
trip_packet_inner(const struct trip_packet_stack *outer, struct trip_packet_fields *fields)
{
	struct trip_packet_stack inner = {.window = outer->window,
		.fields = fields->bytes + TRIP_PLACE_INNER,
		.at = outer->at};

	if (outer->tunnel == TRIP_TUNNEL_VXLAN)
		read_vxlan(&inner);
	else
		read_gre(&inner);
	memcpy(inner.fields + TRIP_PLACE_BITS, &inner.bits, sizeof(inner.bits));
	memcpy(inner.fields + TRIP_PLACE_MORE, &inner.more, sizeof(inner.more));
}
