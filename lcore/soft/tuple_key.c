/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns and the keys of a tuple, one made of the other. */
#include <string.h>

#include "tuple_priv.h"

static uint32_t
half_of(const uint64_t *words, unsigned int half)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)words + 4 * half, sizeof(value));
	return value;
}

static void
put_half(uint64_t *words, unsigned int half, uint32_t value)
{
	memcpy((uint8_t *)words + 4 * half, &value, sizeof(value));
}

/*
 * What of a packet makes a key. The key's half is one whose other half nobody asks for; the first
 * half of word 0 is the presence bits, which are compared by themselves. All else is whole words.
 */
void
trip_tuple_lay_out(struct trip_tuple *tuple, const struct trip_pattern *pattern)
{
	unsigned int word;

	tuple->bits_mask = half_of(pattern->mask, 0);
	tuple->bits_value = half_of(pattern->value, 0);
	tuple->half = 1;
	tuple->half_mask = half_of(pattern->mask, 1);
	for (word = 1; word < TRIP_PACKET_WORDS; word++) {
		uint32_t first = half_of(pattern->mask, 2 * word);
		uint32_t second = half_of(pattern->mask, 2 * word + 1);

		if ((first != 0) != (second != 0) && tuple->half_mask == 0) {
			tuple->half = 2 * word + (second != 0);
			tuple->half_mask = first | second;
		} else if ((first | second) != 0) {
			tuple->word[tuple->words] = (uint8_t)word;
			tuple->mask[tuple->words++] = pattern->mask[word];
		}
	}
}

bool
trip_tuple_same_mask(const struct trip_tuple *tuple, const struct trip_pattern *pattern)
{
	return memcmp(tuple->packet_mask, pattern->mask, sizeof(tuple->packet_mask)) == 0 &&
	       tuple->bits_value == half_of(pattern->value, 0);
}

void
trip_tuple_make_key(const struct trip_tuple *tuple, const struct trip_pattern *pattern,
	struct trip_tuple_key *key)
{
	struct trip_packet_fields fields;

	memcpy(fields.words, pattern->value, sizeof(fields.words));
	trip_tuple_key(tuple, tuple->words, &fields, key);
}

void
trip_tuple_unpack(const struct trip_tuple *tuple, const struct trip_tuple_key *key,
	struct trip_pattern *pattern)
{
	memset(pattern->value, 0, sizeof(pattern->value));
	for (unsigned int i = 0; i < tuple->words; i++)
		pattern->value[tuple->word[i]] = key->words[i];
	put_half(pattern->value, 0, tuple->bits_value);
	if (tuple->half_mask != 0)
		put_half(pattern->value, tuple->half, key->half);
}

void
trip_tuple_pattern(const struct trip_tuple *tuple, uint64_t slot, struct trip_pattern *pattern)
{
	struct trip_tuple_key key;

	trip_tuple_load_key(trip_tuple_place(trip_tuple_array_of(tuple), tuple->words, slot),
		tuple->words, &key);
	memcpy(pattern->mask, tuple->packet_mask, sizeof(pattern->mask));
	trip_tuple_unpack(tuple, &key, pattern);
}
