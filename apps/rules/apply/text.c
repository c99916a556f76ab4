/* SPDX-License-Identifier: BSD-3-Clause */
/* What rules say, as people read it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

void
trip_apply_text_trigger(const struct trip_rules *rules, const struct trip_rules_when *when,
	char text[TRIP_APPLY_TEXT_MAX])
{
	if (trip_rules_is_of_several(when))
		text[0] = 0;
	else if (when->ref == TRIP_RULES_REF_CLOCK)
		snprintf(text, TRIP_APPLY_TEXT_MAX, "time");
	else if (when->ref == TRIP_RULES_REF_COUNTER)
		snprintf(text, TRIP_APPLY_TEXT_MAX, "%s", rules->counters[when->index].name);
	else if (trip_rules_is_of_keys(when))
		snprintf(text, TRIP_APPLY_TEXT_MAX, "%s.%s", rules->eaches[when->index].count.name,
			when->ref == TRIP_RULES_REF_KEY_PACKETS ? "packets" : "bytes");
	else
		snprintf(text, TRIP_APPLY_TEXT_MAX, "%s.%s", rules->counts[when->index].name,
			when->ref == TRIP_RULES_REF_PACKETS ? "packets" : "bytes");
}

void
trip_apply_text_action(const struct trip_rules *rules, const struct trip_rules_when *when,
	char text[TRIP_APPLY_TEXT_MAX])
{
	const struct trip_rules_op_row *op = trip_rules_op_of(when->op);
	char *end = text + TRIP_APPLY_TEXT_MAX - 4;
	int length;

	if (when->op == TRIP_RULES_OP_KEY_POLICE)
		length = snprintf(text, TRIP_APPLY_TEXT_MAX, "%s %s %s", op->word,
			rules->eaches[when->index].count.name, when->rate_text);
	else if (when->op == TRIP_RULES_OP_KEY_DROP || when->op == TRIP_RULES_OP_KEY_RESET)
		length = snprintf(text, TRIP_APPLY_TEXT_MAX, "%s %s%s%s", op->word,
			rules->eaches[when->index].count.name, when->lasts != 0 ? " for " : "",
			when->lasts != 0 ? when->lasts_text : "");
	else if (when->op == TRIP_RULES_OP_RESET && !when->on_count)
		length = snprintf(text, TRIP_APPLY_TEXT_MAX, "%s %s", op->word,
			rules->counters[when->target].name);
	else if (op->target == TRIP_OP_ON_CNTR && !when->on_count)
		length = snprintf(text, TRIP_APPLY_TEXT_MAX, "%s %s %" PRIu64, op->word,
			rules->counters[when->target].name, when->value);
	else if (when->on_count)
		length = snprintf(text, TRIP_APPLY_TEXT_MAX, "%s %s%s%s", op->word,
			rules->counts[when->target].name,
			when->lasts != 0          ? " for "
			: when->rate_text != NULL ? " "
						  : "",
			when->lasts != 0          ? when->lasts_text
			: when->rate_text != NULL ? when->rate_text
						  : "");
	else
		length = snprintf(text, TRIP_APPLY_TEXT_MAX, "%s%s%s", op->word,
			when->text != NULL ? " " : "", when->text != NULL ? when->text : "");
	if (length < TRIP_APPLY_TEXT_MAX)
		return;
	/* Not within a character of UTF-8: its later bytes are these. */
	while (end > text && (*end & 0xc0) == 0x80)
		end--;
	strcpy(end, "...");
}
