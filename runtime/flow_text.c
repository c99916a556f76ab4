/* SPDX-License-Identifier: BSD-3-Clause */
/* A pattern in the words of testpmd, for whoever looks on. */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "flow.h"

enum notation {
	NUMBER,
	MAC,
	IPV4,
	IPV6,
};

/* A member of an item's structure, in network order; without a size, one of its single bits. */
struct field {
	const char *name;
	uint16_t offset;
	uint8_t size;
	enum notation notation;
	bool (*bit)(const void *item);
};

struct item {
	enum rte_flow_item_type type;
	const char *name;
	const void *default_mask;
	const struct field *fields;
	uint8_t n_fields;
};

struct text {
	char *at;
	size_t left;
	bool cut;
};

static bool
has_vlan(const void *item)
{
	return ((const struct rte_flow_item_eth *)item)->has_vlan;
}

static bool
has_more_vlan(const void *item)
{
	return ((const struct rte_flow_item_vlan *)item)->has_more_vlan;
}

static bool
has_frag_ext(const void *item)
{
	return ((const struct rte_flow_item_ipv6 *)item)->has_frag_ext;
}

#define FIELD(name, how, type, member)                                                             \
	{                                                                                          \
		name, offsetof(struct type, member), sizeof(((struct type *)0)->member), how, NULL \
	}
#define BIT(name, function)                  \
	{                                    \
		name, 0, 0, NUMBER, function \
	}

static const struct field eth[] = {
	FIELD("dst", MAC, rte_flow_item_eth, hdr.dst_addr),
	FIELD("src", MAC, rte_flow_item_eth, hdr.src_addr),
	FIELD("type", NUMBER, rte_flow_item_eth, hdr.ether_type),
	BIT("has_vlan", has_vlan),
};
static const struct field vlan[] = {
	FIELD("tci", NUMBER, rte_flow_item_vlan, hdr.vlan_tci),
	FIELD("inner_type", NUMBER, rte_flow_item_vlan, hdr.eth_proto),
	BIT("has_more_vlan", has_more_vlan),
};
static const struct field ipv4[] = {
	FIELD("version_ihl", NUMBER, rte_flow_item_ipv4, hdr.version_ihl),
	FIELD("tos", NUMBER, rte_flow_item_ipv4, hdr.type_of_service),
	FIELD("length", NUMBER, rte_flow_item_ipv4, hdr.total_length),
	FIELD("packet_id", NUMBER, rte_flow_item_ipv4, hdr.packet_id),
	FIELD("fragment_offset", NUMBER, rte_flow_item_ipv4, hdr.fragment_offset),
	FIELD("ttl", NUMBER, rte_flow_item_ipv4, hdr.time_to_live),
	FIELD("proto", NUMBER, rte_flow_item_ipv4, hdr.next_proto_id),
	FIELD("src", IPV4, rte_flow_item_ipv4, hdr.src_addr),
	FIELD("dst", IPV4, rte_flow_item_ipv4, hdr.dst_addr),
};
static const struct field ipv6[] = {
	FIELD("vtc_flow", NUMBER, rte_flow_item_ipv6, hdr.vtc_flow),
	FIELD("length", NUMBER, rte_flow_item_ipv6, hdr.payload_len),
	FIELD("proto", NUMBER, rte_flow_item_ipv6, hdr.proto),
	FIELD("hop", NUMBER, rte_flow_item_ipv6, hdr.hop_limits),
	FIELD("src", IPV6, rte_flow_item_ipv6, hdr.src_addr),
	FIELD("dst", IPV6, rte_flow_item_ipv6, hdr.dst_addr),
	BIT("has_frag_ext", has_frag_ext),
};
static const struct field tcp[] = {
	FIELD("src", NUMBER, rte_flow_item_tcp, hdr.src_port),
	FIELD("dst", NUMBER, rte_flow_item_tcp, hdr.dst_port),
	FIELD("seq", NUMBER, rte_flow_item_tcp, hdr.sent_seq),
	FIELD("ack", NUMBER, rte_flow_item_tcp, hdr.recv_ack),
	FIELD("flags", NUMBER, rte_flow_item_tcp, hdr.tcp_flags),
};
static const struct field udp[] = {
	FIELD("src", NUMBER, rte_flow_item_udp, hdr.src_port),
	FIELD("dst", NUMBER, rte_flow_item_udp, hdr.dst_port),
	FIELD("length", NUMBER, rte_flow_item_udp, hdr.dgram_len),
};
static const struct field sctp[] = {
	FIELD("src", NUMBER, rte_flow_item_sctp, hdr.src_port),
	FIELD("dst", NUMBER, rte_flow_item_sctp, hdr.dst_port),
	FIELD("tag", NUMBER, rte_flow_item_sctp, hdr.tag),
	FIELD("cksum", NUMBER, rte_flow_item_sctp, hdr.cksum),
};
static const struct field icmp[] = {
	FIELD("type", NUMBER, rte_flow_item_icmp, hdr.icmp_type),
	FIELD("code", NUMBER, rte_flow_item_icmp, hdr.icmp_code),
	FIELD("ident", NUMBER, rte_flow_item_icmp, hdr.icmp_ident),
	FIELD("seq", NUMBER, rte_flow_item_icmp, hdr.icmp_seq_nb),
};
static const struct field icmp6[] = {
	FIELD("type", NUMBER, rte_flow_item_icmp6, type),
	FIELD("code", NUMBER, rte_flow_item_icmp6, code),
};
static const struct field vxlan[] = {
	{"flags", 0, 1, NUMBER, NULL},
	{"vni", 4, 3, NUMBER, NULL},
	{"last_rsvd", 7, 1, NUMBER, NULL},
};
static const struct field gre[] = {
	FIELD("c_rsvd0_ver", NUMBER, rte_flow_item_gre, c_rsvd0_ver),
	FIELD("protocol", NUMBER, rte_flow_item_gre, protocol),
};

#define ITEM(kind, word)                                                              \
	{                                                                             \
		RTE_FLOW_ITEM_TYPE_##kind, #word, &rte_flow_item_##word##_mask, word, \
			RTE_DIM(word)                                                 \
	}

static const struct item items[] = {
	ITEM(ETH, eth),
	ITEM(VLAN, vlan),
	ITEM(IPV4, ipv4),
	ITEM(IPV6, ipv6),
	ITEM(TCP, tcp),
	ITEM(UDP, udp),
	ITEM(SCTP, sctp),
	ITEM(ICMP, icmp),
	ITEM(ICMP6, icmp6),
	ITEM(VXLAN, vxlan),
	ITEM(GRE, gre),
};

__attribute__((format(printf, 2, 3))) static void
say(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text->at, text->left, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= text->left) {
		text->cut = true;
		length = (int)(text->left - 1);
	}
	text->at += length;
	text->left -= (size_t)length;
}

static void
say_value(struct text *text, const struct field *field, const uint8_t *value)
{
	char address[INET6_ADDRSTRLEN];
	uint64_t number = 0;

	switch (field->notation) {
	case MAC:
		say(text, "%02x:%02x:%02x:%02x:%02x:%02x", value[0], value[1], value[2], value[3],
			value[4], value[5]);
		return;
	case IPV4:
	case IPV6:
		say(text, "%s",
			inet_ntop(field->notation == IPV4 ? AF_INET : AF_INET6, value, address,
				sizeof(address)));
		return;
	default:
		for (unsigned int i = 0; i < field->size; i++)
			number = number << 8 | value[i];
		say(text, "%" PRIu64, number);
	}
}

/* The length of the prefix that a mask is, -1 where it is none. */
static int
prefix_of(const uint8_t *mask, unsigned int size)
{
	unsigned int length = 0;

	while (length < 8 * size && (mask[length / 8] << length % 8 & 0x80) != 0)
		length++;
	for (unsigned int i = length; i < 8 * size; i++)
		if ((mask[i / 8] << i % 8 & 0x80) != 0)
			return -1;
	return (int)length;
}

static void
say_field(struct text *text, const struct field *field, const uint8_t *spec, const uint8_t *mask)
{
	int prefix = prefix_of(mask + field->offset, field->size);
	uint8_t value[16];

	if (field->bit != NULL) {
		if (field->bit(mask))
			say(text, " %s is %d", field->name, field->bit(spec));
		return;
	}
	if (prefix == 0)
		return;
	for (unsigned int i = 0; i < field->size; i++)
		value[i] = spec[field->offset + i] & mask[field->offset + i];
	say(text, " %s %s ", field->name, prefix == 8 * field->size ? "is" : "spec");
	say_value(text, field, value);
	if (prefix == 8 * field->size)
		return;
	if (prefix > 0) {
		say(text, " %s prefix %d", field->name, prefix);
		return;
	}
	say(text, " %s mask ", field->name);
	say_value(text, field, mask + field->offset);
}

static void
say_unknown(struct text *text, const struct rte_flow_item *item)
{
	const char *name = NULL;

	if (rte_flow_conv(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, &name, sizeof(name),
		    (const void *)(uintptr_t)(unsigned int)item->type, NULL) < 0)
		name = "unknown";
	for (; *name != 0; name++)
		say(text, "%c", tolower((unsigned char)*name));
	if (item->spec != NULL)
		say(text, " ...");
}

static void
say_item(struct text *text, const struct rte_flow_item *item)
{
	for (unsigned int i = 0; i < RTE_DIM(items); i++) {
		const void *mask = item->mask != NULL ? item->mask : items[i].default_mask;

		if (items[i].type != item->type)
			continue;
		say(text, "%s", items[i].name);
		for (unsigned int f = 0; item->spec != NULL && f < items[i].n_fields; f++)
			say_field(text, &items[i].fields[f], item->spec, mask);
		return;
	}
	say_unknown(text, item);
}

void
trip_flow_text(const struct rte_flow_item *pattern, char *out, size_t size)
{
	struct text text = {.at = out, .left = size};

	out[0] = 0;
	for (; pattern != NULL && pattern->type != RTE_FLOW_ITEM_TYPE_END; pattern++) {
		if (pattern->type == RTE_FLOW_ITEM_TYPE_VOID)
			continue;
		say_item(&text, pattern);
		say(&text, " / ");
	}
	say(&text, "end");
	if (text.cut)
		strcpy(out + size - 4, "...");
}
