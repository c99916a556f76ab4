/* SPDX-License-Identifier: BSD-3-Clause */
/* What rates cost a home that are waited for on all of its counters: one that is idle, and one that
 * fires other work of them all the time. */
#include "arm.h"
#include "bench.h"

#define REPETITIONS 9
#define CHUNK 2000u
/* Some cuts of a window of 5 s, which are 69 ms apart. */
#define REPETITION_NS 420e6

enum { ARMS = ARM_RATE_WORK + 1 };

struct rates {
	struct arm_rate *arms[ARMS];
	bool busy;
};

/* All arms in turn, chunk by chunk. */
static int
repeat(void *arg, struct bench_sample *sample)
{
	struct rates *rates = arg;
	uint64_t ns[ARMS] = {0}, chunks = 0;

	for (; (double)ns[ARM_RATE] < REPETITION_NS; chunks++)
		for (unsigned int i = 0; i < ARMS; i++)
			ns[i] += arm_rate_iterate(rates->arms[i], CHUNK, rates->busy);
	sample->value = (double)ns[ARM_RATE] / CHUNK / (double)chunks;
	sample->limit = (double)ns[ARM_RATE_NONE] / CHUNK / (double)chunks;
	sample->peer = (double)ns[ARM_RATE_WORK] / CHUNK / (double)chunks;
	return 0;
}

int
bench_rate(const struct bench *bench, struct bench_result *result)
{
	struct rates rates = {.busy = bench->second != 0};
	int ret = 0;

	for (unsigned int i = 0; i < ARMS && ret == 0; i++) {
		rates.arms[i] = arm_rate_open(bench->size, (enum arm_rate_beside)i);
		ret = rates.arms[i] == NULL ? bench_fail("rate") : 0;
	}
	if (ret == 0)
		bench_repeat(bench, result, REPETITIONS, repeat, &rates);
	for (unsigned int i = 0; i < ARMS; i++)
		if (rates.arms[i] != NULL)
			arm_rate_close(rates.arms[i]);
	return ret;
}
