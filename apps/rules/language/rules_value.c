/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and strings: text to value, with every limit checked before it can be passed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

static int
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Decimal or 0x hexadecimal. A leading zero is neither: testpmd would take it for octal. */
enum trip_rules_number
trip_rules_value_u64(const char *text, size_t length, uint64_t *value)
{
	unsigned int base = 10;
	bool overflow = false;

	*value = 0;
	if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		length -= 2;
	} else if (length == 0 || (length > 1 && text[0] == '0')) {
		return TRIP_RULES_NUMBER_BAD;
	}
	for (size_t i = 0; i < length; i++) {
		unsigned int digit = (unsigned int)digit_of(text[i]);

		if (digit >= base)
			return TRIP_RULES_NUMBER_BAD;
		overflow |= __builtin_mul_overflow(*value, (uint64_t)base, value);
		overflow |= __builtin_add_overflow(*value, (uint64_t)digit, value);
	}
	return overflow ? TRIP_RULES_NUMBER_OVERFLOW : TRIP_RULES_NUMBER_OK;
}

bool
trip_rules_value_number(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const char *what, uint64_t max, uint64_t *value)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	enum trip_rules_number kind = trip_rules_value_u64(span->text, span->length, value);

	if (kind == TRIP_RULES_NUMBER_BAD) {
		bool octal =
			span->length > 1 && span->text[0] == '0' && digit_of(span->text[1]) < 10;

		return trip_rules_error(ctx, span, "%s: expected a plain number, found %s%s", what,
			trip_rules_error_quote(quote, span), octal ? " (octal is not meant)" : "");
	}
	if (kind == TRIP_RULES_NUMBER_OVERFLOW || *value > max)
		return trip_rules_error(ctx, span, "%s %.*s is above %" PRIu64, what,
			(int)(span->length < 40 ? span->length : 40), span->text, max);
	return true;
}

uint64_t
trip_rules_value_plain(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const char *what, uint64_t max)
{
	uint64_t value;

	return trip_rules_value_number(ctx, span, what, max, &value) ? value : 0;
}

/* The factor that a suffix of VALUE stands for, or 0. */
static uint64_t
factor_of(const char *suffix, size_t length)
{
	static const char letters[] = "kMGT";
	const char *letter;
	uint64_t factor = 1;

	if (length > 0 && suffix[length - 1] == 'B')
		length--;
	if (length == 0)
		return 1;
	letter = memchr(letters, suffix[0] == 'K' ? 'k' : suffix[0], sizeof(letters) - 1);
	if (letter == NULL || length > 2 || (length == 2 && suffix[1] != 'i'))
		return 0;
	/* k is 1000 and Ki 1024, as the SI and the IEC have them; K and ki are neither. */
	if ((suffix[0] == 'k' && length == 2) || (suffix[0] == 'K' && length == 1))
		return 0;
	for (const char *l = letters; l <= letter; l++)
		factor *= length == 2 ? 1024 : 1000;
	return factor;
}

/* A number and its suffix. */
static enum trip_rules_number
amount_of(const char *text, size_t length, uint64_t *value)
{
	enum trip_rules_number kind;
	uint64_t factor = 1;
	size_t digits = length;

	kind = trip_rules_value_u64(text, digits, value);
	if (kind == TRIP_RULES_NUMBER_BAD) {
		digits = 0;
		while (digits < length && digit_of(text[digits]) < 10)
			digits++;
		factor = factor_of(text + digits, length - digits);
		kind = trip_rules_value_u64(text, digits, value);
	}
	if (kind == TRIP_RULES_NUMBER_BAD || factor == 0)
		return TRIP_RULES_NUMBER_BAD;
	if (kind == TRIP_RULES_NUMBER_OVERFLOW || *value > INT64_MAX / factor)
		return TRIP_RULES_NUMBER_OVERFLOW;
	*value *= factor;
	return TRIP_RULES_NUMBER_OK;
}

int
trip_rules_parse_value(const char *text, uint64_t *value)
{
	switch (amount_of(text, strlen(text), value)) {
	case TRIP_RULES_NUMBER_OK:
		return 0;
	case TRIP_RULES_NUMBER_OVERFLOW:
		return -ERANGE;
	default:
		return -EINVAL;
	}
}

/* What others write for a unit of a rate, and for the letter before it. */
static const char *
unit_meant(const char *text, size_t length)
{
	static const struct {
		const char *found, *meant;
	} all[] = {{"bps", "bit/s"}, {"bit", "bit/s"}, {"bits", "bit/s"}, {"b/s", "bit/s"},
		{"bits/s", "bit/s"}, {"bit/s", "bit/s"}, {"Bps", "B/s"}, {"B/s", "B/s"},
		{"p/s", "pps"}, {"pps", "pps"}};

	for (unsigned int i = 0; i < RTE_DIM(all); i++)
		if (strlen(all[i].found) == length && memcmp(all[i].found, text, length) == 0)
			return all[i].meant;
	return NULL;
}

/* A rate in the units of others, as it would be in those of the language; empty: it is none. */
static void
rate_meant(const struct trip_rules_span *span, char meant[TRIP_RULES_QUOTE_SIZE])
{
	static const char letters[] = "kKmMgGtT", right[] = "kkMMGGTT";
	const char *end = span->text + span->length, *unit, *letter;
	size_t digits = 0;

	meant[0] = '\0';
	while (digits < span->length && digit_of(span->text[digits]) < 10)
		digits++;
	unit = unit_meant(span->text + digits, span->length - digits);
	if (digits == 0 || digits > 20 || digits == span->length)
		return;
	letter = memchr(letters, span->text[digits], sizeof(letters) - 1);
	if (unit == NULL && letter != NULL) {
		unit = unit_meant(span->text + digits + 1, (size_t)(end - span->text) - digits - 1);
		if (unit != NULL)
			snprintf(meant, TRIP_RULES_QUOTE_SIZE, "%.*s%c%s", (int)digits, span->text,
				right[letter - letters], unit);
	} else if (unit != NULL) {
		snprintf(meant, TRIP_RULES_QUOTE_SIZE, "%.*s%s", (int)digits, span->text, unit);
	}
}

static bool
is_like_rate(const struct trip_rules_span *span)
{
	char meant[TRIP_RULES_QUOTE_SIZE];

	rate_meant(span, meant);
	return meant[0] != '\0';
}

bool
trip_rules_value_amount(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, uint64_t *value)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	enum trip_rules_number kind = amount_of(span->text, span->length, value);

	if (kind == TRIP_RULES_NUMBER_BAD)
		return trip_rules_error(ctx, span,
			"expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
			"then B), found %s%s",
			trip_rules_error_quote(quote, span),
			is_like_rate(span) ? " (" TRIP_RULES_RATE_HINT ")" : "");
	if (kind == TRIP_RULES_NUMBER_OVERFLOW)
		return trip_rules_error(ctx, span,
			"value %.*s is above 9223372036854775807 (2^63-1)",
			(int)(span->length < 40 ? span->length : 40), span->text);
	return true;
}

/* Nanoseconds of the unit behind a number, or 0. */
static uint64_t
unit_of(const char *name, size_t length)
{
	static const struct {
		char name[3];
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
		{"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)},
		{"d", UINT64_C(86400000000000)}};

	for (unsigned int i = 0; i < RTE_DIM(units); i++)
		if (strlen(units[i].name) == length && memcmp(units[i].name, name, length) == 0)
			return units[i].ns;
	return 0;
}

bool
trip_rules_value_time(struct trip_rules_ctx *ctx, const struct trip_rules_span *span, uint64_t *ns)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	enum trip_rules_number kind;
	size_t digits = 0;
	uint64_t unit;

	while (digits < span->length && digit_of(span->text[digits]) < 10)
		digits++;
	unit = unit_of(span->text + digits, span->length - digits);
	kind = trip_rules_value_u64(span->text, digits, ns);
	/* Its unit may stand behind a blank. */
	ctx->broken |= digits == span->length;
	if (kind == TRIP_RULES_NUMBER_BAD || unit == 0)
		return trip_rules_error(ctx, span,
			"expected a time such as 250ms, 10s or 5m (units ns us ms s m h d), found "
			"%s",
			trip_rules_error_quote(quote, span));
	if (kind == TRIP_RULES_NUMBER_OVERFLOW || *ns > TRIP_RULES_TIME_MAX / unit)
		return trip_rules_error(ctx, span, "time %.*s is above 10000d",
			(int)(span->length < 40 ? span->length : 40), span->text);
	*ns *= unit;
	return true;
}

#define PACKETS (1u << TRIP_RULES_REF_PACKETS)
#define BYTES (1u << TRIP_RULES_REF_BYTES)
#define COUNTER (1u << TRIP_RULES_REF_COUNTER)

/* The unit at the end of a rate, whose amount is 0: of units that end alike the longest. */
static const struct trip_rules_rate *
rate_unit_of(const struct trip_rules_span *span, size_t *length)
{
	static const struct {
		const char *word;
		struct trip_rules_rate rate;
	} units[] = {
		{"pps", {0, UINT64_C(1000000000), PACKETS}},
		{"bit/s", {0, UINT64_C(8000000000), BYTES}},
		{"B/s", {0, UINT64_C(1000000000), BYTES}},
		{"/s", {0, UINT64_C(1000000000), PACKETS | COUNTER}},
		{"/m", {0, UINT64_C(60000000000), PACKETS | COUNTER}},
		{"/h", {0, UINT64_C(3600000000000), PACKETS | COUNTER}},
		{"/d", {0, UINT64_C(86400000000000), PACKETS | COUNTER}},
	};

	for (unsigned int i = 0; i < RTE_DIM(units); i++) {
		*length = strlen(units[i].word);
		if (span->length > *length &&
			memcmp(span->text + span->length - *length, units[i].word, *length) == 0)
			return &units[i].rate;
	}
	return NULL;
}

bool
trip_rules_value_rate(struct trip_rules_ctx *ctx, const struct trip_rules_span *span, bool police,
	struct trip_rules_rate *rate)
{
	enum trip_rules_number kind = TRIP_RULES_NUMBER_BAD;
	char quote[TRIP_RULES_QUOTE_SIZE], meant[TRIP_RULES_QUOTE_SIZE];
	size_t length;
	const struct trip_rules_rate *unit = rate_unit_of(span, &length);

	/* Its B would be of the amount, such as in "10kBpps". */
	if (unit != NULL && span->text[span->length - length - 1] != 'B') {
		*rate = *unit;
		kind = amount_of(span->text, span->length - length, &rate->amount);
	}
	if (kind == TRIP_RULES_NUMBER_BAD)
		rate_meant(span, meant);
	if (kind == TRIP_RULES_NUMBER_BAD)
		return trip_rules_error(ctx, span,
			"expected a rate such as 10kpps, 1Gbit/s%s), found %s%s%s",
			police ? " or 100MB/s (units pps bit/s B/s /s"
			       : ", 100MB/s or 5/m (units pps bit/s B/s /s /m /h /d",
			trip_rules_error_quote(quote, span), meant[0] != '\0' ? ": write " : "",
			meant);
	if (kind == TRIP_RULES_NUMBER_OVERFLOW)
		return trip_rules_error(ctx, span,
			"rate %.*s is above 9223372036854775807 (2^63-1)",
			(int)(span->length < 40 ? span->length : 40), span->text);
	return true;
}

/* A string without its quotes; \" and \\ are its only escapes. NULL after an error. */
char *
trip_rules_value_string(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	char *string = malloc(span->length);
	size_t n = 0;

	if (string == NULL) {
		ctx->nomem = true;
		return NULL;
	}
	for (size_t i = 1; i + 1 < span->length; i++) {
		struct trip_rules_span at = *span;
		unsigned char c = (unsigned char)span->text[i];

		at.text += i;
		at.column += (unsigned int)i;
		at.length = 1;
		if (c == '\\') {
			at.length = 2;
			c = (unsigned char)span->text[++i];
			if (c != '"' && c != '\\') {
				trip_rules_error(ctx, &at,
					"expected '\\\"' or '\\\\' in a string, found another "
					"character behind '\\'");
				goto bad;
			}
		} else if ((c < 0x20 && c != '\t') || c == 0x7f) {
			trip_rules_error(ctx, &at,
				"expected printable text in a string, found the byte 0x%02x", c);
			goto bad;
		}
		string[n++] = (char)c;
	}
	string[n] = '\0';
	return string;
bad:
	free(string);
	return NULL;
}
