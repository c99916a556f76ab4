/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions of the language: those of the library, by their names. */
#include <stdio.h>
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

/* One that has a time. */
void
trip_rules_condition_time(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_span *word, const struct trip_rules_span *time)
{
	struct trip_condition *condition = &ctx->when.condition;

	ctx->names.ref = *ref;
	condition->size = sizeof(*condition);
	condition->kind = kind_of(word->text, word->length);
	if (condition->kind == TRIP_CONDITION_NONE) {
		trip_rules_error_notyet(ctx, word);
		return;
	}
	if (!trip_rules_value_time(ctx, time, &condition->when.reserved[0]))
		return;
	if (condition->when.reserved[0] == 0) {
		trip_rules_error(ctx, time, "%.*s %.*s would hold at once: expected 1ns or more",
			(int)word->length, word->text, (int)RTE_MIN(time->length, (size_t)40),
			time->text);
		return;
	}
	if (asprintf(&ctx->when.condition_text, "%.*s %.*s", (int)word->length, word->text,
		    (int)time->length, time->text) < 0) {
		ctx->when.condition_text = NULL;
		ctx->nomem = true;
	}
}
