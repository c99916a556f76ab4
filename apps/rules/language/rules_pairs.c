/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * all() and any(): conditions that are read as those of a `when` are, into the statement, and taken
 * from there when the next comma or the end comes.
 */
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

void
trip_rules_pairs_walk(struct trip_rules_pairs *pairs,
	void (*call)(void *arg, struct trip_rules_pair *pair), void *arg)
{
	for (unsigned int i = 0; pairs != NULL && i < pairs->n; i++)
		if (pairs->pair[i].nested != NULL)
			trip_rules_pairs_walk(pairs->pair[i].nested, call, arg);
		else
			call(arg, &pairs->pair[i]);
}

void
trip_rules_pairs_free(struct trip_rules_pairs *pairs)
{
	for (unsigned int i = 0; pairs != NULL && i < pairs->n; i++)
		trip_rules_pairs_free(pairs->pair[i].nested);
	free(pairs);
}

/* The one that is being read; NULL: there is no memory for it. */
static struct trip_rules_pairs *
level(struct trip_rules_ctx *ctx)
{
	return ctx->levels[ctx->n_levels - 1];
}

bool
trip_rules_pairs_open(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	struct trip_rules_pairs *pairs, *within = ctx->n_levels > 0 ? level(ctx) : NULL;
	enum trip_condition_kind kind =
		trip_rules_build_is(word, "all") ? TRIP_CONDITION_ALL : TRIP_CONDITION_ANY;

	if (ctx->n_levels == TRIP_RULES_LEVELS)
		return trip_rules_error(ctx, word,
			"'%.*s' is nested twice: expected what has a counter or a time",
			(int)word->length, word->text);
	ctx->n_levels++;
	if (within != NULL && within->kind == kind)
		trip_rules_error(ctx, word,
			"'%.*s' within '%.*s' says no more than its conditions do by themselves",
			(int)word->length, word->text, (int)word->length, word->text);
	pairs = calloc(1, sizeof(*pairs));
	ctx->levels[ctx->n_levels - 1] = pairs;
	ctx->nomem |= pairs == NULL;
	if (pairs != NULL)
		pairs->kind = kind;
	return true;
}

/* What this statement's pairs name is to be checked all the same. */
static void
forget(struct trip_rules_ctx *ctx)
{
	for (; ctx->pair_first < ctx->n_pair_names; ctx->pair_first++)
		ctx->pair_names[ctx->pair_first].pair = NULL;
}

/* What has been read of the statement is that of this one; what it names is looked for later. */
static void
take(struct trip_rules_ctx *ctx, struct trip_rules_pair *pair)
{
	struct trip_rules_when *when = &ctx->when;

	if (when->every != 0)
		trip_rules_error(ctx, &ctx->names.rates[1],
			"'until' is of what begins again: 'all' and 'any' hold once");
	if (pair != NULL) {
		*pair = (struct trip_rules_pair){.ref = when->ref,
			.threshold = when->threshold,
			.condition = when->condition,
			.nested = ctx->closed};
	} else {
		trip_rules_pairs_free(ctx->closed);
		forget(ctx);
	}
	if (ctx->names.ref.length > 0 &&
		trip_rules_grow(&ctx->pair_names, ctx->n_pair_names, sizeof(*ctx->pair_names)))
		ctx->pair_names[ctx->n_pair_names++] =
			(struct trip_rules_pair_names){ctx->names, pair};
	else
		ctx->nomem |= ctx->names.ref.length > 0;
	free(when->condition_text);
	*when = (struct trip_rules_when){0};
	ctx->names = (struct trip_rules_names){0};
	ctx->closed = NULL;
}

void
trip_rules_pairs_add(struct trip_rules_ctx *ctx, const struct trip_rules_span *place)
{
	struct trip_rules_pairs *pairs = level(ctx);
	bool has_room = pairs != NULL && pairs->n < TRIP_CONDITION_PAIRS_MAX;

	if (pairs != NULL && !has_room)
		trip_rules_error(ctx, place, "more than %d conditions: the limit is %d",
			TRIP_CONDITION_PAIRS_MAX, TRIP_CONDITION_PAIRS_MAX);
	take(ctx, has_room ? &pairs->pair[pairs->n] : NULL);
	if (has_room)
		pairs->n++;
}

void
trip_rules_pairs_close(struct trip_rules_ctx *ctx, const struct trip_rules_span *word,
	const struct trip_rules_span *end)
{
	struct trip_rules_when *when = &ctx->when;

	ctx->closed = level(ctx);
	if (--ctx->n_levels > 0 || ctx->closed == NULL)
		return;
	when->ref = TRIP_RULES_REF_PAIRS;
	when->pairs = ctx->closed;
	when->condition.size = sizeof(when->condition);
	when->condition.kind = when->pairs->kind;
	when->condition_text = trip_rules_build_source(ctx, word->text, end->text + end->length);
	ctx->closed = NULL;
}

void
trip_rules_pairs_abandon(struct trip_rules_ctx *ctx)
{
	bool goes = ctx->names.target.length == 0 && ctx->when.pairs != NULL;

	if (!goes && ctx->n_levels == 0 && ctx->closed == NULL)
		return;
	for (; ctx->n_levels > 0; ctx->n_levels--)
		trip_rules_pairs_free(level(ctx));
	trip_rules_pairs_free(ctx->closed);
	ctx->closed = NULL;
	trip_rules_pairs_free(ctx->when.pairs);
	ctx->when.pairs = NULL;
	forget(ctx);
}
