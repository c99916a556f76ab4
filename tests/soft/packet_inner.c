/* SPDX-License-Identifier: BSD-3-Clause */
/* Tunnels and what they carry, SCTP, ICMPv6 and extension headers as items: by hand. */
#include <string.h>

#include "packet.h"
#include "pattern_match.h"
#include "soft_test.h"

#define ITEM(kind, ...)                                        \
	{                                                      \
		.type = RTE_FLOW_ITEM_TYPE_##kind, __VA_ARGS__ \
	}
#define END ITEM(END)
#define SPEC(of) .spec = &(of)
#define SAME(of) .spec = &(of), .mask = &(of)

static const struct rte_flow_item_vxlan vni_0;
static const struct rte_flow_item_vxlan vni_5 = {.hdr.vx_vni = RTE_BE32(5 << 8)};
static const struct rte_flow_item_vxlan vni_6 = {.hdr.vx_vni = RTE_BE32(6 << 8)};
static const struct rte_flow_item_udp udp_53 = {.hdr.dst_port = RTE_BE16(53)};
static const struct rte_flow_item_udp udp_dst = {.hdr.dst_port = 0xffff};
static const struct rte_flow_item_ipv4 ipv4_src1 = {.hdr.src_addr = RTE_BE32(0x0a000001)};
static const struct rte_flow_item_ipv4 ipv4_src = {.hdr.src_addr = 0xffffffff};
static const struct rte_flow_item_gre gre_ipv4 = {.protocol = RTE_BE16(0x0800)};
static const struct rte_flow_item_gre gre_key = {.c_rsvd0_ver = RTE_BE16(0x2000)};
static const struct rte_flow_item_sctp sctp_53 = {.hdr.dst_port = RTE_BE16(53)};
static const struct rte_flow_item_sctp sctp_dst = {.hdr.dst_port = 0xffff};
static const struct rte_flow_item_sctp sctp_tag = {.hdr.tag = RTE_BE32(0x00010203)};
static const struct rte_flow_item_sctp sctp_tags = {.hdr.tag = 0xffffffff};
static const struct rte_flow_item_icmp6 echo6 = {.type = 128};
static const struct rte_flow_item_ipv6 fragmented = {.has_frag_ext = 1};
static const struct rte_flow_item_ipv6 whole = {.has_frag_ext = 0};
static const struct rte_flow_item_ipv6 hop = {.has_hop_ext = 1};

static const struct {
	char letter;
	struct rte_flow_item items[8];
} patterns[] = {
	{'x', {ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(VXLAN), END}},
	{'5', {ITEM(VXLAN, SPEC(vni_5)), END}},
	{'6', {ITEM(UDP), ITEM(VXLAN, SPEC(vni_6)), END}},
	{'0', {ITEM(VXLAN, SPEC(vni_0)), END}},
	{'e', {ITEM(VXLAN), ITEM(ETH), ITEM(IPV4), END}},
	{'d', {ITEM(VXLAN), ITEM(IPV4), ITEM(UDP, .spec = &udp_53, .mask = &udp_dst), END}},
	{'v', {ITEM(VXLAN), ITEM(VLAN), ITEM(IPV4), END}},
	{'g', {ITEM(ETH), ITEM(IPV4), ITEM(GRE), END}},
	{'p', {ITEM(GRE, SPEC(gre_ipv4)), END}},
	{'k', {ITEM(GRE, SAME(gre_key)), END}},
	{'4', {ITEM(GRE), ITEM(IPV4), END}},
	{'E', {ITEM(GRE), ITEM(ETH), ITEM(IPV4), END}},
	{'D', {ITEM(IPV4), ITEM(GRE), ITEM(IPV4), ITEM(UDP, .spec = &udp_53, .mask = &udp_dst),
		      END}},
	{'1', {ITEM(GRE), ITEM(IPV4, .spec = &ipv4_src1, .mask = &ipv4_src), END}},
	/* Of the outer packet, what tunnels carry is none. */
	{'o', {ITEM(IPV4, .spec = &ipv4_src1, .mask = &ipv4_src), END}},
	{'u', {ITEM(UDP, .spec = &udp_53, .mask = &udp_dst), END}},
	{'s', {ITEM(SCTP), END}},
	{'t', {ITEM(IPV4), ITEM(SCTP, .spec = &sctp_53, .mask = &sctp_dst), END}},
	{'T', {ITEM(SCTP, .spec = &sctp_tag, .mask = &sctp_tags), END}},
	{'i', {ITEM(ICMP6), END}},
	{'I', {ITEM(ETH), ITEM(IPV6), ITEM(ICMP6, SPEC(echo6)), END}},
	{'f', {ITEM(IPV6, SAME(fragmented)), END}},
	{'w', {ITEM(IPV6, .spec = &whole, .mask = &fragmented), END}},
	{'h', {ITEM(IPV6, SAME(hop)), END}},
};

static void
expect(const struct frame *frame, const char *expected)
{
	struct rte_mbuf *mbuf = mbuf_of(frame);
	char letters[RTE_DIM(patterns) + 1];
	struct trip_packet_fields fields;
	struct trip_pattern pattern;
	size_t i, count = 0;

	memset(&fields, 0xa5, sizeof(fields));
	for (i = 0; i < RTE_DIM(patterns); i++) {
		assert_int_equal(trip_pattern_compile(patterns[i].items, &pattern, NULL), 0);
		trip_packet_parse(mbuf, pattern_wants(&pattern), &fields);
		if (pattern_matches(&pattern, &fields))
			letters[count++] = patterns[i].letter;
	}
	letters[count] = 0;
	assert_string_equal(letters, expected);
	mbuf_release(mbuf);
}

static void
frame_vxlan(struct frame *frame, uint8_t vni)
{
	frame_put(frame, (const uint8_t[8]){0x10, 0x00, 0x12, 0xb5, 0, 60, 0, 0}, 8);
	frame_put(frame, (const uint8_t[8]){0x08, 0, 0, 0, 0, 0, vni, 0}, 8);
}

/* Another frame behind what is there. */
static void
frame_more(struct frame *frame, const struct frame *inner)
{
	frame_put(frame, inner->bytes, inner->length);
}

static void
inner_vxlan(void **state)
{
	const struct frame_ip outer = {.src = 9, .proto = 17},
			      later = {.src = 9, .proto = 17, .fragment = 9};
	struct frame inner, frame;

	frame_eth(&inner);
	frame_ipv4(&inner, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&inner, 1, 53);
	frame_eth(&frame);
	frame_ipv4(&frame, outer);
	frame_vxlan(&frame, 5);
	frame_more(&frame, &inner);
	expect(&frame, "x5ed");

	frame_eth(&inner);
	frame_tag(&inner, 0x8100, 7);
	frame_ipv4(&inner, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&inner, 1, 53);
	frame_eth(&frame);
	frame_tag(&frame, 0x8100, 1);
	frame_ipv4(&frame, outer);
	frame_vxlan(&frame, 6);
	frame_more(&frame, &inner);
	expect(&frame, "x6edv");

	/* Cut off behind the VNI, before it, and in the outer ports. */
	frame.length = 18 + 20 + 8 + 7;
	expect(&frame, "x6");
	frame.length--;
	expect(&frame, "x");
	frame.length = 18 + 20 + 3;
	expect(&frame, "");

	/* A byte that is not there is not 0. */
	frame_eth(&frame);
	frame_ipv4(&frame, outer);
	frame_vxlan(&frame, 0);
	expect(&frame, "x0");
	frame.length -= 1;
	expect(&frame, "x0");
	frame.length -= 1;
	expect(&frame, "x");

	/* A later fragment's bytes only look like it. */
	frame_eth(&frame);
	frame_ipv4(&frame, later);
	frame_vxlan(&frame, 5);
	frame_more(&frame, &inner);
	expect(&frame, "");

	/* Over IPv6, behind an extension header. */
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 0});
	frame_put(&frame, (const uint8_t[8]){17}, 8);
	frame_vxlan(&frame, 5);
	frame_more(&frame, &inner);
	expect(&frame, "5edvwh");
}

static void
inner_gre(void **state)
{
	const struct frame_ip outer = {.src = 9, .proto = 47};
	struct frame inner, frame;

	/* The EtherType is GRE's protocol. */
	inner.length = 0;
	frame_ipv4(&inner, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&inner, 1, 53);
	frame_eth(&frame);
	frame_ipv4(&frame, outer);
	frame_put16(&frame, 0);
	frame_more(&frame, &inner);
	expect(&frame, "gp4D1");

	/* Checksum, key and sequence number. */
	frame_eth(&frame);
	frame_ipv4(&frame, outer);
	frame_put16(&frame, 0xb000);
	frame_put16(&frame, 0x0800);
	frame_put(&frame, (const uint8_t[12]){0}, 12);
	frame_put(&frame, inner.bytes + 2, inner.length - 2);
	expect(&frame, "gpk4D1");

	/* Version 1 and source routes are not looked behind. */
	frame.bytes[35] = 1;
	expect(&frame, "gpk");
	frame.bytes[34] |= 0x40;
	frame.bytes[35] = 0;
	expect(&frame, "gpk");

	/* An Ethernet frame in GRE. */
	frame_eth(&inner);
	frame_ipv4(&inner, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&inner, 1, 53);
	frame_eth(&frame);
	frame_ipv4(&frame, outer);
	frame_put16(&frame, 0);
	frame_put16(&frame, 0x6558);
	frame_more(&frame, &inner);
	expect(&frame, "g4ED1");
	frame.length = 14 + 20 + 3;
	expect(&frame, "g");
}

static void
inner_is_one_level(void **state)
{
	struct frame frame, inner, innermost;

	frame_eth(&innermost);
	frame_ipv4(&innermost, (struct frame_ip){.src = 1, .proto = 17});
	frame_l4(&innermost, 1, 53);
	frame_eth(&inner);
	frame_ipv4(&inner, (struct frame_ip){.src = 2, .proto = 17});
	frame_vxlan(&inner, 6);
	frame_more(&inner, &innermost);
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 3, .proto = 17});
	frame_vxlan(&frame, 5);
	frame_more(&frame, &inner);
	expect(&frame, "x5e");
}

static void
inner_protocols(void **state)
{
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .proto = 132});
	frame_l4(&frame, 7, 53);
	expect(&frame, "ostT");
	frame.length = 14 + 20 + 4;
	expect(&frame, "ost");

	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 58});
	frame_l4(&frame, 128 << 8, 0);
	expect(&frame, "iIw");
	/* ICMPv6 is IPv6's. */
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 58});
	frame_l4(&frame, 128 << 8, 0);
	expect(&frame, "");

	/* A first fragment, and a later one. */
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 44});
	frame_put(&frame, (const uint8_t[8]){58, 0, 0, 1}, 8);
	frame_l4(&frame, 128 << 8, 0);
	expect(&frame, "iIf");
	frame.bytes[14 + 40 + 3] = 8;
	expect(&frame, "if");
	/* One byte of a header says what comes next; where there is none, that is not known. */
	frame_eth(&frame);
	frame_ipv6(&frame, (struct frame_ip){.proto = 0});
	frame_put(&frame, (const uint8_t[1]){58}, 1);
	expect(&frame, "iwh");
	frame.length--;
	expect(&frame, "h");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inner_vxlan),
		cmocka_unit_test(inner_gre),
		cmocka_unit_test(inner_is_one_level),
		cmocka_unit_test(inner_protocols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
