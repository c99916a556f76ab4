/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What needs the whole file: names. Definitions are sorted once; twins stand side by side then,
 * and every use is a binary search.
 */
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

/* Comparing a wrong name with all others is for people; a file made of wrong names gets less. */
#define SUGGESTIONS_MAX 200000

static int
compare_text(const struct trip_rules_span *a, const struct trip_rules_span *b)
{
	size_t n = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->text, b->text, n);

	if (order != 0)
		return order;
	return a->length < b->length ? -1 : a->length > b->length;
}

static int
by_name(const void *left, const void *right)
{
	const struct trip_rules_symbol *a = left, *b = right;
	int order = compare_text(&a->span, &b->span);

	if (order != 0)
		return order;
	return a->span.text < b->span.text ? -1 : a->span.text > b->span.text;
}

static const char *
kind_name(enum trip_rules_kind kind)
{
	static const char *const names[] = {
		[TRIP_RULES_KIND_COUNT] = "a 'count' rule",
		[TRIP_RULES_KIND_COUNTER] = "a 'counter'",
		[TRIP_RULES_KIND_QUOTA] = "a 'quota'",
		[TRIP_RULES_KIND_EACH] = "an 'each'",
		[TRIP_RULES_KIND_SET] = "a 'set'",
	};

	return names[kind];
}

static bool
is_counter(const struct trip_rules_symbol *symbol)
{
	return symbol->kind == TRIP_RULES_KIND_COUNTER || symbol->kind == TRIP_RULES_KIND_QUOTA;
}

/* A statement takes the place of one of its kind. A quota is a counter there: whether the one can
 * become the other, is for those who have both. */
static void
check_twin_at_work(struct trip_rules_ctx *ctx, const struct trip_rules_symbol *own,
	const struct trip_rules_symbol *work)
{
	bool counters = is_counter(own) && is_counter(work);
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (own->kind != work->kind && !counters)
		trip_rules_error(ctx, &own->span,
			"%s is %s at work, and cannot become %s: remove it first",
			trip_rules_error_quote(quote, &own->span), kind_name(work->kind),
			kind_name(own->kind));
}

static void
check_twins(struct trip_rules_ctx *ctx)
{
	const struct trip_rules_symbol *first = ctx->symbols;
	char quote[TRIP_RULES_QUOTE_SIZE];

	for (unsigned int i = 1; i < ctx->n_symbols; i++) {
		const struct trip_rules_symbol *symbol = &ctx->symbols[i];

		if (compare_text(&first->span, &symbol->span) != 0) {
			first = symbol;
			continue;
		}
		/* One is of what the text is added to: the text's is first, and meant. */
		if (symbol->span.text >= ctx->base) {
			check_twin_at_work(ctx, first, symbol);
			continue;
		}
		trip_rules_error(ctx, &symbol->span,
			"the name %s is defined twice: on line %u and on line %u",
			trip_rules_error_quote(quote, &symbol->span), first->span.line,
			symbol->span.line);
	}
}

const struct trip_rules_symbol *
trip_rules_check_find(const struct trip_rules_ctx *ctx, const struct trip_rules_span *name)
{
	unsigned int low = 0, high = ctx->n_symbols;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (compare_text(&ctx->symbols[middle].span, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ctx->n_symbols || compare_text(&ctx->symbols[low].span, name) != 0)
		return NULL;
	return &ctx->symbols[low];
}

/*
 * The edits (a letter changed, added, left out, or two neighbours swapped) that make one name the
 * other, or 3 where they are more than 2.
 */
static unsigned int
distance(const struct trip_rules_span *a, const struct trip_rules_span *b)
{
	unsigned int edits[TRIP_RULES_NAME_MAX + 1][TRIP_RULES_NAME_MAX + 1];
	size_t apart = a->length > b->length ? a->length - b->length : b->length - a->length;

	if (apart > 2 || a->length > TRIP_RULES_NAME_MAX || b->length > TRIP_RULES_NAME_MAX)
		return 3;
	for (unsigned int i = 0; i <= a->length; i++) {
		for (unsigned int j = 0; j <= b->length; j++) {
			unsigned int least = i == 0 ? j : i;

			if (i > 0 && j > 0) {
				least = edits[i - 1][j - 1] + (a->text[i - 1] != b->text[j - 1]);
				least = RTE_MIN(least, edits[i - 1][j] + 1);
				least = RTE_MIN(least, edits[i][j - 1] + 1);
			}
			if (i > 1 && j > 1 && a->text[i - 1] == b->text[j - 2] &&
				a->text[i - 2] == b->text[j - 1])
				least = RTE_MIN(least, edits[i - 2][j - 2] + 1);
			edits[i][j] = least;
		}
	}
	return edits[a->length][b->length] <= 2 ? edits[a->length][b->length] : 3;
}

static bool
fits(enum trip_rules_kind kind, bool count, bool counter)
{
	return (count && kind == TRIP_RULES_KIND_COUNT) ||
	       (counter && (kind == TRIP_RULES_KIND_COUNTER || kind == TRIP_RULES_KIND_QUOTA));
}

void
trip_rules_check_unknown(struct trip_rules_ctx *ctx, const struct trip_rules_span *place,
	const struct trip_rules_span *name, bool count, bool counter, bool each)
{
	const struct trip_rules_symbol *best = NULL;
	char quote[TRIP_RULES_QUOTE_SIZE], other[TRIP_RULES_QUOTE_SIZE];
	unsigned int least = 3;

	for (unsigned int i = 0; i < ctx->n_symbols && ctx->suggestions < SUGGESTIONS_MAX; i++) {
		const struct trip_rules_symbol *symbol = &ctx->symbols[i];
		unsigned int d;

		ctx->suggestions++;
		if (!fits(symbol->kind, count, counter) &&
			!(each && symbol->kind == TRIP_RULES_KIND_EACH))
			continue;
		d = distance(name, &symbol->span);
		/* A word of one or two letters is not a slip for every other such word. */
		if (d < least && d < name->length) {
			least = d;
			best = symbol;
		}
	}
	trip_rules_error(ctx, place, "no %s is named %s%s%s%s",
		count && counter ? "'count' rule, 'counter' or 'quota'"
		: count && each  ? "'count' rule or 'each'"
		: count          ? "'count' rule"
				 : "'counter' or 'quota'",
		trip_rules_error_quote(quote, name), best != NULL ? ": did you mean " : "",
		best != NULL ? trip_rules_error_quote(other, &best->span) : "",
		best != NULL ? "?" : "");
}

bool
trip_rules_check_split(
	const struct trip_rules_span *ref, struct trip_rules_span *name, enum trip_rules_ref *kind)
{
	const char *dot = memrchr(ref->text, '.', ref->length);
	struct trip_rules_span last;

	*name = *ref;
	*kind = TRIP_RULES_REF_COUNTER;
	if (dot == NULL || dot == ref->text)
		return false;
	last = (struct trip_rules_span){
		.text = dot + 1,
		.length = (size_t)(ref->text + ref->length - dot - 1),
	};
	if (trip_rules_build_is(&last, "packets"))
		*kind = TRIP_RULES_REF_PACKETS;
	else if (trip_rules_build_is(&last, "bytes"))
		*kind = TRIP_RULES_REF_BYTES;
	else
		return false;
	name->length = (size_t)(dot - ref->text);
	return true;
}

/* "dns.byte": a rule that is there, but nothing that it counts. */
static bool
misses(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref)
{
	const char *dot = memrchr(ref->text, '.', ref->length);
	char quote[TRIP_RULES_QUOTE_SIZE];
	const struct trip_rules_symbol *symbol;
	struct trip_rules_span name = *ref;

	if (dot == NULL)
		return false;
	name.length = (size_t)(dot - ref->text);
	symbol = trip_rules_check_find(ctx, &name);
	if (symbol == NULL ||
		(symbol->kind != TRIP_RULES_KIND_COUNT && symbol->kind != TRIP_RULES_KIND_EACH))
		return false;
	trip_rules_error(ctx, ref,
		"expected '.packets' or '.bytes' behind the name of %s, found %s",
		kind_name(symbol->kind), trip_rules_error_quote(quote, ref));
	return true;
}

/* Of a quota, a number up to 100 is hardly meant to be of its bytes or packets. */
static void
note_percent(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_quota *quota, uint64_t threshold)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (threshold > 0 && threshold <= 100 && quota->limit > 100)
		trip_rules_error_note(ctx, &names->ref,
			"warning: %s >= %u is so many %s: a part of the quota has a '%%' behind it",
			trip_rules_error_quote(quote, &names->ref), (unsigned int)threshold,
			quota->events == TRIP_CNTR_EVENTS_BYTES ? "bytes" : "packets");
}

/* What a condition says of a counter, or of a quota. */
static void
check_condition(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_symbol *symbol, struct trip_rules_when *when)
{
	const struct trip_rules_quota *quota = NULL;
	enum trip_rules_ref of = when->ref;
	char quote[TRIP_RULES_QUOTE_SIZE];

	/* That of a wrong statement is no counter. */
	if (symbol->kind == TRIP_RULES_KIND_QUOTA && symbol->index < ctx->rules->n_counters)
		quota = ctx->rules->counters[symbol->index].quota;
	if (quota != NULL)
		of = quota->events == TRIP_CNTR_EVENTS_BYTES ? TRIP_RULES_REF_BYTES
							     : TRIP_RULES_REF_PACKETS;
	trip_rules_condition_check_rate(ctx, names, of);
	if (names->part.length == 0) {
		if (quota != NULL && when->condition.kind == TRIP_CONDITION_NONE)
			note_percent(ctx, names, quota, when->threshold);
		return;
	}
	if (symbol->kind != TRIP_RULES_KIND_QUOTA)
		trip_rules_error(ctx, &names->part, "%s is no 'quota', of which that could be",
			trip_rules_error_quote(quote, &names->ref));
	else if (quota != NULL)
		when->threshold =
			(uint64_t)(((trip_rules_u128)quota->limit * names->percent + 99) / 100);
}

/* Of the keys of an `each`; `when` is one of the rules', or of all() or any(), which is looked at
 * as a whole later. */
static void
check_keys(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_symbol *symbol, struct trip_rules_when *when)
{
	const struct trip_rules_when *first = ctx->rules->whens;
	bool is_whole = when >= first && when < first + ctx->rules->n_whens;
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (names->part.length != 0) {
		trip_rules_error(ctx, &names->part, "%s is no 'quota', of which that could be",
			trip_rules_error_quote(quote, &names->ref));
	} else if (!is_whole) {
		trip_rules_condition_check_rate(ctx, names, when->ref);
		when->ref = when->ref == TRIP_RULES_REF_BYTES ? TRIP_RULES_REF_KEY_BYTES
							      : TRIP_RULES_REF_KEY_PACKETS;
	}
	/* That of a wrong statement is no each. */
	else if (symbol->index < ctx->rules->n_eaches) {
		trip_rules_each_when(ctx, names, &ctx->rules->eaches[symbol->index],
			(unsigned int)(when - first));
	}
}

static void
check_ref(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	struct trip_rules_when *when)
{
	const struct trip_rules_span *ref = &names->ref;
	const struct trip_rules_symbol *symbol;
	struct trip_rules_span name;
	char quote[TRIP_RULES_QUOTE_SIZE];
	bool dotted = trip_rules_check_split(ref, &name, &when->ref);

	if (trip_rules_build_is(&name, "each")) {
		trip_rules_error_notyet(ctx, ref);
		return;
	}
	symbol = trip_rules_check_find(ctx, &name);
	if (symbol == NULL && !dotted && misses(ctx, ref))
		return;
	if (symbol == NULL) {
		trip_rules_check_unknown(ctx, ref, &name, true, !dotted, dotted);
		return;
	}
	trip_rules_error_quote(quote, &name);
	if (symbol->kind == TRIP_RULES_KIND_EACH && dotted)
		check_keys(ctx, names, symbol, when);
	else if (symbol->kind == TRIP_RULES_KIND_SET)
		trip_rules_error(ctx, ref, "%s is a 'set', which counts nothing", quote);
	else if ((symbol->kind == TRIP_RULES_KIND_COUNT || symbol->kind == TRIP_RULES_KIND_EACH) &&
		 !dotted)
		trip_rules_error(ctx, ref,
			"%s counts packets and bytes: expected '.packets' or '.bytes' behind it",
			quote);
	else if (is_counter(symbol) && dotted)
		trip_rules_error(ctx, ref, "%s is a '%s': expected its bare name", quote,
			symbol->kind == TRIP_RULES_KIND_QUOTA ? "quota" : "counter");
	else
		check_condition(ctx, names, symbol, when);
	when->index = symbol->index;
}

/* What an operation would make of a count that is there. */
static void
check_fate(struct trip_rules_ctx *ctx, const struct trip_rules_span *target,
	const struct trip_rules_when *when, unsigned int line)
{
	const struct trip_rules_count *count = &ctx->rules->counts[when->target];
	char quote[TRIP_RULES_QUOTE_SIZE];
	bool police = when->op == TRIP_RULES_OP_POLICE;

	trip_rules_error_quote(quote, target);
	if (count->allow && (police || when->op == TRIP_RULES_OP_DROP))
		trip_rules_error(ctx, target, "%s is an 'allow', which nothing drops", quote);
	else if (police && count->engine == TRIP_FLOW_ENGINE_HW)
		trip_rules_error(ctx, target,
			"'police' is done in software: %s has 'engine hw' on line %u", quote, line);
}

/* What is wrong with a condition of these keys is told of it. */
static void
refuse_keys(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_when *when)
{
	const struct trip_rules_span *ref = &names->ref, *each = &names->target;
	char quote[TRIP_RULES_QUOTE_SIZE];
	bool reset = when->op == TRIP_RULES_OP_RESET;

	if (ref->length >= each->length && memcmp(ref->text, each->text, each->length) == 0 &&
		(ref->length == each->length || ref->text[each->length] == '.'))
		return;
	trip_rules_error(ctx, each,
		"%s is an 'each': '%s' is done to the key that trips, by a condition of its "
		"own%s%.*s",
		trip_rules_error_quote(quote, each), trip_rules_op_of(when->op)->word,
		reset ? "; to all of its keys by tripctl reset " : "",
		reset ? (int)each->length : 0, each->text);
}

static void
check_target(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	struct trip_rules_when *when)
{
	const struct trip_rules_span *target = &names->target;
	const struct trip_rules_op_row *op = trip_rules_op_of(when->op);
	bool counter = op->target == TRIP_OP_ON_CNTR, either = when->op == TRIP_RULES_OP_RESET;
	const struct trip_rules_symbol *symbol = trip_rules_check_find(ctx, target);
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (trip_rules_build_is(target, "each")) {
		trip_rules_error_notyet(ctx, target);
		return;
	}
	/* What is done to a key by a condition of it is told there. */
	if (trip_rules_is_of_keys(when) && trip_rules_each_does(when->op))
		return;
	if (symbol == NULL) {
		trip_rules_check_unknown(ctx, target, target, !counter || either, counter, false);
		return;
	}
	if (symbol->kind == TRIP_RULES_KIND_EACH && trip_rules_each_does(when->op))
		refuse_keys(ctx, names, when);
	else if (symbol->kind == TRIP_RULES_KIND_EACH && (!counter || either))
		trip_rules_error(ctx, target,
			"not yet: %s is an 'each', and this version cannot '%s' its keys",
			trip_rules_error_quote(quote, target), op->word);
	else if (!fits(symbol->kind, !counter || either, counter))
		trip_rules_error(ctx, target, "'%s' needs a %s: %s is %s", op->word,
			counter ? "'counter' or 'quota'" : "'count' rule",
			trip_rules_error_quote(quote, target), kind_name(symbol->kind));
	when->target = symbol->index;
	when->on_count = symbol->kind == TRIP_RULES_KIND_COUNT;
	/* That of a wrong statement is no count. */
	if (when->on_count && symbol->index < ctx->rules->n_counts)
		check_fate(ctx, target, when, symbol->span.line);
}

static void
check_pair(struct trip_rules_ctx *ctx, const struct trip_rules_pair_names *names)
{
	struct trip_rules_pair *pair = names->pair;
	struct trip_rules_when as = {.threshold = pair != NULL ? pair->threshold : 0};

	check_ref(ctx, &names->names, &as);
	if (pair == NULL)
		return;
	pair->ref = as.ref;
	pair->index = as.index;
	pair->threshold = as.threshold;
}

void
trip_rules_check_names(struct trip_rules_ctx *ctx)
{
	if (ctx->n_symbols > 0)
		qsort(ctx->symbols, ctx->n_symbols, sizeof(*ctx->symbols), by_name);
	check_twins(ctx);
	trip_rules_quota_check(ctx);
	trip_rules_set_check(ctx);
	trip_rules_each_check(ctx);
	/* Which of them are of keys is known before what is done to those. */
	for (unsigned int i = 0; i < ctx->n_pair_names; i++)
		check_pair(ctx, &ctx->pair_names[i]);
	for (unsigned int i = 0; i < ctx->rules->n_whens; i++) {
		const struct trip_rules_names *names = &ctx->when_names[i];

		if (names->ref.length > 0)
			check_ref(ctx, names, &ctx->rules->whens[i]);
		else if (ctx->rules->whens[i].pairs != NULL)
			trip_rules_keys_pairs(ctx, names, i);
		if (names->target.length > 0)
			check_target(ctx, names, &ctx->rules->whens[i]);
	}
}
