/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of keys with what leads to it, by itself. See arm.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "arm.h"
#include "each_key.h"
#include "keyed.h"
#include "lookup.h"

#define IDLE_US 60000000
/* Bytes a second, and at once: no key has so much. */
#define RATE (UINT64_C(1) << 30)
#define AT_ONCE (UINT64_C(1) << 40)

struct arm_each {
	struct trip_each_key key;
	struct trip_keyed *table;
	uint64_t tsc_per_us;
	struct trip_packet_fields fields[TRIP_KEYED_CHUNK];
	uint64_t keys[TRIP_KEYED_CHUNK * TRIP_EACH_KEY_WORDS];
	uint32_t bytes[TRIP_KEYED_CHUNK], key_bytes[TRIP_KEYED_CHUNK];
	uint8_t packets[TRIP_KEYED_CHUNK];
	uint32_t dropped;
};

static struct trip_keyed_attr
attr_of(uint32_t max, uint32_t words, enum arm_each_kind kind)
{
	bool rate = kind == ARM_EACH_RATE, drop = kind == ARM_EACH_DROP;

	return (struct trip_keyed_attr){.max = max,
		.words = words,
		.idle = IDLE_US,
		.rate_of_bytes = rate,
		.rate = rate ? RATE : 0,
		.burst = rate ? AT_ONCE : 0,
		.holds = drop,
		.hold_max = drop ? TRIP_KEYED_EVER : 0,
		.secret = {rte_rdtsc(), (uintptr_t)&words}};
}

uint64_t
arm_each_bytes(uint32_t max, uint32_t words)
{
	struct trip_keyed_attr attr = attr_of(max, words, ARM_EACH_PLAIN);

	return trip_keyed_size(&attr);
}

void
arm_each_close(struct arm_each *each)
{
	rte_free(each->table);
	free(each);
}

struct arm_each *
arm_each_open(uint32_t max, enum arm_each_kind kind)
{
	static const struct trip_each_part parts[] = {{TRIP_EACH_IPV4_SRC, 0},
		{TRIP_EACH_IPV4_DST, 0}, {TRIP_EACH_PROTO, 0}, {TRIP_EACH_L4_SRC, 0},
		{TRIP_EACH_L4_DST, 0}};
	struct arm_each *each = aligned_alloc(64, (sizeof(*each) + 63) / 64 * 64);
	struct trip_keyed_attr attr;
	const char *message = "";
	void *memory;

	if (each == NULL)
		return NULL;
	memset(each, 0, sizeof(*each));
	if (trip_each_key_compile(parts, RTE_DIM(parts), &each->key, &message) != 0) {
		fprintf(stderr, "trip-bench: %s\n", message);
		arm_each_close(each);
		return NULL;
	}
	attr = attr_of(max, each->key.words, kind);
	memory = rte_malloc("each", trip_keyed_size(&attr), 64);
	if (memory == NULL) {
		arm_each_close(each);
		return NULL;
	}
	each->table = trip_keyed_init(memory, &attr);
	each->tsc_per_us = rte_get_tsc_hz() / 1000000;
	return each;
}

void
arm_each_hold(struct arm_each *each)
{
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < trip_keyed_entries(each->table); i++)
		if (trip_keyed_read(each->table, i, &reading))
			trip_keyed_hold(each->table, i, TRIP_KEYED_EVER, 1);
}

/* Up to TRIP_KEYED_CHUNK of them. */
uint32_t
arm_each_burst(struct arm_each *each, struct rte_mbuf **pkts, uint32_t n)
{
	struct trip_keyed_chunk chunk = {
		.keys = each->keys, .bytes = each->key_bytes, .dropped = &each->dropped};

	trip_lookup_prefetch(pkts, n);
	for (uint32_t i = 0; i < n; i++)
		each->bytes[i] = trip_packet_parse(pkts[i], each->key.wants, &each->fields[i]);
	chunk.count = trip_each_key_take(&each->key, each->fields, n, each->keys, each->packets);
	for (uint32_t i = 0; i < chunk.count; i++)
		each->key_bytes[i] = each->bytes[each->packets[i]];
	return trip_keyed_count(each->table, &chunk, rte_rdtsc() / each->tsc_per_us);
}

struct arm_each_totals
arm_each_totals(const struct arm_each *each)
{
	struct trip_keyed_totals totals;
	const char *broken = trip_keyed_check(each->table);

	if (broken != NULL)
		fprintf(stderr, "trip-bench: it does not hold that %s\n", broken);
	trip_keyed_totals(each->table, &totals);
	return (struct arm_each_totals){.whole = broken == NULL,
		.packets = totals.packets,
		.admitted = totals.admitted,
		.refused = totals.refused_packets,
		.keys = totals.keys};
}
