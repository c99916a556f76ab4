/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern items and their fields: the words of testpmd, and where their fields lie in rte_flow's
 * structures.
 *
 * A field is a number of `bits` bits, `shift` from the right end of `bytes` bytes in network order
 * at `offset`; addresses are numbers too, only written differently. So one way of storing serves
 * all fields, and spec, mask and prefix differ in nothing but the number. Flags that rte_flow keeps
 * as bit-fields have no offset and are stored by a function.
 */
#include <arpa/inet.h>
#include <stdlib.h>
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
	{"eth", RTE_FLOW_ITEM_TYPE_ETH, sizeof(struct rte_flow_item_eth),
		{
			{"dst", TRIP_RULES_NOTATION_MAC, WHOLE(rte_flow_item_eth, hdr.dst_addr)},
			{"src", TRIP_RULES_NOTATION_MAC, WHOLE(rte_flow_item_eth, hdr.src_addr)},
			{"type", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_eth, hdr.ether_type)},
			{"has_vlan", TRIP_RULES_NOTATION_NUMBER, .bits = 1, .flag = eth_has_vlan},
		}},
	{"vlan", RTE_FLOW_ITEM_TYPE_VLAN, sizeof(struct rte_flow_item_vlan),
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
	{"ipv4", RTE_FLOW_ITEM_TYPE_IPV4, sizeof(struct rte_flow_item_ipv4),
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
	{"ipv6", RTE_FLOW_ITEM_TYPE_IPV6, sizeof(struct rte_flow_item_ipv6),
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
	{"tcp", RTE_FLOW_ITEM_TYPE_TCP, sizeof(struct rte_flow_item_tcp),
		{
			{"src", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_tcp, hdr.src_port)},
			{"dst", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_tcp, hdr.dst_port)},
			{"flags", TRIP_RULES_NOTATION_NUMBER,
				WHOLE(rte_flow_item_tcp, hdr.tcp_flags)},
		}},
	{"udp", RTE_FLOW_ITEM_TYPE_UDP, sizeof(struct rte_flow_item_udp),
		{
			{"src", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_udp, hdr.src_port)},
			{"dst", TRIP_RULES_NOTATION_NUMBER, WHOLE(rte_flow_item_udp, hdr.dst_port)},
		}},
	{"icmp", RTE_FLOW_ITEM_TYPE_ICMP, sizeof(struct rte_flow_item_icmp),
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
};

/* clang-format off */
/* testpmd's other items that a packet or its port can hold: known words, answered "not yet". */
static const char *const later[] = {
	"sctp", "icmp6", "vxlan", "vxlan_gpe", "gre", "gre_key",
	"gre_option", "nvgre", "geneve", "gtp", "gtpc", "gtpu",
	"gtp_psc", "mpls", "arp_eth_ipv4", "ipv6_ext", "ipv6_frag_ext", "esp",
	"ah", "e_tag", "ppp", "pppoes", "pppoed", "l2tpv2",
	"l2tpv3oip", "pfcp", "ecpri", "any", "void", "raw",
	"mark", "meta", "tag", "port_id", "port_representor", "represented_port",
};
/* clang-format on */

/* The highest value of so many bits. */
trip_rules_u128
trip_rules_field_ones(unsigned int bits)
{
	return bits == 0 ? 0 : ~(trip_rules_u128)0 >> (128 - bits);
}

/* NULL, and the error said, where there is no such item or only in a later version. */
const struct trip_rules_item *
trip_rules_field_item(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	for (size_t i = 0; i < RTE_DIM(items); i++) {
		if (trip_rules_build_is(span, items[i].name))
			return &items[i];
	}
	for (size_t i = 0; i < RTE_DIM(later); i++) {
		if (trip_rules_build_is(span, later[i])) {
			trip_rules_error_notyet(ctx, span);
			return NULL;
		}
	}
	trip_rules_error(ctx, span,
		"expected 'eth', 'vlan', 'ipv4', 'ipv6', 'tcp', 'udp' or 'icmp', found %s",
		trip_rules_error_quote(quote, span));
	return NULL;
}

static void
report_field(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	const struct trip_rules_item *item = ctx->draft.item;
	char quote[TRIP_RULES_QUOTE_SIZE], names[256] = "";
	size_t n = 0;

	for (const struct trip_rules_field *f = item->fields; f->name != NULL && n < sizeof(names);
		f++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s'%s'",
			f == item->fields   ? ""
			: f[1].name == NULL ? " or "
					    : ", ",
			f->name);
	trip_rules_error(ctx, span, "expected a field of %s (%s), found %s", item->name, names,
		trip_rules_error_quote(quote, span));
}

/* NULL, and the error said, where the item has no such field; silent where there is no item. */
const struct trip_rules_field *
trip_rules_field_find(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	if (ctx->draft.item == NULL)
		return NULL;
	for (const struct trip_rules_field *f = ctx->draft.item->fields; f->name != NULL; f++) {
		if (trip_rules_build_is(span, f->name))
			return f;
	}
	report_field(ctx, span);
	return NULL;
}

static bool
parse_mac(const char *text, trip_rules_u128 *value)
{
	*value = 0;
	for (unsigned int i = 0; i < 6; i++) {
		size_t n = strspn(text, "0123456789abcdefABCDEF");
		char end = i < 5 ? ':' : '\0';

		if (n < 1 || n > 2 || text[n] != end)
			return false;
		*value = *value << 8 | (trip_rules_u128)strtoul(text, NULL, 16);
		text += n + 1;
	}
	return true;
}

static bool
parse_ip(int family, size_t size, const char *text, trip_rules_u128 *value)
{
	unsigned char bytes[16];

	if (inet_pton(family, text, bytes) != 1)
		return false;
	*value = 0;
	for (size_t i = 0; i < size; i++)
		*value = *value << 8 | bytes[i];
	return true;
}

/* An address in its own notation. IPv4 may also be a number, as testpmd has it for masks. */
static bool
parse_address(enum trip_rules_notation notation, const struct trip_rules_span *span,
	trip_rules_u128 *value)
{
	char text[64];
	uint64_t number;

	if (span->length >= sizeof(text))
		return false;
	memcpy(text, span->text, span->length);
	text[span->length] = '\0';
	if (notation == TRIP_RULES_NOTATION_MAC)
		return parse_mac(text, value);
	if (notation == TRIP_RULES_NOTATION_IPV6)
		return parse_ip(AF_INET6, 16, text, value);
	if (parse_ip(AF_INET, 4, text, value))
		return true;
	if (trip_rules_value_u64(text, span->length, &number) != TRIP_RULES_NUMBER_OK ||
		number > UINT32_MAX)
		return false;
	*value = number;
	return true;
}

bool
trip_rules_field_value(struct trip_rules_ctx *ctx, const struct trip_rules_field *field,
	const struct trip_rules_span *span, trip_rules_u128 *value)
{
	static const char *const notations[] = {
		[TRIP_RULES_NOTATION_MAC] = "a MAC address such as 02:00:00:00:00:01",
		[TRIP_RULES_NOTATION_IPV4] = "an IPv4 address such as 10.0.0.1",
		[TRIP_RULES_NOTATION_IPV6] = "an IPv6 address such as 2001:db8::1",
	};
	char quote[TRIP_RULES_QUOTE_SIZE], what[32];
	uint64_t number;

	if (field->notation == TRIP_RULES_NOTATION_NUMBER) {
		snprintf(what, sizeof(what), "%s %s", ctx->draft.item->name, field->name);
		if (!trip_rules_value_number(
			    ctx, span, what, (uint64_t)trip_rules_field_ones(field->bits), &number))
			return false;
		*value = number;
		return true;
	}
	if (parse_address(field->notation, span, value))
		return true;
	trip_rules_error(ctx, span, "%s %s: expected %s, found %s", ctx->draft.item->name,
		field->name, notations[field->notation], trip_rules_error_quote(quote, span));
	return false;
}

/* Adds a value to an item that is zero there. */
void
trip_rules_field_store(void *item, const struct trip_rules_field *field, trip_rules_u128 value)
{
	uint8_t *at = (uint8_t *)item + field->offset;

	if (field->flag != NULL) {
		field->flag(item, (unsigned int)value);
		return;
	}
	value <<= field->shift;
	for (unsigned int i = field->bytes; i > 0; i--, value >>= 8)
		at[i - 1] |= (uint8_t)value;
}
