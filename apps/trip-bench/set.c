/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to ask whether an address is in a set of a million prefixes: an engine whose one
 * rule asks that, beside the same without the set, and beside bare bulk lookups of the same
 * addresses in an rte_fib with the same prefixes. Every packet is in the set. And how long it takes
 * to fill such a set, beside as many rte_fib_add().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_flow.h>

#include "soft_bed.h"

#define REPETITIONS 21
#define ROUNDS 256
#define LOADS 5
#define MIB 1048576.0

struct bed {
	const struct bench *bench;
	struct bench_random random;
	struct trip_set_entry *entries;
	/* One has a rule that asks for the set, the other one without. */
	struct soft *soft[2];
	struct trip_set *set;
	/* NULL: there is no memory for it. */
	struct rte_fib *fib;
	uint32_t addresses[PACKETS];
	uint64_t found;
};

/* Of random length from `second` on, up to 24; or all of 32. */
static int
draw_entries(struct bed *bed)
{
	uint32_t shortest = bed->bench->second;

	bed->random.state = 42;
	bed->entries = calloc(bed->bench->size, sizeof(*bed->entries));
	if (bed->entries == NULL)
		return bench_fail("entries");
	for (uint32_t i = 0; i < bed->bench->size; i++) {
		uint64_t drawn = bench_random_u64(&bed->random);

		bed->entries[i] = (struct trip_set_entry){.kind = TRIP_SET_IPV4,
			.length = (uint8_t)(shortest > 24
						    ? 32
						    : shortest + (drawn >> 32) % (25 - shortest)),
			.value = {(uint8_t)(drawn >> 24), (uint8_t)(drawn >> 16),
				(uint8_t)(drawn >> 8), (uint8_t)drawn}};
	}
	return 0;
}

static uint32_t
address_of(const struct trip_set_entry *entry)
{
	return (uint32_t)entry->value[0] << 24 | (uint32_t)entry->value[1] << 16 |
	       (uint32_t)entry->value[2] << 8 | entry->value[3];
}

/* With room for prefixes up to /24; hosts would take a group of 256 each, and these a gigabyte. */
static struct rte_fib *
open_fib(const struct bed *bed)
{
	struct rte_fib_conf conf = {
		.type = RTE_FIB_DIR24_8,
		.max_routes = (int)bed->bench->size + 1,
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 256},
	};

	return bed->bench->second > 24 ? NULL : rte_fib_create("bench", SOCKET_ID_ANY, &conf);
}

static void
fill_fib(struct rte_fib *fib, const struct bed *bed)
{
	for (uint32_t i = 0; i < bed->bench->size; i++) {
		uint8_t length = bed->entries[i].length;
		uint32_t mask = length == 0 ? 0 : UINT32_MAX << (32 - length);

		(void)rte_fib_add(fib, address_of(&bed->entries[i]) & mask, length, 1);
	}
}

/* In place of the rules that it has, one of IPv4, whose source may have to be in the set. */
static int
put_rule(struct soft *soft, bool asks)
{
	static const struct trip_flow_item_set test = {.name = "bench", .offset = 12};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = asks ? (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET
			      : RTE_FLOW_ITEM_TYPE_VOID,
			.spec = asks ? &test : NULL},
		{.type = RTE_FLOW_ITEM_TYPE_END}};

	while (soft->n_flows > 0)
		trip_flow_destroy(soft->flows[--soft->n_flows]);
	if (trip_flow_create(soft->port, NULL, pattern, NULL, &soft->flows[0], NULL) != 0)
		return bench_fail("flow");
	soft->n_flows = 1;
	return 0;
}

static int
open_engines(struct bed *bed)
{
	static const struct bench one = {.size = 1, .second = 1};
	const struct trip_set_attr attr = {.size = sizeof(attr), .name = "bench"};

	for (unsigned int i = 0; i < 2; i++) {
		bed->soft[i] = soft_bed_open(&one, i, soft_bed_draw_bare);
		if (bed->soft[i] == NULL)
			return -1;
	}
	if (trip_set_open(bed->soft[0]->domain, &attr, &bed->set) != 0)
		return bench_fail("set");
	return put_rule(bed->soft[0], true) == 0 ? put_rule(bed->soft[1], false) : -1;
}

static void
close_bed(struct bed *bed)
{
	if (bed->soft[0] != NULL && bed->soft[0]->n_flows > 0)
		trip_flow_destroy(bed->soft[0]->flows[--bed->soft[0]->n_flows]);
	if (bed->set != NULL)
		trip_set_close(bed->set);
	for (unsigned int i = 0; i < 2; i++)
		if (bed->soft[i] != NULL)
			soft_bed_close(bed->soft[i]);
	rte_fib_free(bed->fib);
	free(bed->entries);
}

/* Addresses of entries at random, any that these stand for. */
static void
choose(struct bed *bed)
{
	for (unsigned int i = 0; i < PACKETS; i++) {
		uint64_t drawn = bench_random_u64(&bed->random);
		const struct trip_set_entry *entry = &bed->entries[drawn % bed->bench->size];
		uint32_t behind = entry->length == 32 ? 0 : UINT32_MAX >> entry->length;

		bed->addresses[i] =
			(address_of(entry) & ~behind) | ((uint32_t)(drawn >> 32) & behind);
		for (unsigned int k = 0; k < 2; k++) {
			const struct key key = {.src = rte_cpu_to_be_32(bed->addresses[i])};

			soft_bed_write(bed->soft[k], i, &key);
		}
	}
}

static uint64_t
time_fib(struct bed *bed)
{
	uint64_t hops[BURST], began = rte_rdtsc();

	for (unsigned int i = 0; i < PACKETS; i += BURST) {
		rte_fib_lookup_bulk(bed->fib, &bed->addresses[i], hops, BURST);
		bed->found += hops[0];
	}
	return rte_rdtsc() - began;
}

static int
repeat(void *arg, struct bench_sample *sample)
{
	static double arms[3][ROUNDS];
	double ns = 1e9 / (double)rte_get_tsc_hz() / PACKETS;
	struct bed *bed = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		choose(bed);
		/* They take turns in going first. */
		for (unsigned int k = 0; k < 3; k++) {
			unsigned int arm = (i + k) % 3;

			if (arm < 2)
				arms[arm][i] = (double)soft_bed_time_engine(bed->soft[arm]);
			else if (bed->fib != NULL)
				arms[arm][i] = (double)time_fib(bed);
		}
	}
	sample->value = bench_middle(arms[0], ROUNDS) * ns;
	sample->peer = bench_middle(arms[1], ROUNDS) * ns;
	sample->limit = bed->fib != NULL ? bench_middle(arms[2], ROUNDS) * ns : 0;
	return 0;
}

int
bench_set(const struct bench *bench, struct bench_result *result)
{
	struct trip_set_info info = {.size = sizeof(info)};
	struct bed bed = {.bench = bench};
	int error = draw_entries(&bed);

	if (error == 0)
		error = open_engines(&bed);
	if (error == 0 && trip_set_replace(bed.set, bed.entries, bench->size) != 0)
		error = bench_fail("set");
	if (error == 0) {
		bed.fib = open_fib(&bed);
		if (bed.fib != NULL)
			fill_fib(bed.fib, &bed);
		bench_repeat(bench, result, REPETITIONS, repeat, &bed);
		error = soft_bed_verify(bed.soft[0], (REPETITIONS + 1ull) * ROUNDS * PACKETS);
		(void)trip_set_query(bed.set, &info);
		snprintf(result->note, sizeof(result->note),
			"every packet is in it; the set takes %.1f MiB, bursts of %d",
			info.bytes / MIB, BURST);
	}
	close_bed(&bed);
	return error;
}

/* ---- filling ----------------------------------------------------------------------------------
 */

static int
load(void *arg, struct bench_sample *sample)
{
	struct bed *bed = arg;
	uint64_t began = bench_cpu_ns();

	if (trip_set_replace(bed->set, bed->entries, bed->bench->size) != 0)
		return bench_fail("set");
	sample->value = (double)(bench_cpu_ns() - began) / 1e6;
	bed->fib = open_fib(bed);
	if (bed->fib == NULL)
		return 0;
	began = bench_cpu_ns();
	fill_fib(bed->fib, bed);
	sample->peer = (double)(bench_cpu_ns() - began) / 1e6;
	rte_fib_free(bed->fib);
	bed->fib = NULL;
	return 0;
}

int
bench_set_load(const struct bench *bench, struct bench_result *result)
{
	struct trip_set_info info = {.size = sizeof(info)};
	struct bed bed = {.bench = bench};
	int error = draw_entries(&bed);

	if (error == 0)
		error = open_engines(&bed);
	if (error == 0)
		error = bench_repeat(bench, result, LOADS, load, &bed);
	if (error == 0 && trip_set_query(bed.set, &info) == 0)
		snprintf(result->note, sizeof(result->note),
			"while it is filled, the old one stands: of the new one %.1f MiB",
			info.bytes / MIB);
	close_bed(&bed);
	return error;
}
