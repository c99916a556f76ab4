/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "pattern.h"

#define NOT_READ (-1)

/* One member of an item's structure, and where in a packet's words it is. */
struct field {
	uint16_t offset;
	uint16_t size;
	int16_t place;
	uint32_t bit; /* presence */
	const char *not_read;
	const char *range;
};

#define FIELD(item, type, member, where, has)                                               \
	{                                                                                   \
		.offset = offsetof(struct type, member),                                    \
		.size = sizeof(((struct type *)0)->member), .place = (where), .bit = (has), \
		.not_read = item ": field " #member " is not read by the software engine",  \
		.range = item ": field " #member " as a range (last) is not supported",     \
	}
#define MISSING(item, type, member) FIELD(item, type, member, NOT_READ, 0)

static const struct field eth_fields[] = {
	FIELD("eth", rte_flow_item_eth, hdr.dst_addr, TRIP_PLACE_ETH_DST, TRIP_HAS_ETH_DST),
	FIELD("eth", rte_flow_item_eth, hdr.src_addr, TRIP_PLACE_ETH_SRC, TRIP_HAS_ETH_SRC),
	FIELD("eth", rte_flow_item_eth, hdr.ether_type, TRIP_PLACE_ETH_TYPE, TRIP_HAS_ETH_TYPE),
};

static const struct field vlan1_fields[] = {
	FIELD("vlan", rte_flow_item_vlan, hdr.vlan_tci, TRIP_PLACE_VLAN1_TCI, TRIP_HAS_VLAN1_TCI),
	FIELD("vlan", rte_flow_item_vlan, hdr.eth_proto, TRIP_PLACE_VLAN1_TYPE,
		TRIP_HAS_VLAN1_TYPE),
};

static const struct field vlan2_fields[] = {
	FIELD("vlan", rte_flow_item_vlan, hdr.vlan_tci, TRIP_PLACE_VLAN2_TCI, TRIP_HAS_VLAN2_TCI),
	FIELD("vlan", rte_flow_item_vlan, hdr.eth_proto, TRIP_PLACE_VLAN2_TYPE,
		TRIP_HAS_VLAN2_TYPE),
};

static const struct field ipv4_fields[] = {
	FIELD("ipv4", rte_flow_item_ipv4, hdr.version_ihl, TRIP_PLACE_IP_FIRST, TRIP_HAS_IP_FIRST0),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.type_of_service, TRIP_PLACE_IP_FIRST + 1,
		TRIP_HAS_IP_FIRST1),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.total_length, TRIP_PLACE_IP_FIRST + 2,
		TRIP_HAS_IP_FIRST),
	MISSING("ipv4", rte_flow_item_ipv4, hdr.packet_id),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.fragment_offset, TRIP_PLACE_IP_FRAGMENT,
		TRIP_HAS_IP_FRAGMENT),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.time_to_live, TRIP_PLACE_IP_TTL, TRIP_HAS_IP_TTL),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.next_proto_id, TRIP_PLACE_IP_PROTO,
		TRIP_HAS_IP_PROTO),
	MISSING("ipv4", rte_flow_item_ipv4, hdr.hdr_checksum),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.src_addr, TRIP_PLACE_IPV4_SRC, TRIP_HAS_IP_SRC),
	FIELD("ipv4", rte_flow_item_ipv4, hdr.dst_addr, TRIP_PLACE_IPV4_DST, TRIP_HAS_IP_DST),
};

static const struct field ipv6_fields[] = {
	FIELD("ipv6", rte_flow_item_ipv6, hdr.vtc_flow, TRIP_PLACE_IP_FIRST, TRIP_HAS_IP_FIRST),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.payload_len, TRIP_PLACE_IP_FRAGMENT,
		TRIP_HAS_IP_FRAGMENT),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.proto, TRIP_PLACE_IP_PROTO, TRIP_HAS_IP_PROTO),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.hop_limits, TRIP_PLACE_IP_TTL, TRIP_HAS_IP_TTL),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.src_addr, TRIP_PLACE_IPV6_SRC, TRIP_HAS_IP_SRC),
	FIELD("ipv6", rte_flow_item_ipv6, hdr.dst_addr, TRIP_PLACE_IPV6_DST, TRIP_HAS_IP_DST),
};

static const struct field tcp_fields[] = {
	FIELD("tcp", rte_flow_item_tcp, hdr.src_port, TRIP_PLACE_L4, TRIP_HAS_L4_SRC),
	FIELD("tcp", rte_flow_item_tcp, hdr.dst_port, TRIP_PLACE_L4 + 2, TRIP_HAS_L4_DST),
	MISSING("tcp", rte_flow_item_tcp, hdr.sent_seq),
	MISSING("tcp", rte_flow_item_tcp, hdr.recv_ack),
	MISSING("tcp", rte_flow_item_tcp, hdr.data_off),
	FIELD("tcp", rte_flow_item_tcp, hdr.tcp_flags, TRIP_PLACE_TCP_FLAGS, TRIP_HAS_TCP_FLAGS),
	MISSING("tcp", rte_flow_item_tcp, hdr.rx_win),
	MISSING("tcp", rte_flow_item_tcp, hdr.cksum),
	MISSING("tcp", rte_flow_item_tcp, hdr.tcp_urp),
};

static const struct field udp_fields[] = {
	FIELD("udp", rte_flow_item_udp, hdr.src_port, TRIP_PLACE_L4, TRIP_HAS_L4_SRC),
	FIELD("udp", rte_flow_item_udp, hdr.dst_port, TRIP_PLACE_L4 + 2, TRIP_HAS_L4_DST),
	MISSING("udp", rte_flow_item_udp, hdr.dgram_len),
	MISSING("udp", rte_flow_item_udp, hdr.dgram_cksum),
};

static const struct field icmp_fields[] = {
	FIELD("icmp", rte_flow_item_icmp, hdr.icmp_type, TRIP_PLACE_L4, TRIP_HAS_L4_BYTE),
	FIELD("icmp", rte_flow_item_icmp, hdr.icmp_code, TRIP_PLACE_L4 + 1, TRIP_HAS_L4_SRC),
	MISSING("icmp", rte_flow_item_icmp, hdr.icmp_cksum),
	MISSING("icmp", rte_flow_item_icmp, hdr.icmp_ident),
	MISSING("icmp", rte_flow_item_icmp, hdr.icmp_seq_nb),
};

enum layer { LAYER_NONE, LAYER_ETH, LAYER_VLAN, LAYER_IP, LAYER_L4 };

struct kind {
	enum layer layer;
	uint32_t bit; /* the item without fields */
	const void *default_mask;
	const struct field *fields;
	uint32_t field_count;
	const char *misplaced;
	const char *no_spec;
};

#define KIND(name, in, has, from)                                                          \
	{                                                                                  \
		.layer = (in), .bit = (has), .default_mask = &rte_flow_item_##name##_mask, \
		.fields = (from), .field_count = RTE_DIM(from),                            \
		.misplaced = #name ": cannot stand here in a pattern",                     \
		.no_spec = #name ": mask or last without spec",                            \
	}

static const struct kind kind_eth = KIND(eth, LAYER_ETH, 0, eth_fields);
static const struct kind kind_vlan1 = KIND(vlan, LAYER_VLAN, 0, vlan1_fields);
static const struct kind kind_vlan2 = KIND(vlan, LAYER_VLAN, 0, vlan2_fields);
static const struct kind kind_ipv4 = KIND(ipv4, LAYER_IP, TRIP_HAS_IPV4, ipv4_fields);
static const struct kind kind_ipv6 = KIND(ipv6, LAYER_IP, TRIP_HAS_IPV6, ipv6_fields);
static const struct kind kind_tcp = KIND(tcp, LAYER_L4, TRIP_HAS_TCP, tcp_fields);
static const struct kind kind_udp = KIND(udp, LAYER_L4, TRIP_HAS_UDP, udp_fields);
static const struct kind kind_icmp = KIND(icmp, LAYER_L4, TRIP_HAS_ICMP, icmp_fields);

struct compiler {
	struct trip_pattern *pattern;
	struct rte_flow_error *error;
	enum layer layer;
	uint32_t tags;
	bool ipv6;
};

static uint8_t *
mask_at(const struct compiler *compiler, uint32_t place)
{
	return (uint8_t *)compiler->pattern->mask + place;
}

static uint8_t *
value_at(const struct compiler *compiler, uint32_t place)
{
	return (uint8_t *)compiler->pattern->value + place;
}

/* Demand that of the presence bits in mask, just those in value are set. */
static void
demand(const struct compiler *compiler, uint32_t mask, uint32_t value)
{
	uint32_t old;

	memcpy(&old, mask_at(compiler, TRIP_PLACE_BITS), sizeof(old));
	old |= mask;
	memcpy(mask_at(compiler, TRIP_PLACE_BITS), &old, sizeof(old));
	memcpy(&old, value_at(compiler, TRIP_PLACE_BITS), sizeof(old));
	old |= value;
	memcpy(value_at(compiler, TRIP_PLACE_BITS), &old, sizeof(old));
}

static int
refuse(const struct compiler *compiler, int code, enum rte_flow_error_type type,
	const struct rte_flow_item *item, const char *message)
{
	return rte_flow_error_set(compiler->error, code, type, item, message);
}

static int
compile_field(const struct compiler *compiler, const struct field *field,
	const struct rte_flow_item *item, const uint8_t *mask)
{
	const uint8_t *spec = (const uint8_t *)item->spec + field->offset;
	const uint8_t *last =
		item->last != NULL ? (const uint8_t *)item->last + field->offset : spec;
	bool masked = false;
	uint32_t i;

	mask += field->offset;
	for (i = 0; i < field->size; i++) {
		if ((spec[i] & mask[i]) != (last[i] & mask[i]))
			return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_LAST, item,
				field->range);
		masked |= mask[i] != 0;
	}
	if (!masked)
		return 0;
	if (field->place == NOT_READ)
		return refuse(
			compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, item, field->not_read);
	demand(compiler, field->bit, field->bit);
	for (i = 0; i < field->size; i++) {
		mask_at(compiler, field->place)[i] = mask[i];
		value_at(compiler, field->place)[i] = spec[i] & mask[i];
	}
	return 0;
}

/* What has no address in C: the bit-fields behind the headers. */
static int
compile_bits(const struct compiler *compiler, const struct rte_flow_item *item, const void *mask)
{
	const struct rte_flow_item_eth *eth = mask;
	const struct rte_flow_item_vlan *vlan = mask;
	const struct rte_flow_item_ipv6 *ipv6 = mask;
	const char *message = NULL;

	if (item->type == RTE_FLOW_ITEM_TYPE_ETH) {
		if (eth->reserved != 0)
			message = "eth: field reserved is not zero";
		else if (eth->has_vlan)
			demand(compiler, TRIP_HAS_TAGGED,
				((const struct rte_flow_item_eth *)item->spec)->has_vlan
					? TRIP_HAS_TAGGED
					: 0);
	} else if (item->type == RTE_FLOW_ITEM_TYPE_VLAN) {
		if (vlan->reserved != 0)
			message = "vlan: field reserved is not zero";
		else if (vlan->has_more_vlan)
			message = "vlan: field has_more_vlan is not read by the software engine";
	} else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6) {
		if (ipv6->has_hop_ext | ipv6->has_route_ext | ipv6->has_frag_ext |
			ipv6->has_auth_ext | ipv6->has_esp_ext | ipv6->has_dest_ext |
			ipv6->has_mobil_ext | ipv6->has_hip_ext | ipv6->has_shim6_ext)
			message = "ipv6: fields has_*_ext are not read by the software engine";
		else if (ipv6->reserved != 0)
			message = "ipv6: field reserved is not zero";
	}
	if (message != NULL)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, item, message);
	return 0;
}

static int
compile_fields(
	const struct compiler *compiler, const struct kind *kind, const struct rte_flow_item *item)
{
	const uint8_t *mask = item->mask != NULL ? item->mask : kind->default_mask;
	uint32_t i;
	int status;

	if (item->spec == NULL) {
		if (item->mask != NULL || item->last != NULL)
			return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, item,
				kind->no_spec);
		return 0;
	}
	for (i = 0; i < kind->field_count; i++) {
		status = compile_field(compiler, &kind->fields[i], item, mask);
		if (status != 0)
			return status;
	}
	return compile_bits(compiler, item, mask);
}

static const struct kind *
kind_of(const struct compiler *compiler, enum rte_flow_item_type type)
{
	switch (type) {
	case RTE_FLOW_ITEM_TYPE_ETH:
		return &kind_eth;
	case RTE_FLOW_ITEM_TYPE_VLAN:
		return compiler->tags == 0 ? &kind_vlan1 : &kind_vlan2;
	case RTE_FLOW_ITEM_TYPE_IPV4:
		return &kind_ipv4;
	case RTE_FLOW_ITEM_TYPE_IPV6:
		return &kind_ipv6;
	case RTE_FLOW_ITEM_TYPE_TCP:
		return &kind_tcp;
	case RTE_FLOW_ITEM_TYPE_UDP:
		return &kind_udp;
	case RTE_FLOW_ITEM_TYPE_ICMP:
		return &kind_icmp;
	default:
		return NULL;
	}
}

/* May this item follow what came before it? Layers go inwards, and none is skipped between two. */
static const char *
misplaced(const struct compiler *compiler, const struct kind *kind)
{
	if (kind->layer == LAYER_VLAN && compiler->tags == 2)
		return "vlan: at most two in a pattern";
	if (kind->layer == LAYER_L4 && compiler->layer != LAYER_NONE && compiler->layer < LAYER_IP)
		return kind == &kind_tcp   ? "tcp: needs ipv4 or ipv6 before it"
		       : kind == &kind_udp ? "udp: needs ipv4 or ipv6 before it"
					   : "icmp: needs ipv4 before it";
	if (kind == &kind_icmp && compiler->ipv6)
		return "icmp: needs ipv4 before it, not ipv6";
	if (kind->layer == LAYER_VLAN ? compiler->layer > LAYER_VLAN
				      : compiler->layer >= kind->layer)
		return kind->misplaced;
	return NULL;
}

static int
compile_item(struct compiler *compiler, const struct rte_flow_item *item)
{
	const struct kind *kind = kind_of(compiler, item->type);
	const char *message;

	if (kind == NULL)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item,
			"item is not eth, vlan, ipv4, ipv6, tcp, udp, icmp or void: the software "
			"engine does not match it");
	message = misplaced(compiler, kind);
	if (message != NULL)
		return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, item, message);
	compiler->layer = kind->layer;
	compiler->tags += kind->layer == LAYER_VLAN;
	compiler->ipv6 |= kind == &kind_ipv6;
	demand(compiler, kind->bit, kind->bit);
	return compile_fields(compiler, kind, item);
}

int
trip_pattern_compile(const struct rte_flow_item *items, struct trip_pattern *pattern,
	struct rte_flow_error *error)
{
	struct compiler compiler = {.pattern = pattern, .error = error};
	const struct rte_flow_item *item;
	int status;

	memset(pattern, 0, sizeof(*pattern));
	if (items == NULL)
		return refuse(
			&compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, NULL, "pattern: no items");
	for (item = items; item->type != RTE_FLOW_ITEM_TYPE_END; item++) {
		if (item->type == RTE_FLOW_ITEM_TYPE_VOID)
			continue;
		status = compile_item(&compiler, item);
		if (status != 0)
			return status;
	}
	if (compiler.tags != 0)
		demand(&compiler, TRIP_HAS_TAGS_MASK, compiler.tags << TRIP_HAS_TAGS_SHIFT);
	return 0;
}
