/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home on whose counters rates are waited for, by itself, so that it can be given a clock: the
 * time of the processor that it has had, for what it does for rates comes by time. See arm.h.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "arm.h"
#include "bench.h"
#include "home.h"

#define BUDGET 256
#define WINDOW_NS UINT64_C(5000000000)
/* Never reached. */
#define COUNT (UINT64_C(1) << 40)
/* Additions between two iterations, and to a counter between two firings of other work of it. */
#define ADDITIONS 32
#define INTERVAL 8
/* Longer than a chunk takes: the processor was somebody else's. */
#define LEAP_NS UINT64_C(10000000)

struct arm_rate {
	/* First: the home has its address. */
	struct trip_engine engine;
	struct trip_home *home;
	void *memory;
	uint32_t cntrs, next;
	uint64_t now;
};

static uint64_t
clock_of(struct trip_home *home)
{
	return ((const struct arm_rate *)home->engine)->now;
}

void
arm_rate_close(struct arm_rate *rate)
{
	if (rate->home != NULL)
		trip_home_fini(rate->home);
	free(rate->memory);
	free(rate);
}

static void
submit(struct arm_rate *rate, uint32_t cntr, enum arm_rate_beside beside)
{
	bool condition = beside == ARM_RATE;
	struct trip_channel_client *client = &rate->home->clients[0];
	uint32_t more[TRIP_CHANNEL_MORE];
	unsigned int n = condition ? 1 + TRIP_CHANNEL_MEMORY : 0;
	uint32_t slot =
		(uint32_t)trip_channel_alloc_more(client, trip_channel_returned(client), more, n);
	struct trip_work_desc *desc = trip_channel_desc(client, slot);
	uint64_t id, *parameters;

	*desc = (struct trip_work_desc){
		.threshold = condition                 ? 0
			     : beside == ARM_RATE_WORK ? COUNT
						       : INTERVAL,
		.interval = condition ? 1 : INTERVAL,
		.value = 1,
		.trigger = cntr,
		.target = rate->cntrs,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CNTR_ADD,
	};
	if (condition) {
		parameters = trip_channel_operands(client, more[0]);
		parameters[0] = COUNT;
		parameters[1] = WINDOW_NS;
		parameters[2] = parameters[3] = 0;
		trip_channel_chain(client, &more[1], TRIP_CHANNEL_MEMORY);
		desc->condition_kind = TRIP_CONDITION_RATE;
		desc->condition = 1 + more[0];
		desc->memory = 1 + more[1];
	}
	(void)trip_channel_submit(client, slot, &id);
}

static void
settle(struct arm_rate *rate)
{
	trip_doorbell_ring(&rate->home->doorbell, TRIP_BELL_CHANNEL, 0);
	do
		rate->now++;
	while (trip_home_iterate(rate->home, rate->now) > 0);
}

/* One after the other, at any moments of a window: no two of them have their cuts together. */
static void
queue_beside(struct arm_rate *rate, enum arm_rate_beside beside)
{
	struct bench_random random = {.state = 1};

	for (uint32_t i = 0; i < rate->cntrs; i++) {
		rate->now += bench_random_u64(&random) % (2 * WINDOW_NS / rate->cntrs);
		submit(rate, i, beside);
		settle(rate);
	}
}

struct arm_rate *
arm_rate_open(uint32_t cntrs, enum arm_rate_beside beside)
{
	const struct trip_home_shape shape = {
		.n_cntrs = cntrs + 1,
		.n_waiters = 64,
		.n_channels = 2,
		.n_slots = cntrs * (3 + TRIP_CHANNEL_MEMORY) + 64,
		.n_handler_slots = 64,
		.n_events = 64,
	};
	struct arm_rate *rate = calloc(1, sizeof(*rate));

	if (rate == NULL)
		return NULL;
	rate->cntrs = cntrs;
	rate->memory = aligned_alloc(64, trip_home_size(&shape));
	rate->engine = (struct trip_engine){
		.n_homes = 1, .cntrs_per_home = cntrs + 1, .tsc_hz = 1000000000};
	if (rate->memory != NULL)
		rate->home = trip_home_init(rate->memory, &rate->engine, 0, &shape);
	if (rate->home == NULL) {
		arm_rate_close(rate);
		return NULL;
	}
	rate->engine.homes[0] = rate->home;
	rate->home->budget = BUDGET;
	rate->home->clock = clock_of;
	rate->home->scrub.period_tsc = 100000000;
	for (uint32_t i = 0; i < cntrs; i++)
		submit(rate, i, ARM_RATE_NONE);
	settle(rate);
	if (beside != ARM_RATE_NONE)
		queue_beside(rate, beside);
	return rate;
}

static void
add(struct arm_rate *rate)
{
	for (unsigned int i = 0; i < ADDITIONS; i++) {
		if (trip_cell_add(&rate->home->cells[rate->next], 1))
			trip_doorbell_ring(&rate->home->doorbell, TRIP_BELL_CNTR, rate->next);
		rate->next = rate->next + 1 < rate->cntrs ? rate->next + 1 : 0;
	}
}

uint64_t
arm_rate_iterate(struct arm_rate *rate, uint32_t iterations, bool busy)
{
	uint64_t began = bench_cpu_ns(), tsc = rte_rdtsc(), from = rate->now, took;
	double ns = 1e9 / (double)rte_get_tsc_hz();

	while (iterations-- > 0) {
		took = (uint64_t)((double)(rte_rdtsc() - tsc) * ns);
		rate->now = from + RTE_MIN(took, LEAP_NS);
		if (busy)
			add(rate);
		trip_home_iterate(rate->home, rate->now);
	}
	took = bench_cpu_ns() - began;
	rate->now = RTE_MAX(rate->now, from + took);
	return took;
}
