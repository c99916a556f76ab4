/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quotas: how much, per what time, and of what. A quota is a counter as any other is, but that what
 * it is of feeds it; how that begins anew is for the tool to see to.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

#define DAY_MAX 28

void
trip_rules_quota_begin(struct trip_rules_ctx *ctx, const struct trip_rules_span *limit)
{
	ctx->quota.day = 1;
	if (trip_rules_value_amount(ctx, limit, &ctx->quota.limit) && ctx->quota.limit == 0)
		trip_rules_error(ctx, limit, "a quota of 0 is spent at once: expected 1 or more");
}

void
trip_rules_quota_per(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	static const char *const words[] = {
		[TRIP_RULES_PERIOD_MINUTE] = "minute",
		[TRIP_RULES_PERIOD_HOUR] = "hour",
		[TRIP_RULES_PERIOD_DAY] = "day",
		[TRIP_RULES_PERIOD_MONTH] = "month",
	};
	char quote[TRIP_RULES_QUOTE_SIZE];

	for (unsigned int i = TRIP_RULES_PERIOD_MINUTE; i < RTE_DIM(words); i++)
		if (trip_rules_build_is(word, words[i]))
			ctx->quota.per = (enum trip_rules_period)i;
	if (ctx->quota.per == TRIP_RULES_PERIOD_NONE)
		trip_rules_error(ctx, word, "expected 'minute', 'hour', 'day' or 'month', found %s",
			trip_rules_error_quote(quote, word));
}

/* Two digits from `*at` on, below `limit`. */
static bool
take_two(const char **at, const char *end, unsigned int limit, unsigned int *value)
{
	if (end - *at < 2 || (*at)[0] < '0' || (*at)[0] > '9' || (*at)[1] < '0' || (*at)[1] > '9')
		return false;
	*value = (unsigned int)((*at)[0] - '0') * 10 + (unsigned int)((*at)[1] - '0');
	*at += 2;
	return *value < limit;
}

/* "04:00" or "04:00:30". */
static bool
time_of_day(const struct trip_rules_span *span, unsigned int *second)
{
	const char *at = span->text, *end = at + span->length;
	unsigned int hours, minutes, seconds = 0;

	if (!take_two(&at, end, 24, &hours) || at == end || *at++ != ':' ||
		!take_two(&at, end, 60, &minutes))
		return false;
	if (at != end && (*at++ != ':' || !take_two(&at, end, 60, &seconds)))
		return false;
	*second = (hours * 60 + minutes) * 60 + seconds;
	return at == end;
}

void
trip_rules_quota_at(struct trip_rules_ctx *ctx, const struct trip_rules_span *day,
	const struct trip_rules_span *time)
{
	struct trip_rules_quota *quota = &ctx->quota;
	char quote[TRIP_RULES_QUOTE_SIZE];
	uint64_t number = 1;

	if (!time_of_day(time, &quota->second))
		trip_rules_error(ctx, time, "expected a time of the day such as 04:00, found %s",
			trip_rules_error_quote(quote, time));
	else if (quota->per < TRIP_RULES_PERIOD_DAY)
		trip_rules_error(ctx, time,
			"'at' is of days and months: a shorter period begins "
			"with its minute or hour");
	if (day == NULL || !trip_rules_value_number(ctx, day, "day", UINT16_MAX, &number))
		return;
	if (number == 0 || number > DAY_MAX)
		trip_rules_error(ctx, day,
			"day %" PRIu64 ": expected 1 to %u, which every month has", number,
			DAY_MAX);
	else if (quota->per != TRIP_RULES_PERIOD_MONTH)
		trip_rules_error(ctx, day, "a day of the month is for 'per month'");
	quota->day = (unsigned int)number;
}

void
trip_rules_quota_of(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref)
{
	if (!trip_rules_grow(&ctx->quota_refs, ctx->n_quota_refs, sizeof(*ctx->quota_refs))) {
		ctx->nomem = true;
		return;
	}
	ctx->quota_refs[ctx->n_quota_refs++] = (struct trip_rules_quota_ref){.span = *ref};
}

struct trip_rules_quota *
trip_rules_quota_commit(struct trip_rules_ctx *ctx, unsigned int counter)
{
	unsigned int n = ctx->n_quota_refs - ctx->quota_first;
	struct trip_rules_quota *quota = malloc(sizeof(*quota));

	if (quota == NULL || (ctx->quota.counts = calloc(n, sizeof(*quota->counts))) == NULL) {
		free(quota);
		ctx->nomem = true;
		return NULL;
	}
	*quota = ctx->quota;
	for (; ctx->quota_first < ctx->n_quota_refs; ctx->quota_first++)
		ctx->quota_refs[ctx->quota_first].counter = counter;
	return quota;
}

void
trip_rules_quota_abandon(struct trip_rules_ctx *ctx)
{
	ctx->n_quota_refs = ctx->quota_first;
	ctx->quota = (struct trip_rules_quota){0};
}

static bool
is_of(const struct trip_rules_quota *quota, unsigned int count)
{
	for (unsigned int i = 0; i < quota->n_counts; i++)
		if (quota->counts[i] == count)
			return true;
	return false;
}

/* False, and said: not what it could be of. */
static bool
check_kind(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_symbol *symbol, bool dotted)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	trip_rules_error_quote(quote, ref);
	if (symbol->kind == TRIP_RULES_KIND_EACH)
		return trip_rules_error(ctx, ref,
			"not yet: %s is of an 'each': a quota is of what 'count' rules count",
			quote);
	if (symbol->kind == TRIP_RULES_KIND_COUNT && !dotted)
		return trip_rules_error(ctx, ref,
			"%s counts packets and bytes: expected '.packets' or '.bytes' behind it",
			quote);
	if (symbol->kind != TRIP_RULES_KIND_COUNT)
		return trip_rules_error(
			ctx, ref, "a quota is of what 'count' rules count: %s is none", quote);
	return true;
}

/* How many there are of its packets, or of its bytes. */
static int
count_kind(const struct trip_rules *rules, const struct trip_rules_count *count,
	enum trip_cntr_events events)
{
	int n = 0;

	for (unsigned int i = 0; i < count->n_quotas; i++)
		n += rules->counters[count->quotas[i]].quota->events == events;
	return n;
}

static void
check_ref(struct trip_rules_ctx *ctx, const struct trip_rules_quota_ref *ref)
{
	struct trip_rules_quota *quota = ctx->rules->counters[ref->counter].quota;
	const struct trip_rules_symbol *symbol;
	struct trip_rules_count *count;
	struct trip_rules_span name;
	enum trip_rules_ref kind;
	bool dotted = trip_rules_check_split(&ref->span, &name, &kind);
	enum trip_cntr_events events =
		kind == TRIP_RULES_REF_BYTES ? TRIP_CNTR_EVENTS_BYTES : TRIP_CNTR_EVENTS_COMP;

	symbol = trip_rules_check_find(ctx, &name);
	if (symbol == NULL) {
		trip_rules_check_unknown(ctx, &ref->span, &name, true, false, false);
		return;
	}
	if (!check_kind(ctx, &ref->span, symbol, dotted) || symbol->index >= ctx->rules->n_counts)
		return;
	count = &ctx->rules->counts[symbol->index];
	if (quota->n_counts == 0)
		quota->events = events;
	if (quota->events != events)
		trip_rules_error(ctx, &ref->span, "a quota is of packets or of bytes, not of both");
	else if (is_of(quota, symbol->index))
		trip_rules_error(ctx, &ref->span, "the quota is of that already");
	else if (count_kind(ctx->rules, count, events) == TRIP_RULES_QUOTAS_MAX)
		trip_rules_error(ctx, &ref->span, "more than %d quotas of that: the limit is %d",
			TRIP_RULES_QUOTAS_MAX, TRIP_RULES_QUOTAS_MAX);
	else {
		quota->counts[quota->n_counts++] = symbol->index;
		count->quotas[count->n_quotas++] = ref->counter;
	}
}

/* What a text defines anew is not meant where it is added to. */
static bool
is_meant(const struct trip_rules_ctx *ctx, unsigned int counter)
{
	const char *text = ctx->rules->counters[counter].name;
	const struct trip_rules_span name = {.text = text, .length = strlen(text)};
	const struct trip_rules_symbol *symbol = trip_rules_check_find(ctx, &name);

	/* A name that is too long is none. */
	return symbol == NULL ||
	       (symbol->kind == TRIP_RULES_KIND_QUOTA && symbol->index == counter);
}

void
trip_rules_quota_check(struct trip_rules_ctx *ctx)
{
	for (unsigned int i = 0; i < ctx->n_quota_refs; i++) {
		unsigned int counter = ctx->quota_refs[i].counter;

		if (ctx->rules->counters[counter].quota != NULL && is_meant(ctx, counter))
			check_ref(ctx, &ctx->quota_refs[i]);
	}
}
