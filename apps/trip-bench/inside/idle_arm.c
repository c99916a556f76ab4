/* SPDX-License-Identifier: BSD-3-Clause */
/* A home that has nothing to do, by itself: no domain has as many channels yet. See arm.h. */
#include <stdlib.h>

#include <rte_cycles.h>

#include "arm.h"
#include "bench.h"
#include "home.h"

#define BUDGET 256
#define SCRUBS_PER_S 10

struct arm_idle {
	struct trip_engine engine;
	struct trip_home *home;
	void *memory;
};

void
arm_idle_close(struct arm_idle *idle)
{
	if (idle->home != NULL)
		trip_home_fini(idle->home);
	free(idle->memory);
	free(idle);
}

struct arm_idle *
arm_idle_open(uint32_t cntrs, uint32_t channels)
{
	struct trip_home_shape shape = {
		.n_cntrs = cntrs,
		.n_waiters = 64,
		.n_channels = channels,
		.n_slots = 64,
		.n_handler_slots = 64,
		.n_events = 64,
	};
	struct arm_idle *idle = calloc(1, sizeof(*idle));

	if (idle == NULL)
		return NULL;
	idle->memory = aligned_alloc(64, trip_home_size(&shape));
	idle->engine = (struct trip_engine){
		.n_homes = 1, .cntrs_per_home = cntrs, .tsc_hz = rte_get_tsc_hz()};
	if (idle->memory != NULL)
		idle->home = trip_home_init(idle->memory, &idle->engine, 0, &shape);
	if (idle->home == NULL) {
		arm_idle_close(idle);
		return NULL;
	}
	idle->engine.homes[0] = idle->home;
	idle->home->budget = BUDGET;
	idle->home->scrub.period_tsc = rte_get_tsc_hz() / SCRUBS_PER_S;
	return idle;
}

uint64_t
arm_idle_iterate(struct arm_idle *idle, uint32_t iterations)
{
	uint64_t began = bench_cpu_ns();

	/* As a dedicated lcore does, but for the pause. */
	while (iterations-- > 0 && !atomic_load_explicit(&idle->home->stop, memory_order_acquire))
		trip_home_iterate(idle->home, rte_rdtsc());
	return bench_cpu_ns() - began;
}
