/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings of overlapping rules: by examples, and for random rules against a small world of
 * packets, through which everything that the rules can ask for is tried.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "rules_good.h"

static void
test_pairs(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool overlap;
	} pairs[] = {
		{"eth", "eth", true},
		{"eth", "vxlan / eth / vlan / ipv6", true},
		{"eth / ipv4", "eth / ipv6", false},
		{"eth / ipv4", "eth / vlan / ipv4", true},
		{"eth / vlan / ipv4", "eth / vlan / vlan / ipv4", false},
		{"eth has_vlan is 0", "eth / vlan", false},
		{"eth has_vlan is 1", "eth / vlan / vlan", true},
		{"eth type is 0x806", "eth / ipv4", false},
		{"eth type is 0x800", "eth / ipv4", true},
		{"eth type is 0x800", "ipv6", false},
		{"eth type is 0x8100", "eth / ipv4 / udp", true},
		{"eth type is 0x8100", "eth / vlan / vlan", true},
		{"eth type is 0x800", "vlan", false},
		{"eth type is 0x806", "udp", false},
		{"eth type spec 0x800 type mask 0xff00", "eth / ipv4", true},
		{"eth type spec 0x900 type mask 0xff00", "eth / ipv4", false},
		{"eth type spec 0x9100 type mask 0xff00", "eth / ipv4", true},
		{"vlan vid is 5", "vlan vid is 6", false},
		{"vlan vid is 5", "vlan pcp is 6", true},
		{"vlan vid range 5-9", "vlan vid range 9-12", true},
		{"vlan vid range 5-9", "vlan vid range 10-12", false},
		{"vlan inner_type is 0x86dd", "vlan / ipv4", false},
		{"vlan / vlan inner_type is 0x86dd", "vlan / vlan / ipv6", true},
		{"vlan inner_type is 0x8100", "vlan", false},
		{"vlan has_more_vlan is 1", "vlan", false},
		{"ipv4 / tcp", "ipv4 / udp", false},
		{"tcp", "udp", false},
		{"udp", "ipv6 / udp", true},
		{"icmp", "ipv6", false},
		{"icmp6", "ipv6", true},
		{"icmp", "icmp6", false},
		{"sctp", "ipv4 proto is 132", true},
		{"udp", "ipv4 proto is 17", true},
		{"udp", "ipv4 proto is 6", false},
		{"ipv4 / udp", "ipv4 proto spec 16 proto mask 0xf0", true},
		{"ipv4 / tcp", "ipv4 proto spec 16 proto mask 0xf0", false},
		{"udp", "ipv4 proto spec 32 proto mask 0xf0", false},
		{"ipv6 / udp", "ipv6 proto is 17", true},
		{"ipv6 / udp", "ipv6 proto is 6", false},
		{"ipv6 / udp", "ipv6 proto is 44", true},
		{"ipv6 / udp", "ipv6 proto is 59", false},
		{"ipv6 / udp", "ipv6 proto spec 40 proto mask 0xf8", true},
		{"ipv6 / udp", "ipv6 proto spec 96 proto mask 0xe0", false},
		{"ipv6 has_frag_ext is 1", "ipv6 proto is 17", false},
		{"ipv6 has_frag_ext is 1", "ipv6 proto is 60", true},
		{"ipv6 has_frag_ext is 0", "ipv6 proto is 44", false},
		{"ipv6 has_frag_ext is 1", "ipv6 / tcp dst is 80", true},
		{"ipv4 fragment_offset is 1", "ipv4 / udp", true},
		{"ipv4 fragment_offset is 1", "ipv4 / udp dst is 53", false},
		{"ipv4 fragment_offset is 0x2000", "udp dst is 53", true},
		{"ipv4 fragment_offset spec 1 fragment_offset mask 1", "udp dst is 53", false},
		{"ipv4 src spec 10.0.0.0 src prefix 8", "ipv4 src is 10.1.2.3", true},
		{"ipv4 src spec 10.0.0.0 src prefix 8", "ipv4 src is 11.1.2.3", false},
		{"ipv4 src is 10.0.0.1", "ipv4 dst is 10.0.0.2", true},
		{"udp dst is 53", "udp src is 53", true},
		{"udp dst is 53", "tcp dst is 53", false},
		{"udp dst is 53", "vxlan", false},
		{"udp dst is 4789", "vxlan vni is 5", true},
		{"udp dst is 53 / vxlan", "udp dst is 53", true},
		{"vxlan vni is 5", "vxlan vni is 6", false},
		{"vxlan vni is 5", "gre", false},
		{"vxlan / ipv4", "vxlan / ipv6", false},
		{"ipv4 / udp / vxlan / ipv4", "ipv6", false},
		{"vxlan / eth / ipv4 / udp dst is 53", "ipv4 dst is 10.0.0.1 / udp", true},
		{"vxlan / udp dst is 53", "vxlan / udp dst is 54", false},
		{"gre", "ipv4 proto is 47", true},
		{"gre protocol is 0x800", "gre / ipv4", true},
		{"gre protocol is 0x800", "gre / ipv6", false},
		{"gre protocol is 0x800", "gre / eth", false},
		{"gre protocol is 0x6558", "gre / eth / ipv6", true},
		{"gre / ipv4", "gre / eth / ipv4", true},
		{"gre k_bit is 1", "gre c_rsvd0_ver is 0", false},
		{"gre", "ipv4 fragment_offset is 5", true},
		{"gre / ipv4", "ipv4 fragment_offset is 5", false},
		/* What matches nothing overlaps nothing. */
		{"ipv4 proto is 6 / udp", "eth", false},
		{"eth type is 0x800 / vlan", "eth", false},
		{"eth type is 0x86dd / ipv4", "eth", false},
	};

	for (size_t i = 0; i < RTE_DIM(pairs); i++) {
		if (overlap(pairs[i].a, pairs[i].b) != pairs[i].overlap ||
			overlap(pairs[i].b, pairs[i].a) != pairs[i].overlap)
			fail_msg(
				"%s and %s: %d expected", pairs[i].a, pairs[i].b, pairs[i].overlap);
	}
}

/* All warnings as they are printed; to be freed. */
static char *
printed(const struct trip_rules *rules)
{
	char *said = NULL;
	size_t size;
	FILE *file = open_memstream(&said, &size);

	trip_rules_errors_print(rules->warnings, file);
	fclose(file);
	return said;
}

static void
test_message(void **state)
{
	struct trip_rules *rules = good("count a port 0 pattern eth / ipv4 / end\n"
					"count \\\n\tb port 0 pattern udp dst is 53 / end\n"
					"count c port 0 pattern udp dst range 50-60 / end\n"
					"count d port 0 pattern eth / end\n"
					"count e port 0 pattern eth / end\n"
					"count f port 0 priority 7 pattern eth / end\n"
					"count g port 0 priority 7 pattern eth / end\n");
	char *said = printed(rules);

	assert_string_equal(said,
		"test:3:2: warning: 'b' overlaps 'a' on line 1 at the same priority, 0: a packet "
		"that both match counts in the earlier line only\n"
		"    3 | \tb port 0 pattern udp dst is 53 / end\n"
		"      | \t^\n"
		"test:4:7: warning: 'c' overlaps 'a' on line 1 and 'b' on line 2 at the same "
		"priority, 0: a packet that both match counts in the earlier line only\n"
		"    4 | count c port 0 pattern udp dst range 50-60 / end\n"
		"      |       ^\n"
		"test:5:7: warning: 'd' overlaps 'a' on line 1, 'b' on line 2 and 'c' on line 4 at "
		"the same priority, 0: a packet that both match counts in the earlier line only\n"
		"    5 | count d port 0 pattern eth / end\n"
		"      |       ^\n"
		"test:6:7: warning: 'e' overlaps 'a' on line 1, 'b' on line 2, 'c' on line 4 and "
		"others at the same priority, 0: a packet that both match counts in the earlier "
		"line only\n"
		"    6 | count e port 0 pattern eth / end\n"
		"      |       ^\n"
		"test:8:7: warning: 'g' overlaps 'f' on line 7 at the same priority, 7: a packet "
		"that both match counts in the earlier line only\n"
		"    8 | count g port 0 priority 7 pattern eth / end\n"
		"      |       ^\n");
	free(said);
	trip_rules_free(rules);
}

/* Of networks and of overlaps, in the order of the file, however often they are looked for. */
/* A pattern that has no packet with the key is warned about, and no other. */
static void
test_keys(void **state)
{
	static const struct {
		const char *key, *pattern, *lacks;
	} cases[] = {
		{"ipv4.src", "eth / ipv6", "ipv4.src"},
		{"ipv4.src", "eth / vlan / ipv4 dst is 10.0.0.1", NULL},
		{"ipv6.dst", "ipv4 / gre / ipv6", "ipv6.dst"},
		{"ip.src", "eth / ipv6", NULL},
		{"ip.src", "eth / mpls", "ip.src"},
		{"ipv4.dst,l4.dst", "ipv4 / icmp", "l4.dst"},
		{"ipv4.dst,l4.dst", "ipv4 proto is 17", NULL},
		{"l4.src", "eth / ipv6 / sctp", NULL},
		{"l4.src", "ipv4 / esp", "l4.src"},
		{"vlan.vid", "eth type is 0x0800", "vlan.vid"},
		{"vlan.vid", "eth / vlan / vlan", NULL},
		{"proto", "eth type is 0x0806", "proto"},
		{"vxlan.vni", "udp dst is 53", "vxlan.vni"},
		{"vxlan.vni", "udp / vxlan / eth / ipv4", NULL},
		{"mpls.label", "eth / ipv4", "mpls.label"},
		{"gtpu.teid", "tcp", "gtpu.teid"},
		{"gtpu.teid", "ipv6 / udp / gtpu", NULL},
	};

	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		char text[256], wanted[128];
		struct trip_rules *rules;

		snprintf(text, sizeof(text), "each k port 0 %s max 10 idle 1s pattern %s / end\n",
			cases[i].key, cases[i].pattern);
		print_message("%s", text);
		rules = good(text);
		assert_int_equal(rules->warnings->n_list, cases[i].lacks != NULL);
		if (cases[i].lacks != NULL) {
			snprintf(wanted, sizeof(wanted),
				"warning: no packet of this pattern has %s: 'k' counts nothing",
				cases[i].lacks);
			assert_string_equal(rules->warnings->list[0].message, wanted);
			assert_int_equal(rules->warnings->list[0].column, 6);
		}
		trip_rules_free(rules);
	}
}

static void
test_networks(void **state)
{
	struct trip_rules *rules =
		good("count a port 0 pattern ipv4 src is 10.0.0.1/8 dst is 10.1.0.0/16 / end\n"
		     "count b port 0 pattern ipv4 / end\n"
		     "count c port 1 pattern ipv6 dst is fe80::1/10 / end\n"
		     "count d port 1 pattern eth src is 02:00:00:00:00:01/24 dst is "
		     "02:00:00:00:00:01/48 / end\n"
		     "count e port 2 pattern ipv4 src is 10.0.0.1/32 / end\n");
	static const char *const networks[] = {
		"warning: '10.0.0.1/8' has bits behind its prefix, which count for nothing: it is "
		"10.0.0.0/8, and one address is without '/'",
		"warning: 'b' overlaps",
		"warning: 'fe80::1/10' has bits behind its prefix, which "
		"count for nothing: it is fe80::/10, and",
		"warning: 'd' overlaps",
		"warning: '02:00:00:00:00:01/24' has bits behind its prefix, which count for "
		"nothing: it is 02:00:00:00:00:00/24, and"};

	for (unsigned int round = 0; round < 2; round++) {
		assert_int_equal(rules->warnings->n_list, 5);
		for (unsigned int i = 0; i < 5; i++)
			assert_memory_equal(
				rules->warnings->list[i].message, networks[i], strlen(networks[i]));
		assert_int_equal(rules->warnings->list[0].column, 36);
		assert_int_equal(trip_rules_warn(rules), 0);
	}
	trip_rules_free(rules);
}

/* Rules that see different packets, or count in addition, are not compared. */
static void
test_apart(void **state)
{
	struct trip_rules *rules = good("count a port 0 pattern eth / end\n"
					"count b port 1 pattern eth / end\n"
					"count c port 0 egress pattern eth / end\n"
					"count d port 0 group 1 pattern eth / end\n"
					"count e port 0 priority 1 pattern eth / end\n"
					"also count f port 0 pattern eth / end\n"
					"count g port 0 pattern eth / end actions passthru / end\n"
					"count h port name \"x\" pattern eth / end\n"
					"count i port mac 02:00:00:00:00:01 pattern eth / end\n"
					"count j port 2 either pattern udp dst is 53 / end\n"
					"count k port name \"y\" pattern eth / end\n");

	assert_int_equal(rules->warnings->n_list, 0);
	/* The tool finds out that some are one port. */
	for (unsigned int i = 7; i < 11; i++) {
		assert_int_equal(trip_rules_set_ports(&rules->counts[i], (uint16_t[]){2}, 1), 0);
	}
	assert_int_equal(trip_rules_warn(rules), 0);
	assert_int_equal(rules->warnings->n_list, 3);
	assert_int_equal(rules->warnings->list[0].line, 9);
	assert_int_equal(trip_rules_warn(rules), 0);
	assert_int_equal(rules->warnings->n_list, 3);
	trip_rules_free(rules);

	/* By one of several. */
	rules = good("count a port 0,1 pattern eth / end\ncount b port 2,3 pattern eth / end\n"
		     "count c port 1,2 pattern eth / end\ncount d port any pattern eth / end\n"
		     "count e port any priority 1 pattern eth / end\n"
		     "count f port 9 priority 1 pattern eth / end\n");
	assert_int_equal(rules->warnings->n_list, 3);
	assert_int_equal(rules->warnings->list[0].line, 3);
	assert_int_equal(rules->warnings->list[1].line, 4);
	assert_int_equal(rules->warnings->list[2].line, 6);
	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int j = 0; j < i; j++)
			assert_int_equal(trip_rules_overlap(&rules->counts[j], &rules->counts[i]),
				(i == 2 || i == 3) || (i == 5 && j == 4));
	trip_rules_free(rules);

	rules = good("count a port 0 ingress pattern eth / end\n"
		     "count b port 0 either pattern udp / end\n");
	assert_int_equal(rules->warnings->n_list, 1);
	trip_rules_free(rules);
}

/* Of many rules at once, the same is told as of each pair. */
static void
test_many(void **state)
{
	struct trip_random random = {.state = trip_test_seed("many")};
	static char lines[300][128], text[300 * 192];

	for (unsigned int round = 0; round < 3; round++) {
		struct trip_rules *rules;
		unsigned int next = 0;
		size_t n = 0;

		for (unsigned int i = 0; i < RTE_DIM(lines); i++) {
			snprintf(lines[i], sizeof(lines[i]),
				"ipv4 src spec %u src mask %u / udp dst %s %u",
				(unsigned int)trip_random_below(&random, 64),
				(unsigned int)trip_random_below(&random, 8) * 9,
				round == 0 ? "is" : "range 3 -",
				(unsigned int)trip_random_below(&random, 64) + 3);
			n += (size_t)snprintf(text + n, sizeof(text) - n,
				"count c%u port 0 pattern %s / end\n", i, lines[i]);
		}
		rules = good(text);
		for (unsigned int i = 0; i < RTE_DIM(lines); i += 1 + i / 8) {
			char told[256], *to = told;
			unsigned int hits = 0;

			to += sprintf(to, "warning: 'c%u' overlaps", i);
			for (unsigned int j = 0; j < i; j++) {
				if (overlap(lines[i], lines[j]) && hits++ < 3)
					to += sprintf(to, "%s 'c%u' on line %u",
						hits > 1 ? "," : "", j, j + 1);
			}
			while (next < rules->warnings->n_list &&
				rules->warnings->list[next].line < i + 1)
				next++;
			assert_int_equal(
				hits > 0, next < rules->warnings->n_list &&
						  rules->warnings->list[next].line == i + 1);
			/* With three or fewer, "and" stands before the last. */
			if (hits > 3) {
				sprintf(to, " and others at");
				assert_memory_equal(
					rules->warnings->list[next].message, told, strlen(told));
			}
		}
		trip_rules_free(rules);
	}
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Says how long files of 10,000 rules take; the verdict is that they are read at all. */
static void
test_size(void **state)
{
	static const char *const shapes[] = {
		"ipv4 src is %u / udp dst is 53",
		"udp dst is 53",
		"ipv4 src spec %u src mask %u",
		"ipv4 src spec %u src mask %u ttl is 1 / udp dst is 5",
		"ipv4 src spec 1 src mask %u dst is %u",
		"udp src range 1-254 dst range 0-10 / vxlan vni is %u",
	};
	unsigned int rules_each = (unsigned int)trip_test_rounds(10000);
	char *text = malloc(2000000);

	for (size_t s = 0; s < RTE_DIM(shapes); s++) {
		struct trip_rules_errors *errors;
		struct trip_rules *rules;
		size_t n = 0;
		double start;

		for (unsigned int i = 0; i < rules_each; i++) {
			n += (size_t)sprintf(text + n, "count c%u port 0 pattern ", i);
			n += (size_t)sprintf(text + n, shapes[s], i, i);
			n += (size_t)sprintf(text + n, " / end\n");
		}
		start = seconds();
		assert_int_equal(trip_rules_parse_text("test", text, n, &rules, &errors), 0);
		print_message("%u x %s: %.3f s, %u warnings\n", rules_each, shapes[s],
			seconds() - start, rules->warnings->n_list);
		trip_rules_free(rules);
	}
	free(text);
}

/* 32 thousand rules that tell packets apart by 15 bits of a field, wherever these lie in it:
 * nothing is warned about, nor that it would be too much work to find out. */
static void
test_apart_anywhere(void **state)
{
	static const struct {
		const char *field;
		const char *format;
		unsigned int bits;
	} fields[] = {
		{"ipv4 src", "0x%08llx", 32},
		{"ipv4 dst", "0x%08llx", 32},
		{"udp src", "0x%llx", 16},
		{"udp dst", "0x%llx", 16},
		{"vxlan vni", "0x%llx", 24},
		{"sctp tag", "0x%llx", 32},
	};
	unsigned long long n_rules = trip_test_rounds(32768);
	char *text = malloc(n_rules * 80);

	for (size_t f = 0; f < RTE_DIM(fields); f++) {
		for (unsigned int shift = 0; shift + 16 <= fields[f].bits; shift += 8) {
			struct trip_rules_errors *errors;
			struct trip_rules *rules;
			size_t n = 0;

			for (unsigned long long i = 0; i < n_rules; i++) {
				n += (size_t)sprintf(text + n, "count c%llu port 0 pattern %s is ",
					i, fields[f].field);
				n += (size_t)sprintf(text + n, fields[f].format, i << shift);
				n += (size_t)sprintf(text + n, " / end\n");
			}
			assert_int_equal(
				trip_rules_parse_text("test", text, n, &rules, &errors), 0);
			if (rules->warnings->n_list != 0)
				fail_msg("%s, from bit %u: %s", fields[f].field, shift,
					rules->warnings->list[0].message);
			trip_rules_free(rules);
		}
	}
	free(text);
}

/* What is printed of many warnings has a limit, and says how many more there are. */
static void
test_many_are_cut(void **state)
{
	static char text[1000 * 64];
	struct trip_rules *rules;
	unsigned int lines = 0;
	char *said;
	size_t n = 0;

	for (unsigned int i = 0; i < 1000; i++)
		n += (size_t)sprintf(text + n, "count c%u port 0 pattern udp dst is %u / end\n", i,
			i % 2 == 0 ? 53 : i + 1000);
	rules = good(text);
	assert_int_equal(rules->warnings->n_list, 499);
	said = printed(rules);
	for (const char *at = said; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, 3 * 20 + 1);
	assert_non_null(strstr(said, "\ntest: 479 more are not shown\n"));
	free(said);
	trip_rules_free(rules);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apart_anywhere),
		cmocka_unit_test(test_many_are_cut),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("rules_overlap", tests, NULL, NULL);
}
