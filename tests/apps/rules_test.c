/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules language: what good files become, what bad ones are told, and what no file can do. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "rules_condition_rows.h"
#include "rules_good.h"
#include "rules_mistakes.h"

#define KIND(kind, name) TRIP_CONDITION_##kind,

/* All errors as "line:column: message" lines; to be freed. */
static char *
bad_onto(const char *text, size_t length, const char *work)
{
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	char *said = NULL;
	size_t size;
	FILE *file = open_memstream(&said, &size);

	assert_int_equal(
		trip_rules_parse_onto("test", text, length, work, strlen(work), &rules, &errors),
		-EINVAL);
	assert_null(rules);
	for (unsigned int i = 0; i < errors->n_list; i++)
		fprintf(file, "%u:%u: %s\n", errors->list[i].line, errors->list[i].column,
			errors->list[i].message);
	fclose(file);
	trip_rules_errors_free(errors);
	return said;
}

static char *
bad(const char *text, size_t length)
{
	return bad_onto(text, length, "");
}

static void
check_mistakes(const struct mistake *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *said = bad(table[i].text, table[i].length);

		if (strcmp(said, table[i].errors) != 0)
			print_message("mistake %zu: %s\n", i, table[i].text);
		assert_string_equal(said, table[i].errors);
		free(said);
	}
}

static void
test_mistakes(void **state)
{
	check_mistakes(mistakes, RTE_DIM(mistakes));
}

static void
check_told(const char *text, size_t length, const struct trip_rules_error *error)
{
	bool right = error->line == 5 && error->offset + error->length <= length;

	for (const char *at = error->message; *at != '\0'; at++)
		right = right && *at >= 0x20 && *at < 0x7f;
	if (!right)
		print_message("%s%u:%u: %s\n", text, error->line, error->column, error->message);
	assert_true(right);
}

/* A statement that ends anywhere: what is said of it has a place in it, and is a text. */
static void
test_cut(void **state)
{
	static const char before[] = "each e port 0 ipv4.src max 10 idle 1s\ncounter c\n"
				     "count k port 0 pattern eth / end\nquota q 5 of k.bytes\n";
	static const char *const statements[] = {
		"when e.bytes >= 1k every 2k police e 10Mbit/s\n",
		"when e.packets rate >= 10pps over 5s until < 5pps for 9s drop e\n",
		"when e.packets rate >= 10pps over 5s drop e for 60s\n",
		"when e.bytes >= 1k every 1k log \"x\" at most 5 per 1s\n",
		"when k.bytes rate >= 1kB/s over 5s until < 1B/s for 1s police k 5pps\n",
		"when k.bytes idle 5s every 1k drop k for 5s\n",
		"when any(k.bytes >= 5, all(c >= 4, after 5s)) add c 4\n",
		"when q >= 90 % every 5 exec /bin/true\n",
		"quota r 5k per month at 15 00:00 of k.packets\n",
		("each f port 0,1 egress ipv4.src/24,proto max 4 idle 1s full open pattern udp / "
		 "end\n"),
	};
	char text[512];

	for (size_t i = 0; i < RTE_DIM(statements); i++)
		for (size_t n = 1; n < strlen(statements[i]); n++) {
			struct trip_rules_errors *errors;
			struct trip_rules *rules;
			int length = snprintf(
				text, sizeof(text), "%s%.*s\n", before, (int)n, statements[i]);
			int rc = trip_rules_parse_text("test", text, length, &rules, &errors);

			assert_int_equal(errors == NULL, rc == 0);
			for (unsigned int j = 0; j < (errors != NULL ? errors->n_list : 0); j++)
				check_told(text, length, &errors->list[j]);
			trip_rules_errors_free(errors);
			trip_rules_free(rules);
		}
}

static const struct trip_flow_item_set *
set_of(const struct rte_flow_item *item)
{
	assert_int_equal((int)item->type, TRIP_FLOW_ITEM_TYPE_SET);
	return item->spec;
}

static void
test_sets(void **state)
{
	struct trip_rules *rules = good(
		"set web {80,443,8080}\nset own { 10.0.0.0/8, \\\n 192.0.2.1,fd00::/8 , 0 } # all\n"
		"set far file /etc/far#\nset far2 file \"/a b\"\n"
		"count a port 0 either pattern ipv4 src in own dst in far / udp dst in web / vxlan "
		"/ "
		"ipv4 dst in far / tcp src in web / end\n"
		"count b port 0 priority 1 pattern tcp dst in web dst range 1 - 80 / end");
	static const struct trip_set_entry own[] = {
		{.kind = TRIP_SET_IPV4, .length = 8, .value = {10}},
		{.kind = TRIP_SET_IPV4, .length = 32, .value = {192, 0, 2, 1}},
		{.kind = TRIP_SET_IPV6, .length = 8, .value = {0xfd}},
		{.kind = TRIP_SET_PORT, .length = 16},
	};
	struct rte_flow_item *const *patterns = rules->counts[0].patterns;

	assert_int_equal(rules->n_sets, 4);
	assert_int_equal(rules->sets[0].n_entries, 3);
	assert_int_equal(rules->sets[0].entries[1].value[0], 443 >> 8);
	assert_int_equal(rules->sets[0].entries[1].value[1], 443 & 0xff);
	assert_int_equal(rules->sets[1].n_entries, 4);
	assert_memory_equal(rules->sets[1].entries, own, sizeof(own));
	assert_string_equal(rules->sets[2].path, "/etc/far");
	assert_string_equal(rules->sets[3].path, "/a b");
	assert_string_equal(
		rules->sets[1].source, "set own { 10.0.0.0/8, 192.0.2.1,fd00::/8 , 0 }");
	assert_int_equal(rules->counts[0].n_patterns, 2);
	assert_int_equal(rules->counts[0].n_items, 10);
	assert_true(trip_rules_set_is_asked(&rules->counts[0], "far"));
	assert_false(trip_rules_set_is_asked(&rules->counts[1], "far"));
	/* Behind their items; mirrored, but for the ports of the tunnel's udp. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_string_equal(set_of(&patterns[i][1])->name, "own");
		assert_int_equal(set_of(&patterns[i][1])->offset, i == 0 ? 12 : 16);
		assert_string_equal(set_of(&patterns[i][2])->name, "far");
		assert_int_equal(set_of(&patterns[i][2])->offset, i == 0 ? 16 : 12);
		assert_int_equal(set_of(&patterns[i][4])->offset, 2);
		assert_int_equal(set_of(&patterns[i][7])->offset, i == 0 ? 16 : 12);
		assert_int_equal(set_of(&patterns[i][9])->offset, i == 0 ? 0 : 2);
	}
	/* Each prefix of a range asks, too. */
	for (unsigned int i = 0; i < rules->counts[1].n_patterns; i++)
		assert_string_equal(set_of(&rules->counts[1].patterns[i][1])->name, "web");
	trip_rules_free(rules);
	/* Whatever is in two sets, both may be true of a packet; of a field, too. */
	rules = good("set a { 1 }\nset b { 2 }\ncount x port 0 pattern tcp dst in a / end\n"
		     "count y port 0 pattern tcp dst in b / end");
	assert_int_equal(rules->warnings->n_list, 1);
	trip_rules_free(rules);
}

static void
test_eaches(void **state)
{
	struct trip_rules *rules =
		good("each full port any proto max 8Mi idle 320us\n"
		     "each v port eth0, eth1,name \"x\" egress ipv4.src/24 , ip.dst/128,proto \\\n"
		     " max 64k idle 400001ns # no\n"
		     "count c port 0 pattern eth / end\n"
		     "each e port 0,1 ingress l4.dst,ipv4.dst/32,gtpu.teid max 1 idle 1d pattern "
		     "ipv4 dst is 10.0.0.0/8 / udp dst is 2152 / end");
	const struct trip_rules_each *each = rules->eaches;
	struct trip_each_attr attr;

	assert_int_equal(rules->n_eaches, 3);
	assert_int_equal(rules->n_counts, 1);
	assert_string_equal(each[0].count.name, "full");
	assert_int_equal(each[0].count.ports[0].by, TRIP_RULES_PORT_ANY);
	assert_int_equal(each[0].max, 8388608);
	assert_int_equal(each[0].idle_us, 320);
	trip_rules_each_attr(&each[0], &attr);
	assert_null(attr.pattern);
	assert_int_equal(attr.n_parts, 1);
	assert_int_equal(attr.parts[0].field, TRIP_EACH_PROTO);
	assert_int_equal(attr.direction, TRIP_FLOW_INGRESS);
	assert_int_equal(each[1].count.line, 2);
	assert_int_equal(each[1].count.n_ports, 3);
	assert_string_equal(each[1].count.ports[1].name, "eth1");
	assert_int_equal(each[1].max, 64000);
	/* A key never goes early. */
	assert_int_equal(each[1].idle_us, 401);
	assert_string_equal(each[1].count.source,
		"each v port eth0, eth1,name \"x\" egress ipv4.src/24 , ip.dst/128,proto max 64k "
		"idle 400001ns");
	trip_rules_each_attr(&each[1], &attr);
	assert_int_equal(attr.direction, TRIP_FLOW_EGRESS);
	assert_int_equal(attr.n_parts, 3);
	assert_int_equal(attr.parts[0].length, 24);
	assert_int_equal(attr.parts[1].field, TRIP_EACH_IP_DST);
	/* All of it. */
	assert_int_equal(attr.parts[1].length, 0);
	trip_rules_each_attr(&each[2], &attr);
	assert_string_equal(attr.name, "e");
	assert_int_equal(attr.pattern[0].type, RTE_FLOW_ITEM_TYPE_IPV4);
	assert_int_equal(attr.pattern[2].type, RTE_FLOW_ITEM_TYPE_END);
	assert_int_equal(attr.parts[2].field, TRIP_EACH_GTPU_TEID);
	/* They take no packet from a count. */
	assert_int_equal(rules->warnings->n_list, 0);
	assert_int_equal(attr.hardware, 0);
	trip_rules_free(rules);
	rules = good("each a port 0 ip.dst max 1k idle 1s hardware 64\n"
		     "each b port 0 ip.dst max 1k idle 1s full closed hardware 4k at most 600 "
		     "per 1m\n");
	trip_rules_each_attr(&rules->eaches[0], &attr);
	assert_int_equal(attr.hardware, 64);
	assert_int_equal(attr.hardware_changes, 0);
	trip_rules_each_attr(&rules->eaches[1], &attr);
	assert_int_equal(attr.hardware, 4000);
	assert_int_equal(attr.hardware_changes, 10);
	trip_rules_free(rules);
}

static void
check_rate(const char *condition, uint64_t rate, uint32_t seconds, uint64_t burst)
{
	const struct trip_each_when *when;
	struct trip_rules *rules;
	char text[256];

	snprintf(text, sizeof(text), "each v port 0 ipv4.src max 5 idle 1h\nwhen v.%s log",
		condition);
	rules = good(text);
	when = &rules->eaches[0].conditions[0];
	assert_int_equal(when->rate, rate);
	assert_int_equal(when->seconds, seconds);
	assert_int_equal(when->burst, burst);
	trip_rules_free(rules);
}

/* What leaks of a key's bucket, in how many seconds, and what it holds. */
static void
test_rates_of_keys(void **state)
{
	check_rate("packets rate >= 7/m over 1m", 7, 60, 7);
	check_rate("packets rate >= 10/d over 2d", 1, 8640, 20);
	check_rate("packets rate >= 12/m over 5s", 1, 5, 1);
	check_rate("packets rate >= 600/m over 5s", 10, 0, 50);
	check_rate("bytes rate >= 100Gbit/s over 500us", UINT64_C(12500000000), 0, 6250000);
	check_rate("packets rate >= 3/s over 700ms", 30, 7, 3);
	/* Its seconds are halved as long as what leaks is too much: that is rounded up. */
	check_rate("packets rate >= 100k/s over 333333333ns", UINT64_C(1041687434374), 10416666,
		33334);
}

/* What keys trip by is of the `each`. */
static void
test_keys_trip(void **state)
{
	struct trip_rules *rules = good(
		"when v.bytes >= 10k exec /bin/true\nwhen v.packets rate >= 10/s over 3s log "
		"\"f\"\n"
		"each v port 0 ipv4.src max 5 idle 1h\nwhen after 1s log\nwhen v.packets >= 7 log");
	const struct trip_rules_each *each = &rules->eaches[0];
	struct trip_each_attr attr;

	assert_int_equal(each->n_whens, 3);
	assert_int_equal(each->whens[0], 0);
	assert_int_equal(each->whens[1], 1);
	assert_int_equal(each->whens[2], 3);
	assert_int_equal(rules->whens[0].ref, TRIP_RULES_REF_KEY_BYTES);
	assert_int_equal(rules->whens[1].ref, TRIP_RULES_REF_KEY_PACKETS);
	assert_int_equal(rules->whens[3].index, 0);
	trip_rules_each_attr(each, &attr);
	assert_int_equal(attr.n_whens, 3);
	assert_int_equal(attr.whens[0].of, TRIP_EACH_BYTES);
	assert_int_equal(attr.whens[0].count, 10000);
	assert_int_equal(attr.whens[0].rate, 0);
	assert_int_equal(attr.whens[1].count, 0);
	assert_int_equal(attr.whens[1].rate, 10);
	assert_int_equal(attr.whens[1].burst, 30);
	assert_int_equal(attr.whens[2].count, 7);
	trip_rules_free(rules);
	/* What is told again and again, and what begins anew. */
	rules = good("each v port 0 ipv4.dst max 5 idle 1h\n"
		     "when v.packets >= 1k every 100 drop v for 1s\nwhen v.bytes >= 5M every 2M "
		     "reset v");
	trip_rules_each_attr(&rules->eaches[0], &attr);
	assert_int_equal(attr.n_whens, 2);
	assert_int_equal(attr.whens[0].count, 1000);
	assert_int_equal(attr.whens[0].every, 100);
	assert_int_equal(attr.acts[0].op, TRIP_EACH_OP_DROP);
	assert_int_equal(rules->whens[0].every, 100);
	assert_int_equal(attr.whens[1].every, 2000000);
	assert_int_equal(attr.acts[1].op, TRIP_EACH_OP_RESET);
	assert_int_equal(rules->whens[1].op, TRIP_RULES_OP_KEY_RESET);
	trip_rules_free(rules);
	/* What ends with its rate, which no 'every' is told of; and what passes up to one. */
	rules = good("each v port 0 ipv4.dst max 5 idle 1h\n"
		     "when v.bytes rate >= 1MB/s over 5s until < 10kB/s for 2500ms police v 3MB/s\n"
		     "each w port 0 ipv4.dst max 5 idle 1h\n"
		     "when w.packets rate >= 1kpps over 1s until < 10pps for 1s log");
	trip_rules_each_attr(&rules->eaches[0], &attr);
	assert_int_equal(attr.acts[0].op, TRIP_EACH_OP_POLICE);
	assert_int_equal(attr.acts[0].unit, TRIP_POLICE_UNIT_BITS);
	assert_int_equal(attr.acts[0].rate, 24000000);
	assert_int_equal(attr.acts[0].until_count, 25000);
	assert_int_equal(attr.acts[0].until_us, 2500000);
	trip_rules_each_attr(&rules->eaches[1], &attr);
	assert_int_equal(attr.acts[0].op, TRIP_EACH_OP_NONE);
	assert_int_equal(attr.acts[0].until_count, 10);
	assert_int_equal(rules->whens[1].every, 0);
	trip_rules_free(rules);
	/* What is told again by a rate, and as a key is quiet. */
	rules = good("each v port 0 ipv4.dst max 5 idle 1h\n"
		     "when v.packets rate >= 1kpps over 1s every 1 log\n"
		     "when v.bytes idle 1500us every 10k log\nwhen v.packets idle 59m drop v");
	trip_rules_each_attr(&rules->eaches[0], &attr);
	assert_int_equal(attr.whens[0].again, 1);
	assert_int_equal(attr.whens[1].quiet_us, 1500);
	assert_int_equal(attr.whens[1].of, TRIP_EACH_BYTES);
	assert_int_equal(attr.whens[1].every, 10000);
	assert_int_equal(attr.whens[2].quiet_us, UINT64_C(3540000000));
	assert_int_equal(attr.whens[2].every, 0);
	trip_rules_free(rules);
	/* Several together are members of one. */
	rules = good("when after 1s log\n"
		     "when all(v.bytes >= 1M, any(v.packets rate >= 1kpps over 2s, v.bytes idle "
		     "1m), v.packets >= 5) drop v for 1s\neach v port 0 ipv4.dst max 5 idle 1h\n"
		     "when any(v.packets >= 7) log");
	trip_rules_each_attr(&rules->eaches[0], &attr);
	assert_int_equal(attr.n_whens, 2);
	assert_int_equal(attr.whens[0].group, TRIP_EACH_ALL);
	assert_int_equal(attr.acts[0].op, TRIP_EACH_OP_DROP);
	assert_int_equal(attr.whens[1].group, TRIP_EACH_ANY);
	assert_int_equal(attr.n_members, 6);
	assert_int_equal(attr.members[0].when.count, 1000000);
	assert_int_equal(attr.members[1].when.group, TRIP_EACH_ANY);
	assert_int_equal(attr.members[2].when.burst, 2000);
	assert_int_equal(attr.members[2].within, 2);
	assert_int_equal(attr.members[3].when.quiet_us, 60000000);
	assert_int_equal(attr.members[4].within, 0);
	assert_int_equal(attr.members[5].of, 1);
	assert_int_equal(rules->whens[1].ref, TRIP_RULES_REF_KEY_PAIRS);
	assert_null(rules->whens[1].pairs);
	assert_int_equal(rules->whens[1].op, TRIP_RULES_OP_KEY_DROP);
	trip_rules_free(rules);
	/* A rate that drops for a time prolongs that by itself: it is no 'every'. */
	rules = good("each v port 0 ipv4.dst max 5 idle 1h\n"
		     "when v.bytes rate >= 1Gbit/s over 5s drop v for 60s");
	trip_rules_each_attr(&rules->eaches[0], &attr);
	assert_int_equal(attr.n_whens, 1);
	assert_int_equal(attr.whens[0].rate, 125000000);
	assert_int_equal(rules->whens[0].op, TRIP_RULES_OP_KEY_DROP);
	assert_int_equal(rules->eaches[0].acts[0].time_us, 60000000);
	assert_int_equal(rules->whens[0].every, 0);
	trip_rules_free(rules);
}

/* As many as a domain has. */
static void
test_too_many_eaches(void **state)
{
	char text[8192];
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	size_t n = 0;
	char *said;

	for (unsigned int i = 0; i < TRIP_EACH_MAX; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "each e%u port 0 proto max 1 idle 1s\n", i);
	trip_rules_free(good(text));
	/* One that takes the place of another is none more. */
	assert_int_equal(trip_rules_parse_onto("test", "each e5 port 0 proto max 2 idle 1s", 34,
				 text, n, &rules, &errors),
		0);
	assert_int_equal(rules->n_eaches, TRIP_EACH_MAX + 1);
	trip_rules_free(rules);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "each more port 0 proto max 1 idle 1s\n");
	said = bad(text, n);
	assert_string_equal(said, "65:6: more 'each' statements than 64\n");
	free(said);
}

/* What is added takes the place of one of its own kind alone. */
static void
test_other_kind_at_work(void **state)
{
	static const char work[] = "count c port 0 pattern eth / end\ncounter n\n"
				   "count d port 0 pattern eth / ipv4 / end\n"
				   "quota q 5 of d.bytes\nset s { 80 }\n"
				   "each e port 0 proto max 1 idle 1s\n";
	static const struct {
		const char *text, *said;
	} refused[] = {
		{"set c { 80 }",
			"1:5: 'c' is a 'count' rule at work, and cannot become a 'set': remove it "
			"first\n"},
		{"each c port 0 proto max 1 idle 1s",
			"1:6: 'c' is a 'count' rule at work, and cannot become an 'each': remove "
			"it first\n"},
		{"counter s",
			"1:9: 's' is a 'set' at work, and cannot become a 'counter': remove it "
			"first\n"},
		{"count e port 0 pattern eth / end",
			"1:7: 'e' is an 'each' at work, and cannot become a 'count' rule: remove "
			"it first\n"},
		{"quota e 5 of d.bytes",
			"1:7: 'e' is an 'each' at work, and cannot become a 'quota': remove it "
			"first\n"},
	};
	static const char *const taken[] = {
		"allow c port 0 pattern eth / end",
		"counter n",
		"quota q 6 of d.bytes",
		"set s { 81 }",
		"each e port 0 proto max 2 idle 1s",
	};

	for (size_t i = 0; i < RTE_DIM(refused); i++) {
		char *said = bad_onto(refused[i].text, strlen(refused[i].text), work);

		assert_string_equal(said, refused[i].said);
		free(said);
	}
	for (size_t i = 0; i < RTE_DIM(taken); i++) {
		struct trip_rules_errors *errors;
		struct trip_rules *rules;

		assert_int_equal(trip_rules_parse_onto("test", taken[i], strlen(taken[i]), work,
					 strlen(work), &rules, &errors),
			0);
		trip_rules_free(rules);
	}
}

static void
test_allow(void **state)
{
	struct trip_rules *rules =
		good("allow us port 0 either pattern ipv4 src is 10.0.0.1 / end\n"
		     "allow dns port 0 egress pattern udp dst is 53 / end\n"
		     "count all port 0 pattern eth / end\nwhen us.bytes >= 1 pass us\n"
		     "quota q 5 of us.bytes\nwhen q spent drop all");

	assert_true(rules->counts[0].allow && rules->counts[1].allow && !rules->counts[2].allow);
	assert_int_equal(rules->counts[0].n_patterns, 2);
	assert_int_equal(rules->counts[1].direction, TRIP_RULES_EGRESS);
	/* What is allowed is meant to overlap. */
	assert_int_equal(rules->warnings->n_list, 0);
	trip_rules_free(rules);
	rules = good("allow a port 0 pattern ipv4 / end\nallow b port 0 pattern eth / ipv4 / end");
	assert_int_equal(rules->warnings->n_list, 1);
	trip_rules_free(rules);
}

/* What is said of the file of a set; to be freed. NULL: nothing is wrong, and it has so many. */
static char *
set_errors(const char *text, size_t length, size_t n_entries)
{
	struct trip_rules_set set = {.name = "s"};
	struct trip_rules_errors *errors;
	char *said = NULL;
	size_t size;
	FILE *file;

	if (trip_rules_set_parse(&set, "list", text, length, &errors) == 0) {
		assert_int_equal(set.n_entries, n_entries);
		free(set.entries);
		return NULL;
	}
	assert_null(set.entries);
	file = open_memstream(&said, &size);
	trip_rules_errors_print(errors, file);
	fclose(file);
	trip_rules_errors_free(errors);
	return said;
}

static void
test_set_files(void **state)
{
	static const char fine[] = "\xef\xbb\xbf# customers\r\n\r\n 10.0.0.0/8 # all of it\r\n"
				   "\t2001:db8::1\n\n443\n0.0.0.0/0\n::/0#\n65535";
	static const char wrong[] = "10.0.0.0/8\n10.0.0.0/8 10.1.0.0/16\nhost\n1.2.3.4/-1\n\0\n"
				    "1.2.3.4/032\n1.2.3.4/033\n1.2.3.4/33\n443/17\n99999\n";
	char *many = malloc(16 * (size_t)(TRIP_SET_ENTRIES_MAX + 2)), *at = many, *said;
	struct trip_rules_set set = {.name = "s", .path = (char *)(uintptr_t) "/nowhere/list"};
	struct trip_rules_errors *errors;

	assert_null(set_errors(fine, sizeof(fine) - 1, 6));
	assert_null(set_errors("", 0, 0));
	said = set_errors(wrong, sizeof(wrong) - 1, 0);
	assert_non_null(
		strstr(said, "list:2:1: expected an address, a prefix such as 10.0.0.0/8, or "
			     "a port, found '10.0.0.0/8 10.1.0.0/16'\n    2 | 10.0"));
	assert_non_null(strstr(said, "list:3:1: "));
	assert_non_null(strstr(said, "list:4:1: "));
	assert_non_null(strstr(said, "list:5:1: "));
	assert_non_null(strstr(said, "list:6:1: "));
	/* What is a limit alone is named. */
	assert_non_null(strstr(said, "found '1.2.3.4/033'\n"));
	assert_non_null(strstr(said, "'1.2.3.4/33': a prefix of IPv4 has at most 32 bits\n"));
	assert_non_null(strstr(said, "found '443/17'\n"));
	assert_non_null(strstr(said, "found '99999': a port is at most 65535\n"));
	assert_null(strstr(said, "list:11"));
	free(said);
	assert_non_null(many);
	for (unsigned int i = 0; i <= TRIP_SET_ENTRIES_MAX; i++)
		at += sprintf(
			at, "%u.%u.%u.%u\n", i >> 24, i >> 16 & 0xff, i >> 8 & 0xff, i & 0xff);
	said = set_errors(many, (size_t)(at - many), 0);
	assert_non_null(strstr(said, "list:1048577:1: a set has at most 1048576 entries"));
	free(said);
	memset(many, 'x', (size_t)(at - many));
	said = set_errors(many, (size_t)(at - many), 0);
	free(said);
	free(many);
	assert_int_equal(trip_rules_set_load(&set, &errors), -ENOENT);
	assert_string_equal(
		errors->list[0].message, "cannot read the set: No such file or directory");
	trip_rules_errors_free(errors);
	set.path = (char *)(uintptr_t) "/dev/zero";
	assert_true(trip_rules_set_load(&set, &errors) != 0);
	assert_string_equal(errors->list[0].message, "cannot read the set: it is no regular file");
	trip_rules_errors_free(errors);
}

static void
test_not_yet(void **state)
{
	check_mistakes(not_yet, RTE_DIM(not_yet));
}

static void
test_file(void **state)
{
	struct trip_rules *rules = good(
		"# quotas\r\n"
		"when dns.bytes >= 2GiB every 64k drop dns\r\n"
		"\r\n"
		"count dns port 3 ingress group 0 priority 7 engine sw \\\r\n"
		"\tpattern ipv4 / udp dst is 53 / end\\\n"
		"   actions passthru / end # to the resolver\n"
		"\tcounter  trips# all of them\n"
		"also count all port 0 engine hw pattern eth / end\n"
		"when all.packets>=5 pass dns\n"
		"when all.packets >= 0 delete dns\n"
		"when trips >= 0x10 every 1 set trips 0\n"
		"when dns.packets >= 9223372036854775807 add trips 5\n"
		"when trips >= 3 log \"it is \\\"late\\\" \\\\ # no comment\"\n"
		"when trips >= 4 log\nwhen trips >= 5 log at most 3 per 1m\n"
		"when trips >= 6 log \"at\" at most 0xff per 1ms\n"
		"when dns.packets >= 1 drop dns for 10m\n"
		"when dns.packets rate >= 5pps over 1s drop dns for 1500ms\n"
		"when trips >= 7 exec /usr/bin/notify#\nwhen trips >= 8 every 1 exec \"/a b\"");
	const struct trip_rules_count *dns = &rules->counts[0], *all = &rules->counts[1];
	const struct trip_rules_when *when = rules->whens;

	assert_int_equal(rules->n_counts, 2);
	assert_string_equal(dns->name, "dns");
	assert_int_equal(dns->line, 4);
	assert_string_equal(dns->source, "count dns port 3 ingress group 0 priority 7 engine sw "
					 "pattern ipv4 / udp dst is 53 / "
					 "end actions passthru / end");
	assert_int_equal(dns->ports[0].id, 3);
	assert_int_equal(dns->priority, 7);
	assert_false(dns->also);
	assert_int_equal(dns->engine, TRIP_FLOW_ENGINE_SW);
	assert_int_equal(dns->actions, TRIP_RULES_ACTION_PASSTHRU);
	assert_int_equal(dns->n_items, 2);
	assert_int_equal(dns->items[0].type, RTE_FLOW_ITEM_TYPE_IPV4);
	assert_null(dns->items[0].spec);
	assert_null(dns->items[0].mask);
	assert_int_equal(dns->items[1].type, RTE_FLOW_ITEM_TYPE_UDP);
	assert_null(dns->items[1].last);
	assert_int_equal(dns->items[2].type, RTE_FLOW_ITEM_TYPE_END);

	assert_string_equal(all->name, "all");
	assert_true(all->also);
	assert_int_equal(all->ports[0].id, 0);
	assert_int_equal(all->priority, 0);
	assert_int_equal(all->engine, TRIP_FLOW_ENGINE_HW);
	assert_int_equal(all->actions, 0);
	assert_int_equal(all->n_items, 1);

	assert_int_equal(rules->n_counters, 1);
	assert_string_equal(rules->counters[0].name, "trips");
	assert_int_equal(rules->counters[0].line, 7);

	assert_int_equal(rules->n_whens, 13);
	assert_int_equal(when[0].line, 2);
	assert_string_equal(when[0].source, "when dns.bytes >= 2GiB every 64k drop dns");
	assert_int_equal(when[0].ref, TRIP_RULES_REF_BYTES);
	assert_int_equal(when[0].index, 0);
	assert_int_equal(when[0].threshold, 2ull << 30);
	assert_int_equal(when[0].every, 64000);
	assert_int_equal(when[0].op, TRIP_RULES_OP_DROP);
	assert_int_equal(when[0].target, 0);
	assert_int_equal(when[1].ref, TRIP_RULES_REF_PACKETS);
	assert_int_equal(when[1].index, 1);
	assert_int_equal(when[1].op, TRIP_RULES_OP_PASS);
	assert_int_equal(when[1].target, 0);
	assert_int_equal(when[1].every, 0);
	assert_int_equal(when[2].threshold, 0);
	assert_int_equal(when[2].op, TRIP_RULES_OP_DELETE);
	assert_int_equal(when[3].ref, TRIP_RULES_REF_COUNTER);
	assert_int_equal(when[3].index, 0);
	assert_int_equal(when[3].threshold, 16);
	assert_int_equal(when[3].every, 1);
	assert_int_equal(when[3].op, TRIP_RULES_OP_SET);
	assert_int_equal(when[3].value, 0);
	assert_int_equal(when[4].threshold, INT64_MAX);
	assert_int_equal(when[4].op, TRIP_RULES_OP_ADD);
	assert_int_equal(when[4].target, 0);
	assert_int_equal(when[4].value, 5);
	assert_int_equal(when[5].op, TRIP_RULES_OP_LOG);
	assert_string_equal(when[5].text, "it is \"late\" \\ # no comment");
	assert_int_equal(when[6].op, TRIP_RULES_OP_LOG);
	assert_null(when[6].text);
	assert_int_equal(when[6].most, 10);
	assert_int_equal(when[6].per, 1000000000);
	assert_null(when[7].text);
	assert_int_equal(when[7].most, 3);
	assert_int_equal(when[7].per, UINT64_C(60000000000));
	assert_string_equal(when[8].text, "at");
	assert_int_equal(when[8].most, 255);
	assert_int_equal(when[8].per, 1000000);
	assert_int_equal(when[4].most, 10);
	assert_int_equal(when[4].per, 1000000000);
	assert_int_equal(when[0].lasts, 0);
	assert_int_equal(when[9].op, TRIP_RULES_OP_DROP);
	assert_int_equal(when[9].lasts, UINT64_C(600000000000));
	assert_string_equal(when[9].lasts_text, "10m");
	assert_int_equal(when[9].every, 0);
	/* Each further time that it holds prolongs it. */
	assert_int_equal(when[10].lasts, 1500000000);
	assert_int_equal(when[10].every, 1);
	assert_int_equal(when[11].op, TRIP_RULES_OP_EXEC);
	assert_string_equal(when[11].text, "/usr/bin/notify");
	assert_string_equal(when[12].text, "/a b");
	trip_rules_free(rules);
}

/* Each operation, and each condition, in a line that is right. */
static void
test_words(void **state)
{
	static const enum trip_condition_kind conditions[] = {TRIP_CONDITION_ROWS(KIND)};
	struct trip_rules *rules =
		good("count g port 0 pattern eth / end\ncounter c\n"
		     "when c >= 1 police g 3MB/s\nwhen c >= 1 police g 10kpps\n"
		     "when c >= 1 drop g\nwhen c >= 1 pass g\nwhen c >= 1 delete g\n"
		     "when c >= 1 add c 1\nwhen c >= 1 set c 1\nwhen c >= 1 reset c\n"
		     "when c >= 1 log\nwhen c >= 1 exec /a\n"
		     "when c idle 1s log\nwhen c rate >= 5/s over 1s log\n"
		     "when all(c >= 1) log\nwhen any(c >= 1) log\n"
		     "each e port 0 ipv4.src max 1 idle 1s\nwhen e.packets >= 1 drop e\n"
		     "when e.packets >= 1 reset e\n"
		     "each f port 0 ipv4.src max 1 idle 1s\nwhen f.packets >= 1 police f 1pps\n");
	uint64_t ops = 0, kinds = 0;

	for (unsigned int i = 0; i < rules->n_whens; i++) {
		ops |= UINT64_C(1) << rules->whens[i].op;
		kinds |= UINT64_C(1) << rules->whens[i].condition.kind;
	}
	for (enum trip_rules_op op = 0; op < TRIP_RULES_OPS_END; op++)
		if ((ops >> op & 1) == 0)
			fail_msg("no line here has '%s'", trip_rules_op_of(op)->word);
	for (unsigned int i = 0; i < RTE_DIM(conditions); i++)
		if ((kinds >> conditions[i] & 1) == 0)
			fail_msg("no line here has condition %d", conditions[i]);
	assert_int_equal(rules->whens[0].value, 24000000);
	assert_int_equal(rules->whens[0].unit, TRIP_POLICE_UNIT_BITS);
	assert_string_equal(rules->whens[0].rate_text, "3MB/s");
	assert_int_equal(rules->whens[1].value, 10000);
	assert_int_equal(rules->whens[1].unit, TRIP_POLICE_UNIT_PACKETS);
	trip_rules_free(rules);
}

/* Times, and a counter that has the word for its name. */
static void
test_times(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {{"0ns", 0}, {"1ns", 1}, {"7us", 7000}, {"250ms", 250000000},
		{"10s", 10000000000}, {"5m", 300000000000}, {"2h", 7200000000000},
		{"10000d", 864000000000000000}};
	struct trip_rules *rules;
	char text[64];

	for (unsigned int i = 0; i < RTE_DIM(times); i++) {
		snprintf(text, sizeof(text), "when after %s log", times[i].text);
		rules = good(text);
		assert_int_equal(rules->n_whens, 1);
		assert_int_equal(rules->whens[0].ref, TRIP_RULES_REF_CLOCK);
		assert_int_equal(rules->whens[0].threshold, times[i].ns);
		assert_int_equal(rules->whens[0].every, 0);
		assert_string_equal(rules->whens[0].source, text);
		trip_rules_free(rules);
	}
	rules = good("when after 1s \\\n every 1ms log\ncounter after\n"
		     "when after >= 5 every 2 add after 1\nwhen after>=5 log\n");
	assert_int_equal(rules->whens[0].ref, TRIP_RULES_REF_CLOCK);
	assert_int_equal(rules->whens[0].every, 1000000);
	for (unsigned int i = 1; i < 3; i++) {
		assert_int_equal(rules->whens[i].ref, TRIP_RULES_REF_COUNTER);
		assert_int_equal(rules->whens[i].threshold, 5);
	}
	assert_int_equal(rules->whens[1].every, 2);
	trip_rules_free(rules);
	rules = good("counter every\nwhen every 2s add every 1\nwhen every >= 5 every 2 log\n");
	assert_int_equal(rules->whens[0].ref, TRIP_RULES_REF_CLOCK);
	assert_int_equal(rules->whens[0].threshold, 2000000000);
	assert_int_equal(rules->whens[0].every, 2000000000);
	assert_int_equal(rules->whens[1].ref, TRIP_RULES_REF_COUNTER);
	assert_int_equal(rules->whens[1].every, 2);
	trip_rules_free(rules);
}

/* Conditions of a time, and counters that have their names. */
static void
test_conditions(void **state)
{
	struct trip_rules *rules =
		good("count g port 0 pattern eth / end\ncounter idle\n"
		     "when g.packets idle 30s delete g\nwhen g.bytes  idle\t5m every 2k log\n"
		     "when idle idle 1ns add idle 1\nwhen idle >= 5 log\n");
	static const struct {
		const char *text;
		uint64_t time, every;
		enum trip_rules_ref ref;
	} expected[] = {{"idle 30s", 30000000000, 0, TRIP_RULES_REF_PACKETS},
		{"idle 5m", 300000000000, 2000, TRIP_RULES_REF_BYTES},
		{"idle 1ns", 1, 0, TRIP_RULES_REF_COUNTER}};

	assert_int_equal(rules->n_whens, 4);
	for (unsigned int i = 0; i < RTE_DIM(expected); i++) {
		const struct trip_rules_when *when = &rules->whens[i];

		assert_int_equal(when->condition.kind, TRIP_CONDITION_IDLE);
		assert_int_equal(when->condition.size, sizeof(when->condition));
		assert_int_equal(when->condition.when.idle.time, expected[i].time);
		assert_string_equal(when->condition_text, expected[i].text);
		assert_int_equal(when->every, expected[i].every);
		assert_int_equal(when->ref, expected[i].ref);
		assert_int_equal(when->threshold, 0);
	}
	assert_int_equal(rules->whens[3].condition.kind, TRIP_CONDITION_NONE);
	assert_null(rules->whens[3].condition_text);
	trip_rules_free(rules);
}

static void
note_pair(void *arg, struct trip_rules_pair *pair)
{
	*(unsigned int *)arg = *(unsigned int *)arg * 10 + pair->ref;
}

static void
test_pairs(void **state)
{
	struct trip_rules *rules = good(
		"count g port 0 pattern eth / end\ncounter all\nquota q 8k of g.bytes\n"
		"when all(g.bytes >= 1G, all >= 0x3, q spent, after 5m) drop g for 5s\n"
		"when any ( g.packets rate >= 10/s over 2s,\\\n\t all(all idle 3s, g.packets>=7) ) "
		"log\nwhen all >= 5 log\nwhen any(q >= 50 %) log\n");
	const struct trip_rules_when *when = rules->whens;
	const struct trip_rules_pair *pair = when[0].pairs->pair;
	unsigned int refs = 0;

	assert_int_equal(when[0].ref, TRIP_RULES_REF_PAIRS);
	assert_int_equal(when[0].condition.kind, TRIP_CONDITION_ALL);
	assert_string_equal(
		when[0].condition_text, "all(g.bytes >= 1G, all >= 0x3, q spent, after 5m)");
	assert_int_equal(when[0].lasts, 5000000000);
	assert_int_equal(when[0].every, 0);
	assert_int_equal(when[0].pairs->n, 4);
	assert_int_equal(pair[0].threshold, 1000000000);
	assert_int_equal(pair[1].threshold, 3);
	assert_int_equal(pair[2].threshold, 8000);
	assert_int_equal(pair[3].threshold, 300000000000);
	assert_int_equal(pair[2].index, 1);
	pair = when[1].pairs->pair;
	assert_string_equal(when[1].condition_text,
		"any ( g.packets rate >= 10/s over 2s, all(all idle 3s, g.packets>=7) )");
	assert_int_equal(when[1].pairs->kind, TRIP_CONDITION_ANY);
	assert_int_equal(pair[0].condition.kind, TRIP_CONDITION_RATE);
	assert_int_equal(pair[0].condition.when.rate.count, 20);
	assert_int_equal(pair[1].nested->kind, TRIP_CONDITION_ALL);
	assert_int_equal(pair[1].nested->pair[0].condition.when.idle.time, 3000000000);
	assert_int_equal(pair[1].nested->pair[1].threshold, 7);
	trip_rules_pairs_walk(when[1].pairs, note_pair, &refs);
	assert_int_equal(refs, TRIP_RULES_REF_PACKETS * 100 + TRIP_RULES_REF_COUNTER * 10 +
				       TRIP_RULES_REF_PACKETS);
	assert_null(when[2].pairs);
	assert_int_equal(when[3].pairs->pair[0].threshold, 4000);
	trip_rules_free(rules);
}

/* As many as the rate is within the time: exactly, or rounded up. */
static void
test_rates(void **state)
{
	struct trip_rules *rules = good("count g port 0 pattern eth / end\ncounter rate\n"
					"when g.bytes rate >= 1Gbit/s over 5s drop g\n"
					"when g.packets rate >= 10kpps over 500ms every 1 log\n"
					"when g.packets   rate>=3/m   over 90s log\nwhen rate rate "
					">= 5/h over 1d add rate 1\n"
					"when g.bytes rate >= 100MB/s over 1m log\nwhen g.bytes "
					"rate >= 2GiB/s over 100us log\n"
					"when g.packets rate >= 1Gpps over 100us log\n"
					"when g.bytes rate >= 1bit/s over 8s log\n"
					"when g.packets rate >= 9223372036854775807/d over 1d "
					"log\nwhen rate rate >= 1/d over "
					"10000d log\n"
					"when g.packets rate >= 10kpps over 500ms until < "
					"5kpps for 1m drop g\n"
					"when g.bytes rate >= 1GB/s over 1s until<3bit/s for "
					"  3s every 1 add rate 1\n"
					"when rate >= 5 log\n");
	static const struct {
		const char *text;
		uint64_t count, time, every;
		enum trip_rules_ref ref;
		uint64_t until_count, until_time;
	} expected[] = {
		{"rate >= 1Gbit/s over 5s", 625000000, 5000000000, 0, TRIP_RULES_REF_BYTES},
		{"rate >= 10kpps over 500ms", 5000, 500000000, 1, TRIP_RULES_REF_PACKETS},
		{"rate >= 3/m over 90s", 5, 90000000000, 0, TRIP_RULES_REF_PACKETS},
		{"rate >= 5/h over 1d", 120, 86400000000000, 0, TRIP_RULES_REF_COUNTER},
		{"rate >= 100MB/s over 1m", 6000000000, 60000000000, 0, TRIP_RULES_REF_BYTES},
		{"rate >= 2GiB/s over 100us", 214749, 100000, 0, TRIP_RULES_REF_BYTES},
		{"rate >= 1Gpps over 100us", 100000, 100000, 0, TRIP_RULES_REF_PACKETS},
		{"rate >= 1bit/s over 8s", 1, 8000000000, 0, TRIP_RULES_REF_BYTES},
		{"rate >= 9223372036854775807/d over 1d", INT64_MAX, 86400000000000, 0,
			TRIP_RULES_REF_PACKETS},
		{"rate >= 1/d over 10000d", 10000, 864000000000000000, 0, TRIP_RULES_REF_COUNTER},
		{"rate >= 10kpps over 500ms until < 5kpps for 1m", 5000, 500000000, 1,
			TRIP_RULES_REF_PACKETS, 300000, 60000000000},
		{"rate >= 1GB/s over 1s until < 3bit/s for 3s", 1000000000, 1000000000, 1,
			TRIP_RULES_REF_BYTES, 2, 3000000000},
	};

	assert_int_equal(rules->n_whens, RTE_DIM(expected) + 1);
	for (unsigned int i = 0; i < RTE_DIM(expected); i++) {
		const struct trip_rules_when *when = &rules->whens[i];

		assert_int_equal(when->condition.kind, TRIP_CONDITION_RATE);
		assert_int_equal(when->condition.size, sizeof(when->condition));
		assert_int_equal(when->condition.when.rate.count, expected[i].count);
		assert_int_equal(when->condition.when.rate.time, expected[i].time);
		assert_int_equal(when->condition.when.rate.until_count, expected[i].until_count);
		assert_int_equal(when->condition.when.rate.until_time, expected[i].until_time);
		assert_string_equal(when->condition_text, expected[i].text);
		assert_int_equal(when->every, expected[i].every);
		assert_int_equal(when->ref, expected[i].ref);
		assert_int_equal(when->threshold, 0);
	}
	assert_int_equal(rules->whens[RTE_DIM(expected)].condition.kind, TRIP_CONDITION_NONE);
	trip_rules_free(rules);
}

/* What a rule may have besides its pattern. */
/* Of a quota, 80 is hardly meant to be 80 bytes. */
static void
test_part_without_percent(void **state)
{
	struct trip_rules *rules = good("count g port 0 pattern eth / end\n"
					"quota q 1GB of g.bytes\nquota small 100 of g.packets\n"
					"when q >= 80 log\nwhen q >= 80 % log\n"
					"when q >= 101 log\nwhen small >= 80 log\n");

	assert_int_equal(rules->warnings->n_list, 1);
	assert_int_equal(rules->warnings->list[0].line, 4);
	assert_string_equal(rules->warnings->list[0].message,
		"warning: 'q' >= 80 is so many bytes: a part of the quota has a '%' behind it");
	trip_rules_free(rules);
}

static void
test_attributes(void **state)
{
	struct trip_rules *rules =
		good("count a port name \"0000:03:00.0\" egress group 7 priority 3 pattern eth / "
		     "end actions mark id 0xffffffff / queue index 65535 / end\n"
		     "count b port mac 2:0:00:aB:cD:fe pattern eth / end actions rss / mark id 0 / "
		     "end\n"
		     "also count c port 65534 ingress pattern eth / end actions passthru / mark id "
		     "5 / end\n"
		     "count d port wlp2s0.7 either pattern eth / end\n"
		     "count e port name_1 group 5 pattern eth / end\n"
		     "count f port 1, eth0,name \"x\" ,mac 2:0:0:0:0:1 egress pattern eth / end\n"
		     "count g port any priority 2 pattern eth / end\n");
	static const uint8_t mac[6] = {0x02, 0, 0, 0xab, 0xcd, 0xfe};
	const struct trip_rules_count *count = rules->counts;

	assert_int_equal(count[0].ports[0].by, TRIP_RULES_PORT_NAME);
	assert_string_equal(count[0].ports[0].name, "0000:03:00.0");
	assert_int_equal(count[0].direction, TRIP_RULES_EGRESS);
	assert_int_equal(count[0].group, 7);
	assert_int_equal(count[0].priority, 3);
	assert_int_equal(count[0].actions, TRIP_RULES_ACTION_MARK | TRIP_RULES_ACTION_QUEUE);
	assert_int_equal(count[0].mark, UINT32_MAX);
	assert_int_equal(count[0].queue, UINT16_MAX);
	assert_int_equal(count[1].ports[0].by, TRIP_RULES_PORT_MAC);
	assert_memory_equal(count[1].ports[0].mac, mac, sizeof(mac));
	assert_int_equal(count[1].direction, TRIP_RULES_INGRESS);
	assert_int_equal(count[1].group, 0);
	assert_int_equal(count[1].actions, TRIP_RULES_ACTION_MARK | TRIP_RULES_ACTION_RSS);
	assert_int_equal(count[2].ports[0].by, TRIP_RULES_PORT_ID);
	assert_int_equal(count[2].ports[0].id, 65534);
	assert_int_equal(count[2].actions, TRIP_RULES_ACTION_MARK | TRIP_RULES_ACTION_PASSTHRU);
	assert_int_equal(count[2].mark, 5);
	assert_int_not_equal(count[3].ports[0].by, TRIP_RULES_PORT_ID);
	assert_string_equal(count[3].ports[0].name, "wlp2s0.7");
	assert_int_equal(count[3].direction, TRIP_RULES_EITHER);
	assert_string_equal(count[4].ports[0].name, "name_1");
	assert_int_equal(count[4].group, 5);
	assert_int_equal(count[5].n_ports, 4);
	assert_int_equal(count[5].ports[0].id, 1);
	assert_string_equal(count[5].ports[1].name, "eth0");
	assert_string_equal(count[5].ports[2].name, "x");
	assert_int_equal(count[5].ports[3].mac[5], 1);
	assert_int_equal(count[5].direction, TRIP_RULES_EGRESS);
	assert_int_equal(count[6].n_ports, 1);
	assert_int_equal(count[6].ports[0].by, TRIP_RULES_PORT_ANY);
	assert_int_equal(count[6].priority, 2);
	assert_int_equal(trip_rules_set_ports(&rules->counts[6], (uint16_t[]){3, 5, 3}, 3), 0);
	assert_int_equal(count[6].n_ports, 2);
	assert_true(trip_rules_has_port(&count[6], 5));
	assert_false(trip_rules_has_port(&count[6], 0));
	trip_rules_free(rules);
}

static void
test_empty(void **state)
{
	static const char *const texts[] = {
		"", "\n", "\r\n\r\n", "# only a comment", " \t\\\n\n", "\\", "#\\\n", "# \"\n"};

	for (size_t i = 0; i < RTE_DIM(texts); i++) {
		struct trip_rules *rules = good(texts[i]);

		assert_int_equal(rules->n_counts + rules->n_counters + rules->n_whens, 0);
		trip_rules_free(rules);
	}
}

/* Words of the language are names where a name stands; only "port" and "each" are not. */
static void
test_names(void **state)
{
	struct trip_rules *rules =
		good("count drop port 0 pattern eth / end\n"
		     "count when port 0 pattern eth / end\n"
		     "count all port 0 pattern eth / end\n"
		     "count a.b-c_9 port 0 pattern eth / end\n"
		     "counter packets\ncounter log\n"
		     "counter x2345678901234567890123456789012\n"
		     "when all.packets >= 1 drop when\n"
		     "when drop.bytes >= 1 drop drop\n"
		     "when a.b-c_9.bytes >= 1 add x2345678901234567890123456789012 1\n"
		     "when packets >= 1 set log 1\n");

	assert_int_equal(rules->n_counts, 4);
	assert_string_equal(rules->counts[3].name, "a.b-c_9");
	assert_int_equal(rules->whens[0].index, 2);
	assert_int_equal(rules->whens[0].target, 1);
	assert_int_equal(rules->whens[2].index, 3);
	assert_int_equal(rules->whens[2].target, 2);
	assert_int_equal(rules->whens[3].index, 0);
	assert_int_equal(rules->whens[3].target, 1);
	trip_rules_free(rules);
}

static void
test_values(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} values[] = {
		{"0", 0},
		{"1", 1},
		{"0xff", 255},
		{"0XfF", 255},
		{"7B", 7},
		{"10k", 10000},
		{"10kB", 10000},
		{"1M", 1000000},
		{"2G", 2000000000},
		{"3T", 3000000000000},
		{"3TB", 3000000000000},
		{"1Ki", 1024},
		{"1KiB", 1024},
		{"1Mi", 1ull << 20},
		{"5GiB", 5ull << 30},
		{"8388607Ti", 8388607ull << 40},
		{"9223372036854775807", INT64_MAX},
		{"9223372036854775k", 9223372036854775000},
	};
	char text[128];

	for (size_t i = 0; i < RTE_DIM(values); i++) {
		struct trip_rules *rules;

		snprintf(text, sizeof(text), "counter c\nwhen c >= %s log", values[i].text);
		rules = good(text);
		assert_int_equal(rules->whens[0].threshold, values[i].value);
		trip_rules_free(rules);
	}
}

/* Parses one item and compares it, byte for byte, with what it should be. */
static void
check_item(const char *item, enum rte_flow_item_type type, const void *spec, const void *mask,
	size_t size)
{
	struct trip_rules *rules;
	char text[256];

	snprintf(text, sizeof(text), "count c port 0 pattern %s / end", item);
	rules = good(text);
	assert_int_equal(rules->counts[0].n_items, 1);
	assert_int_equal(rules->counts[0].items[0].type, type);
	assert_memory_equal(rules->counts[0].items[0].spec, spec, size);
	assert_memory_equal(rules->counts[0].items[0].mask, mask, size);
	trip_rules_free(rules);
}

/* Static, so that padding is zero on both sides. */
#define ITEM(text, TYPE, type, spec_init, mask_init)                                     \
	do {                                                                             \
		static const struct type spec = spec_init;                               \
		static const struct type mask = mask_init;                               \
		check_item(text, RTE_FLOW_ITEM_TYPE_##TYPE, &spec, &mask, sizeof(spec)); \
	} while (0)
#define INIT(...)           \
	{                   \
		__VA_ARGS__ \
	}

static void
test_items_l2(void **state)
{
	ITEM("eth dst is 02:00:00:0a:0B:c src spec 1:2:3:4:5:6 src prefix 20 type is 0x0800 "
	     "has_vlan is 1",
		ETH, rte_flow_item_eth,
		INIT(.hdr = {.dst_addr.addr_bytes = {2, 0, 0, 10, 11, 12},
			     .src_addr.addr_bytes = {1, 2, 0, 0, 0, 0},
			     .ether_type = RTE_BE16(0x800)},
			.has_vlan = 1),
		INIT(.hdr = {.dst_addr.addr_bytes = {255, 255, 255, 255, 255, 255},
			     .src_addr.addr_bytes = {255, 255, 240, 0, 0, 0},
			     .ether_type = RTE_BE16(0xffff)},
			.has_vlan = 1));
	ITEM("vlan tci spec 0x6005 tci mask 0xf00f inner_type is 0x86dd has_more_vlan is 0", VLAN,
		rte_flow_item_vlan,
		INIT(.hdr = {.vlan_tci = RTE_BE16(0x6005), .eth_proto = RTE_BE16(0x86dd)}),
		INIT(.hdr = {.vlan_tci = RTE_BE16(0xf00f), .eth_proto = RTE_BE16(0xffff)},
			.has_more_vlan = 1));
	ITEM("vlan vid is 4094 dei is 1 pcp is 5", VLAN, rte_flow_item_vlan,
		INIT(.hdr.vlan_tci = RTE_BE16(0xbffe)), INIT(.hdr.vlan_tci = RTE_BE16(0xffff)));
	ITEM("vlan vid spec 0xabc vid prefix 4", VLAN, rte_flow_item_vlan,
		INIT(.hdr.vlan_tci = RTE_BE16(0x0a00)), INIT(.hdr.vlan_tci = RTE_BE16(0x0f00)));
	ITEM("vlan pcp spec 7 pcp mask 4 tci spec 0x9fff tci mask 0x00ff", VLAN, rte_flow_item_vlan,
		INIT(.hdr.vlan_tci = RTE_BE16(0x80ff)), INIT(.hdr.vlan_tci = RTE_BE16(0x80ff)));
}

static void
test_items_l3(void **state)
{
	ITEM("ipv4 version_ihl is 0x45 tos is 1 length is 0x203 packet_id is 0x405 "
	     "fragment_offset is 0x607 ttl is 8 proto is 9 src is 10.1.2.3 dst is 0xc0a80001",
		IPV4, rte_flow_item_ipv4,
		INIT(.hdr = {.version_ihl = 0x45,
			     .type_of_service = 1,
			     .total_length = RTE_BE16(0x203),
			     .packet_id = RTE_BE16(0x405),
			     .fragment_offset = RTE_BE16(0x607),
			     .time_to_live = 8,
			     .next_proto_id = 9,
			     .src_addr = RTE_BE32(0x0a010203),
			     .dst_addr = RTE_BE32(0xc0a80001)}),
		INIT(.hdr = {.version_ihl = 255,
			     .type_of_service = 255,
			     .total_length = 0xffff,
			     .packet_id = 0xffff,
			     .fragment_offset = 0xffff,
			     .time_to_live = 255,
			     .next_proto_id = 255,
			     .src_addr = 0xffffffff,
			     .dst_addr = 0xffffffff}));
	ITEM("ipv4 src spec 10.1.2.3 src mask 255.255.0.0 dst prefix 13 dst spec 172.31.9.9", IPV4,
		rte_flow_item_ipv4,
		INIT(.hdr = {.src_addr = RTE_BE32(0x0a010000), .dst_addr = RTE_BE32(0xac180000)}),
		INIT(.hdr = {.src_addr = RTE_BE32(0xffff0000), .dst_addr = RTE_BE32(0xfff80000)}));
	ITEM("ipv4 src is 10.1.2.3/16 dst is 172.31.9.9/13", IPV4, rte_flow_item_ipv4,
		INIT(.hdr = {.src_addr = RTE_BE32(0x0a010000), .dst_addr = RTE_BE32(0xac180000)}),
		INIT(.hdr = {.src_addr = RTE_BE32(0xffff0000), .dst_addr = RTE_BE32(0xfff80000)}));
	ITEM("ipv4 src is 0.0.0.0/0 dst is 1.2.3.4/32", IPV4, rte_flow_item_ipv4,
		INIT(.hdr.dst_addr = RTE_BE32(0x01020304)), INIT(.hdr.dst_addr = 0xffffffff));
	ITEM("ipv4 src spec 10.1.2.3 src prefix 0 ttl spec 64", IPV4, rte_flow_item_ipv4,
		INIT(.hdr.time_to_live = 64), INIT(.hdr.time_to_live = 255));
	ITEM("ipv6 tc is 0xab flow is 0xcdef1 proto is 6 hop is 64 has_frag_ext is 1", IPV6,
		rte_flow_item_ipv6,
		INIT(.hdr = {.vtc_flow = RTE_BE32(0x0abcdef1), .proto = 6, .hop_limits = 64},
			.has_frag_ext = 1),
		INIT(.hdr = {.vtc_flow = RTE_BE32(0x0fffffff), .proto = 255, .hop_limits = 255},
			.has_frag_ext = 1));
}

/* The type of an IPv6 address differs between DPDK versions; its place and its bytes do not. */
static void
test_items_ipv6(void **state)
{
	static const uint8_t source[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 0x01};
	static const uint8_t network[16] = {0xfe, 0x80};
	static const uint8_t wide[16] = {0xff, 0xc0};
	struct rte_flow_item_ipv6 spec, mask;

	memset(&spec, 0, sizeof(spec));
	memset(&mask, 0, sizeof(mask));
	memcpy(&spec.hdr.src_addr, source, sizeof(source));
	memset(&mask.hdr.src_addr, 0xff, sizeof(source));
	memcpy(&spec.hdr.dst_addr, network, sizeof(network));
	memcpy(&mask.hdr.dst_addr, wide, sizeof(wide));
	check_item("ipv6 src is 2001:db8::1 dst spec fe80::1 dst prefix 10",
		RTE_FLOW_ITEM_TYPE_IPV6, &spec, &mask, sizeof(spec));
	check_item("ipv6 src is 2001:db8::1/128 dst is fe80::1/10", RTE_FLOW_ITEM_TYPE_IPV6, &spec,
		&mask, sizeof(spec));
	check_item("ipv6 src is 2001:db8:0:0::1 dst spec febf:: dst mask ffc0::",
		RTE_FLOW_ITEM_TYPE_IPV6, &spec, &mask, sizeof(spec));
}

static void
test_items_l4(void **state)
{
	ITEM("tcp src is 1024 dst is 0x50 flags spec 0x12 flags mask 2", TCP, rte_flow_item_tcp,
		INIT(.hdr = {.src_port = RTE_BE16(1024), .dst_port = RTE_BE16(80), .tcp_flags = 2}),
		INIT(.hdr = {.src_port = 0xffff, .dst_port = 0xffff, .tcp_flags = 2}));
	ITEM("udp src spec 0x1234 src mask 0xff00 dst is 53", UDP, rte_flow_item_udp,
		INIT(.hdr = {.src_port = RTE_BE16(0x1200), .dst_port = RTE_BE16(53)}),
		INIT(.hdr = {.src_port = RTE_BE16(0xff00), .dst_port = 0xffff}));
	ITEM("icmp type is 8 code is 0 ident is 0x102 seq is 0x304", ICMP, rte_flow_item_icmp,
		INIT(.hdr = {.icmp_type = 8,
			     .icmp_ident = RTE_BE16(0x102),
			     .icmp_seq_nb = RTE_BE16(0x304)}),
		INIT(.hdr = {.icmp_type = 255,
			     .icmp_code = 255,
			     .icmp_ident = 0xffff,
			     .icmp_seq_nb = 0xffff}));
	ITEM("icmp6 type is 135 code spec 5 code mask 1", ICMP6, rte_flow_item_icmp6,
		INIT(.type = 135, .code = 1), INIT(.type = 255, .code = 1));
	ITEM("sctp src is 2905 dst spec 0x1234 dst mask 0xff tag is 0x1020304 cksum is 5", SCTP,
		rte_flow_item_sctp,
		INIT(.hdr = {.src_port = RTE_BE16(2905),
			     .dst_port = RTE_BE16(0x34),
			     .tag = RTE_BE32(0x1020304),
			     .cksum = RTE_BE32(5)}),
		INIT(.hdr = {.src_port = 0xffff,
			     .dst_port = RTE_BE16(0xff),
			     .tag = 0xffffffff,
			     .cksum = 0xffffffff}));
}

static void
test_items_tunnel(void **state)
{
	ITEM("vxlan vni is 0x123456", VXLAN, rte_flow_item_vxlan,
		INIT(.hdr.vx_vni = RTE_BE32(0x12345600)), INIT(.hdr.vx_vni = RTE_BE32(0xffffff00)));
	ITEM("vxlan vni spec 0x123456 vni prefix 8 last_rsvd is 7", VXLAN, rte_flow_item_vxlan,
		INIT(.hdr.vx_vni = RTE_BE32(0x12000007)), INIT(.hdr.vx_vni = RTE_BE32(0xff0000ff)));
	ITEM("gre protocol is 0x6558 k_bit is 1 c_bit is 0", GRE, rte_flow_item_gre,
		INIT(.c_rsvd0_ver = RTE_BE16(0x2000), .protocol = RTE_BE16(0x6558)),
		INIT(.c_rsvd0_ver = RTE_BE16(0xa000), .protocol = 0xffff));
	ITEM("gre c_rsvd0_ver spec 0x8001 c_rsvd0_ver mask 0xfff8", GRE, rte_flow_item_gre,
		INIT(.c_rsvd0_ver = RTE_BE16(0x8000)), INIT(.c_rsvd0_ver = RTE_BE16(0xfff8)));
}

/* The members of rte_flow_item_gtp have other names in each version of DPDK. */
struct gtp_bytes {
	uint8_t bytes[8];
};

static void
test_items_carriers(void **state)
{
	ITEM("mpls label is 0x12345 s is 1", MPLS, rte_flow_item_mpls,
		INIT(.label_tc_s = {0x12, 0x34, 0x51}), INIT(.label_tc_s = {0xff, 0xff, 0xf1}));
	ITEM("mpls tc is 5 ttl is 64", MPLS, rte_flow_item_mpls,
		INIT(.label_tc_s = {0, 0, 0x0a}, .ttl = 64),
		INIT(.label_tc_s = {0, 0, 0x0e}, .ttl = 255));
	ITEM("geneve vni is 0x123456 optlen is 3", GENEVE, rte_flow_item_geneve,
		INIT(.ver_opt_len_o_c_rsvd0 = RTE_BE16(0x0300), .vni = {0x12, 0x34, 0x56}),
		INIT(.ver_opt_len_o_c_rsvd0 = RTE_BE16(0x3f00), .vni = {0xff, 0xff, 0xff}));
	ITEM("gtpu teid is 0x12345678 msg_type is 255", GTPU, gtp_bytes,
		INIT({0, 255, 0, 0, 0x12, 0x34, 0x56, 0x78}),
		INIT({0, 255, 0, 0, 0xff, 0xff, 0xff, 0xff}));
	ITEM("gtp_psc qfi is 9 pdu_t is 1", GTP_PSC, rte_flow_item_gtp_psc,
		INIT(.hdr = {.type = 1, .qfi = 9}), INIT(.hdr = {.type = 15, .qfi = 63}));
	ITEM("pppoes seid is 5", PPPOES, rte_flow_item_pppoe, INIT(.session_id = RTE_BE16(5)),
		INIT(.session_id = 0xffff));
	ITEM("esp spi is 0x1000 seq is 2", ESP, rte_flow_item_esp,
		INIT(.hdr = {.spi = RTE_BE32(0x1000), .seq = RTE_BE32(2)}),
		INIT(.hdr = {.spi = 0xffffffff, .seq = 0xffffffff}));
	ITEM("ah spi spec 0x1000 spi prefix 16", AH, rte_flow_item_ah, INIT(.spi = 0),
		INIT(.spi = RTE_BE32(0xffff0000)));
}

/* Every order of items that the language has. */
static void
test_item_order(void **state)
{
	static const struct {
		const char *pattern;
		unsigned int n;
	} orders[] = {
		{"eth", 1},
		{"vlan / ipv4", 2},
		{"ipv6 / icmp6", 2},
		{"icmp6", 1},
		{"icmp", 1},
		{"vxlan vni is 5", 1},
		{"eth / vlan / vlan / ipv4 / sctp", 5},
		{"eth / ipv4 / udp / vxlan / eth / vlan / vlan / ipv6 / tcp", 9},
		{"eth / vlan / vlan / ipv6 / udp / vxlan / eth / vlan / vlan / ipv4 / icmp", 11},
		{"udp / vxlan / vlan / ipv4", 4},
		{"vxlan / ipv6 / icmp6", 3},
		{"vxlan / tcp dst is 80", 2},
		{"ipv6 / gre / ipv4 / udp dst is 53", 4},
		{"eth / ipv4 / gre / eth / ipv4", 5},
		{"gre / eth / vlan / vlan", 4},
		{"eth / vlan / vlan / mpls / mpls / ipv4 / udp", 7},
		{"mpls / tcp", 2},
		{"eth / vlan / pppoes / ipv6 / udp", 5},
		{"eth / ipv4 / udp / gtpu / gtp_psc / ipv6 / icmp6", 7},
		{"gtpu / ipv4 / esp", 3},
		{"udp / geneve / eth / vlan / ipv4 / ah", 6},
	};
	char text[256];

	for (size_t i = 0; i < RTE_DIM(orders); i++) {
		struct trip_rules *rules;

		snprintf(text, sizeof(text), "count c port 0 pattern %s / end", orders[i].pattern);
		rules = good(text);
		assert_int_equal(rules->counts[0].n_items, orders[i].n);
		trip_rules_free(rules);
	}
}

static char *
printed(const char *text, size_t length)
{
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	char *said = NULL;
	size_t size;
	FILE *file = open_memstream(&said, &size);

	assert_int_equal(
		trip_rules_parse_text("quota.rules", text, length, &rules, &errors), -EINVAL);
	trip_rules_errors_print(errors, file);
	fclose(file);
	trip_rules_errors_free(errors);
	return said;
}

static void
test_print(void **state)
{
	static const struct {
		const char *text;
		const char *said;
	} prints[] = {
		{"\n\tcount\ta prt 0\r\n", "quota.rules:2:10: expected 'port', found 'prt'\n"
					   "    2 | \tcount\ta prt 0\n"
					   "      | \t     \t  ^~~\n"},
		{"counter", "quota.rules:1:8: expected a name, found the end of the line\n"
			    "    1 | counter\n"
			    "      |        ^\n"},
		/* A wide character is one column wide, and what is no character is shown as '?'. */
		{"counter a # b\ncounter \x1b\xff\xc3\xa9\xc2\x9b x",
			"quota.rules:2:9: expected a name, found the byte 0x1b\n"
			"    2 | counter ??\xc3\xa9?? x\n"
			"      |         ^\n"},
		{"when a >= 1 log \"\xc3\xa9\" x",
			"quota.rules:1:6: no 'count' rule, 'counter' or 'quota' is named 'a'\n"
			"    1 | when a >= 1 log \"\xc3\xa9\" x\n"
			"      |      ^\n"
			"quota.rules:1:22: expected the end of the line or 'at', found 'x'\n"
			"    1 | when a >= 1 log \"\xc3\xa9\" x\n"
			"      |                     ^\n"},
		/* The byte order mark is before the first column. */
		{"\xef\xbb\xbf"
		 "counter",
			"quota.rules:1:8: expected a name, found the end of the line\n"
			"    1 | counter\n"
			"      |        ^\n"},
		{"counter \\\n a b", "quota.rules:2:4: expected the end of the line, found 'b'\n"
				     "    2 |  a b\n"
				     "      |    ^\n"},
	};

	for (size_t i = 0; i < RTE_DIM(prints); i++) {
		char *said = printed(prints[i].text, strlen(prints[i].text));

		assert_string_equal(said, prints[i].said);
		free(said);
	}
}

/* Some editors begin a file with it; nowhere else it means anything. */
static void
test_byte_order_mark(void **state)
{
	struct trip_rules *rules = good("\xef\xbb\xbf"
					"counter c\nwhen c >= 1 log\n");

	assert_string_equal(rules->counters[0].name, "c");
	assert_int_equal(rules->counters[0].line, 1);
	trip_rules_free(rules);
	trip_rules_free(good("\xef\xbb\xbf"));
	free(printed("\xef\xbb", 2));
	free(printed("counter c\n\xef\xbb\xbf"
		     "counter d\n",
		23));
}

static void
test_files(void **state)
{
	char path[] = "/tmp/trip_rules_XXXXXX", expected[128], *said = NULL;
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	int fd = mkstemp(path);
	size_t size;
	FILE *file;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "counter c", 9), 9);
	assert_int_equal(trip_rules_parse_file(path, false, &rules, &errors), 0);
	assert_int_equal(rules->n_counters, 1);
	trip_rules_free(rules);

	assert_int_equal(ftruncate(fd, TRIP_RULES_FILE_MAX + 1), 0);
	assert_int_equal(trip_rules_parse_file(path, false, &rules, &errors), -EFBIG);
	trip_rules_errors_free(errors);
	close(fd);
	unlink(path);

	assert_int_equal(trip_rules_parse_file("/", false, &rules, &errors), -EISDIR);
	trip_rules_errors_free(errors);
	assert_int_equal(trip_rules_parse_file("/", true, &rules, &errors), -EMEDIUMTYPE);
	trip_rules_errors_free(errors);

	assert_int_equal(trip_rules_parse_file(path, false, &rules, &errors), -ENOENT);
	assert_null(rules);
	file = open_memstream(&said, &size);
	trip_rules_errors_print(errors, file);
	fclose(file);
	snprintf(expected, sizeof(expected),
		"%s: cannot read the rules: No such file or directory\n", path);
	assert_string_equal(said, expected);
	free(said);
	trip_rules_errors_free(errors);
}

/* A megabyte of one thing after another; what is not linear in it does not end in time. */
static void
test_long_lines(void **state)
{
	static const struct {
		const char *head;
		const char *piece;
		const char *separator;
	} lines[] = {
		{"", "x", ""},
		{"counter a", "\\", ""},
		{"when a >= 1 log ", "\"\\\"", ""},
		{"when ", "all ", ""},
		{"when all", "            ", ""},
		{"when ", "all(", ""},
		{"count c port 0 pattern ", "eth bogus is 1 ", ""},
		{"count c port 0 pattern eth ", "/ ipv9", ""},
		{"count c port 0 pattern ", "eth / ", ""},
		{"set ", "\" ", "\\\n"},
		{"", "\"", "\n"},
		{"", "\x01", ""},
		{"", "conut\t", "\n"},
		{"", "counter a", "\n"},
		{"counter total\n", "when totl >= 1 log", "\n"},
		{"", "1:", ""},
		{"counter ", "a.", ""},
		{"", "count c port 0 pattern ipv4 / udp dst is 53 / end", "\n"},
		{"count c port 0 pattern eth / end actions ", "drop / ", "\\\n"},
	};
	size_t size = 1 << 20;
	char *text = malloc(size + 256);

	for (size_t i = 0; i < RTE_DIM(lines); i++) {
		size_t n = (size_t)sprintf(text, "%s", lines[i].head);

		while (n < size)
			n += (size_t)sprintf(text + n, "%s%s", lines[i].piece, lines[i].separator);
		free(printed(text, n));
	}
	free(text);
}

/* Good text with bytes changed, cut and doubled: any answer but a crash, a leak or another errno.
 */
static void
test_mutations(void **state)
{
	static const char seed[] =
		"also count dns port 0 ingress group 0 priority 3 engine sw pattern eth / \\\n"
		" ipv4 src spec 10.1.0.0 src prefix 16 / udp dst is 53 / end actions drop / end\n"
		"counter c # x\nwhen dns.packets >= 10k every 1Ki drop dns for 10m\n"
		"when after 5s every 1s add c 1\nwhen every 1s log\nwhen c >= 5 log \"a \\\" "
		"b\"\nwhen all (c >= 5, "
		"dns.bytes >= 6) exec /bin/x\n"
		"each f port 0 ipv4.src/24 max 10 idle 5s\n";
	struct trip_random random = {.state = trip_test_seed("rules")};
	uint64_t rounds = trip_test_rounds(5000);

	for (uint64_t round = 0; round < rounds; round++) {
		struct trip_rules_errors *errors;
		struct trip_rules *rules;
		char text[2 * sizeof(seed)];
		size_t n = sizeof(seed) - 1;
		int rc;

		memcpy(text, seed, n);
		for (uint64_t edits = trip_random_below(&random, 8); edits > 0; edits--) {
			size_t at = trip_random_below(&random, n), to;

			to = trip_random_below(&random, n);
			if (trip_random_below(&random, 3) == 0)
				text[at] = (char)trip_random_u64(&random);
			else if (trip_random_below(&random, 2) == 0)
				text[at] = seed[trip_random_below(&random, sizeof(seed))];
			else
				memmove(text + at, text + to, n - (at > to ? at : to));
		}
		n = trip_random_below(&random, n + 1);
		rc = trip_rules_parse_text("test", text, n, &rules, &errors);
		assert_true(rc == 0 || rc == -EINVAL);
		assert_int_equal(rc == 0, rules != NULL);
		assert_int_equal(rc != 0, errors != NULL && errors->n_list > 0);
		for (unsigned int i = 1; errors != NULL && i < errors->n_list; i++)
			assert_true(errors->list[i - 1].offset <= errors->list[i].offset);
		trip_rules_free(rules);
		trip_rules_errors_free(errors);
	}
}

static void
quotas_are_counters_that_flows_feed(void **state)
{
	struct trip_rules *rules =
		good("when q >= 80 % log\n"
		     "quota q 10kB per month at 15 04:30:15 of b.bytes, a.bytes\n"
		     "count a port 0 pattern eth / end\n"
		     "count b port 0 priority 1 pattern eth / end\n"
		     "quota p 7 of a.packets\nquota d 1M per day at 23:59 of a.bytes\n"
		     "when p spent drop a\nwhen p >= 34 % reset p\n"
		     "when d rate >= 1kbit/s over 5s reset a\n");
	const struct trip_rules_quota *q = rules->counters[0].quota;

	assert_int_equal(rules->n_counters, 3);
	assert_string_equal(rules->counters[0].name, "q");
	assert_int_equal(q->limit, 10000);
	assert_int_equal(q->per, TRIP_RULES_PERIOD_MONTH);
	assert_int_equal(q->day, 15);
	assert_int_equal(q->second, 4 * 3600 + 30 * 60 + 15);
	assert_int_equal(q->events, TRIP_CNTR_EVENTS_BYTES);
	assert_int_equal(q->n_counts, 2);
	assert_int_equal(q->counts[0], 1);
	assert_int_equal(q->counts[1], 0);
	assert_int_equal(rules->counters[1].quota->events, TRIP_CNTR_EVENTS_COMP);
	assert_int_equal(rules->counters[1].quota->per, TRIP_RULES_PERIOD_NONE);
	assert_int_equal(rules->counters[2].quota->day, 1);
	assert_int_equal(rules->whens[0].ref, TRIP_RULES_REF_COUNTER);
	assert_int_equal(rules->whens[0].index, 0);
	assert_int_equal(rules->whens[0].threshold, 8000);
	assert_int_equal(rules->whens[1].threshold, 7);
	assert_true(rules->whens[1].on_count);
	/* Of a part of one, the whole. */
	assert_int_equal(rules->whens[2].threshold, 3);
	assert_int_equal(rules->whens[2].op, TRIP_RULES_OP_RESET);
	assert_int_equal(rules->whens[2].target, 1);
	assert_false(rules->whens[2].on_count);
	assert_true(rules->whens[3].on_count);
	trip_rules_free(rules);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(quotas_are_counters_that_flows_feed),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_part_without_percent),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_items_l2),
		cmocka_unit_test(test_items_l3),
		cmocka_unit_test(test_items_ipv6),
		cmocka_unit_test(test_items_l4),
		cmocka_unit_test(test_items_tunnel),
		cmocka_unit_test(test_items_carriers),
		cmocka_unit_test(test_item_order),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_not_yet),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_eaches),
		cmocka_unit_test(test_keys_trip),
		cmocka_unit_test(test_rates_of_keys),
		cmocka_unit_test(test_too_many_eaches),
		cmocka_unit_test(test_other_kind_at_work),
		cmocka_unit_test(test_allow),
		cmocka_unit_test(test_set_files),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_byte_order_mark),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
