/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated NIC whose flows are asked in the order of the horizon: the overshoot of each limit.
 */
#include <math.h>
#include <stdlib.h>

#include "horizon.h"
#include "horizon_sim.h"

#define NS 1e9
#define WARM_ROUNDS 2
#define ROUNDS_A_LIMIT 4
#define BACKGROUND_ROUNDS 4

struct sim_flow {
	/* Packets a nanosecond. */
	double rate;
	/* When it was last read, what it had counted, and with packets that are not whole. */
	double at, exact;
	uint64_t count;
	uint64_t limit;
};

struct sim {
	const struct horizon_sim_shape *shape;
	struct horizon_sim_result *result;
	struct trip_horizon horizon;
	void *memory;
	struct sim_flow *flows;
	uint64_t random;
	/* Nanoseconds between two readings, and in a round. */
	double slot, round;
	/* Which flow is hit, TRIP_HORIZON_NONE: none yet. */
	uint32_t hit;
};

static double
draw(struct sim *sim)
{
	uint64_t z = (sim->random += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* Poisson's distribution; from 30 on by the normal one, which is close. */
static double
draw_arrivals(struct sim *sim, double mean)
{
	double n = 0, product, floor_of = exp(-mean);

	if (mean > 30) {
		n = mean + sqrt(mean) * sqrt(-2 * log(draw(sim))) * cos(2 * M_PI * draw(sim));
		return n > 0 ? floor(n) : 0;
	}
	for (product = draw(sim); product > floor_of; product *= draw(sim))
		n++;
	return n;
}

static uint64_t
count_on(struct sim *sim, uint32_t index, double now)
{
	struct sim_flow *flow = &sim->flows[index];
	double mean = flow->rate * (now - flow->at);
	uint64_t before = flow->count;

	flow->exact += sim->shape->poisson ? draw_arrivals(sim, mean) : mean;
	if (index == sim->hit)
		flow->exact += HORIZON_SIM_LINE / NS / 2 * (now - flow->at);
	flow->at = now;
	flow->count = (uint64_t)flow->exact;
	return flow->count - before;
}

static uint64_t
draw_limit(struct sim *sim, const struct sim_flow *flow)
{
	return flow->count + 1 +
	       (uint64_t)(2 * draw(sim) * flow->rate * ROUNDS_A_LIMIT * sim->round);
}

static void
note_crossing(struct sim *sim, uint32_t index)
{
	const struct sim_flow *flow = &sim->flows[index];
	struct horizon_sim_result *result = sim->result;
	uint64_t over = flow->count - flow->limit;

	result->crossings++;
	result->missed += over > sim->shape->tolerance;
	result->worst = over > result->worst ? over : result->worst;
	if (index == sim->hit && over > result->worst_burst)
		result->worst_burst = over;
}

/* The flow has been read: whoever waited for it has what he waited for, and waits for more. */
static void
arm(struct sim *sim, uint32_t index, double now)
{
	struct sim_flow *flow = &sim->flows[index];

	if (now < WARM_ROUNDS * sim->round)
		return;
	if (flow->limit != TRIP_COUNT_NO_LIMIT && flow->count >= flow->limit) {
		note_crossing(sim, index);
		if (sim->hit == index)
			sim->hit = TRIP_HORIZON_NONE;
		flow->limit = TRIP_COUNT_NO_LIMIT;
	}
	if (flow->limit == TRIP_COUNT_NO_LIMIT)
		flow->limit = draw_limit(sim, flow);
	if (sim->shape->bursts && sim->hit == TRIP_HORIZON_NONE && draw(sim) < 0.5) {
		sim->hit = index;
		flow->limit = flow->count + 1;
	}
}

static void
read_flow(struct sim *sim, uint32_t index, double now)
{
	struct sim_flow *flow = &sim->flows[index];
	struct trip_horizon_view views[TRIP_COUNT_KINDS] = {
		{.grew = count_on(sim, index, now), .count = flow->count, .limit = flow->limit},
		{.limit = TRIP_COUNT_NO_LIMIT},
	};

	views[0].count = flow->count;
	if (!sim->shape->sweep)
		trip_horizon_note(&sim->horizon, index, (uint64_t)now, views);
	arm(sim, index, now);
	views[0].limit = flow->limit;
	if (!sim->shape->sweep)
		trip_horizon_read(&sim->horizon, index, (uint64_t)now, views);
}

static void
run(struct sim *sim)
{
	uint64_t slots = (uint64_t)(WARM_ROUNDS + sim->shape->rounds) * (uint64_t)sim->shape->flows;

	for (uint64_t i = 0; i < slots; i++) {
		double now = (double)(i + 1) * sim->slot;
		uint32_t index = (uint32_t)(i % sim->shape->flows);
		uint64_t due;

		if (!sim->shape->sweep)
			index = trip_horizon_next(&sim->horizon, (uint64_t)now, &due);
		if (index != TRIP_HORIZON_NONE)
			read_flow(sim, index, now);
	}
	sim->result->reported = sim->horizon.report.missed;
	sim->result->exposure = sim->horizon.report.exposure[0];
}

static void
set_up(struct sim *sim)
{
	const struct horizon_sim_shape *shape = sim->shape;
	double sum = 0, steady = HORIZON_SIM_LINE / NS * (shape->bursts ? 0.5 : 1);

	sim->random = shape->seed;
	sim->slot = NS / (double)shape->budget;
	sim->round = sim->slot * shape->flows;
	sim->hit = TRIP_HORIZON_NONE;
	trip_horizon_init(&sim->horizon, sim->memory, shape->flows);
	sim->horizon.config = (struct trip_horizon_config){
		.background = (uint64_t)(BACKGROUND_ROUNDS * sim->round),
		.forecasts = true,
		.line = {HORIZON_SIM_LINE / NS, 0},
		.tolerance = {shape->tolerance, UINT64_MAX},
	};
	for (uint32_t i = 0; i < shape->flows; i++)
		sum += 1.0 / (i + 1);
	for (uint32_t i = 0; i < shape->flows; i++) {
		sim->flows[i] = (struct sim_flow){
			.rate = steady / sum / (i + 1), .limit = TRIP_COUNT_NO_LIMIT};
		trip_horizon_add(&sim->horizon, i, 0);
	}
}

int
horizon_sim_run(const struct horizon_sim_shape *shape, struct horizon_sim_result *result)
{
	struct sim sim = {.shape = shape, .result = result};
	int error = -1;

	*result = (struct horizon_sim_result){0};
	sim.memory = malloc(trip_horizon_size(shape->flows));
	sim.flows = malloc(shape->flows * sizeof(*sim.flows));
	if (sim.memory != NULL && sim.flows != NULL) {
		set_up(&sim);
		run(&sim);
		error = 0;
	}
	free(sim.memory);
	free(sim.flows);
	return error;
}

/* Of a counter in a cache that is refreshed at multiples of the lag, a packet a nanosecond. */
struct cached_flow {
	uint64_t read, shown;
	/* The moment of the crossing, and its limit, are the same number. */
	uint64_t limit;
	uint32_t readings;
};

static void
read_cached(const struct horizon_sim_cache *cache, struct trip_horizon *horizon,
	struct cached_flow *flow, uint32_t index, uint64_t now, struct horizon_sim_cached *result)
{
	uint64_t shown = now / cache->lag * cache->lag;
	struct trip_horizon_view views[TRIP_COUNT_KINDS] = {
		{.count = shown, .grew = shown - flow->shown, .limit = flow->limit},
		{.limit = TRIP_COUNT_NO_LIMIT},
	};

	flow->readings = flow->read / cache->lag == now / cache->lag ? flow->readings + 1 : 1;
	if (flow->readings > result->most_readings)
		result->most_readings = flow->readings;
	if (flow->read != 0 && now - flow->read > result->sweep)
		result->sweep = now - flow->read;
	if (shown >= flow->limit) {
		result->crossings++;
		if (now - flow->limit > result->latest)
			result->latest = now - flow->limit;
		flow->limit = TRIP_COUNT_NO_LIMIT;
	}
	flow->read = now;
	flow->shown = shown;
	trip_horizon_read(horizon, index, now, views);
}

int
horizon_sim_run_cached(const struct horizon_sim_cache *cache, struct horizon_sim_cached *result)
{
	struct cached_flow *flows = calloc(cache->flows, sizeof(*flows));
	void *memory = malloc(trip_horizon_size(cache->flows));
	struct sim random = {.random = cache->seed};
	struct trip_horizon horizon;
	int error = -1;

	*result = (struct horizon_sim_cached){0};
	if (flows != NULL && memory != NULL) {
		trip_horizon_init(&horizon, memory, cache->flows);
		horizon.config = (struct trip_horizon_config){
			.period = cache->lag, .background = cache->lag, .line = {1}};
		for (uint32_t i = 0; i < cache->flows; i++) {
			flows[i].limit = 1 + (uint64_t)(draw(&random) * (double)cache->time / 2);
			trip_horizon_add(&horizon, i, 0);
		}
		for (uint64_t now = cache->query; now < cache->time; now += cache->query) {
			uint64_t due;
			uint32_t index = trip_horizon_next(&horizon, now, &due);

			if (index != TRIP_HORIZON_NONE)
				read_cached(cache, &horizon, &flows[index], index, now, result);
		}
		error = 0;
	}
	free(flows);
	free(memory);
	return error;
}
