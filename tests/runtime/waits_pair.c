/* SPDX-License-Identifier: BSD-3-Clause */
/* The waiters of stress-waits. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <trip_threads.h>

#include "waits_pair.h"

static _Thread_local struct waiter *self;

/* How often this thread has given up its CPU to sleep; to yield does not count. */
static long
sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

void
waits_pair_stay(int number)
{
	struct pair *pair = self->pair;
	long before = sleeps();
	int error = errno;
	uint32_t released;

	atomic_store(&self->stopped, self->stop_in);
	while ((released = atomic_load(&pair->released)) < self->stop_in)
		syscall(SYS_futex, &pair->released, FUTEX_WAIT_PRIVATE, released, NULL, NULL, 0);
	self->held += sleeps() - before;
	errno = error;
}

void
waits_pair_release(struct pair *pair, uint64_t round)
{
	atomic_store(&pair->released, (uint32_t)round);
	syscall(SYS_futex, &pair->released, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ThreadSanitizer delivers no signal between two instructions. */
bool
waits_pair_stops(uint64_t round)
{
	struct trip_random random = {harness_seed + round};

	return !TRIP_TEST_TSAN && trip_random_below(&random, 2) == 0;
}

bool
waits_pair_have_seen(struct pair *pair, uint64_t round)
{
	bool all = true;

	for (unsigned int i = 0; i < pair->object->n_waiters; i++)
		all &= atomic_load(&pair->waiters[i].round) >= round;
	return all;
}

/* Very soon. */
static void
stop_soon(struct waiter *waiter, timer_t timer, uint64_t round)
{
	waiter->stop_in = round;
	trip_thread_interrupt(timer, &waiter->random);
}

static void
open_epoll(struct waiter *waiter)
{
	struct epoll_event event = {.events = EPOLLIN};

	waiter->epoll_fd = -1;
	if (waiter->pair->object->wait_obj != TRIP_WAIT_FD)
		return;
	waiter->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(waiter->epoll_fd >= 0);
	assert_int_equal(epoll_ctl(waiter->epoll_fd, EPOLL_CTL_ADD, waiter->pair->fd, &event), 0);
}

/* The round that the values show: each of them changes one by one. */
static uint64_t
read_round(struct waiter *waiter)
{
	struct pair *pair = waiter->pair;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < pair->n_cntrs; i++) {
		waits_read(pair->cntr[i], &waiter->success[i], &waiter->error[i]);
		sum += waiter->success[i] + waiter->error[i];
	}
	return sum;
}

static void
block_on_fd(struct waiter *waiter)
{
	struct pollfd entry = {.fd = waiter->pair->fd, .events = POLLIN};
	struct epoll_event event;
	bool epoll = trip_random_below(&waiter->random, 2) == 0;
	int n;

	do
		n = epoll ? epoll_wait(waiter->epoll_fd, &event, 1, -1) : poll(&entry, 1, -1);
	while (n != 1);
}

static void
wait_natively(struct waiter *waiter, enum way way)
{
	struct pair *pair = waiter->pair;
	bool locks = pair->object->wait_obj == TRIP_WAIT_MUTEX_COND;

	if (locks)
		pthread_mutex_lock(pair->cond.mutex);
	if (waits_try(pair->fid) == 0) {
		if (way == BY_ARM)
			assert_int_equal(trip_cntr_arm(pair->cntr[0], waiter->success[0] + 1), 0);
		if (locks)
			pthread_cond_wait(pair->cond.cond, pair->cond.mutex);
		else
			block_on_fd(waiter);
	}
	if (locks)
		pthread_mutex_unlock(pair->cond.mutex);
}

static void
wait_by_call(struct waiter *waiter, uint64_t errgen)
{
	struct pair *pair = waiter->pair;
	int result = pair->set != NULL ? trip_wait(pair->set, -1)
				       : trip_cntr_wait_from(
						 pair->cntr[0], waiter->success[0] + 1, errgen, -1);

	assert_true(result == 0 || (pair->set == NULL && result == -EIO));
}

static enum way
choose_way(struct waiter *waiter)
{
	enum way way;

	do
		way = (enum way)(1u << trip_random_below(&waiter->random, 3));
	while ((waiter->pair->object->ways & way) == 0);
	return way;
}

static void
wait_for_round(struct waiter *waiter, uint64_t round)
{
	enum way way = choose_way(waiter);
	/* Before the values are read, so that no error is missed. */
	uint64_t errgen = trip_cntr_errgen(waiter->pair->cntr[0]);
	bool blocked = false;

	atomic_store(&waiter->way, way);
	while (read_round(waiter) < round) {
		if (way == BY_CALL)
			wait_by_call(waiter, errgen);
		else
			wait_natively(waiter, way);
		blocked = true;
		errgen = trip_cntr_errgen(waiter->pair->cntr[0]);
	}
	waiter->blocked += blocked;
}

static void
run_anywhere(void)
{
	cpu_set_t all;

	/* Not on the CPU of the main lcore alone, where it was started. */
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

void *
waits_pair_wait(void *arg)
{
	struct waiter *waiter = arg;
	timer_t timer = trip_thread_timer();
	long before, after;

	self = waiter;
	run_anywhere();
	open_epoll(waiter);
	before = sleeps();
	for (uint64_t i = 1; i <= waiter->pair->rounds; i++) {
		if (waits_pair_stops(i)) {
			/* Whoever is stopped in a lock keeps none of the round before. */
			while (!waits_pair_have_seen(waiter->pair, i - 1))
				sched_yield();
			stop_soon(waiter, timer, i);
		}
		wait_for_round(waiter, i);
		after = sleeps() - waiter->held;
		waiter->slept += after != before;
		before = after;
		atomic_store(&waiter->round, i);
	}
	timer_delete(timer);
	if (waiter->epoll_fd >= 0)
		close(waiter->epoll_fd);
	return NULL;
}
