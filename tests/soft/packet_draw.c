/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "packet_draw.h"
#include "packet_reference.h"

static uint32_t
below(struct draw *draw, uint32_t n)
{
	return draw->below(draw->arg, n);
}

#define PICK(draw, ...)                         \
	((const uint32_t[]){__VA_ARGS__}[below( \
		draw, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))])

static void
put8(struct draw_frame *frame, uint32_t value)
{
	if (frame->length < DRAW_FRAME_MAX)
		frame->bytes[frame->length++] = (uint8_t)value;
}

static void
put16(struct draw_frame *frame, uint32_t value)
{
	put8(frame, value >> 8);
	put8(frame, value);
}

static void
put_zeros(struct draw_frame *frame, uint32_t count)
{
	while (count-- > 0)
		put8(frame, 0);
}

static void put_ip(struct draw *draw, struct draw_frame *frame, bool ipv6, bool tunnels);

static void
put_mpls(struct draw *draw, struct draw_frame *frame)
{
	for (uint32_t left = PICK(draw, 1, 1, 2, 3, 16, 17); left > 0; left--) {
		put16(frame, PICK(draw, 0, 1, 0xffff));
		put8(frame, (below(draw, 16) << 4 & 0xf0) | below(draw, 2) << 3 | (left == 1));
		put8(frame, PICK(draw, 1, 64));
	}
	put_ip(draw, frame, below(draw, 2), below(draw, 4) == 0);
}

static void
put_ethernet(struct draw *draw, struct draw_frame *frame, bool tunnels)
{
	uint32_t tags = PICK(draw, 0, 0, 0, 1, 2, 3, 9), i;
	bool ipv6 = below(draw, 2);

	for (i = 0; i < 12; i++)
		put8(frame, i % 6 == 5 ? below(draw, 3) : 2);
	for (i = 0; i < tags; i++) {
		put16(frame, PICK(draw, 0x8100, 0x8100, 0x88a8, 0x9100));
		put16(frame, PICK(draw, 1, 2, 0x2001, 0xffff));
	}
	if (below(draw, 16) == 0) {
		put16(frame, PICK(draw, 0x0806, 46, 0x88b5));
		put_zeros(frame, 46);
		return;
	}
	if (tunnels && below(draw, 6) == 0) {
		put16(frame, 0x8847);
		put_mpls(draw, frame);
		return;
	}
	if (tunnels && below(draw, 6) == 0) {
		put16(frame, 0x8864);
		put16(frame, PICK(draw, 0x1100, 0x1100, 0x1100, 0x11a7));
		put16(frame, PICK(draw, 1, 2, 0xffff));
		put16(frame, 40);
		put16(frame, PICK(draw, ipv6 ? 0x57 : 0x21, ipv6 ? 0x57 : 0x21, 0xc021));
		put_ip(draw, frame, ipv6, below(draw, 4) == 0);
		return;
	}
	put16(frame, ipv6 ? 0x86dd : 0x0800);
	put_ip(draw, frame, ipv6, tunnels);
}

static void
put_vxlan(struct draw *draw, struct draw_frame *frame)
{
	put8(frame, PICK(draw, 8, 8, 0));
	put_zeros(frame, 3);
	put16(frame, 0);
	put16(frame, PICK(draw, 0x0500, 0x0501, 0xff00));
	put_ethernet(draw, frame, below(draw, 4) == 0);
}

static void
put_geneve(struct draw *draw, struct draw_frame *frame)
{
	uint32_t first = below(draw, 8) ? below(draw, 3) : below(draw, 256);
	uint32_t type = PICK(draw, 0x6558, 0x6558, 0x0800, 0x86dd, 0x88b5);

	put8(frame, first);
	put8(frame, below(draw, 2) << 7);
	put16(frame, type);
	put16(frame, 0);
	put16(frame, PICK(draw, 0x0500, 0x0501, 0xff00));
	put_zeros(frame, 4 * (first & 0x3f));
	if (type == 0x6558)
		put_ethernet(draw, frame, below(draw, 4) == 0);
	else
		put_ip(draw, frame, type == 0x86dd, below(draw, 4) == 0);
}

static void
put_gtpu(struct draw *draw, struct draw_frame *frame)
{
	uint32_t flags = PICK(draw, 0x30, 0x30, 0x34, 0x34, 0x36, 0x32, 0x31, 0x20, 0x54), type;

	put8(frame, flags);
	put8(frame, PICK(draw, 255, 255, 255, 255, 254, 1));
	put16(frame, PICK(draw, 0, 40, 0xffff));
	put16(frame, 0);
	put16(frame, below(draw, 3));
	type = PICK(draw, 0x85, 0x85, 0xc0, 0);
	if ((flags & 7) != 0) {
		put16(frame, 0);
		put8(frame, 0);
		put8(frame, type);
	}
	for (uint32_t left = 10; left > 0 && type != 0 && (flags & 4) != 0; left--) {
		uint32_t words = PICK(draw, 1, 1, 1, 1, 2, 2, 0, 100);

		put8(frame, words);
		for (uint32_t i = 2; i < 4 * words; i++)
			put8(frame, PICK(draw, 0, 9, 0x10));
		type = below(draw, 3) ? 0 : PICK(draw, 0x85, 0xc0);
		put8(frame, type);
	}
	put_ip(draw, frame, below(draw, 2), below(draw, 4) == 0);
}

static void
put_l4(struct draw *draw, struct draw_frame *frame, uint32_t protocol, bool tunnels)
{
	uint32_t i, flags, type;

	if (protocol == 47) {
		flags = below(draw, 8) ? below(draw, 16) << 12 & 0xb000 : below(draw, 0x10000);
		type = PICK(draw, 0x0800, 0x86dd, 0x6558, 0x880b);
		put16(frame, flags);
		put16(frame, type);
		put_zeros(frame, 4 * (uint32_t)__builtin_popcount(flags & 0xb000));
		if (type == 0x6558 && tunnels)
			put_ethernet(draw, frame, below(draw, 4) == 0);
		else if (tunnels)
			put_ip(draw, frame, type == 0x86dd, below(draw, 4) == 0);
		return;
	}
	put16(frame, PICK(draw, 53, 443, 0x0800, 0x8000));
	put16(frame, type = PICK(draw, 53, 443, 4789, 4789, 6081, 6081, 2152, 2152));
	for (i = 0; i < 4; i++)
		put8(frame, below(draw, 3));
	if (protocol == 17 && tunnels && type > 2000) {
		(type == 4789 ? put_vxlan : type == 6081 ? put_geneve : put_gtpu)(draw, frame);
		return;
	}
	for (i = 0; i < 14; i++)
		put8(frame, PICK(draw, 0, 2, 0x12));
}

static uint32_t
put_extension(struct draw *draw, struct draw_frame *frame, uint32_t kind)
{
	uint32_t next = PICK(draw, 6, 17, 17, 58, 132, 47, 0, 43, 44, 50, 51, 60, 135, 139, 140);
	uint32_t length = below(draw, 3), lie = below(draw, 24) == 0 ? below(draw, 256) : length;

	put8(frame, next);
	if (kind == 44) {
		put8(frame, lie);
		put16(frame, PICK(draw, 0, 0, 1, 8, 0xfff8, 6));
		put_zeros(frame, 4);
	} else {
		put8(frame, lie);
		put_zeros(frame, kind == 51 ? 4 * (length + 2) - 2 : 8 * (length + 1) - 2);
	}
	return next;
}

static void
put_ipv6(struct draw *draw, struct draw_frame *frame, bool tunnels)
{
	uint32_t next = PICK(draw, 6, 17, 17, 58, 132, 47, 1, 0, 43, 44, 50, 51, 60, 60), i;

	put8(frame, below(draw, 32) ? 0x60 : below(draw, 256));
	put_zeros(frame, 3);
	put16(frame, PICK(draw, 0, 8, 100, 0xffff));
	put8(frame, next);
	put8(frame, PICK(draw, 1, 64));
	for (i = 0; i < 32; i++)
		put8(frame, i % 16 == 0 ? 0xfd : i % 16 == 15 ? below(draw, 2) : 0);
	for (i = below(draw, 8) ? 6 : 20; i > 0; i--) {
		if (next != 0 && next != 43 && next != 44 && next != 51 && next != 60 &&
			next != 135 && next != 139 && next != 140)
			break;
		next = put_extension(draw, frame, next);
	}
	put_l4(draw, frame, next, tunnels);
}

static void
put_ipv4(struct draw *draw, struct draw_frame *frame, bool tunnels)
{
	uint32_t protocol = PICK(draw, 1, 6, 17, 17, 17, 47, 47, 58, 132, 4, 50, 51), i;
	uint32_t options = below(draw, 4) ? 0 : below(draw, 11);
	uint32_t words = below(draw, 16) ? 5 + options : below(draw, 16);

	put8(frame, 0x40 | words);
	put8(frame, PICK(draw, 0, 0xb8));
	put16(frame, PICK(draw, 20, 28, 100, 0xffff));
	put16(frame, below(draw, 4));
	put16(frame, PICK(draw, 0, 0, 0, 0x4000, 0x2000, 0x2001, 0x1fff));
	put8(frame, PICK(draw, 1, 64));
	put8(frame, protocol);
	put16(frame, 0);
	for (i = 0; i < 8; i++)
		put8(frame, i % 4 == 0 ? 10 : i % 4 == 3 ? below(draw, 3) : 0);
	put_zeros(frame, 4 * options);
	put_l4(draw, frame, protocol, tunnels);
}

static void
put_ip(struct draw *draw, struct draw_frame *frame, bool ipv6, bool tunnels)
{
	if (ipv6)
		put_ipv6(draw, frame, tunnels);
	else
		put_ipv4(draw, frame, tunnels);
}

void
draw_frame(struct draw *draw, struct draw_frame *frame)
{
	uint32_t damage;

	frame->length = 0;
	put_ethernet(draw, frame, true);
	for (damage = below(draw, 4) ? 0 : below(draw, 4); damage > 0; damage--)
		frame->bytes[below(draw, frame->length)] = (uint8_t)below(draw, 256);
	if (below(draw, 3) == 0)
		frame->length = below(draw, frame->length + 1);
}

static void
add_item(struct draw *draw, struct draw_pattern *pattern, uint32_t *count,
	enum rte_flow_item_type type)
{
	const uint8_t(*member)[2] = reference_members(type);
	uint32_t at = (*count)++;
	uint8_t *mask = pattern->masks[at];

	pattern->items[at] = (struct rte_flow_item){.type = type};
	if (below(draw, 3) == 0)
		return;
	pattern->items[at].spec = pattern->specs[at];
	if (below(draw, 8) == 0)
		return;
	pattern->items[at].mask = mask;
	for (; (*member)[1] != 0; member++)
		if (below(draw, 4) == 0)
			memset(mask + (*member)[0], below(draw, 4) ? 0xff : (int)below(draw, 256),
				(*member)[1]);
}

static void
add_flags(struct draw *draw, struct draw_pattern *pattern, uint32_t at)
{
	const struct rte_flow_item *item = &pattern->items[at];

	if (item->mask == NULL || below(draw, 2))
		return;
	if (item->type == RTE_FLOW_ITEM_TYPE_ETH) {
		((struct rte_flow_item_eth *)pattern->masks[at])->has_vlan = 1;
		((struct rte_flow_item_eth *)pattern->specs[at])->has_vlan = below(draw, 2) & 1;
	} else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6) {
		struct rte_flow_item_ipv6 *spec = (void *)pattern->specs[at];
		struct rte_flow_item_ipv6 *mask = (void *)pattern->masks[at];
		bool wanted = below(draw, 2);

#define EXTENSION(i, name)                       \
	case i:                                  \
		mask->has_##name##_ext = 1;      \
		spec->has_##name##_ext = wanted; \
		break
		switch (below(draw, 9)) {
			EXTENSION(0, hop);
			EXTENSION(1, route);
			EXTENSION(2, frag);
			EXTENSION(3, auth);
			EXTENSION(4, esp);
			EXTENSION(5, dest);
			EXTENSION(6, mobil);
			EXTENSION(7, hip);
			EXTENSION(8, shim6);
		}
#undef EXTENSION
	}
}

static void
add_tags(struct draw *draw, struct draw_pattern *pattern, uint32_t *count, uint32_t tags)
{
	uint32_t at = *count + tags - 1;

	for (; tags > 0; tags--)
		add_item(draw, pattern, count, RTE_FLOW_ITEM_TYPE_VLAN);
	if (at != UINT32_MAX && pattern->items[at].type == RTE_FLOW_ITEM_TYPE_VLAN &&
		pattern->items[at].mask != NULL && below(draw, 3) == 0) {
		((struct rte_flow_item_vlan *)pattern->masks[at])->has_more_vlan = 1;
		((struct rte_flow_item_vlan *)pattern->specs[at])->has_more_vlan =
			below(draw, 2) & 1;
	}
}

/* The number that a tunnel behind UDP has, or 0. */
static uint16_t
port_of(enum rte_flow_item_type type)
{
	return type == RTE_FLOW_ITEM_TYPE_VXLAN    ? 4789
	       : type == RTE_FLOW_ITEM_TYPE_GENEVE ? 6081
	       : type == RTE_FLOW_ITEM_TYPE_GTPU   ? 2152
						   : 0;
}

static bool
is_behind_ethernet(enum rte_flow_item_type type)
{
	return type == RTE_FLOW_ITEM_TYPE_MPLS || type == RTE_FLOW_ITEM_TYPE_PPPOES;
}

/* Returns whether what is behind it is Ethernet, or may be. */
static bool
add_tunnel(struct draw *draw, struct draw_pattern *pattern, uint32_t *count,
	enum rte_flow_item_type type)
{
	if (port_of(type) != 0 && *count > 0)
		add_item(draw, pattern, count, RTE_FLOW_ITEM_TYPE_UDP);
	add_item(draw, pattern, count, type);
	if (type == RTE_FLOW_ITEM_TYPE_MPLS && below(draw, 3) == 0)
		add_item(draw, pattern, count, RTE_FLOW_ITEM_TYPE_MPLS);
	if (type == RTE_FLOW_ITEM_TYPE_GTPU && below(draw, 3) == 0)
		add_item(draw, pattern, count, RTE_FLOW_ITEM_TYPE_GTP_PSC);
	return !is_behind_ethernet(type) && type != RTE_FLOW_ITEM_TYPE_GTPU;
}

/* Layers of one stack from a drawn one, not before `first`, to `last`. */
static void
add_stack(struct draw *draw, struct draw_pattern *pattern, uint32_t *count, uint32_t first,
	uint32_t last, bool ipv6)
{
	if (first == 0)
		add_item(draw, pattern, count, RTE_FLOW_ITEM_TYPE_ETH);
	if (first <= 1 && last >= 1)
		add_tags(draw, pattern, count,
			first == 1 ? 1 + below(draw, 2) : PICK(draw, 0, 0, 1, 2));
	if (first <= 2 && last >= 2)
		add_item(draw, pattern, count,
			ipv6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4);
}

static void
add_end(struct draw *draw, struct draw_pattern *pattern, uint32_t *count, uint32_t least)
{
	static const enum rte_flow_item_type l4[] = {RTE_FLOW_ITEM_TYPE_TCP, RTE_FLOW_ITEM_TYPE_UDP,
		RTE_FLOW_ITEM_TYPE_UDP, RTE_FLOW_ITEM_TYPE_SCTP, RTE_FLOW_ITEM_TYPE_ESP,
		RTE_FLOW_ITEM_TYPE_AH, RTE_FLOW_ITEM_TYPE_ICMP, RTE_FLOW_ITEM_TYPE_ICMP6};
	uint32_t first = least + below(draw, 4 - least), last = first + below(draw, 4 - first);
	bool ipv6 = below(draw, 2);
	enum rte_flow_item_type type;

	add_stack(draw, pattern, count, first, last, ipv6);
	if (last < 3)
		return;
	do {
		type = l4[below(draw, 8)];
		/* A source that has run dry says 0 for ever: tcp. */
	} while (first <= 2 && type == (ipv6 ? RTE_FLOW_ITEM_TYPE_ICMP : RTE_FLOW_ITEM_TYPE_ICMP6));
	add_item(draw, pattern, count, type);
}

void
draw_pattern(struct draw *draw, const struct draw_frame *frame, struct draw_pattern *pattern)
{
	uint32_t count = 0, i;

	memset(pattern, 0, sizeof(*pattern));
	if (below(draw, 2)) {
		enum rte_flow_item_type type = PICK(draw, RTE_FLOW_ITEM_TYPE_VXLAN,
			RTE_FLOW_ITEM_TYPE_GRE, RTE_FLOW_ITEM_TYPE_GENEVE, RTE_FLOW_ITEM_TYPE_GTPU,
			RTE_FLOW_ITEM_TYPE_MPLS, RTE_FLOW_ITEM_TYPE_PPPOES);
		bool ethernet;

		add_stack(draw, pattern, &count, below(draw, 4), is_behind_ethernet(type) ? 1 : 2,
			below(draw, 2));
		ethernet = add_tunnel(draw, pattern, &count, type);
		if (below(draw, 8))
			add_end(draw, pattern, &count, ethernet ? 0 : 2);
	} else {
		add_end(draw, pattern, &count, 0);
	}
	pattern->items[count].type = RTE_FLOW_ITEM_TYPE_END;
	reference_fill(pattern->items, frame->bytes, frame->length);
	for (i = 0; i < count; i++) {
		size_t size = reference_item_size(pattern->items[i].type);

		uint16_t port = port_of(pattern->items[i + 1].type);

		/* The port of a tunnel is not to be argued with. */
		if (port != 0) {
			((struct rte_flow_item_udp *)pattern->specs[i])->hdr.dst_port =
				rte_cpu_to_be_16(port);
			continue;
		}
		/* Not the flags, which are behind the headers of some. */
		if (below(draw, 8) == 0)
			pattern->specs[i][below(draw, (uint32_t)(size < 4    ? size
								 : size < 40 ? size & ~3u
									     : 40))] ^=
				(uint8_t)(1u << below(draw, 8));
		add_flags(draw, pattern, i);
	}
}

static struct rte_mbuf *
segment_of(const uint8_t *bytes, uint32_t length)
{
	struct rte_mbuf *mbuf = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*mbuf));

	if (mbuf == NULL)
		abort();
	memset(mbuf, 0, sizeof(*mbuf));
	mbuf->buf_addr = malloc(length > 0 ? length : 1);
	if (mbuf->buf_addr == NULL)
		abort();
	if (length > 0)
		memcpy(mbuf->buf_addr, bytes, length);
	mbuf->buf_len = (uint16_t)length;
	mbuf->data_len = (uint16_t)length;
	mbuf->pkt_len = length;
	mbuf->nb_segs = 1;
	rte_mbuf_refcnt_set(mbuf, 2);
	return mbuf;
}

/* Take a tag out of the bytes at `at`, if one of this type is there; its TCI. */
static bool
take_tag(struct draw_frame *bytes, uint32_t at, uint32_t type, uint16_t *tci)
{
	if (bytes->length < at + 6 || bytes->bytes[at] != type >> 8 ||
		bytes->bytes[at + 1] != (type & 0xff))
		return false;
	*tci = (uint16_t)(bytes->bytes[at + 2] << 8 | bytes->bytes[at + 3]);
	memmove(bytes->bytes + at, bytes->bytes + at + 4, bytes->length - at - 4);
	bytes->length -= 4;
	return true;
}

/* As a NIC strips tags, or as an application asks it to put them in. */
static uint64_t
strip(struct draw *draw, struct draw_frame *bytes, uint32_t *sent, uint16_t *tci, uint16_t *outer)
{
	uint64_t flags = 0;

	*sent = below(draw, 2) ? TRIP_WANT_SENT : 0;
	switch (below(draw, 4)) {
	case 0:
		if (take_tag(bytes, 12, 0x8100, tci))
			flags = *sent ? RTE_MBUF_F_TX_VLAN
				      : RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		break;
	case 1:
		if (bytes->length >= 22 && bytes->bytes[16] == 0x81 && bytes->bytes[17] == 0 &&
			take_tag(bytes, 12, 0x88a8, outer) && take_tag(bytes, 12, 0x8100, tci))
			flags = *sent ? RTE_MBUF_F_TX_QINQ
				      : RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ |
						RTE_MBUF_F_RX_QINQ_STRIPPED;
		else if (bytes->length >= 14 && bytes->bytes[12] == 0x88 && *sent == 0 &&
			 bytes->bytes[13] == 0xa8 && take_tag(bytes, 16, 0x8100, tci))
			flags = RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ;
		break;
	}
	/* Left from Rx, of no meaning to Tx. */
	if (*sent && below(draw, 2))
		flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	return flags;
}

static void
lie(struct draw *draw, struct rte_mbuf *mbuf)
{
	switch (below(draw, 8)) {
	case 0:
		mbuf->pkt_len += 1 + below(draw, 100);
		break;
	case 1:
		mbuf->nb_segs = (uint16_t)(mbuf->nb_segs + below(draw, 1000));
		mbuf->pkt_len = UINT32_MAX;
		break;
	case 2:
		mbuf->data_len = (uint16_t)(mbuf->data_len + below(draw, 60000));
		break;
	}
}

struct rte_mbuf *
draw_mbuf(struct draw *draw, struct draw_frame *frame, uint32_t *sent)
{
	uint32_t segments = below(draw, 2) ? 1 : 1 + below(draw, 8), at = 0, i, removed;
	struct rte_mbuf *first = NULL, **link = &first;
	struct draw_frame bytes = *frame;
	uint16_t tci = 0, outer = 0;
	uint64_t flags = strip(draw, &bytes, sent, &tci, &outer);

	removed = frame->length - bytes.length;
	for (i = 0; i < segments; i++) {
		uint32_t left = bytes.length - at;
		uint32_t take = i + 1 == segments ? left : below(draw, left + 1);

		*link = segment_of(bytes.bytes + at, take);
		link = &(*link)->next;
		at += take;
	}
	first->nb_segs = (uint16_t)segments;
	first->pkt_len = bytes.length;
	first->ol_flags = flags;
	first->vlan_tci = tci;
	first->vlan_tci_outer = outer;
	if (below(draw, 8) == 0 && removed == 0) {
		first->pkt_len = below(draw, bytes.length + 1);
		frame->length = first->pkt_len;
	} else if (below(draw, 4) == 0) {
		lie(draw, first);
	}
	return first;
}
