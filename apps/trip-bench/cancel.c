/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancel at random among many, as the home does it: the pending set beside a heap. */
#include <rte_common.h>

#include "arm.h"
#include "bench.h"

#define REPETITIONS 9

static int
run(const struct bench *bench, struct bench_result *result)
{
	double forget[REPETITIONS];
	int error = 0;

	for (unsigned int i = 0; i < REPETITIONS && error == 0; i++) {
		uint64_t wheel = 0, heap = 0, after = 0;

		bench_progress(bench, i, REPETITIONS);
		error = arm_cancel_wheel.cancel(bench->size, i, &wheel, &after);
		forget[i] = (double)after / bench->size;
		if (error == 0)
			error = arm_cancel_heap.cancel(bench->size, i, &heap, &after);
		result->samples[i] = (struct bench_sample){
			.value = (double)wheel / bench->size,
			.peer = (double)heap / bench->size,
		};
	}
	result->n_samples = REPETITIONS;
	snprintf(result->note, sizeof(result->note),
		"all of them, until the set is empty; thresholds random up to their number; %.1f "
		"ns more where "
		"the item's place is wanted again before the counter has come by",
		error == 0 ? bench_middle(forget, REPETITIONS) : 0);
	return error;
}

static const struct bench benches[] = {
	{
		.name = "cancel_1m",
		.unit = "ns an item",
		.what = "taking an item at random out of a pending set of 1 million",
		.peer = "out of a 4-ary heap with back indices",
		.at_most_peer = 0.3,
		.run = run,
		.size = 1000000,
	},
};

const struct bench_list bench_cancel = {benches, RTE_DIM(benches)};
