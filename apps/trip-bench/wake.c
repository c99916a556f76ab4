/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How soon a blocked thread runs again: from the add until its wait has returned. Beside it, a bare
 * loop in the place of the home's, which spins on a flag and writes an eventfd or wakes a futex: a
 * function that the home calls for a round, so both are the same thread on the same core, and take
 * turns wake by wake.
 *
 * Whoever adds shares the waiter's CPU. It adds when the kernel says that the waiter sleeps, and
 * goes on yielding until that has woken. So the CPU is awake in both arms: to wake it would take
 * longer than anything here, and on a virtual machine any time.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define REPETITIONS 15
#define WAKES 48u
/* After so long it ends with fewer of either. */
#define SECONDS_MAX 10

struct wake {
	bool by_fd;
	struct trip_domain *domain;
	/* What is waited for, and what has the home call bare_turn() when it is added to. */
	struct trip_cntr *cntr, *turn;
	struct trip_function *function;
	int cntr_fd, bare_fd;
	pthread_t thread;
	/* Its state, as the kernel tells it. */
	int stat;

	/* Of the round under way, written before it is begun. */
	bool bare;
	uint64_t target;
	/* The waiter has begun, and ended, so many rounds; and when it did. */
	_Atomic uint32_t round, begun, ended;
	uint64_t woken_tsc;
	_Atomic bool stop;
	/* So many turns of the bare loop have begun. */
	_Atomic uint32_t turns;
	/* What it spins on, and what it wakes. */
	_Alignas(64) _Atomic uint32_t flag;
	_Alignas(64) _Atomic uint32_t word;
};

/* Not private to this process: the home's are not, either. */
static void
futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void
wait_ours(struct wake *wake)
{
	struct pollfd poll_fd = {.fd = wake->cntr_fd, .events = POLLIN};
	struct trip_fid *fid = trip_cntr_fid(wake->cntr);

	if (!wake->by_fd)
		trip_cntr_wait(wake->cntr, wake->target, -1);
	else
		while (trip_cntr_read(wake->cntr) < wake->target)
			if (trip_trywait(wake->domain, &fid, 1) == 0)
				poll(&poll_fd, 1, -1);
}

static void
wait_bare(struct wake *wake)
{
	struct pollfd poll_fd = {.fd = wake->bare_fd, .events = POLLIN};
	uint32_t before = (uint32_t)wake->target - 1;
	uint64_t count;
	ssize_t n = 0;

	/* What the last wake left in it: trip_trywait() drains as late. */
	if (wake->by_fd)
		n = read(wake->bare_fd, &count, sizeof(count));
	(void)n;
	while (atomic_load(&wake->word) == before) {
		if (wake->by_fd)
			poll(&poll_fd, 1, -1);
		else
			futex(&wake->word, FUTEX_WAIT, before);
	}
}

static void *
waiter(void *arg)
{
	struct wake *wake = arg;

	for (uint32_t round = 1;; round++) {
		while (atomic_load(&wake->round) != round)
			futex(&wake->round, FUTEX_WAIT, round - 1);
		if (atomic_load(&wake->stop))
			return NULL;
		if (wake->stat == -1)
			wake->stat = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
		atomic_store(&wake->begun, round);
		if (wake->bare)
			wait_bare(wake);
		else
			wait_ours(wake);
		wake->woken_tsc = rte_rdtsc();
		atomic_store(&wake->ended, round);
	}
}

/* The bare loop: one wake. */
static int
bare_turn(const struct trip_work_event *event, void *arg)
{
	struct wake *wake = arg;
	uint32_t seen = atomic_load(&wake->flag);
	uint64_t one = 1;
	ssize_t n = 0;

	atomic_fetch_add(&wake->turns, 1);
	while (atomic_load_explicit(&wake->flag, memory_order_acquire) == seen)
		;
	atomic_store(&wake->word, seen + 1);
	if (wake->by_fd)
		n = write(wake->bare_fd, &one, sizeof(one));
	else
		futex(&wake->word, FUTEX_WAKE, INT_MAX);
	(void)n;
	return 0;
}

/* Whether the thread of /proc/.../stat sleeps; its name has no bracket. */
static bool
sleeps(int stat)
{
	char line[128], *state;
	ssize_t n = pread(stat, line, sizeof(line) - 1, 0);

	if (n <= 0)
		return false;
	line[n] = 0;
	state = strchr(line, ')');
	return state != NULL && strncmp(state, ") S", 3) == 0;
}

/* One wake, in nanoseconds. */
static double
time_wake(struct wake *wake, bool bare)
{
	uint32_t round = atomic_load(&wake->round) + 1, turns = atomic_load(&wake->turns);
	uint64_t began;

	wake->bare = bare;
	wake->target = bare ? atomic_load(&wake->word) + 1 : trip_cntr_read(wake->cntr) + 1;
	if (bare) {
		trip_cntr_add(wake->turn, 1);
		while (atomic_load(&wake->turns) == turns)
			sched_yield();
	}
	atomic_store(&wake->round, round);
	futex(&wake->round, FUTEX_WAKE, 1);
	while (atomic_load(&wake->begun) != round || !sleeps(wake->stat))
		sched_yield();
	began = rte_rdtsc();
	if (bare)
		atomic_store(&wake->flag, atomic_load(&wake->flag) + 1);
	else
		trip_cntr_add(wake->cntr, 1);
	while (atomic_load(&wake->ended) != round)
		sched_yield();
	return bench_ns(wake->woken_tsc - began);
}

static int
open_all(struct wake *wake)
{
	struct trip_cntr_attr cntr_attr = {.size = sizeof(cntr_attr),
		.wait_obj = wake->by_fd ? TRIP_WAIT_FD : TRIP_WAIT_UNSPEC};
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CALL, .threshold = 1, .interval = 1};

	if (bench_worker_domain(&wake->domain) != 0 ||
		trip_cntr_open(wake->domain, &cntr_attr, &wake->cntr, NULL) != 0 ||
		trip_cntr_open(wake->domain, NULL, &wake->turn, NULL) != 0 ||
		trip_function_register(wake->domain, bare_turn, wake, &wake->function) != 0 ||
		(wake->by_fd && trip_cntr_control(wake->cntr, TRIP_GETWAIT, &wake->cntr_fd) != 0))
		return -1;
	work.triggering_cntr = wake->turn;
	work.op.call.function = wake->function;
	wake->bare_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	wake->stat = -1;
	return wake->bare_fd >= 0 && trip_work_queue(wake->domain, &work, NULL) == 0 &&
			       pthread_create(&wake->thread, NULL, waiter, wake) == 0
		       ? 0
		       : -1;
}

static int
close_all(struct wake *wake)
{
	atomic_store(&wake->stop, true);
	atomic_fetch_add(&wake->round, 1);
	futex(&wake->round, FUTEX_WAKE, 1);
	pthread_join(wake->thread, NULL);
	trip_work_flush(wake->domain, NULL);
	trip_function_unregister(wake->function);
	trip_cntr_close(wake->cntr);
	trip_cntr_close(wake->turn);
	close(wake->stat);
	close(wake->bare_fd);
	return trip_domain_close(wake->domain);
}

/* Wake by wake in turn, until time is over. */
static void
repeat(struct wake *wake, uint64_t until_tsc, struct bench_sample *sample)
{
	double ours[WAKES], bare[WAKES];
	unsigned int n = 0;

	do {
		ours[n] = time_wake(wake, false);
		bare[n++] = time_wake(wake, true);
	} while (n < WAKES && rte_rdtsc() < until_tsc);
	sample->value = bench_middle(ours, n);
	sample->limit = bench_middle(bare, n);
}

int
bench_wake(const struct bench *bench, struct bench_result *result)
{
	struct wake wake = {.by_fd = bench->second != 0};
	uint64_t until_tsc;

	if (!bench_worker_have())
		return bench_skip(result, "needs two CPUs");
	if (open_all(&wake) != 0)
		return bench_fail(bench->name);
	until_tsc = rte_rdtsc() + SECONDS_MAX * rte_get_tsc_hz();
	do {
		bench_progress(bench, result->n_samples, REPETITIONS);
		repeat(&wake, until_tsc, &result->samples[result->n_samples++]);
	} while (result->n_samples < REPETITIONS && rte_rdtsc() < until_tsc);
	snprintf(result->note, sizeof(result->note),
		"medians of %u wakes of each, wake by wake in turn; the waiter's CPU is awake",
		WAKES);
	return close_all(&wake);
}
