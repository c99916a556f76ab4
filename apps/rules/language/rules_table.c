/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a pattern, looked up in the catalogue (trip_flow_item.h) or refused with what could
 * stand there. */
#include <string.h>

#include "rules_priv.h"

/* clang-format off */
/* testpmd's other items that a packet or its port can hold: known words, answered "not yet". One
 * that the catalogue has is found there first. */
static const char *const later[] = {
	"vxlan_gpe", "gre_key", "gre_option", "nvgre", "gtp", "gtpc", "arp_eth_ipv4",
	"ipv6_ext", "ipv6_frag_ext", "e_tag", "ppp", "pppoed", "l2tpv2",
	"l2tpv3oip", "pfcp", "ecpri", "any", "void", "raw",
	"mark", "meta", "tag", "port_id", "port_representor", "represented_port",
};
/* clang-format on */

static bool
is_later(const struct trip_rules_span *span)
{
	size_t i = 0;

	while (i < RTE_DIM(later) && !trip_rules_build_is(span, later[i]))
		i++;
	return i < RTE_DIM(later);
}

/* No tunnel is looked for in a tunnel; what belongs to its header is none. */
static bool
is_nested(const struct trip_rules_ctx *ctx, const struct trip_flow_item *item)
{
	return ctx->tunnel && item->layer == TRIP_FLOW_TUNNEL && item != ctx->before &&
	       item->announcer != TRIP_FLOW_BY_EXTENSION;
}

/* What could have stood here instead; all items where that is not known. */
static void
report_item(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	char quote[TRIP_RULES_QUOTE_SIZE], list[TRIP_RULES_LIST_SIZE];
	const struct trip_flow_item *before = ctx->lost ? NULL : ctx->before;
	bool behind = before != NULL && before->layer != TRIP_FLOW_TUNNEL;
	const struct trip_flow_item *item;
	const char *names[33];
	unsigned int n = 0;

	for (unsigned int i = 0; (item = trip_flow_item_at(i)) != NULL; i++) {
		if (trip_flow_item_follows(item, before, ctx->run) && !is_nested(ctx, item))
			names[n++] = item->word;
	}
	if (before != NULL || ctx->tunnel)
		names[n++] = "end";
	trip_rules_error(ctx, span, "expected %s%s%s%s, found %s",
		trip_rules_error_list(list, names, n), behind ? " behind '" : "",
		behind ? before->word : "", behind ? "'" : "", trip_rules_error_quote(quote, span));
}

/* NULL, and the error said, where there is no such item, only in a later version, or not here. */
const struct trip_flow_item *
trip_rules_table_item(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	const struct trip_flow_item *item;
	unsigned int at = 0;

	while ((item = trip_flow_item_at(at)) != NULL && !trip_rules_build_is(span, item->word))
		at++;
	if (item == NULL && is_later(span)) {
		trip_rules_error_notyet(ctx, span);
		return NULL;
	}
	if (item != NULL && is_nested(ctx, item)) {
		trip_rules_error(
			ctx, span, "not yet: this version cannot do a tunnel within a tunnel");
		return NULL;
	}
	if (item == NULL || (!ctx->lost && !trip_flow_item_follows(item, ctx->before, ctx->run))) {
		report_item(ctx, span);
		return NULL;
	}
	return item;
}

/* NULL, and the error said, where the item has no such field; silent where there is no item. */
const struct trip_flow_field *
trip_rules_table_field(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	const struct trip_flow_item *item = ctx->draft.item;
	char quote[TRIP_RULES_QUOTE_SIZE], list[TRIP_RULES_LIST_SIZE];
	const char *names[TRIP_FLOW_FIELDS_MAX];
	unsigned int n = 0;

	if (item == NULL)
		return NULL;
	for (unsigned int i = 0; i < item->n_fields; i++) {
		if (trip_flow_item_field(item, i)->unsaid)
			continue;
		if (trip_rules_build_is(span, trip_flow_item_field(item, i)->word))
			return trip_flow_item_field(item, i);
		names[n++] = trip_flow_item_field(item, i)->word;
	}
	trip_rules_error(ctx, span, "expected a field of %s (%s), found %s", item->word,
		trip_rules_error_list(list, names, n), trip_rules_error_quote(quote, span));
	return NULL;
}

/* An end of the connection that an item has, "src" or "dst", or NULL. */
const struct trip_flow_field *
trip_rules_table_end(const struct trip_flow_item *item, const char *name)
{
	for (unsigned int i = 0; i < item->n_fields; i++) {
		if (strcmp(trip_flow_item_field(item, i)->word, name) == 0)
			return trip_flow_item_field(item, i);
	}
	return NULL;
}
