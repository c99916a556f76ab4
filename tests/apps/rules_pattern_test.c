/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rule with ranges, or of either direction, becomes: patterns, held against brute force. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "rules_good.h"

/* The ends of a connection, as far as these tests look at them. */
struct packet {
	uint32_t src, dst;
	uint16_t from, to;
};

static bool
matches(const struct rte_flow_item *item, const struct packet *packet)
{
	const struct rte_flow_item_ipv4 *ip = item->spec, *ip_mask = item->mask;
	const struct rte_flow_item_udp *udp = item->spec, *udp_mask = item->mask;

	if (item->type == RTE_FLOW_ITEM_TYPE_END)
		return true;
	if (item->spec == NULL)
		return matches(item + 1, packet);
	if (item->type == RTE_FLOW_ITEM_TYPE_IPV4) {
		if (((ip->hdr.src_addr ^ rte_cpu_to_be_32(packet->src)) & ip_mask->hdr.src_addr) !=
				0 ||
			((ip->hdr.dst_addr ^ rte_cpu_to_be_32(packet->dst)) &
				ip_mask->hdr.dst_addr) != 0)
			return false;
	} else {
		assert_int_equal(item->type, RTE_FLOW_ITEM_TYPE_UDP);
		if (((udp->hdr.src_port ^ rte_cpu_to_be_16(packet->from)) &
			    udp_mask->hdr.src_port) != 0 ||
			((udp->hdr.dst_port ^ rte_cpu_to_be_16(packet->to)) &
				udp_mask->hdr.dst_port) != 0)
			return false;
	}
	return matches(item + 1, packet);
}

static unsigned int
matching(const struct trip_rules_count *count, const struct packet *packet)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count->n_patterns; i++) {
		assert_int_equal(count->patterns[i][count->n_items].type, RTE_FLOW_ITEM_TYPE_END);
		n += matches(count->patterns[i], packet);
	}
	return n;
}

static const uint16_t edges[] = {
	0, 1, 2, 3, 7, 8, 255, 256, 1023, 1024, 32767, 32768, 65534, 65535};

/* Every value of the range is in one prefix, and no other value in any. */
static void
test_range(void **state)
{
	struct trip_random random = {.state = trip_test_seed("range")};
	uint64_t rounds = trip_test_rounds(200);
	char text[128];

	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t low =
			round < RTE_DIM(edges) ? edges[round] : trip_random_below(&random, 65536);
		uint64_t high = low + trip_random_below(&random, 65536 - low);
		struct trip_rules *rules;

		snprintf(text, sizeof(text), "count c port 0 pattern udp dst range %u-0x%x / end",
			(unsigned int)low, (unsigned int)high);
		rules = good(text);
		for (uint32_t value = 0; value < 65536; value++) {
			struct packet packet = {.to = (uint16_t)value};

			assert_int_equal(matching(&rules->counts[0], &packet),
				value >= low && value <= high);
		}
		trip_rules_free(rules);
	}
}

/* How many patterns there are, which are as few as can be. */
static void
test_numbers(void **state)
{
	static const struct {
		const char *pattern;
		unsigned int n;
	} numbers[] = {
		{"udp dst range 5-5", 1},
		{"udp dst range 1024-2047", 1},
		{"udp dst range 0-65534", 16},
		{"udp dst range 1-65534", 30},
		/* Not one prefix of no bits, which would match where there is no port. */
		{"udp dst range 0-65535", 2},
		{"vlan dei range 0-1", 2},
		{"vlan dei range 1-1", 1},
		{"eth has_vlan range 0-1", 2},
		{"vlan vid range 100-199 pcp range 2-3", 5},
		{"ipv4 src range 10.0.0.1 - 10.0.0.9", 4},
		{"ipv4 src range 0.0.0.1 - 255.255.255.254", 62},
		{"ipv6 src range fe80:: - fe80::ffff", 1},
		{"ipv6 src range :: - ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 2},
		{"eth src range 02:00:00:00:00:00 - 02:00:00:ff:ff:ff", 1},
		{"udp src range 0-2 dst range 1-6", 8},
		{"vxlan vni range 0-0xffffff / ipv4 / tcp dst range 80-81 src range 8-9", 2},
	};
	char text[160];

	for (size_t i = 0; i < RTE_DIM(numbers); i++) {
		struct trip_rules *rules;

		snprintf(text, sizeof(text), "count c port 0 pattern %s / end", numbers[i].pattern);
		rules = good(text);
		if (rules->counts[0].n_patterns != numbers[i].n)
			print_message("%s\n", numbers[i].pattern);
		assert_int_equal(rules->counts[0].n_patterns, numbers[i].n);
		assert_ptr_equal(rules->counts[0].items, rules->counts[0].patterns[0]);
		trip_rules_free(rules);
	}
}

static void
test_mirror(void **state)
{
	struct trip_rules *rules = good(
		"count a port 0 either pattern eth src is 02:00:00:00:00:01 / vlan vid is 5 / "
		"ipv6 src is ::1 dst spec 2001:: dst prefix 16 hop is 9 / tcp dst is 80 flags is 2 "
		"/ end\n"
		"count b port 0 either pattern ipv4 src is 10.0.0.1 / udp src is 9 dst is 4789 / "
		"vxlan vni is 7 / ipv4 dst is 10.0.0.2 / udp src is 3 dst is 53 / end\n"
		"count c port 0 either pattern eth / ipv4 / udp src is 5 dst is 5 / end\n"
		"count d port 0 either pattern sctp src range 1-2 dst range 1-2 / end\n");
	const struct trip_rules_count *count = rules->counts;
	const struct rte_flow_item *there = count[0].patterns[0], *back = count[0].patterns[1];
	const struct rte_flow_item_eth *eth = back[0].spec, *eth_mask = back[0].mask;
	const struct rte_flow_item_tcp *tcp = back[3].spec, *tcp_mask = back[3].mask;
	const struct rte_flow_item_ipv4 *ipv4;
	const struct rte_flow_item_udp *udp;
	const uint8_t *ipv6_there = there[2].spec, *ipv6_back = back[2].spec;

	assert_int_equal(count[0].direction, TRIP_RULES_EITHER);
	assert_int_equal(count[0].n_patterns, 2);
	assert_int_equal(eth->hdr.dst_addr.addr_bytes[5], 1);
	assert_int_equal(eth->hdr.src_addr.addr_bytes[5], 0);
	assert_int_equal(eth_mask->hdr.dst_addr.addr_bytes[0], 255);
	assert_int_equal(eth_mask->hdr.src_addr.addr_bytes[0], 0);
	assert_memory_equal(there[1].spec, back[1].spec, sizeof(struct rte_flow_item_vlan));
	assert_memory_equal(ipv6_there, ipv6_back, 8);
	assert_memory_equal(ipv6_there + 8, ipv6_back + 24, 16);
	assert_memory_equal(ipv6_there + 24, ipv6_back + 8, 16);
	assert_int_equal(tcp->hdr.src_port, RTE_BE16(80));
	assert_int_equal(tcp->hdr.dst_port, 0);
	assert_int_equal(tcp_mask->hdr.dst_port, 0);
	assert_int_equal(tcp->hdr.tcp_flags, 2);

	/* A tunnel's ports are no ends of a connection; its addresses are. */
	assert_int_equal(count[1].n_patterns, 2);
	ipv4 = count[1].patterns[1][0].spec;
	assert_int_equal(ipv4->hdr.dst_addr, RTE_BE32(0x0a000001));
	udp = count[1].patterns[1][1].spec;
	assert_int_equal(udp->hdr.dst_port, RTE_BE16(4789));
	assert_int_equal(udp->hdr.src_port, RTE_BE16(9));
	ipv4 = count[1].patterns[1][3].spec;
	assert_int_equal(ipv4->hdr.src_addr, RTE_BE32(0x0a000002));
	udp = count[1].patterns[1][4].spec;
	assert_int_equal(udp->hdr.src_port, RTE_BE16(53));
	assert_int_equal(udp->hdr.dst_port, RTE_BE16(3));

	assert_int_equal(count[2].n_patterns, 1);
	assert_int_equal(count[3].n_patterns, 4);
	trip_rules_free(rules);
}

/* A test of one end, by two bits, in one of the ways there are. */
static size_t
random_test(struct trip_random *random, char *to, const char *field)
{
	uint64_t a = trip_random_below(random, 4), b = trip_random_below(random, 4);

	switch (trip_random_below(random, 5)) {
	case 0:
		return (size_t)sprintf(to, " %s is %u", field, (unsigned int)a);
	case 1:
		return (size_t)sprintf(to, " %s range %u-%u", field, (unsigned int)(a < b ? a : b),
			(unsigned int)(a < b ? b : a));
	case 2:
		return (size_t)sprintf(to, " %s spec %u %s mask %u", field, (unsigned int)a, field,
			(unsigned int)b);
	default:
		return 0;
	}
}

static bool
in_domain(const struct trip_rules_count *plain, const struct packet *packet, bool back)
{
	struct packet turned = {
		.src = packet->dst, .dst = packet->src, .from = packet->to, .to = packet->from};

	return matching(plain, back ? &turned : packet) > 0;
}

/* The rules, or NULL where the mirror images take too many patterns. */
static struct trip_rules *
parse_either(const char *text)
{
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	int rc = trip_rules_parse_text("test", text, strlen(text), &rules, &errors);

	if (rc == 0)
		return rules;
	assert_int_equal(rc, -EINVAL);
	for (unsigned int i = 0; i < errors->n_list; i++)
		assert_memory_equal(errors->list[i].message, "'either' becomes more than 256", 30);
	trip_rules_errors_free(errors);
	return NULL;
}

static void
check_either(const struct trip_rules_count *count, const struct trip_rules_count *plain)
{
	bool adds = count->also || count->actions == TRIP_RULES_ACTION_PASSTHRU;

	for (uint32_t i = 0; i < 256; i++) {
		struct packet packet = {.src = i & 3,
			.dst = i >> 2 & 3,
			.from = i >> 4 & 3,
			.to = (uint16_t)(i >> 6)};
		bool counts = in_domain(plain, &packet, false) || in_domain(plain, &packet, true);
		unsigned int n = matching(count, &packet);

		assert_int_equal(n > 0, counts);
		assert_true(!adds || n <= 1);
	}
}

/* A rule of either direction counts what goes there and what comes back, each packet once. */
static void
test_either(void **state)
{
	static const char *const rules_of[] = {"count c port 0 either %s / end",
		"also count c port 0 either %s / end",
		"count c port 0 either %s / end actions passthru / end"};
	struct trip_random random = {.state = trip_test_seed("either")};
	uint64_t rounds = trip_test_rounds(500);
	unsigned int n_checked = 0;

	for (uint64_t round = 0; round < rounds; round++) {
		char pattern[256], text[512];
		size_t n = (size_t)sprintf(pattern, "pattern ipv4");
		struct trip_rules *plain;

		n += random_test(&random, pattern + n, "src");
		n += random_test(&random, pattern + n, "dst");
		n += (size_t)sprintf(pattern + n, " / udp");
		n += random_test(&random, pattern + n, "src");
		n += random_test(&random, pattern + n, "dst");
		snprintf(text, sizeof(text), "count p port 0 %s / end", pattern);
		plain = good(text);
		for (size_t i = 0; i < RTE_DIM(rules_of); i++) {
			struct trip_rules *rules;

			snprintf(text, sizeof(text), rules_of[i], pattern);
			rules = i == 0 ? good(text) : parse_either(text);
			if (rules == NULL)
				continue;
			check_either(&rules->counts[0], &plain->counts[0]);
			trip_rules_free(rules);
			n_checked++;
		}
		trip_rules_free(plain);
	}
	assert_true(n_checked > 2 * rounds);
}

/* A packet that is cut off behind the source is not lost to a rule that looks at no destination. */
static void
test_either_cut(void **state)
{
	static const char *const patterns[] = {"udp src is 53", "udp dst is 53", "tcp dst is 5",
		"sctp src is 5", "ipv4 src is 1 / udp dst is 53", "ipv4 dst is 1"};
	char text[128];

	for (size_t i = 0; i < RTE_DIM(patterns); i++) {
		const struct trip_rules_count *count;
		unsigned int n_short = 0;
		struct trip_rules *rules;

		snprintf(text, sizeof(text), "also count c port 0 either pattern %s / end",
			patterns[i]);
		rules = good(text);
		count = &rules->counts[0];
		for (unsigned int k = 0; k < count->n_patterns; k++) {
			const struct rte_flow_item *last = &count->patterns[k][count->n_items - 1];
			const uint8_t *mask = last->mask;

			/* The destination is 2 bytes behind the source, of IPv4 4. */
			if (last->type == RTE_FLOW_ITEM_TYPE_IPV4)
				n_short += mask[16] == 0 && mask[19] == 0;
			else
				n_short += mask[2] == 0 && mask[3] == 0;
		}
		assert_int_equal(n_short, 1);
		assert_true(count->n_patterns > 2);
		trip_rules_free(rules);
	}
}

/* Many small rules that would be many patterns: refused, once, before there is no memory left. */
static void
test_all_patterns(void **state)
{
	static const char line[] = "count c%05u port 0 pattern udp src range 1-254 dst range 0-10 "
				   "/ end\n";
	size_t size = 40000 * sizeof(line), n = 0;
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	char *text = malloc(size);

	for (unsigned int i = 0; i < 30000; i++)
		n += (size_t)sprintf(text + n, line, i);
	assert_int_equal(trip_rules_parse_text("test", text, n, &rules, &errors), -EINVAL);
	assert_int_equal(errors->n_list, 1);
	assert_string_equal(errors->list[0].message,
		"with this rule, the patterns of the file are more than the limit, 1048576");
	/* 14 prefixes by 3, so 24966 rules are within it. */
	assert_int_equal(errors->list[0].line, 24967);
	trip_rules_errors_free(errors);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_mirror),
		cmocka_unit_test(test_either),
		cmocka_unit_test(test_either_cut),
		cmocka_unit_test(test_all_patterns),
	};

	return cmocka_run_group_tests_name("rules_pattern", tests, NULL, NULL);
}
