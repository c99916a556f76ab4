/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: what an update costs, and how soon what waits for it has happened. */
#include <stdatomic.h>

#include <rte_common.h>
#include <rte_pause.h>

#include "bench.h"
#include "fabric.h"

#define REPETITIONS 15
#define ADDS 1000u
#define CHUNKS 400u
#define ROUNDS 64u
#define TRIPS 32u

/* Chunk by chunk in turn, so short that few are interrupted. */
static void
repeat_add(struct trip_cntr *cntr, struct bench_sample *sample)
{
	static _Alignas(64) _Atomic uint64_t bare;
	double value[CHUNKS], limit[CHUNKS], peer[CHUNKS];

	for (unsigned int i = 0; i < CHUNKS; i++) {
		uint64_t began = rte_rdtsc(), between;

		for (uint32_t n = 0; n < ADDS; n++)
			trip_cntr_add(cntr, 1);
		between = rte_rdtsc();
		for (uint32_t n = 0; n < ADDS; n++)
			atomic_fetch_add(&bare, 1);
		limit[i] = bench_ns(rte_rdtsc() - between) / ADDS;
		value[i] = bench_ns(between - began) / ADDS;
		peer[i] = bench_fabric_add(ADDS);
	}
	*sample = (struct bench_sample){bench_middle(value, CHUNKS), bench_middle(limit, CHUNKS),
		bench_middle(peer, CHUNKS)};
}

static int
run_add(const struct bench *bench, struct bench_result *result)
{
	struct trip_domain *domain;
	struct trip_cntr *cntr;

	if (trip_domain_open(NULL, &domain, NULL) != 0 ||
		trip_cntr_open(domain, NULL, &cntr, NULL) != 0)
		return bench_fail("add");
	result->n_samples = REPETITIONS;
	for (unsigned int i = 0; i < REPETITIONS; i++) {
		bench_progress(bench, i, REPETITIONS);
		repeat_add(cntr, &result->samples[i]);
	}
	trip_cntr_close(cntr);
	return trip_domain_close(domain);
}

/* One round trip between two cores: ours by way of a home, and bare. */
struct trip {
	struct trip_domain *domain;
	struct trip_cntr *cntr, *done;
	struct trip_function *function;
	_Atomic bool bare;
	_Alignas(64) _Atomic uint64_t ping;
	_Alignas(64) _Atomic uint64_t pong;
};

static void
step(void *arg)
{
	struct trip *trip = arg;

	if (atomic_load_explicit(&trip->bare, memory_order_relaxed))
		atomic_store_explicit(&trip->pong,
			atomic_load_explicit(&trip->ping, memory_order_acquire),
			memory_order_release);
	else
		trip_progress(trip->domain);
}

static int
nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static double
time_bare(struct trip *trip)
{
	uint64_t began, at = atomic_load(&trip->ping);

	atomic_store(&trip->bare, true);
	began = rte_rdtsc();
	for (uint64_t i = 1; i <= TRIPS; i++) {
		atomic_store_explicit(&trip->ping, at + i, memory_order_release);
		while (atomic_load_explicit(&trip->pong, memory_order_acquire) != at + i)
			;
	}
	return bench_ns(rte_rdtsc() - began) / TRIPS;
}

static double
time_trip(struct trip *trip)
{
	uint64_t began, at = trip_cntr_read(trip->done);

	atomic_store(&trip->bare, false);
	began = rte_rdtsc();
	for (uint64_t i = 1; i <= TRIPS; i++) {
		trip_cntr_add(trip->cntr, 1);
		while (trip_cntr_read(trip->done) != at + i)
			;
	}
	return bench_ns(rte_rdtsc() - began) / TRIPS;
}

static int
trip_open(struct trip *trip)
{
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CALL, .threshold = 1, .interval = 1};

	if (trip_domain_open(NULL, &trip->domain, NULL) != 0 ||
		trip_cntr_open(trip->domain, NULL, &trip->cntr, NULL) != 0 ||
		trip_cntr_open(trip->domain, NULL, &trip->done, NULL) != 0 ||
		trip_function_register(trip->domain, nothing, NULL, &trip->function) != 0)
		return bench_fail("trip_rtt");
	work.triggering_cntr = trip->cntr;
	work.completion_cntr = trip->done;
	work.op.call.function = trip->function;
	return trip_work_queue(trip->domain, &work, NULL) == 0 ? 0 : bench_fail("trip_rtt");
}

static int
run_trip(const struct bench *bench, struct bench_result *result)
{
	static struct trip trip;

	if (!bench_worker_have())
		return bench_skip(result, "needs two CPUs");
	if (trip_open(&trip) != 0)
		return -1;
	bench_worker_start(step, &trip);
	result->n_samples = REPETITIONS;
	for (unsigned int i = 0; i < REPETITIONS; i++) {
		double ours[ROUNDS], bare[ROUNDS];

		bench_progress(bench, i, REPETITIONS);
		for (unsigned int n = 0; n < ROUNDS; n++) {
			ours[n] = time_trip(&trip);
			bare[n] = time_bare(&trip);
		}
		result->samples[i].value = bench_middle(ours, ROUNDS);
		result->samples[i].limit = bench_middle(bare, ROUNDS);
	}
	bench_worker_stop();
	trip_work_flush(trip.domain, NULL);
	trip_function_unregister(trip.function);
	trip_cntr_close(trip.cntr);
	trip_cntr_close(trip.done);
	return trip_domain_close(trip.domain);
}

static const struct bench benches[] = {
	{
		.name = "add",
		.unit = "ns",
		.what = "trip_cntr_add() of a counter that nobody waits for",
		.limit = "a bare atomic add",
		.peer = "fi_cntr_add()",
		.at_most = 1.3,
		.run = run_add,
	},
	{
		.name = "trip_rtt",
		.unit = "ns",
		.what = "from an add to the completion counter of what it fires on the other core",
		.limit = "a bare round trip of two cache lines",
		.at_most = 1.5,
		.run = run_trip,
	},
};

const struct bench_list bench_cntr = {benches, RTE_DIM(benches)};
