/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules added and removed while queues burst. A last rule takes whatever no other takes, so each
 * packet must be counted exactly once, whatever the interleaving; the flows of make-before-break
 * rules must never fall through to it; counts of a rule that is quiet must stand still.
 */
#include <pthread.h>
#include <sched.h>

#include "soft.h"
#include "soft_test.h"
#include "table_check.h"

#define QUEUES 2
#define BURSTS 40000
#define BURST 32
#define FLOWS 600
#define LAST_RULE 0  /* everything, at the lowest priority */
#define KEPT_RULES 1 /* two indices for each kept flow, of which one is always in */
#define KEPT_FLOWS 16
#define LOOSE_RULES (KEPT_RULES + 2 * KEPT_FLOWS)
#define RULES (LOOSE_RULES + FLOWS)

struct queue {
	struct trip_soft_queue soft;
	struct trip_count counts[RULES];
	struct trip_count_moments moments[RULES];
	struct trip_random random;
	struct rte_mbuf *packets[FLOWS]; /* of flow i, by its ports */
	uint64_t sent;
	uint64_t kept_sent;
	pthread_t thread;
};

struct world {
	struct trip_table *table;
	_Atomic uint8_t actions[RULES];
	struct queue *queues[QUEUES];
	_Atomic uint32_t running;
	uint64_t quiet_counts[RULES];
	bool present[RULES];
	uint64_t sequence;
	struct trip_random random;
};

static struct world world;

static void
no_cross(void *arg, uint32_t rule, unsigned int which)
{
}

static void *
run_queue(void *arg)
{
	struct queue *queue = arg;
	uint32_t burst, i;

	for (burst = 0; burst < BURSTS; burst++) {
		struct rte_mbuf *pkts[BURST];

		for (i = 0; i < BURST; i++) {
			uint32_t flow = (uint32_t)trip_random_below(&queue->random, FLOWS);

			if (trip_random_below(&queue->random, 2))
				flow %= KEPT_FLOWS;
			queue->kept_sent += flow < KEPT_FLOWS;
			pkts[i] = queue->packets[flow];
		}
		queue->sent += trip_soft_burst(&queue->soft, pkts, BURST);
	}
	atomic_fetch_sub(&world.running, 1);
	return NULL;
}

/* Flow by its destination port; the variants look at the TTL, the TOS or the identification as
 * well: other masks, of which those with the last make the parser read more than it did before. */
static void
flow_pattern(struct trip_pattern *pattern, uint32_t flow, uint64_t variant)
{
	const struct rte_flow_item_udp udp = {.hdr.dst_port = rte_cpu_to_be_16((uint16_t)flow)};
	const struct rte_flow_item_udp udp_mask = {.hdr.dst_port = 0xffff};
	const struct rte_flow_item_ipv4 ip = {
		.hdr.time_to_live = 64, .hdr.type_of_service = 0x10, .hdr.packet_id = RTE_BE16(7)};
	const struct rte_flow_item_ipv4 ip_mask = {.hdr.time_to_live = variant & 1 ? 0xff : 0,
		.hdr.type_of_service = variant & 2 ? 0xff : 0,
		.hdr.packet_id = (variant & 0xc) == 0 ? 0xffff : 0};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};

	assert_int_equal(trip_pattern_compile(items, pattern, NULL), 0);
}

static uint64_t
count_of(uint32_t rule)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		sum += atomic_load(&world.queues[i]->counts[rule].packets);
	return sum;
}

/* Add where the index is free; false while its last burst is not over. */
static bool
add(uint32_t rule, uint32_t flow, uint32_t priority)
{
	struct trip_table_rule asked = {
		.rule = rule, .priority = priority, .sequence = world.sequence++};
	struct trip_pattern pattern;

	if (!trip_table_quiet(world.table, rule))
		return false;
	assert_int_equal(count_of(rule), world.quiet_counts[rule]);
	flow_pattern(&pattern, flow, trip_random_u64(&world.random));
	assert_int_equal(trip_table_add(world.table, &asked, &pattern), 0);
	world.present[rule] = true;
	return true;
}

/* Removed, quiet, and its counts noted: what is counted on it from now on is an error. */
static void
take_out(uint32_t rule)
{
	trip_table_remove(world.table, rule);
	while (!trip_table_quiet(world.table, rule))
		sched_yield();
	world.quiet_counts[rule] = count_of(rule);
	world.present[rule] = false;
}

/* The rule that is not in goes in, at any priority and with any mask, before the other one goes. */
static void
replace_kept(uint32_t flow)
{
	uint32_t first = KEPT_RULES + 2 * flow;
	uint32_t in = world.present[first] ? first + 1 : first;
	uint32_t out = world.present[first] ? first : first + 1;

	if (add(in, flow, (uint32_t)trip_random_below(&world.random, 3)))
		take_out(out);
}

static void
change_table(void)
{
	while (atomic_load(&world.running) > 0) {
		uint32_t loose = (uint32_t)trip_random_below(&world.random, FLOWS);

		replace_kept((uint32_t)trip_random_below(&world.random, KEPT_FLOWS));
		if (loose < KEPT_FLOWS)
			continue;
		if (world.present[LOOSE_RULES + loose])
			take_out(LOOSE_RULES + loose);
		else
			add(LOOSE_RULES + loose, loose,
				(uint32_t)trip_random_below(&world.random, 3));
	}
}

static struct queue *
open_queue(void)
{
	struct queue *queue = aligned_alloc(64, (sizeof(*queue) + 63) / 64 * 64);
	struct frame frame;
	uint32_t i;

	assert_non_null(queue);
	memset(queue, 0, sizeof(*queue));
	for (i = 0; i < RULES; i++)
		trip_count_init(&queue->counts[i]);
	for (i = 0; i < FLOWS; i++) {
		frame_eth(&frame);
		frame_ipv4(&frame, (struct frame_ip){.src = 1, .dst = 2, .proto = 17, .ttl = 64});
		frame_l4(&frame, 1, (uint16_t)i);
		queue->packets[i] = mbuf_of(&frame);
	}
	queue->random.state = trip_random_u64(&world.random);
	trip_soft_open(&queue->soft, world.table, false,
		&(struct trip_soft_shared){queue->counts, queue->moments, world.actions}, no_cross,
		NULL, NULL);
	return queue;
}

static void
close_queue(struct queue *queue)
{
	uint32_t i;

	trip_soft_close(&queue->soft);
	for (i = 0; i < FLOWS; i++)
		mbuf_release(queue->packets[i]);
	free(queue);
}

static void
set_up(void)
{
	const struct rte_flow_item all[] = {{.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_table_rule last = {.rule = LAST_RULE, .priority = UINT32_MAX};
	struct trip_pattern pattern;
	uint32_t i;

	assert_int_equal(trip_table_open(RULES, &world.table), 0);
	for (i = 0; i < RULES; i++)
		atomic_store(&world.actions[i], TRIP_ACTION_ACTIVE);
	for (i = 0; i < QUEUES; i++)
		world.queues[i] = open_queue();
	assert_int_equal(trip_pattern_compile(all, &pattern, NULL), 0);
	assert_int_equal(trip_table_add(world.table, &last, &pattern), 0);
	for (i = 0; i < KEPT_FLOWS; i++)
		assert_true(add(KEPT_RULES + 2 * i, i, 1));
}

static void
soft_counts_each_packet_once_while_rules_change(void **state)
{
	uint64_t sent = 0, kept_sent = 0, counted = 0, kept_counted = 0;
	uint32_t i;

	world.random.state = trip_test_seed("soft_counts_each_packet_once_while_rules_change");
	set_up();
	atomic_store(&world.running, QUEUES);
	for (i = 0; i < QUEUES; i++)
		assert_int_equal(
			pthread_create(&world.queues[i]->thread, NULL, run_queue, world.queues[i]),
			0);
	change_table();
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(pthread_join(world.queues[i]->thread, NULL), 0);
		sent += world.queues[i]->sent;
		kept_sent += world.queues[i]->kept_sent;
	}
	for (i = 0; i < RULES; i++) {
		counted += count_of(i);
		if (i >= KEPT_RULES && i < LOOSE_RULES)
			kept_counted += count_of(i);
	}
	assert_int_equal(sent, (uint64_t)QUEUES * BURSTS * BURST);
	assert_int_equal(counted, sent);
	assert_int_equal(kept_counted, kept_sent);
	printf("%llu packets, %llu rules added\n", (unsigned long long)sent,
		(unsigned long long)world.sequence);
	assert_int_equal(table_check(world.table), 0);
	for (i = 0; i < QUEUES; i++)
		close_queue(world.queues[i]);
	trip_table_close(world.table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(soft_counts_each_packet_once_while_rules_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
