/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pattern compiler accepts, and that each refusal names the item and the field. */
#include <errno.h>
#include <string.h>

#include "pattern.h"
#include "trip_test.h"

#define ITEM(kind, ...)                                        \
	{                                                      \
		.type = RTE_FLOW_ITEM_TYPE_##kind, __VA_ARGS__ \
	}
#define END ITEM(END)
#define ITEMS 8

static const struct rte_flow_item_ipv4 ipv4_spec = {.hdr.src_addr = RTE_BE32(0x0a000001)};
static const struct rte_flow_item_ipv4 ipv4_other = {.hdr.src_addr = RTE_BE32(0x0a0000ff)};
static const struct rte_flow_item_ipv4 ipv4_id = {.hdr.packet_id = 0xffff};
static const struct rte_flow_item_ipv4 ipv4_sum = {.hdr.hdr_checksum = 0xffff};
static const struct rte_flow_item_tcp tcp_seq = {.hdr.sent_seq = 1};
static const struct rte_flow_item_udp udp_len = {.hdr.dgram_len = 1};
static const struct rte_flow_item_icmp icmp_id = {.hdr.icmp_ident = 1};
static const struct rte_flow_item_vlan vlan_more = {.has_more_vlan = 1};
static const struct rte_flow_item_eth eth_reserved = {.reserved = 1};
static const struct rte_flow_item_ipv6 ipv6_frag = {.has_frag_ext = 1};

struct bad {
	struct rte_flow_item items[ITEMS];
	int status;
	enum rte_flow_error_type type;
	int cause; /* index of the item */
	const char *says;
};

#define SPEC(mask_of) .spec = &(mask_of), .mask = &(mask_of)

static const struct bad bads[] = {
	{{ITEM(ETH), ITEM(VXLAN), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 1, "item is not eth"},
	{{ITEM(ETH), ITEM(IPV6), ITEM(ICMP6), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 2, "item"},
	{{ITEM(INVERT), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, 0, "item is not eth"},
	{{ITEM(ETH), ITEM(UDP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "udp: needs ipv4"},
	{{ITEM(ETH), ITEM(VLAN), ITEM(TCP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"tcp: needs ipv4"},
	{{ITEM(UDP), ITEM(IPV4), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "ipv4: cannot stand"},
	{{ITEM(IPV4), ITEM(IPV6), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "ipv6: cannot"},
	{{ITEM(IPV4), ITEM(ETH), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "eth: cannot"},
	{{ITEM(ETH), ITEM(ETH), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "eth: cannot"},
	{{ITEM(IPV4), ITEM(VLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 1, "vlan: cannot"},
	{{ITEM(IPV4), ITEM(UDP), ITEM(TCP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"tcp: cannot"},
	{{ITEM(VLAN), ITEM(VLAN), ITEM(VOID), ITEM(VLAN), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM,
		3, "vlan: at most two"},
	{{ITEM(ETH), ITEM(IPV6), ITEM(ICMP), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, 2,
		"icmp: needs ipv4"},
	{{ITEM(ETH), ITEM(IPV4, .mask = &ipv4_spec), END}, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC,
		1, "ipv4: mask or last without spec"},
	{{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_other), END}, -ENOTSUP,
		RTE_FLOW_ERROR_TYPE_ITEM_LAST, 0, "ipv4: field hdr.src_addr as a range"},
	{{ITEM(IPV4, SPEC(ipv4_id)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"ipv4: field hdr.packet_id"},
	{{ITEM(IPV4, SPEC(ipv4_sum)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"ipv4: field hdr.hdr_checksum"},
	{{ITEM(IPV4), ITEM(TCP, SPEC(tcp_seq)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"tcp: field hdr.sent_seq"},
	{{ITEM(IPV4), ITEM(UDP, SPEC(udp_len)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"udp: field hdr.dgram_len"},
	{{ITEM(IPV4), ITEM(ICMP, SPEC(icmp_id)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"icmp: field hdr.icmp_ident"},
	{{ITEM(ETH), ITEM(VLAN, SPEC(vlan_more)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 1,
		"vlan: field has_more_vlan"},
	{{ITEM(ETH, SPEC(eth_reserved)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"eth: field reserved"},
	{{ITEM(IPV6, SPEC(ipv6_frag)), END}, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK, 0,
		"ipv6: fields has_"},
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
		{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_spec), END},
		/* Beyond what the mask looks at, last may say what it likes. */
		{ITEM(IPV4, .spec = &ipv4_spec, .last = &ipv4_other, .mask = &ipv4_id), END},
	};
	struct trip_pattern pattern;
	struct rte_flow_error error;
	size_t i;

	for (i = 0; i + 1 < RTE_DIM(goods); i++)
		if (trip_pattern_compile(goods[i], &pattern, &error) != 0)
			fail_msg("pattern %zu: %s", i, error.message);
	assert_int_equal(trip_pattern_compile(goods[i], &pattern, &error), -ENOTSUP);
	assert_int_equal(error.type, RTE_FLOW_ERROR_TYPE_ITEM_MASK);
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
