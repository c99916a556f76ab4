/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The catalogue of packet items. Offsets are those of the headers on the wire: they are the same in
 * all versions of rte_flow, where the members' names are not. What stands behind a header in an
 * item's structure are single bits.
 */
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_flow.h>

#include <trip_flow_item.h>

/* Indices of the catalogue. */
enum {
	ETH,
	VLAN,
	IPV4,
	IPV6,
	TCP,
	UDP,
	SCTP,
	ICMP,
	ICMP6,
	VXLAN,
	GRE,
	MPLS,
	GENEVE,
	GTPU,
	GTP_PSC,
	ESP,
	AH,
	PPPOES,
	ITEMS,
};

#define MEMBER(name, from, count, ...)                                                    \
	{                                                                                 \
		.size = sizeof(struct trip_flow_field), .word = (name), .offset = (from), \
		.bytes = (count), __VA_ARGS__                                             \
	}
#define FIELD(name, from, count, how) \
	MEMBER(name, from, count, .bits = 8 * (count), .notation = TRIP_FLOW_##how)
#define PART(name, from, count, right, width) \
	MEMBER(name, from, count, .bits = (width), .shift = (right))
#define UNREAD(name, from, count) \
	MEMBER(name, from, count, .bits = 8 * (count), .unread = true, .unsaid = true)
/* Bits behind a header, in the order in which they are declared, within one byte. */
#define BITS(name, header, nth, width, never, silent)                             \
	MEMBER(name, (header) + (nth) / 8, 1, .bits = (width), .unread = (never), \
		.unsaid = (silent),                                               \
		.shift =                                                          \
			RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN ? (nth) % 8 : 8 - (width) - (nth) % 8)
#define FLAG(name, header, nth) BITS(name, header, nth, 1, false, false)
#define UNSAID(name, header, nth) BITS(name, header, nth, 1, false, true)

static const struct trip_flow_field eth[] = {
	FIELD("dst", 0, 6, MAC),
	FIELD("src", 6, 6, MAC),
	FIELD("type", 12, 2, NUMBER),
	FLAG("has_vlan", 14, 0),
	/* They have a word of their own: 31 are no room behind the first. */
	UNREAD("reserved", 16, 4),
};
static const struct trip_flow_field vlan[] = {
	FIELD("tci", 0, 2, NUMBER),
	PART("pcp", 0, 2, 13, 3),
	PART("dei", 0, 2, 12, 1),
	PART("vid", 0, 2, 0, 12),
	FIELD("inner_type", 2, 2, NUMBER),
	FLAG("has_more_vlan", 4, 0),
	BITS("reserved", 4, 1, 7, true, true),
	UNREAD("reserved", 5, 3),
};
static const struct trip_flow_field ipv4[] = {
	FIELD("version_ihl", 0, 1, NUMBER),
	FIELD("tos", 1, 1, NUMBER),
	FIELD("length", 2, 2, NUMBER),
	FIELD("packet_id", 4, 2, NUMBER),
	FIELD("fragment_offset", 6, 2, NUMBER),
	FIELD("ttl", 8, 1, NUMBER),
	FIELD("proto", 9, 1, NUMBER),
	UNREAD("cksum", 10, 2),
	FIELD("src", 12, 4, IPV4),
	FIELD("dst", 16, 4, IPV4),
};
static const struct trip_flow_field ipv6[] = {
	FIELD("vtc_flow", 0, 4, NUMBER),
	PART("tc", 0, 4, 20, 8),
	PART("flow", 0, 4, 0, 20),
	FIELD("length", 4, 2, NUMBER),
	FIELD("proto", 6, 1, NUMBER),
	FIELD("hop", 7, 1, NUMBER),
	FIELD("src", 8, 16, IPV6),
	FIELD("dst", 24, 16, IPV6),
	UNSAID("has_hop_ext", 40, 0),
	UNSAID("has_route_ext", 40, 1),
	FLAG("has_frag_ext", 40, 2),
	UNSAID("has_auth_ext", 40, 3),
	UNSAID("has_esp_ext", 40, 4),
	UNSAID("has_dest_ext", 40, 5),
	UNSAID("has_mobil_ext", 40, 6),
	UNSAID("has_hip_ext", 40, 7),
	UNSAID("has_shim6_ext", 40, 8),
	BITS("reserved", 40, 9, 7, true, true),
	UNREAD("reserved", 42, 2),
};
static const struct trip_flow_field tcp[] = {
	FIELD("src", 0, 2, NUMBER),
	FIELD("dst", 2, 2, NUMBER),
	FIELD("seq", 4, 4, NUMBER),
	FIELD("ack", 8, 4, NUMBER),
	UNREAD("data_off", 12, 1),
	FIELD("flags", 13, 1, NUMBER),
	UNREAD("rx_win", 14, 2),
	UNREAD("cksum", 16, 2),
	UNREAD("urp", 18, 2),
};
static const struct trip_flow_field udp[] = {
	FIELD("src", 0, 2, NUMBER),
	FIELD("dst", 2, 2, NUMBER),
	FIELD("length", 4, 2, NUMBER),
	UNREAD("cksum", 6, 2),
};
static const struct trip_flow_field sctp[] = {
	FIELD("src", 0, 2, NUMBER),
	FIELD("dst", 2, 2, NUMBER),
	FIELD("tag", 4, 4, NUMBER),
	FIELD("cksum", 8, 4, NUMBER),
};
static const struct trip_flow_field icmp[] = {
	FIELD("type", 0, 1, NUMBER),
	FIELD("code", 1, 1, NUMBER),
	UNREAD("cksum", 2, 2),
	FIELD("ident", 4, 2, NUMBER),
	FIELD("seq", 6, 2, NUMBER),
};
static const struct trip_flow_field icmp6[] = {
	FIELD("type", 0, 1, NUMBER),
	FIELD("code", 1, 1, NUMBER),
	UNREAD("cksum", 2, 2),
};
static const struct trip_flow_field vxlan[] = {
	FIELD("flags", 0, 1, NUMBER),
	FIELD("rsvd0", 1, 3, NUMBER),
	FIELD("vni", 4, 3, NUMBER),
	FIELD("last_rsvd", 7, 1, NUMBER),
};
static const struct trip_flow_field gre[] = {
	FIELD("c_rsvd0_ver", 0, 2, NUMBER),
	PART("c_bit", 0, 2, 15, 1),
	PART("k_bit", 0, 2, 13, 1),
	PART("s_bit", 0, 2, 12, 1),
	FIELD("protocol", 2, 2, NUMBER),
};

static const struct trip_flow_field mpls[] = {
	PART("label", 0, 3, 4, 20),
	PART("tc", 0, 3, 1, 3),
	PART("s", 0, 3, 0, 1),
	FIELD("ttl", 3, 1, NUMBER),
};
static const struct trip_flow_field geneve[] = {
	FIELD("ver_opt_len_o_c_rsvd0", 0, 2, NUMBER),
	PART("optlen", 0, 2, 8, 6),
	FIELD("protocol", 2, 2, NUMBER),
	FIELD("vni", 4, 3, NUMBER),
	FIELD("rsvd1", 7, 1, NUMBER),
};
static const struct trip_flow_field gtpu[] = {
	FIELD("v_pt_rsv_flags", 0, 1, NUMBER),
	FIELD("msg_type", 1, 1, NUMBER),
	FIELD("msg_len", 2, 2, NUMBER),
	FIELD("teid", 4, 4, NUMBER),
};
static const struct trip_flow_field gtp_psc[] = {
	FIELD("ext_hdr_len", 0, 1, NUMBER),
	PART("pdu_t", 1, 1, 4, 4),
	PART("qmp", 1, 1, 3, 1),
	PART("pad", 1, 1, 0, 3),
	PART("spare", 2, 1, 6, 2),
	PART("qfi", 2, 1, 0, 6),
};
static const struct trip_flow_field esp[] = {
	FIELD("spi", 0, 4, NUMBER),
	FIELD("seq", 4, 4, NUMBER),
};
static const struct trip_flow_field ah[] = {
	UNREAD("next_hdr", 0, 1),
	UNREAD("payload_len", 1, 1),
	UNREAD("reserved", 2, 2),
	FIELD("spi", 4, 4, NUMBER),
	FIELD("seq", 8, 4, NUMBER),
};
static const struct trip_flow_field pppoes[] = {
	FIELD("version_type", 0, 1, NUMBER),
	FIELD("code", 1, 1, NUMBER),
	FIELD("seid", 2, 2, NUMBER),
	FIELD("length", 4, 2, NUMBER),
};
/* rte_flow has none. */
static const struct rte_flow_item_pppoe pppoes_mask = {.session_id = 0xffff};

#define BIT(index) (UINT32_C(1) << (index))
#define ON_L2 (BIT(ETH) | BIT(VLAN))
#define ON_IP (BIT(IPV4) | BIT(IPV6))
/* An item, the structure that it has in rte_flow, and its default mask. */
#define ITEM(id, name, structure, in, length, ...) \
	MASKED(id, name, structure, rte_flow_item_##structure##_mask, in, length, __VA_ARGS__)
#define MASKED(id, name, structure, default_mask, in, length, ...)         \
	[id] = {.item = {.size = sizeof(struct trip_flow_item),            \
			.word = #name,                                     \
			.type = RTE_FLOW_ITEM_TYPE_##id,                   \
			.layer = TRIP_FLOW_##in,                           \
			.bytes = sizeof(struct rte_flow_item_##structure), \
			.header = (length),                                \
			.mask = &(default_mask),                           \
			.n_fields = RTE_DIM(name),                         \
			__VA_ARGS__},                                      \
		.fields = (name)}
#define CARRIES(what) .carries = TRIP_FLOW_CARRIES_##what
#define BY(what, which) .announcer = TRIP_FLOW_BY_##what, .number = (which)

/* Users see an item as what its row begins with. */
static const struct row {
	struct trip_flow_item item;
	const struct trip_flow_field *fields;
} rows[ITEMS] = {
	ITEM(ETH, eth, eth, ETH, 14),
	ITEM(VLAN, vlan, vlan, VLAN, 4, .behind = BIT(ETH), .repeats = 2),
	ITEM(IPV4, ipv4, ipv4, IP, 20, BY(ETHERTYPE, 0x0800), .behind = ON_L2),
	ITEM(IPV6, ipv6, ipv6, IP, 40, BY(ETHERTYPE, 0x86dd), .behind = ON_L2),
	ITEM(TCP, tcp, tcp, L4, 20, BY(PROTOCOL, 6), .behind = ON_IP),
	ITEM(UDP, udp, udp, L4, 8, BY(PROTOCOL, 17), .behind = ON_IP),
	ITEM(SCTP, sctp, sctp, L4, 12, BY(PROTOCOL, 132), .behind = ON_IP),
	ITEM(ICMP, icmp, icmp, L4, 8, BY(PROTOCOL, 1), .behind = BIT(IPV4)),
	ITEM(ICMP6, icmp6, icmp6, L4, 4, BY(PROTOCOL, 58), .behind = BIT(IPV6)),
	ITEM(VXLAN, vxlan, vxlan, TUNNEL, 8, BY(UDP_PORT, 4789), CARRIES(ETHERNET),
		.behind = BIT(UDP)),
	ITEM(GRE, gre, gre, TUNNEL, 4, BY(PROTOCOL, 47), CARRIES(TYPED), .behind = ON_IP),
	ITEM(MPLS, mpls, mpls, TUNNEL, 4, BY(ETHERTYPE, 0x8847), CARRIES(IP), .behind = ON_L2,
		.repeats = 2),
	ITEM(GENEVE, geneve, geneve, TUNNEL, 8, BY(UDP_PORT, 6081), CARRIES(TYPED),
		.behind = BIT(UDP)),
	ITEM(GTPU, gtpu, gtp, TUNNEL, 8, BY(UDP_PORT, 2152), CARRIES(IP), .behind = BIT(UDP)),
	ITEM(GTP_PSC, gtp_psc, gtp_psc, TUNNEL, 3, BY(EXTENSION, 0x85), CARRIES(IP),
		.behind = BIT(GTPU)),
	ITEM(ESP, esp, esp, L4, 8, BY(PROTOCOL, 50), .behind = ON_IP),
	ITEM(AH, ah, ah, L4, 12, BY(PROTOCOL, 51), .behind = ON_IP),
	MASKED(PPPOES, pppoes, pppoe, pppoes_mask, TUNNEL, 6, BY(ETHERTYPE, 0x8864), CARRIES(IP),
		.behind = ON_L2),
};

static const struct row *
row_of(const struct trip_flow_item *item)
{
	return (const struct row *)item;
}

const struct trip_flow_item *
trip_flow_item_at(uint32_t index)
{
	return index < ITEMS ? &rows[index].item : NULL;
}

const struct trip_flow_item *
trip_flow_item_of(int type)
{
	for (unsigned int i = 0; i < ITEMS; i++)
		if (rows[i].item.type == type)
			return &rows[i].item;
	return NULL;
}

const struct trip_flow_field *
trip_flow_item_field(const struct trip_flow_item *item, uint32_t index)
{
	return index < item->n_fields ? &row_of(item)->fields[index] : NULL;
}

uint32_t
trip_flow_item_field_index(const struct trip_flow_item *item, const struct trip_flow_field *field)
{
	return (uint32_t)(field - row_of(item)->fields);
}

bool
trip_flow_item_follows(
	const struct trip_flow_item *item, const struct trip_flow_item *before, uint32_t run)
{
	bool listed;

	if (before == NULL)
		return true;
	listed = before == item ? run < item->repeats
				: (item->behind & BIT(row_of(before) - rows)) != 0;
	if (before->layer != TRIP_FLOW_TUNNEL || item->layer == TRIP_FLOW_TUNNEL)
		return listed;
	return before->carries != TRIP_FLOW_CARRIES_IP || item->layer > TRIP_FLOW_VLAN;
}
