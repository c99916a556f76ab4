/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which flow counter is asked next, in virtual time: no clock is in the figures, but those of one
 * seed are always the same. The horizon is the one that reads the counters of ports.
 */
#include <rte_common.h>

#include "bench.h"
#include "horizon_sim.h"

#define REPETITIONS 3
#define ROUNDS 12
/* Of what the line carries in a round of a plain sweep: what the horizon is to hold. */
#define TOLERANCE 0.01
#define LAG_NS 1000000000u
#define QUERY_NS 500u

static const uint64_t budgets[] = {10000, 100000, 1000000};
static const struct {
	uint32_t flows;
	/* Fewer flows, more rounds. */
	uint32_t times;
	const char *name;
} sizes[] = {{1000, 20, "1k"}, {10000, 4, "10k"}, {100000, 1, "100k"}};

static struct horizon_sim_shape
shape_of(unsigned int size, unsigned int budget, bool bursts, uint64_t seed)
{
	return (struct horizon_sim_shape){
		.flows = sizes[size].flows,
		.budget = budgets[budget],
		.seed = seed,
		.rounds = ROUNDS * sizes[size].times,
		.poisson = true,
		.bursts = bursts,
		.tolerance = (uint64_t)(TOLERANCE * HORIZON_SIM_LINE * sizes[size].flows /
					(double)budgets[budget]),
	};
}

/* The worst overshoot of the horizon and of a plain sweep; what was missed and not told is an
 * error. */
static int
measure(struct horizon_sim_shape shape, struct bench_sample *sample)
{
	struct horizon_sim_result ours, sweep;

	if (horizon_sim_run(&shape, &ours) != 0)
		return bench_fail("horizon");
	shape.sweep = true;
	if (horizon_sim_run(&shape, &sweep) != 0)
		return bench_fail("horizon");
	if (ours.missed != ours.reported) {
		fprintf(stderr, "trip-bench: horizon: %ju missed, %ju told\n",
			(uintmax_t)ours.missed, (uintmax_t)ours.reported);
		return -1;
	}
	sample->value = (double)(shape.bursts ? ours.worst_burst : ours.worst);
	sample->peer = (double)(shape.bursts ? sweep.worst_burst : sweep.worst);
	return 0;
}

/* All sizes with all budgets; the sample is the one with the worst ratio. */
static int
measure_all(const struct bench *bench, struct bench_result *result, unsigned int repetition)
{
	struct bench_sample *worst = &result->samples[repetition], sample = {0};
	unsigned int done = 0;
	size_t at = 0;

	for (unsigned int size = 0; size < RTE_DIM(sizes); size++) {
		at += (size_t)snprintf(&result->note[at], sizeof(result->note) - at, "%s%s flows",
			size > 0 ? "; " : "ratios with 10 k, 100 k, 1 M queries a second: ",
			sizes[size].name);
		for (unsigned int budget = 0; budget < RTE_DIM(budgets); budget++) {
			bench_progress(bench, repetition * 9 + done++, REPETITIONS * 9);
			if (measure(shape_of(size, budget, bench->second != 0, repetition + 1),
				    &sample) != 0)
				return -1;
			at += (size_t)snprintf(&result->note[at], sizeof(result->note) - at,
				" %.2f", sample.value / sample.peer);
			if (worst->peer == 0 ||
				sample.value / sample.peer > worst->value / worst->peer)
				*worst = sample;
		}
	}
	snprintf(&result->note[at], sizeof(result->note) - at, "; no miss untold");
	return 0;
}

int
bench_horizon(const struct bench *bench, struct bench_result *result)
{
	int error = 0;

	for (unsigned int i = 0; i < REPETITIONS && error == 0; i++)
		error = measure_all(bench, result, i);
	result->n_samples = REPETITIONS;
	return error;
}

int
bench_horizon_cached(const struct bench *bench, struct bench_result *result)
{
	struct horizon_sim_cache cache = {.flows = bench->size,
		.seed = 1,
		.lag = LAG_NS,
		.query = QUERY_NS,
		.time = UINT64_C(4) * LAG_NS};
	uint64_t all = (uint64_t)cache.flows * QUERY_NS;
	uint64_t promised = cache.lag + RTE_MAX(cache.lag, all);
	struct horizon_sim_cached cached;

	if (horizon_sim_run_cached(&cache, &cached) != 0)
		return bench_fail("horizon");
	snprintf(result->note, sizeof(result->note),
		"refreshed each second, %u ns a query; the latest of %ju trips came after %.3f "
		"s, the lag and a sweep are %.3f s",
		QUERY_NS, (uintmax_t)cached.crossings, (double)cached.latest * 1e-9,
		(double)promised * 1e-9);
	result->n_samples = 1;
	result->samples[0] = (struct bench_sample){
		.value = cached.most_readings,
		.limit = 1,
	};
	if (cached.latest <= promised)
		return 0;
	fprintf(stderr, "trip-bench: horizon: a trip came after %ju ns\n",
		(uintmax_t)cached.latest);
	return -1;
}
