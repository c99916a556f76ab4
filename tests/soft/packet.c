/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packet matches which pattern, down to the byte at which it was cut off. */
#include <string.h>

#include "packet.h"
#include "pattern_match.h"
#include "soft_test.h"

#define ITEM(kind, ...)                                        \
	{                                                      \
		.type = RTE_FLOW_ITEM_TYPE_##kind, __VA_ARGS__ \
	}
#define END ITEM(END)

/* Patterns, each with the letter that stands for it in what a frame is expected to match. */
static const struct rte_flow_item_udp udp_53 = {.hdr.dst_port = RTE_BE16(53)};
static const struct rte_flow_item_udp udp_dst = {.hdr.dst_port = 0xffff};
static const struct rte_flow_item_tcp tcp_syn = {.hdr.tcp_flags = 2};
static const struct rte_flow_item_icmp icmp_echo = {.hdr.icmp_type = 8};
static const struct rte_flow_item_icmp icmp_type = {.hdr.icmp_type = 0xff};
static const struct rte_flow_item_vlan vlan_5 = {.hdr.vlan_tci = RTE_BE16(5)};
static const struct rte_flow_item_vlan vlan_ipv4 = {.hdr.eth_proto = RTE_BE16(0x0800)};
static const struct rte_flow_item_vlan vlan_type = {.hdr.eth_proto = 0xffff};
static const struct rte_flow_item_ipv4 ipv4_src1 = {.hdr.src_addr = RTE_BE32(0x0a000001)};
static const struct rte_flow_item_ipv4 ipv4_src = {.hdr.src_addr = 0xffffffff};
static const struct rte_flow_item_ipv4 ipv4_frag0 = {.hdr.fragment_offset = 0};
static const struct rte_flow_item_ipv4 ipv4_frag = {.hdr.fragment_offset = RTE_BE16(0x1fff)};
static const struct rte_flow_item_eth eth_ipv4 = {.hdr.ether_type = RTE_BE16(0x0800)};
static const struct rte_flow_item_eth eth_vlan = {.hdr.ether_type = RTE_BE16(0x8100)};
static const struct rte_flow_item_eth eth_type = {.hdr.ether_type = 0xffff};
static const struct rte_flow_item_eth eth_tagged = {.has_vlan = 1};
static const struct rte_flow_item_eth eth_untagged = {.has_vlan = 0};

static const struct {
	char letter;
	struct rte_flow_item items[6];
} patterns[] = {
	{'*', {ITEM(ETH), END}},
	{'4', {ITEM(ETH), ITEM(IPV4), END}},
	{'6', {ITEM(ETH), ITEM(IPV6), END}},
	{'u', {ITEM(ETH), ITEM(IPV4), ITEM(UDP), END}},
	{'U', {ITEM(IPV6), ITEM(UDP), END}},
	{'a', {ITEM(UDP), END}},
	{'d', {ITEM(UDP, .spec = &udp_53, .mask = &udp_dst), END}},
	{'t', {ITEM(TCP), END}},
	{'s', {ITEM(IPV4), ITEM(TCP, .spec = &tcp_syn, .mask = &tcp_syn), END}},
	{'i', {ITEM(ICMP), END}},
	{'e', {ITEM(ETH), ITEM(IPV4), ITEM(ICMP, .spec = &icmp_echo, .mask = &icmp_type), END}},
	{'1', {ITEM(ETH), ITEM(VLAN), END}},
	{'2', {ITEM(ETH), ITEM(VLAN), ITEM(VLAN), END}},
	{'5', {ITEM(VLAN, .spec = &vlan_5), END}},
	{'7', {ITEM(VLAN), ITEM(VLAN, .spec = &vlan_5), ITEM(IPV4), END}},
	{'n', {ITEM(VLAN, .spec = &vlan_ipv4, .mask = &vlan_type), END}},
	{'x', {ITEM(IPV4, .spec = &ipv4_src1, .mask = &ipv4_src), END}},
	{'f', {ITEM(IPV4, .spec = &ipv4_frag0, .mask = &ipv4_frag), END}},
	{'p', {ITEM(ETH, .spec = &eth_ipv4, .mask = &eth_type), END}},
	{'v', {ITEM(ETH, .spec = &eth_vlan, .mask = &eth_type), END}},
	{'g', {ITEM(ETH, .spec = &eth_tagged, .mask = &eth_tagged), END}},
	{'h', {ITEM(ETH, .spec = &eth_untagged, .mask = &eth_tagged), END}},
};

/* The letters of all patterns that the packet matches. */
static const char *
matched(const struct rte_mbuf *mbuf)
{
	static char letters[RTE_DIM(patterns) + 1];
	struct trip_packet_fields fields;
	struct trip_pattern pattern;
	size_t i, count = 0;

	/* What earlier packets left must make no difference. */
	memset(&fields, 0xa5, sizeof(fields));
	for (i = 0; i < RTE_DIM(patterns); i++) {
		bool matches;

		assert_int_equal(trip_pattern_compile(patterns[i].items, &pattern, NULL), 0);
		trip_packet_parse(mbuf, pattern_wants(&pattern), &fields);
		matches = pattern_matches(&pattern, &fields);
		if (matches)
			letters[count++] = patterns[i].letter;
		/* The long way says the same. */
		trip_packet_parse(mbuf, WANTS, &fields);
		assert_int_equal(pattern_matches(&pattern, &fields), matches);
	}
	letters[count] = 0;
	return letters;
}

static void
expect(const struct frame *frame, const char *letters)
{
	struct rte_mbuf *mbuf = mbuf_of(frame);

	assert_string_equal(matched(mbuf), letters);
	mbuf_release(mbuf);
}

static void
packet_plain(void **state)
{
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17, .ttl = 9});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4uadxfph");

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 2, .proto = 6});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4tsfph");

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 2, .proto = 1});
	frame_l4(&frame, 8 << 8, 0);
	expect(&frame, "*4iefph");

	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.src = 2, .proto = 17});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*6Uadh");

	/* ICMP is IPv4's: protocol 1 in IPv6 is none. */
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 1});
	frame_l4(&frame, 8 << 8, 0);
	expect(&frame, "*6h");

	frame_eth(&frame);
	frame_put16(&frame, 0x0806);
	frame_l4(&frame, 1, 2);
	expect(&frame, "*h");
}

static void
packet_options_and_fragments(void **state)
{
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 17, .options = 10});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4uadfph");

	/* First fragment: ports; later one: the protocol, and bytes that only look like ports. */
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 17, .fragment = 0x2000});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4uadfph");
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 17, .fragment = 0x0001});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4uaph");
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 17, .fragment = 0x0001, .options = 1});
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4uaph");

	/* A header length below the least: no L4 header can be found. */
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .proto = 17});
	frame.bytes[14] = 0x44;
	frame_l4(&frame, 1000, 53);
	expect(&frame, "*4uaxfph");
	/* One beyond the packet. */
	frame.bytes[14] = 0x4f;
	expect(&frame, "*4uaxfph");
}

static void
packet_ipv6_extensions(void **state)
{
	static const uint8_t hop[8] = {44}, options[16] = {17, 1}, auth[12] = {17, 1};
	uint8_t fragment[8] = {60};
	struct frame frame;
	uint32_t i;

	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 0});
	frame_put(&frame, hop, sizeof(hop));
	frame_put(&frame, fragment, sizeof(fragment));
	frame_put(&frame, options, sizeof(options));
	frame_l4(&frame, 1, 53);
	expect(&frame, "*6Uadh");

	/* A later fragment: what is behind its header is anything. */
	fragment[0] = 17;
	fragment[3] = 8;
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 44});
	frame_put(&frame, fragment, sizeof(fragment));
	frame_l4(&frame, 1, 53);
	expect(&frame, "*6Uah");

	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 51});
	frame_put(&frame, auth, sizeof(auth));
	frame_l4(&frame, 1, 53);
	expect(&frame, "*6Uadh");

	/* A chain that never ends is left. */
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 60});
	for (i = 0; i < 40; i++)
		frame_put(&frame, (const uint8_t[8]){60}, 8);
	expect(&frame, "*6h");
}

static void
packet_vlan(void **state)
{
	const struct frame_ip ip = {.src = 1, .proto = 17};
	struct frame frame;
	uint32_t i;

	frame_eth(&frame);
	frame_tag(&frame, 0x8100, 0x2005);
	frame_ipv4(&frame, ip);
	frame_l4(&frame, 1, 53);
	expect(&frame, "*4uad15nxfvg");

	frame_eth(&frame);
	frame_tag(&frame, 0x88a8, 1);
	frame_tag(&frame, 0x8100, 5);
	frame_ipv4(&frame, ip);
	frame_l4(&frame, 1, 53);
	expect(&frame, "*4uad27xfg");

	/* Three: neither one nor two; IPv4 at any depth. */
	frame_eth(&frame);
	for (i = 0; i < 3; i++)
		frame_tag(&frame, 0x8100, 5);
	frame_ipv4(&frame, ip);
	frame_l4(&frame, 1, 53);
	expect(&frame, "*4uadxfvg");

	/* More tags than are looked at. */
	frame_eth(&frame);
	for (i = 0; i < 60; i++)
		frame_tag(&frame, 0x8100, 5);
	frame_ipv4(&frame, ip);
	expect(&frame, "*vg");
}

static void
packet_stripped_vlan_is_a_tag_and_bytes(void **state)
{
	struct trip_packet_fields fields;
	struct frame frame;
	struct rte_mbuf *mbuf;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&frame, 1, 53);
	mbuf = mbuf_of(&frame);
	assert_int_equal(trip_packet_parse(mbuf, WANTS, &fields), frame.length);

	mbuf->vlan_tci = 5;
	mbuf->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	assert_string_equal(matched(mbuf), "*4uad15nxfvg");
	assert_int_equal(trip_packet_parse(mbuf, WANTS, &fields), frame.length + 4);

	mbuf->vlan_tci_outer = 9;
	mbuf->ol_flags |= RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
	assert_string_equal(matched(mbuf), "*4uad27xfg");
	assert_int_equal(trip_packet_parse(mbuf, WANTS, &fields), frame.length + 8);
	mbuf_release(mbuf);

	/* The NIC took the inner tag and left the outer one. */
	frame_eth(&frame);
	frame_tag(&frame, 0x8100, 9);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&frame, 1, 53);
	mbuf = mbuf_of(&frame);
	mbuf->vlan_tci = 5;
	mbuf->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ;
	assert_string_equal(matched(mbuf), "*4uad27xfvg");
	assert_int_equal(trip_packet_parse(mbuf, WANTS, &fields), frame.length + 4);
	mbuf_release(mbuf);
}

/* A field of a known frame: there from this length on, at this place, so many bytes. */
struct there {
	uint32_t bit;
	uint32_t from;
	uint32_t place;
	uint32_t size;
};

static const struct there plain_tcp[] = {
	{TRIP_HAS_ETH_DST, 6, TRIP_PLACE_ETH_DST, 6},
	{TRIP_HAS_ETH_SRC, 12, TRIP_PLACE_ETH_SRC, 6},
	{TRIP_HAS_ETH_TYPE, 14, TRIP_PLACE_ETH_TYPE, 2},
	{TRIP_HAS_IPV4, 14, 0, 0},
	{TRIP_HAS_IP_FIRST0, 15, TRIP_PLACE_IP_FIRST, 1},
	{TRIP_HAS_IP_FIRST1, 16, TRIP_PLACE_IP_FIRST + 1, 1},
	{TRIP_HAS_IP_FIRST, 18, TRIP_PLACE_IP_FIRST, 4},
	{TRIP_HAS_IP_FRAGMENT, 22, TRIP_PLACE_IP_FRAGMENT, 2},
	{TRIP_HAS_IP_TTL, 23, TRIP_PLACE_IP_TTL, 1},
	{TRIP_HAS_IP_PROTO, 24, TRIP_PLACE_IP_PROTO, 1},
	{TRIP_HAS_TCP, 24, 0, 0},
	{TRIP_HAS_IP_SRC, 30, TRIP_PLACE_IPV4_SRC, 4},
	{TRIP_HAS_IP_DST, 34, TRIP_PLACE_IPV4_DST, 4},
	{TRIP_HAS_L4_BYTE, 35, TRIP_PLACE_L4, 1},
	{TRIP_HAS_L4_SRC, 36, TRIP_PLACE_L4, 2},
	{TRIP_HAS_L4_DST, 38, TRIP_PLACE_L4 + 2, 2},
	{TRIP_HAS_TCP_FLAGS, 48, TRIP_PLACE_TCP_FLAGS, 1},
};

static const struct there qinq_ipv6_udp[] = {
	{TRIP_HAS_ETH_DST, 6, TRIP_PLACE_ETH_DST, 6},
	{TRIP_HAS_ETH_SRC, 12, TRIP_PLACE_ETH_SRC, 6},
	{TRIP_HAS_ETH_TYPE, 14, TRIP_PLACE_ETH_TYPE, 2},
	{TRIP_HAS_TAGGED, 14, 0, 0},
	{TRIP_HAS_VLAN1_TCI, 16, TRIP_PLACE_VLAN1_TCI, 2},
	{TRIP_HAS_VLAN1_TYPE, 18, TRIP_PLACE_VLAN1_TYPE, 2},
	{TRIP_HAS_VLAN2_TCI, 20, TRIP_PLACE_VLAN2_TCI, 2},
	{TRIP_HAS_VLAN2_TYPE, 22, TRIP_PLACE_VLAN2_TYPE, 2},
	{TRIP_HAS_IPV6, 22, 0, 0},
	{TRIP_HAS_IP_FIRST0, 23, TRIP_PLACE_IP_FIRST, 1},
	{TRIP_HAS_IP_FIRST1, 24, TRIP_PLACE_IP_FIRST + 1, 1},
	{TRIP_HAS_IP_FIRST, 26, TRIP_PLACE_IP_FIRST, 4},
	{TRIP_HAS_IP_FRAGMENT, 28, TRIP_PLACE_IP_FRAGMENT, 2},
	{TRIP_HAS_IP_PROTO, 29, TRIP_PLACE_IP_PROTO, 1},
	{TRIP_HAS_UDP, 29, 0, 0},
	{TRIP_HAS_IP_TTL, 30, TRIP_PLACE_IP_TTL, 1},
	{TRIP_HAS_IP_SRC, 46, TRIP_PLACE_IPV6_SRC, 16},
	{TRIP_HAS_IP_DST, 62, TRIP_PLACE_IPV6_DST, 16},
	{TRIP_HAS_L4_BYTE, 63, TRIP_PLACE_L4, 1},
	{TRIP_HAS_L4_SRC, 64, TRIP_PLACE_L4, 2},
	{TRIP_HAS_L4_DST, 66, TRIP_PLACE_L4 + 2, 2},
};

static uint32_t
bits_of(const struct trip_packet_fields *fields)
{
	uint32_t bits;

	memcpy(&bits, fields->bytes + TRIP_PLACE_BITS, sizeof(bits));
	return bits & ~(TRIP_HAS_TAGS_MASK | TRIP_HAS_MORE);
}

static void
check_prefix(const struct frame *frame, uint32_t length, uint32_t wants, const struct there *there,
	size_t count)
{
	struct rte_mbuf *mbuf = mbuf_segment(frame->bytes, length);
	struct trip_packet_fields fields = {0};
	uint32_t bits = 0;
	size_t i;

	assert_int_equal(trip_packet_parse(mbuf, wants, &fields), length);
	for (i = 0; i < count; i++) {
		/* Each prefix up to the ports ends within a header, or where the next one is to
		 * begin. */
		if (there[i].bit == TRIP_HAS_L4_DST && length < there[i].from)
			bits |= TRIP_HAS_BROKEN;
		if (length < there[i].from)
			continue;
		bits |= there[i].bit;
		assert_memory_equal(fields.bytes + there[i].place,
			frame->bytes + there[i].from - there[i].size, there[i].size);
	}
	assert_int_equal(bits_of(&fields), bits);
	mbuf_release(mbuf);
}

static void
packet_cut_off_at_every_byte(void **state)
{
	struct frame frame;
	uint32_t length;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 3, .dst = 4, .proto = 6, .ttl = 5});
	frame_l4(&frame, 0x1234, 0x5678);
	for (length = 0; length <= frame.length; length++) {
		check_prefix(&frame, length, 0, plain_tcp, RTE_DIM(plain_tcp));
		check_prefix(&frame, length, WANTS, plain_tcp, RTE_DIM(plain_tcp));
	}

	frame_eth(&frame);
	frame_tag(&frame, 0x88a8, 0x1111);
	frame_tag(&frame, 0x8100, 0x2222);
	frame_ipv6(&frame, (struct frame_ip){.src = 3, .dst = 4, .proto = 17, .ttl = 5});
	frame_l4(&frame, 0x1234, 0x5678);
	for (length = 0; length <= frame.length; length++)
		check_prefix(&frame, length, 0, qinq_ipv6_udp, RTE_DIM(qinq_ipv6_udp));
}

/* Of any kind that the other tests have, or bytes that are none. */
static void
random_frame(struct trip_random *random, struct frame *frame)
{
	struct frame_ip ip = {.src = (uint8_t)trip_random_below(random, 3),
		.proto = (uint8_t)(const uint8_t[]){1, 6, 17, 0, 43, 44, 51,
			60}[trip_random_below(random, 8)],
		.fragment = trip_random_below(random, 4) == 0 ? 1 : 0,
		.options = (uint8_t)trip_random_below(random, 3)};
	uint32_t i, tags = (uint32_t)trip_random_below(random, 4), damage;

	frame_eth(frame);
	for (i = 0; i < tags; i++)
		frame_tag(frame, i == 0 ? 0x88a8 : 0x8100, (uint16_t)trip_random_below(random, 8));
	if (trip_random_below(random, 2))
		frame_ipv4(frame, ip);
	else
		frame_ipv6(frame, ip);
	for (i = (uint32_t)trip_random_below(random, 4); i > 0; i--)
		frame_l4(frame, (uint16_t)(17 << 8 | trip_random_below(random, 4)), 53);
	for (damage = (uint32_t)trip_random_below(random, 4); damage > 0; damage--)
		frame->bytes[trip_random_below(random, frame->length)] =
			(uint8_t)trip_random_u64(random);
	frame->length = (uint32_t)trip_random_below(random, frame->length + 1);
}

/* The same bytes in up to five segments, empty ones among them. */
static struct rte_mbuf *
cut(struct trip_random *random, const struct frame *frame)
{
	uint32_t segments = 1 + (uint32_t)trip_random_below(random, 5), at = 0, i;
	struct rte_mbuf *first = NULL, **link = &first;

	for (i = 0; i < segments; i++) {
		uint32_t take = i + 1 == segments ? frame->length - at
						  : (uint32_t)trip_random_below(
							    random, frame->length - at + 1);

		*link = mbuf_segment(frame->bytes + at, take);
		link = &(*link)->next;
		at += take;
	}
	first->nb_segs = (uint16_t)segments;
	first->pkt_len = frame->length;
	return first;
}

static void
packet_in_segments_is_the_same(void **state)
{
	struct trip_random random = {trip_test_seed("packet_in_segments_is_the_same")};
	uint64_t round, rounds = trip_test_rounds(20000);

	for (round = 0; round < rounds; round++) {
		struct rte_mbuf *whole, *parts;
		char letters[RTE_DIM(patterns) + 1];
		struct frame frame;

		random_frame(&random, &frame);
		whole = mbuf_of(&frame);
		parts = cut(&random, &frame);
		strcpy(letters, matched(whole));
		assert_string_equal(matched(parts), letters);
		mbuf_release(whole);
		mbuf_release(parts);
	}
}

/* Lengths of the mbuf itself that promise more than there is: never believed, never followed. */
static void
packet_with_lying_lengths(void **state)
{
	struct trip_random random = {trip_test_seed("packet_with_lying_lengths")};
	uint64_t round, rounds = trip_test_rounds(20000);

	for (round = 0; round < rounds; round++) {
		struct rte_mbuf *honest, *liar;
		char letters[RTE_DIM(patterns) + 1];
		struct frame frame;

		random_frame(&random, &frame);
		honest = mbuf_of(&frame);
		strcpy(letters, matched(honest));
		liar = trip_random_below(&random, 2) ? mbuf_of(&frame) : cut(&random, &frame);
		switch (trip_random_below(&random, 3)) {
		case 0:
			liar->pkt_len += 1 + (uint32_t)trip_random_below(&random, 1000);
			break;
		case 1:
			liar->nb_segs += 1 + (uint16_t)trip_random_below(&random, 60000);
			liar->pkt_len = UINT32_MAX;
			break;
		default:
			liar->data_len = UINT16_MAX;
			liar->pkt_len = UINT32_MAX;
			break;
		}
		assert_string_equal(matched(liar), letters);
		liar->data_off = UINT16_MAX;
		(void)matched(liar);
		mbuf_release(honest);
		mbuf_release(liar);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_plain),
		cmocka_unit_test(packet_options_and_fragments),
		cmocka_unit_test(packet_ipv6_extensions),
		cmocka_unit_test(packet_vlan),
		cmocka_unit_test(packet_stripped_vlan_is_a_tag_and_bytes),
		cmocka_unit_test(packet_cut_off_at_every_byte),
		cmocka_unit_test(packet_in_segments_is_the_same),
		cmocka_unit_test(packet_with_lying_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
