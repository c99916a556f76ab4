/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of fields: from text to a number, and from a number into an item of rte_flow. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

/* The highest value of so many bits. */
trip_rules_u128
trip_rules_field_ones(unsigned int bits)
{
	return bits == 0 ? 0 : ~(trip_rules_u128)0 >> (128 - bits);
}

static bool
parse_mac(const char *text, trip_rules_u128 *value)
{
	*value = 0;
	for (unsigned int i = 0; i < 6; i++) {
		size_t n = strspn(text, "0123456789abcdefABCDEF");
		char end = i < 5 ? ':' : '\0';

		if (n < 1 || n > 2 || text[n] != end)
			return false;
		*value = *value << 8 | (trip_rules_u128)strtoul(text, NULL, 16);
		text += n + 1;
	}
	return true;
}

static bool
parse_ip(int family, size_t size, const char *text, trip_rules_u128 *value)
{
	unsigned char bytes[16];

	if (inet_pton(family, text, bytes) != 1)
		return false;
	*value = 0;
	for (size_t i = 0; i < size; i++)
		*value = *value << 8 | bytes[i];
	return true;
}

/* An address in its own notation. IPv4 may also be a number, as testpmd has it for masks. */
static bool
parse_address(unsigned int notation, const struct trip_rules_span *span, trip_rules_u128 *value)
{
	char text[64];
	uint64_t number;

	if (span->length >= sizeof(text))
		return false;
	memcpy(text, span->text, span->length);
	text[span->length] = '\0';
	if (notation == TRIP_FLOW_MAC)
		return parse_mac(text, value);
	if (notation == TRIP_FLOW_IPV6)
		return parse_ip(AF_INET6, 16, text, value);
	if (parse_ip(AF_INET, 4, text, value))
		return true;
	if (trip_rules_value_u64(text, span->length, &number) != TRIP_RULES_NUMBER_OK ||
		number > UINT32_MAX)
		return false;
	*value = number;
	return true;
}

bool
trip_rules_field_mac(const struct trip_rules_span *span, trip_rules_u128 *value)
{
	return parse_address(TRIP_FLOW_MAC, span, value);
}

bool
trip_rules_field_value(struct trip_rules_ctx *ctx, const struct trip_flow_field *field,
	const struct trip_rules_span *span, trip_rules_u128 *value)
{
	static const char *const notations[] = {
		[TRIP_FLOW_MAC] = "a MAC address such as 02:00:00:00:00:01",
		[TRIP_FLOW_IPV4] = "an IPv4 address such as 10.0.0.1",
		[TRIP_FLOW_IPV6] = "an IPv6 address such as 2001:db8::1",
	};
	char quote[TRIP_RULES_QUOTE_SIZE], what[32];
	uint64_t number;

	if (field->notation == TRIP_FLOW_NUMBER) {
		snprintf(what, sizeof(what), "%s %s", ctx->draft.item->word, field->word);
		if (!trip_rules_value_number(
			    ctx, span, what, (uint64_t)trip_rules_field_ones(field->bits), &number))
			return false;
		*value = number;
		return true;
	}
	if (parse_address(field->notation, span, value))
		return true;
	return trip_rules_error(ctx, span, "%s %s: expected %s, found %s", ctx->draft.item->word,
		field->word, notations[field->notation], trip_rules_error_quote(quote, span));
}

/* Adds a value to an item that is zero there. */
void
trip_rules_field_store(void *item, const struct trip_flow_field *field, trip_rules_u128 value)
{
	uint8_t *at = (uint8_t *)item + field->offset;

	value <<= field->shift;
	for (unsigned int i = field->bytes; i > 0; i--, value >>= 8)
		at[i - 1] |= (uint8_t)value;
}
