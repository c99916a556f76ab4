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
#define STEPS 1000u
#define MANY_STEPS 16u
#define FABRIC_ITEMS 1000u

struct fire {
	const struct bench *bench;
	const struct arm *arms[2];
	struct arm_fire_bed *beds[2];
	/* A point of the plot has no heap beside it. */
	unsigned int n_arms;
	uint64_t seed;
};

static int
fire_open(struct fire *fire)
{
	const struct bench *bench = fire->bench;
	struct arm_fire_shape shape = {
		.items = bench->size,
		.cntrs = RTE_MAX(bench->second, 1u),
		.range = bench->second == 0 ? UINT64_C(1) << 40 : bench->size,
		.steps = bench->second > 1 ? MANY_STEPS : RTE_MIN(STEPS, bench->size),
	};

	for (unsigned int i = 0; i < fire->n_arms; i++) {
		shape.name = i == 0 ? "wheel" : "heap";
		fire->beds[i] = fire->arms[i]->fire_open(&shape);
		if (fire->beds[i] == NULL)
			return -1;
	}
	return 0;
}

static int
repeat(void *arg, struct bench_sample *sample)
{
	struct fire *fire = arg;
	unsigned int size = fire->bench->size;
	/* Enough items at small sizes, too. */
	unsigned int times = RTE_MAX(1u, 20000u / size);
	double ns[2] = {0};

	for (unsigned int i = 0; i < fire->n_arms; i++) {
		uint64_t took, sum = 0;

		for (unsigned int t = 0; t < times; t++, sum += took)
			if (fire->arms[i]->fire_fill(fire->beds[i], fire->seed + t) != 0 ||
				fire->arms[i]->fire(fire->beds[i], &took) != 0)
				return -1;
		ns[i] = (double)sum / size / times;
	}
	fire->seed += times;
	if (fire->bench->curve && fire->bench->peer != NULL)
		ns[1] = bench_fabric_fire(size);
	*sample = (struct bench_sample){.value = ns[0], .peer = ns[1]};
	return 0;
}

int
bench_fire(const struct bench *bench, struct bench_result *result)
{
	struct fire fire = {
		.bench = bench, .arms = {&arm_wheel, &arm_heap}, .n_arms = bench->curve ? 1 : 2};
	static double fabric;
	int error = fire_open(&fire);

	/* Before items are pending there, which would slow it down. */
	if (fabric == 0 && !bench->curve)
		fabric = bench_fabric_fire(FABRIC_ITEMS);
	if (error == 0)
		error = bench_repeat(bench, result, REPETITIONS, repeat, &fire);
	if (fabric > 0)
		snprintf(result->note, sizeof(result->note),
			"libfabric sockets fires %u items in steps of one at %.0f ns an item",
			FABRIC_ITEMS, fabric);
	for (unsigned int i = 0; i < fire.n_arms; i++)
		if (fire.beds[i] != NULL)
			fire.arms[i]->fire_close(fire.beds[i]);
	return error;
}
