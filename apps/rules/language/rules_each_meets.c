/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings: an `each` whose pattern has no packet that has its key counts nothing. */
#include <rte_common.h>

#include "rules_priv.h"

#define ITEM(name)                                \
	{                                         \
		.type = RTE_FLOW_ITEM_TYPE_##name \
	}
/* What a packet looks like that has a field: one of these. */
#define SHAPES 6
#define SHAPE_ITEMS 5

#define IN_IPV4(...)                               \
	{                                          \
		ITEM(ETH), ITEM(IPV4), __VA_ARGS__ \
	}
#define IN_IPV6(...)                               \
	{                                          \
		ITEM(ETH), ITEM(IPV6), __VA_ARGS__ \
	}
#define IN_BOTH(...) IN_IPV4(__VA_ARGS__), IN_IPV6(__VA_ARGS__)
#define WITH_PORTS IN_BOTH(ITEM(TCP)), IN_BOTH(ITEM(UDP)), IN_BOTH(ITEM(SCTP))

static const struct rte_flow_item shapes[][SHAPES][SHAPE_ITEMS] = {
	[TRIP_EACH_IPV4_SRC] = {IN_IPV4()},
	[TRIP_EACH_IPV4_DST] = {IN_IPV4()},
	[TRIP_EACH_IPV6_SRC] = {IN_IPV6()},
	[TRIP_EACH_IPV6_DST] = {IN_IPV6()},
	[TRIP_EACH_IP_SRC] = {IN_BOTH()},
	[TRIP_EACH_IP_DST] = {IN_BOTH()},
	[TRIP_EACH_PROTO] = {IN_BOTH()},
	[TRIP_EACH_L4_SRC] = {WITH_PORTS},
	[TRIP_EACH_L4_DST] = {WITH_PORTS},
	[TRIP_EACH_VLAN_VID] = {{ITEM(ETH), ITEM(VLAN)}, {ITEM(ETH), ITEM(VLAN), ITEM(VLAN)}},
	[TRIP_EACH_VXLAN_VNI] = {IN_BOTH(ITEM(UDP), ITEM(VXLAN))},
	[TRIP_EACH_MPLS_LABEL] = {{ITEM(ETH), ITEM(MPLS)}},
	[TRIP_EACH_GTPU_TEID] = {IN_BOTH(ITEM(UDP), ITEM(GTPU))},
};

static_assert(RTE_FLOW_ITEM_TYPE_END == 0, "items that are not named end a shape");

static bool
has_field(const struct trip_rules_match *pattern, enum trip_each_field field)
{
	struct trip_rules_match shape;

	for (unsigned int i = 0; i < SHAPES && shapes[field][i][0].type != 0; i++)
		if (trip_rules_match_compile(shapes[field][i], &shape) &&
			trip_rules_match_meets(pattern, &shape))
			return true;
	return false;
}

void
trip_rules_each_meets(struct trip_rules_ctx *ctx, const struct trip_rules_each *each)
{
	const struct trip_rules_count *count = &each->count;
	const struct trip_rules_span name = {
		.text = ctx->text + count->name_offset,
		.length = strlen(count->name),
		.line = count->name_line,
		.column = count->name_column,
	};
	struct trip_rules_match pattern;

	if (count->n_patterns != 1 || !trip_rules_match_compile(count->patterns[0], &pattern))
		return;
	for (unsigned int i = 0; i < each->n_parts; i++) {
		if (has_field(&pattern, each->parts[i].field))
			continue;
		trip_rules_error_note(ctx, &name,
			"warning: no packet of this pattern has %s: '%s' counts nothing",
			trip_rules_each_word(each->parts[i].field), count->name);
		return;
	}
}
