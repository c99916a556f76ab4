/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in packets. Which port a tunnel over UDP has is anybody's choice (Linux's own for VXLAN
 * is 8472), so its header is known by what it must say, and by the packet behind, which must be a
 * whole one. What merely looks so is left to the caller, who has more to ask of it.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "layers.h"

/* RFC 7348: one flag, and all else but the number zero; with a group policy another flag, and the
 * group in the second half of the word. */
#define VXLAN_NUMBER 0x08000000
#define VXLAN_POLICY 0x80000000
#define VXLAN_GROUP 0x0000ffff
#define VXLAN_BYTES 8
/* VXLAN-GPE: both flags, and in the last byte what is carried. */
#define VXLAN_TYPED 0x0c000000
/* RFC 8926. */
#define GENEVE_VERSION 0xc0
#define GENEVE_WORDS 0x3f
#define GENEVE_BYTES 8
/* RFC 3032. */
#define LABEL_BOTTOM 0x100
#define LABEL_BYTES 4
#define LABELS_MAX 8

/* Bytes up to `end`; where there are fewer, nothing is read. */
static bool
read_be32(const uint8_t *frame, size_t end, size_t at, uint32_t *word)
{
	rte_be32_t field;

	if (at + sizeof(field) > end)
		return false;
	memcpy(&field, frame + at, sizeof(field));
	*word = rte_be_to_cpu_32(field);
	return true;
}

/* One that says by itself which version it is, and is whole. */
static bool
find_ip(const uint8_t *frame, size_t end, size_t at, struct tripd_headers *inner)
{
	uint32_t first;
	uint8_t version;

	if (!read_be32(frame, end, at, &first))
		return false;
	version = (uint8_t)(first >> 28);
	if (version != 4 && version != 6)
		return false;
	if (!tripd_headers_find_ip(frame, end, at,
		    version == 6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4, inner) ||
		inner->l4 > inner->end || inner->end > end)
		return false;
	return inner->ipv6 || rte_raw_cksum(frame + inner->l3, inner->l4 - inner->l3) == 0xffff;
}

static bool
find_labelled(const uint8_t *frame, size_t end, size_t at, struct tripd_headers *inner)
{
	uint32_t label;

	for (unsigned int n = 0; n < LABELS_MAX; n++) {
		if (!read_be32(frame, end, at, &label))
			return false;
		at += LABEL_BYTES;
		if ((label & LABEL_BOTTOM) != 0)
			return find_ip(frame, end, at, inner);
	}
	return false;
}

static bool
find_typed(const uint8_t *frame, size_t end, size_t at, uint16_t type, struct tripd_headers *inner)
{
	if (type == RTE_ETHER_TYPE_TEB)
		at = tripd_headers_skip_tags(frame, end, at, &type);
	if (type == RTE_ETHER_TYPE_MPLS || type == RTE_ETHER_TYPE_MPLSM)
		return find_labelled(frame, end, at, inner);
	return (type == RTE_ETHER_TYPE_IPV4 || type == RTE_ETHER_TYPE_IPV6) &&
	       find_ip(frame, end, at, inner) && inner->ipv6 == (type == RTE_ETHER_TYPE_IPV6);
}

static bool
find_in_gre(const uint8_t *frame, size_t end, size_t at, struct tripd_headers *inner)
{
	uint32_t word;
	uint16_t flags;

	if (!read_be32(frame, end, at, &word))
		return false;
	flags = (uint16_t)(word >> 16);
	/* Routes, and versions but 0, are not looked behind. */
	if ((flags & ~(TRIPD_GRE_CHECKSUM | TRIPD_GRE_KEY | TRIPD_GRE_SEQUENCE)) != 0)
		return false;
	at += TRIPD_GRE_BYTES;
	at += (flags & TRIPD_GRE_CHECKSUM) != 0 ? 4 : 0;
	at += (flags & TRIPD_GRE_KEY) != 0 ? 4 : 0;
	at += (flags & TRIPD_GRE_SEQUENCE) != 0 ? 4 : 0;
	return find_typed(frame, end, at, (uint16_t)word, inner);
}

/* Sets the type of what VXLAN carries. */
static bool
is_vxlan(uint32_t first, uint32_t second, uint16_t *type)
{
	static const uint16_t types[] = {
		0, RTE_ETHER_TYPE_IPV4, RTE_ETHER_TYPE_IPV6, RTE_ETHER_TYPE_TEB};
	uint32_t next = first - VXLAN_TYPED;

	*type = next < RTE_DIM(types) ? types[next] : RTE_ETHER_TYPE_TEB;
	return (second & 0xff) == 0 &&
	       (first == VXLAN_NUMBER || next < RTE_DIM(types) ||
		       (first & ~VXLAN_GROUP) == (VXLAN_NUMBER | VXLAN_POLICY));
}

/* The headers exclude each other: where VXLAN has zeroes, Geneve has the type of what it carries,
 * and neither can be taken for a version of IP. */
static bool
find_in_udp(const uint8_t *frame, size_t end, size_t at, struct tripd_headers *inner)
{
	uint32_t first, second;
	size_t options;
	uint16_t type;

	if (!read_be32(frame, end, at, &first) || !read_be32(frame, end, at + 4, &second))
		return false;
	if (is_vxlan(first, second, &type))
		return find_typed(frame, end, at + VXLAN_BYTES, type, inner);
	options = (first >> 24 & GENEVE_WORDS) * 4;
	if ((first >> 24 & GENEVE_VERSION) == 0 && (second & 0xff) == 0 &&
		find_typed(frame, end, at + GENEVE_BYTES + options, (uint16_t)first, inner))
		return true;
	return find_ip(frame, end, at, inner) || find_labelled(frame, end, at, inner);
}

static bool
find_inner(const uint8_t *frame, const struct tripd_headers *outer, struct tripd_headers *inner)
{
	switch (outer->protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
		return find_ip(frame, outer->end, outer->l4, inner);
	case IPPROTO_MPLS:
		return find_labelled(frame, outer->end, outer->l4, inner);
	case IPPROTO_GRE:
		return find_in_gre(frame, outer->end, outer->l4, inner);
	case IPPROTO_UDP:
		return find_in_udp(
			frame, outer->end, outer->l4 + sizeof(struct rte_udp_hdr), inner);
	default:
		return false;
	}
}

static bool
find_first(const uint8_t *frame, size_t length, struct tripd_headers *headers)
{
	if (tripd_headers_find(frame, length, headers))
		return headers->l4 <= headers->end && headers->end <= length;
	return find_typed(frame, length, 0, RTE_ETHER_TYPE_TEB, headers);
}

/* UDP's checksum ends where UDP does by its own word, as does what it carries. */
static void
end_udp(const uint8_t *frame, struct tripd_headers *headers)
{
	struct rte_udp_hdr udp = {0};
	size_t length;

	if (headers->protocol != IPPROTO_UDP)
		return;
	if (headers->end - headers->l4 >= sizeof(udp))
		memcpy(&udp, frame + headers->l4, sizeof(udp));
	length = rte_be_to_cpu_16(udp.dgram_len);
	if (length < sizeof(udp) || length > headers->end - headers->l4)
		length = 0;
	headers->end = headers->l4 + length;
}

unsigned int
tripd_layers_find(
	const uint8_t *frame, size_t length, struct tripd_headers layers[TRIPD_LAYERS_MAX])
{
	unsigned int n = 0;
	bool found = find_first(frame, length, &layers[0]);

	while (found) {
		end_udp(frame, &layers[n]);
		if (++n == TRIPD_LAYERS_MAX)
			break;
		found = find_inner(frame, &layers[n - 1], &layers[n]);
	}
	return n;
}
