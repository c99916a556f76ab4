/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"

const char *
tripd_describe_engine(enum trip_flow_engine engine)
{
	return engine == TRIP_ENGINE_HW ? "hw" : "sw";
}

const char *
tripd_describe_fact(enum trip_fact from)
{
	return from == TRIP_FACT_KNOWN      ? "known"
	       : from == TRIP_FACT_MEASURED ? "measured"
					    : "assumed";
}

void
tripd_describe_trigger(const struct trip_rules *rules, const struct trip_rules_when *when,
	char text[TRIPD_DESCRIBE_MAX])
{
	if (when->ref == TRIP_RULES_REF_COUNTER)
		snprintf(text, TRIPD_DESCRIBE_MAX, "%s", rules->counters[when->index].name);
	else
		snprintf(text, TRIPD_DESCRIBE_MAX, "%s.%s", rules->counts[when->index].name,
			when->ref == TRIP_RULES_REF_PACKETS ? "packets" : "bytes");
}

void
tripd_describe_action(const struct trip_rules *rules, const struct trip_rules_when *when,
	char text[TRIPD_DESCRIBE_MAX])
{
	const struct trip_rules_op_row *op = trip_rules_op_of(when->op);
	int length;

	if (op->target == TRIP_OP_ON_CNTR)
		length = snprintf(text, TRIPD_DESCRIBE_MAX, "%s %s %" PRIu64, op->word,
			rules->counters[when->target].name, when->value);
	else if (op->target == TRIP_OP_ON_FLOW)
		length = snprintf(text, TRIPD_DESCRIBE_MAX, "%s %s", op->word,
			rules->counts[when->target].name);
	else
		length = snprintf(text, TRIPD_DESCRIBE_MAX, "%s%s%s", op->word,
			when->text != NULL ? " " : "", when->text != NULL ? when->text : "");
	if (length >= TRIPD_DESCRIBE_MAX)
		strcpy(text + TRIPD_DESCRIBE_MAX - 4, "...");
}

/* Three to four digits and a unit that is `step` times the one before. */
static void
scale(double value, const char *const *units, unsigned int n_units, char text[16])
{
	unsigned int i = 0;

	/* 999.95 would round to 1000.0. */
	while (value >= 999.95 && i + 1 < n_units) {
		value /= 1000;
		i++;
	}
	snprintf(text, 16,
		value < 9.9995   ? "%.3f %s"
		: value < 99.995 ? "%.2f %s"
				 : "%.1f %s",
		value, units[i]);
}

void
tripd_describe_number(uint64_t number, char text[16])
{
	static const char *const units[] = {"G", "T", "P", "E"};

	if (number >= 1000000000) {
		scale((double)number / 1e9, units, 4, text);
		return;
	}
	if (number >= 1000000)
		snprintf(text, 16, "%" PRIu64 ",%03" PRIu64 ",%03" PRIu64, number / 1000000,
			number / 1000 % 1000, number % 1000);
	else if (number >= 1000)
		snprintf(text, 16, "%" PRIu64 ",%03" PRIu64, number / 1000, number % 1000);
	else
		snprintf(text, 16, "%" PRIu64, number);
}

void
tripd_describe_time(uint64_t ns, char text[16])
{
	static const char *const units[] = {"us", "ms", "s"};

	if (ns < 1000)
		snprintf(text, 16, "%" PRIu64 " ns", ns);
	else
		scale((double)ns / 1e3, units, 3, text);
}
