/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pattern_item.h"

struct compiler {
	struct trip_pattern *pattern;
	struct rte_flow_error *error;
	/* Of the stack that is being described: */
	uint32_t base; /* where it is: 0, or TRIP_PLACE_INNER */
	const struct trip_pattern_item *before;
	enum trip_pattern_layer layer;
	uint32_t tags;
	bool more_tags; /* than those, by has_more_vlan */
	bool no_more_tags;
};

/* Say of these bytes that under mask they must have this value. What was said before stays said;
 * false where both cannot be. */
static bool
require(const struct compiler *compiler, uint32_t place, const void *mask, const void *value,
	uint32_t size)
{
	uint8_t *old_mask = (uint8_t *)compiler->pattern->mask + place;
	uint8_t *old_value = (uint8_t *)compiler->pattern->value + place;
	const uint8_t *new_mask = mask, *new_value = value;
	bool agrees = true;
	uint32_t i;

	for (i = 0; i < size; i++) {
		agrees &= ((old_value[i] ^ new_value[i]) & old_mask[i] & new_mask[i]) == 0;
		old_mask[i] |= new_mask[i];
		old_value[i] |= new_value[i] & new_mask[i];
	}
	return agrees;
}

/* Demand that of the presence bits in mask, just those in value are set: TRIP_HAS_*, and
 * TRIP_MORE_* above them. The packet must have been read that far, too. */
static void
demand(const struct compiler *compiler, uint64_t mask, uint64_t value)
{
	uint32_t has[] = {(uint32_t)mask, (uint32_t)value};
	uint32_t more[] = {(uint32_t)(mask >> 32), (uint32_t)(value >> 32)};
	uint32_t read = compiler->base != 0 ? TRIP_HAS_TUNNEL : more[0] != 0 ? TRIP_HAS_MORE : 0;

	if (mask == 0)
		return;
	require(compiler, compiler->base + TRIP_PLACE_BITS, &has[0], &has[1], 4);
	require(compiler, compiler->base + TRIP_PLACE_MORE, &more[0], &more[1], 4);
	require(compiler, TRIP_PLACE_BITS, &read, &read, 4);
}

static int
refuse(const struct compiler *compiler, int code, enum rte_flow_error_type type,
	const struct rte_flow_item *item, const char *message)
{
	return rte_flow_error_set(compiler->error, code, type, item, message);
}

/* rte_flow takes no range from a member of `last` that is 0. */
static bool
is_zero(const uint8_t *bytes, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static int
compile_field(const struct compiler *compiler, const struct trip_pattern_field *field,
	const struct rte_flow_item *item, const uint8_t *mask)
{
	const uint8_t *spec = (const uint8_t *)item->spec + field->offset;
	const uint8_t *last =
		item->last != NULL ? (const uint8_t *)item->last + field->offset : spec;
	uint32_t i;

	mask += field->offset;
	if (is_zero(mask, field->size))
		return 0;
	for (i = 0; i < field->size && !is_zero(last, field->size); i++)
		if ((spec[i] & mask[i]) != (last[i] & mask[i]))
			return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_LAST, item,
				field->range);
	if (field->place == TRIP_PATTERN_NOT_READ)
		return refuse(
			compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, item, field->not_read);
	demand(compiler, field->bits, field->bits);
	require(compiler, compiler->base + (uint32_t)field->place, mask, spec, field->size);
	return 0;
}

/* What has no address in C: the bit-fields behind the headers. */
static const char *
compile_eth_bits(const struct compiler *compiler, const struct rte_flow_item_eth *spec,
	const struct rte_flow_item_eth *mask)
{
	if (mask->reserved != 0)
		return "eth: field reserved is not zero";
	if (mask->has_vlan)
		demand(compiler, TRIP_HAS_TAGGED, spec->has_vlan ? TRIP_HAS_TAGGED : 0);
	return NULL;
}

static const char *
compile_vlan_bits(struct compiler *compiler, const struct rte_flow_item_vlan *spec,
	const struct rte_flow_item_vlan *mask)
{
	if (mask->reserved != 0)
		return "vlan: field reserved is not zero";
	compiler->more_tags = mask->has_more_vlan && spec->has_more_vlan;
	compiler->no_more_tags = mask->has_more_vlan && !spec->has_more_vlan;
	return NULL;
}

static void
demand_extension(const struct compiler *compiler, bool masked, bool there, uint32_t extension)
{
	uint64_t bit = (uint64_t)extension << 32, all = (uint64_t)TRIP_MORE_EXT_ALL << 32;

	if (masked)
		demand(compiler, there ? bit : bit | all, there ? bit : all);
}

static const char *
compile_ipv6_bits(const struct compiler *compiler, const struct rte_flow_item_ipv6 *spec,
	const struct rte_flow_item_ipv6 *mask)
{
#define EXTENSION(member, extension) \
	demand_extension(compiler, mask->member, spec->member, TRIP_MORE_EXT_##extension)
	if (mask->reserved != 0)
		return "ipv6: field reserved is not zero";
	EXTENSION(has_hop_ext, HOP);
	EXTENSION(has_route_ext, ROUTE);
	EXTENSION(has_frag_ext, FRAG);
	EXTENSION(has_auth_ext, AUTH);
	EXTENSION(has_esp_ext, ESP);
	EXTENSION(has_dest_ext, DEST);
	EXTENSION(has_mobil_ext, MOBIL);
	EXTENSION(has_hip_ext, HIP);
	EXTENSION(has_shim6_ext, SHIM6);
#undef EXTENSION
	return NULL;
}

static int
compile_bits(struct compiler *compiler, const struct rte_flow_item *item, const void *mask)
{
	const char *message = NULL;

	if (item->type == RTE_FLOW_ITEM_TYPE_ETH)
		message = compile_eth_bits(compiler, item->spec, mask);
	else if (item->type == RTE_FLOW_ITEM_TYPE_VLAN)
		message = compile_vlan_bits(compiler, item->spec, mask);
	else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6)
		message = compile_ipv6_bits(compiler, item->spec, mask);
	if (message != NULL)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, item, message);
	return 0;
}

static int
compile_fields(struct compiler *compiler, const struct trip_pattern_item *known,
	const struct rte_flow_item *item)
{
	const uint8_t *mask = item->mask != NULL ? item->mask : known->default_mask;
	uint32_t i;
	int status;

	if (item->spec == NULL) {
		if (item->mask != NULL || item->last != NULL)
			return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, item,
				known->no_spec);
		return 0;
	}
	for (i = 0; i < known->n_fields; i++) {
		status = compile_field(compiler, &known->fields[i], item, mask);
		if (status != 0)
			return status;
	}
	return compile_bits(compiler, item, mask);
}

static const char *
misplaced_l4(const struct compiler *compiler, const struct trip_pattern_item *known)
{
	enum rte_flow_item_type before = compiler->before->type;

	if (known->type == RTE_FLOW_ITEM_TYPE_VXLAN)
		return before == RTE_FLOW_ITEM_TYPE_UDP ? NULL : "vxlan: needs udp before it";
	if (compiler->layer < TRIP_PATTERN_IP)
		return known->type == RTE_FLOW_ITEM_TYPE_TCP   ? "tcp: needs ipv4 or ipv6 before it"
		       : known->type == RTE_FLOW_ITEM_TYPE_UDP ? "udp: needs ipv4 or ipv6 before it"
		       : known->type == RTE_FLOW_ITEM_TYPE_SCTP
			       ? "sctp: needs ipv4 or ipv6 before it"
		       : known->type == RTE_FLOW_ITEM_TYPE_GRE ? "gre: needs ipv4 or ipv6 before it"
		       : known->type == RTE_FLOW_ITEM_TYPE_ICMP6 ? "icmp6: needs ipv6 before it"
								 : "icmp: needs ipv4 before it";
	if (known->type == RTE_FLOW_ITEM_TYPE_ICMP && before == RTE_FLOW_ITEM_TYPE_IPV6)
		return "icmp: needs ipv4 before it, not ipv6";
	if (known->type == RTE_FLOW_ITEM_TYPE_ICMP6 && before == RTE_FLOW_ITEM_TYPE_IPV4)
		return "icmp6: needs ipv6 before it, not ipv4";
	return compiler->layer >= known->layer ? known->misplaced : NULL;
}

/* May this item follow what came before it? Layers go inwards, and none is skipped between two. */
static const char *
misplaced(const struct compiler *compiler, const struct trip_pattern_item *known)
{
	if (compiler->before == NULL)
		return NULL;
	if (known->layer >= TRIP_PATTERN_L4)
		return misplaced_l4(compiler, known);
	if (known->layer != TRIP_PATTERN_VLAN)
		return compiler->layer >= known->layer ? known->misplaced : NULL;
	if (compiler->tags == 2)
		return "vlan: at most two in a pattern, or behind a tunnel";
	if (compiler->no_more_tags)
		return "vlan: the one before it has no more behind it (has_more_vlan is 0)";
	return compiler->layer > TRIP_PATTERN_VLAN ? known->misplaced : NULL;
}

/* The number of tags is known when no further item of the stack can be one. */
static void
finish_stack(const struct compiler *compiler)
{
	uint64_t tags = compiler->tags;

	if (tags == 0)
		return;
	/* 2 and 3 have their upper bit in common, and 3 is any number above. */
	if (compiler->more_tags && tags == 1)
		demand(compiler, 2u << TRIP_HAS_TAGS_SHIFT, 2u << TRIP_HAS_TAGS_SHIFT);
	else
		demand(compiler, TRIP_HAS_TAGS_MASK,
			(tags + compiler->more_tags) << TRIP_HAS_TAGS_SHIFT);
}

/* From here on, items are of the inner packet; the tunnel's own fields lie there too. */
static int
enter_tunnel(struct compiler *compiler, const struct rte_flow_item *item)
{
	static const uint16_t all = 0xffff, vxlan = RTE_BE16(TRIP_PORT_VXLAN);

	if (item->type == RTE_FLOW_ITEM_TYPE_VXLAN &&
		!require(compiler, compiler->base + TRIP_PLACE_L4 + 2, &all, &vxlan, sizeof(all)))
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item,
			"vxlan: the udp item before it has another port than 4789");
	finish_stack(compiler);
	*compiler = (struct compiler){
		.pattern = compiler->pattern, .error = compiler->error, .base = TRIP_PLACE_INNER};
	return 0;
}

static int
refuse_unknown(const struct compiler *compiler, const struct rte_flow_item *item)
{
	static _Thread_local char message[128];
	const char *name = NULL;

	if (item->type < 0 || rte_flow_conv(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, &name, sizeof(name),
				      (const void *)(uintptr_t)item->type, NULL) < 0)
		name = NULL;
	snprintf(message, sizeof(message), "item %s (type %d) is not one of the software engine's",
		name != NULL ? name : "unknown", (int)item->type);
	return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item, message);
}

static int
compile_item(struct compiler *compiler, const struct rte_flow_item *item)
{
	const struct trip_pattern_item *known = trip_pattern_item_of(item->type, compiler->tags);
	bool tunnel =
		item->type == RTE_FLOW_ITEM_TYPE_VXLAN || item->type == RTE_FLOW_ITEM_TYPE_GRE;
	const char *message;
	int status;

	if (known == NULL)
		return refuse_unknown(compiler, item);
	message = misplaced(compiler, known);
	if (message != NULL)
		return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, item, message);
	if (tunnel && compiler->base != 0)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item,
			item->type == RTE_FLOW_ITEM_TYPE_GRE
				? "gre: a tunnel in a tunnel is not looked into"
				: "vxlan: a tunnel in a tunnel is not looked into");
	compiler->before = known;
	compiler->layer = known->layer;
	if (known->layer == TRIP_PATTERN_VLAN) {
		compiler->tags++;
		compiler->more_tags = false;
	}
	demand(compiler, known->bit, known->bit);
	/* Of the outer stack it is always so, and to ask would cost every packet the long way. */
	if (known->type == RTE_FLOW_ITEM_TYPE_ETH && compiler->base != 0)
		demand(compiler, (uint64_t)TRIP_MORE_ETH << 32, (uint64_t)TRIP_MORE_ETH << 32);
	if (tunnel) {
		status = enter_tunnel(compiler, item);
		if (status != 0)
			return status;
	}
	return compile_fields(compiler, known, item);
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
	finish_stack(&compiler);
	return 0;
}
