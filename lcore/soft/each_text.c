/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys as text: fields in their order, with commas between them, and as rules have them. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "each_key.h"

#define IPV4_BYTES 4u

struct text {
	char *at;
	size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void
say(struct text *text, const char *format, ...)
{
	size_t used = text->length < text->size ? text->length : text->size;
	va_list args;
	int length;

	va_start(args, format);
	/* Without room there may be no text. */
	length = vsnprintf(
		used < text->size ? text->at + used : NULL, text->size - used, format, args);
	va_end(args);
	text->length += length > 0 ? (size_t)length : 0;
}

static void
say_address(struct text *text, const uint8_t *bytes, uint32_t size, uint32_t length)
{
	char address[INET6_ADDRSTRLEN];

	if (trip_each_key_is_mapped(bytes, size)) {
		bytes += size - IPV4_BYTES;
		size = IPV4_BYTES;
	}
	say(text, "%s",
		inet_ntop(
			size == IPV4_BYTES ? AF_INET : AF_INET6, bytes, address, sizeof(address)));
	if (length != 0 && length < 8 * size)
		say(text, "/%" PRIu32, length);
}

/* In its bytes it may have other bits before it, which are 0, and behind it. */
static void
say_number(struct text *text, const uint8_t *bytes, uint32_t size, uint32_t shift)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < size; i++)
		number = number << 8 | bytes[i];
	say(text, "%" PRIu32, number >> shift);
}

size_t
trip_each_key_text(
	const struct trip_each_part *parts, uint32_t n, const uint8_t *key, char *text, size_t size)
{
	struct text out = {.at = text, .size = size};

	for (uint32_t i = 0; i < n; i++) {
		const struct trip_each_shape shape = trip_each_key_shape(parts[i].field);

		if (i > 0)
			say(&out, ",");
		if (shape.address)
			say_address(&out, key, shape.bytes, parts[i].length);
		else
			say_number(&out, key, shape.bytes, shape.shift);
		key += shape.bytes;
	}
	return out.length;
}
