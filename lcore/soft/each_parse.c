/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys from their text (each_text.c). */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_key.h"

#define IPV4_BYTES 4u
#define FIELD_MAX 64u

struct parsing {
	char *wrong;
	size_t size;
	const char *word;
};

/* What a field is not. */
#define refuse(parsing, format, ...)                                                   \
	(snprintf((parsing)->wrong, (parsing)->size, "%s is " format, (parsing)->word, \
		 ##__VA_ARGS__),                                                       \
		false)

/* A number of digits alone. */
static bool
take_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9' || strlen(text) > 10)
		return false;
	*number = strtoull(text, &end, 10);
	return *end == 0 && *number <= most;
}

/* Bits of it that keys do not have. */
static bool
has_more(const uint8_t *bytes, uint32_t size, uint32_t length)
{
	for (uint32_t bit = length; bit < 8 * size; bit++)
		if ((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0)
			return true;
	return false;
}

/* What stands behind its '/', which is cut off. */
static bool
take_length(struct parsing *parsing, char *text, uint32_t bits, uint32_t length)
{
	char *slash = strchr(text, '/');
	uint64_t given;

	if (slash == NULL)
		return true;
	*slash = 0;
	if (!take_number(slash + 1, bits, &given) || given != length)
		return refuse(parsing, "of %" PRIu32 " bits, and not /%s", length, slash + 1);
	return true;
}

static bool
take_address(struct parsing *parsing, char *text, const struct trip_each_part *part, uint8_t *to)
{
	const uint32_t size = trip_each_key_shape(part->field).bytes;
	bool is_v4 = size == IPV4_BYTES || strchr(text, ':') == NULL;
	uint32_t bytes = is_v4 ? IPV4_BYTES : size, bits = 8 * bytes, length;
	uint8_t *at = to + size - bytes;

	length = part->length != 0 && part->length < bits ? part->length : bits;
	if (!take_length(parsing, text, bits, length))
		return false;
	if (inet_pton(is_v4 ? AF_INET : AF_INET6, text, at) != 1)
		return refuse(parsing, "an address%s, and not '%s'",
			size == IPV4_BYTES ? " of IPv4"
			: part->field == TRIP_EACH_IPV6_SRC || part->field == TRIP_EACH_IPV6_DST
				? " of IPv6"
				: "",
			text);
	if (is_v4 && size != IPV4_BYTES)
		memset(at - 2, 0xff, 2);
	if (has_more(at, bytes, length))
		return refuse(parsing,
			"the front of an address, of %" PRIu32 " bits, behind which '%s' has some",
			length, text);
	return true;
}

static bool
take_part(struct parsing *parsing, char *text, const struct trip_each_part *part, uint8_t *to)
{
	const struct trip_each_shape shape = trip_each_key_shape(part->field);
	uint64_t number, most;

	parsing->word = trip_each_key_word(part->field);
	if (shape.address)
		return take_address(parsing, text, part, to);
	most = (UINT64_C(1) << trip_each_key_bits(part->field)) - 1;
	if (!take_number(text, most, &number))
		return refuse(parsing, "a number from 0 to %" PRIu64 ", and not '%s'", most, text);
	number <<= shape.shift;
	for (uint32_t i = shape.bytes; i-- > 0; number >>= 8)
		to[i] = (uint8_t)number;
	return true;
}

int
trip_each_key_parse(const struct trip_each_part *parts, uint32_t n, const char *text, uint8_t *key,
	char *wrong, size_t size)
{
	struct parsing parsing = {.wrong = wrong, .size = size};
	char field[FIELD_MAX];

	memset(key, 0, TRIP_EACH_KEY_BYTES);
	for (uint32_t i = 0; i < n; i++) {
		size_t length = strcspn(text, ",");

		if (length == 0 || length >= sizeof(field) ||
			(text[length] == ',') != (i + 1 < n)) {
			snprintf(wrong, size,
				"it has %" PRIu32 " field%s, with commas between them", n,
				n > 1 ? "s" : "");
			return -1;
		}
		memcpy(field, text, length);
		field[length] = 0;
		if (!take_part(&parsing, field, &parts[i], key))
			return -1;
		key += trip_each_key_shape(parts[i].field).bytes;
		text += length + (i + 1 < n);
	}
	return 0;
}
