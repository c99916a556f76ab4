/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of packets: which of them have one, which it is, and what is no key; random keys of random
 * frames beside a plain reference.
 */
#include "each_key_reference.h"
#include "soft_test.h"

static struct trip_each_key
compile(const struct trip_each_part *parts, uint32_t n)
{
	struct trip_each_key key;
	const char *message = "";

	if (trip_each_key_compile(parts, n, &key, &message) != 0)
		fail_msg("%s", message);
	return key;
}

/* Of a frame of the test, or none: false. */
static bool
take(const struct trip_each_part *parts, uint32_t n, const struct frame *frame, uint8_t *bytes)
{
	struct trip_each_key key = compile(parts, n);
	uint64_t words[TRIP_EACH_KEY_WORDS] = {0};
	struct trip_packet_fields fields;
	struct rte_mbuf *mbuf = mbuf_of(frame);
	uint8_t packet = 77;
	uint32_t taken;

	memset(&fields, 0xff, sizeof(fields));
	trip_packet_parse(mbuf, key.wants, &fields);
	taken = trip_each_key_take(&key, &fields, 1, words, &packet);
	mbuf_release(mbuf);
	assert_true(taken <= 1);
	assert_true(taken == 0 || packet == 0);
	memcpy(bytes, words, sizeof(words));
	return taken == 1;
}

/* ---- what a key is ----------------------------------------------------------------------------
 */

static void
each_key_is_what_is_on_the_wire(void **state)
{
	static const struct trip_each_part five[] = {{TRIP_EACH_IPV4_SRC, 0},
		{TRIP_EACH_IPV4_DST, 24}, {TRIP_EACH_PROTO, 0}, {TRIP_EACH_L4_SRC, 0},
		{TRIP_EACH_L4_DST, 0}};
	static const uint8_t expected[16] = {10, 0, 0, 1, 10, 0, 0, 0, 17, 0x12, 0x34, 0x00, 0x35};
	uint8_t bytes[TRIP_EACH_KEY_BYTES];
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17});
	frame_l4(&frame, 0x1234, 53);
	assert_int_equal(compile(five, 5).words, 2);
	assert_true(take(five, 5, &frame, bytes));
	assert_memory_equal(bytes, expected, sizeof(expected));
	/* A later fragment has no ports. */
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17, .fragment = 7});
	frame_l4(&frame, 0x1234, 53);
	assert_false(take(five, 5, &frame, bytes));
	assert_true(take(five, 3, &frame, bytes));
	assert_memory_equal(bytes, expected, 9);
	/* Nor has ICMP, whatever it has in their place. */
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 1});
	frame_l4(&frame, 0x1234, 53);
	assert_false(take(five, 5, &frame, bytes));
}

/* An IPv4 address is one key, as it is and as IPv6 writes it. */
static void
each_key_of_either_version_is_one(void **state)
{
	static const struct trip_each_part whole = {TRIP_EACH_IP_SRC, 0},
					   part = {TRIP_EACH_IP_SRC, 64};
	static const uint8_t expected[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1},
			     network[16] = {0xfd}, zeros[16] = {0};
	uint8_t bytes[TRIP_EACH_KEY_BYTES];
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17});
	frame_l4(&frame, 1, 2);
	assert_true(take(&whole, 1, &frame, bytes));
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_true(take(&part, 1, &frame, bytes));
	assert_memory_equal(bytes, expected, sizeof(expected));
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17});
	frame_l4(&frame, 1, 2);
	assert_true(take(&part, 1, &frame, bytes));
	assert_memory_equal(bytes, network, sizeof(network));
	memcpy(frame.bytes + 22, expected, sizeof(expected));
	assert_true(take(&whole, 1, &frame, bytes));
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_true(take(&part, 1, &frame, bytes));
	assert_memory_equal(bytes, zeros, sizeof(zeros));
}

static void
each_key_of_mistakes_is_refused(void **state)
{
	static const struct {
		struct trip_each_part parts[4];
		uint32_t n;
		const char *message;
	} mistakes[] = {
		{{{0}}, 0, "key: it has no field"},
		{{{TRIP_EACH_FIELDS, 0}}, 1, "key: there is no field 13"},
		{{{TRIP_EACH_IPV4_SRC, 33}}, 1, "key: ipv4.src/33 is longer than its 32 bits"},
		{{{TRIP_EACH_L4_DST, 8}}, 1, "key: l4.dst/8: only addresses have a length"},
		{{{TRIP_EACH_GTPU_TEID, 8}}, 1, "key: gtpu.teid/8: only addresses have a length"},
		{{{TRIP_EACH_PROTO, 0}, {TRIP_EACH_PROTO, 8}}, 2, "key: proto stands in it twice"},
		{{{TRIP_EACH_IPV4_SRC, 0}, {TRIP_EACH_IPV6_DST, 0}}, 2,
			"key: no packet has all of its 2 fields"},
		{{{TRIP_EACH_VXLAN_VNI, 0}, {TRIP_EACH_GTPU_TEID, 0}}, 2,
			"key: no packet has all of its 2 fields"},
		{{{TRIP_EACH_MPLS_LABEL, 0}, {TRIP_EACH_IP_SRC, 0}}, 2,
			"key: no packet has all of its 2 fields"},
		{{{TRIP_EACH_IP_SRC, 0}, {TRIP_EACH_MPLS_LABEL, 0}}, 2,
			"key: no packet has all of its 2 fields"},
		{{{TRIP_EACH_L4_SRC, 0}, {TRIP_EACH_MPLS_LABEL, 0}}, 2,
			"key: no packet has all of its 2 fields"},
		{{{TRIP_EACH_IP_SRC, 0}, {TRIP_EACH_IP_DST, 0}, {TRIP_EACH_IPV6_SRC, 0}}, 3,
			"key: its 3 fields have 48 bytes, above 40"},
	};
	struct trip_each_key key;
	const char *message;

	for (unsigned int i = 0; i < RTE_DIM(mistakes); i++) {
		assert_int_equal(
			trip_each_key_compile(mistakes[i].parts, mistakes[i].n, &key, &message),
			-EINVAL);
		assert_string_equal(message, mistakes[i].message);
	}
}

/* Nobody pays for what he does not ask for. */
static void
each_key_asks_for_tunnels_where_it_needs_them(void **state)
{
	for (unsigned int field = 0; field < TRIP_EACH_FIELDS; field++) {
		const struct trip_each_part part = {(enum trip_each_field)field, 0};
		bool tunnel = field == TRIP_EACH_VXLAN_VNI || field == TRIP_EACH_MPLS_LABEL ||
			      field == TRIP_EACH_GTPU_TEID;

		assert_int_equal(compile(&part, 1).wants, tunnel ? TRIP_WANT_TUNNEL : 0);
		assert_non_null(trip_each_key_word(part.field));
	}
}

static uint32_t
random_below(void *arg, uint32_t n)
{
	return (uint32_t)trip_random_below(arg, n);
}

/* As rules have them. */
static void
each_key_has_a_text(void **state)
{
	static const struct {
		struct trip_each_part parts[TRIP_EACH_PARTS_MAX];
		uint8_t key[TRIP_EACH_KEY_MAX];
		const char *text;
		uint32_t n;
	} rows[] = {
		{{{TRIP_EACH_IPV4_SRC, 0}}, {10, 1, 2, 3}, "10.1.2.3", 1},
		{{{TRIP_EACH_IPV4_SRC, 32}}, {10, 1, 2, 3}, "10.1.2.3", 1},
		{{{TRIP_EACH_IPV4_DST, 24}}, {10, 1, 2}, "10.1.2.0/24", 1},
		{{{TRIP_EACH_IPV4_SRC, 0}, {TRIP_EACH_L4_DST, 0}},
			{10, 1, 2, 3, 443 >> 8, 443 & 0xff}, "10.1.2.3,443", 2},
		{{{TRIP_EACH_IPV6_SRC, 0}}, {0x20, 1, 0x0d, 0xb8, [15] = 1}, "2001:db8::1", 1},
		{{{TRIP_EACH_IPV6_DST, 48}}, {0x20, 1, 0x0d, 0xb8}, "2001:db8::/48", 1},
		{{{TRIP_EACH_IP_SRC, 64}}, {[10] = 0xff, 0xff, 10, 1, 2, 3}, "10.1.2.3", 1},
		{{{TRIP_EACH_IP_SRC, 16}}, {[10] = 0xff, 0xff, 10, 1}, "10.1.0.0/16", 1},
		{{{TRIP_EACH_IP_DST, 16}}, {0x20, 1}, "2001::/16", 1},
		{{{TRIP_EACH_IP_DST, 0}}, {0}, "::", 1},
		{{{TRIP_EACH_PROTO, 0}, {TRIP_EACH_L4_SRC, 0}}, {17, 0, 53}, "17,53", 2},
		{{{TRIP_EACH_VLAN_VID, 0}}, {0x0f, 0xff}, "4095", 1},
		{{{TRIP_EACH_VXLAN_VNI, 0}}, {0xff, 0xff, 0xff}, "16777215", 1},
		{{{TRIP_EACH_MPLS_LABEL, 0}}, {0xff, 0xff, 0xf0}, "1048575", 1},
		{{{TRIP_EACH_GTPU_TEID, 0}}, {0xff, 0xff, 0xff, 0xff}, "4294967295", 1},
	};
	char text[TRIP_EACH_TEXT_MAX], cut[TRIP_EACH_TEXT_MAX];

	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		size_t length = trip_each_key_text(
			rows[i].parts, rows[i].n, rows[i].key, text, sizeof(text));

		assert_string_equal(text, rows[i].text);
		assert_int_equal(length, strlen(text));
		for (size_t size = 0; size <= length; size++) {
			memset(cut, 'x', sizeof(cut));
			assert_int_equal(trip_each_key_text(rows[i].parts, rows[i].n, rows[i].key,
						 size > 0 ? cut : NULL, size),
				length);
			if (size > 0)
				assert_int_equal(strlen(cut), size - 1);
			assert_memory_equal(cut, text, size > 0 ? size - 1 : 0);
			assert_int_equal(cut[size], 'x');
		}
	}
}

/* Whatever the key is, there is room for its text. */
static void
each_key_fits_its_text(void **state)
{
	struct trip_random random = {trip_test_seed("each_key_fits_its_text")};
	uint64_t rounds = trip_test_rounds(20000);
	struct draw draw = {random_below, &random};
	struct trip_each_part parts[TRIP_EACH_FIELDS];
	char text[TRIP_EACH_TEXT_MAX];

	for (uint64_t round = 0; round < rounds; round++) {
		uint32_t n = draw_key(&draw, parts);
		uint8_t key[TRIP_EACH_KEY_MAX];

		memset(key, 0xff, sizeof(key));
		for (unsigned int i = 0; round % 4 != 0 && i < sizeof(key); i++)
			key[i] = (uint8_t)trip_random_u64(&random);
		assert_true(trip_each_key_text(parts, n, key, text, sizeof(text)) < sizeof(text));
	}
}

static void
each_key_belongs_to_one_of_another_statement(void **state)
{
	static const struct trip_each_part fine[] = {{TRIP_EACH_IP_SRC, 64},
		{TRIP_EACH_IPV4_DST, 0}, {TRIP_EACH_VLAN_VID, 0}, {TRIP_EACH_L4_DST, 0}};
	static const struct {
		struct trip_each_part onto[2];
		uint32_t n;
		const char *text; /* NULL: the first part is not there */
	} rows[] = {
		{{{TRIP_EACH_IPV4_DST, 24}, {TRIP_EACH_L4_DST, 0}}, 2, "10.1.2.0/24,53"},
		{{{TRIP_EACH_L4_DST, 0}, {TRIP_EACH_IPV4_DST, 32}}, 2, "53,10.1.2.3"},
		{{{TRIP_EACH_IPV4_DST, 1}, {TRIP_EACH_VLAN_VID, 0}}, 2, "0.0.0.0/1,4095"},
		{{{TRIP_EACH_IP_SRC, 20}}, 1, "192.0.16.0/20"},
		{{{TRIP_EACH_IP_SRC, 64}}, 1, "192.0.31.255"},
		{{{TRIP_EACH_IP_SRC, 65}}, 1, NULL},
		{{{TRIP_EACH_IPV4_SRC, 8}}, 1, NULL},
		{{{TRIP_EACH_L4_SRC, 0}}, 1, NULL},
	};
	static const uint8_t key[TRIP_EACH_KEY_BYTES] = {[10] = 0xff,
		[11] = 0xff,
		[12] = 192,
		[14] = 31,
		[15] = 255,
		10,
		1,
		2,
		3,
		0x0f,
		0xff,
		0,
		53};

	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		uint8_t projected[TRIP_EACH_KEY_BYTES];
		char text[TRIP_EACH_TEXT_MAX];
		uint32_t lacks;

		memcpy(projected, key, sizeof(key));
		lacks = trip_each_key_project(
			fine, 4, projected, rows[i].onto, rows[i].n, projected);
		assert_int_equal(lacks, rows[i].text != NULL ? UINT32_MAX : 0);
		if (rows[i].text == NULL) {
			assert_memory_equal(projected, key, sizeof(key));
			continue;
		}
		trip_each_key_text(rows[i].onto, rows[i].n, projected, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

/* ---- beside the reference ---------------------------------------------------------------------
 */

#define PACKETS TRIP_EACH_KEY_CHUNK

struct burst {
	struct draw_frame frames[PACKETS];
	struct rte_mbuf *mbufs[PACKETS];
	uint32_t sent[PACKETS];
	uint32_t count;
};

/* An address of IPv6 that is one of IPv4, which is cut as such. */
static bool
is_ambiguous(const struct trip_each_part *parts, uint32_t n, const uint8_t *key,
	const struct draw_frame *frame)
{
	static const struct trip_each_part ipv6[] = {{TRIP_EACH_IPV6_SRC, 0}};
	uint8_t whole[TRIP_EACH_KEY_BYTES];
	bool any = false;

	if (!reference_key(ipv6, 1, frame->bytes, frame->length, whole))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t bytes = trip_each_key_shape(parts[i].field).bytes;

		any |= trip_each_key_is_mapped(key, bytes);
		key += bytes;
	}
	return any;
}

/* Some fields of a key, in another order, and less of addresses. */
static uint32_t
draw_onto(struct draw *draw, const struct trip_each_part *parts, uint32_t n,
	struct trip_each_part onto[TRIP_EACH_FIELDS])
{
	uint32_t first = draw->below(draw->arg, n), n_onto = 1 + draw->below(draw->arg, n);

	for (uint32_t i = 0; i < n_onto; i++) {
		struct trip_each_part *part = &onto[i];
		uint32_t bits;

		*part = parts[(first + n - i) % n];
		bits = part->length != 0 ? part->length : trip_each_key_bits(part->field);
		if (trip_each_key_shape(part->field).address)
			part->length = (uint8_t)(1 + draw->below(draw->arg, bits));
	}
	return n_onto;
}

/* The key of a packet belongs to the key that another statement has of it. */
static void
check_projected(struct draw *draw, const struct trip_each_part *parts, uint32_t n,
	const uint8_t *key, const struct draw_frame *frame)
{
	struct trip_each_part onto[TRIP_EACH_FIELDS];
	uint32_t n_onto = draw_onto(draw, parts, n, onto);
	uint8_t expected[TRIP_EACH_KEY_BYTES] = {0}, projected[TRIP_EACH_KEY_BYTES] = {0};

	if (is_ambiguous(parts, n, key, frame))
		return;
	assert_true(reference_key(onto, n_onto, frame->bytes, frame->length, expected));
	assert_int_equal(trip_each_key_project(parts, n, key, onto, n_onto, projected), UINT32_MAX);
	assert_memory_equal(projected, expected, sizeof(expected));
}

/* Of each packet once, or not at all, as the reference says. Returns how many have a key. */
static uint32_t
compare(struct draw *draw, const struct burst *burst, const struct trip_each_part *parts,
	uint32_t n, struct trip_packet_fields *fields)
{
	struct trip_each_key key = compile(parts, n);
	uint64_t keys[PACKETS * TRIP_EACH_KEY_WORDS];
	uint8_t packets[PACKETS], expected[TRIP_EACH_KEY_BYTES];
	uint32_t taken, there = 0, seen = 0;

	for (uint32_t i = 0; i < burst->count; i++)
		trip_packet_parse(burst->mbufs[i], burst->sent[i] | key.wants, &fields[i]);
	taken = trip_each_key_take(&key, fields, burst->count, keys, packets);
	for (uint32_t i = 0; i < taken; i++) {
		const struct draw_frame *frame = &burst->frames[packets[i]];

		assert_true(packets[i] < burst->count && (seen >> packets[i] & 1) == 0);
		seen |= 1u << packets[i];
		assert_true(reference_key(parts, n, frame->bytes, frame->length, expected));
		assert_memory_equal(&keys[i * key.words], expected, key.words * sizeof(keys[0]));
		check_projected(draw, parts, n, expected, frame);
	}
	for (uint32_t i = 0; i < burst->count; i++)
		there += reference_key(
			parts, n, burst->frames[i].bytes, burst->frames[i].length, expected);
	assert_int_equal(there, taken);
	return taken;
}

static void
each_key_is_as_the_reference_has_it(void **state)
{
	struct trip_random random = {trip_test_seed("each_key_is_as_the_reference_has_it")};
	uint64_t rounds = trip_test_rounds(3000), taken[TRIP_EACH_FIELDS] = {0}, asked = 0, all = 0;
	static struct trip_packet_fields fields[PACKETS];
	struct draw draw = {random_below, &random};
	struct trip_each_part parts[TRIP_EACH_FIELDS];
	static struct burst burst;

	/* What earlier packets left must make no difference. */
	memset(fields, 0xa5, sizeof(fields));
	for (uint64_t round = 0; round < rounds; round++) {
		burst.count = 1 + (uint32_t)trip_random_below(&random, PACKETS);
		for (uint32_t i = 0; i < burst.count; i++) {
			draw_frame(&draw, &burst.frames[i]);
			burst.mbufs[i] = draw_mbuf(&draw, &burst.frames[i], &burst.sent[i]);
		}
		for (uint32_t i = 0; i < 4; i++, asked += burst.count) {
			uint32_t n = draw_key(&draw, parts),
				 found = compare(&draw, &burst, parts, n, fields);

			all += found;
			for (uint32_t k = 0; k < n; k++)
				taken[parts[k].field] += found;
		}
		for (uint32_t i = 0; i < burst.count; i++)
			mbuf_release(burst.mbufs[i]);
	}
	printf("%llu of %llu had a key\n", (unsigned long long)all, (unsigned long long)asked);
	trip_assert_range(all, asked / 50, asked * 49 / 50);
	/* Each field was one of keys that packets had. */
	for (unsigned int field = 0; field < TRIP_EACH_FIELDS; field++)
		assert_true(taken[field] > rounds / 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_is_what_is_on_the_wire),
		cmocka_unit_test(each_key_of_either_version_is_one),
		cmocka_unit_test(each_key_of_mistakes_is_refused),
		cmocka_unit_test(each_key_asks_for_tunnels_where_it_needs_them),
		cmocka_unit_test(each_key_has_a_text),
		cmocka_unit_test(each_key_fits_its_text),
		cmocka_unit_test(each_key_belongs_to_one_of_another_statement),
		cmocka_unit_test(each_key_is_as_the_reference_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
