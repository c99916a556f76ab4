/* SPDX-License-Identifier: BSD-3-Clause */
/* What fires, as a line for people or as JSON. */
#include <stdio.h>

#include "apply/text.h"
#include "apply/when.h"
#include "base/record.h"
#include "base/text.h"
#include "now.h"
#include "when.h"

void
tripctl_when_tell_left_out(const struct tripctl_when *when, unsigned int i, uint64_t now)
{
	const struct trip_rules *rules = when->statement.rules;
	uint64_t n = trip_apply_limit_left_out(&when->limits[i], &rules->whens[i], now);
	char trigger[TRIP_APPLY_TEXT_MAX], number[TRIPCTL_TEXT_NUMBER];

	if (n == 0)
		return;
	trip_apply_text_trigger(rules, &rules->whens[i], trigger);
	printf("%s: %s more left out\n", trigger, tripctl_text_exact(n, number));
}

/* Programs get all of them. */
static bool
is_left_out(const struct tripctl_when *when, unsigned int i)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (when->ctl->json)
		return false;
	tripctl_when_tell_left_out(when, i, now);
	return !trip_apply_limit_take(&when->limits[i], &when->statement.rules->whens[i], now);
}

void
tripctl_when_tell(const struct tripctl_when *when, const struct trip_work_event *event)
{
	const struct trip_rules *rules = when->statement.rules;
	const struct trip_rules_when *rule = &rules->whens[event->context];
	bool is_time = rule->ref == TRIP_RULES_REF_CLOCK;
	bool ends = (event->flags & TRIP_WORK_END) != 0;
	const char *end_of = ends ? "end of " : "";
	uint64_t offset = trip_apply_when_offset(rule, when->since);
	uint64_t threshold = event->threshold - offset, value = event->value - offset;
	char trigger[TRIP_APPLY_TEXT_MAX], action[TRIP_APPLY_TEXT_MAX], escaped[512];
	char reached[TRIPCTL_TEXT_NUMBER], now[TRIPCTL_TEXT_NUMBER];
	json_t *object;

	if (is_left_out(when, (unsigned int)event->context))
		return;
	trip_apply_text_trigger(rules, rule, trigger);
	trip_apply_text_action(rules, rule, action);
	if (!when->ctl->json && rule->pairs != NULL) {
		printf("%s: %s%s\n", rule->condition_text, end_of,
			tripctl_text_escape(action, escaped, sizeof(escaped)));
		return;
	}
	if (!when->ctl->json && rule->condition_text != NULL) {
		printf("%s %s at %s: %s%s\n", trigger, rule->condition_text,
			tripctl_text_exact(value, now), end_of,
			tripctl_text_escape(action, escaped, sizeof(escaped)));
		return;
	}
	if (!when->ctl->json) {
		printf("%s reached %s, now %s: %s%s\n", trigger,
			(is_time ? tripctl_text_time : tripctl_text_exact)(threshold, reached),
			(is_time ? tripctl_text_time : tripctl_text_exact)(value, now), end_of,
			tripctl_text_escape(action, escaped, sizeof(escaped)));
		return;
	}
	object = json_object();
	if (is_time || rule->pairs != NULL)
		tripctl_record_put(object, "counter", json_null());
	else
		tripctl_record_put_text(object, "counter", trigger);
	if (rule->condition_text != NULL)
		tripctl_record_put_text(object, "condition", rule->condition_text);
	else
		tripctl_record_put(object, "condition", json_null());
	tripctl_record_put_number(object, "threshold", threshold);
	tripctl_record_put_number(object, "value", value);
	tripctl_record_put_number(object, "overshoot", value - threshold);
	tripctl_record_put_text(object, "does", action);
	tripctl_record_put(object, "ends", json_boolean(ends));
	tripctl_record_put(object, "result", json_integer(event->result));
	tripctl_record_put_number(object, "latency_ns", event->latency_ns);
	tripctl_record_write(object);
}
