/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pattern compiler accepts, that it can be read back, and that each refusal names the item
 * and the field. */
#include <errno.h>
#include <string.h>

#include "pattern.h"
#include "pattern_back.h"
#include "trip_test.h"

#define ITEM(kind, ...)                                        \
	{                                                      \
		.type = RTE_FLOW_ITEM_TYPE_##kind, __VA_ARGS__ \
	}
#define END ITEM(END)
#define ITEMS 9

static const struct rte_flow_item_ipv4 ipv4_spec = {.hdr.src_addr = RTE_BE32(0x0a000001)};
static const struct rte_flow_item_ipv4 ipv4_other = {.hdr.src_addr = RTE_BE32(0x0a0000ff)};
static const struct rte_flow_item_ipv4 ipv4_sum = {.hdr.hdr_checksum = 0xffff};
static const struct rte_flow_item_ipv4 ipv4_zero;
static const struct rte_flow_item_tcp tcp_window = {.hdr.rx_win = 1};
static const struct rte_flow_item_udp udp_sum = {.hdr.dgram_cksum = 1};
static const struct rte_flow_item_udp udp_53 = {.hdr.dst_port = RTE_BE16(53)};
static const struct rte_flow_item_udp udp_4789 = {.hdr.dst_port = RTE_BE16(4789)};
static const struct rte_flow_item_icmp icmp_sum = {.hdr.icmp_cksum = 1};
static const struct rte_flow_item_icmp6 icmp6_sum = {.checksum = 1};
static const struct rte_flow_item_vxlan vxlan_1 = {.hdr.vx_vni = RTE_BE32(1 << 8)};
static const struct rte_flow_item_vxlan vxlan_2 = {.hdr.vx_vni = RTE_BE32(2 << 8)};
static const struct rte_flow_item_vlan vlan_last = {.has_more_vlan = 0};
static const struct rte_flow_item_vlan vlan_reserved = {.reserved = 1};
static const struct rte_flow_item_ipv6 ipv6_reserved = {.reserved = 1};
static const struct rte_flow_item_vlan vlan_more = {.has_more_vlan = 1};
static const struct rte_flow_item_eth eth_reserved = {.reserved = 1};
static const struct rte_flow_item_ipv6 ipv6_frag = {.has_frag_ext = 1};

#define SPEC(mask_of) .spec = &(mask_of), .mask = &(mask_of)

struct bad {
	struct rte_flow_item items[ITEMS];
	int status;
	enum rte_flow_error_type type;
	int cause; /* index of the item */
	const char *says;
};

static const struct bad bads[] = {
	{{ITEM(ETH), ITEM(NVGRE), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 1, "item NVGRE"},
	{{ITEM(IPV4), ITEM(UDP), ITEM(GTPC), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"item GTPC"},
	{{ITEM(ETH), ITEM(GENEVE), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"geneve: needs udp before it, not eth"},
	{{ITEM(IPV4), ITEM(UDP, .spec = &udp_4789), ITEM(GTPU), END}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"gtpu: the udp item before it has another port than 2152"},
	{{ITEM(GTPU), ITEM(IPV4), ITEM(UDP), ITEM(VXLAN), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
		3, "vxlan: a tunnel in a tunnel"},
	{{ITEM(GTPU), ITEM(ETH), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"eth: cannot stand behind gtpu"},
	{{ITEM(VXLAN), ITEM(GTP_PSC), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"gtp_psc: needs gtpu before it, not vxlan"},
	{{ITEM(ETH), ITEM(MPLS), ITEM(MPLS), ITEM(MPLS), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 3,
		"mpls: at most 2 in a row"},
	{{ITEM(MPLS), ITEM(VLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"vlan: needs eth before it, not mpls"},
	{{ITEM(MPLS), ITEM(IPV4), ITEM(MPLS), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"mpls: a tunnel in a tunnel"},
	{{ITEM(IPV4), ITEM(MPLS), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"mpls: needs eth or vlan before it, not ipv4"},
	{{ITEM(IPV4), ITEM(UDP), ITEM(ESP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"esp: needs ipv4 or ipv6 before it, not udp"},
	{{ITEM(IPV6), ITEM(AH), ITEM(TCP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"tcp: needs ipv4 or ipv6 before it, not ah"},
	{{ITEM(INVERT), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 0, "item INVERT"},
	{{{.type = (enum rte_flow_item_type)12345}, END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 0,
		"item unknown (type 12345)"},
	{{ITEM(ETH), ITEM(VXLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"vxlan: needs udp before it"},
	{{ITEM(IPV4), ITEM(TCP), ITEM(VXLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"vxlan: needs udp before it"},
	{{ITEM(IPV4), ITEM(UDP, .spec = &udp_53), ITEM(VXLAN), END}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ITEM, 2, "vxlan: the udp item before it has another port"},
	{{ITEM(VXLAN), ITEM(UDP), ITEM(VXLAN), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"vxlan: a tunnel in a tunnel"},
	{{ITEM(VXLAN), ITEM(GRE), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"gre: a tunnel in a tunnel"},
	{{ITEM(ETH), ITEM(GRE), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "gre: needs ipv4"},
	{{ITEM(IPV4), ITEM(UDP), ITEM(GRE), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"gre: needs ipv4 or ipv6 before it, not udp"},
	{{ITEM(GRE), ITEM(ETH), ITEM(UDP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"udp: needs ipv4"},
	{{ITEM(GRE), ITEM(IPV4), ITEM(ETH), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"eth: cannot stand"},
	{{ITEM(GRE), ITEM(VLAN), ITEM(VLAN), ITEM(VLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 3,
		"vlan: at most 2 in a row"},
	{{ITEM(ETH), ITEM(IPV4), ITEM(ICMP6), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"icmp6: needs ipv6"},
	{{ITEM(ETH), ITEM(SCTP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "sctp: needs ipv4"},
	{{ITEM(ETH), ITEM(ICMP6), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "icmp6: needs ipv6"},
	{{ITEM(VLAN, .spec = &vlan_last, .mask = &vlan_more), ITEM(VLAN), END}, -EINVAL,
		RTE_FLOW_ERROR_TYPE_ITEM, 1, "vlan: the one before it has no more"},
	{{ITEM(VLAN, SPEC(vlan_reserved)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"vlan: field reserved"},
	{{ITEM(IPV6, SPEC(ipv6_reserved)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"ipv6: field reserved"},
	{{ITEM(VXLAN, .spec = &vxlan_1, .last = &vxlan_2), END}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ITEM_LAST, 0, "vxlan: field vni as a range"},
	{{ITEM(ETH), ITEM(UDP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "udp: needs ipv4"},
	{{ITEM(ETH), ITEM(VLAN), ITEM(TCP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"tcp: needs ipv4"},
	{{ITEM(UDP), ITEM(IPV4), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"ipv4: needs eth or vlan before it, not udp"},
	{{ITEM(IPV4), ITEM(IPV6), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"ipv6: needs eth or vlan before it, not ipv4"},
	{{ITEM(IPV4), ITEM(ETH), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "eth: cannot"},
	{{ITEM(ETH), ITEM(ETH), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "eth: cannot"},
	{{ITEM(IPV4), ITEM(VLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1,
		"vlan: needs eth before it, not ipv4"},
	{{ITEM(IPV4), ITEM(UDP), ITEM(TCP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"tcp: needs ipv4 or ipv6 before it, not udp"},
	{{ITEM(VLAN), ITEM(VLAN), ITEM(VOID), ITEM(VLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM,
		3, "vlan: at most 2 in a row"},
	{{ITEM(ETH), ITEM(IPV6), ITEM(ICMP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"icmp: needs ipv4"},
	{{ITEM(ETH), ITEM(IPV4, .mask = &ipv4_spec), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC,
		1, "ipv4: mask or last without spec"},
	{{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_other), END}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ITEM_LAST, 0, "ipv4: field src as a range"},
	{{ITEM(IPV4, SPEC(ipv4_sum)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"ipv4: field cksum"},
	{{ITEM(IPV4), ITEM(TCP, SPEC(tcp_window)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"tcp: field rx_win"},
	{{ITEM(IPV4), ITEM(UDP, SPEC(udp_sum)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"udp: field cksum"},
	{{ITEM(IPV4), ITEM(ICMP, SPEC(icmp_sum)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"icmp: field cksum"},
	{{ITEM(IPV6), ITEM(ICMP6, SPEC(icmp6_sum)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
		1, "icmp6: field cksum"},
	{{ITEM(ETH, SPEC(eth_reserved)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"eth: field reserved"},
};

static void
pattern_refuses_and_names_the_item(void **state)
{
	struct trip_pattern pattern;
	struct rte_flow_error error;
	size_t i;

	for (i = 0; i < RTE_DIM(bads); i++) {
		const struct bad *bad = &bads[i];

		memset(&error, 0, sizeof(error));
		if (trip_pattern_compile(bad->items, &pattern, &error) != bad->status ||
			error.type != bad->type || error.cause != &bad->items[bad->cause] ||
			strstr(error.message, bad->says) != error.message)
			fail_msg("pattern %zu: type %d, cause %td: %s", i, (int)error.type,
				(const struct rte_flow_item *)error.cause - bad->items,
				error.message);
		/* No error wanted is no crash. */
		assert_int_equal(trip_pattern_compile(bad->items, &pattern, NULL), bad->status);
	}
}

static void
pattern_accepts_orders_that_packets_have(void **state)
{
	static const struct rte_flow_item goods[][ITEMS] = {
		{END},
		{ITEM(VOID), END},
		{ITEM(ETH), END},
		{ITEM(ETH), ITEM(VOID), ITEM(VLAN), ITEM(VLAN), ITEM(IPV6), ITEM(TCP), END},
		{ITEM(IPV4), ITEM(UDP), END},
		{ITEM(VLAN), END},
		{ITEM(TCP), END},
		{ITEM(ICMP), END},
		{ITEM(ETH), ITEM(IPV6), ITEM(ICMP6), END},
		{ITEM(ICMP6), END},
		{ITEM(IPV4), ITEM(SCTP), END},
		{ITEM(VXLAN), END},
		{ITEM(ETH), ITEM(IPV6), ITEM(UDP, .spec = &udp_4789), ITEM(VXLAN), END},
		{ITEM(UDP), ITEM(VXLAN), ITEM(ETH), ITEM(VLAN), ITEM(VLAN), ITEM(IPV4), ITEM(TCP),
			END},
		{ITEM(IPV6), ITEM(GRE), ITEM(IPV4), ITEM(UDP), END},
		{ITEM(GRE), ITEM(ETH), ITEM(IPV6), ITEM(ICMP6), END},
		{ITEM(GRE), ITEM(UDP), END},
		{ITEM(VLAN, SPEC(vlan_more)), ITEM(VLAN), END},
		{ITEM(ETH), ITEM(VLAN), ITEM(MPLS), ITEM(MPLS), ITEM(IPV6), ITEM(UDP), END},
		{ITEM(MPLS), ITEM(TCP), END},
		{ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(GENEVE), ITEM(ETH), ITEM(VLAN), ITEM(IPV4),
			END},
		{ITEM(GENEVE), ITEM(IPV6), END},
		{ITEM(IPV6), ITEM(UDP), ITEM(GTPU), ITEM(GTP_PSC), ITEM(IPV4), ITEM(TCP), END},
		{ITEM(GTPU), ITEM(IPV6), ITEM(ESP), END},
		{ITEM(GTP_PSC), ITEM(IPV4), END},
		{ITEM(ETH), ITEM(IPV4), ITEM(ESP), END},
		{ITEM(ETH), ITEM(IPV6), ITEM(AH), END},
		{ITEM(ESP), END},
		{ITEM(GRE), ITEM(IPV4), ITEM(AH), END},
		{ITEM(VLAN), ITEM(VLAN, SPEC(vlan_more)), END},
		{ITEM(VLAN, .spec = &vlan_last, .mask = &vlan_more), ITEM(IPV4), END},
		{ITEM(IPV6, SPEC(ipv6_frag)), END},
		{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_spec), END},
		{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_zero), END},
		/* Beyond what the mask looks at, last may say what it likes. */
		{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_other, .mask = &ipv4_zero), END},
	};
	struct trip_pattern pattern, again;
	struct trip_pattern_items back;
	struct rte_flow_error error;
	size_t i;

	for (i = 0; i < RTE_DIM(goods); i++) {
		if (trip_pattern_compile(goods[i], &pattern, &error) != 0)
			fail_msg("pattern %zu: %s", i, error.message);
		trip_pattern_back(&pattern, &back);
		if (trip_pattern_compile(back.items, &again, &error) != 0)
			fail_msg("pattern %zu, back: %s", i, error.message);
		assert_memory_equal(&again, &pattern, sizeof(pattern));
	}
	assert_int_equal(trip_pattern_compile(NULL, &pattern, &error), -EINVAL);
}

static void
pattern_takes_default_masks(void **state)
{
	struct rte_flow_item defaulted[] = {ITEM(IPV4, .spec = &ipv4_spec), END};
	struct rte_flow_item explicit[] = {
		ITEM(IPV4, .spec = &ipv4_spec, .mask = &rte_flow_item_ipv4_mask), END};
	struct trip_pattern a, b;
	uint32_t i;

	assert_int_equal(trip_pattern_compile(defaulted, &a, NULL), 0);
	assert_int_equal(trip_pattern_compile(explicit, &b, NULL), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(a.mask[1], UINT64_MAX);
	for (i = 0; i < TRIP_PACKET_WORDS; i++)
		assert_int_equal(a.value[i] & ~a.mask[i], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern_refuses_and_names_the_item),
		cmocka_unit_test(pattern_accepts_orders_that_packets_have),
		cmocka_unit_test(pattern_takes_default_masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
