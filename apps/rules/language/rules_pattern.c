/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From one pattern as written to the patterns that it stands for.
 *
 * All items of a pattern lie side by side in one vector of bytes, with a mask: a cube, as it is
 * called where each bit is 0, 1 or either. A range is some cubes that differ in one field;
 * `either` adds each cube with the ends of the connection swapped. A packet may match a cube and
 * its mirror (both ends in one network). A rule that takes packets counts it once all the same, as
 * one flow wins; of a rule that counts in addition every flow counts, so there the cubes must not
 * meet, and of one side only what the other leaves is kept.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

static_assert(
	2 * (RTE_ALIGN(sizeof(struct rte_flow_item_eth), 8) +
		    2 * RTE_ALIGN(sizeof(struct rte_flow_item_vlan), 8) +
		    RTE_ALIGN(sizeof(struct rte_flow_item_ipv6), 8) +
		    RTE_ALIGN(sizeof(struct rte_flow_item_tcp), 8) +
		    RTE_ALIGN(sizeof(struct rte_flow_item_vxlan), 8)) +
			TRIP_RULES_TESTS_MAX * RTE_ALIGN(sizeof(struct trip_flow_item_set), 8) <=
		TRIP_RULES_CUBE_BYTES,
	"the longest pattern fits");

/* A range of 128 bits from ...1 to ...1110 takes the most: two a bit, but for two. */
#define PREFIXES_MAX 254

struct prefix {
	trip_rules_u128 value;
	unsigned int free; /* bits at the right end that may be anything */
};

/* The patterns to be, of one rule. */
struct cubes {
	struct trip_rules_cube *list;
	unsigned int n;
};

static bool
add_cube(struct trip_rules_ctx *ctx, struct cubes *cubes, const struct trip_rules_cube *cube)
{
	if (!trip_rules_grow(&cubes->list, cubes->n, sizeof(*cube))) {
		ctx->nomem = true;
		return false;
	}
	cubes->list[cubes->n++] = *cube;
	return true;
}

/*
 * The prefixes of a range, fewest first found: from the low end, each as large as its alignment and
 * the rest of the range let it be. All values are two halves rather than one prefix of no bits:
 * that would match also where the field is not in the packet.
 */
static unsigned int
split(const struct trip_rules_range *range, struct prefix prefixes[PREFIXES_MAX])
{
	unsigned int bits = range->field->bits, n = 0;
	trip_rules_u128 low = range->low, high = range->high;

	for (;;) {
		unsigned int free = 0;

		while (free + 1 < bits && (low >> free & 1) == 0 &&
			trip_rules_field_ones(free + 1) <= high - low)
			free++;
		prefixes[n++] = (struct prefix){.value = low, .free = free};
		if (high - low == trip_rules_field_ones(free))
			return n;
		low += trip_rules_field_ones(free) + 1;
	}
}

/* Each cube once for each prefix. */
static bool
apply_range(struct trip_rules_ctx *ctx, const struct trip_rules_range *range,
	const struct prefix *prefixes, unsigned int n_prefixes, struct cubes *cubes)
{
	const struct trip_flow_field *field = range->field;
	size_t offset = ctx->shape.offsets[range->item];
	struct cubes out = {0};

	for (unsigned int i = 0; i < cubes->n * n_prefixes; i++) {
		struct trip_rules_cube cube = cubes->list[i / n_prefixes];
		const struct prefix *prefix = &prefixes[i % n_prefixes];

		trip_rules_field_store(cube.spec + offset, field, prefix->value);
		trip_rules_field_store(cube.mask + offset, field,
			trip_rules_field_ones(field->bits) & ~trip_rules_field_ones(prefix->free));
		if (!add_cube(ctx, &out, &cube))
			break;
	}
	free(cubes->list);
	*cubes = out;
	return !ctx->nomem;
}

static bool
apply_ranges(struct trip_rules_ctx *ctx, struct cubes *cubes)
{
	const struct trip_rules_span *place = NULL;
	struct prefix prefixes[PREFIXES_MAX];
	uint64_t product = 1;

	for (unsigned int i = 0; i < ctx->n_ranges; i++) {
		const struct trip_rules_range *range = &ctx->ranges[i];
		unsigned int n = split(range, prefixes);

		if (__builtin_mul_overflow(product, (uint64_t)n, &product))
			product = UINT64_MAX;
		if (place == NULL || place->text < range->place.text)
			place = &range->place;
		if (product <= TRIP_RULES_PREFIXES_MAX &&
			!apply_range(ctx, range, prefixes, n, cubes))
			return false;
	}
	if (product <= TRIP_RULES_PREFIXES_MAX)
		return true;
	return trip_rules_error(ctx, place, "%s %" PRIu64 " prefixes: the limit is %u",
		ctx->n_ranges == 1 ? "this range becomes" : "the ranges of this pattern become",
		product, TRIP_RULES_PREFIXES_MAX);
}

static void
swap_bytes(uint8_t *a, uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

/*
 * The fields of an item that say from where and to where, where it has such. Of the udp of a vxlan
 * they do not: its destination is the same in both directions, and its source is a hash.
 */
static bool
find_ends(const struct trip_rules_shape *shape, unsigned int i, const struct trip_flow_field **src,
	const struct trip_flow_field **dst)
{
	*src = trip_rules_table_end(shape->items[i], "src");
	*dst = trip_rules_table_end(shape->items[i], "dst");
	if (*src == NULL || *dst == NULL)
		return false;
	while (i + 1 < shape->n_items && shape->items[i + 1]->type == TRIP_FLOW_ITEM_TYPE_SET)
		i++;
	return i + 1 == shape->n_items || shape->items[i + 1]->announcer != TRIP_FLOW_BY_UDP_PORT;
}

static void
mirror(const struct trip_rules_shape *shape, struct trip_rules_cube *cube)
{
	const struct trip_flow_field *src, *dst;

	for (unsigned int i = 0; i < shape->n_items; i++) {
		size_t at = shape->offsets[i];

		if (!find_ends(shape, i, &src, &dst))
			continue;
		swap_bytes(
			cube->spec + at + src->offset, cube->spec + at + dst->offset, src->bytes);
		swap_bytes(
			cube->mask + at + src->offset, cube->mask + at + dst->offset, src->bytes);
		for (unsigned int k = i + 1;
			k < shape->n_items && shape->items[k]->type == TRIP_FLOW_ITEM_TYPE_SET; k++)
			trip_rules_set_mirror(cube->spec + shape->offsets[k], src, dst);
	}
}

static bool
is_masked(const struct trip_rules_cube *cube, size_t at, const struct trip_flow_field *field)
{
	for (unsigned int i = 0; i < field->bytes; i++) {
		if (cube->mask[at + field->offset + i] != 0)
			return true;
	}
	return false;
}

/*
 * Does this side look at the last of all the fields that either side looks at? A packet that is cut
 * off in between then matches the other side alone.
 */
static bool
looks_further(const struct trip_rules_shape *shape, const struct trip_rules_cube *cube)
{
	const struct trip_flow_field *src, *dst;

	for (unsigned int i = shape->n_items; i > 0; i--) {
		size_t at = shape->offsets[i - 1];

		if (!find_ends(shape, i - 1, &src, &dst) ||
			!(is_masked(cube, at, src) || is_masked(cube, at, dst)))
			continue;
		return is_masked(cube, at, src->offset > dst->offset ? src : dst);
	}
	return true;
}

static bool
meets(const struct trip_rules_cube *a, const struct trip_rules_cube *b, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++) {
		if (((a->spec[i] ^ b->spec[i]) & a->mask[i] & b->mask[i]) != 0)
			return false;
	}
	return true;
}

/*
 * Adds what is in a and not in b, in cubes that do not meet: for each bit that b has and a leaves
 * open, the half of what is left of a that b does not have.
 */
static bool
subtract(struct trip_rules_ctx *ctx, const struct trip_rules_cube *a,
	const struct trip_rules_cube *b, struct cubes *out)
{
	struct trip_rules_cube left = *a;

	if (!meets(a, b, ctx->shape.n_bytes))
		return add_cube(ctx, out, a);
	for (size_t i = 0; i < 8 * ctx->shape.n_bytes; i++) {
		uint8_t bit = (uint8_t)(0x80 >> (i & 7));
		struct trip_rules_cube half;

		if ((b->mask[i >> 3] & ~left.mask[i >> 3] & bit) == 0)
			continue;
		left.mask[i >> 3] |= bit;
		half = left;
		half.spec[i >> 3] |= ~b->spec[i >> 3] & bit;
		left.spec[i >> 3] |= b->spec[i >> 3] & bit;
		if (!add_cube(ctx, out, &half) || out->n > TRIP_RULES_PATTERNS_MAX)
			return false;
	}
	return true;
}

/* What of a cube none of the others has. */
static bool
subtract_all(struct trip_rules_ctx *ctx, const struct trip_rules_cube *cube,
	const struct cubes *others, struct cubes *out)
{
	struct cubes rest = {0}, next = {0};
	bool good = add_cube(ctx, &rest, cube);

	for (unsigned int i = 0; i < others->n && good; i++) {
		for (unsigned int k = 0; k < rest.n && good; k++)
			good = subtract(ctx, &rest.list[k], &others->list[i], &next);
		free(rest.list);
		rest = next;
		next = (struct cubes){0};
	}
	for (unsigned int k = 0; k < rest.n && good; k++)
		good = add_cube(ctx, out, &rest.list[k]);
	free(rest.list);
	free(next.list);
	return good && out->n <= TRIP_RULES_PATTERNS_MAX;
}

static bool
has_cube(const struct cubes *cubes, const struct trip_rules_cube *cube, size_t n_bytes)
{
	for (unsigned int i = 0; i < cubes->n; i++) {
		if (memcmp(cubes->list[i].spec, cube->spec, n_bytes) == 0 &&
			memcmp(cubes->list[i].mask, cube->mask, n_bytes) == 0)
			return true;
	}
	return false;
}

/* The mirrors beside the cubes: those that are not there already, or what they add. */
static bool
apply_either(struct trip_rules_ctx *ctx, struct cubes *cubes)
{
	bool adds = ctx->count.also || (ctx->count.actions & TRIP_RULES_ACTION_PASSTHRU) != 0;
	struct cubes mirrors = {0}, *keep = cubes, *cut = &mirrors;
	unsigned int n;
	bool good = true;

	if (adds && ctx->shape.n_tests > 0)
		return trip_rules_error(ctx, &ctx->either,
			"'either' and 'in' exclude each other where a rule counts in addition: "
			"what both directions have in common changes with the set");
	for (unsigned int i = 0; i < cubes->n && good; i++) {
		struct trip_rules_cube cube = cubes->list[i];

		mirror(&ctx->shape, &cube);
		good = has_cube(cubes, &cube, ctx->shape.n_bytes) || add_cube(ctx, &mirrors, &cube);
	}
	if (adds && mirrors.n > 0 && !looks_further(&ctx->shape, &mirrors.list[0])) {
		keep = &mirrors;
		cut = cubes;
	}
	n = keep->n;
	for (unsigned int i = 0; i < cut->n && good; i++) {
		const struct cubes others = {.list = keep->list, .n = n};
		struct trip_rules_cube cube = cut->list[i];

		good = adds ? subtract_all(ctx, &cube, &others, keep) : add_cube(ctx, keep, &cube);
	}
	if (!good && !ctx->nomem)
		trip_rules_error(ctx, &ctx->either,
			"'either' becomes more than %u patterns where a rule counts in addition: "
			"expected a pattern that says both from where and to where",
			TRIP_RULES_PATTERNS_MAX);
	free(cut->list);
	*cubes = *keep;
	return good;
}

/* The cubes as arrays of rte_flow, all in one allocation, which is count->patterns. */
static bool
build(struct trip_rules_ctx *ctx, const struct cubes *cubes)
{
	const struct trip_rules_shape *shape = &ctx->shape;
	struct trip_rules_count *count = &ctx->count;
	size_t items_size = (shape->n_items + 1) * sizeof(struct rte_flow_item);
	size_t size = sizeof(*count->patterns) + items_size + 2 * shape->n_bytes;
	uint8_t *at;

	count->patterns = calloc(cubes->n, size);
	if (count->patterns == NULL) {
		ctx->nomem = true;
		return false;
	}
	at = (uint8_t *)(count->patterns + cubes->n);
	for (unsigned int i = 0; i < cubes->n; i++, at += items_size + 2 * shape->n_bytes) {
		struct rte_flow_item *items = (struct rte_flow_item *)(void *)at;
		uint8_t *spec = at + items_size, *mask = spec + shape->n_bytes;

		memcpy(spec, cubes->list[i].spec, shape->n_bytes);
		memcpy(mask, cubes->list[i].mask, shape->n_bytes);
		for (unsigned int k = 0; k < shape->n_items; k++)
			items[k] = (struct rte_flow_item){
				.type = (enum rte_flow_item_type)shape->items[k]->type,
				.spec = shape->tested[k] ? spec + shape->offsets[k] : NULL,
				.mask = shape->tested[k] ? mask + shape->offsets[k] : NULL,
			};
		items[shape->n_items].type = RTE_FLOW_ITEM_TYPE_END;
		count->patterns[i] = items;
	}
	count->n_patterns = cubes->n;
	count->items = count->patterns[0];
	count->n_items = shape->n_items;
	return true;
}

/* All patterns of a file together are limited, so that a short file cannot ask for all memory. */
static bool
within_limit(struct trip_rules_ctx *ctx, unsigned int n)
{
	bool before = ctx->n_patterns <= TRIP_RULES_PATTERNS_ALL;

	if (before)
		ctx->n_patterns += n;
	if (before && ctx->n_patterns > TRIP_RULES_PATTERNS_ALL)
		trip_rules_error(ctx, &ctx->symbol.span,
			"with this rule, the patterns of the file are more than the limit, %u",
			TRIP_RULES_PATTERNS_ALL);
	return ctx->n_patterns <= TRIP_RULES_PATTERNS_ALL;
}

/* False where the rule has no patterns, with the error said. */
bool
trip_rules_pattern_expand(struct trip_rules_ctx *ctx)
{
	struct cubes cubes = {0};
	bool good;

	good = add_cube(ctx, &cubes, &ctx->shape.cube) && apply_ranges(ctx, &cubes);
	if (good && ctx->count.direction == TRIP_RULES_EITHER)
		good = apply_either(ctx, &cubes);
	good = good && within_limit(ctx, cubes.n) && build(ctx, &cubes);
	free(cubes.list);
	return good;
}
