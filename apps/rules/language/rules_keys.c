/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions of keys, and what they do: of those of a `when` what an `each` has. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rules_priv.h"

#define COUNT_MAX ((UINT64_C(1) << 48) - 1)
#define BUCKET_MAX (UINT64_C(1) << 40)
#define SECOND_NS UINT64_C(1000000000)

static uint64_t
divisor_of(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Where they have no whole number of seconds in which a whole number leaks, or too many, it is
 * rounded up. */
static void
make_leak(uint64_t n, uint64_t ns, struct trip_each_when *condition)
{
	const trip_rules_u128 all = (trip_rules_u128)n * SECOND_NS;
	uint64_t seconds = ns / divisor_of(ns, (uint64_t)(all % ns));

	while (seconds > UINT32_MAX || (all * seconds + ns - 1) / ns > BUCKET_MAX)
		seconds /= 2;
	condition->rate = (uint64_t)((all * seconds + ns - 1) / ns);
	condition->seconds = seconds > 1 ? (uint32_t)seconds : 0;
}

/*
 * A rate R over T, which makes N, is a bucket of N that leaks N in T. A key trips where it has had
 * more than R * t + N in some interval t. That is sound: t is within t / T + 1 windows of T,
 * rounded down. Where each of these has N at most, they have R * t + N at most together; so one of
 * them has had more. At twice the rate the bucket gets N in T beside what leaks, and is over then.
 * What leaks is rounded up, for the same reason.
 */
static bool
make_bucket(struct trip_rules_ctx *ctx, const struct trip_rules_span *rate,
	const struct trip_condition *said, struct trip_each_when *condition)
{
	uint64_t n = said->when.rate.count, ns = said->when.rate.time;
	trip_rules_u128 a_second = ((trip_rules_u128)n * SECOND_NS + ns - 1) / ns;
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (n > BUCKET_MAX || a_second > BUCKET_MAX)
		return trip_rules_error(ctx, rate,
			"%s is too much of a key: a second, and in the time, at most %" PRIu64,
			trip_rules_error_quote(quote, rate), BUCKET_MAX);
	make_leak(n, ns, condition);
	condition->burst = n;
	return true;
}

/* A rate that drops for a time, or has an end, has `every 1` by that: each packet above it prolongs
 * the time, which is what a key's does by itself; and it may begin again. */
static bool
prolongs(const struct trip_rules_when *when)
{
	return when->condition.kind == TRIP_CONDITION_RATE &&
	       (when->lasts != 0 || when->condition.when.rate.until_time != 0);
}

/* False, and said: what is not done to a key. */
static bool
check_op(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref, enum trip_rules_op op)
{
	return op == TRIP_RULES_OP_LOG || op == TRIP_RULES_OP_EXEC || trip_rules_each_does(op) ||
	       trip_rules_error(ctx, ref,
		       "a condition of keys has 'log', 'exec', 'drop', 'police' or 'reset', and no "
		       "'%s'",
		       trip_rules_op_of(op)->word);
}

bool
trip_rules_each_does(enum trip_rules_op op)
{
	return op == TRIP_RULES_OP_DROP || op == TRIP_RULES_OP_RESET ||
	       op == TRIP_RULES_OP_POLICE || op == TRIP_RULES_OP_KEY_DROP ||
	       op == TRIP_RULES_OP_KEY_RESET || op == TRIP_RULES_OP_KEY_POLICE;
}

static uint64_t
us_of(uint64_t ns)
{
	return ns / 1000 + (ns % 1000 != 0);
}

/* What it begins ends with the rate. */
static bool
make_until(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_when *when, struct trip_each_act *act)
{
	const struct trip_condition *condition = &when->condition;
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (condition->kind != TRIP_CONDITION_RATE || condition->when.rate.until_time == 0)
		return true;
	act->until_us = us_of(condition->when.rate.until_time);
	act->until_count = condition->when.rate.until_count;
	if (act->op == TRIP_EACH_OP_RESET)
		return trip_rules_error(
			ctx, &names->target, "'reset' does nothing that 'until' would end");
	return (act->until_us <= TRIP_RULES_EACH_TIME_MAX && act->until_count <= COUNT_MAX) ||
	       trip_rules_error(ctx, &names->rates[1],
		       "until < %s is too much of a key: in 281474976s at most %" PRIu64,
		       trip_rules_error_quote(quote, &names->rates[1]), COUNT_MAX);
}

/* It does that to the key that trips, and to nothing else. */
static bool
make_op(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, struct trip_rules_when *when, struct trip_each_act *act)
{
	uint64_t us = us_of(when->lasts);
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (!trip_rules_each_does(when->op))
		return true;
	trip_rules_error_quote(quote, &names->target);
	if (!trip_rules_build_is(&names->target, each->count.name))
		return trip_rules_error(ctx, &names->target,
			"a condition of keys does that to the key that trips: expected '%s', found "
			"%s",
			each->count.name, quote);
	if (us > TRIP_RULES_EACH_TIME_MAX)
		return trip_rules_error(ctx, &names->target,
			"a key is dropped for 281474976s at most, or without a time for ever");
	if (when->op == TRIP_RULES_OP_RESET) {
		when->op = TRIP_RULES_OP_KEY_RESET;
		act->op = TRIP_EACH_OP_RESET;
	} else if (when->op == TRIP_RULES_OP_POLICE) {
		when->op = TRIP_RULES_OP_KEY_POLICE;
		act->op = TRIP_EACH_OP_POLICE;
		act->unit = when->unit;
		act->rate = when->value;
	} else {
		when->op = TRIP_RULES_OP_KEY_DROP;
		act->op = TRIP_EACH_OP_DROP;
		act->time_us = us;
	}
	return true;
}

static bool
lasts(const struct trip_each_act *act)
{
	return act->op == TRIP_EACH_OP_DROP || act->op == TRIP_EACH_OP_POLICE || act->until_us != 0;
}

static bool
make_act(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, struct trip_rules_when *when, struct trip_each_act *act)
{
	if (!make_op(ctx, names, each, when, act) || !make_until(ctx, names, when, act))
		return false;
	if (prolongs(when))
		when->every = 0;
	for (unsigned int i = 0; lasts(act) && i < each->n_whens; i++) {
		const struct trip_each_act *other = &each->acts[i];

		if (lasts(other) &&
			(other->op != act->op ||
				(act->op == TRIP_EACH_OP_POLICE &&
					(other->rate != act->rate || other->unit != act->unit))))
			return trip_rules_error(ctx, &names->ref,
				"'%s' has a condition on line %u that does something else that "
				"lasts: to a key, one 'drop', one 'police', or what 'until' ends",
				each->count.name, ctx->rules->whens[each->whens[i]].line);
	}
	return true;
}

static bool
check_room(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_each *each)
{
	return each->n_whens < TRIP_EACH_WHENS_MAX ||
	       trip_rules_error(ctx, ref,
		       "'%s' has more conditions than %d: that is the limit of an 'each'",
		       each->count.name, TRIP_EACH_WHENS_MAX);
}

/* ---- conditions -------------------------------------------------------------------------------
 */

/* A condition of an each, or a member of one. */
static const struct trip_each_when *
condition_at(const struct trip_rules_each *each, unsigned int at)
{
	if (at < each->n_whens)
		return &each->conditions[at];
	at -= each->n_whens;
	return at < each->n_members ? &each->members[at].when : NULL;
}

static bool
make_rate(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, const struct trip_rules_keys_said *said,
	struct trip_each_when *made)
{
	const struct trip_each_when *other;

	for (unsigned int i = 0; (other = condition_at(each, i)) != NULL; i++)
		if (other->rate != 0)
			return trip_rules_error(ctx, &names->ref,
				"'%s' has a 'rate' already: an 'each' has one", each->count.name);
	made->again = said->every != 0;
	/* One that was wrong where it was read has no place and no time. */
	return names->rates[0].length != 0 &&
	       make_bucket(ctx, &names->rates[0], said->condition, made);
}

/* A time as it may be written. */
static const char *
time_text(uint64_t us, char text[32])
{
	if (us % 1000000 == 0)
		snprintf(text, 32, "%" PRIu64 "s", us / 1000000);
	else if (us % 1000 == 0)
		snprintf(text, 32, "%" PRIu64 "ms", us / 1000);
	else
		snprintf(text, 32, "%" PRIu64 "us", us);
	return text;
}

static bool
make_quiet(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, const struct trip_rules_keys_said *said,
	struct trip_each_when *made)
{
	uint64_t us = us_of(said->condition->when.idle.time), others[TRIP_EACH_QUIETS_MAX];
	char quote[TRIP_RULES_QUOTE_SIZE], text[2][32];
	const struct trip_each_when *other;
	unsigned int n = 0;

	if (us >= each->idle_us)
		return trip_rules_error(ctx, &names->ref,
			"%s idle %s: a key of '%s' goes when it has been idle for %s: expected a "
			"shorter time",
			trip_rules_error_quote(quote, &names->ref), time_text(us, text[0]),
			each->count.name, time_text(each->idle_us, text[1]));
	for (unsigned int i = 0; (other = condition_at(each, i)) != NULL; i++) {
		unsigned int at = 0;

		while (at < n && others[at] != other->quiet_us)
			at++;
		if (other->quiet_us == 0 || other->quiet_us == us || at < n)
			continue;
		if (n == TRIP_EACH_QUIETS_MAX - 1)
			return trip_rules_error(ctx, &names->ref,
				"'%s' has 'idle' with more times than %d: that is the limit of an "
				"'each'",
				each->count.name, TRIP_EACH_QUIETS_MAX);
		others[n++] = other->quiet_us;
	}
	made->quiet_us = us;
	made->every = said->every;
	return true;
}

static bool
make_count(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_keys_said *said, struct trip_each_when *made)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	made->count = said->threshold;
	made->every = said->every;
	return (said->threshold != 0 && said->threshold <= COUNT_MAX) ||
	       trip_rules_error(ctx, &names->ref,
		       "%s >= %" PRIu64 ": of a key, expected 1 to %" PRIu64,
		       trip_rules_error_quote(quote, &names->ref), said->threshold, COUNT_MAX);
}

bool
trip_rules_keys_make(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, const struct trip_rules_keys_said *said,
	struct trip_each_when *made)
{
	*made = (struct trip_each_when){
		.of = said->ref == TRIP_RULES_REF_KEY_BYTES ? TRIP_EACH_BYTES : TRIP_EACH_PACKETS};
	if (said->every > COUNT_MAX)
		return trip_rules_error(ctx, &names->ref,
			"every %" PRIu64 ": of a key, at most %" PRIu64, said->every, COUNT_MAX);
	switch (said->condition->kind) {
	case TRIP_CONDITION_RATE:
		return make_rate(ctx, names, each, said, made);
	case TRIP_CONDITION_IDLE:
		return make_quiet(ctx, names, each, said, made);
	default:
		return make_count(ctx, names, said, made);
	}
}

/* What is at work and is said again is one. */
static bool
is_said_again(const struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_each *each, const char *source)
{
	for (unsigned int i = 0; ref->text >= ctx->base && i < each->n_whens; i++)
		if (strcmp(ctx->rules->whens[each->whens[i]].source, source) == 0)
			return true;
	return false;
}

/* Whether there is room for another condition, and what it does can be done as well; then that is
 * known. */
bool
trip_rules_keys_begin(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, struct trip_rules_when *when, struct trip_each_act *act)
{
	*act = (struct trip_each_act){.op = TRIP_EACH_OP_NONE};
	return check_op(ctx, &names->ref, when->op) &&
	       !is_said_again(ctx, &names->ref, each, when->source) &&
	       check_room(ctx, &names->ref, each) && make_act(ctx, names, each, when, act);
}

void
trip_rules_keys_add(struct trip_rules_each *each, const struct trip_each_when *condition,
	const struct trip_each_act *act, unsigned int at)
{
	each->conditions[each->n_whens] = *condition;
	each->acts[each->n_whens] = *act;
	each->whens[each->n_whens++] = at;
}

void
trip_rules_each_when(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	struct trip_rules_each *each, unsigned int at)
{
	struct trip_rules_when *when = &ctx->rules->whens[at];
	struct trip_rules_keys_said said = {
		.condition = &when->condition, .threshold = when->threshold};
	struct trip_each_when made;
	struct trip_each_act act;

	trip_rules_condition_check_rate(ctx, names, when->ref);
	/* It breaks off in its operation, which has been told. */
	if (trip_rules_each_does(when->op) && names->target.length == 0)
		return;
	when->ref = when->ref == TRIP_RULES_REF_BYTES ? TRIP_RULES_REF_KEY_BYTES
						      : TRIP_RULES_REF_KEY_PACKETS;
	if (!trip_rules_keys_begin(ctx, names, each, when, &act))
		return;
	said.ref = when->ref;
	said.every = when->every;
	if (trip_rules_keys_make(ctx, names, each, &said, &made))
		trip_rules_keys_add(each, &made, &act, at);
}
