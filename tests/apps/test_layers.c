/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums that were left in tunnels are finished, and nothing else is written. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "link/checksum.h"
#include "drawn_frame.h"
#include "trip_test.h"

#define ROUNDS 3000

static struct trip_random rng;

/* A frame as it is on a wire, in tunnels or not. */
struct carried {
	uint8_t bytes[FRAME_MAX];
	size_t length, l3;
	bool ipv6;
	/* Where the innermost packet's checksum is. */
	size_t field;
	/* A checksum of UDP or GRE covers it: that of a tunnel, or its own. */
	bool covered;
};

/* What stands between the outer packet and the inner one: the header of a tunnel, and where in it
 * the Ethernet type of an IP packet is to be written, if it carries one. */
static const struct tunnel {
	/* 0: directly behind the Ethernet header. */
	uint8_t protocol;
	bool ethernet;
	uint8_t type_at;
	uint8_t n;
	uint8_t header[16];
} tunnels[] = {
	/* VXLAN, with a group policy, and with a type: of Ethernet. */
	{IPPROTO_UDP, true, 0, 8, {0x08, 0, 0, 0, 0, 0, 7, 0}},
	{IPPROTO_UDP, true, 0, 8, {0x88, 0, 0x12, 0x34, 0, 0, 7, 0}},
	{IPPROTO_UDP, true, 0, 8, {0x0c, 0, 0, 3, 0, 0, 7, 0}},
	/* Geneve, also with an option. */
	{IPPROTO_UDP, true, 0, 8, {0, 0, 0x65, 0x58, 0, 0, 7, 0}},
	{IPPROTO_UDP, true, 0, 16, {2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 0, 0, 0, 7}},
	{IPPROTO_UDP, false, 2, 8, {0, 0, 0, 0, 0, 0, 7, 0}},
	/* IP itself, and with two labels. */
	{IPPROTO_UDP, false, 0, 0, {0}},
	{IPPROTO_UDP, false, 0, 8, {0, 1, 0, 64, 0, 1, 1, 64}},
	/* Also with a key and a number, and with a checksum, too. */
	{IPPROTO_GRE, true, 0, 4, {0, 0, 0x65, 0x58}},
	{IPPROTO_GRE, false, 2, 12, {0x30, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
	{IPPROTO_GRE, false, 2, 8, {0x80, 0}},
	{IPPROTO_GRE, true, 0, 16, {0xb0, 0, 0x65, 0x58}},
	{IPPROTO_IPIP, false, 0, 0, {0}},
	{IPPROTO_MPLS, false, 0, 4, {0, 1, 1, 64}},
	{0, false, 0, 8, {0, 1, 0, 64, 0, 1, 1, 64}},
};

static size_t
put_outer_ip(struct carried *outer, uint8_t protocol, size_t l4_length)
{
	uint8_t *at = outer->bytes + outer->l3;
	struct rte_ipv4_hdr ipv4 = {.version_ihl = 0x45,
		.time_to_live = 64,
		.next_proto_id = protocol,
		.total_length = htons((uint16_t)(sizeof(ipv4) + l4_length)),
		.src_addr = (uint32_t)trip_random_u64(&rng)};
	struct rte_ipv6_hdr ipv6 = {.vtc_flow = htonl(0x60000000),
		.payload_len = htons((uint16_t)l4_length),
		.proto = protocol};
	uint8_t source = (uint8_t)trip_random_u64(&rng);

	if (outer->ipv6) {
		/* An array in DPDK 22.11, a structure in 24.11. */
		memcpy(&ipv6.src_addr, &source, sizeof(source));
		memcpy(at, &ipv6, sizeof(ipv6));
		return outer->l3 + sizeof(ipv6);
	}
	ipv4.hdr_checksum = rte_ipv4_cksum(&ipv4);
	memcpy(at, &ipv4, sizeof(ipv4));
	return outer->l3 + sizeof(ipv4);
}

/* A tunnel's own checksum, of the frame as it is: UDP may have none. */
static void
put_outer_checksum(struct carried *outer, uint8_t protocol, size_t l4)
{
	const void *ip = outer->bytes + outer->l3;
	struct rte_udp_hdr udp = {.src_port = 7,
		.dst_port = htons(8472),
		.dgram_len = htons((uint16_t)(outer->length - l4))};
	uint16_t sum = 0;

	if (protocol == IPPROTO_UDP) {
		memcpy(outer->bytes + l4, &udp, sizeof(udp));
		if (trip_random_below(&rng, 2) != 0)
			udp.dgram_cksum = outer->ipv6
						  ? rte_ipv6_udptcp_cksum(ip, outer->bytes + l4)
						  : rte_ipv4_udptcp_cksum(ip, outer->bytes + l4);
		memcpy(outer->bytes + l4, &udp, sizeof(udp));
		outer->covered |= udp.dgram_cksum != 0;
	} else if (protocol == IPPROTO_GRE && (outer->bytes[l4] & 0x80) != 0) {
		memcpy(outer->bytes + l4 + 4, &sum, sizeof(sum));
		sum = (uint16_t)~rte_raw_cksum(outer->bytes + l4, outer->length - l4);
		memcpy(outer->bytes + l4 + 4, &sum, sizeof(sum));
		outer->covered = true;
	}
}

static void
carry(struct carried *frame, const struct tunnel *tunnel)
{
	static struct carried outer;
	size_t skipped = tunnel->ethernet ? 0 : frame->l3;
	size_t l4_length =
		(tunnel->protocol == IPPROTO_UDP ? 8u : 0u) + tunnel->n + frame->length - skipped;
	uint16_t type = htons(frame->ipv6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	uint16_t own = htons(RTE_ETHER_TYPE_MPLS);
	uint8_t protocol = tunnel->protocol;
	size_t at = 14, l4;

	outer = (struct carried){
		.l3 = 14, .ipv6 = trip_random_below(&rng, 2) != 0, .covered = frame->covered};
	if (protocol == IPPROTO_IPIP && frame->ipv6)
		protocol = IPPROTO_IPV6;
	if (protocol != 0) {
		own = htons(outer.ipv6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
		at = put_outer_ip(&outer, protocol, l4_length);
	}
	memcpy(outer.bytes + 12, &own, sizeof(own));
	l4 = at;
	at += protocol == IPPROTO_UDP ? 8 : 0;
	memcpy(outer.bytes + at, tunnel->header, tunnel->n);
	if (tunnel->type_at != 0)
		memcpy(outer.bytes + at + tunnel->type_at, &type, sizeof(type));
	at += tunnel->n;
	memcpy(outer.bytes + at, frame->bytes + skipped, frame->length - skipped);
	outer.length = at + frame->length - skipped;
	outer.field = frame->field + at - skipped;
	put_outer_checksum(&outer, protocol, l4);
	*frame = outer;
}

/* Sets what a sender leaves in it. */
static void
draw_carried(struct carried *frame, uint16_t *pseudo)
{
	static struct drawn drawn;
	unsigned int depth = 1 + (unsigned int)trip_random_below(&rng, 3);
	const struct tunnel *tunnel;

	frame->length = frame_draw_right(&rng, &drawn, frame->bytes);
	frame->covered = !drawn.tcp;
	frame->l3 = drawn.l3;
	frame->ipv6 = drawn.ipv6;
	frame->field = drawn.l4 + (drawn.tcp ? 16 : 6);
	*pseudo = frame_pseudo(&drawn, frame->bytes, frame->length);
	do {
		tunnel = &tunnels[trip_random_below(&rng, sizeof(tunnels) / sizeof(tunnels[0]))];
		carry(frame, tunnel);
	} while (--depth > 0 && tunnel->protocol != 0);
}

/* On a block of its own, so that sanitizers see whether anything behind its end is touched. Returns
 * it, and whether that is all. */
static uint8_t *
finish(const uint8_t *bytes, size_t length, bool *good)
{
	uint8_t *block = malloc(length + !length);
	struct rte_mbuf mbuf = {.buf_addr = block,
		.data_len = (uint16_t)length,
		.pkt_len = (uint32_t)length,
		.nb_segs = 1};

	assert_non_null(block);
	memcpy(block, bytes, length);
	*good = tripd_checksum_finish_if_left(&mbuf);
	return block;
}

static void
check_finished(const uint8_t *bytes, const uint8_t *expected, size_t length)
{
	bool good;
	uint8_t *block = finish(bytes, length, &good);

	assert_true(good);
	assert_memory_equal(block, expected, length);
	free(block);
}

static void
what_was_left_in_a_tunnel_is_finished(void **state)
{
	static struct carried right, left;
	uint16_t pseudo;

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		draw_carried(&right, &pseudo);
		check_finished(right.bytes, right.bytes, right.length);
		left = right;
		memcpy(left.bytes + left.field, &pseudo, sizeof(pseudo));
		check_finished(left.bytes, right.bytes, left.length);
		/* Padded, as bridges and switches do. */
		memset(left.bytes + left.length, 0, 8);
		memset(right.bytes + left.length, 0, 8);
		check_finished(left.bytes, right.bytes, left.length + 8);
	}
}

/* As in a frame that was captured before its device saw it, and is carried as it is. */
static void
what_a_tunnel_covers_as_it_is_stays_so(void **state)
{
	static struct carried frame;
	static struct drawn drawn;
	uint16_t pseudo;

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		frame.length = frame_draw_right(&rng, &drawn, frame.bytes);
		frame.l3 = drawn.l3;
		frame.ipv6 = drawn.ipv6;
		pseudo = frame_pseudo(&drawn, frame.bytes, frame.length);
		memcpy(frame.bytes + drawn.l4 + (drawn.tcp ? 16 : 6), &pseudo, sizeof(pseudo));
		/* GRE with a checksum. */
		carry(&frame, &tunnels[10]);
		check_finished(frame.bytes, frame.bytes, frame.length);
	}
}

static void
what_is_cut_or_damaged_in_a_tunnel_stays_so(void **state)
{
	static struct carried frame;
	uint64_t chances = 0;
	uint16_t pseudo;

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		size_t length, headers, changed = 0;
		uint8_t *block;
		bool good;

		draw_carried(&frame, &pseudo);
		frame.bytes[frame.field + sizeof(pseudo)] ^= 1;
		if (memcmp(frame.bytes + frame.field, &pseudo, sizeof(pseudo)) == 0)
			continue;
		block = finish(frame.bytes, frame.length, &good);
		/* One tunnel's checksum in 65536 is what would be left there. */
		if (good && frame.covered && memcmp(block, frame.bytes, frame.length) != 0) {
			chances++;
		} else {
			assert_memory_equal(block, frame.bytes, frame.length);
			assert_int_equal(good, !frame.covered);
		}
		free(block);
		memcpy(frame.bytes + frame.field, &pseudo, sizeof(pseudo));
		/* Anywhere, or within the headers. */
		length = trip_random_below(
			&rng, trip_random_below(&rng, 2) != 0 ? frame.length : frame.field);
		check_finished(frame.bytes, frame.bytes, length);
		/* Whatever the headers say, one checksum is all that is ever written. */
		headers = frame.field < frame.length ? frame.field : frame.length;
		for (unsigned int i = 0; i < 3; i++)
			frame.bytes[trip_random_below(&rng, headers)] =
				(uint8_t)trip_random_u64(&rng);
		block = finish(frame.bytes, frame.length, &good);
		for (size_t i = 0; i < frame.length; i++)
			changed += block[i] != frame.bytes[i];
		assert_true(changed <= 4);
		free(block);
	}
	assert_true(chances <= 2 + trip_test_rounds(ROUNDS) / 10000);
}

/* The shortest frames of all: nothing is behind the field that is written. */
static void
an_empty_datagram_ends_with_its_checksum(void **state)
{
	static struct carried frame, left;
	struct rte_udp_hdr udp = {.src_port = 7, .dst_port = 9, .dgram_len = htons(sizeof(udp))};
	const struct rte_ipv4_hdr *ip;
	uint16_t type = htons(RTE_ETHER_TYPE_IPV4), pseudo;
	size_t l4;

	frame = (struct carried){.l3 = 14};
	memcpy(frame.bytes + 12, &type, sizeof(type));
	l4 = put_outer_ip(&frame, IPPROTO_UDP, sizeof(udp));
	frame.length = l4 + sizeof(udp);
	memcpy(frame.bytes + l4, &udp, sizeof(udp));
	ip = (const void *)(frame.bytes + frame.l3);
	pseudo = rte_ipv4_phdr_cksum(ip, 0);
	udp.dgram_cksum = rte_ipv4_udptcp_cksum(ip, frame.bytes + l4);
	memcpy(frame.bytes + l4, &udp, sizeof(udp));
	check_finished(frame.bytes, frame.bytes, frame.length);
	left = frame;
	memcpy(left.bytes + frame.length - sizeof(pseudo), &pseudo, sizeof(pseudo));
	check_finished(left.bytes, frame.bytes, frame.length);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_left_in_a_tunnel_is_finished),
		cmocka_unit_test(what_a_tunnel_covers_as_it_is_stays_so),
		cmocka_unit_test(an_empty_datagram_ends_with_its_checksum),
		cmocka_unit_test(what_is_cut_or_damaged_in_a_tunnel_stays_so),
	};

	rng.state = trip_test_seed("layers");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
