/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys from their text: each that is written is read as what it was, and what is none is refused in
 * words that say why. */
#include <string.h>

#include "each_key.h"
#include "trip_test.h"

#define FIELDS (TRIP_EACH_GTPU_TEID + 1)
#define ROUNDS 20000

/* As it stands in a table: bits that are not asked for are 0. */
static void
draw_part(struct trip_random *random, struct trip_each_part *part, uint8_t *at)
{
	const struct trip_each_shape shape = trip_each_key_shape(part->field);
	uint32_t bits = trip_each_key_bits(part->field), length = bits;

	for (uint32_t i = 0; i < shape.bytes; i++)
		at[i] = (uint8_t)trip_random_u64(random);
	if (shape.address) {
		bool mapped = shape.bytes == 16 && trip_random_below(random, 2) != 0 &&
			      (part->field == TRIP_EACH_IP_SRC || part->field == TRIP_EACH_IP_DST);

		part->length = (uint8_t)trip_random_below(random, bits + 1);
		length = part->length != 0 ? part->length : bits;
		if (mapped) {
			memset(at, 0, 10);
			memset(at + 10, 0xff, 2);
			length = 96 + (length < 32 ? length : 32);
		}
		for (uint32_t bit = length; bit < 8u * shape.bytes; bit++)
			at[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
		return;
	}
	/* Some of the bytes' bits are before the number, and behind it. */
	for (uint32_t bit = 0; bit < 8u * shape.bytes; bit++)
		if (bit < 8u * shape.bytes - shape.shift - bits ||
			bit >= 8u * shape.bytes - shape.shift)
			at[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static void
each_key_is_read_as_it_is_written(void **state)
{
	struct trip_random random = {trip_test_seed("each_key_is_read_as_it_is_written")};

	for (uint64_t i = 0; i < trip_test_rounds(ROUNDS); i++) {
		struct trip_each_part parts[TRIP_EACH_PARTS_MAX];
		uint8_t key[TRIP_EACH_KEY_BYTES] = {0}, parsed[TRIP_EACH_KEY_BYTES];
		char text[TRIP_EACH_TEXT_MAX], wrong[TRIP_EACH_WRONG_MAX] = "";
		uint32_t n = 0, bytes = 0;

		do {
			struct trip_each_part *part = &parts[n];

			*part = (struct trip_each_part){
				.field = (uint8_t)trip_random_below(&random, FIELDS)};
			if (bytes + trip_each_key_shape(part->field).bytes > TRIP_EACH_KEY_MAX)
				break;
			draw_part(&random, part, key + bytes);
			bytes += trip_each_key_shape(part->field).bytes;
			n++;
		} while (n < TRIP_EACH_PARTS_MAX && trip_random_below(&random, 3) != 0);
		(void)trip_each_key_text(parts, n, key, text, sizeof(text));
		if (trip_each_key_parse(parts, n, text, parsed, wrong, sizeof(wrong)) != 0)
			fail_msg("%s: %s", text, wrong);
		assert_memory_equal(parsed, key, sizeof(key));
	}
}

static const struct trip_each_part pair[] = {{TRIP_EACH_IPV4_SRC, 24}, {TRIP_EACH_L4_DST, 0}};
static const struct trip_each_part either[] = {{TRIP_EACH_IP_DST, 48}};
static const struct trip_each_part vlan[] = {{TRIP_EACH_VLAN_VID, 0}};

static const struct {
	const struct trip_each_part *parts;
	uint32_t n;
	const char *text, *wrong;
} refused[] = {
	{pair, 2, "", "it has 2 fields, with commas between them"},
	{pair, 2, "10.1.2.0", "it has 2 fields, with commas between them"},
	{pair, 2, "10.1.2.0,80,", "it has 2 fields, with commas between them"},
	{pair, 2, "10.1.2.0,80,90", "it has 2 fields, with commas between them"},
	{pair, 2, ",80", "it has 2 fields, with commas between them"},
	{pair, 2, "10.1.2.3,80",
		"ipv4.src is the front of an address, of 24 bits, behind which '10.1.2.3' has "
		"some"},
	{pair, 2, "10.1.2.0/25,80", "ipv4.src is of 24 bits, and not /25"},
	{pair, 2, "10.1.2.0/,80", "ipv4.src is of 24 bits, and not /"},
	{pair, 2, "10.1.2,80", "ipv4.src is an address of IPv4, and not '10.1.2'"},
	{pair, 2, "2001:db8::,80", "ipv4.src is an address of IPv4, and not '2001:db8::'"},
	{pair, 2, "10.1.2.0,65536", "l4.dst is a number from 0 to 65535, and not '65536'"},
	{pair, 2, "10.1.2.0,-1", "l4.dst is a number from 0 to 65535, and not '-1'"},
	{pair, 2, "10.1.2.0,0x50", "l4.dst is a number from 0 to 65535, and not '0x50'"},
	{either, 1, "2001:db8:0:1::",
		"ip.dst is the front of an address, of 48 bits, behind which '2001:db8:0:1::' "
		"has some"},
	{either, 1, "ten", "ip.dst is an address, and not 'ten'"},
	{vlan, 1, "4096", "vlan.vid is a number from 0 to 4095, and not '4096'"},
	{vlan, 1, "99999999999", "vlan.vid is a number from 0 to 4095, and not '99999999999'"},
};

static void
what_is_no_key_is_refused_in_words(void **state)
{
	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char wrong[TRIP_EACH_WRONG_MAX] = "";
		uint8_t key[TRIP_EACH_KEY_BYTES];

		assert_int_not_equal(trip_each_key_parse(refused[i].parts, refused[i].n,
					     refused[i].text, key, wrong, sizeof(wrong)),
			0);
		assert_string_equal(wrong, refused[i].wrong);
	}
}

/* With its length or without it. */
static void
a_length_may_stand_behind_an_address(void **state)
{
	static const char *const texts[] = {"10.1.2.0/24,80", "10.1.2.0,80"};
	static const uint8_t expected[] = {10, 1, 2, 0, 0, 80};

	for (unsigned int i = 0; i < 2; i++) {
		char wrong[TRIP_EACH_WRONG_MAX];
		uint8_t key[TRIP_EACH_KEY_BYTES];

		assert_int_equal(
			trip_each_key_parse(pair, 2, texts[i], key, wrong, sizeof(wrong)), 0);
		assert_memory_equal(key, expected, sizeof(expected));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_is_read_as_it_is_written),
		cmocka_unit_test(what_is_no_key_is_refused_in_words),
		cmocka_unit_test(a_length_may_stand_behind_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
