/* SPDX-License-Identifier: BSD-3-Clause */
/* Joined frames divided, by DPDK's own notion of what is right. */
#include <arpa/inet.h>
#include <linux/virtio_net.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "drawn_frame.h"
#include "link/segment.h"
#include "trip_test.h"

#define ROUNDS 3000

static struct trip_random rng;

/* DPDK's helpers know no extension headers: they get an IPv6 header without. */
static void
check_l4_sum(const struct drawn *drawn, uint8_t *frame, size_t length)
{
	struct rte_ipv6_hdr *ipv6 = (struct rte_ipv6_hdr *)(frame + drawn->l3);

	if (!drawn->ipv6) {
		assert_int_equal(
			rte_ipv4_udptcp_cksum_verify(
				(struct rte_ipv4_hdr *)(frame + drawn->l3), frame + drawn->l4),
			0);
		return;
	}
	ipv6->proto = drawn->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	ipv6->payload_len = htons((uint16_t)(length - drawn->l4));
	assert_int_equal(rte_ipv6_udptcp_cksum_verify(ipv6, frame + drawn->l4), 0);
}

static void
check_ip(const struct drawn *drawn, const uint8_t *frame, size_t length, unsigned int n)
{
	const struct rte_ipv4_hdr *joined = (const void *)(drawn->bytes + drawn->l3);
	const struct rte_ipv4_hdr *ipv4 = (const void *)(frame + drawn->l3);
	const struct rte_ipv6_hdr *ipv6 = (const void *)(frame + drawn->l3);

	if (drawn->ipv6) {
		assert_int_equal(ntohs(ipv6->payload_len), length - drawn->l3 - sizeof(*ipv6));
		return;
	}
	assert_int_equal(ntohs(ipv4->total_length), length - drawn->l3);
	assert_int_equal(rte_raw_cksum(ipv4, drawn->l4 - drawn->l3), 0xffff);
	assert_int_equal(ntohs(ipv4->packet_id), (uint16_t)(ntohs(joined->packet_id) + n));
}

static void
check_l4(
	const struct drawn *drawn, const uint8_t *frame, size_t length, size_t done, unsigned int n)
{
	const struct rte_tcp_hdr *joined = (const void *)(drawn->bytes + drawn->l4);
	const struct rte_tcp_hdr *tcp = (const void *)(frame + drawn->l4);
	const struct rte_udp_hdr *udp = (const void *)(frame + drawn->l4);
	bool last = done + (length - drawn->payload) == drawn->length - drawn->payload;
	uint8_t flags = joined->tcp_flags;

	if (!drawn->tcp) {
		assert_int_equal(ntohs(udp->dgram_len), length - drawn->l4);
		return;
	}
	if (!last)
		flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	/* AccECN has it in each. */
	if (n > 0 && (drawn->header.gso_type & VIRTIO_NET_HDR_GSO_ECN) != 0)
		flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	assert_int_equal(tcp->tcp_flags, flags);
	assert_int_equal(ntohl(tcp->sent_seq), (uint32_t)(ntohl(joined->sent_seq) + done));
}

static void
each_part_is_a_frame(void **state)
{
	static struct drawn drawn;
	static uint8_t frame[FRAME_MAX];
	static struct tripd_segment segment;
	struct tripd_joined joined;
	size_t done, length;
	unsigned int n;

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		frame_draw(&rng, &drawn);
		assert_true(tripd_joined_begin(&joined, drawn.bytes, drawn.length, &drawn.header));
		for (done = 0, n = 0; tripd_joined_next(&joined, &segment); n++) {
			length = segment.n_headers + segment.n_payload;
			memcpy(frame, segment.headers, segment.n_headers);
			memcpy(frame + segment.n_headers, segment.payload, segment.n_payload);
			assert_memory_equal(frame, drawn.bytes, drawn.l3);
			assert_memory_equal(frame + drawn.payload,
				drawn.bytes + drawn.payload + done, segment.n_payload);
			assert_true(segment.n_payload == drawn.header.gso_size ||
				    drawn.payload + done + segment.n_payload == drawn.length);
			check_ip(&drawn, frame, length, n);
			check_l4(&drawn, frame, length, done, n);
			check_l4_sum(&drawn, frame, length);
			done += segment.n_payload;
		}
		assert_int_equal(done, drawn.length - drawn.payload);
	}
}

/* The outer headers, on a frame that may be changed. */
static void
check_tunnel(const struct tunnelled *drawn, uint8_t *frame, size_t length, unsigned int n)
{
	const struct drawn *outer = &drawn->outer;
	const uint8_t *l4 = outer->bytes + outer->l4;
	const struct rte_udp_hdr *udp = (const void *)(frame + outer->l4);
	/* What of them may differ. */
	size_t same = outer->l4;

	check_ip(outer, frame, length, n);
	if (drawn->protocol == IPPROTO_UDP) {
		same += 8;
		assert_int_equal(ntohs(udp->dgram_len), length - outer->l4);
		assert_int_equal(udp->dgram_cksum == 0, l4[6] == 0 && l4[7] == 0);
	} else if (drawn->protocol == IPPROTO_GRE && (l4[0] & 0x80) != 0) {
		same += 6;
		assert_memory_equal(frame + outer->l4, l4, 4);
		assert_int_equal(rte_raw_cksum(frame + outer->l4, length - outer->l4), 0xffff);
	}
	assert_memory_equal(
		frame + same, outer->bytes + same, drawn->shift + drawn->inner.l3 - same);
	if (drawn->protocol == IPPROTO_UDP && udp->dgram_cksum != 0)
		check_l4_sum(outer, frame, length);
}

static void
each_part_of_one_in_a_tunnel_is_a_frame(void **state)
{
	static struct tunnelled drawn;
	static uint8_t frame[FRAME_MAX];
	static struct tripd_segment segment;
	const struct drawn *inner = &drawn.inner;
	struct tripd_joined joined;
	size_t done, length;
	unsigned int n;

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		frame_draw_tunnelled(&rng, &drawn);
		assert_true(tripd_joined_begin(
			&joined, drawn.outer.bytes, drawn.outer.length, &drawn.header));
		for (done = 0, n = 0; tripd_joined_next(&joined, &segment); n++) {
			length = segment.n_headers + segment.n_payload;
			memcpy(frame, segment.headers, segment.n_headers);
			memcpy(frame + segment.n_headers, segment.payload, segment.n_payload);
			assert_memory_equal(frame + drawn.shift + inner->payload,
				inner->bytes + inner->payload + done, segment.n_payload);
			check_ip(inner, frame + drawn.shift, length - drawn.shift, n);
			check_l4(inner, frame + drawn.shift, length - drawn.shift, done, n);
			check_tunnel(&drawn, frame, length, n);
			check_l4_sum(inner, frame + drawn.shift, length - drawn.shift);
			done += segment.n_payload;
		}
		assert_int_equal(done, inner->length - inner->payload);
		assert_int_equal(n, (done + drawn.header.gso_size - 1) / drawn.header.gso_size);
	}
}

static void
one_in_no_known_tunnel_is_not_divided(void **state)
{
	static struct tunnelled drawn;
	static uint8_t before[FRAME_MAX];
	struct tripd_joined joined;
	uint8_t *bytes = drawn.outer.bytes;
	size_t l3;

	for (unsigned int i = 0; i < 100; i++) {
		frame_draw_tunnelled(&rng, &drawn);
		memcpy(before, bytes, drawn.outer.length);
		for (size_t cut = 1; cut <= drawn.outer.length && cut < 300; cut++)
			assert_false(tripd_joined_begin(
				&joined, bytes, drawn.outer.length - cut, &drawn.header));
		for (size_t length = 0; length < drawn.shift + drawn.inner.payload; length++)
			assert_false(tripd_joined_begin(&joined, bytes, length, &drawn.header));
		assert_memory_equal(bytes, before, drawn.outer.length);
		/* More between the headers than a tunnel has. */
		if (drawn.protocol != IPPROTO_UDP) {
			memmove(bytes + drawn.at + 24, bytes + drawn.at,
				drawn.outer.length - drawn.at);
			drawn.header.csum_start = (uint16_t)(drawn.header.csum_start + 24);
			assert_false(tripd_joined_begin(
				&joined, bytes, drawn.outer.length + 24, &drawn.header));
			drawn.header.csum_start = (uint16_t)(drawn.header.csum_start - 24);
			memcpy(bytes, before, drawn.outer.length);
		}
		/* A length that is not its own; then with numbers, or source routes. */
		l3 = drawn.shift + drawn.inner.l3;
		bytes[l3 + (drawn.inner.ipv6 ? 5 : 3)] ^= 1;
		assert_false(tripd_joined_begin(&joined, bytes, drawn.outer.length, &drawn.header));
		bytes[l3 + (drawn.inner.ipv6 ? 5 : 3)] ^= 1;
		bytes[drawn.outer.l4] |= 0x50;
		assert_int_equal(
			tripd_joined_begin(&joined, bytes, drawn.outer.length, &drawn.header),
			drawn.protocol == IPPROTO_UDP);
		drawn.header.flags = 0;
		assert_false(drawn.inner.tcp &&
			     tripd_joined_begin(&joined, bytes, drawn.outer.length, &drawn.header));
	}
}

/* Over IPv6, and too long for it where it is to be. */
static void
draw_ipv6(struct drawn *drawn, bool is_long)
{
	do
		frame_draw(&rng, drawn);
	while (!drawn->ipv6);
	if (is_long)
		drawn->length = drawn->l3 + 40 + 65536 + trip_random_below(&rng, 4000);
}

/* The same frame, with the option of one that is too long for IPv6: 8 bytes more. */
static void
put_jumbo(const struct drawn *drawn, uint8_t *frame)
{
	size_t at = drawn->l3 + 40;
	uint32_t length = htonl((uint32_t)(drawn->length + 8 - at));

	memcpy(frame, drawn->bytes, at);
	memcpy(frame + at, (uint8_t[]){frame[drawn->l3 + 6], 0, 0xc2, 4}, 4);
	memcpy(frame + at + 4, &length, sizeof(length));
	frame[drawn->l3 + 6] = IPPROTO_HOPOPTS;
	memset(frame + drawn->l3 + 4, 0, 2);
	memcpy(frame + at + 8, drawn->bytes + at, drawn->length - at);
}

static void
one_too_long_for_ipv6_loses_its_option(void **state)
{
	static struct drawn drawn;
	static uint8_t frame[2 * FRAME_MAX];
	static struct tripd_segment segment, plain;
	struct tripd_joined joined, other;

	for (uint64_t round = trip_test_rounds(ROUNDS / 10); round > 0; round--) {
		draw_ipv6(&drawn, true);
		put_jumbo(&drawn, frame);
		assert_true(tripd_joined_begin(&other, drawn.bytes, drawn.length, &drawn.header));
		drawn.header.csum_start = (uint16_t)(drawn.header.csum_start + 8);
		assert_true(tripd_joined_begin(&joined, frame, drawn.length + 8, &drawn.header));
		while (tripd_joined_next(&joined, &segment)) {
			assert_true(tripd_joined_next(&other, &plain));
			assert_int_equal(segment.n_headers, plain.n_headers);
			assert_memory_equal(segment.headers, plain.headers, plain.n_headers);
			assert_int_equal(segment.n_payload, plain.n_payload);
			assert_memory_equal(segment.payload, plain.payload, plain.n_payload);
		}
		assert_false(tripd_joined_next(&other, &plain));
	}
}

/* No kernel has put it there. */
static void
a_short_one_keeps_that_option(void **state)
{
	static struct drawn drawn;
	static uint8_t frame[2 * FRAME_MAX], before[2 * FRAME_MAX];
	static struct tripd_segment segment;
	struct tripd_joined joined;
	size_t options;

	for (uint64_t round = trip_test_rounds(ROUNDS / 10); round > 0; round--) {
		draw_ipv6(&drawn, false);
		put_jumbo(&drawn, frame);
		memcpy(before, frame, drawn.length + 8);
		drawn.header.csum_start = (uint16_t)(drawn.header.csum_start + 8);
		options = drawn.l3 + 40;
		assert_true(tripd_joined_begin(&joined, frame, drawn.length + 8, &drawn.header));
		while (tripd_joined_next(&joined, &segment)) {
			assert_int_equal(segment.n_headers, drawn.payload + 8);
			assert_memory_equal(segment.headers + options, before + options,
				drawn.l4 + 8 - options);
		}
	}
}

static void
what_is_no_plain_one_is_not_divided(void **state)
{
	static struct drawn drawn;
	struct tripd_joined joined;

	for (unsigned int i = 0; i < 100; i++) {
		frame_draw(&rng, &drawn);
		/* Of a tunnel, the inner one. */
		drawn.header.csum_start++;
		assert_false(tripd_joined_begin(&joined, drawn.bytes, drawn.length, &drawn.header));
		drawn.header.csum_start--;
		for (size_t length = 0; length <= drawn.payload; length++)
			assert_false(
				tripd_joined_begin(&joined, drawn.bytes, length, &drawn.header));
		/* A fragment. */
		drawn.bytes[drawn.l3 + 6] = drawn.ipv6 ? IPPROTO_FRAGMENT : 0x20;
		assert_false(tripd_joined_begin(&joined, drawn.bytes, drawn.length, &drawn.header));
		frame_draw(&rng, &drawn);
		drawn.header.gso_type = VIRTIO_NET_HDR_GSO_UDP;
		assert_false(tripd_joined_begin(&joined, drawn.bytes, drawn.length, &drawn.header));
	}
}

/* Nor is what would be longer than an IP packet can say. */
static void
parts_of_any_length_that_ip_has(void **state)
{
	static struct tunnelled drawn;
	struct tripd_joined joined;
	struct drawn *plain = &drawn.inner;
	size_t most;

	for (unsigned int i = 0; i < 100; i++) {
		do
			frame_draw(&rng, plain);
		while (!plain->tcp);
		most = UINT16_MAX - (plain->payload - plain->l3);
		plain->length = FRAME_MAX;
		plain->header.gso_size = (uint16_t)most;
		assert_true(
			tripd_joined_begin(&joined, plain->bytes, plain->length, &plain->header));
		plain->header.gso_size++;
		assert_false(
			tripd_joined_begin(&joined, plain->bytes, plain->length, &plain->header));
		plain->length = plain->payload + most;
		assert_true(
			tripd_joined_begin(&joined, plain->bytes, plain->length, &plain->header));
	}
	for (unsigned int i = 0; i < 100; i++) {
		do
			frame_draw_tunnelled(&rng, &drawn);
		while (drawn.inner.length < 30000);
		drawn.header.gso_size = UINT16_MAX;
		assert_true(tripd_joined_begin(
			&joined, drawn.outer.bytes, drawn.outer.length, &drawn.header));
	}
}

/* A sender on a tap describes its frames itself. */
static void
headers_shorter_than_any_are_not_divided(void **state)
{
	static struct drawn drawn;
	struct tripd_joined joined;

	for (unsigned int i = 0; i < 100; i++) {
		frame_draw(&rng, &drawn);
		if (drawn.tcp) {
			for (uint8_t words = 0; words < 5; words++) {
				drawn.bytes[drawn.l4 + 12] = (uint8_t)(words << 4);
				assert_false(tripd_joined_begin(
					&joined, drawn.bytes, drawn.length, &drawn.header));
			}
			drawn.bytes[drawn.l4 + 12] = 0x50;
		}
		for (uint8_t words = 0; !drawn.ipv6 && words < 5; words++) {
			drawn.bytes[drawn.l3] = 0x40 | words;
			drawn.header.csum_start = (uint16_t)(drawn.l3 + words * 4u);
			assert_false(tripd_joined_begin(
				&joined, drawn.bytes, drawn.length, &drawn.header));
		}
	}
}

static void
what_is_not_divided_stays_as_it_is(void **state)
{
	static uint8_t frame[2 * FRAME_MAX], before[2 * FRAME_MAX];
	static struct drawn drawn;
	struct tripd_joined joined;

	for (unsigned int i = 0; i < 100; i++) {
		draw_ipv6(&drawn, true);
		put_jumbo(&drawn, frame);
		memcpy(before, frame, drawn.length + 8);
		/* Of a tunnel, the inner one. */
		drawn.header.csum_start = (uint16_t)(drawn.header.csum_start + 9);
		assert_false(tripd_joined_begin(&joined, frame, drawn.length + 8, &drawn.header));
		assert_memory_equal(frame, before, drawn.length + 8);
		drawn.header.gso_type = VIRTIO_NET_HDR_GSO_UDP;
		assert_false(tripd_joined_begin(&joined, frame, drawn.length + 8, &drawn.header));
		assert_memory_equal(frame, before, drawn.length + 8);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_is_a_frame),
		cmocka_unit_test(each_part_of_one_in_a_tunnel_is_a_frame),
		cmocka_unit_test(one_in_no_known_tunnel_is_not_divided),
		cmocka_unit_test(one_too_long_for_ipv6_loses_its_option),
		cmocka_unit_test(a_short_one_keeps_that_option),
		cmocka_unit_test(what_is_no_plain_one_is_not_divided),
		cmocka_unit_test(parts_of_any_length_that_ip_has),
		cmocka_unit_test(headers_shorter_than_any_are_not_divided),
		cmocka_unit_test(what_is_not_divided_stays_as_it_is),
	};

	rng.state = trip_test_seed("segment");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
