/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to fire a counter-add work, everything included from the update of the triggering
 * counter on, in one thread. Beside it the same library with its pending set replaced by a 4-ary
 * heap of (threshold, sequence, node).
 */
#include <rte_common.h>

#include "arm.h"
#include "bench.h"
#include "fabric.h"

#define REPETITIONS 5
#define MANY_CNTRS 65536u
#define STEPS 1000u
#define MANY_STEPS 16u
#define FABRIC_ITEMS 1000u

struct fire {
	const struct arm *arms[2];
	struct arm_fire_bed *beds[2];
};

static struct arm_fire_shape
shape_of(const struct bench *bench)
{
	bool many = bench->masks > 1;

	return (struct arm_fire_shape){
		.items = bench->size,
		.cntrs = bench->masks > 0 ? bench->masks : 1,
		.range = bench->masks == 0 ? UINT64_C(1) << 40 : bench->size,
		.steps = many ? MANY_STEPS : STEPS,
	};
}

static int
fire_open(struct fire *fire, const struct bench *bench)
{
	struct arm_fire_shape shape = shape_of(bench);

	for (unsigned int i = 0; i < RTE_DIM(fire->arms); i++) {
		shape.name = i == 0 ? "wheel" : "heap";
		fire->beds[i] = fire->arms[i]->fire_open(&shape);
		if (fire->beds[i] == NULL)
			return -1;
	}
	return 0;
}

static int
repeat(struct fire *fire, const struct bench *bench, uint64_t seed, struct bench_sample *sample)
{
	double ns[2];

	/* Enough items at small sizes, too. */
	unsigned int times = RTE_MAX(1u, 20000u / bench->size);

	for (unsigned int i = 0; i < RTE_DIM(ns); i++) {
		uint64_t took, sum = 0;

		for (unsigned int t = 0; t < times; t++) {
			if (fire->arms[i]->fire_fill(fire->beds[i], seed + t) != 0 ||
				fire->arms[i]->fire(fire->beds[i], &took) != 0)
				return -1;
			sum += took;
		}
		ns[i] = (double)sum / bench->size / times;
	}
	*sample = (struct bench_sample){.value = ns[0], .peer = ns[1]};
	return 0;
}

static int
run(const struct bench *bench, struct bench_result *result)
{
	struct fire fire = {.arms = {&arm_wheel, &arm_heap}};
	struct bench_sample warm;
	static double fabric;
	int error = fire_open(&fire, bench);

	/* Before items are pending there, which would slow it down. */
	if (fabric == 0)
		fabric = bench_fabric_fire(FABRIC_ITEMS);
	if (error == 0)
		error = repeat(&fire, bench, 1, &warm);
	for (unsigned int i = 0; i < REPETITIONS && error == 0; i++) {
		bench_progress(bench, i, REPETITIONS);
		error = repeat(&fire, bench, 1000 + i, &result->samples[i]);
	}
	result->n_samples = REPETITIONS;
	if (fabric > 0)
		snprintf(result->note, sizeof(result->note),
			"libfabric sockets fires %u items in steps of one at %.0f ns an item",
			FABRIC_ITEMS, fabric);
	for (unsigned int i = 0; i < RTE_DIM(fire.arms); i++)
		if (fire.beds[i] != NULL)
			fire.arms[i]->fire_close(fire.beds[i]);
	return error;
}

static int
run_curve(const struct bench *bench, struct bench_result *result)
{
	struct arm_fire_shape shape = {.name = "curve",
		.items = bench->size,
		.cntrs = 1,
		.range = bench->size,
		.steps = RTE_MIN(STEPS, bench->size)};
	struct arm_fire_bed *bed = arm_wheel.fire_open(&shape);
	unsigned int times = RTE_MAX(1u, 20000u / bench->size);
	int error = bed != NULL ? 0 : -1;

	for (unsigned int i = 0; i < REPETITIONS && error == 0; i++) {
		uint64_t took = 0, sum = 0;

		for (unsigned int t = 0; t < times && error == 0; t++, sum += took) {
			error = arm_wheel.fire_fill(bed, i * times + t);
			if (error == 0)
				error = arm_wheel.fire(bed, &took);
		}
		result->samples[i].value = (double)sum / bench->size / times;
		if (bench->masks > 0)
			result->samples[i].peer = bench_fabric_fire(bench->size);
	}
	result->n_samples = REPETITIONS;
	if (bed != NULL)
		arm_wheel.fire_close(bed);
	return error;
}

/* masks: libfabric, too, where it ends in time. */
#define CURVE(n, s, fabric)                                                                     \
	{                                                                                       \
		.name = "curve_fire_" n, .unit = "ns an item",                                  \
		.what = "firing counter adds, thresholds up to their number",                   \
		.peer = fabric ? "libfabric sockets, in steps of one" : NULL, .run = run_curve, \
		.size = s, .masks = fabric, .curve = true                                       \
	}

/* masks: counters; 0: one, and sparse thresholds. */
#define FIRE(n, s, c, text, most)                                                              \
	{                                                                                      \
		.name = n, .unit = "ns an item", .what = text,                                 \
		.peer = "the same, with a 4-ary heap for a pending set", .at_most_peer = most, \
		.run = run, .size = s, .masks = c                                              \
	}

static const struct bench benches[] = {
	FIRE("fire_1k", 1000, 1, "firing counter adds in 1,000 steps, thresholds up to 1,000", 0.5),
	FIRE("fire_1m", 1000000, 1,
		"firing counter adds in 1,000 steps, thresholds up to 1 million", 0.2),
	FIRE("fire_1m_sparse", 1000000, 0,
		"firing counter adds in 1,000 steps, thresholds up to 2^40", 0.5),
	FIRE("fire_1m_64k", 1000000, MANY_CNTRS,
		"firing counter adds spread over 65,536 counters, in 16 steps of all", 1),
	CURVE("10", 10, 1),
	CURVE("100", 100, 1),
	CURVE("1k", 1000, 1),
	CURVE("10k", 10000, 1),
	CURVE("100k", 100000, 0),
	CURVE("1m", 1000000, 0),
};

const struct bench_list bench_fire = {benches, RTE_DIM(benches)};
