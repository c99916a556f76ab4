/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles rte_flow items into masks and values. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pattern_item.h"

struct compiler {
	struct trip_pattern *pattern;
	struct trip_pattern_tests *tests; /* NULL: there may be none */
	struct rte_flow_error *error;
	const struct rte_flow_item *item;    /* the one that is being compiled */
	const struct trip_flow_item *before; /* NULL: it is the first */
	unsigned int run;                    /* how often `before` stands there in a row */
	/* Of the stack that is being described: */
	uint32_t base; /* where it is: 0, or TRIP_PLACE_INNER */
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

	for (uint32_t i = 0; i < size; i++) {
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

/* What is said is good until the calling thread's next refusal. */
__attribute__((format(printf, 4, 5))) static int
refuse(const struct compiler *compiler, int code, enum rte_flow_error_type type, const char *format,
	...)
{
	static _Thread_local char message[128];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return rte_flow_error_set(compiler->error, code, type, compiler->item, message);
}

/* rte_flow takes no range from a member of `last` that is 0. */
static bool
is_zero(const uint8_t *bytes, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* A flag behind the header says what no byte of the packet does. */
static void
compile_flag(struct compiler *compiler, const struct trip_flow_item *known,
	const struct trip_flow_field *field, bool there)
{
	uint64_t bits = trip_pattern_item_place(known, 0, field).bits;
	/* That an extension header is not there is known where all of them are. */
	uint64_t all = known->layer == TRIP_FLOW_IP ? TRIP_PATTERN_MORE(TRIP_MORE_EXT_ALL) : 0;

	if (known->layer == TRIP_FLOW_VLAN) {
		compiler->more_tags = there;
		compiler->no_more_tags = !there;
	} else {
		demand(compiler, there ? bits : bits | all, there ? bits : all);
	}
}

/* Is anything of a field in a mask? Of fields that share bytes, in any of these. */
static bool
is_masked(const struct trip_flow_field *field, const uint8_t *mask)
{
	if (field->bytes == 1)
		return (mask[field->offset] >> field->shift & ((1u << field->bits) - 1)) != 0;
	return !is_zero(mask + field->offset, field->bytes);
}

static int
compile_field(struct compiler *compiler, const struct trip_flow_item *known,
	const struct trip_flow_field *field, const uint8_t *mask)
{
	const uint8_t *spec = compiler->item->spec;
	const uint8_t *last = compiler->item->last != NULL ? compiler->item->last : spec;
	struct trip_pattern_place place;

	if (!is_masked(field, mask))
		return 0;
	if (field->unread)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"%s: field %s is not read by the software engine", known->word,
			field->word);
	if (trip_pattern_item_flag(known, field)) {
		compile_flag(compiler, known, field, is_masked(field, spec));
		return 0;
	}
	for (uint32_t i = field->offset; i < (uint32_t)field->offset + field->bytes; i++)
		if ((spec[i] & mask[i]) != (last[i] & mask[i]) &&
			!is_zero(last + field->offset, field->bytes))
			return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_LAST,
				"%s: field %s as a range (last) is not supported here", known->word,
				field->word);
	place = trip_pattern_item_place(known, compiler->run - 1, field);
	demand(compiler, place.bits, place.bits);
	require(compiler, compiler->base + place.at, mask + field->offset, spec + field->offset,
		field->bytes);
	return 0;
}

static int
compile_fields(struct compiler *compiler, const struct trip_flow_item *known)
{
	const struct rte_flow_item *item = compiler->item;
	int status = 0;

	if (item->spec == NULL && (item->mask != NULL || item->last != NULL))
		return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC,
			"%s: mask or last without spec", known->word);
	for (unsigned int i = 0; item->spec != NULL && i < known->n_fields && status == 0; i++)
		status = compile_field(compiler, known, trip_flow_item_field(known, i),
			item->mask != NULL ? item->mask : known->mask);
	return status;
}

static int
refuse_place(const struct compiler *compiler, const struct trip_flow_item *known)
{
	const struct trip_flow_item *other;
	char needs[64] = "";
	size_t length = 0;

	if (compiler->before == known && known->repeats > 1)
		return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, "%s: at most %u in a row",
			known->word, known->repeats);
	for (unsigned int i = 0; (other = trip_flow_item_at(i)) != NULL; i++)
		if ((known->behind >> i & 1) != 0 && length < sizeof(needs))
			length += (size_t)snprintf(needs + length, sizeof(needs) - length, "%s%s",
				length > 0 ? " or " : "", other->word);
	return length > 0
		       ? refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM,
				 "%s: needs %s before it, not %s", known->word, needs,
				 compiler->before->word)
		       : refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM,
				 "%s: cannot stand behind %s", known->word, compiler->before->word);
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
static void
enter_inner(struct compiler *compiler)
{
	finish_stack(compiler);
	compiler->base = TRIP_PLACE_INNER;
	compiler->tags = 0;
	compiler->more_tags = false;
	compiler->no_more_tags = false;
}

/* The number that announces a tunnel, and its sign, in the stack that has it. */
static int
compile_tunnel(struct compiler *compiler, const struct trip_flow_item *known)
{
	struct trip_pattern_sign sign = trip_pattern_item_sign(known, compiler->run - 1);
	const uint16_t all = 0xffff, port = rte_cpu_to_be_16(known->number);

	if (trip_pattern_item_inside(known)) {
		if (compiler->base == 0)
			enter_inner(compiler);
		demand(compiler, sign.mask, sign.value);
		if (known->announcer == TRIP_FLOW_BY_ETHERTYPE)
			require(compiler, TRIP_PLACE_INNER + TRIP_PLACE_TUNNEL_TYPE, &all,
				&known->number, sizeof(all));
		return 0;
	}
	demand(compiler, sign.mask, sign.value);
	if (known->announcer == TRIP_FLOW_BY_UDP_PORT &&
		!require(compiler, TRIP_PLACE_L4 + 2, &all, &port, sizeof(all)))
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"%s: the udp item before it has another port than %u", known->word,
			known->number);
	enter_inner(compiler);
	return 0;
}

static int
refuse_unknown(const struct compiler *compiler)
{
	enum rte_flow_item_type type = compiler->item->type;
	const char *name = NULL;

	if (type < 0 || rte_flow_conv(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, &name, sizeof(name),
				(const void *)(uintptr_t)type, NULL) < 0)
		name = NULL;
	return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
		"item %s (type %d) is not one of the software engine's",
		name != NULL ? name : "unknown", (int)type);
}

static int
compile_place(const struct compiler *compiler, const struct trip_flow_item *known)
{
	const struct trip_flow_item *before = compiler->before;
	bool follows = trip_flow_item_follows(known, before, compiler->run);

	if (known->layer == TRIP_FLOW_TUNNEL && compiler->base != 0 &&
		known->announcer != TRIP_FLOW_BY_EXTENSION && before != known)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"%s: a tunnel in a tunnel is not looked into", known->word);
	if (!follows)
		return refuse_place(compiler, known);
	if (known->layer == TRIP_FLOW_VLAN && compiler->no_more_tags)
		return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM,
			"vlan: the one before it has no more behind it (has_more_vlan is 0)");
	return 0;
}

/* What a field is, where it can be in a set; false: it cannot. */
static bool
kind_of(const struct trip_flow_item *item, const struct trip_flow_field *field,
	enum trip_set_kind *kind)
{
	*kind = field->notation == TRIP_FLOW_IPV4   ? TRIP_SET_IPV4
		: field->notation == TRIP_FLOW_IPV6 ? TRIP_SET_IPV6
						    : TRIP_SET_PORT;
	/* Of the items of L4, those whose first two fields are ports. */
	return *kind != TRIP_SET_PORT ||
	       (item->layer == TRIP_FLOW_L4 && field->bits == 16 && field->offset < 4 &&
		       (strcmp(field->word, "src") == 0 || strcmp(field->word, "dst") == 0));
}

/* It says something of the item before it, and stands in nobody's way. */
static int
compile_set(struct compiler *compiler)
{
	const struct trip_flow_item_set *set = compiler->item->spec;
	const struct trip_flow_item *known = compiler->before;
	const struct trip_flow_field *field = NULL;
	struct trip_pattern_place place;
	enum trip_set_kind kind;

	if (compiler->tests == NULL)
		return refuse(
			compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, "set: no sets are known here");
	if (set == NULL || known == NULL || memchr(set->name, 0, sizeof(set->name)) == NULL)
		return refuse(compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM,
			"set: it needs a name, and an item before it");
	for (unsigned int i = 0; i < known->n_fields && field == NULL; i++)
		if (trip_flow_item_field(known, i)->offset == set->offset)
			field = trip_flow_item_field(known, i);
	if (field == NULL || !kind_of(known, field, &kind))
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"%s: field %s cannot be in a set, which addresses and ports can",
			known->word, field != NULL ? field->word : "unknown");
	if (compiler->tests->n == TRIP_PATTERN_TESTS_MAX)
		return refuse(compiler, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"set: a pattern has at most %d", TRIP_PATTERN_TESTS_MAX);
	place = trip_pattern_item_place(known, compiler->run - 1, field);
	demand(compiler, place.bits, place.bits);
	compiler->tests->at[compiler->tests->n++] =
		(struct trip_pattern_test){set->name, compiler->base + place.at, kind};
	return 0;
}

static int
compile_item(struct compiler *compiler)
{
	const struct trip_flow_item *known = trip_flow_item_of((int)compiler->item->type);
	struct trip_pattern_sign sign;
	int status;

	if ((int)compiler->item->type == TRIP_FLOW_ITEM_TYPE_SET)
		return compile_set(compiler);
	if (known == NULL)
		return refuse_unknown(compiler);
	status = compile_place(compiler, known);
	if (status != 0)
		return status;
	compiler->run = compiler->before == known ? compiler->run + 1 : 1;
	compiler->before = known;
	if (known->layer == TRIP_FLOW_TUNNEL) {
		status = compile_tunnel(compiler, known);
		return status == 0 ? compile_fields(compiler, known) : status;
	}
	if (known->layer == TRIP_FLOW_VLAN) {
		compiler->tags = compiler->run;
		compiler->more_tags = false;
	}
	sign = trip_pattern_item_sign(known, 0);
	demand(compiler, sign.mask, sign.value);
	/* Of the outer stack it is always so, and to ask would cost every packet the long way. */
	if (known->layer == TRIP_FLOW_ETH && compiler->base != 0)
		demand(compiler, TRIP_PATTERN_MORE(TRIP_MORE_ETH),
			TRIP_PATTERN_MORE(TRIP_MORE_ETH));
	return compile_fields(compiler, known);
}

int
trip_pattern_compile(const struct rte_flow_item *items, struct trip_pattern *pattern,
	struct rte_flow_error *error)
{
	return trip_pattern_compile_tests(items, pattern, NULL, error);
}

int
trip_pattern_compile_tests(const struct rte_flow_item *items, struct trip_pattern *pattern,
	struct trip_pattern_tests *tests, struct rte_flow_error *error)
{
	struct compiler compiler = {
		.pattern = pattern, .tests = tests, .error = error, .item = items};
	int status = 0;

	if (tests != NULL)
		tests->n = 0;

	memset(pattern, 0, sizeof(*pattern));
	if (items == NULL)
		return refuse(&compiler, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM, "pattern: no items");
	for (; compiler.item->type != RTE_FLOW_ITEM_TYPE_END && status == 0; compiler.item++)
		if (compiler.item->type != RTE_FLOW_ITEM_TYPE_VOID)
			status = compile_item(&compiler);
	if (status == 0)
		finish_stack(&compiler);
	return status;
}
