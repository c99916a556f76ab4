/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of keys in hardware beside the keys: a rule of any packet's key matches no packet of
 * another key, whoever forges it. Addresses, tags and ports are of a few, so that packets have
 * much in common; among them are all that are written in two ways, and those without a bit.
 */
#include <stdio.h>

#include <rte_byteorder.h>

#include "each_key_reference.h"
#include "flow/each_rule.h"
#include "packet_reference.h"
#include "soft_test.h"

#define FRAMES 64

static struct trip_random random_state;
static struct frame frames[FRAMES];

static uint32_t
below(uint32_t n)
{
	return (uint32_t)trip_random_below(&random_state, n);
}

/* ---- packets ----------------------------------------------------------------------------------
 */

static void
draw_address(uint8_t *to, uint32_t bytes)
{
	static const uint8_t addresses[][16] = {{[10] = 0xff, 0xff, 10, 0, 0, 1},
		{[10] = 0xff, 0xff, 10, 0, 0, 2}, {[10] = 0xff, 0xff}, {0}, {[12] = 10, [15] = 1},
		{0x20, 0x01, 0x0d, 0xb8, [12] = 10, [15] = 1}, {0x20, 0x01, 0x0d, 0xb8},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 10, 0, 0,
			1}};

	memcpy(to, addresses[below(RTE_DIM(addresses))] + 16 - bytes, bytes);
}

static void
draw(struct frame *frame)
{
	static const uint8_t protos[] = {1, 6, 17, 17, 6, 58, 132, 0};
	const struct frame_ip ip = {
		.proto = protos[below(RTE_DIM(protos))], .fragment = below(8) == 0 ? 0x2000 : 0};
	uint32_t at;

	frame_eth(frame);
	if (below(3) == 0)
		frame_tag(frame, 0x8100, (uint16_t)(below(2) << 13 | below(3)));
	at = frame->length + 2;
	if (below(2) == 0) {
		frame_ipv4(frame, ip);
		draw_address(frame->bytes + at + 12, 4);
		draw_address(frame->bytes + at + 16, 4);
	} else {
		frame_ipv6(frame, ip);
		draw_address(frame->bytes + at + 8, 16);
		draw_address(frame->bytes + at + 24, 16);
	}
	frame_l4(frame, (uint16_t)below(2), (uint16_t)below(2));
}

/* ---- statements -------------------------------------------------------------------------------
 */

/* One that may have keys in hardware. */
static bool
draw_statement(struct trip_each_statement *statement)
{
	static const struct trip_each_attr attr = {.size = sizeof(attr), .hardware = 1};
	struct trip_each_key key;
	const char *message;

	memset(statement, 0, sizeof(*statement));
	for (unsigned int field = 0; field < TRIP_EACH_FIELDS; field++) {
		struct trip_each_part *part = &statement->parts[statement->n_parts];

		if (below(4) != 0 || statement->n_parts == TRIP_EACH_PARTS_MAX)
			continue;
		part->field = (enum trip_each_field)field;
		if (trip_each_key_shape(part->field).address && below(2) == 0)
			part->length = (uint8_t)(1 + below(trip_each_key_bits(part->field)));
		statement->n_parts++;
	}
	statement->n_whens = 1;
	statement->acts[0].op = TRIP_EACH_OP_DROP;
	return trip_each_key_compile(statement->parts, statement->n_parts, &key, &message) == 0 &&
	       trip_each_rule_plan(&attr, statement) == 0;
}

/* ---- the test ---------------------------------------------------------------------------------
 */

static bool
key_of(const struct trip_each_statement *statement, const struct frame *frame,
	uint8_t key[TRIP_EACH_KEY_BYTES])
{
	memset(key, 0, TRIP_EACH_KEY_BYTES);
	return reference_key(
		statement->parts, statement->n_parts, frame->bytes, frame->length, key);
}

/* How many packets of the key the rule matches. */
static uint32_t
check_rule(const struct trip_each_statement *statement, const uint8_t *key,
	const struct trip_each_rule *rule)
{
	uint32_t matched = 0;

	for (uint32_t i = 0; i < FRAMES; i++) {
		uint8_t other[TRIP_EACH_KEY_BYTES];

		if (!reference_matches(rule->items, frames[i].bytes, frames[i].length))
			continue;
		assert_true(key_of(statement, &frames[i], other));
		assert_memory_equal(key, other, sizeof(other));
		matched++;
	}
	return matched;
}

static void
each_rule_matches_no_other_keys_packets(void **state)
{
	uint64_t rounds = trip_test_rounds(4000), keys = 0, rules = 0, matched = 0;
	struct trip_each_statement statement;

	random_state = (struct trip_random){trip_test_seed("each_rule")};
	for (uint64_t round = 0; round < rounds; round++) {
		if (!draw_statement(&statement))
			continue;
		for (uint32_t i = 0; i < FRAMES; i++)
			draw(&frames[i]);
		for (uint32_t i = 0; i < FRAMES; i++) {
			uint8_t key[TRIP_EACH_KEY_BYTES];
			struct trip_each_rule rule;
			uint32_t found;

			if (!key_of(&statement, &frames[i], key))
				continue;
			keys++;
			if (!trip_each_rule_make(&statement, key, &rule))
				continue;
			rules++;
			found = check_rule(&statement, key, &rule);
			matched += found > 0;
		}
	}
	printf("%llu of %llu keys have a rule, which matches packets in %llu cases\n",
		(unsigned long long)rules, (unsigned long long)keys, (unsigned long long)matched);
	assert_true(rules > keys / 2);
	assert_true(matched > rules / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_matches_no_other_keys_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
