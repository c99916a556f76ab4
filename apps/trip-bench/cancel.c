/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancel at random among many, as the home does it: the pending set beside a heap. */
#include "arm.h"
#include "bench.h"

#define REPETITIONS 9

struct cancel {
	unsigned int items;
	unsigned int done;
	double forget[REPETITIONS + 1];
};

static int
repeat(void *arg, struct bench_sample *sample)
{
	struct cancel *cancel = arg;
	uint64_t wheel, heap, after, unused;
	unsigned int seed = cancel->done++;

	if (arm_cancel_wheel.cancel(cancel->items, seed, &wheel, &after) != 0 ||
		arm_cancel_heap.cancel(cancel->items, seed, &heap, &unused) != 0)
		return -1;
	cancel->forget[seed] = (double)after / cancel->items;
	sample->value = (double)wheel / cancel->items;
	sample->peer = (double)heap / cancel->items;
	return 0;
}

int
bench_cancel(const struct bench *bench, struct bench_result *result)
{
	struct cancel cancel = {.items = bench->size};
	int error = bench_repeat(bench, result, REPETITIONS, repeat, &cancel);

	snprintf(result->note, sizeof(result->note),
		"all of them, until the set is empty; thresholds random up to their number; %.1f "
		"ns more where the item's place is wanted again before the counter has come by",
		error == 0 ? bench_middle(cancel.forget, cancel.done) : 0);
	return error;
}
