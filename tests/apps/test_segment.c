/* SPDX-License-Identifier: BSD-3-Clause */
/* Joined frames divided, and checksums finished, by DPDK's own notion of what is right. */
#include <arpa/inet.h>
#include <linux/virtio_net.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "checksum.h"
#include "segment.h"
#include "trip_test.h"

#define ROUNDS 3000
#define FRAME_MAX 70000
/* BIG TCP. */
#define BIG_MAX (1 << 20)

/* A joined frame, and what it was drawn from. */
struct drawn {
	uint8_t bytes[FRAME_MAX];
	size_t l3, l4, payload, length;
	bool ipv6, tcp;
	struct virtio_net_hdr header;
};

static struct trip_random rng;

static size_t
put_ethernet(struct drawn *drawn)
{
	uint16_t type = htons(drawn->ipv6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	uint16_t vlan[2] = {htons(RTE_ETHER_TYPE_VLAN), htons(7)};
	unsigned int tags = (unsigned int)trip_random_below(&rng, 3);
	size_t at = 12;

	for (; tags > 0; tags--, at += sizeof(vlan))
		memcpy(drawn->bytes + at, vlan, sizeof(vlan));
	memcpy(drawn->bytes + at, &type, sizeof(type));
	return at + sizeof(type);
}

static size_t
put_ip(struct drawn *drawn, uint8_t protocol)
{
	uint8_t *at = drawn->bytes + drawn->l3;
	size_t options;

	for (size_t i = 0; i < 60; i++)
		at[i] = (uint8_t)trip_random_u64(&rng);
	if (!drawn->ipv6) {
		options = 4 * (size_t)trip_random_below(&rng, 3);
		at[0] = (uint8_t)(0x45 + options / 4);
		/* Don't fragment. */
		at[6] = 0x40;
		at[7] = 0;
		at[9] = protocol;
		/* No options. */
		memset(at + 20, 1, options);
		return drawn->l3 + 20 + options;
	}
	options = 8 * (size_t)trip_random_below(&rng, 2);
	at[0] = 0x60;
	/* Its length is not zero, as in one that has no room for it. */
	at[4] |= 1;
	at[6] = options > 0 ? IPPROTO_DSTOPTS : protocol;
	if (options > 0)
		memcpy(at + 40, (uint8_t[]){protocol, 0, 1, 4, 0, 0, 0, 0}, 8);
	return drawn->l3 + 40 + options;
}

static void
draw(struct drawn *drawn)
{
	static const uint16_t sizes[] = {1, 8, 536, 1000, 1448, 8948};

	memset(drawn, 0, sizeof(*drawn));
	drawn->ipv6 = trip_random_below(&rng, 2) != 0;
	drawn->tcp = trip_random_below(&rng, 2) != 0;
	drawn->l3 = put_ethernet(drawn);
	drawn->l4 = put_ip(drawn, drawn->tcp ? IPPROTO_TCP : IPPROTO_UDP);
	drawn->payload = drawn->l4 + (drawn->tcp ? 20 + 4 * trip_random_below(&rng, 11) : 8);
	drawn->header.gso_size = sizes[trip_random_below(&rng, 6)];
	drawn->length = drawn->payload + 1 + trip_random_below(&rng, 40 * drawn->header.gso_size);
	if (drawn->length > 65000)
		drawn->length = 65000;
	for (size_t i = drawn->l4; i < drawn->length; i++)
		drawn->bytes[i] = (uint8_t)trip_random_u64(&rng);
	if (drawn->tcp)
		drawn->bytes[drawn->l4 + 12] = (uint8_t)((drawn->payload - drawn->l4) / 4 << 4);
	drawn->header.gso_type = !drawn->tcp   ? 5
				 : drawn->ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6
					       : VIRTIO_NET_HDR_GSO_TCPV4;
	drawn->header.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	drawn->header.csum_start = (uint16_t)drawn->l4;
}

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
	if (n > 0)
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
		draw(&drawn);
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

/* One in a tunnel, as it is carried: with lengths and checksums that are right. */
struct tunnelled {
	struct drawn outer, inner;
	uint8_t protocol;
	/* Where the inner frame would begin, if it had an Ethernet header; where what there is of
	 * it begins. */
	size_t shift, at;
	struct virtio_net_hdr header;
};

static void
draw_inner(struct drawn *inner)
{
	uint16_t length, sum = 0;

	do
		draw(inner);
	while ((inner->ipv6 && inner->l4 - inner->l3 != 40) || inner->length > 60000);
	if (inner->ipv6) {
		length = htons((uint16_t)(inner->length - inner->l4));
		memcpy(inner->bytes + inner->l3 + 4, &length, sizeof(length));
		return;
	}
	length = htons((uint16_t)(inner->length - inner->l3));
	memcpy(inner->bytes + inner->l3 + 2, &length, sizeof(length));
	memcpy(inner->bytes + inner->l3 + 10, &sum, sizeof(sum));
	sum = (uint16_t)~rte_raw_cksum(inner->bytes + inner->l3, inner->l4 - inner->l3);
	memcpy(inner->bytes + inner->l3 + 10, &sum, sizeof(sum));
}

/* Returns where the inner frame begins. */
static size_t
put_tunnel(struct drawn *outer, uint8_t protocol)
{
	static const uint16_t flags[] = {0, 0x8000, 0x2000, 0xa000};
	size_t at = outer->l4;
	uint16_t word;

	for (size_t i = 0; i < 40; i++)
		outer->bytes[at + i] = (uint8_t)trip_random_u64(&rng);
	if (protocol == IPPROTO_UDP) {
		word = (uint16_t)trip_random_below(&rng, 2);
		memcpy(outer->bytes + at + 6, &word, sizeof(word));
		return at + 8 + 4 * trip_random_below(&rng, 8);
	}
	if (protocol != IPPROTO_GRE)
		return at;
	word = htons(flags[trip_random_below(&rng, 4)]);
	memcpy(outer->bytes + at, &word, sizeof(word));
	return at + 4 + ((word & htons(0x8000)) != 0 ? 4u : 0) +
	       ((word & htons(0x2000)) != 0 ? 4u : 0);
}

static void
draw_tunnelled(struct tunnelled *drawn)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_GRE, IPPROTO_IPIP, IPPROTO_IPV6};
	struct drawn *outer = &drawn->outer, *inner = &drawn->inner;
	size_t skipped;

	draw_inner(inner);
	memset(outer, 0, sizeof(*outer));
	drawn->protocol = protocols[trip_random_below(&rng, 4)];
	outer->ipv6 = trip_random_below(&rng, 2) != 0;
	outer->l3 = put_ethernet(outer);
	outer->l4 = put_ip(outer, drawn->protocol);
	drawn->at = put_tunnel(outer, drawn->protocol);
	skipped = drawn->protocol == IPPROTO_IPIP || drawn->protocol == IPPROTO_IPV6 ||
				  trip_random_below(&rng, 2) != 0
			  ? inner->l3
			  : 0;
	drawn->shift = drawn->at - skipped;
	outer->length = drawn->shift + inner->length;
	memcpy(outer->bytes + drawn->at, inner->bytes + skipped, inner->length - skipped);
	drawn->header = inner->header;
	drawn->header.csum_start = (uint16_t)(drawn->shift + inner->l4);
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
		draw_tunnelled(&drawn);
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
		draw_tunnelled(&drawn);
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

/* The same frame, with the option of one that is too long for IPv6: 8 bytes more. */
static void
put_jumbo(const struct drawn *drawn, uint8_t *frame)
{
	size_t at = drawn->l3 + 40;

	memcpy(frame, drawn->bytes, at);
	memcpy(frame + at, (uint8_t[]){frame[drawn->l3 + 6], 0, 0xc2, 4, 0, 0, 0xff, 0xff}, 8);
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
		do
			draw(&drawn);
		while (!drawn.ipv6);
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

static void
what_is_no_plain_one_is_not_divided(void **state)
{
	static struct drawn drawn;
	struct tripd_joined joined;

	for (unsigned int i = 0; i < 100; i++) {
		draw(&drawn);
		/* Of a tunnel, the inner one. */
		drawn.header.csum_start++;
		assert_false(tripd_joined_begin(&joined, drawn.bytes, drawn.length, &drawn.header));
		drawn.header.csum_start--;
		for (size_t length = 0; length <= drawn.payload; length++)
			assert_false(
				tripd_joined_begin(&joined, drawn.bytes, length, &drawn.header));
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
			draw(plain);
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
			draw_tunnelled(&drawn);
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
		draw(&drawn);
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
		do
			draw(&drawn);
		while (!drawn.ipv6);
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

/* A frame that is not joined, as it is on a wire. */
static size_t
draw_right(struct drawn *drawn, uint8_t *frame)
{
	static struct tripd_segment segment;
	struct tripd_joined joined;

	draw(drawn);
	drawn->header.gso_size = 1000;
	assert_true(tripd_joined_begin(&joined, drawn->bytes, drawn->length, &drawn->header));
	assert_true(tripd_joined_next(&joined, &segment));
	memcpy(frame, segment.headers, segment.n_headers);
	memcpy(frame + segment.n_headers, segment.payload, segment.n_payload);
	return segment.n_headers + segment.n_payload;
}

/* As it is summed by the kernel's senders: by DPDK's helpers, which know no extension headers. */
static uint16_t
pseudo_of(const struct drawn *drawn, const uint8_t *frame, size_t length)
{
	struct rte_ipv6_hdr ipv6;

	if (!drawn->ipv6)
		return rte_ipv4_phdr_cksum((const struct rte_ipv4_hdr *)(frame + drawn->l3), 0);
	memcpy(&ipv6, frame + drawn->l3, sizeof(ipv6));
	ipv6.proto = drawn->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	ipv6.payload_len = htons((uint16_t)(length - drawn->l4));
	return rte_ipv6_phdr_cksum(&ipv6, 0);
}

static void
what_a_sender_left_is_finished(void **state)
{
	static struct drawn drawn;
	static uint8_t right[FRAME_MAX], left[FRAME_MAX];

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		size_t length = draw_right(&drawn, right);
		size_t offset = drawn.tcp ? 16 : 6;
		uint16_t pseudo = pseudo_of(&drawn, right, length);

		memcpy(left, right, length);
		memcpy(left + drawn.l4 + offset, &pseudo, sizeof(pseudo));
		tripd_checksum_finish(left, length, drawn.l4, offset);
		assert_memory_equal(left, right, length);
		tripd_checksum_finish(left, length, length - 1, offset);
		assert_memory_equal(left, right, length);
	}
}

/* As long as the kernel joins them, and with the largest sums. */
static void
a_checksum_is_finished_over_any_length(void **state)
{
	static const size_t lengths[] = {
		65535, 65536, 65537, 131070, 131072, 131074, 131075, 524288, BIG_MAX};
	static uint8_t frame[BIG_MAX];
	uint16_t field;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t sum = 0;

		memset(frame, 0xff, sizeof(frame));
		frame[lengths[i] / 2] = (uint8_t)trip_random_u64(&rng);
		frame[16] = 0x12;
		frame[17] = 0x34;
		for (size_t k = 0; k < lengths[i]; k++)
			sum += (uint64_t)frame[k] << (k % 2 == 0 ? 8 : 0);
		while (sum > 0xffff)
			sum = (sum & 0xffff) + (sum >> 16);
		sum = ~sum & 0xffff;
		tripd_checksum_finish(frame, lengths[i], 0, 16);
		memcpy(&field, frame + 16, sizeof(field));
		assert_int_equal(ntohs(field), sum == 0 ? 0xffff : sum);
	}
}

/* Bit by bit, as RFC 9260 describes it. */
static uint32_t
crc32c(const uint8_t *bytes, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void
sctp_is_finished_by_its_crc(void **state)
{
	uint8_t frame[300] = {0}, sum[4];
	uint32_t crc;

	assert_int_equal(crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
	for (size_t length = 34 + 12; length < sizeof(frame); length++) {
		for (size_t i = 34; i < length; i++)
			frame[i] = (uint8_t)trip_random_u64(&rng);
		memset(frame + 34 + 8, 0, sizeof(sum));
		crc = crc32c(frame + 34, length - 34);
		for (unsigned int i = 0; i < sizeof(sum); i++)
			sum[i] = (uint8_t)(crc >> 8 * i);
		/* Whatever stands there. */
		frame[34 + 9] = 0x55;
		tripd_checksum_finish(frame, length, 34, 8);
		assert_memory_equal(frame + 34 + 8, sum, sizeof(sum));
	}
}

/* A checksum is finished where it was left, and otherwise never touched, right or wrong. */
static void
only_what_was_left_is_finished(void **state)
{
	static struct drawn drawn;
	static uint8_t right[FRAME_MAX], frame[FRAME_MAX];
	struct rte_mbuf mbuf = {.buf_addr = frame, .nb_segs = 1};

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		size_t length = draw_right(&drawn, right);
		size_t offset = drawn.l4 + (drawn.tcp ? 16 : 6);
		uint16_t pseudo = pseudo_of(&drawn, right, length);

		mbuf.data_len = (uint16_t)length;
		mbuf.pkt_len = (uint32_t)length;
		memcpy(frame, right, length);
		tripd_checksum_finish_if_left(&mbuf);
		assert_memory_equal(frame, right, length);
		memcpy(frame + offset, &pseudo, sizeof(pseudo));
		tripd_checksum_finish_if_left(&mbuf);
		assert_memory_equal(frame, right, length);
		/* Damaged on its way. */
		right[offset] ^= 1;
		memcpy(frame, right, length);
		if (memcmp(right + offset, &pseudo, sizeof(pseudo)) != 0) {
			tripd_checksum_finish_if_left(&mbuf);
			assert_memory_equal(frame, right, length);
		}
		/* Cut short. */
		mbuf.data_len = (uint16_t)trip_random_below(&rng, length);
		mbuf.pkt_len = mbuf.data_len;
		memcpy(frame + offset, &pseudo, sizeof(pseudo));
		memcpy(right + offset, &pseudo, sizeof(pseudo));
		tripd_checksum_finish_if_left(&mbuf);
		assert_memory_equal(frame, right, length);
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
		cmocka_unit_test(what_is_no_plain_one_is_not_divided),
		cmocka_unit_test(parts_of_any_length_that_ip_has),
		cmocka_unit_test(headers_shorter_than_any_are_not_divided),
		cmocka_unit_test(what_is_not_divided_stays_as_it_is),
		cmocka_unit_test(what_a_sender_left_is_finished),
		cmocka_unit_test(a_checksum_is_finished_over_any_length),
		cmocka_unit_test(only_what_was_left_is_finished),
		cmocka_unit_test(sctp_is_finished_by_its_crc),
	};

	rng.state = trip_test_seed("segment");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
