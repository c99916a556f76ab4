/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern items and their fields: the words of testpmd, where their fields lie in rte_flow's
 * structures, and which item may stand behind which.
 *
 * A field is a number of `bits` bits, `shift` from the right end of `bytes` bytes in network order
 * at `offset`; addresses are numbers too, only written differently. So one way of storing serves
 * all fields, and spec, mask, prefix and range differ in nothing but the number. Flags that
 * rte_flow keeps as bit-fields have no offset and are stored by a function.
 */
#include <string.h>

#include "rules_priv.h"

static void
eth_has_vlan(void *item, unsigned int value)
{
	((struct rte_flow_item_eth *)item)->has_vlan = value & 1;
}

static void
vlan_has_more_vlan(void *item, unsigned int value)
{
	((struct rte_flow_item_vlan *)item)->has_more_vlan = value & 1;
}

static void
ipv6_has_frag_ext(void *item, unsigned int value)
{
	((struct rte_flow_item_ipv6 *)item)->has_frag_ext = value & 1;
}

#define AT(type, member) \
	.bytes = sizeof(((struct type *)NULL)->member), .offset = offsetof(struct type, member)
#define WHOLE(type, member) .bits = 8 * sizeof(((struct type *)NULL)->member), AT(type, member)
#define PART(width, right, type, member) .bits = (width), .shift = (right), AT(type, member)

static const struct trip_rules_item items[] = {
	{"eth", RTE_FLOW_ITEM_TYPE_ETH, TRIP_RULES_LAYER_ETH, sizeof(struct rte_flow_item_eth),
		{
			{"dst", TRIP_RULES_NOTATION_MAC, WHOLE(rte_flow_item_eth, hdr.dst_addr)},
			{"src", TRIP_RULES_NOTATION_MAC, WHOLE(rte_flow_item_eth, hdr.src_addr)},
			{"type", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_eth, hdr.ether_type)},
			{"has_vlan", TRIP_RULES_NOTATION_NUMBER, .bits = 1, .flag = eth_has_vlan},
		}},
	{"vlan", RTE_FLOW_ITEM_TYPE_VLAN, TRIP_RULES_LAYER_VLAN, sizeof(struct rte_flow_item_vlan),
		{
			{"tci", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_vlan, hdr.vlan_tci)},
			{"pcp", TRIP_RULES_NOTATION_NUMBER,
				PART(3, 13, rte_flow_item_vlan, hdr.vlan_tci)},
			{"dei", TRIP_RULES_NOTATION_NUMBER,
				PART(1, 12, rte_flow_item_vlan, hdr.vlan_tci)},
			{"vid", TRIP_RULES_NOTATION_NUMBER,
				PART(12, 0, rte_flow_item_vlan, hdr.vlan_tci)},
			{"inner_type", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_vlan, hdr.eth_proto)},
			{"has_more_vlan", TRIP_RULES_NOTATION_NUMBER, .bits = 1,
				.flag = vlan_has_more_vlan},
		}},
	{"ipv4", RTE_FLOW_ITEM_TYPE_IPV4, TRIP_RULES_LAYER_IP, sizeof(struct rte_flow_item_ipv4),
		{
			{"version_ihl", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.version_ihl)},
			{"tos", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.type_of_service)},
			{"length", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.total_length)},
			{"packet_id", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.packet_id)},
			{"fragment_offset", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.fragment_offset)},
			{"ttl", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.time_to_live)},
			{"proto", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv4, hdr.next_proto_id)},
			{"src", TRIP_RULES_NOTATION_IPV4, WHOLE(rte_flow_item_ipv4, hdr.src_addr)},
			{"dst", TRIP_RULES_NOTATION_IPV4, WHOLE(rte_flow_item_ipv4, hdr.dst_addr)},
		}},
	{"ipv6", RTE_FLOW_ITEM_TYPE_IPV6, TRIP_RULES_LAYER_IP, sizeof(struct rte_flow_item_ipv6),
		{
			{"tc", TRIP_RULES_NOTATION_NUMBER,
				PART(8, 20, rte_flow_item_ipv6, hdr.vtc_flow)},
			{"flow", TRIP_RULES_NOTATION_NUMBER,
				PART(20, 0, rte_flow_item_ipv6, hdr.vtc_flow)},
			{"proto", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_ipv6, hdr.proto)},
			{"hop", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_ipv6, hdr.hop_limits)},
			{"src", TRIP_RULES_NOTATION_IPV6, WHOLE(rte_flow_item_ipv6, hdr.src_addr)},
			{"dst", TRIP_RULES_NOTATION_IPV6, WHOLE(rte_flow_item_ipv6, hdr.dst_addr)},
			{"has_frag_ext", TRIP_RULES_NOTATION_NUMBER, .bits = 1,
				.flag = ipv6_has_frag_ext},
		}},
	{"tcp", RTE_FLOW_ITEM_TYPE_TCP, TRIP_RULES_LAYER_L4, sizeof(struct rte_flow_item_tcp),
		{
			{"src", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_tcp, hdr.src_port)},
			{"dst", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_tcp, hdr.dst_port)},
			{"flags", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_tcp, hdr.tcp_flags)},
		}},
	{"udp", RTE_FLOW_ITEM_TYPE_UDP, TRIP_RULES_LAYER_L4, sizeof(struct rte_flow_item_udp),
		{
			{"src", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_udp, hdr.src_port)},
			{"dst", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_udp, hdr.dst_port)},
		}},
	{"sctp", RTE_FLOW_ITEM_TYPE_SCTP, TRIP_RULES_LAYER_L4, sizeof(struct rte_flow_item_sctp),
		{
			{"src", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_sctp, hdr.src_port)},
			{"dst", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_sctp, hdr.dst_port)},
			{"tag", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_sctp, hdr.tag)},
			{"cksum", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_sctp, hdr.cksum)},
		}},
	{"icmp", RTE_FLOW_ITEM_TYPE_ICMP, TRIP_RULES_LAYER_L4, sizeof(struct rte_flow_item_icmp),
		{
			{"type", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_icmp, hdr.icmp_type)},
			{"code", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_icmp, hdr.icmp_code)},
			{"ident", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_icmp, hdr.icmp_ident)},
			{"seq", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_icmp, hdr.icmp_seq_nb)},
		}},
	{"icmp6", RTE_FLOW_ITEM_TYPE_ICMP6, TRIP_RULES_LAYER_L4, sizeof(struct rte_flow_item_icmp6),
		{
			{"type", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_icmp6, type)},
			{"code", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_icmp6, code)},
		}},
	{"vxlan", RTE_FLOW_ITEM_TYPE_VXLAN, TRIP_RULES_LAYER_TUNNEL,
		sizeof(struct rte_flow_item_vxlan),
		{
			{"vni", TRIP_RULES_NOTATION_NUMBER,
				PART(24, 8, rte_flow_item_vxlan, hdr.vx_vni)},
			{"last_rsvd", TRIP_RULES_NOTATION_NUMBER,
				PART(8, 0, rte_flow_item_vxlan, hdr.vx_vni)},
		}},
	{"gre", RTE_FLOW_ITEM_TYPE_GRE, TRIP_RULES_LAYER_L4, sizeof(struct rte_flow_item_gre),
		{
			{"c_rsvd0_ver", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_gre, c_rsvd0_ver)},
			{"c_bit", TRIP_RULES_NOTATION_NUMBER,
				PART(1, 15, rte_flow_item_gre, c_rsvd0_ver)},
			{"k_bit", TRIP_RULES_NOTATION_NUMBER,
				PART(1, 13, rte_flow_item_gre, c_rsvd0_ver)},
			{"s_bit", TRIP_RULES_NOTATION_NUMBER,
				PART(1, 12, rte_flow_item_gre, c_rsvd0_ver)},
			{"protocol", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_gre, protocol)},
		}},
};

/* clang-format off */
/* testpmd's other items that a packet or its port can hold: known words, answered "not yet". */
static const char *const later[] = {
	"vxlan_gpe", "gre_key", "gre_option", "nvgre", "geneve", "gtp", "gtpc", "gtpu",
	"gtp_psc", "mpls", "arp_eth_ipv4", "ipv6_ext", "ipv6_frag_ext", "esp",
	"ah", "e_tag", "ppp", "pppoes", "pppoed", "l2tpv2",
	"l2tpv3oip", "pfcp", "ecpri", "any", "void", "raw",
	"mark", "meta", "tag", "port_id", "port_representor", "represented_port",
};
/* clang-format on */

bool
trip_rules_table_tunnels(const struct trip_rules_item *item)
{
	return item->type == RTE_FLOW_ITEM_TYPE_VXLAN || item->type == RTE_FLOW_ITEM_TYPE_GRE;
}

/*
 * Layers go inwards. The first item of a pattern may be of any layer (those that it leaves out are
 * anything), and so may the first one behind a tunnel; between two items none is left out.
 */
static bool
may_follow(
	const struct trip_rules_item *before, unsigned int tags, const struct trip_rules_item *item)
{
	if (before == NULL)
		return true;
	switch (item->layer) {
	case TRIP_RULES_LAYER_VLAN:
		return before->layer == TRIP_RULES_LAYER_ETH ||
		       (before->layer == TRIP_RULES_LAYER_VLAN && tags < 2);
	case TRIP_RULES_LAYER_IP:
		return before->layer == TRIP_RULES_LAYER_ETH ||
		       before->layer == TRIP_RULES_LAYER_VLAN;
	case TRIP_RULES_LAYER_L4:
		if (item->type == RTE_FLOW_ITEM_TYPE_ICMP)
			return before->type == RTE_FLOW_ITEM_TYPE_IPV4;
		if (item->type == RTE_FLOW_ITEM_TYPE_ICMP6)
			return before->type == RTE_FLOW_ITEM_TYPE_IPV6;
		return before->layer == TRIP_RULES_LAYER_IP;
	case TRIP_RULES_LAYER_TUNNEL:
		return before->type == RTE_FLOW_ITEM_TYPE_UDP;
	default:
		return false;
	}
}

/* What could have stood here instead; all items where that is not known. */
static void
report_item(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	char quote[TRIP_RULES_QUOTE_SIZE], list[TRIP_RULES_LIST_SIZE];
	const struct trip_rules_item *before = ctx->lost ? NULL : ctx->before;
	const char *names[RTE_DIM(items) + 1];
	unsigned int n = 0;

	for (size_t i = 0; i < RTE_DIM(items); i++) {
		if (may_follow(before, ctx->tags, &items[i]) &&
			!(ctx->tunnel && trip_rules_table_tunnels(&items[i])))
			names[n++] = items[i].name;
	}
	if (before != NULL || ctx->tunnel)
		names[n++] = "end";
	trip_rules_error(ctx, span, "expected %s%s%s%s, found %s",
		trip_rules_error_list(list, names, n), before != NULL ? " behind '" : "",
		before != NULL ? before->name : "", before != NULL ? "'" : "",
		trip_rules_error_quote(quote, span));
}

/* NULL, and the error said, where there is no such item, only in a later version, or not here. */
const struct trip_rules_item *
trip_rules_table_item(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	const struct trip_rules_item *item = NULL;

	for (size_t i = 0; i < RTE_DIM(later); i++) {
		if (trip_rules_build_is(span, later[i])) {
			trip_rules_error_notyet(ctx, span);
			return NULL;
		}
	}
	for (size_t i = 0; i < RTE_DIM(items); i++) {
		if (trip_rules_build_is(span, items[i].name))
			item = &items[i];
	}
	if (item != NULL && ctx->tunnel && trip_rules_table_tunnels(item)) {
		trip_rules_error(
			ctx, span, "not yet: this version cannot do a tunnel within a tunnel");
		return NULL;
	}
	if (item == NULL || (!ctx->lost && !may_follow(ctx->before, ctx->tags, item))) {
		report_item(ctx, span);
		return NULL;
	}
	return item;
}

/* NULL, and the error said, where the item has no such field; silent where there is no item. */
const struct trip_rules_field *
trip_rules_table_field(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	const struct trip_rules_item *item = ctx->draft.item;
	char quote[TRIP_RULES_QUOTE_SIZE], list[TRIP_RULES_LIST_SIZE];
	const char *names[TRIP_RULES_FIELDS_MAX];
	unsigned int n = 0;

	if (item == NULL)
		return NULL;
	for (const struct trip_rules_field *f = item->fields; f->name != NULL; f++) {
		if (trip_rules_build_is(span, f->name))
			return f;
		names[n++] = f->name;
	}
	trip_rules_error(ctx, span, "expected a field of %s (%s), found %s", item->name,
		trip_rules_error_list(list, names, n), trip_rules_error_quote(quote, span));
	return NULL;
}

/* An end of the connection that an item has, "src" or "dst", or NULL. */
const struct trip_rules_field *
trip_rules_table_end(const struct trip_rules_item *item, const char *name)
{
	for (const struct trip_rules_field *f = item->fields; f->name != NULL; f++) {
		if (strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}
