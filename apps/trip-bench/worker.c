/* SPDX-License-Identifier: BSD-3-Clause */
/* The second lcore, on which the other half of a benchmark runs. */
#include <stdatomic.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "bench.h"

static struct {
	void (*step)(void *arg);
	void *arg;
	_Atomic bool stop;
} worker;

static unsigned int
worker_lcore(void)
{
	return rte_get_next_lcore(-1, 1, 0);
}

bool
bench_worker_have(void)
{
	return worker_lcore() < RTE_MAX_LCORE;
}

static int
work(void *arg)
{
	while (!atomic_load_explicit(&worker.stop, memory_order_acquire))
		worker.step(worker.arg);
	return 0;
}

void
bench_worker_start(void (*step)(void *arg), void *arg)
{
	worker.step = step;
	worker.arg = arg;
	atomic_store(&worker.stop, false);
	rte_eal_remote_launch(work, NULL, worker_lcore());
}

void
bench_worker_stop(void)
{
	atomic_store_explicit(&worker.stop, true, memory_order_release);
	rte_eal_wait_lcore(worker_lcore());
}

int
bench_worker_domain(struct trip_domain **domain)
{
	unsigned int lcore = worker_lcore();
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_LCORE,
		.lcores = &lcore,
		.n_lcores = 1,
		.max_works = 64,
		.max_cntrs = 64};

	return trip_domain_open(&attr, domain, NULL);
}
