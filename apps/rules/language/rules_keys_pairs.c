/* SPDX-License-Identifier: BSD-3-Clause */
/* all() and any() of conditions of keys: what they are of, an `each` has as members of one of its
 * conditions. */
#include "rules_priv.h"

/* Where the members of one go. */
struct taking {
	struct trip_rules_ctx *ctx;
	struct trip_rules_each *each;
	unsigned int of; /* the condition */
	const struct trip_rules_names *names;
};

static bool
is_of_keys(const struct trip_rules_pair *pair)
{
	return pair->nested == NULL &&
	       (pair->ref == TRIP_RULES_REF_KEY_PACKETS || pair->ref == TRIP_RULES_REF_KEY_BYTES);
}

/* The first that is; NULL: none is. */
static const struct trip_rules_pair *
first_of_keys(const struct trip_rules_pairs *pairs)
{
	const struct trip_rules_pair *found = NULL;

	for (unsigned int i = 0; i < pairs->n && found == NULL; i++)
		found = pairs->pair[i].nested != NULL ? first_of_keys(pairs->pair[i].nested)
			: is_of_keys(&pairs->pair[i]) ? &pairs->pair[i]
						      : NULL;
	return found;
}

static bool
are_all_of(const struct trip_rules_pairs *pairs, unsigned int each)
{
	for (unsigned int i = 0; i < pairs->n; i++) {
		const struct trip_rules_pair *pair = &pairs->pair[i];

		if (pair->nested != NULL ? !are_all_of(pair->nested, each)
					 : !is_of_keys(pair) || pair->index != each)
			return false;
	}
	return true;
}

/* Of a pair of keys. They are looked for in the order in which they were read, so each once. */
static const struct trip_rules_names *
names_of(struct trip_rules_ctx *ctx, const struct trip_rules_pair *pair)
{
	while (ctx->pair_next < ctx->n_pair_names && ctx->pair_names[ctx->pair_next].pair != pair)
		ctx->pair_next++;
	return ctx->pair_next < ctx->n_pair_names ? &ctx->pair_names[ctx->pair_next].names : NULL;
}

static bool
check_member_room(const struct taking *taking)
{
	return taking->each->n_members < TRIP_EACH_MEMBERS_MAX ||
	       trip_rules_error(taking->ctx, &taking->names->ref,
		       "'%s' has more conditions in 'all' and 'any' than %d: that is the limit of "
		       "an 'each'",
		       taking->each->count.name, TRIP_EACH_MEMBERS_MAX);
}

static bool
take_member(struct taking *taking, const struct trip_rules_pair *pair, unsigned int within)
{
	const struct trip_rules_keys_said said = {
		.ref = pair->ref, .condition = &pair->condition, .threshold = pair->threshold};
	const struct trip_rules_names *names = names_of(taking->ctx, pair);
	struct trip_rules_each *each = taking->each;
	struct trip_each_member member = {.of = taking->of, .within = within};

	if (names == NULL || !check_member_room(taking) ||
		!trip_rules_keys_make(taking->ctx, names, each, &said, &member.when))
		return false;
	each->members[each->n_members++] = member;
	return true;
}

static enum trip_each_group
group_of(const struct trip_rules_pairs *pairs)
{
	return pairs->kind == TRIP_CONDITION_ALL ? TRIP_EACH_ALL : TRIP_EACH_ANY;
}

/* They are nested once. */
static bool
take_members(struct taking *taking, const struct trip_rules_pairs *pairs, unsigned int within)
{
	struct trip_rules_each *each = taking->each;

	for (unsigned int i = 0; i < pairs->n; i++) {
		const struct trip_rules_pairs *nested = pairs->pair[i].nested;

		if (nested == NULL) {
			if (!take_member(taking, &pairs->pair[i], within))
				return false;
			continue;
		}
		if (!check_member_room(taking))
			return false;
		each->members[each->n_members++] =
			(struct trip_each_member){.when.group = group_of(nested), .of = taking->of};
		if (!take_members(taking, nested, each->n_members))
			return false;
	}
	return true;
}

/* All of them, or none. */
static void
take(struct taking *taking, const struct trip_rules_names *names, unsigned int at)
{
	struct trip_rules_when *when = &taking->ctx->rules->whens[at];
	struct trip_each_when condition = {.group = group_of(when->pairs)};
	unsigned int n_members = taking->each->n_members;
	struct trip_rules_names own = *names;
	struct trip_each_act act;

	own.ref = taking->names->ref;
	if (!trip_rules_keys_begin(taking->ctx, &own, taking->each, when, &act))
		return;
	if (take_members(taking, when->pairs, 0))
		trip_rules_keys_add(taking->each, &condition, &act, at);
	else
		taking->each->n_members = n_members;
}

void
trip_rules_keys_pairs(
	struct trip_rules_ctx *ctx, const struct trip_rules_names *names, unsigned int at)
{
	struct trip_rules_when *when = &ctx->rules->whens[at];
	const struct trip_rules_pair *first = first_of_keys(when->pairs);
	struct taking taking = {.ctx = ctx, .of = 0};
	char quote[TRIP_RULES_QUOTE_SIZE];
	const char *name;

	/* That of a wrong statement is no each. */
	if (first == NULL || first->index >= ctx->rules->n_eaches)
		return;
	taking.names = names_of(ctx, first);
	if (taking.names == NULL)
		return;
	taking.each = &ctx->rules->eaches[first->index];
	taking.of = taking.each->n_whens;
	name = taking.each->count.name;
	if (!are_all_of(when->pairs, first->index))
		trip_rules_error(ctx, &taking.names->ref,
			"%s is of the keys of '%s': in an 'all' or 'any' of these, expected "
			"'%s.packets' and '%s.bytes' alone, with '>=', 'rate' or 'idle'",
			trip_rules_error_quote(quote, &taking.names->ref), name, name, name);
	else
		take(&taking, names, at);
	when->ref = TRIP_RULES_REF_KEY_PAIRS;
	when->index = first->index;
	trip_rules_pairs_free(when->pairs);
	when->pairs = NULL;
}
