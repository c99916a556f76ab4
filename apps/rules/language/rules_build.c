/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the grammar's words to the rules: one statement at a time is under construction in the
 * context, and its newline either commits it or abandons it. A name counts as defined also when
 * its statement is wrong, so that one mistake does not bring an "unknown name" for each use.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

bool
trip_rules_build_is(const struct trip_rules_span *span, const char *word)
{
	return span->length == strlen(word) && memcmp(span->text, word, span->length) == 0;
}

static bool
ends_with(const struct trip_rules_span *span, const char *end)
{
	size_t n = strlen(end);

	return span->length > n && memcmp(span->text + span->length - n, end, n) == 0;
}

static void
name_check(struct trip_rules_ctx *ctx, const struct trip_rules_span *name)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	trip_rules_error_quote(quote, name);
	if (name->length > TRIP_RULES_NAME_MAX)
		trip_rules_error(ctx, name, "the name %s has %zu characters: the limit is %u",
			quote, name->length, TRIP_RULES_NAME_MAX);
	else if (trip_rules_build_is(name, "each"))
		trip_rules_error(ctx, name,
			"expected a name, found 'each', which stands for the "
			"flow of an 'each' statement");
	else if (ends_with(name, ".packets") || ends_with(name, ".bytes"))
		trip_rules_error(ctx, name,
			"expected a name that does not end in '.packets' or "
			"'.bytes', found %s",
			quote);
}

void
trip_rules_build_name(
	struct trip_rules_ctx *ctx, enum trip_rules_kind kind, const struct trip_rules_span *name)
{
	name_check(ctx, name);
	ctx->named = true;
	ctx->symbol = (struct trip_rules_symbol){.span = *name, .kind = kind};
}

void
trip_rules_build_either(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	ctx->count.direction = TRIP_RULES_EITHER;
	ctx->either = *word;
}

/* A packet has one fate, and for a rule that counts in addition it is another rule's. */
void
trip_rules_build_action(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *word, uint32_t action)
{
	static const struct {
		uint32_t action;
		const char *word;
	} fates[] = {
		{TRIP_RULES_ACTION_DROP, "drop"},
		{TRIP_RULES_ACTION_PASSTHRU, "passthru"},
		{TRIP_RULES_ACTION_QUEUE, "queue"},
		{TRIP_RULES_ACTION_RSS, "rss"},
	};
	const char *other = NULL;

	for (size_t i = 0; i < RTE_DIM(fates); i++) {
		if ((ctx->count.actions & fates[i].action) != 0)
			other = fates[i].word;
	}
	if ((ctx->count.actions & action) != 0)
		trip_rules_error(ctx, word, "the rule has the action '%.*s' already",
			(int)word->length, word->text);
	else if (action != TRIP_RULES_ACTION_MARK && other != NULL)
		trip_rules_error(ctx, word, "'%s' and '%.*s' exclude each other", other,
			(int)word->length, word->text);
	else if (ctx->count.also && action != TRIP_RULES_ACTION_MARK &&
		 action != TRIP_RULES_ACTION_PASSTHRU)
		trip_rules_error(ctx, word,
			"an 'also' rule counts and lets the packet go on: "
			"it cannot have the action '%.*s'",
			(int)word->length, word->text);
	ctx->count.actions |= action;
}

void
trip_rules_build_every(struct trip_rules_ctx *ctx, const struct trip_rules_span *value)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	uint64_t *every = &ctx->when.every;

	if (ctx->when.pairs != NULL) {
		trip_rules_error(ctx, value, "every %s: 'all' and 'any' hold once",
			trip_rules_error_quote(quote, value));
	} else if (ctx->when.ref == TRIP_RULES_REF_CLOCK) {
		if (trip_rules_value_time(ctx, value, every) && *every < TRIP_RULES_PERIOD_MIN)
			trip_rules_error(ctx, value,
				"every %s would do little else: expected 1ms or more",
				trip_rules_error_quote(quote, value));
	} else if (trip_rules_value_amount(ctx, value, every) && *every == 0) {
		trip_rules_error(ctx, value, "every 0 would fire without end: expected 1 or more");
	} else if (ctx->when.condition.kind == TRIP_CONDITION_RATE && *every > 1) {
		trip_rules_error(ctx, value,
			"every %s: a rate that repeats needs no more than it is: expected 1",
			trip_rules_error_quote(quote, value));
	}
}

void
trip_rules_build_period(struct trip_rules_ctx *ctx, const struct trip_rules_span *time)
{
	ctx->when.ref = TRIP_RULES_REF_CLOCK;
	trip_rules_build_every(ctx, time);
	ctx->when.threshold = ctx->when.every;
}

/* A rate holds once unless it is told otherwise; here each time, so that it prolongs what lasts. */
void
trip_rules_build_for(struct trip_rules_ctx *ctx, const struct trip_rules_span *time)
{
	struct trip_rules_when *when = &ctx->when;
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (!trip_rules_value_time(ctx, time, &when->lasts))
		return;
	if (when->lasts == 0)
		trip_rules_error(ctx, time, "for %s would change nothing: expected 1ns or more",
			trip_rules_error_quote(quote, time));
	when->lasts_text = strndup(time->text, time->length);
	ctx->nomem |= when->lasts_text == NULL;
	if (when->condition.kind == TRIP_CONDITION_RATE)
		when->every = 1;
}

void
trip_rules_build_op(
	struct trip_rules_ctx *ctx, enum trip_rules_op op, const struct trip_rules_span *target)
{
	ctx->when.op = op;
	ctx->names.target = *target;
}

/* Rules come from files, sockets and command lines, and a program runs with all that tripd may: it
 * is not looked for. */
void
trip_rules_build_exec(struct trip_rules_ctx *ctx, const struct trip_rules_span *span, char *path)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	ctx->when.op = TRIP_RULES_OP_EXEC;
	if (path != NULL && (path[0] != '/' || strlen(path) >= PATH_MAX)) {
		trip_rules_error(ctx, span,
			"expected the whole path of a program, from /, found %s",
			trip_rules_error_quote(quote, span));
		free(path);
		return;
	}
	ctx->nomem |= path == NULL && span->text[0] != '"';
	ctx->when.text = path;
}

void
trip_rules_build_at_most(struct trip_rules_ctx *ctx, const struct trip_rules_span *most,
	const struct trip_rules_span *per)
{
	struct trip_rules_when *when = &ctx->when;
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (trip_rules_value_number(ctx, most, "lines", INT64_MAX, &when->most) && when->most == 0)
		trip_rules_error(ctx, most, "at most 0 would log nothing: expected 1 or more");
	if (trip_rules_value_time(ctx, per, &when->per) && when->per < TRIP_RULES_PERIOD_MIN)
		trip_rules_error(ctx, per, "per %s would leave out nothing: expected 1ms or more",
			trip_rules_error_quote(quote, per));
}

/* A continuation and the blanks around it become one blank. */
char *
trip_rules_build_source(struct trip_rules_ctx *ctx, const char *from, const char *end)
{
	char *source = malloc((size_t)(end - from) + 1), *to = source;

	if (source == NULL) {
		ctx->nomem = true;
		return NULL;
	}
	while (from < end) {
		size_t skip = 0;

		if (*from == '\\' && from[1] == '\n')
			skip = 2;
		else if (*from == '\\' && from[1] == '\r' && from[2] == '\n')
			skip = 3;
		if (skip == 0) {
			*to++ = *from++;
			continue;
		}
		from += skip;
		from += strspn(from, " \t");
		while (to > source && (to[-1] == ' ' || to[-1] == '\t'))
			to--;
		*to++ = ' ';
	}
	*to = '\0';
	return source;
}

static char *
source_of(struct trip_rules_ctx *ctx)
{
	return trip_rules_build_source(ctx, ctx->first.text, ctx->last);
}

void
trip_rules_build_place(struct trip_rules_ctx *ctx)
{
	struct trip_rules_count *count = &ctx->count;

	count->line = ctx->first.line;
	count->name_line = ctx->symbol.span.line;
	count->name_column = ctx->symbol.span.column;
	count->name_offset = (size_t)(ctx->symbol.span.text - ctx->text);
	count->source = source_of(ctx);
	memcpy(count->name, ctx->symbol.span.text,
		RTE_MIN(ctx->symbol.span.length, (size_t)TRIP_RULES_NAME_MAX));
}

static void
commit_count(struct trip_rules_ctx *ctx)
{
	struct trip_rules *rules = ctx->rules;

	if (!trip_rules_grow(&rules->counts, rules->n_counts, sizeof(*rules->counts))) {
		ctx->nomem = true;
		return;
	}
	/* Also without patterns: the rule is there, and what names it is not wrong too. */
	trip_rules_pattern_expand(ctx);
	trip_rules_build_place(ctx);
	ctx->symbol.index = rules->n_counts;
	rules->counts[rules->n_counts++] = ctx->count;
	ctx->count = (struct trip_rules_count){0};
}

static void
commit_counter(struct trip_rules_ctx *ctx)
{
	struct trip_rules *rules = ctx->rules;
	struct trip_rules_counter counter = {.line = ctx->first.line};

	if (!trip_rules_grow(&rules->counters, rules->n_counters, sizeof(counter))) {
		ctx->nomem = true;
		return;
	}
	memcpy(counter.name, ctx->symbol.span.text,
		RTE_MIN(ctx->symbol.span.length, (size_t)TRIP_RULES_NAME_MAX));
	counter.source = source_of(ctx);
	if (ctx->symbol.kind == TRIP_RULES_KIND_QUOTA)
		counter.quota = trip_rules_quota_commit(ctx, rules->n_counters);
	ctx->symbol.index = rules->n_counters;
	rules->counters[rules->n_counters++] = counter;
}

static void
commit_when(struct trip_rules_ctx *ctx)
{
	struct trip_rules *rules = ctx->rules;

	if (!trip_rules_grow(&ctx->when_names, rules->n_whens, sizeof(*ctx->when_names)) ||
		!trip_rules_grow(&rules->whens, rules->n_whens, sizeof(*rules->whens))) {
		ctx->nomem = true;
		return;
	}
	ctx->when.line = ctx->first.line;
	ctx->when.source = source_of(ctx);
	if (ctx->when.most == 0) {
		ctx->when.most = TRIP_RULES_LINES_MOST;
		ctx->when.per = TRIP_RULES_LINES_PER;
	}
	ctx->when_names[rules->n_whens] = ctx->names;
	rules->whens[rules->n_whens++] = ctx->when;
	ctx->pair_first = ctx->n_pair_names;
	ctx->when = (struct trip_rules_when){0};
	ctx->names = (struct trip_rules_names){0};
}

void
trip_rules_build_commit(struct trip_rules_ctx *ctx)
{
	if (ctx->in_when)
		commit_when(ctx);
	else if (ctx->named && ctx->symbol.kind == TRIP_RULES_KIND_COUNT)
		commit_count(ctx);
	else if (ctx->named && (ctx->symbol.kind == TRIP_RULES_KIND_COUNTER ||
				       ctx->symbol.kind == TRIP_RULES_KIND_QUOTA))
		commit_counter(ctx);
	else if (ctx->named && ctx->symbol.kind == TRIP_RULES_KIND_SET)
		trip_rules_set_commit(ctx, source_of(ctx));
	else if (ctx->named && ctx->symbol.kind == TRIP_RULES_KIND_EACH)
		trip_rules_each_commit(ctx);
	trip_rules_build_abandon(ctx);
}

/* Keeps the statement's names, to be checked, drops the rest, and makes ready for the next one. */
void
trip_rules_build_abandon(struct trip_rules_ctx *ctx)
{
	trip_rules_pairs_abandon(ctx);
	if (ctx->names.ref.length > 0 || ctx->names.target.length > 0)
		commit_when(ctx);
	if (ctx->named && trip_rules_grow(&ctx->symbols, ctx->n_symbols, sizeof(*ctx->symbols)))
		ctx->symbols[ctx->n_symbols++] = ctx->symbol;
	else if (ctx->named)
		ctx->nomem = true;
	trip_rules_free_ports(&ctx->count);
	free(ctx->when.condition_text);
	trip_rules_pairs_free(ctx->when.pairs);
	free(ctx->when.lasts_text);
	free(ctx->when.rate_text);
	free(ctx->when.text);
	trip_rules_set_free(&ctx->set);
	ctx->set = (struct trip_rules_set){0};
	ctx->count = (struct trip_rules_count){0};
	ctx->when = (struct trip_rules_when){0};
	ctx->names = (struct trip_rules_names){0};
	ctx->first = (struct trip_rules_span){0};
	ctx->shape.n_items = 0;
	ctx->shape.n_tests = 0;
	ctx->shape.n_bytes = 0;
	ctx->n_ranges = 0;
	ctx->before = NULL;
	ctx->run = 0;
	ctx->tunnel = false;
	ctx->lost = false;
	ctx->partial = false;
	ctx->in_when = false;
	ctx->in_quota = false;
	ctx->in_set = false;
	ctx->in_items = false;
	trip_rules_quota_abandon(ctx);
	ctx->in_each = false;
	ctx->in_keys = false;
	ctx->each = (struct trip_rules_each){0};
	ctx->named = false;
	ctx->broken = false;
}
