/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets: members against a naive search of all entries; rules that ask for them against a naive
 * model; and their replacement, in the middle of a burst, too.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <trip_eal.h>
#include <trip_flows.h>

#include "flow/port.h"
#include "soft.h"

#define ENTRIES 200
#define ROUNDS 300

static struct trip_random random_state;

static uint64_t
below(uint64_t bound)
{
	return trip_random_below(&random_state, bound);
}

/* ---- members ---- */

static const uint8_t widths[] = {32, 128, 16};

/* Bytes that are few, so that entries meet, nest and lie beside each other. */
static void
random_value(uint8_t value[16], unsigned int variety)
{
	static const uint8_t bytes[] = {0, 0xff, 1, 0x80, 0xfe, 0x7f, 10, 11};

	for (unsigned int i = 0; i < 16; i++)
		value[i] = bytes[below(variety)];
}

static struct trip_set_entry
random_entry(unsigned int variety)
{
	struct trip_set_entry entry = {.kind = (uint8_t)below(3)};

	random_value(entry.value, variety);
	/* Short ones would be all there is. */
	entry.length = (uint8_t)(below(40) == 0 ? below(widths[entry.kind] + 1)
						: widths[entry.kind] / 4 +
							  below(widths[entry.kind] * 3 / 4 + 1));
	return entry;
}

static bool
begins_with(const uint8_t *value, const struct trip_set_entry *entry)
{
	unsigned int whole = entry->length / 8, rest = entry->length % 8;

	return memcmp(value, entry->value, whole) == 0 &&
	       (rest == 0 || ((value[whole] ^ entry->value[whole]) >> (8 - rest)) == 0);
}

static bool
is_in(const struct trip_set_entry *entries, size_t n, unsigned int kind, const uint8_t *value)
{
	for (size_t i = 0; i < n; i++)
		if (entries[i].kind == kind && begins_with(value, &entries[i]))
			return true;
	return false;
}

/* A value of an entry, the first or last there is or anything, or one beside it. */
static void
near(const struct trip_set_entry *entry, uint8_t value[16])
{
	unsigned int bytes = widths[entry->kind] / 8, how = (unsigned int)below(4);
	int step = (int)below(3) - 1;

	random_value(value, 8);
	for (unsigned int bit = 0; bit < 8 * bytes; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> (bit & 7));

		if (bit < entry->length)
			value[bit / 8] = (uint8_t)((value[bit / 8] & ~mask) |
						   (entry->value[bit / 8] & mask));
		else if (how < 2)
			value[bit / 8] = (uint8_t)(how == 0 ? value[bit / 8] & ~mask
							    : value[bit / 8] | mask);
	}
	for (unsigned int i = bytes; i > 0 && step != 0; i--) {
		value[i - 1] = (uint8_t)(value[i - 1] + step);
		if (value[i - 1] != (step > 0 ? 0 : 0xff))
			break;
	}
}

static void
compare_members(const struct trip_members *members, const struct trip_set_entry *entries, size_t n)
{
	uint8_t values[TRIP_MEMBERS_ASK][16];
	const uint8_t *asked[TRIP_MEMBERS_ASK];
	uint32_t kind = (uint32_t)below(3), count = (uint32_t)below(TRIP_MEMBERS_ASK + 1), in;

	for (uint32_t i = 0; i < count; i++) {
		const struct trip_set_entry *entry = n > 0 ? &entries[below(n)] : NULL;

		asked[i] = values[i];
		if (entry != NULL && below(8) > 0)
			near(entry, values[i]);
		else
			random_value(values[i], 8);
	}
	in = trip_members_ask(members, kind, asked, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(in >> i & 1, is_in(entries, n, kind, values[i]));
	assert_true(count == 32 || in >> count == 0);
}

static void
members_are_those_of_a_naive_search(void **state)
{
	struct trip_set_entry entries[ENTRIES];
	uint64_t rounds = trip_test_rounds(ROUNDS);

	random_state.state = trip_test_seed("members");
	for (uint64_t round = 0; round < rounds; round++) {
		size_t n = (size_t)below(round % 2 == 0 ? 6 : ENTRIES + 1);
		unsigned int variety = 1 + (unsigned int)below(8);
		struct trip_members *members;

		for (size_t i = 0; i < n; i++)
			entries[i] = random_entry(variety);
		assert_int_equal(trip_members_open(entries, n, &members), 0);
		assert_int_equal(members->n_entries, n);
		for (unsigned int i = 0; i < 40; i++)
			compare_members(members, entries, n);
		trip_members_close(members);
	}
}

static void
members_refuse_what_is_none(void **state)
{
	struct trip_set_entry *many = calloc(TRIP_SET_ENTRIES_MAX + 1, sizeof(*many));
	struct trip_members *members;

	assert_non_null(many);
	for (unsigned int kind = 0; kind < 256; kind++)
		for (unsigned int length = 0; length < 256; length++) {
			const struct trip_set_entry entry = {
				.kind = (uint8_t)kind, .length = (uint8_t)length};
			bool good = kind < 3 && length <= widths[kind];

			/* All of IPv4 is 6 MB. */
			if (kind == TRIP_SET_IPV4 && length < 8)
				continue;
			assert_int_equal(
				trip_members_open(&entry, 1, &members), good ? 0 : -EINVAL);
			if (good)
				trip_members_close(members);
		}
	assert_int_equal(trip_members_open(many, TRIP_SET_ENTRIES_MAX + 1, &members), -E2BIG);
	free(many);
}

/* A line of a file is as cheap as it looks: all of these are 0.0.0.0/0, or halves of it. */
static void
members_are_as_wide_as_they_like(void **state)
{
	static const uint8_t first[4], last[] = {0xff, 0xff, 0xff, 0xff};
	const uint8_t *values[] = {first, last};
	struct trip_set_entry *many = calloc(TRIP_SET_ENTRIES_MAX, sizeof(*many));
	struct trip_members *members;

	assert_non_null(many);
	for (uint32_t i = 0; i < TRIP_SET_ENTRIES_MAX; i++)
		many[i].length = i & 1;
	assert_int_equal(trip_members_open(many, TRIP_SET_ENTRIES_MAX, &members), 0);
	assert_int_equal(trip_members_ask(members, TRIP_SET_IPV4, values, 2), 3);
	trip_members_close(members);
	free(many);
}

/* ---- rules that ask for sets ---- */

#define SETS 3
#define RULES 24
#define BURST 80

struct rule {
	struct trip_flow *flow;
	struct trip_flow_item_set tests[4];
	bool on_ports[4]; /* else on addresses */
	unsigned int n_tests;
	bool also;
	uint32_t priority;
	uint64_t sequence, packets;
};

static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_set *sets[SETS];
static struct trip_set_entry held[SETS][ENTRIES];
static size_t n_held[SETS];
static struct rule rules[RULES];
static uint64_t sequence;

/* Of few addresses and ports: 10.x.x.x with bytes of 0 to 3. */
static void
refill(unsigned int set)
{
	n_held[set] = (size_t)below(30);
	for (size_t i = 0; i < n_held[set]; i++) {
		struct trip_set_entry *entry = &held[set][i];

		*entry = (struct trip_set_entry){.kind = (uint8_t)below(3)};
		entry->length = (uint8_t)(entry->kind == TRIP_SET_PORT   ? 14 + below(3)
					  : entry->kind == TRIP_SET_IPV4 ? 12 + below(21)
									 : 100 + below(29));
		entry->value[0] = entry->kind == TRIP_SET_IPV4   ? 10
				  : entry->kind == TRIP_SET_IPV6 ? 0xfd
								 : 0;
		for (unsigned int k = 1; k < 16; k++)
			entry->value[k] =
				(uint8_t)(entry->kind != TRIP_SET_IPV6 || k > 12 ? below(4) : 0);
	}
	assert_int_equal(trip_set_replace(sets[set], held[set], n_held[set]), 0);
}

static struct frame
random_frame(void)
{
	uint8_t v4[20] = {0x45, 0, 0, 100, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 10};
	uint8_t v6[40] = {0x60, 0, 0, 0, 0, 60, 17, 64};
	struct frame frame;

	frame_eth(&frame);
	v4[9] = v6[6] = below(2) ? 17 : 6;
	v6[8] = v6[24] = 0xfd;
	for (unsigned int i = 0; i < 3; i++) {
		v4[13 + i] = v6[21 + i] = (uint8_t)below(4);
		v4[17 + i] = v6[37 + i] = (uint8_t)below(4);
	}
	frame_put16(&frame, below(2) ? 0x0800 : 0x86dd);
	if (frame.bytes[12] == 0x08)
		frame_put(&frame, v4, sizeof(v4));
	else
		frame_put(&frame, v6, sizeof(v6));
	frame_l4(&frame, (uint16_t)below(16), (uint16_t)below(16));
	if (below(12) == 0)
		frame.length = (uint32_t)below(frame.length);
	return frame;
}

/* Where a field of a test is in such a frame, and its kind; false: it is not there. */
static bool
find_field(const struct frame *frame, const struct rule *rule, unsigned int test, uint32_t *at,
	unsigned int *kind)
{
	bool v4 = frame->length >= 14 && frame->bytes[12] == 0x08, dst = rule->tests[test].offset;
	uint32_t l3 = 14, l4 = l3 + (v4 ? 20 : 40), proto = l3 + (v4 ? 9 : 6);

	if (frame->length <= proto)
		return false;
	if (rule->on_ports[test]) {
		*kind = TRIP_SET_PORT;
		*at = l4 + rule->tests[test].offset;
		return frame->bytes[proto] == 17 && frame->length >= *at + 2;
	}
	dst = rule->tests[test].offset != 12;
	*kind = TRIP_SET_IPV4;
	*at = l3 + (dst ? 16 : 12);
	return v4 && frame->length >= *at + 4;
}

static bool
matches(const struct frame *frame, const struct rule *rule)
{
	unsigned int kind;
	uint32_t at;

	for (unsigned int i = 0; i < rule->n_tests; i++) {
		unsigned int set = (unsigned int)(rule->tests[i].name[0] - 'a');

		if (!find_field(frame, rule, i, &at, &kind) ||
			!is_in(held[set], n_held[set], kind, frame->bytes + at))
			return false;
	}
	return true;
}

static int
create(struct rule *rule)
{
	static const struct rte_flow_action also[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_PASSTHRU}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct trip_flow_attr attr = {.size = sizeof(attr), .priority = rule->priority};
	struct rte_flow_item items[8] = {{.type = RTE_FLOW_ITEM_TYPE_IPV4}};
	unsigned int n = 1, at_ports = 0;

	for (unsigned int i = 0; i < rule->n_tests; i++)
		if (!rule->on_ports[i])
			items[n++] = (struct rte_flow_item){
				.type = (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET,
				.spec = &rule->tests[i]};
	if (n == 1 && rule->n_tests > 0) {
		/* Of either version. */
		items[0].type = RTE_FLOW_ITEM_TYPE_UDP;
	}
	for (unsigned int i = 0; i < rule->n_tests; i++)
		if (rule->on_ports[i]) {
			if (at_ports++ == 0 && n > 1)
				items[n++].type = RTE_FLOW_ITEM_TYPE_UDP;
			items[n++] = (struct rte_flow_item){
				.type = (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET,
				.spec = &rule->tests[i]};
		}
	items[n].type = RTE_FLOW_ITEM_TYPE_END;
	return trip_flow_create(port, &attr, items, rule->also ? also : NULL, &rule->flow, NULL);
}

static void
change_rule(void)
{
	struct rule *rule = &rules[below(RULES)];

	if (rule->flow != NULL) {
		flows_destroy(domain, rule->flow);
		rule->flow = NULL;
		return;
	}
	*rule = (struct rule){.n_tests = 1 + (unsigned int)below(2),
		.also = below(4) == 0,
		.priority = (uint32_t)below(3),
		.sequence = sequence++};
	for (unsigned int i = 0; i < rule->n_tests; i++) {
		rule->on_ports[i] = below(2);
		rule->tests[i].name[0] = (char)('a' + below(SETS));
		rule->tests[i].offset =
			(uint8_t)(rule->on_ports[i] ? 2 * below(2) : 12 + 4 * below(2));
	}
	assert_int_equal(create(rule), 0);
}

static void
count_in_model(const struct frame *frame)
{
	struct rule *best = NULL;

	for (unsigned int i = 0; i < RULES; i++) {
		struct rule *rule = &rules[i];

		if (rule->flow == NULL || !matches(frame, rule))
			continue;
		if (rule->also)
			rule->packets++;
		else if (best == NULL || rule->priority < best->priority ||
			 (rule->priority == best->priority && rule->sequence < best->sequence))
			best = rule;
	}
	if (best != NULL)
		best->packets++;
}

static void
send_burst(void)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = (uint16_t)below(BURST + 1);
	struct trip_flow_count count = {.size = sizeof(count)};

	for (uint16_t i = 0; i < n; i++) {
		struct frame frame = random_frame();

		count_in_model(&frame);
		pkts[i] = mbuf_of(&frame);
	}
	assert_int_equal(trip_port_burst(port, 0, pkts, n), n);
	for (uint16_t i = 0; i < n; i++)
		mbuf_release(pkts[i]);
	for (unsigned int i = 0; i < RULES; i++) {
		if (rules[i].flow == NULL)
			continue;
		assert_int_equal(trip_flow_query(rules[i].flow, &count), 0);
		assert_int_equal(count.packets, rules[i].packets);
	}
}

static void
open_sets(void)
{
	struct trip_set_attr attr = {.size = sizeof(attr)};
	char name[2] = "a";

	flows_open(&domain, &port, 1, 16, 64);
	attr.name = name;
	for (unsigned int i = 0; i < SETS; i++, name[0]++)
		assert_int_equal(trip_set_open(domain, &attr, &sets[i]), 0);
}

static void
close_sets(void)
{
	for (unsigned int i = 0; i < SETS; i++)
		assert_int_equal(trip_set_close(sets[i]), 0);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
	rte_mempool_free(rte_mempool_lookup("flows"));
}

static void
sets_of_rules_as_the_model_has_them(void **state)
{
	uint64_t rounds = trip_test_rounds(2000);

	random_state.state = trip_test_seed("sets");
	open_sets();
	for (uint64_t round = 0; round < rounds; round++) {
		if (below(3) == 0)
			change_rule();
		if (below(4) == 0)
			refill((unsigned int)below(SETS));
		send_burst();
	}
	for (unsigned int i = 0; i < RULES; i++)
		if (rules[i].flow != NULL)
			flows_destroy(domain, rules[i].flow);
	close_sets();
}

/* ---- replacement ---- */

/* Two addresses, and whose are sent: both ends of each packet are in the set, or neither is. */
static const struct trip_set_entry both[] = {
	{.length = 32, .value = {10, 0, 0, 1}}, {.length = 32, .value = {10, 0, 0, 2}}};

struct middle {
	struct trip_table *table;
	struct trip_soft_queue queue;
	struct trip_count counts[2];
	struct trip_count_moments moments[2];
	_Atomic uint8_t actions[2];
	unsigned int crossed;
};

/* What replaces a set does this, at whatever moment of a burst. */
static void
empty_set(void *arg, uint32_t rule, unsigned int which)
{
	struct middle *middle = arg;

	middle->crossed++;
	assert_true(trip_within_replace(&middle->table->within, both, &trip_members_none));
}

static void
add_test(struct middle *middle, const struct trip_members *members, uint32_t rule, uint8_t offset)
{
	const struct trip_flow_item_set set = {.name = "both", .offset = offset};
	const struct rte_flow_item items[] = {{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET, .spec = &set},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct trip_table_rule asked = {.rule = rule, .priority = rule, .sequence = rule};
	struct trip_pattern_tests tests;
	struct trip_pattern pattern;
	int bit;

	assert_int_equal(trip_pattern_compile(items, &pattern, NULL), -ENOTSUP);
	assert_int_equal(trip_pattern_compile_tests(items, &pattern, &tests, NULL), 0);
	assert_int_equal(tests.n, 1);
	bit = trip_within_take(
		&middle->table->within, both, members, tests.at[0].place, tests.at[0].kind);
	trip_assert_range((uint64_t)bit, rule, rule);
	pattern.mask[TRIP_PLACE_TESTS / 8] = pattern.value[TRIP_PLACE_TESTS / 8] = UINT64_C(1)
										   << bit;
	assert_int_equal(trip_table_add(middle->table, &asked, &pattern), 0);
	trip_count_init(&middle->counts[rule]);
	atomic_store(&middle->actions[rule], TRIP_ACTION_ACTIVE);
}

/* 32 packets, a chunk, whose source is in the set, and then 32 whose destination is. */
static void
burst_of_two_chunks(struct middle *middle, uint64_t expected)
{
	struct rte_mbuf *pkts[2 * TRIP_LOOKUP_CHUNK];
	uint64_t before[2];
	struct frame frame;

	for (unsigned int i = 0; i < 2; i++)
		before[i] = atomic_load(&middle->counts[i].packets);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++) {
		bool dst = i >= TRIP_LOOKUP_CHUNK;

		frame_eth(&frame);
		frame_ipv4(&frame,
			(struct frame_ip){.src = dst ? 9 : 1, .dst = dst ? 2 : 9, .proto = 17});
		frame_l4(&frame, 1, 2);
		pkts[i] = mbuf_of(&frame);
	}
	assert_int_equal(trip_soft_burst(&middle->queue, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		mbuf_release(pkts[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(atomic_load(&middle->counts[i].packets) - before[i], expected);
}

static void
set_replaced_in_the_middle_of_a_burst(void **state)
{
	struct middle *middle = aligned_alloc(64, (sizeof(*middle) + 63) / 64 * 64);
	struct trip_count_folded folded = {0};
	struct trip_members *members;

	assert_non_null(middle);
	memset(middle, 0, sizeof(*middle));
	assert_int_equal(trip_members_open(both, RTE_DIM(both), &members), 0);
	assert_int_equal(trip_table_open(2, &middle->table), 0);
	trip_soft_open(&middle->queue, middle->table, false,
		&(struct trip_soft_shared){middle->counts, middle->moments, middle->actions},
		empty_set, NULL, middle);
	add_test(middle, members, 0, 12);
	add_test(middle, members, 1, 16);
	burst_of_two_chunks(middle, TRIP_LOOKUP_CHUNK);
	assert_int_equal(middle->crossed, 0);
	/* The first packet of a burst empties the set: the others are judged by what was in it. */
	trip_count_fold(&middle->counts[0], &folded, TRIP_COUNT_KIND_PACKETS);
	trip_count_budget(&middle->counts[0], &folded, TRIP_COUNT_KIND_PACKETS, 1);
	burst_of_two_chunks(middle, TRIP_LOOKUP_CHUNK);
	assert_true(middle->crossed > 0);
	burst_of_two_chunks(middle, 0);
	trip_soft_close(&middle->queue);
	trip_table_close(middle->table);
	trip_members_close(members);
	free(middle);
}

static void *
toggle(void *arg)
{
	_Atomic bool *done = arg;

	for (uint64_t i = trip_test_rounds(2000); i > 0; i--)
		assert_int_equal(trip_set_replace(sets[0], both, i % 2 * RTE_DIM(both)), 0);
	atomic_store(done, true);
	return NULL;
}

/* Each burst is in the set as a whole, or not at all. */
static void
set_replaced_under_traffic(void **state)
{
	struct rule rule = {.n_tests = 2, .tests = {{"a", 12}, {"a", 16}}};
	struct trip_flow_count count = {.size = sizeof(count)};
	struct rte_mbuf *pkts[BURST];
	_Atomic bool done = false;
	uint64_t before = 0, in = 0;
	struct frame frame;
	pthread_t thread;

	open_sets();
	assert_int_equal(create(&rule), 0);
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17});
	frame_l4(&frame, 1, 2);
	for (unsigned int i = 0; i < BURST; i++)
		pkts[i] = mbuf_of(&frame);
	assert_int_equal(pthread_create(&thread, NULL, toggle, &done), 0);
	for (bool last = false; !last; before = count.packets) {
		last = atomic_load(&done);
		assert_int_equal(trip_port_burst(port, 0, pkts, BURST), BURST);
		assert_int_equal(trip_flow_query(rule.flow, &count), 0);
		assert_true(count.packets == before || count.packets == before + BURST);
		in += count.packets != before;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* The last left both in it. */
	assert_true(in > 0);
	for (unsigned int i = 0; i < BURST; i++)
		mbuf_release(pkts[i]);
	flows_destroy(domain, rule.flow);
	close_sets();
}

/* ---- the calls ---- */

static void
sets_refuse_what_cannot_be(void **state)
{
	const struct trip_set_entry bad = {.kind = TRIP_SET_PORT, .length = 17};
	struct trip_set_attr attr = {.size = sizeof(attr), .name = "a"};
	struct trip_set_info info = {.size = sizeof(info)};
	struct rule rule = {.n_tests = 1, .tests = {{"a", 12}}};
	struct rule wrong[] = {{.n_tests = 1, .tests = {{"nobody", 12}}},
		{.n_tests = 1, .tests = {{"a", 8}}}, {.n_tests = 1, .tests = {{"a", 99}}}};
	static const int errors[] = {-ENOENT, -ENOTSUP, -ENOTSUP};
	struct trip_set_change some[] = {{.n_entries = 0}, {.entries = &bad, .n_entries = 1}};
	struct trip_set *set;

	open_sets();
	some[0].set = sets[0];
	some[1].set = sets[1];
	assert_int_equal(trip_set_open(domain, &attr, &set), -EEXIST);
	attr.name = "no name";
	assert_int_equal(trip_set_open(domain, &attr, &set), -EINVAL);
	attr.size = 1;
	assert_int_equal(trip_set_open(domain, &attr, &set), -EINVAL);
	assert_int_equal(trip_set_replace(sets[0], both, RTE_DIM(both)), 0);
	assert_int_equal(trip_set_replace(sets[0], &bad, 1), -EINVAL);
	assert_int_equal(trip_set_replace_all(some, RTE_DIM(some)), -EINVAL);
	assert_int_equal(trip_set_replace_all(NULL, 0), 0);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		assert_int_equal(create(&wrong[i]), errors[i]);
	assert_int_equal(create(&rule), 0);
	assert_int_equal(trip_set_close(sets[0]), -EBUSY);
	assert_int_equal(trip_set_query(sets[0], &info), 0);
	assert_int_equal(info.entries, RTE_DIM(both));
	assert_int_equal(info.flows, 1);
	assert_int_equal(trip_domain_close(domain), -EBUSY);
	flows_destroy(domain, rule.flow);
	close_sets();
}

/* Sets are of the primary alone, and so are ports with rules that ask for them. */
static void
sets_keep_others_from_a_port(void **state)
{
	struct rule rule = {.n_tests = 1, .tests = {{"a", 12}}};
	int rules_fd;

	open_sets();
	assert_int_equal(create(&rule), 0);
	assert_int_equal(trip_port_share(port), -ENOTSUP);
	flows_destroy(domain, rule.flow);
	rules_fd = trip_port_share(port);
	assert_true(rules_fd >= 0);
	close(rules_fd);
	assert_int_equal(create(&rule), -ENOTSUP);
	close_sets();
}

/* As many as there may be, each of its own set, and one more. */
static void
tests_of_sets_are_limited(void **state)
{
	struct trip_set *many[TRIP_SET_TESTS_MAX + 1];
	struct rule asking[TRIP_SET_TESTS_MAX + 1] = {0};
	struct trip_set_attr attr = {.size = sizeof(attr)};
	struct rule twin;

	flows_open(&domain, &port, 1, 16, 128);
	for (unsigned int i = 0; i <= TRIP_SET_TESTS_MAX; i++) {
		asking[i].n_tests = 1;
		asking[i].tests[0].offset = 12;
		snprintf(asking[i].tests[0].name, TRIP_NAME_MAX, "set%u", i);
		attr.name = asking[i].tests[0].name;
		assert_int_equal(trip_set_open(domain, &attr, &many[i]), 0);
		assert_int_equal(create(&asking[i]), i < TRIP_SET_TESTS_MAX ? 0 : -ENOSPC);
	}
	twin = asking[3];
	assert_int_equal(create(&twin), 0);
	flows_destroy(domain, asking[3].flow);
	assert_int_equal(create(&asking[TRIP_SET_TESTS_MAX]), -ENOSPC);
	flows_destroy(domain, twin.flow);
	assert_int_equal(create(&asking[TRIP_SET_TESTS_MAX]), 0);
	for (unsigned int i = 0; i <= TRIP_SET_TESTS_MAX; i++) {
		if (i != 3)
			flows_destroy(domain, asking[i].flow);
		assert_int_equal(trip_set_close(many[i]), 0);
	}
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_those_of_a_naive_search),
		cmocka_unit_test(members_refuse_what_is_none),
		cmocka_unit_test(members_are_as_wide_as_they_like),
		cmocka_unit_test(set_replaced_in_the_middle_of_a_burst),
		cmocka_unit_test(sets_of_rules_as_the_model_has_them),
		cmocka_unit_test(set_replaced_under_traffic),
		cmocka_unit_test(sets_refuse_what_cannot_be),
		cmocka_unit_test(sets_keep_others_from_a_port),
		cmocka_unit_test(tests_of_sets_are_limited),
	};
	int failed;

	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
