/* SPDX-License-Identifier: BSD-3-Clause */
/* What a loop pays for a reader that copies its snapshots without a pause: nothing is asked of it,
 * but its lines are shared. */
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_pause.h>

#include "bench.h"

#define REPETITIONS 31
#define BATCHES 64
#define BATCH 1000

struct loop {
	struct trip_domain *domain;
	struct trip_cntr *cntr, *sink;
	struct trip_profile *profile;
	/* Whether the reader is to read, and does. */
	_Atomic bool wanted, reads;
	uint64_t snapshots, broken;
};

static void
look(struct loop *loop)
{
	uint64_t accepted = 0, pending = 0, fired = 0, canceled = 0;

	if (trip_profile_start_reads(loop->profile, 0) != 0)
		loop->broken++;
	trip_profile_read_u64(loop->profile, TRIP_VAR_WORKS_ACCEPTED_TOTAL, &accepted);
	trip_profile_read_u64(loop->profile, TRIP_VAR_WORKS_PENDING_NOW, &pending);
	trip_profile_read_u64(loop->profile, TRIP_VAR_WORKS_FIRED_TOTAL, &fired);
	trip_profile_read_u64(loop->profile, TRIP_VAR_WORKS_CANCELED_TOTAL, &canceled);
	trip_profile_end_reads(loop->profile, 0);
	loop->broken += accepted != pending + fired + canceled;
	loop->snapshots++;
}

static void
read_if_wanted(void *arg)
{
	struct loop *loop = arg;
	bool wanted = atomic_load(&loop->wanted);

	atomic_store(&loop->reads, wanted);
	if (wanted)
		look(loop);
	else
		rte_pause();
}

/* An addition and the iteration that fires for it, in nanoseconds. */
static double
time_batch(struct loop *loop, bool wanted)
{
	uint64_t began;

	atomic_store(&loop->wanted, wanted);
	while (atomic_load(&loop->reads) != wanted)
		sched_yield();
	began = rte_rdtsc();
	for (unsigned int i = 0; i < BATCH; i++) {
		trip_cntr_add(loop->cntr, 1);
		trip_progress(loop->domain);
	}
	return bench_ns(rte_rdtsc() - began) / BATCH;
}

static int
repeat(void *arg, struct bench_sample *sample)
{
	struct loop *loop = arg;
	double with[BATCHES], without[BATCHES];

	for (unsigned int i = 0; i < BATCHES; i++) {
		with[i] = time_batch(loop, true);
		without[i] = time_batch(loop, false);
	}
	sample->value = bench_middle(with, BATCHES);
	sample->limit = bench_middle(without, BATCHES);
	return loop->broken == 0 ? 0 : -1;
}

static int
open_all(struct loop *loop)
{
	const struct trip_domain_attr attr = {
		.size = sizeof(attr), .progress = TRIP_PROGRESS_MANUAL, .max_works = 64};
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD, .threshold = 1, .interval = 1};

	if (trip_domain_open(&attr, &loop->domain, NULL) != 0 ||
		trip_cntr_open(loop->domain, NULL, &loop->cntr, NULL) != 0 ||
		trip_cntr_open(loop->domain, NULL, &loop->sink, NULL) != 0 ||
		trip_profile_open(trip_domain_fid(loop->domain), 0, &loop->profile, NULL) != 0)
		return -1;
	work.triggering_cntr = loop->cntr;
	work.op.cntr.cntr = loop->sink;
	work.op.cntr.value = 1;
	return trip_work_queue(loop->domain, &work, NULL);
}

static int
close_all(struct loop *loop)
{
	trip_work_flush(loop->domain, NULL);
	trip_profile_close(loop->profile);
	trip_cntr_close(loop->sink);
	trip_cntr_close(loop->cntr);
	return trip_domain_close(loop->domain);
}

int
bench_profile(const struct bench *bench, struct bench_result *result)
{
	struct loop loop = {0};
	int error;

	if (!bench_worker_have())
		return bench_skip(result, "needs two CPUs");
	if (open_all(&loop) != 0)
		return bench_fail(bench->name);
	bench_worker_start(read_if_wanted, &loop);
	error = bench_repeat(bench, result, REPETITIONS, repeat, &loop);
	bench_worker_stop();
	snprintf(result->note, sizeof(result->note),
		"medians of %u batches of %u iterations each, in turn; %" PRIu64
		" snapshots, each of which held together",
		BATCHES, BATCH, loop.snapshots);
	if (error != 0)
		return bench_fail("a snapshot that does not hold together");
	return close_all(&loop);
}
