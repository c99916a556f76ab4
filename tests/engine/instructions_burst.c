/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that a queue's bursts take through its table, for instructions.py: what hits no rule, one
 * rule, rules of several masks, and several rules at once; what is dropped, and what rings. The
 * secrets of hashes are drawn from a fixed sequence, so that every run finds the same buckets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "instructions.h"
#include "soft.h"

#define BURST 32u
#define BURSTS 500u
#define MASKS 4u
#define FRAME 60u
/* Rules of one kind: packet i is for rule i of them. */
#define RULES BURST
#define RULES_MAX (MASKS * RULES)

enum kind {
	NONE,
	ONE,
	EACH_MASK,
	ALSO,
	DROPS,
	RINGS,
	KINDS,
};

static struct bed {
	struct trip_table *table;
	struct trip_soft_queue queue;
	struct trip_count counts[RULES_MAX];
	struct trip_count_moments moments[RULES_MAX];
	_Atomic uint32_t police_of[RULES_MAX];
	_Atomic uint8_t actions[RULES_MAX];
	struct rte_mbuf mbufs[BURST];
	struct rte_mbuf *burst[BURST];
	uint8_t frames[BURST][FRAME];
	uint64_t kept;
	uint64_t rung;
} beds[KINDS];

/* The library's secrets. */
ssize_t
getrandom(void *to, size_t size, unsigned int flags)
{
	static uint64_t state = 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)to)[i] = (uint8_t)(state >> 56);
	}
	return (ssize_t)size;
}

static void
note_cross(void *arg, uint32_t rule, unsigned int which)
{
	struct bed *bed = arg;

	bed->rung++;
}

static uint64_t
stands_still(void *arg)
{
	return 1;
}

/* Mask m leaves out the source port where bit 0 is set, the destination port with bit 1. */
static void
add_rule(struct bed *bed, uint32_t rule, uint32_t m, bool also, uint8_t actions)
{
	struct rte_flow_item_ipv4 ip = {.hdr = {.src_addr = RTE_BE32(0x0a000000),
						.dst_addr = rte_cpu_to_be_32(rule % RULES)}};
	struct rte_flow_item_ipv4 ip_mask = {
		.hdr = {.src_addr = UINT32_MAX, .dst_addr = UINT32_MAX}};
	struct rte_flow_item_udp udp_mask = {.hdr = {.src_port = (m & 1) != 0 ? 0 : UINT16_MAX,
						     .dst_port = (m & 2) != 0 ? 0 : UINT16_MAX}};
	struct rte_flow_item_udp udp = {0};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	const struct trip_table_rule asked = {.rule = rule, .sequence = rule, .also = also};
	struct trip_pattern pattern;

	atomic_store(&bed->actions[rule], TRIP_ACTION_ACTIVE | actions);
	if (trip_pattern_compile(items, &pattern, NULL) != 0 ||
		trip_table_add(bed->table, &asked, &pattern) != 0)
		abort();
}

static void
write_packet(struct bed *bed, uint32_t i, uint32_t dst)
{
	static const uint8_t header[] = {
		[12] = 0x08,
		[14] = 0x45,
		[17] = FRAME - 14,
		[22] = 64,
		[23] = 17,
		[26] = 10,
	};
	struct rte_mbuf *mbuf = &bed->mbufs[i];

	memcpy(bed->frames[i], header, sizeof(header));
	dst = rte_cpu_to_be_32(dst);
	memcpy(bed->frames[i] + 30, &dst, sizeof(dst));
	mbuf->buf_addr = bed->frames[i];
	mbuf->data_len = mbuf->buf_len = FRAME;
	mbuf->pkt_len = FRAME;
	mbuf->nb_segs = 1;
	bed->burst[i] = mbuf;
}

static void
open_bed(enum kind kind)
{
	struct bed *bed = &beds[kind];
	struct trip_soft_shared shared = {.counts = bed->counts,
		.moments = bed->moments,
		.actions = bed->actions,
		.police_of = bed->police_of};

	if (trip_table_open(RULES_MAX, &bed->table) != 0)
		abort();
	for (uint32_t i = 0; i < RULES_MAX; i++)
		trip_count_init(&bed->counts[i]);
	for (uint32_t i = 0; i < BURST; i++)
		write_packet(bed, i, kind == NONE ? i + RULES : i);
	for (uint32_t i = 0; i < RULES; i++) {
		add_rule(bed, i, kind == EACH_MASK ? i % MASKS : 0, false,
			kind == DROPS && i % 2 == 0 ? TRIP_ACTION_DROP : 0);
		for (uint32_t m = 1; kind == ALSO && m < MASKS; m++)
			add_rule(bed, m * RULES + i, m, true, 0);
		if (kind == RINGS)
			atomic_store(&bed->counts[i].limit[TRIP_COUNT_KIND_PACKETS], 1);
	}
	trip_soft_open(&bed->queue, bed->table, false, &shared, note_cross, stands_still, bed);
}

/* The order in which packets stand does not matter to the table: what was dropped stays. */
static inline void
pass(struct bed *bed)
{
	for (uint32_t i = 0; i < BURSTS; i++)
		bed->kept += trip_soft_sort(&bed->queue, bed->burst, BURST);
}

/* Each a function of its own, by which it is counted. */
#define COUNT(name, kind)                                        \
	__attribute__((noinline)) static void count_##name(void) \
	{                                                        \
		pass(&beds[kind]);                               \
	}

COUNT(burst_none, NONE)
COUNT(burst_one, ONE)
COUNT(burst_masks, EACH_MASK)
COUNT(burst_also, ALSO)
COUNT(burst_drop, DROPS)
COUNT(burst_ring, RINGS)

/* They went the way that they are counted for. */
static void
check(enum kind kind, uint64_t counted, uint64_t kept, uint64_t rung)
{
	struct bed *bed = &beds[kind];
	uint64_t packets = 0;

	for (uint32_t i = 0; i < RULES_MAX; i++)
		packets += trip_count_read(&bed->counts[i], TRIP_COUNT_KIND_PACKETS);
	if (packets != counted || bed->kept != kept || bed->rung != rung)
		abort();
	trip_soft_close(&bed->queue);
	trip_table_close(bed->table);
}

void
instructions_burst(void)
{
	static const char *const names[KINDS] = {"none", "one", "masks", "also", "drop", "ring"};
	const uint64_t all = BURST * BURSTS;

	for (unsigned int kind = 0; kind < KINDS; kind++)
		open_bed((enum kind)kind);
	count_burst_none();
	count_burst_one();
	count_burst_masks();
	count_burst_also();
	count_burst_drop();
	count_burst_ring();
	check(NONE, 0, all, 0);
	check(ONE, all, all, 0);
	check(EACH_MASK, all, all, 0);
	check(ALSO, MASKS * all, all, 0);
	check(DROPS, all, all / 2, 0);
	check(RINGS, all, all, all);
	for (unsigned int kind = 0; kind < KINDS; kind++)
		printf("burst_%s %" PRIu64 "\n", names[kind], all);
}
