/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that appear by themselves: of which keys, how many, and for how long. Where they count,
 * and of which packets, is read as that of a count is.
 */
#include <inttypes.h>
#include <string.h>

#include "rules_priv.h"

#define IDLE_MIN_US UINT64_C(320)
#define IDLE_MAX_US TRIP_RULES_EACH_TIME_MAX
#define MAX_MAX (UINT32_C(8) << 20)
#define CHANGES_MAX UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
#define KEPT_MIN 1024u
#define KEPT_MAX 32768u

/* What a packet is that has a field. */
enum {
	IS_IPV4 = 1,
	IS_IPV6 = 2,
	IS_IP = 4,   /* of either version */
	IS_MPLS = 8, /* before any IP header */
	IS_VXLAN = 16,
	IS_GTPU = 32,
};

static const struct field {
	const char *word;
	uint8_t bytes;
	uint8_t bits; /* of an address, of which a part may be asked for; 0: it is none */
	uint8_t is;
} fields[] = {
	[TRIP_EACH_IPV4_SRC] = {"ipv4.src", 4, 32, IS_IPV4},
	[TRIP_EACH_IPV4_DST] = {"ipv4.dst", 4, 32, IS_IPV4},
	[TRIP_EACH_IPV6_SRC] = {"ipv6.src", 16, 128, IS_IPV6},
	[TRIP_EACH_IPV6_DST] = {"ipv6.dst", 16, 128, IS_IPV6},
	[TRIP_EACH_IP_SRC] = {"ip.src", 16, 128, IS_IP},
	[TRIP_EACH_IP_DST] = {"ip.dst", 16, 128, IS_IP},
	[TRIP_EACH_PROTO] = {"proto", 1, 0, IS_IP},
	[TRIP_EACH_L4_SRC] = {"l4.src", 2, 0, IS_IP},
	[TRIP_EACH_L4_DST] = {"l4.dst", 2, 0, IS_IP},
	[TRIP_EACH_VLAN_VID] = {"vlan.vid", 2, 0, 0},
	[TRIP_EACH_VXLAN_VNI] = {"vxlan.vni", 3, 0, IS_IP | IS_VXLAN},
	[TRIP_EACH_MPLS_LABEL] = {"mpls.label", 3, 0, IS_MPLS},
	[TRIP_EACH_GTPU_TEID] = {"gtpu.teid", 4, 0, IS_IP | IS_GTPU},
};

/* No packet is both. */
static const uint8_t apart[][2] = {
	{IS_IPV4, IS_IPV6},
	{IS_MPLS, IS_IPV4 | IS_IPV6 | IS_IP},
	{IS_VXLAN, IS_GTPU},
};

void
trip_rules_each_direction(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	if (trip_rules_build_is(word, "transfer"))
		trip_rules_error(ctx, word,
			"'transfer' is hardware only, and an 'each' counts in software: expected "
			"'ingress' or 'egress'");
	else
		trip_rules_error(ctx, word,
			"an 'each' counts what its ports receive, or what they send: expected "
			"'ingress' or 'egress', and a statement for either");
}

static unsigned int
bytes_of(const struct trip_rules_each *each)
{
	unsigned int bytes = 0;

	for (unsigned int i = 0; i < each->n_parts; i++)
		bytes += fields[each->parts[i].field].bytes;
	return bytes;
}

/* The field that is called so; or it says that none is. */
static const struct field *
find_field(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	const char *words[RTE_DIM(fields)];
	char list[TRIP_RULES_LIST_SIZE], quote[TRIP_RULES_QUOTE_SIZE];

	for (unsigned int i = 0; i < RTE_DIM(fields); i++) {
		if (trip_rules_build_is(word, fields[i].word))
			return &fields[i];
		words[i] = fields[i].word;
	}
	trip_rules_error(ctx, word, "expected %s, found %s",
		trip_rules_error_list(list, words, RTE_DIM(words)),
		trip_rules_error_quote(quote, word));
	return NULL;
}

static bool
exclude(const struct field *a, const struct field *b)
{
	for (unsigned int i = 0; i < RTE_DIM(apart); i++)
		if (((a->is & apart[i][0]) != 0 && (b->is & apart[i][1]) != 0) ||
			((b->is & apart[i][0]) != 0 && (a->is & apart[i][1]) != 0))
			return true;
	return false;
}

/* False, and said: the key cannot have it beside what it has. */
static bool
check_field(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *word, const struct field *field)
{
	const struct trip_rules_each *each = &ctx->each;
	unsigned int bytes = bytes_of(each) + field->bytes;

	for (unsigned int i = 0; i < each->n_parts; i++) {
		const struct field *other = &fields[each->parts[i].field];

		if (other == field)
			return trip_rules_error(ctx, word, "the key has %s already", field->word);
		if (exclude(other, field))
			return trip_rules_error(ctx, word, "no packet has both %s and %s",
				other->word, field->word);
	}
	return bytes <= TRIP_EACH_KEY_MAX ||
	       trip_rules_error(ctx, word, "with %s the key has %u bytes: the limit is %u",
		       field->word, bytes, TRIP_EACH_KEY_MAX);
}

/* Returns the length as the library has it, which for a whole address is 0. */
static uint8_t
length_of(
	struct trip_rules_ctx *ctx, const struct field *field, const struct trip_rules_span *length)
{
	uint64_t bits;

	if (field->bits == 0) {
		trip_rules_error(
			ctx, length, "%s is no address, which alone has a length", field->word);
		return 0;
	}
	if (!trip_rules_value_number(ctx, length, "length", UINT32_MAX, &bits))
		return 0;
	if (bits == 0 || bits > field->bits)
		trip_rules_error(ctx, length, "length %" PRIu64 " of %s: expected 1 to %u", bits,
			field->word, field->bits);
	return bits < field->bits ? (uint8_t)bits : 0;
}

void
trip_rules_each_key(struct trip_rules_ctx *ctx, const struct trip_rules_span *word,
	const struct trip_rules_span *length)
{
	const struct field *field = find_field(ctx, word);
	struct trip_rules_each *each = &ctx->each;
	struct trip_each_part part = {0};

	if (field == NULL)
		return;
	part.field = (uint8_t)(field - fields);
	if (length != NULL)
		part.length = length_of(ctx, field, length);
	if (check_field(ctx, word, field))
		each->parts[each->n_parts++] = part;
}

static_assert(RTE_DIM(fields) <= TRIP_EACH_PARTS_MAX, "a key has room for each field");

void
trip_rules_each_max(struct trip_rules_ctx *ctx, const struct trip_rules_span *number)
{
	uint64_t max;

	if (!trip_rules_value_amount(ctx, number, &max))
		return;
	if (max == 0 || max > MAX_MAX)
		trip_rules_error(ctx, number, "max %" PRIu64 ": expected 1 to %" PRIu32 " (8Mi)",
			max, MAX_MAX);
	else
		ctx->each.max = (uint32_t)max;
}

/* Of a part of a microsecond the whole: a key never goes earlier. */
void
trip_rules_each_idle(struct trip_rules_ctx *ctx, const struct trip_rules_span *time)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	uint64_t ns, us;

	if (!trip_rules_value_time(ctx, time, &ns))
		return;
	us = ns / 1000 + (ns % 1000 != 0);
	if (us < IDLE_MIN_US || us > IDLE_MAX_US)
		trip_rules_error(ctx, time, "idle %s: expected 320us to 281474976s",
			trip_rules_error_quote(quote, time));
	else
		ctx->each.idle_us = us;
}

/* Trips that are kept until they are read: all keys of a table may trip at once. */
static uint32_t
kept_of(const struct trip_rules_each *each)
{
	uint32_t kept = KEPT_MIN;

	while (kept < each->max && kept < KEPT_MAX)
		kept *= 2;
	return each->n_whens > 0 ? kept : 0;
}

void
trip_rules_each_full(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (trip_rules_build_is(word, "closed"))
		ctx->each.full = TRIP_EACH_CLOSED;
	else if (!trip_rules_build_is(word, "open"))
		trip_rules_error(ctx, word, "expected 'open' or 'closed', found %s",
			trip_rules_error_quote(quote, word));
}

void
trip_rules_each_hardware(struct trip_rules_ctx *ctx, const struct trip_rules_span *number)
{
	uint64_t keys;

	if (!trip_rules_value_amount(ctx, number, &keys))
		return;
	if (keys == 0 || keys > TRIP_EACH_HARDWARE_MAX)
		trip_rules_error(ctx, number, "hardware %" PRIu64 ": expected 1 to %d", keys,
			TRIP_EACH_HARDWARE_MAX);
	else
		ctx->each.hardware = (uint32_t)keys;
}

void
trip_rules_each_changes(struct trip_rules_ctx *ctx, const struct trip_rules_span *number,
	const struct trip_rules_span *time)
{
	uint64_t changes, ns;

	if (!trip_rules_value_amount(ctx, number, &changes) ||
		!trip_rules_value_time(ctx, time, &ns))
		return;
	/* So that the product fits: in an hour as many as 1,000,000 a second are. */
	changes = changes > CHANGES_MAX * 3600 ? 0 : changes;
	if (ns == 0 || changes * SECOND_NS / ns < 1 || changes * SECOND_NS / ns > CHANGES_MAX)
		trip_rules_error(ctx, number, "expected 1 to %" PRIu64 " changes of rules in 1s",
			CHANGES_MAX);
	else
		ctx->each.hardware_changes = (uint32_t)(changes * SECOND_NS / ns);
}

void
trip_rules_each_attr(const struct trip_rules_each *each, struct trip_each_attr *attr)
{
	*attr = (struct trip_each_attr){
		.size = sizeof(*attr),
		.name = each->count.name,
		.parts = each->parts,
		.n_parts = each->n_parts,
		.max = each->max,
		.idle_us = each->idle_us,
		.trips_kept = kept_of(each),
		.whens = each->n_whens > 0 ? each->conditions : NULL,
		.n_whens = each->n_whens,
		.acts = each->n_whens > 0 ? each->acts : NULL,
		.members = each->n_members > 0 ? each->members : NULL,
		.n_members = each->n_members,
		.full = each->full,
		.hardware = each->hardware,
		.hardware_changes = each->hardware_changes,
		/* By whoever runs tripd. */
		.by_hand = 1,
		.pattern = each->count.n_patterns > 0 ? each->count.patterns[0] : NULL,
		.direction = each->count.direction == TRIP_RULES_EGRESS ? TRIP_FLOW_EGRESS
									: TRIP_FLOW_INGRESS,
	};
}

const char *
trip_rules_each_word(enum trip_each_field field)
{
	return fields[field].word;
}

void
trip_rules_each_words(const struct trip_rules_each *each, char words[TRIP_RULES_EACH_KEY_MAX])
{
	size_t n = 0;

	words[0] = '\0';
	for (unsigned int i = 0; i < each->n_parts; i++) {
		const struct trip_each_part *part = &each->parts[i];

		n += (size_t)snprintf(words + n, TRIP_RULES_EACH_KEY_MAX - n, "%s%s",
			i > 0 ? "," : "", fields[part->field].word);
		if (part->length != 0)
			n += (size_t)snprintf(
				words + n, TRIP_RULES_EACH_KEY_MAX - n, "/%u", part->length);
	}
}

void
trip_rules_each_commit(struct trip_rules_ctx *ctx)
{
	struct trip_rules *rules = ctx->rules;
	struct trip_rules_each *each = &ctx->each;

	if (!trip_rules_grow(&rules->eaches, rules->n_eaches, sizeof(*each))) {
		ctx->nomem = true;
		return;
	}
	if (ctx->shape.n_items > 0 && trip_rules_pattern_expand(ctx) && ctx->count.n_patterns > 1)
		trip_rules_error(ctx, &ctx->ranges[0].place,
			"an 'each' has one pattern, and this makes %u: expected a prefix, or one "
			"value",
			ctx->count.n_patterns);
	trip_rules_build_place(ctx);
	each->count = ctx->count;
	trip_rules_each_meets(ctx, each);
	ctx->count = (struct trip_rules_count){0};
	ctx->symbol.index = rules->n_eaches;
	rules->eaches[rules->n_eaches++] = *each;
}

void
trip_rules_each_check(struct trip_rules_ctx *ctx)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ctx->rules->n_eaches; i++) {
		const struct trip_rules_count *count = &ctx->rules->eaches[i].count;
		const struct trip_rules_span name = {
			.text = ctx->text + count->name_offset,
			.length = strlen(count->name),
			.line = count->name_line,
			.column = count->name_column,
		};
		const struct trip_rules_symbol *symbol = trip_rules_check_find(ctx, &name);

		/* What a text defines anew is not meant where it is added to. */
		if (symbol == NULL || symbol->kind != TRIP_RULES_KIND_EACH || symbol->index != i ||
			++n != TRIP_EACH_MAX + 1)
			continue;
		trip_rules_error(ctx, &name, "more 'each' statements than %u", TRIP_EACH_MAX);
	}
}
