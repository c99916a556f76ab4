/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table and the burst against a naive model: every rule compared with every packet, in order.
 * Rules come and go, are switched, policed, and get budgets; after each burst all counts, the
 * packets that remain, and the rings must be the model's.
 */
#include <errno.h>
#include <string.h>

#include "pattern_match.h"
#include "soft.h"
#include "soft_test.h"
#include "table_check.h"

#define RULES 300
#define BURST_MAX 100

__extension__ typedef __int128 int128;

struct model_rule {
	bool present;
	bool also;
	uint32_t group;
	uint32_t priority;
	uint64_t sequence;
	uint32_t mark;
	struct trip_pattern pattern;
	uint64_t packets;
	uint64_t bytes;
	unsigned int rung;
	bool touched;
	/* A token bucket as textbooks have it, in units by 10^-9; one rate 0: none. */
	uint64_t rate, filled_ns;
	bool of_packets;
	uint32_t burst_ms;
	int128 tokens;
	uint64_t policed_packets, policed_bytes;
};

struct world {
	struct trip_random random;
	struct trip_table *table;
	struct trip_soft_queue queue;
	struct trip_count counts[RULES];
	struct trip_count_moments moments[RULES];
	struct trip_count_folded folded[RULES];
	_Atomic uint8_t actions[RULES];
	/* A rule's is the one of the other end: not at its own index. */
	_Atomic uint32_t police_of[RULES];
	struct trip_police police[RULES];
	uint64_t now_ns;
	struct model_rule rules[RULES];
	uint64_t sequence;
};

static uint64_t
below(struct world *world, uint64_t bound)
{
	return trip_random_below(&world->random, bound);
}

static void
note_cross(void *arg, uint32_t rule, unsigned int which)
{
	struct world *world = arg;

	assert_true(which != 0);
	assert_int_equal(trip_count_reached(&world->counts[rule]), which);
	world->rules[rule].rung |= which;
}

/* A pattern over few values, so that many rules match a packet and many share mask and key. */
static void
random_pattern(struct world *world, struct trip_pattern *pattern)
{
	struct rte_flow_item_ipv4 ip4 = {0}, ip4_mask = {0};
	struct rte_flow_item_ipv6 ip6 = {0}, ip6_mask = {0};
	struct rte_flow_item_udp udp = {0}, udp_mask = {0};
	struct rte_flow_item_vlan vlan = {0}, vlan_mask = {0};
	struct rte_flow_item items[8] = {{.type = RTE_FLOW_ITEM_TYPE_ETH}};
	uint32_t count = (uint32_t)below(world, 2), tags = (uint32_t)below(world, 5);
	uint32_t ip = (uint32_t)below(world, 3);
	uint8_t address[16] = {0xfd};

	vlan.hdr.vlan_tci = rte_cpu_to_be_16((uint16_t)below(world, 2));
	vlan_mask.hdr.vlan_tci = below(world, 2) ? 0xffff : 0;
	for (; tags > 0 && tags < 3; tags--)
		items[count++] = (struct rte_flow_item){
			.type = RTE_FLOW_ITEM_TYPE_VLAN, .spec = &vlan, .mask = &vlan_mask};
	ip4.hdr.src_addr = rte_cpu_to_be_32(0x0a000000 | (uint32_t)below(world, 3));
	ip4.hdr.dst_addr = rte_cpu_to_be_32(0x0a000000 | (uint32_t)below(world, 3));
	ip4_mask.hdr.src_addr =
		below(world, 2) ? rte_cpu_to_be_32(UINT32_MAX << below(world, 4)) : 0;
	ip4_mask.hdr.dst_addr = below(world, 3) ? 0 : 0xffffffff;
	ip4_mask.hdr.time_to_live = below(world, 4) ? 0 : 0xff;
	ip4.hdr.packet_id = RTE_BE16(7);
	ip4_mask.hdr.packet_id = below(world, 8) ? 0 : 0xffff;
	ip6_mask.hdr.hop_limits = below(world, 4) ? 0 : 0xff;
	address[15] = (uint8_t)below(world, 3);
	/* An array up to DPDK 24.07, a struct of one since. */
	memcpy(&ip6.hdr.src_addr, address, sizeof(address));
	memset(&ip6_mask.hdr.src_addr, below(world, 2) ? 0xff : 0, sizeof(address));
	if (ip == 1)
		items[count++] = (struct rte_flow_item){
			.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip4, .mask = &ip4_mask};
	else if (ip == 2)
		items[count++] = (struct rte_flow_item){
			.type = RTE_FLOW_ITEM_TYPE_IPV6, .spec = &ip6, .mask = &ip6_mask};
	udp.hdr.src_port = rte_cpu_to_be_16((uint16_t)below(world, 3));
	udp.hdr.dst_port = rte_cpu_to_be_16((uint16_t)below(world, 3));
	udp_mask.hdr.src_port = below(world, 2) ? 0xffff : 0;
	udp_mask.hdr.dst_port = below(world, 2) ? 0xffff : 0;
	/* tcp and udp begin with the same fields. */
	if (ip != 0 && below(world, 3))
		items[count++] = (struct rte_flow_item){
			.type = below(world, 3) ? RTE_FLOW_ITEM_TYPE_UDP : RTE_FLOW_ITEM_TYPE_ICMP,
		};
	if (count > 0 && items[count - 1].type == RTE_FLOW_ITEM_TYPE_UDP) {
		items[count - 1].spec = &udp;
		items[count - 1].mask = &udp_mask;
	} else if (ip == 2 && items[count - 1].type == RTE_FLOW_ITEM_TYPE_ICMP) {
		count--;
	}
	items[count].type = RTE_FLOW_ITEM_TYPE_END;
	assert_int_equal(trip_pattern_compile(items, pattern, NULL), 0);
}

static int128
full_of(const struct model_rule *rule)
{
	return (int128)rule->rate * rule->burst_ms * 1000000;
}

/* By rates at which any packet costs whole ticks. Which of several `also` rules has no room is not
 * said, so there is one. */
static void
random_police(struct world *world, uint32_t rule)
{
	static const uint64_t rates[] = {0, 1000, 1000000, 16000000, 1000000000};
	struct model_rule *model = &world->rules[rule];
	uint32_t own = RULES - 1 - rule;

	model->rate = model->also && rule != 0 ? 0 : rates[below(world, RTE_DIM(rates))];
	model->of_packets = below(world, 2);
	model->burst_ms = 1 + (uint32_t)below(world, 10);
	model->policed_packets = model->policed_bytes = 0;
	model->filled_ns = world->now_ns;
	model->tokens = full_of(model);
	trip_police_init(&world->police[own], own);
	(void)trip_police_begin(&world->police[own],
		trip_police_word(model->rate, model->of_packets, model->burst_ms), own);
}

static bool
model_police(struct world *world, struct model_rule *rule, uint32_t bytes)
{
	const int128 full = full_of(rule);
	const int128 cost = (int128)1000000000 * (rule->of_packets ? 1 : 8 * (uint64_t)bytes);

	rule->tokens += (int128)rule->rate * (world->now_ns - rule->filled_ns);
	rule->tokens = RTE_MIN(rule->tokens, full);
	rule->filled_ns = world->now_ns;
	if (rule->tokens < cost && rule->tokens != full) {
		rule->policed_packets++;
		rule->policed_bytes += bytes;
		return false;
	}
	rule->tokens -= cost;
	return true;
}

static void
add_rule(struct world *world, uint32_t rule)
{
	struct model_rule *model = &world->rules[rule];
	struct trip_table_rule asked;
	int status;

	if (model->present) {
		asked = (struct trip_table_rule){.rule = rule};
		assert_int_equal(trip_table_add(world->table, &asked, &model->pattern), -EEXIST);
		return;
	}
	random_pattern(world, &model->pattern);
	model->group = below(world, 3) ? 0 : 1 + (uint32_t)below(world, 2);
	model->priority = (uint32_t)below(world, 4);
	model->mark = (uint32_t)trip_random_u64(&world->random);
	model->sequence = world->sequence++;
	model->also = below(world, 6) == 0;
	asked = (struct trip_table_rule){.rule = rule,
		.group = model->group,
		.priority = model->priority,
		.mark = model->mark,
		.sequence = model->sequence,
		.also = model->also};
	status = trip_table_add(world->table, &asked, &model->pattern);
	/* Nobody is in a burst: what was removed is quiet at once. */
	if (status != 0)
		assert_int_equal(status, -ENOSPC);
	model->present = status == 0;
	random_police(world, rule);
}

static void
remove_rule(struct world *world, uint32_t rule)
{
	trip_table_remove(world->table, rule);
	assert_true(trip_table_quiet(world->table, rule));
	world->rules[rule].present = false;
}

static uint8_t
random_action(struct world *world)
{
	return (uint8_t)((below(world, 5) ? TRIP_ACTION_ACTIVE : 0) |
			 (below(world, 5) ? 0 : TRIP_ACTION_DROP) |
			 (below(world, 3) ? 0 : TRIP_ACTION_MARK) |
			 (below(world, 6) ? 0 : TRIP_ACTION_ALLOW) |
			 (below(world, 2) ? 0 : TRIP_ACTION_POLICE));
}

/* Of one kind, either none or a little above what has been counted so far. */
static void
random_budget(struct world *world, uint32_t rule, enum trip_count_kind kind)
{
	struct trip_count *count = &world->counts[rule];

	trip_count_fold(count, &world->folded[rule], kind);
	assert_false(trip_count_budget(count, &world->folded[rule], kind,
		below(world, 3) ? TRIP_COUNT_NO_LIMIT : 1 + below(world, 300)));
}

static void
random_operations(struct world *world)
{
	uint64_t operations = below(world, 20);

	while (operations-- > 0) {
		uint32_t rule = (uint32_t)below(world, RULES);

		switch (below(world, 4)) {
		case 0:
			remove_rule(world, rule);
			break;
		case 1:
			atomic_store(&world->actions[rule], random_action(world));
			break;
		case 2:
			random_budget(world, rule, TRIP_COUNT_KIND_PACKETS);
			random_budget(world, rule, TRIP_COUNT_KIND_BYTES);
			break;
		default:
			add_rule(world, rule);
			break;
		}
	}
}

static uint64_t
now_of(void *arg)
{
	const struct world *world = arg;

	return world->now_ns;
}

static struct rte_mbuf *
random_packet(struct world *world)
{
	struct frame_ip ip = {.src = (uint8_t)below(world, 3),
		.dst = (uint8_t)below(world, 3),
		.proto = (const uint8_t[]){1, 6, 17, 17}[below(world, 4)],
		.ttl = (uint8_t)below(world, 2),
		.fragment = below(world, 8) == 0};
	uint32_t tags = (uint32_t)below(world, 6);
	struct frame frame;
	struct rte_mbuf *mbuf;

	frame_eth(&frame);
	for (; tags > 0 && tags < 3; tags--)
		frame_tag(&frame, 0x8100, (uint16_t)below(world, 2));
	if (below(world, 3))
		frame_ipv4(&frame, ip);
	else
		frame_ipv6(&frame, ip);
	frame_l4(&frame, (uint16_t)below(world, 3), (uint16_t)below(world, 3));
	if (below(world, 10) == 0)
		frame.length = (uint32_t)below(world, frame.length);
	mbuf = mbuf_of(&frame);
	if (below(world, 10) == 0) {
		mbuf->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		mbuf->vlan_tci = (uint16_t)below(world, 2);
	}
	return mbuf;
}

static bool
goes_first(const struct model_rule *a, const struct model_rule *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	return a->priority != b->priority ? a->priority < b->priority : a->sequence < b->sequence;
}

static void
model_count(struct model_rule *rule, uint32_t bytes)
{
	rule->packets++;
	rule->bytes += bytes;
	rule->touched = true;
}

/* What becomes of a packet. */
struct fate {
	bool drop;
	const struct model_rule *marker;
};

static struct fate
model_packet(struct world *world, const struct rte_mbuf *mbuf)
{
	struct model_rule *best = NULL, *marker = NULL;
	struct trip_packet_fields fields = {0};
	uint32_t bytes = trip_packet_parse(mbuf, WANTS, &fields), i;
	uint8_t actions = 0, best_action = 0;
	struct model_rule *policed[2] = {NULL, NULL};
	bool drop, allowed;

	for (i = 0; i < RULES; i++) {
		struct model_rule *rule = &world->rules[i];
		uint8_t action = atomic_load(&world->actions[i]);

		if (!rule->present || (action & TRIP_ACTION_ACTIVE) == 0 ||
			!pattern_matches(&rule->pattern, &fields))
			continue;
		if (rule->also) {
			model_count(rule, bytes);
			actions |= action;
			if ((action & TRIP_ACTION_POLICE) != 0 && rule->rate != 0)
				policed[0] = rule;
			if ((action & TRIP_ACTION_MARK) != 0 &&
				(marker == NULL || goes_first(marker, rule)))
				marker = rule;
		} else if (best == NULL || goes_first(rule, best)) {
			best = rule;
			best_action = action;
		}
	}
	if (best != NULL)
		model_count(best, bytes);
	if ((best_action & TRIP_ACTION_POLICE) != 0 && best->rate != 0)
		policed[1] = best;
	allowed = (best_action & TRIP_ACTION_ALLOW) != 0;
	drop = allowed || ((actions | best_action) & TRIP_ACTION_DROP) != 0;
	for (i = 0; i < RTE_DIM(policed); i++)
		if (!drop && policed[i] != NULL)
			drop = !model_police(world, policed[i], bytes);
	return (struct fate){.drop = drop && !allowed,
		.marker = (best_action & TRIP_ACTION_MARK) != 0 ? best : marker};
}

static void
check_mark(const struct rte_mbuf *mbuf, const struct fate *fate)
{
	const uint64_t flags = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;

	assert_int_equal(mbuf->ol_flags & flags, fate->marker != NULL ? flags : 0);
	if (fate->marker != NULL)
		assert_int_equal(mbuf->hash.fdir.hi, fate->marker->mark);
}

static void
compare_counts(struct world *world)
{
	uint32_t i, kind;

	for (i = 0; i < RULES; i++) {
		struct model_rule *rule = &world->rules[i];
		struct trip_count *count = &world->counts[i];
		unsigned int reached = trip_count_reached(count);

		assert_int_equal(atomic_load(&count->packets), rule->packets);
		assert_int_equal(atomic_load(&count->bytes), rule->bytes);
		assert_int_equal(
			atomic_load(&world->police[RULES - 1 - i].packets), rule->policed_packets);
		assert_int_equal(
			atomic_load(&world->police[RULES - 1 - i].bytes), rule->policed_bytes);
		assert_int_equal(rule->rung, rule->touched ? reached : 0);
		for (kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			assert_int_equal(
				trip_count_take(&world->moments[i], kind, rte_rdtsc()) != 0,
				rule->rung >> kind & 1);
		rule->rung = 0;
		rule->touched = false;
	}
}

static void
random_burst(struct world *world)
{
	struct rte_mbuf *sent[BURST_MAX], *burst[BURST_MAX], *expected[BURST_MAX];
	uint16_t n = (uint16_t)below(world, BURST_MAX + 1), kept = 0, i;
	bool free_them = below(world, 2);
	struct fate fates[BURST_MAX];

	world->now_ns += below(world, 3) == 0 ? 0 : 1 + below(world, 4000000);
	for (i = 0; i < n; i++) {
		burst[i] = sent[i] = random_packet(world);
		fates[i] = model_packet(world, sent[i]);
		if (!fates[i].drop)
			expected[kept++] = sent[i];
	}
	if (free_them) {
		assert_int_equal(trip_soft_burst(&world->queue, burst, n), kept);
	} else {
		assert_int_equal(trip_soft_sort(&world->queue, burst, n), kept);
		/* Each once, freed here: below it is seen that these are the right ones. */
		rte_pktmbuf_free_bulk(burst + kept, n - kept);
	}
	assert_memory_equal(burst, expected, kept * sizeof(burst[0]));
	for (i = 0; i < kept; i++)
		rte_mbuf_refcnt_update(expected[i], 1);
	/* Freed once where dropped, never where kept. */
	for (i = 0; i < n; i++) {
		uint16_t references = rte_mbuf_refcnt_read(sent[i]);

		assert_int_equal(references, fates[i].drop ? 1 : 3);
		check_mark(sent[i], &fates[i]);
		mbuf_release(sent[i]);
	}
	compare_counts(world);
}

static void
soft_counts_as_the_model_does(void **state)
{
	struct world *world = aligned_alloc(64, (sizeof(*world) + 63) / 64 * 64);
	uint64_t round, rounds = trip_test_rounds(2000);
	uint32_t i;

	assert_non_null(world);
	memset(world, 0, sizeof(*world));
	world->random.state = trip_test_seed("soft_counts_as_the_model_does");
	assert_int_equal(trip_table_open(RULES, &world->table), 0);
	for (i = 0; i < RULES; i++) {
		trip_count_init(&world->counts[i]);
		atomic_store(&world->actions[i], random_action(world));
		atomic_store(&world->police_of[i], RULES - i);
	}
	world->now_ns = 1;
	trip_soft_open(&world->queue, world->table, false,
		&(struct trip_soft_shared){.counts = world->counts,
			.moments = world->moments,
			.actions = world->actions,
			.police_of = world->police_of,
			.police = world->police,
			.n_police = RULES},
		note_cross, now_of, world);
	for (round = 0; round < rounds; round++) {
		random_operations(world);
		assert_int_equal(table_check(world->table), 0);
		random_burst(world);
		/* Now and then from nothing. */
		for (i = 0; i < RULES && round % 500 == 499; i++)
			remove_rule(world, i);
	}
	for (i = 0; i < RULES; i++)
		remove_rule(world, i);
	assert_int_equal(world->table->tuple_count, 0);
	trip_soft_close(&world->queue);
	trip_table_close(world->table);
	free(world);
}

/* Many keys under one mask, of each length of key: growth, full buckets, reuse of dead slots. */
static void
exact_pattern(struct trip_pattern *pattern, uint32_t words, uint64_t key)
{
	uint32_t i;

	memset(pattern, 0, sizeof(*pattern));
	for (i = 0; i < words; i++) {
		pattern->mask[i] = UINT64_MAX;
		pattern->value[i] = key * (i + 1);
	}
	/* The presence bits are the table's, not the key's. */
	memset(pattern->value, 0, sizeof(uint32_t));
	memcpy((uint8_t *)pattern->value + 4, &key, sizeof(uint32_t));
}

static void
fill_and_empty(struct trip_random *random, uint32_t words, uint32_t keys)
{
	struct trip_packet_fields fields;
	struct trip_pattern pattern;
	struct trip_table *table;
	uint32_t i, round;

	assert_int_equal(trip_table_open(keys, &table), 0);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < keys; i++) {
			struct trip_table_rule rule = {.rule = i};

			exact_pattern(&pattern, words, i);
			assert_int_equal(trip_table_add(table, &rule, &pattern), 0);
		}
		assert_int_equal(table_check(table), 0);
		for (i = 0; i < keys + 100; i++) {
			exact_pattern(&pattern, TRIP_PACKET_WORDS, i);
			memcpy(fields.words, pattern.value, sizeof(fields.words));
			assert_int_equal(
				trip_tuple_search(table->tuples[0], &fields), i < keys ? i + 1 : 0);
		}
		for (i = 0; i < keys; i++)
			if (round == 2 || trip_random_below(random, 3) != 0)
				trip_table_remove(table, i);
		assert_int_equal(table_check(table), 0);
		for (i = 0; i < keys; i++)
			trip_table_remove(table, i);
	}
	assert_int_equal(table->rules, 0);
	trip_table_close(table);
}

static void
table_grows_for_keys_of_any_length(void **state)
{
	struct trip_random random = {trip_test_seed("table_grows_for_keys_of_any_length")};
	uint32_t words;

	for (words = 1; words <= TRIP_PACKET_WORDS; words++)
		fill_and_empty(&random, words, 2000 + (uint32_t)trip_random_below(&random, 2000));
}

static void
table_refuses_and_changes_nothing(void **state)
{
	struct trip_table_rule rule = {.rule = 7};
	struct trip_era_reader reader;
	struct trip_pattern pattern;
	struct trip_table *table;
	uint32_t i;

	assert_int_equal(trip_table_open(0, &table), -EINVAL);
	assert_int_equal(trip_table_open(TRIP_TABLE_RULES_MAX + 1, &table), -EINVAL);
	assert_int_equal(trip_table_open(1000, &table), 0);
	exact_pattern(&pattern, 1, 0);
	rule.rule = 1000;
	assert_int_equal(trip_table_add(table, &rule, &pattern), -EINVAL);
	trip_table_remove(table, 1000);
	for (i = 0; i < TRIP_TABLE_MASKS_MAX; i++) {
		pattern.mask[1] = i;
		rule.rule = i;
		assert_int_equal(trip_table_add(table, &rule, &pattern), 0);
	}
	pattern.mask[1] = i;
	rule.rule = i;
	assert_int_equal(trip_table_add(table, &rule, &pattern), -ENOSPC);
	assert_int_equal(table->tuple_count, TRIP_TABLE_MASKS_MAX);

	/* A burst under way keeps a removed rule's index from being used again. */
	trip_era_attach(&table->era, &reader);
	trip_era_enter(&table->era, &reader);
	trip_table_remove(table, 3);
	assert_false(trip_table_quiet(table, 3));
	pattern.mask[1] = 0;
	rule.rule = 3;
	assert_int_equal(trip_table_add(table, &rule, &pattern), -EBUSY);
	trip_era_leave(&reader);
	assert_true(trip_table_quiet(table, 3));
	assert_int_equal(trip_table_add(table, &rule, &pattern), 0);
	trip_era_detach(&table->era, &reader);
	assert_int_equal(table_check(table), 0);
	trip_table_close(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(soft_counts_as_the_model_does),
		cmocka_unit_test(table_grows_for_keys_of_any_length),
		cmocka_unit_test(table_refuses_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
