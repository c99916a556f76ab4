/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancels all items of a pending set, in random order; see arm.h. */
#include <stdlib.h>

#include "arm.h"
#include "bench.h"
#include "pending.h"

static uint32_t *
shuffled(uint32_t n, struct bench_random *random)
{
	uint32_t *order = malloc(n * sizeof(*order));

	for (uint32_t i = 0; order != NULL && i < n; i++) {
		uint32_t j = (uint32_t)(bench_random_u64(random) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

static int
cancel(uint32_t items, uint64_t seed, uint64_t *ns, uint64_t *forget_ns)
{
	struct bench_random random = {seed};
	struct trip_pending_pool pool;
	struct trip_pending set;
	uint32_t *order = shuffled(items, &random);
	void *memory = aligned_alloc(64, trip_pending_pool_size(items));
	bool empty = false;

	if (order != NULL && memory != NULL) {
		trip_pending_pool_init(&pool, memory, items);
		trip_pending_init(&set);
		for (uint32_t i = 0; i < items; i++)
			trip_pending_insert(&pool, &set, 1 + bench_random_u64(&random) % items, i);
		*ns = bench_cpu_ns();
		for (uint32_t i = 0; i < items; i++)
			trip_pending_cancel(&pool, &set, order[i]);
		*ns = bench_cpu_ns() - *ns;
		*forget_ns = bench_cpu_ns();
		for (uint32_t i = 0; i < items; i++)
			trip_pending_forget(&pool, &set, order[i]);
		*forget_ns = bench_cpu_ns() - *forget_ns;
		empty = trip_pending_count(&set) == 0 &&
			trip_pending_bound(&pool, &set) == TRIP_PENDING_NONE;
	}
	free(order);
	free(memory);
	return empty ? 0 : bench_fail("cancel");
}

const struct arm_cancel ARM_CANCEL = {cancel};
