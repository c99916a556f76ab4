/* SPDX-License-Identifier: BSD-3-Clause */
/* Of a key, what another statement's key has: hosts of a network, sources of a destination. */
#include "each_key.h"

#define IPV4_BYTES 4u

static uint32_t
bits_of(const struct trip_each_part *part)
{
	return part->length != 0 ? part->length : trip_each_key_bits(part->field);
}

/* Where a part stands in a key, or UINT32_MAX. */
static uint32_t
find(const struct trip_each_part *parts, uint32_t n, const struct trip_each_part *part)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; at += trip_each_key_shape(parts[i].field).bytes, i++)
		if (parts[i].field == part->field && bits_of(&parts[i]) >= bits_of(part))
			return at;
	return UINT32_MAX;
}

/* Leaves the front of an address. */
static void
cut(uint8_t *bytes, uint32_t size, uint32_t bits)
{
	if (trip_each_key_is_mapped(bytes, size)) {
		bytes += size - IPV4_BYTES;
		size = IPV4_BYTES;
	}
	for (uint32_t i = bits / 8; i < size; i++)
		bytes[i] &= i == bits / 8 ? (uint8_t)(0xff00u >> bits % 8) : 0;
}

uint32_t
trip_each_key_project(const struct trip_each_part *parts, uint32_t n, const uint8_t *key,
	const struct trip_each_part *onto, uint32_t n_onto, uint8_t *projected)
{
	uint8_t bytes[TRIP_EACH_KEY_BYTES];
	uint32_t size = 0;

	for (uint32_t i = 0; i < n_onto; i++) {
		const struct trip_each_shape shape = trip_each_key_shape(onto[i].field);
		uint32_t at = find(parts, n, &onto[i]);

		if (at == UINT32_MAX)
			return i;
		memcpy(bytes + size, key + at, shape.bytes);
		if (shape.address)
			cut(bytes + size, shape.bytes, bits_of(&onto[i]));
		size += shape.bytes;
	}
	memcpy(projected, bytes, size);
	return UINT32_MAX;
}
