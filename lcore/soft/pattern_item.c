/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "pattern_item.h"

#define MORE(bits) ((uint64_t)(bits) << 32)

#define BYTES(item, name, from, count, where, has)                                        \
	{                                                                                 \
		.offset = (from), .size = (count), .place = (where), .bits = (has),       \
		.not_read = item ": field " name " is not read by the software engine",   \
		.range = item ": field " name " as a range (last) is not supported here", \
	}
#define FIELD(item, type, member, where, has)                                                   \
	BYTES(item, #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), \
		where, has)
#define MISSING(item, type, member) FIELD(item, type, member, TRIP_PATTERN_NOT_READ, 0)

static const struct trip_pattern_field eth_fields[] = {
	FIELD("eth", rte_flow_item_eth, hdr.dst_addr, TRIP_PLACE_ETH_DST, TRIP_HAS_ETH_DST),
	FIELD("eth", rte_flow_item_eth, hdr.src_addr, TRIP_PLACE_ETH_SRC, TRIP_HAS_ETH_SRC),
	FIELD("eth", rte_flow_item_eth, hdr.ether_type, TRIP_PLACE_ETH_TYPE, TRIP_HAS_ETH_TYPE),
};

static const struct trip_pattern_field vlan1_fields[] = {
	FIELD("vlan", rte_flow_item_vlan, hdr.vlan_tci, TRIP_PLACE_VLAN1_TCI, TRIP_HAS_VLAN1_TCI),
	FIELD("vlan", rte_flow_item_vlan, hdr.eth_proto, TRIP_PLACE_VLAN1_TYPE,
		TRIP_HAS_VLAN1_TYPE),
};

static const struct trip_pattern_field vlan2_fields[] = {
	FIELD("vlan", rte_flow_item_vlan, hdr.vlan_tci, TRIP_PLACE_VLAN2_TCI, TRIP_HAS_VLAN2_TCI),
	FIELD("vlan", rte_flow_item_vlan, hdr.eth_proto, TRIP_PLACE_VLAN2_TYPE,
		TRIP_HAS_VLAN2_TYPE),
};

static const struct trip_pattern_field ipv4_fields[] = {
	FIELD("ipv4", rte_flow_item_ipv4, hdr.version_ihl, TRIP_PLACE_IP_FIRST, TRIP_HAS_IP_FIRST0),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.type_of_service, TRIP_PLACE_IP_FIRST + 1,
		TRIP_HAS_IP_FIRST1),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.total_length, TRIP_PLACE_IP_FIRST + 2,
		TRIP_HAS_IP_FIRST),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.packet_id, TRIP_PLACE_IPV4_ID,
		MORE(TRIP_MORE_IPV4_ID)),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.fragment_offset, TRIP_PLACE_IP_FRAGMENT,
		TRIP_HAS_IP_FRAGMENT),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.time_to_live, TRIP_PLACE_IP_TTL, TRIP_HAS_IP_TTL),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.next_proto_id, TRIP_PLACE_IP_PROTO,
		TRIP_HAS_IP_PROTO),
	MISSING("ipv4", rte_flow_item_ipv4, hdr.hdr_checksum),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.src_addr, TRIP_PLACE_IPV4_SRC, TRIP_HAS_IP_SRC),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.dst_addr, TRIP_PLACE_IPV4_DST, TRIP_HAS_IP_DST),
};

static const struct trip_pattern_field ipv6_fields[] = {
	FIELD("ipv6", rte_flow_item_ipv6, hdr.vtc_flow, TRIP_PLACE_IP_FIRST, TRIP_HAS_IP_FIRST),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.payload_len, TRIP_PLACE_IP_FRAGMENT,
		TRIP_HAS_IP_FRAGMENT),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.proto, TRIP_PLACE_IP_PROTO, TRIP_HAS_IP_PROTO),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.hop_limits, TRIP_PLACE_IP_TTL, TRIP_HAS_IP_TTL),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.src_addr, TRIP_PLACE_IPV6_SRC, TRIP_HAS_IP_SRC),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.dst_addr, TRIP_PLACE_IPV6_DST, TRIP_HAS_IP_DST),
};

static const struct trip_pattern_field tcp_fields[] = {
	FIELD("tcp", rte_flow_item_tcp, hdr.src_port, TRIP_PLACE_L4, TRIP_HAS_L4_SRC),
	FIELD("tcp", rte_flow_item_tcp, hdr.dst_port, TRIP_PLACE_L4 + 2, TRIP_HAS_L4_DST),
	FIELD("tcp", rte_flow_item_tcp, hdr.sent_seq, TRIP_PLACE_L4_REST, MORE(TRIP_MORE_L4_8)),
	FIELD("tcp", rte_flow_item_tcp, hdr.recv_ack, TRIP_PLACE_L4_REST + 4,
		MORE(TRIP_MORE_L4_12)),
	MISSING("tcp", rte_flow_item_tcp, hdr.data_off),
	FIELD("tcp", rte_flow_item_tcp, hdr.tcp_flags, TRIP_PLACE_TCP_FLAGS, TRIP_HAS_TCP_FLAGS),
	MISSING("tcp", rte_flow_item_tcp, hdr.rx_win),
	MISSING("tcp", rte_flow_item_tcp, hdr.cksum),
	MISSING("tcp", rte_flow_item_tcp, hdr.tcp_urp),
};

static const struct trip_pattern_field udp_fields[] = {
	FIELD("udp", rte_flow_item_udp, hdr.src_port, TRIP_PLACE_L4, TRIP_HAS_L4_SRC),
	FIELD("udp", rte_flow_item_udp, hdr.dst_port, TRIP_PLACE_L4 + 2, TRIP_HAS_L4_DST),
	FIELD("udp", rte_flow_item_udp, hdr.dgram_len, TRIP_PLACE_L4_REST, MORE(TRIP_MORE_L4_6)),
	MISSING("udp", rte_flow_item_udp, hdr.dgram_cksum),
};

static const struct trip_pattern_field sctp_fields[] = {
	FIELD("sctp", rte_flow_item_sctp, hdr.src_port, TRIP_PLACE_L4, TRIP_HAS_L4_SRC),
	FIELD("sctp", rte_flow_item_sctp, hdr.dst_port, TRIP_PLACE_L4 + 2, TRIP_HAS_L4_DST),
	FIELD("sctp", rte_flow_item_sctp, hdr.tag, TRIP_PLACE_L4_REST, MORE(TRIP_MORE_L4_8)),
	FIELD("sctp", rte_flow_item_sctp, hdr.cksum, TRIP_PLACE_L4_REST + 4, MORE(TRIP_MORE_L4_12)),
};

static const struct trip_pattern_field icmp_fields[] = {
	FIELD("icmp", rte_flow_item_icmp, hdr.icmp_type, TRIP_PLACE_L4, TRIP_HAS_L4_BYTE),
	FIELD("icmp", rte_flow_item_icmp, hdr.icmp_code, TRIP_PLACE_L4 + 1, TRIP_HAS_L4_SRC),
	MISSING("icmp", rte_flow_item_icmp, hdr.icmp_cksum),
	FIELD("icmp", rte_flow_item_icmp, hdr.icmp_ident, TRIP_PLACE_L4_REST, MORE(TRIP_MORE_L4_6)),
	FIELD("icmp", rte_flow_item_icmp, hdr.icmp_seq_nb, TRIP_PLACE_L4_REST + 2,
		MORE(TRIP_MORE_L4_8)),
};

static const struct trip_pattern_field icmp6_fields[] = {
	FIELD("icmp6", rte_flow_item_icmp6, type, TRIP_PLACE_L4, TRIP_HAS_L4_BYTE),
	FIELD("icmp6", rte_flow_item_icmp6, code, TRIP_PLACE_L4 + 1, TRIP_HAS_L4_SRC),
	MISSING("icmp6", rte_flow_item_icmp6, checksum),
};

/* Byte by byte, as a VNI is there even where the byte behind it is not. */
static const struct trip_pattern_field vxlan_fields[] = {
	BYTES("vxlan", "flags", 0, 1, TRIP_PLACE_TUNNEL, MORE(TRIP_MORE_VXLAN_FLAGS)),
	BYTES("vxlan", "rsvd0", 1, 3, TRIP_PLACE_TUNNEL + 1, MORE(TRIP_MORE_VXLAN_RSVD0)),
	BYTES("vxlan", "vni", 4, 3, TRIP_PLACE_TUNNEL + 4, MORE(TRIP_MORE_VXLAN_VNI)),
	BYTES("vxlan", "rsvd1", 7, 1, TRIP_PLACE_TUNNEL + 7, MORE(TRIP_MORE_VXLAN_RSVD1)),
};

static const struct trip_pattern_field gre_fields[] = {
	FIELD("gre", rte_flow_item_gre, c_rsvd0_ver, TRIP_PLACE_TUNNEL, MORE(TRIP_MORE_GRE_FLAGS)),
	FIELD("gre", rte_flow_item_gre, protocol, TRIP_PLACE_TUNNEL + 2, MORE(TRIP_MORE_GRE_TYPE)),
};

#define ITEM(kind, name, in, has, from)                                                           \
	{                                                                                         \
		.type = RTE_FLOW_ITEM_TYPE_##kind, .layer = TRIP_PATTERN_##in, .bit = (has),      \
		.default_mask = &rte_flow_item_##name##_mask, .fields = (from),                   \
		.n_fields = RTE_DIM(from), .misplaced = #name ": cannot stand here in a pattern", \
		.no_spec = #name ": mask or last without spec",                                   \
	}

static const struct trip_pattern_item items[] = {
	ITEM(ETH, eth, ETH, 0, eth_fields),
	ITEM(VLAN, vlan, VLAN, 0, vlan1_fields),
	ITEM(IPV4, ipv4, IP, TRIP_HAS_IPV4, ipv4_fields),
	ITEM(IPV6, ipv6, IP, TRIP_HAS_IPV6, ipv6_fields),
	ITEM(TCP, tcp, L4, TRIP_HAS_TCP, tcp_fields),
	ITEM(UDP, udp, L4, TRIP_HAS_UDP, udp_fields),
	ITEM(SCTP, sctp, L4, TRIP_HAS_SCTP, sctp_fields),
	ITEM(ICMP, icmp, L4, TRIP_HAS_ICMP, icmp_fields),
	ITEM(ICMP6, icmp6, L4, TRIP_HAS_ICMP6, icmp6_fields),
	ITEM(GRE, gre, L4, TRIP_HAS_GRE, gre_fields),
	ITEM(VXLAN, vxlan, TUNNEL, TRIP_HAS_UDP | TRIP_HAS_L4_DST, vxlan_fields),
};

static const struct trip_pattern_item second_vlan = ITEM(VLAN, vlan, VLAN, 0, vlan2_fields);

const struct trip_pattern_item *
trip_pattern_item_of(enum rte_flow_item_type type, uint32_t tags)
{
	size_t i;

	if (type == RTE_FLOW_ITEM_TYPE_VLAN && tags > 0)
		return &second_vlan;
	for (i = 0; i < RTE_DIM(items); i++)
		if (items[i].type == type)
			return &items[i];
	return NULL;
}
