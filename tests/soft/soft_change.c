/* SPDX-License-Identifier: BSD-3-Clause */
/* A burst in whose middle the table changes, at a moment that the test chooses: in the ringing. */
#include "soft.h"
#include "soft_test.h"

#define RULES 64

struct world {
	struct trip_table *table;
	struct trip_soft_queue queue;
	struct trip_count counts[RULES];
	struct trip_count_moments moments[RULES];
	struct trip_count_folded folded[RULES];
	_Atomic uint8_t actions[RULES];
	uint64_t sequence;
	bool replaced;
};

/* To one UDP port; with the identification of frame_ipv4(), which only the long way reads, or not.
 */
static void
add_to_port(struct world *world, uint32_t rule, uint16_t udp_port, bool also, bool identified)
{
	const struct rte_flow_item_ipv4 ip = {.hdr.packet_id = RTE_BE16(7)};
	const struct rte_flow_item_ipv4 ip_mask = {.hdr.packet_id = identified ? 0xffff : 0};
	const struct rte_flow_item_udp udp = {.hdr.dst_port = rte_cpu_to_be_16(udp_port)};
	const struct rte_flow_item_udp udp_mask = {.hdr.dst_port = 0xffff};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	const struct trip_table_rule asked = {
		.rule = rule, .sequence = world->sequence++, .also = also};
	struct trip_pattern pattern;

	assert_int_equal(trip_pattern_compile(items, &pattern, NULL), 0);
	assert_int_equal(trip_table_add(world->table, &asked, &pattern), 0);
	atomic_store(&world->actions[rule], TRIP_ACTION_ACTIVE);
}

#define RINGING 40 /* rules that one packet counts on: so many that they are rung for at once */
#define BEFORE RINGING
#define BESIDE (RINGING + 1)
#define AFTER (RINGING + 2)

/* What another thread might do at this moment of the burst. */
static void
replace_in_the_middle(void *arg, uint32_t rule, unsigned int which)
{
	struct world *world = arg;

	if (world->replaced)
		return;
	world->replaced = true;
	add_to_port(world, AFTER, 2, false, true);
	trip_table_remove(world->table, BEFORE);
}

/* A rule that looks further than all before it takes over from one of them: no packet, parsed
 * before that and settled after, falls between the two. */
static void
soft_reads_on_for_a_rule_that_comes_in_the_middle(void **state)
{
	struct world *world = aligned_alloc(64, (sizeof(*world) + 63) / 64 * 64);
	struct rte_mbuf *pkts[2], *sent[2];
	struct frame frame;
	uint32_t i;

	assert_non_null(world);
	memset(world, 0, sizeof(*world));
	assert_int_equal(trip_table_open(RULES, &world->table), 0);
	for (i = 0; i < RULES; i++)
		trip_count_init(&world->counts[i]);
	trip_soft_open(&world->queue, world->table, false,
		&(struct trip_soft_shared){world->counts, world->moments, world->actions},
		replace_in_the_middle, NULL, world);
	for (i = 0; i < RINGING; i++)
		add_to_port(world, i, 1, true, false);
	add_to_port(world, BEFORE, 2, false, false);
	add_to_port(world, BESIDE, 2, true, false);
	assert_false(trip_count_budget(
		&world->counts[0], &world->folded[0], TRIP_COUNT_KIND_PACKETS, 1));
	for (i = 0; i < 2; i++) {
		frame_eth(&frame);
		frame_ipv4(&frame, (struct frame_ip){.src = 1, .proto = 17});
		frame_l4(&frame, 1, (uint16_t)(1 + i));
		pkts[i] = sent[i] = mbuf_of(&frame);
	}
	assert_int_equal(trip_soft_burst(&world->queue, pkts, 2), 2);
	assert_true(world->replaced);
	assert_int_equal(atomic_load(&world->counts[BEFORE].packets), 0);
	assert_int_equal(atomic_load(&world->counts[BESIDE].packets), 1);
	assert_int_equal(atomic_load(&world->counts[AFTER].packets), 1);
	for (i = 0; i < 2; i++)
		mbuf_release(sent[i]);
	trip_soft_close(&world->queue);
	trip_table_close(world->table);
	free(world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(soft_reads_on_for_a_rule_that_comes_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
