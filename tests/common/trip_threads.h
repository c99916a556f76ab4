/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of a test: started on the same instant again and again, and waiting for each other. */
#ifndef TRIP_THREADS_H
#define TRIP_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "trip_test.h"

/* Spins, so that the threads leave it within nanoseconds where there are cores for them. */
struct trip_barrier {
	_Atomic unsigned waiting;
	_Atomic unsigned turn;
	unsigned threads;
};

static inline void
trip_barrier_wait(struct trip_barrier *barrier)
{
	unsigned turn = atomic_load(&barrier->turn), spins = 0;

	if (atomic_fetch_add(&barrier->waiting, 1) + 1 == barrier->threads) {
		atomic_store(&barrier->waiting, 0);
		atomic_fetch_add(&barrier->turn, 1);
		return;
	}
	while (atomic_load(&barrier->turn) == turn)
		if (++spins % 256 == 0)
			sched_yield();
}

/* A failure ends the program: the other threads would wait at a barrier for ever. */
static inline void
trip_threads_prepare(void)
{
	setenv("CMOCKA_TEST_ABORT", "1", 1);
}

static inline void
trip_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	int error = pthread_create(thread, NULL, run, arg);

	if (error != 0) {
		printf("pthread_create: error %d\n", error);
		exit(EXIT_FAILURE);
	}
}

/* Looks that follow at once: what is awaited mostly comes within a moment. */
#define TRIP_THREAD_YIELDS 64

/* Between two looks at what others are to do. Where that takes longer it sleeps: to yield again and
 * again is to spin, where nobody else is to run. */
static inline void
trip_thread_rest(uint64_t *rests)
{
	const struct timespec moment = {.tv_nsec = 20000};

	if (++*rests < TRIP_THREAD_YIELDS)
		sched_yield();
	else
		nanosleep(&moment, NULL);
}

/* A timer of the calling thread, which gets SIGUSR1 by it. */
static inline timer_t
trip_thread_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	event._sigev_un._tid = gettid();
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	return timer;
}

/* Interrupts the thread within the next few thousand instructions. */
static inline void
trip_thread_interrupt(timer_t timer, struct trip_random *random)
{
	const struct itimerspec soon = {
		.it_value.tv_nsec = 1 + (long)trip_random_below(random, 20000)};

	timer_settime(timer, 0, &soon, NULL);
}

#endif
