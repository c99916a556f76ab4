/* SPDX-License-Identifier: BSD-3-Clause */
/* The long way of reading a packet: tags, IPv6, options, fragments, truncation, segments. */
#include <stdbool.h>

#include "packet.h"

/* Headers beyond these are not looked at: 8 tags and 8 IPv6 extension headers of usual size fit. */
#define WINDOW_MAX 256
#define TAGS_MAX 8
#define EXTENSIONS_MAX 8
#define SEGMENTS_MAX 64

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8
#define TYPE_QINQ_OLD 0x9100

#define PROTO_HOP_OPTIONS 0
#define PROTO_ICMP 1
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ROUTING 43
#define PROTO_FRAGMENT 44
#define PROTO_AUTH 51
#define PROTO_DEST_OPTIONS 60

#define L4_TCP (TRIP_HAS_TCP | TRIP_HAS_PORTS | TRIP_HAS_TCP_FLAGS)

const uint32_t trip_packet_l4_bits[256] = {
	[PROTO_ICMP] = TRIP_HAS_ICMP | TRIP_HAS_PORTS,
	[PROTO_TCP] = L4_TCP,
	[PROTO_UDP] = TRIP_HAS_UDP | TRIP_HAS_PORTS,
};

/* The contiguous bytes that there are, and how many of them have been taken. */
struct window {
	const uint8_t *data;
	uint32_t length;
	uint32_t at;
};

struct tag {
	uint16_t tpid;
	uint16_t tci;
	bool has_tci;
};

struct tags {
	struct tag tag[TAGS_MAX + 2]; /* two that Rx stripped */
	uint32_t count;
	uint16_t type; /* what follows the last of them */
	bool has_type;
};

static uint32_t
left(const struct window *window)
{
	return window->length > window->at ? window->length - window->at : 0;
}

static const uint8_t *
here(const struct window *window)
{
	return window->data + (window->at < window->length ? window->at : window->length);
}

static uint16_t
load_be16(const uint8_t *from)
{
	return (uint16_t)(from[0] << 8 | from[1]);
}

static void
store_be16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

/* The bytes of one segment that are both claimed and inside its buffer. */
static uint32_t
segment_length(const struct rte_mbuf *segment)
{
	uint32_t room = segment->data_off < segment->buf_len
				? (uint32_t)segment->buf_len - segment->data_off
				: 0;

	return segment->data_len < room ? segment->data_len : room;
}

/*
 * The front of the packet as contiguous bytes: the first segment where that holds all of it or
 * enough, else `copy`. rte_pktmbuf_read is not used, as it follows `next` for as long as pkt_len
 * says, also off the end of the chain.
 */
static struct window
window_of(const struct rte_mbuf *mbuf, uint8_t *copy)
{
	uint32_t want = mbuf->pkt_len < WINDOW_MAX ? mbuf->pkt_len : WINDOW_MAX;
	uint32_t have = segment_length(mbuf);
	struct window window = {.data = rte_pktmbuf_mtod(mbuf, const uint8_t *)};
	const struct rte_mbuf *segment;
	uint32_t segments = 0;

	window.length = have < want ? have : want;
	if (have >= want || mbuf->nb_segs < 2)
		return window;
	have = 0;
	for (segment = mbuf; segment != NULL && have < want && segments < mbuf->nb_segs &&
			     segments < SEGMENTS_MAX;
		segment = segment->next, segments++) {
		uint32_t take = segment_length(segment);

		if (take > want - have)
			take = want - have;
		memcpy(copy + have, rte_pktmbuf_mtod(segment, const uint8_t *), take);
		have += take;
	}
	window.data = copy;
	window.length = have;
	return window;
}

static bool
is_tag(uint16_t type)
{
	return type == TYPE_VLAN || type == TYPE_QINQ || type == TYPE_QINQ_OLD;
}

/* The tags that are still in the frame; the window stands at the EtherType of Ethernet. */
static void
read_tags(struct window *window, struct tags *tags)
{
	tags->count = 0;
	for (;;) {
		tags->has_type = left(window) >= 2;
		tags->type = tags->has_type ? load_be16(here(window)) : 0;
		window->at += 2;
		if (!tags->has_type || !is_tag(tags->type) || tags->count == TAGS_MAX)
			return;
		tags->tag[tags->count].tpid = tags->type;
		tags->tag[tags->count].has_tci = left(window) >= 2;
		tags->tag[tags->count].tci = left(window) >= 2 ? load_be16(here(window)) : 0;
		tags->count++;
		window->at += 2;
	}
}

static void
insert_tag(struct tags *tags, uint32_t at, uint16_t tpid, uint16_t tci)
{
	memmove(&tags->tag[at + 1], &tags->tag[at], (tags->count - at) * sizeof(tags->tag[0]));
	tags->tag[at] = (struct tag){.tpid = tpid, .tci = tci, .has_tci = true};
	tags->count++;
}

/*
 * Put back what Rx stripped; returns how many bytes that was. The mbuf does not keep the TPID: it
 * is taken as 802.1Q, and as 802.1ad for the outer of two. With QINQ and VLAN_STRIPPED but not
 * QINQ_STRIPPED, the NIC took the inner tag and left the outer one in the frame.
 */
static uint32_t
insert_stripped(const struct rte_mbuf *mbuf, struct tags *tags)
{
	uint64_t flags = mbuf->ol_flags;
	uint32_t count = tags->count;

	if (flags & RTE_MBUF_F_RX_VLAN_STRIPPED) {
		uint32_t behind_outer = (flags & RTE_MBUF_F_RX_QINQ) != 0 &&
					(flags & RTE_MBUF_F_RX_QINQ_STRIPPED) == 0 && count > 0;

		insert_tag(tags, behind_outer, TYPE_VLAN, mbuf->vlan_tci);
	}
	if (flags & RTE_MBUF_F_RX_QINQ_STRIPPED)
		insert_tag(tags, 0, TYPE_QINQ, mbuf->vlan_tci_outer);
	return 4 * (tags->count - count);
}

/* The fields of tag `which`, 0 or 1; returns their presence bits (as for the first tag). */
static uint32_t
store_tag(const struct tags *tags, uint32_t which, struct trip_packet_fields *fields)
{
	uint8_t *to = fields->bytes + (which == 0 ? TRIP_PLACE_VLAN1_TCI : TRIP_PLACE_VLAN2_TCI);
	bool last = which + 1 == tags->count;
	uint32_t bits = 0;

	if (tags->tag[which].has_tci) {
		store_be16(to, tags->tag[which].tci);
		bits |= TRIP_HAS_VLAN1_TCI;
	}
	if (!last || tags->has_type) {
		store_be16(to + 2, last ? tags->type : tags->tag[which + 1].tpid);
		bits |= TRIP_HAS_VLAN1_TYPE;
	}
	return bits;
}

static uint32_t
store_tags(const struct tags *tags, struct trip_packet_fields *fields)
{
	uint8_t *type = fields->bytes + TRIP_PLACE_ETH_TYPE;
	uint32_t bits = (tags->count < 3 ? tags->count : 3) << TRIP_HAS_TAGS_SHIFT;

	if (tags->count == 0) {
		store_be16(type, tags->type);
		return tags->has_type ? bits | TRIP_HAS_ETH_TYPE : bits;
	}
	store_be16(type, tags->tag[0].tpid);
	bits |= TRIP_HAS_ETH_TYPE | TRIP_HAS_TAGGED | store_tag(tags, 0, fields);
	if (tags->count > 1)
		bits |= store_tag(tags, 1, fields) << 2;
	return bits;
}

static uint32_t
store_l4(const struct window *window, uint8_t proto, bool later_fragment, bool ipv6,
	struct trip_packet_fields *fields)
{
	uint32_t bits = ipv6 && proto == PROTO_ICMP ? 0 : trip_packet_l4_bits[proto];
	uint32_t length = later_fragment ? 0 : left(window);

	if (length < 1)
		bits &= ~TRIP_HAS_L4_BYTE;
	if (length < 2)
		bits &= ~TRIP_HAS_L4_SRC;
	if (length < 4)
		bits &= ~TRIP_HAS_L4_DST;
	if (length < 14)
		bits &= ~TRIP_HAS_TCP_FLAGS;
	if ((bits & TRIP_HAS_PORTS) != 0)
		memcpy(fields->bytes + TRIP_PLACE_L4, here(window), length < 4 ? length : 4);
	if ((bits & TRIP_HAS_TCP_FLAGS) != 0)
		fields->bytes[TRIP_PLACE_TCP_FLAGS] = here(window)[13];
	return bits;
}

/* Which bits of what both IP versions have in their first four bytes are there. */
static uint32_t
first_bits(uint32_t length)
{
	return (length >= 1 ? TRIP_HAS_IP_FIRST0 : 0) | (length >= 2 ? TRIP_HAS_IP_FIRST1 : 0) |
	       (length >= 4 ? TRIP_HAS_IP_FIRST : 0);
}

static uint32_t
store_ipv4(struct window *window, struct trip_packet_fields *fields)
{
	uint32_t length = left(window), bits = TRIP_HAS_IPV4 | first_bits(length);
	uint8_t header[20] = {0};
	uint32_t header_length;

	memcpy(header, here(window), length < 20 ? length : 20);
	memcpy(fields->bytes + TRIP_PLACE_IP_FIRST, header, 4);
	memcpy(fields->bytes + TRIP_PLACE_IP_FRAGMENT, header + 6, 4);
	memcpy(fields->bytes + TRIP_PLACE_IPV4_SRC, header + 12, 8);
	bits |= length >= 8 ? TRIP_HAS_IP_FRAGMENT : 0;
	bits |= length >= 9 ? TRIP_HAS_IP_TTL : 0;
	bits |= length >= 16 ? TRIP_HAS_IP_SRC : 0;
	bits |= length >= 20 ? TRIP_HAS_IP_DST : 0;
	if (length < 10)
		return bits;
	bits |= TRIP_HAS_IP_PROTO;
	header_length = (header[0] & 0x0fu) * 4u;
	/* A header that claims to be shorter than it can be leads to no L4 header. */
	window->at = header_length >= 20 ? window->at + header_length : window->length;
	return bits |
	       store_l4(window, header[9], (load_be16(header + 6) & 0x1fff) != 0, false, fields);
}

/*
 * Past the extension headers: true with the protocol that ends them, false where that cannot be
 * known. Its number is in the first byte of the last of them, and counts where that byte is there;
 * a header that is cut off behind it leads past the window.
 */
static bool
skip_extensions(struct window *window, uint8_t *proto, bool *later_fragment)
{
	uint32_t headers;

	for (headers = 0; headers <= EXTENSIONS_MAX; headers++) {
		const uint8_t *header = here(window);
		uint32_t have = left(window), length = 8;

		switch (*proto) {
		case PROTO_HOP_OPTIONS:
		case PROTO_ROUTING:
		case PROTO_DEST_OPTIONS:
			if (have >= 2)
				length = (header[1] + 1u) * 8;
			break;
		case PROTO_AUTH:
			if (have >= 2)
				length = (header[1] + 2u) * 4;
			break;
		case PROTO_FRAGMENT:
			*later_fragment = have >= 4 && (load_be16(header + 2) & 0xfff8) != 0;
			break;
		default:
			return true;
		}
		if (have == 0)
			return false;
		*proto = header[0];
		window->at += length;
		/* Nothing of what follows is in this packet but its number. */
		if (*later_fragment)
			return true;
	}
	return false;
}

static uint32_t
store_ipv6(struct window *window, struct trip_packet_fields *fields)
{
	uint32_t length = left(window), bits = TRIP_HAS_IPV6 | first_bits(length);
	bool later_fragment = false;
	uint8_t header[40] = {0};
	uint8_t proto;

	memcpy(header, here(window), length < 40 ? length : 40);
	memcpy(fields->bytes + TRIP_PLACE_IP_FIRST, header, 4);
	memcpy(fields->bytes + TRIP_PLACE_IP_FRAGMENT, header + 4, 2);
	fields->bytes[TRIP_PLACE_IP_PROTO] = header[6];
	fields->bytes[TRIP_PLACE_IP_TTL] = header[7];
	memcpy(fields->bytes + TRIP_PLACE_IPV6_SRC, header + 8, 32);
	bits |= length >= 6 ? TRIP_HAS_IP_FRAGMENT : 0;
	bits |= length >= 8 ? TRIP_HAS_IP_TTL : 0;
	bits |= length >= 24 ? TRIP_HAS_IP_SRC : 0;
	bits |= length >= 40 ? TRIP_HAS_IP_DST : 0;
	if (length < 7)
		return bits;
	bits |= TRIP_HAS_IP_PROTO;
	proto = header[6];
	window->at += 40;
	if (skip_extensions(window, &proto, &later_fragment))
		bits |= store_l4(window, proto, later_fragment, true, fields);
	return bits;
}

uint32_t
trip_packet_parse_any(const struct rte_mbuf *mbuf, struct trip_packet_fields *fields)
{
	uint8_t copy[WINDOW_MAX];
	struct window window = window_of(mbuf, copy);
	struct tags tags;
	uint32_t bits = 0, stripped;

	if (window.length >= 6) {
		memcpy(fields->bytes + TRIP_PLACE_ETH_DST, window.data, 6);
		bits |= TRIP_HAS_ETH_DST;
	}
	if (window.length >= 12) {
		memcpy(fields->bytes + TRIP_PLACE_ETH_SRC, window.data + 6, 6);
		bits |= TRIP_HAS_ETH_SRC;
	}
	window.at = 12;
	read_tags(&window, &tags);
	stripped = insert_stripped(mbuf, &tags);
	bits |= store_tags(&tags, fields);
	if (tags.has_type && tags.type == TYPE_IPV4)
		bits |= store_ipv4(&window, fields);
	else if (tags.has_type && tags.type == TYPE_IPV6)
		bits |= store_ipv6(&window, fields);
	memcpy(fields->bytes + TRIP_PLACE_BITS, &bits, sizeof(bits));
	return mbuf->pkt_len + stripped;
}
