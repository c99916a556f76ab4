/* SPDX-License-Identifier: BSD-3-Clause */
/* What an iteration of the loop costs that finds nothing to do, the slow scrub included. */
#include <stdatomic.h>

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
static int
repeat(void *arg, struct bench_sample *sample)
{
	struct idle *idle = arg;
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
	return 0;
}

int
bench_idle(const struct bench *bench, struct bench_result *result)
{
	static struct idle idle;
	bool first = bench->peer == NULL;

	idle.arm = arm_idle_open(bench->size, bench->second);
	idle.smallest = first ? NULL : arm_idle_open(1, 2);
	if (idle.arm == NULL || (!first && idle.smallest == NULL))
		return bench_fail("idle");
	bench_repeat(bench, result, REPETITIONS, repeat, &idle);
	arm_idle_close(idle.arm);
	if (!first)
		arm_idle_close(idle.smallest);
	return 0;
}
