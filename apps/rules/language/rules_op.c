/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the language. */
#include <inttypes.h>
#include <string.h>

#include "rules_priv.h"

static const struct trip_rules_op_row rows[TRIP_RULES_OPS_END] = {
	[TRIP_RULES_OP_DROP] = {"drop", TRIP_OP_FLOW_DROP, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_PASS] = {"pass", TRIP_OP_FLOW_PASS, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_DELETE] = {"delete", TRIP_OP_FLOW_DELETE, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_POLICE] = {"police", TRIP_OP_FLOW_POLICE, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_ADD] = {"add", TRIP_OP_CNTR_ADD, TRIP_OP_ON_CNTR},
	[TRIP_RULES_OP_SET] = {"set", TRIP_OP_CNTR_SET, TRIP_OP_ON_CNTR},
	[TRIP_RULES_OP_RESET] = {"reset", TRIP_OP_CNTR_RESET, TRIP_OP_ON_CNTR},
	[TRIP_RULES_OP_EXEC] = {"exec", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
	[TRIP_RULES_OP_LOG] = {"log", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
	[TRIP_RULES_OP_KEY_DROP] = {"drop", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
	[TRIP_RULES_OP_KEY_POLICE] = {"police", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
	[TRIP_RULES_OP_KEY_RESET] = {"reset", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
};

const struct trip_rules_op_row *
trip_rules_op_of(enum trip_rules_op op)
{
	return &rows[op];
}

const struct trip_rules_when *
trip_rules_policed(const struct trip_rules *rules, const struct trip_rules_count *count)
{
	for (unsigned int i = 0; i < rules->n_whens; i++)
		if (rules->whens[i].op == TRIP_RULES_OP_POLICE && !rules->whens[i].gone &&
			&rules->counts[rules->whens[i].target] == count)
			return &rules->whens[i];
	return NULL;
}

/* Packets a second, or bits. */
void
trip_rules_build_police(struct trip_rules_ctx *ctx, const struct trip_rules_span *target,
	const struct trip_rules_span *word)
{
	static const uint64_t second = 1000000000;
	struct trip_rules_when *when = &ctx->when;
	char quote[TRIP_RULES_QUOTE_SIZE];
	struct trip_rules_rate rate;
	uint64_t each;

	trip_rules_build_op(ctx, TRIP_RULES_OP_POLICE, target);
	if (!trip_rules_value_rate(ctx, word, true, &rate))
		return;
	trip_rules_error_quote(quote, word);
	when->unit = (rate.of & 1u << TRIP_RULES_REF_PACKETS) != 0 ? TRIP_POLICE_UNIT_PACKETS
								   : TRIP_POLICE_UNIT_BITS;
	each = when->unit == TRIP_POLICE_UNIT_BITS ? 8 * second / rate.ns : 1;
	if (when->unit == TRIP_POLICE_UNIT_PACKETS && rate.ns != second)
		trip_rules_error(
			ctx, word, "a rate to police is in pps, bit/s, B/s or /s, found %s", quote);
	else if (rate.amount == 0)
		trip_rules_error(ctx, word, "police %s would drop all: 'drop' does that", quote);
	else if (rate.amount > TRIP_POLICE_MAX / each)
		trip_rules_error(ctx, word, "rate %s is above %" PRIu64 " %s", quote,
			(uint64_t)TRIP_POLICE_MAX,
			when->unit == TRIP_POLICE_UNIT_PACKETS ? "pps" : "bit/s");
	else
		when->value = rate.amount * each;
	when->rate_text = strndup(word->text, word->length);
	ctx->nomem |= when->rate_text == NULL;
}
