/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How soon a blocked thread runs again: from the add until its wait has returned. Beside it, a bare
 * thread that spins on a flag where the home polls, and writes an eventfd or wakes a futex. Whoever
 * adds sleeps until the other has woken, so that the CPU they share is free.
 */
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_pause.h>

#include "bench.h"

#define REPETITIONS 9
#define WAKES 40
/* Long enough for a thread that has said that it will block to be blocked. */
#define SETTLE_US 150

struct wake {
	bool by_fd;
	/* The waiter's: waits once, by our means or bare. */
	void (*wait)(struct wake *wake);
	pthread_t thread;
	struct trip_domain *domain;
	struct trip_cntr *cntr;
	int fd;
	uint64_t round;
	uint64_t woken_tsc;
	/* Rounds that the waiter has begun and ended; 32 bits, to be slept on. */
	_Atomic uint32_t begun, ended;
	_Atomic bool stop;
	/* What the bare thread spins on, and what it wakes. */
	_Alignas(64) _Atomic uint64_t flag;
	_Alignas(64) _Atomic uint32_t word;
	uint64_t seen;
};

static void
futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void
nap(unsigned int us)
{
	struct timespec time = {.tv_nsec = us * 1000L};

	nanosleep(&time, NULL);
}

static void
drain(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
}

static void
wait_ours_fd(struct wake *wake)
{
	struct pollfd poll_fd = {.fd = wake->fd, .events = POLLIN};
	struct trip_fid *fid = trip_cntr_fid(wake->cntr);

	while (trip_cntr_read(wake->cntr) < wake->round)
		if (trip_trywait(wake->domain, &fid, 1) == 0)
			poll(&poll_fd, 1, -1);
}

static void
wait_ours_futex(struct wake *wake)
{
	trip_cntr_wait(wake->cntr, wake->round, -1);
}

static void
wait_bare_fd(struct wake *wake)
{
	struct pollfd poll_fd = {.fd = wake->fd, .events = POLLIN};

	poll(&poll_fd, 1, -1);
	drain(wake->fd);
}

static void
wait_bare_futex(struct wake *wake)
{
	while (atomic_load(&wake->word) < wake->round)
		futex(&wake->word, FUTEX_WAIT, (uint32_t)wake->round - 1);
}

static void *
waiter(void *arg)
{
	struct wake *wake = arg;

	while (!atomic_load(&wake->stop)) {
		atomic_fetch_add(&wake->begun, 1);
		wake->wait(wake);
		wake->woken_tsc = rte_rdtsc();
		wake->round++;
		atomic_fetch_add(&wake->ended, 1);
		futex(&wake->ended, FUTEX_WAKE, 1);
	}
	return NULL;
}

static void
bare_step(void *arg)
{
	struct wake *wake = arg;
	uint64_t one = 1, flag = atomic_load_explicit(&wake->flag, memory_order_acquire);
	ssize_t n = 0;

	if (flag == wake->seen)
		return;
	wake->seen = flag;
	atomic_store(&wake->word, (uint32_t)flag);
	if (wake->by_fd)
		n = write(wake->fd, &one, sizeof(one));
	else
		futex(&wake->word, FUTEX_WAKE, INT_MAX);
	(void)n;
}

/* One wake: the update, and the sleep that leaves the CPU to the waiter. */
static double
time_wake(struct wake *wake, bool ours, uint32_t round)
{
	uint64_t began;
	uint32_t ended;

	while (atomic_load(&wake->begun) < round)
		nap(10);
	nap(SETTLE_US);
	began = rte_rdtsc();
	if (ours)
		trip_cntr_add(wake->cntr, 1);
	else
		atomic_store(&wake->flag, round);
	while ((ended = atomic_load(&wake->ended)) < round)
		futex(&wake->ended, FUTEX_WAIT, ended);
	return bench_ns(wake->woken_tsc - began);
}

/* So many wakes; the last one finds that it is to stop. */
static double
time_wakes(struct wake *wake, bool ours)
{
	double ns[WAKES];

	wake->round = 1;
	atomic_store(&wake->begun, 0);
	atomic_store(&wake->ended, 0);
	atomic_store(&wake->stop, false);
	if (pthread_create(&wake->thread, NULL, waiter, wake) != 0)
		return 0;
	for (uint32_t i = 1; i <= WAKES; i++) {
		if (i == WAKES)
			atomic_store(&wake->stop, true);
		ns[i - 1] = time_wake(wake, ours, i);
	}
	pthread_join(wake->thread, NULL);
	return bench_middle(ns, WAKES);
}

static int
time_ours(struct wake *wake, double *ns)
{
	unsigned int lcore = bench_worker_lcore();
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_LCORE,
		.lcores = &lcore,
		.n_lcores = 1,
		.max_works = 64,
		.max_cntrs = 16};
	struct trip_cntr_attr cntr_attr = {.size = sizeof(cntr_attr),
		.wait_obj = wake->by_fd ? TRIP_WAIT_FD : TRIP_WAIT_UNSPEC};

	if (trip_domain_open(&attr, &wake->domain, NULL) != 0)
		return bench_fail("wake");
	if (trip_cntr_open(wake->domain, &cntr_attr, &wake->cntr, NULL) != 0 ||
		(wake->by_fd && trip_cntr_control(wake->cntr, TRIP_GETWAIT, &wake->fd) != 0))
		return bench_fail("wake");
	wake->wait = wake->by_fd ? wait_ours_fd : wait_ours_futex;
	*ns = time_wakes(wake, true);
	trip_cntr_close(wake->cntr);
	return trip_domain_close(wake->domain);
}

static int
time_bare(struct wake *wake, double *ns)
{
	wake->fd = eventfd(0, EFD_NONBLOCK);
	if (wake->fd < 0)
		return bench_fail("eventfd");
	wake->wait = wake->by_fd ? wait_bare_fd : wait_bare_futex;
	wake->seen = 0;
	atomic_store(&wake->flag, 0);
	atomic_store(&wake->word, 0);
	bench_worker_start(bare_step, wake);
	*ns = time_wakes(wake, false);
	bench_worker_stop();
	close(wake->fd);
	return 0;
}

static int
run(const struct bench *bench, struct bench_result *result)
{
	static struct wake wake;
	int error = 0;

	if (!bench_worker_have())
		return bench_skip(result, "needs two CPUs");
	wake.by_fd = bench->masks != 0;
	for (unsigned int i = 0; i < REPETITIONS && error == 0; i++) {
		bench_progress(bench, i, REPETITIONS);
		error = time_ours(&wake, &result->samples[i].value);
		if (error == 0)
			error = time_bare(&wake, &result->samples[i].limit);
	}
	result->n_samples = REPETITIONS;
	snprintf(result->note, sizeof(result->note), "medians of %d wakes", WAKES);
	return error;
}

/* masks: by a descriptor. */
static const struct bench benches[] = {
	{
		.name = "wake_fd",
		.unit = "ns",
		.what = "from an add until poll() of the counter's descriptor has returned",
		.limit = "a spinning thread that writes an eventfd",
		.at_most = 1.15,
		.run = run,
		.masks = 1,
	},
	{
		.name = "wake_futex",
		.unit = "ns",
		.what = "from an add until a sleeping trip_cntr_wait() has returned",
		.limit = "a spinning thread that wakes a futex",
		.at_most = 1.15,
		.run = run,
	},
};

const struct bench_list bench_wake = {benches, RTE_DIM(benches)};
