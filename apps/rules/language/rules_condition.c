/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions of the language: those of the library, by their names. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules_condition_rows.h"
#include "rules_priv.h"

#define ROW(condition, name) {#name, TRIP_CONDITION_##condition},

static enum trip_condition_kind
kind_of(const char *word, size_t length)
{
	static const struct {
		const char *word;
		enum trip_condition_kind kind;
	} rows[] = {TRIP_CONDITION_ROWS(ROW){NULL, TRIP_CONDITION_NONE}};
	unsigned int i = 0;

	while (rows[i].word != NULL &&
		(strlen(rows[i].word) != length || memcmp(rows[i].word, word, length) != 0))
		i++;
	return rows[i].kind;
}

bool
trip_rules_condition_known(const char *word)
{
	return kind_of(word, strlen(word)) != TRIP_CONDITION_NONE;
}

/* False: the library does not have it. */
static bool
begin(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_span *word)
{
	struct trip_condition *condition = &ctx->when.condition;

	ctx->names.ref = *ref;
	condition->size = sizeof(*condition);
	condition->kind = kind_of(word->text, word->length);
	if (condition->kind == TRIP_CONDITION_NONE)
		trip_rules_error_notyet(ctx, word);
	return condition->kind != TRIP_CONDITION_NONE;
}

/* As it is told where it holds; NULL is no memory for it. */
static __attribute__((format(printf, 2, 3))) void
say(struct trip_rules_ctx *ctx, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(&ctx->when.condition_text, format, args) < 0) {
		ctx->when.condition_text = NULL;
		ctx->nomem = true;
	}
	va_end(args);
}

/* One that has a time. */
void
trip_rules_condition_time(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_span *word, const struct trip_rules_span *time)
{
	struct trip_condition *condition = &ctx->when.condition;

	if (!begin(ctx, ref, word) ||
		!trip_rules_value_time(ctx, time, &condition->when.reserved[0]))
		return;
	if (condition->when.reserved[0] == 0) {
		trip_rules_error(ctx, time, "%.*s %.*s would hold at once: expected 1ns or more",
			(int)word->length, word->text, (int)RTE_MIN(time->length, (size_t)40),
			time->text);
		return;
	}
	say(ctx, "%.*s %.*s", (int)word->length, word->text, (int)time->length, time->text);
}

/* As many as the rate is within the time, which is called so; of a part of one, the whole. The
 * first of a condition, or that of its until. */
static bool
count_of(struct trip_rules_ctx *ctx, unsigned int which, const struct trip_rules_span *at,
	const char *word, const struct trip_rules_span *time, uint64_t ns, uint64_t *count)
{
	char quote[2][TRIP_RULES_QUOTE_SIZE];
	struct trip_rules_rate rate;
	trip_rules_u128 product, n;

	if (!trip_rules_value_rate(ctx, at, false, &rate))
		return false;
	product = (trip_rules_u128)rate.amount * ns;
	n = product / rate.ns + (product % rate.ns != 0);
	trip_rules_error_quote(quote[0], at);
	trip_rules_error_quote(quote[1], time);
	if (product < rate.ns)
		return trip_rules_error(ctx, at,
			"%s %s %s is less than 1: expected a higher rate, or a longer time",
			quote[0], word, quote[1]);
	if (n > INT64_MAX)
		return trip_rules_error(ctx, at, "%s %s %s is above 9223372036854775807 (2^63-1)",
			quote[0], word, quote[1]);
	ctx->names.rates[which] = *at;
	ctx->names.rates_of[which] = rate.of;
	*count = (uint64_t)n;
	return true;
}

static bool
window_of(struct trip_rules_ctx *ctx, const char *word, const struct trip_rules_span *time,
	uint64_t *ns)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (!trip_rules_value_time(ctx, time, ns))
		return false;
	return *ns >= TRIP_RULES_WINDOW_MIN ||
	       trip_rules_error(ctx, time, "%s %s is too short: expected 100us or more", word,
		       trip_rules_error_quote(quote, time));
}

void
trip_rules_condition_rate(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_span *word, const struct trip_rules_span *rate,
	const struct trip_rules_span *time)
{
	struct trip_condition *condition = &ctx->when.condition;
	uint64_t ns, count;

	if (!begin(ctx, ref, word) || !window_of(ctx, "over", time, &ns) ||
		!count_of(ctx, 0, rate, "over", time, ns, &count))
		return;
	condition->when.rate.time = ns;
	condition->when.rate.count = count;
	say(ctx, "%.*s >= %.*s over %.*s", (int)word->length, word->text, (int)rate->length,
		rate->text, (int)time->length, time->text);
}

/* It repeats: it holds again when it has ended. */
void
trip_rules_condition_until(struct trip_rules_ctx *ctx, const struct trip_rules_span *rate,
	const struct trip_rules_span *time)
{
	struct trip_condition *condition = &ctx->when.condition;
	char *begun = ctx->when.condition_text;
	uint64_t ns, count;

	if (!window_of(ctx, "for", time, &ns) || !count_of(ctx, 1, rate, "for", time, ns, &count) ||
		begun == NULL)
		return;
	condition->when.rate.until_time = ns;
	condition->when.rate.until_count = count;
	ctx->when.every = 1;
	say(ctx, "%s until < %.*s for %.*s", begun, (int)rate->length, rate->text,
		(int)time->length, time->text);
	free(begun);
}

/* An until is below what it ends. Its rates have been read before. */
static void
check_until(struct trip_rules_ctx *ctx, const struct trip_rules_names *names)
{
	char quote[2][TRIP_RULES_QUOTE_SIZE];
	struct trip_rules_rate rates[2];

	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		if (names->rates[i].length == 0 ||
			!trip_rules_value_rate(ctx, &names->rates[i], false, &rates[i]))
			return;
	if ((trip_rules_u128)rates[1].amount * rates[0].ns >
		(trip_rules_u128)rates[0].amount * rates[1].ns)
		trip_rules_error(ctx, &names->rates[1],
			"until < %s would end at once what begins at %s: expected at most that",
			trip_rules_error_quote(quote[0], &names->rates[1]),
			trip_rules_error_quote(quote[1], &names->rates[0]));
}

void
trip_rules_condition_check_rate(
	struct trip_rules_ctx *ctx, const struct trip_rules_names *names, enum trip_rules_ref ref)
{
	static const char *const units[] = {
		[TRIP_RULES_REF_PACKETS] = "of packets is in pps, /s, /m, /h or /d",
		[TRIP_RULES_REF_BYTES] = "of bytes is in bit/s or B/s",
		[TRIP_RULES_REF_COUNTER] = "of a counter is in /s, /m, /h or /d",
	};
	char quote[TRIP_RULES_QUOTE_SIZE];
	bool fits = true;

	for (unsigned int i = 0; i < RTE_DIM(names->rates); i++)
		if (names->rates[i].length > 0 && (names->rates_of[i] & 1u << ref) == 0)
			fits = trip_rules_error(ctx, &names->rates[i], "a rate %s, found %s",
				units[ref], trip_rules_error_quote(quote, &names->rates[i]));
	if (fits)
		check_until(ctx, names);
}
