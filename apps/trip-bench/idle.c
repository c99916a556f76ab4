/* SPDX-License-Identifier: BSD-3-Clause */
/* What an iteration of the loop costs that finds nothing to do, the slow scrub included. */
#include <stdatomic.h>

#include <rte_common.h>

#include "arm.h"
#include "bench.h"

#define REPETITIONS 9
#define CHUNK 20000u
/* Long enough for the scrub to have its share. */
#define REPETITION_NS 210e6

struct idle {
	/* The one that is measured, and one with one counter, where that is another. */
	struct arm_idle *arm, *smallest;
	_Alignas(64) _Atomic uint64_t shared;
	uint64_t clock;
};

static uint64_t
iterate_bare(struct idle *idle, uint32_t iterations)
{
	uint64_t began = bench_cpu_ns();

	while (iterations-- > 0 && atomic_load_explicit(&idle->shared, memory_order_acquire) == 0)
		idle->clock ^= rte_rdtsc();
	return bench_cpu_ns() - began;
}

/* All arms in turn, chunk by chunk. */
static void
repeat(struct idle *idle, struct bench_sample *sample)
{
	uint64_t ours = 0, bare = 0, smallest = 0, chunks = 0;

	for (; (double)ours < REPETITION_NS; chunks++) {
		ours += arm_idle_iterate(idle->arm, CHUNK);
		bare += iterate_bare(idle, CHUNK);
		if (idle->smallest != NULL)
			smallest += arm_idle_iterate(idle->smallest, CHUNK);
	}
	sample->value = (double)ours / CHUNK / (double)chunks;
	sample->limit = (double)bare / CHUNK / (double)chunks;
	sample->peer = (double)smallest / CHUNK / (double)chunks;
}

static int
run(const struct bench *bench, struct bench_result *result)
{
	static struct idle idle;
	bool first = bench->peer == NULL;

	idle.arm = arm_idle_open(bench->size, bench->masks);
	idle.smallest = first ? NULL : arm_idle_open(1, 2);
	if (idle.arm == NULL || (!first && idle.smallest == NULL))
		return bench_fail("idle");
	result->n_samples = REPETITIONS;
	for (unsigned int i = 0; i < REPETITIONS; i++) {
		bench_progress(bench, i, REPETITIONS);
		repeat(&idle, &result->samples[i]);
	}
	arm_idle_close(idle.arm);
	if (!first)
		arm_idle_close(idle.smallest);
	return 0;
}

/* size: counters; masks: channels. */
#define IDLE(n, cntrs, channels, text, other, most)                                          \
	{                                                                                    \
		.name = n, .unit = "ns", .what = "an idle iteration with " text,             \
		.limit = "reading one shared line and a clock", .peer = other, .at_most = 2, \
		.at_most_peer = most, .run = run, .size = cntrs, .masks = channels           \
	}

#define CURVE(n, cntrs)                                                                    \
	{                                                                                  \
		.name = "curve_idle_" n, .unit = "ns",                                     \
		.what = "an idle iteration with so many counters",                         \
		.limit = "reading one shared line and a clock", .run = run, .size = cntrs, \
		.masks = 2, .curve = true                                                  \
	}

static const struct bench benches[] = {
	IDLE("idle_1", 1, 2, "one counter", NULL, 0),
	IDLE("idle_1m", 1000000, 2, "1 million counters", "one counter", 1.2),
	IDLE("idle_64ch", 1, 64, "64 channels", "2 channels", 1.2),
	CURVE("10", 10),
	CURVE("100", 100),
	CURVE("1k", 1000),
	CURVE("10k", 10000),
	CURVE("100k", 100000),
	CURVE("1m", 1000000),
};

const struct bench_list bench_idle = {benches, RTE_DIM(benches)};
