/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to hand deferred work to a home on another core: from the first of a batch being
 * submitted until the last has been accepted, while so many are pending. Beside it, batch by batch,
 * the same descriptors through a bare single-producer, single-consumer ring between the same cores.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "bench.h"
#include "fabric.h"

#define REPETITIONS 11
#define ROUNDS 24
#define BATCH 1024u
#define BURST 32u
#define ITEMS_SMALL 1000u
#define RANGE UINT64_C(1000000000)

/* A domain with so many items pending. */
struct bed {
	struct trip_domain *domain;
	struct trip_cntr *cntr, *target;
};

struct queue {
	struct bed bed;
	/* Of the smallest size, the peer of the largest; else without a domain. */
	struct bed small;
	/* How many items libfabric is to have pending; 0: it is not the peer. */
	uint32_t fabric;
	struct rte_ring *ring;
	struct bench_random random;
	uint64_t ids[BATCH];
	/* The domain that the worker progresses, NULL: it takes from the ring. */
	_Atomic(struct trip_domain *) turn;
	_Alignas(64) _Atomic uint64_t received;
	struct trip_work sink[BURST];
};

static void
step(void *arg)
{
	struct queue *queue = arg;
	struct trip_domain *domain = atomic_load_explicit(&queue->turn, memory_order_acquire);
	unsigned int n;

	if (domain != NULL) {
		trip_progress(domain);
		return;
	}
	n = rte_ring_sc_dequeue_burst_elem(
		queue->ring, queue->sink, sizeof(struct trip_work), BURST, NULL);
	if (n > 0)
		atomic_fetch_add_explicit(&queue->received, n, memory_order_release);
}

static struct trip_work
draw(struct queue *queue, const struct bed *bed)
{
	return (struct trip_work){
		.size = sizeof(struct trip_work),
		.triggering_cntr = bed->cntr,
		.threshold = 1 + bench_random_u64(&queue->random) % RANGE,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = bed->target, .value = 1},
	};
}

static struct trip_domain_stats
stats_of(const struct bed *bed)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	trip_domain_stats_read(bed->domain, &stats);
	return stats;
}

static void
wait_accepted(const struct bed *bed, uint64_t accepted)
{
	while (stats_of(bed).accepted < accepted)
		rte_pause();
}

/* Until the canceled ones have been taken out as well. */
static int
cancel_batch(struct queue *queue, const struct bed *bed, uint64_t pending)
{
	for (unsigned int i = 0; i < BATCH; i++)
		if (trip_work_cancel(bed->domain, queue->ids[i]) != 0)
			return bench_fail("cancel");
	while (stats_of(bed).pending > pending)
		rte_pause();
	return 0;
}

static int
time_queue(struct queue *queue, const struct bed *bed, double *ns)
{
	struct trip_domain_stats stats = stats_of(bed);
	struct trip_work works[BATCH];
	uint64_t began;

	for (unsigned int i = 0; i < BATCH; i++)
		works[i] = draw(queue, bed);
	atomic_store(&queue->turn, bed->domain);
	began = rte_rdtsc();
	for (unsigned int i = 0; i < BATCH; i++)
		if (trip_work_queue(bed->domain, &works[i], &queue->ids[i]) != 0)
			return bench_fail("queue");
	wait_accepted(bed, stats.accepted + BATCH);
	*ns = bench_ns(rte_rdtsc() - began) / BATCH;
	return cancel_batch(queue, bed, stats.pending);
}

static double
time_ring(struct queue *queue)
{
	uint64_t received = atomic_load(&queue->received), began;
	struct trip_work works[BATCH];

	for (unsigned int i = 0; i < BATCH; i++)
		works[i] = draw(queue, &queue->bed);
	atomic_store(&queue->turn, NULL);
	began = rte_rdtsc();
	for (unsigned int i = 0; i < BATCH; i++)
		while (rte_ring_sp_enqueue_elem(queue->ring, &works[i], sizeof(works[i])) != 0)
			rte_pause();
	while (atomic_load_explicit(&queue->received, memory_order_acquire) < received + BATCH)
		rte_pause();
	return bench_ns(rte_rdtsc() - began) / BATCH;
}

static int
bed_open(struct queue *queue, struct bed *bed, const char *name, uint32_t items)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.name = name,
		.progress = TRIP_PROGRESS_MANUAL,
		.max_works = items + BATCH,
	};

	if (trip_domain_open(&attr, &bed->domain, NULL) != 0 ||
		trip_cntr_open(bed->domain, NULL, &bed->cntr, NULL) != 0 ||
		trip_cntr_open(bed->domain, NULL, &bed->target, NULL) != 0)
		return bench_fail("queue");
	for (uint32_t i = 0; i < items; i++) {
		struct trip_work work = draw(queue, bed);

		if (trip_work_queue(bed->domain, &work, NULL) != 0)
			return bench_fail("queue");
		if (i % 128 == 127)
			trip_progress(bed->domain);
	}
	while (trip_progress(bed->domain) > 0)
		;
	return 0;
}

static void
bed_close(struct bed *bed)
{
	if (bed->domain != NULL)
		trip_work_flush(bed->domain, NULL);
	if (bed->cntr != NULL)
		trip_cntr_close(bed->cntr);
	if (bed->target != NULL)
		trip_cntr_close(bed->target);
	if (bed->domain != NULL)
		trip_domain_close(bed->domain);
}

static int
queue_open(struct queue *queue, const struct bench *bench)
{
	int error;

	queue->random.state = 1;
	queue->ring = rte_ring_create_elem("bench_queue", sizeof(struct trip_work), 2 * BATCH,
		SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (queue->ring == NULL)
		return bench_fail("queue: ring");
	error = bed_open(queue, &queue->bed, "queue", bench->size);
	/* The peer of the largest is the smallest. */
	if (error == 0 && bench->second == 0 && !bench->curve)
		error = bed_open(queue, &queue->small, "queue_small", ITEMS_SMALL);
	return error;
}

static int
repeat(void *arg, struct bench_sample *sample)
{
	struct queue *queue = arg;
	double value[ROUNDS], limit[ROUNDS], small[ROUNDS];
	int error = 0;

	for (unsigned int i = 0; i < ROUNDS && error == 0; i++) {
		error = time_queue(queue, &queue->bed, &value[i]);
		limit[i] = time_ring(queue);
		if (error == 0 && queue->small.domain != NULL)
			error = time_queue(queue, &queue->small, &small[i]);
	}
	*sample = (struct bench_sample){
		.value = bench_middle(value, ROUNDS), .limit = bench_middle(limit, ROUNDS)};
	if (queue->small.domain != NULL)
		sample->peer = bench_middle(small, ROUNDS);
	if (queue->fabric > 0)
		sample->peer = bench_fabric_queue(queue->fabric, 10);
	return error;
}

int
bench_queue(const struct bench *bench, struct bench_result *result)
{
	struct queue *queue;
	int error;

	if (!bench_worker_have())
		return bench_skip(result, "needs two CPUs");
	queue = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*queue), 64));
	if (queue == NULL)
		return -1;
	memset(queue, 0, sizeof(*queue));
	queue->fabric = bench->second;
	/* libfabric is filled before the worker starts, which would only spin meanwhile. */
	if (queue->fabric > 0)
		bench_fabric_queue(queue->fabric, 1);
	error = queue_open(queue, bench);
	if (error == 0) {
		bench_worker_start(step, queue);
		error = bench_repeat(bench, result, REPETITIONS, repeat, queue);
		bench_worker_stop();
	}
	bed_close(&queue->bed);
	bed_close(&queue->small);
	rte_ring_free(queue->ring);
	free(queue);
	return error;
}
