/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters: what an update costs, and how soon what waits for it has happened. */
#include <stdatomic.h>

#include <rte_common.h>

#include "bench.h"
#include "fabric.h"

#define REPETITIONS 15
#define ADDS 1000u
#define CHUNKS 400u
#define ROUNDS 64u
#define TRIPS 128u

/* Chunk by chunk in turn, so short that few are interrupted. */
static int
repeat_add(void *arg, struct bench_sample *sample)
{
	struct trip_cntr *cntr = arg;
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
	return 0;
}

int
bench_add(const struct bench *bench, struct bench_result *result)
{
	struct trip_domain *domain;
	struct trip_cntr *cntr;

	if (trip_domain_open(NULL, &domain, NULL) != 0 ||
		trip_cntr_open(domain, NULL, &cntr, NULL) != 0)
		return bench_fail("add");
	bench_repeat(bench, result, REPETITIONS, repeat_add, cntr);
	trip_cntr_close(cntr);
	return trip_domain_close(domain);
}

/*
 * A round trip between two cores: ours by way of a home on an lcore of its own; bare in a function
 * that the home calls meanwhile, which answers by a store. Where a line lies on the chip decides
 * much of what its trip takes, so both go by several in turn.
 */
#define PAIRS 8u
/* The last one is to end the turn. */
#define END UINT64_MAX

/* Two lines apart: some CPUs fetch them in pairs. */
struct line {
	_Alignas(128) _Atomic uint64_t value;
};

struct trip {
	struct trip_domain *domain;
	/* One between any two of them, likewise. */
	struct trip_cntr *cntrs[4 * PAIRS];
	/* Has the home call bare_turn(). */
	struct trip_cntr *turn;
	struct trip_function *nothing, *bare;
	struct line ping[PAIRS], pong[PAIRS];
	/* The pair of the next turn; how many have ended. */
	unsigned int pair;
	_Atomic unsigned int turns;
};

static int
nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static int
bare_turn(const struct trip_work_event *event, void *arg)
{
	struct trip *trip = arg;
	_Atomic uint64_t *ping = &trip->ping[trip->pair].value,
			 *pong = &trip->pong[trip->pair].value;
	uint64_t at = 0, seen = 0;

	while (at != END) {
		at = atomic_load_explicit(ping, memory_order_acquire);
		/* To store what is there already would take the line from who waits for it. */
		if (at != seen)
			atomic_store_explicit(pong, at, memory_order_release);
		seen = at;
	}
	atomic_fetch_add(&trip->turns, 1);
	return 0;
}

static void
bare_trip(_Atomic uint64_t *ping, const _Atomic uint64_t *pong, uint64_t at)
{
	atomic_store_explicit(ping, at, memory_order_release);
	while (atomic_load_explicit(pong, memory_order_acquire) != at)
		;
}

static double
time_bare(struct trip *trip, unsigned int pair)
{
	_Atomic uint64_t *ping = &trip->ping[pair].value, *pong = &trip->pong[pair].value;
	unsigned int turns = atomic_load(&trip->turns);
	uint64_t began, took;

	trip->pair = pair;
	atomic_store(ping, 0);
	trip_cntr_add(trip->turn, 1);
	/* From here on it is answered. */
	bare_trip(ping, pong, 1);
	began = rte_rdtsc();
	for (uint64_t i = 2; i <= TRIPS + 1; i++)
		bare_trip(ping, pong, i);
	took = rte_rdtsc() - began;
	bare_trip(ping, pong, END);
	while (atomic_load(&trip->turns) == turns)
		;
	return bench_ns(took) / TRIPS;
}

static double
time_trip(struct trip *trip, unsigned int pair)
{
	struct trip_cntr *cntr = trip->cntrs[4 * pair], *done = trip->cntrs[4 * pair + 2];
	uint64_t began, at = trip_cntr_read(done);

	began = rte_rdtsc();
	for (uint64_t i = 1; i <= TRIPS; i++) {
		trip_cntr_add(cntr, 1);
		while (trip_cntr_read(done) != at + i)
			;
	}
	return bench_ns(rte_rdtsc() - began) / TRIPS;
}

static int
trip_queue(struct trip_domain *domain, struct trip_cntr *cntr, struct trip_cntr *done,
	struct trip_function *function)
{
	struct trip_work work = {
		.size = sizeof(work),
		.op_type = TRIP_OP_CALL,
		.triggering_cntr = cntr,
		.completion_cntr = done,
		.threshold = 1,
		.interval = 1,
		.op.call.function = function,
	};

	return trip_work_queue(domain, &work, NULL);
}

static int
trip_open(struct trip *trip)
{
	int error = bench_worker_domain(&trip->domain);

	for (unsigned int i = 0; i < RTE_DIM(trip->cntrs) && error == 0; i++)
		error = trip_cntr_open(trip->domain, NULL, &trip->cntrs[i], NULL);
	if (error != 0 || trip_cntr_open(trip->domain, NULL, &trip->turn, NULL) != 0 ||
		trip_function_register(trip->domain, nothing, NULL, &trip->nothing) != 0 ||
		trip_function_register(trip->domain, bare_turn, trip, &trip->bare) != 0 ||
		trip_queue(trip->domain, trip->turn, NULL, trip->bare) != 0)
		return bench_fail("trip_rtt");
	for (unsigned int i = 0; i < RTE_DIM(trip->cntrs) && error == 0; i += 4)
		error = trip_queue(trip->domain, trip->cntrs[i], trip->cntrs[i + 2], trip->nothing);
	return error == 0 ? 0 : bench_fail("trip_rtt");
}

static int
trip_close(struct trip *trip)
{
	trip_work_flush(trip->domain, NULL);
	trip_function_unregister(trip->nothing);
	trip_function_unregister(trip->bare);
	trip_cntr_close(trip->turn);
	for (unsigned int i = 0; i < RTE_DIM(trip->cntrs); i++)
		trip_cntr_close(trip->cntrs[i]);
	return trip_domain_close(trip->domain);
}

static int
repeat_trip(void *trip, struct bench_sample *sample)
{
	double ours[ROUNDS], bare[ROUNDS];

	for (unsigned int n = 0; n < ROUNDS; n++) {
		ours[n] = time_trip(trip, n % PAIRS);
		bare[n] = time_bare(trip, n % PAIRS);
	}
	sample->value = bench_middle(ours, ROUNDS);
	sample->limit = bench_middle(bare, ROUNDS);
	return 0;
}

int
bench_trip(const struct bench *bench, struct bench_result *result)
{
	static struct trip trip;

	if (!bench_worker_have())
		return bench_skip(result, "needs two CPUs");
	if (trip_open(&trip) != 0)
		return -1;
	bench_repeat(bench, result, REPETITIONS, repeat_trip, &trip);
	return trip_close(&trip);
}
