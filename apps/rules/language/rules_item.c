/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pattern item from its tests. Values and masks of the fields are gathered in a draft until the
 * item is complete, because they come in any order and only together say what matches.
 */
#include <arpa/inet.h>
#include <string.h>

#include <rte_ether.h>

#include "rules_priv.h"

void
trip_rules_item_begin(struct trip_rules_ctx *ctx, const struct trip_rules_span *item)
{
	const struct trip_flow_item *found = trip_rules_table_item(ctx, item);

	ctx->draft = (struct trip_rules_draft){.item = found};
	ctx->lost = found == NULL;
	ctx->partial |= found == NULL;
	ctx->run = ctx->before == found ? ctx->run + 1 : 1;
	ctx->before = found;
	ctx->tunnel |= found != NULL && found->layer == TRIP_FLOW_TUNNEL;
}

/* Checks only that there is such a field: what its test says is not done yet. */
void
trip_rules_item_field(struct trip_rules_ctx *ctx, const struct trip_rules_span *field)
{
	(void)trip_rules_table_field(ctx, field);
}

/*
 * Notes a spec or a mask of a field, once each. What is wrong still counts as given, so that its
 * absence is not a second mistake.
 */
static bool
note(struct trip_rules_ctx *ctx, const struct trip_flow_field *field,
	const struct trip_rules_span *span, const trip_rules_u128 *spec,
	const trip_rules_u128 *mask)
{
	struct trip_rules_draft *draft = &ctx->draft;
	size_t i = trip_flow_item_field_index(draft->item, field);
	uint32_t bit = 1u << i;

	if ((spec != NULL && (draft->specs & bit) != 0) ||
		(mask != NULL && (draft->masks & bit) != 0))
		return trip_rules_error(ctx, span, "%s %s: this item has its %s already",
			draft->item->word, field->word,
			spec != NULL && (draft->specs & bit) != 0 ? "value" : "mask");
	draft->places[i] = *span;
	if (spec != NULL) {
		draft->specs |= bit;
		draft->spec[i] = *spec;
	}
	if (mask != NULL) {
		draft->masks |= bit;
		draft->mask[i] = *mask;
	}
	return true;
}

void
trip_rules_item_test(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	enum trip_rules_test test, const struct trip_rules_span *value)
{
	const struct trip_flow_field *f = trip_rules_table_field(ctx, field);
	trip_rules_u128 number = 0, all;

	if (f == NULL)
		return;
	trip_rules_field_value(ctx, f, value, &number);
	all = trip_rules_field_ones(f->bits);
	note(ctx, f, field, test != TRIP_RULES_TEST_MASK ? &number : NULL,
		test == TRIP_RULES_TEST_IS     ? &all
		: test == TRIP_RULES_TEST_MASK ? &number
					       : NULL);
}

/* The highest so many bits of a field. */
static bool
prefix_mask(struct trip_rules_ctx *ctx, const struct trip_flow_field *f,
	const struct trip_rules_span *length, trip_rules_u128 *mask)
{
	char what[40];
	uint64_t n;

	snprintf(what, sizeof(what), "%s %s prefix", ctx->draft.item->word, f->word);
	if (!trip_rules_value_number(ctx, length, what, f->bits, &n))
		return false;
	*mask = n == 0 ? 0 : trip_rules_field_ones((unsigned int)n) << (f->bits - n);
	return true;
}

/* Warns of a network that has bits behind its prefix. */
static void
note_host_bits(struct trip_rules_ctx *ctx, const struct trip_flow_field *f,
	const struct trip_rules_span *value, trip_rules_u128 network, int length)
{
	char text[INET6_ADDRSTRLEN], quote[TRIP_RULES_QUOTE_SIZE];
	unsigned int n_bytes = f->bits / 8;
	uint8_t bytes[16];

	for (unsigned int i = 0; i < n_bytes; i++)
		bytes[i] = (uint8_t)(network >> (f->bits - 8 * (i + 1)));
	if (n_bytes == RTE_ETHER_ADDR_LEN)
		snprintf(text, sizeof(text), RTE_ETHER_ADDR_PRT_FMT, bytes[0], bytes[1], bytes[2],
			bytes[3], bytes[4], bytes[5]);
	else
		inet_ntop(n_bytes == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
	trip_rules_error_note(ctx, value,
		"warning: %s has bits behind its prefix, which count for nothing: it is %s/%.*s, "
		"and one address is without '/'",
		trip_rules_error_quote(quote, value), text, length,
		(const char *)memchr(value->text, '/', value->length) + 1);
}

/* "10.0.0.0/8": an address, and how much of it counts. */
void
trip_rules_item_network(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *value)
{
	const struct trip_flow_field *f = trip_rules_table_field(ctx, field);
	struct trip_rules_span address = *value, length = *value;
	trip_rules_u128 spec = 0, mask = 0;
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (f == NULL)
		return;
	address.length =
		(size_t)((const char *)memchr(value->text, '/', value->length) - value->text);
	length.text += address.length + 1;
	length.column += (unsigned int)address.length + 1;
	length.length -= address.length + 1;
	if (f->notation == TRIP_FLOW_NUMBER)
		trip_rules_error(ctx, value, "%s %s: expected a number, found the network %s",
			ctx->draft.item->word, f->word, trip_rules_error_quote(quote, value));
	else if (trip_rules_field_value(ctx, f, &address, &spec) &&
		 prefix_mask(ctx, f, &length, &mask) && (spec & ~mask) != 0)
		note_host_bits(ctx, f, value, spec & mask, (int)length.length);
	note(ctx, f, field, &spec, &mask);
}

void
trip_rules_item_prefix(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *value)
{
	const struct trip_flow_field *f = trip_rules_table_field(ctx, field);
	trip_rules_u128 mask = 0;

	if (f == NULL)
		return;
	prefix_mask(ctx, f, value, &mask);
	note(ctx, f, field, NULL, &mask);
}

/* Until the whole pattern is known, a range is a field that is masked in full. */
void
trip_rules_item_range(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *low, const struct trip_rules_span *high)
{
	const struct trip_flow_field *f = trip_rules_table_field(ctx, field);
	trip_rules_u128 from = 0, to = 0, mask;
	uint32_t index;
	bool good;

	if (f == NULL)
		return;
	good = trip_rules_field_value(ctx, f, low, &from);
	good &= trip_rules_field_value(ctx, f, high, &to);
	if (good && from > to)
		trip_rules_error(ctx, low,
			"%s %s: this range is empty: expected its lower end first",
			ctx->draft.item->word, f->word);
	mask = trip_rules_field_ones(f->bits);
	if (!note(ctx, f, field, &from, &mask))
		return;
	index = trip_flow_item_field_index(ctx->draft.item, f);
	ctx->draft.ranges |= 1u << index;
	ctx->draft.high[index] = from > to ? from : to;
}

/* A spec alone is exact; a mask alone says nothing, and rte_flow would take it for "is 0". */
static bool
complete(struct trip_rules_ctx *ctx)
{
	struct trip_rules_draft *draft = &ctx->draft;
	bool good = true;

	for (uint32_t i = 0; i < draft->item->n_fields; i++) {
		const struct trip_flow_field *field = trip_flow_item_field(draft->item, i);
		uint32_t bit = 1u << i;

		if ((draft->specs & bit) != 0 && (draft->masks & bit) == 0) {
			draft->mask[i] = trip_rules_field_ones(field->bits);
			draft->masks |= bit;
		} else if ((draft->masks & bit) != 0 && (draft->specs & bit) == 0) {
			trip_rules_error(ctx, &draft->places[i],
				"%s %s: expected '%s spec' in the same item, found only a mask",
				draft->item->word, field->word, field->word);
			good = false;
		}
	}
	return good;
}

/* Two fields may share bytes (vlan's tci and vid), but not bits: one would undo the other. */
static bool
disjoint(struct trip_rules_ctx *ctx)
{
	struct trip_rules_draft *draft = &ctx->draft;

	for (uint32_t i = 0; i < draft->item->n_fields; i++) {
		const struct trip_flow_field *one = trip_flow_item_field(draft->item, i);

		for (uint32_t j = 0; j < i; j++) {
			const struct trip_flow_field *other = trip_flow_item_field(draft->item, j);

			if ((draft->masks >> i & draft->masks >> j & 1) == 0 ||
				one->offset != other->offset ||
				(draft->mask[i] << one->shift & draft->mask[j] << other->shift) ==
					0)
				continue;
			return trip_rules_error(ctx, &draft->places[i],
				"%s %s: '%s' of the same item has these bits already",
				draft->item->word, one->word, other->word);
		}
	}
	return true;
}

static void
add_range(struct trip_rules_ctx *ctx, uint32_t i)
{
	const struct trip_rules_draft *draft = &ctx->draft;

	if (!trip_rules_grow(&ctx->ranges, ctx->n_ranges, sizeof(*ctx->ranges))) {
		ctx->nomem = true;
		return;
	}
	ctx->ranges[ctx->n_ranges++] = (struct trip_rules_range){
		.item = ctx->shape.n_items,
		.field = trip_flow_item_field(draft->item, i),
		.low = draft->spec[i],
		.high = draft->high[i],
		.place = draft->places[i],
	};
}

void
trip_rules_item_end(struct trip_rules_ctx *ctx)
{
	const struct trip_rules_draft *draft = &ctx->draft;
	struct trip_rules_shape *shape = &ctx->shape;
	size_t at = shape->n_bytes, size;

	/* Behind a refused item there is no end to those that may come: they are only checked. */
	if (draft->item == NULL || !complete(ctx) || !disjoint(ctx) || ctx->partial)
		return;
	size = RTE_ALIGN(draft->item->bytes, 8);
	memset(shape->cube.spec + at, 0, size);
	memset(shape->cube.mask + at, 0, size);
	for (uint32_t i = 0; i < draft->item->n_fields; i++) {
		const struct trip_flow_field *field = trip_flow_item_field(draft->item, i);

		if ((draft->ranges >> i & 1) != 0) {
			add_range(ctx, i);
		} else if ((draft->specs >> i & 1) != 0) {
			trip_rules_field_store(
				shape->cube.spec + at, field, draft->spec[i] & draft->mask[i]);
			trip_rules_field_store(shape->cube.mask + at, field, draft->mask[i]);
		}
	}
	shape->items[shape->n_items] = draft->item;
	shape->tested[shape->n_items] = draft->specs != 0;
	shape->offsets[shape->n_items++] = at;
	shape->n_bytes += size;
	trip_rules_set_put(ctx);
}
