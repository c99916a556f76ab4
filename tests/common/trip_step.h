/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops a thread between any two instructions of a function. The trap flag makes an x86 CPU trap
 * behind each instruction; the handler counts, and stays in the one that was asked for until it is
 * released. So a test can look from another thread at every intermediate state of a call:
 *
 *	for (uint64_t k = 1; trip_step_start(&step, run, arg, k); k++) {
 *		...
 *		trip_step_finish(&step);
 *	}
 *	trip_step_finish(&step);
 *
 * Each instruction takes a signal, 20 us on a virtual machine. So whoever only looks, and leaves
 * things as they are, goes on to further stops of the same call:
 *
 *	stopped = trip_step_start(&step, run, arg, k);
 *	for (; stopped; stopped = trip_step_on(&step, k += 8))
 *		...
 *	trip_step_finish(&step);
 *
 * What the loop needs from libc while the thread is stopped must not be a lock that `run` takes,
 * that of malloc() for one.
 */
#ifndef TRIP_STEP_H
#define TRIP_STEP_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

struct trip_step {
	void (*run)(void *arg);
	void *arg;
	/* The instruction behind which it stops, and how many it has executed. */
	uint64_t stop_behind, executed;
	bool stopped;
	/* Posted when it stops or has ended; and to let it go on. */
	sem_t reached, released;
	pthread_t thread;
};

/* Under a sanitizer the thread would stop inside of it, with its locks. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define TRIP_STEP_POSSIBLE false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TRIP_STEP_POSSIBLE false
#endif
#endif
#ifndef TRIP_STEP_POSSIBLE
#define TRIP_STEP_POSSIBLE true
#endif

#ifdef __x86_64__
#define TRIP_STEP_TRAP_FLAG 0x100

static _Thread_local struct trip_step *trip_step_self;

static inline void
trip_step_trap(int number, siginfo_t *info, void *context)
{
	struct trip_step *step = trip_step_self;

	if (++step->executed < step->stop_behind)
		return;
	step->stopped = true;
	sem_post(&step->reached);
	while (sem_wait(&step->released) != 0)
		;
	/* Goes on at full speed, if not to another stop. */
	if (step->stop_behind <= step->executed)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRIP_STEP_TRAP_FLAG;
}

/* Below the red zone, where a leaf function may keep what it has. */
#define TRIP_STEP_CHANGE_FLAGS(change)                                \
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; " change    \
			 ", (%%rsp); popfq; lea 128(%%rsp), %%rsp" :: \
				 : "cc", "memory")

static inline void *
trip_step_main(void *arg)
{
	struct trip_step *step = arg;

	trip_step_self = step;
	TRIP_STEP_CHANGE_FLAGS("orq $0x100");
	step->run(step->arg);
	TRIP_STEP_CHANGE_FLAGS("andq $-0x101");
	sem_post(&step->reached);
	return NULL;
}

/* Runs it in a thread of its own: true when that is stopped, false when it ended before. */
static inline bool
trip_step_start(struct trip_step *step, void (*run)(void *arg), void *arg, uint64_t stop_behind)
{
	const struct sigaction action = {.sa_sigaction = trip_step_trap, .sa_flags = SA_SIGINFO};

	*step = (struct trip_step){.run = run, .arg = arg, .stop_behind = stop_behind};
	sem_init(&step->reached, 0, 0);
	sem_init(&step->released, 0, 0);
	if (sigaction(SIGTRAP, &action, NULL) != 0 ||
		pthread_create(&step->thread, NULL, trip_step_main, step) != 0)
		abort();
	while (sem_wait(&step->reached) != 0)
		;
	return step->stopped;
}
#else
static inline bool
trip_step_start(struct trip_step *step, void (*run)(void *arg), void *arg, uint64_t stop_behind)
{
	(void)step, (void)run, (void)arg, (void)stop_behind;
	abort();
}
#endif

/* Lets one that is stopped run to behind a later instruction: true when it is stopped again, false
 * when it ended before. */
static inline bool
trip_step_on(struct trip_step *step, uint64_t stop_behind)
{
	step->stopped = false;
	step->stop_behind = stop_behind;
	sem_post(&step->released);
	while (sem_wait(&step->reached) != 0)
		;
	return step->stopped;
}

/* Lets it run to its end, and waits for that. */
static inline void
trip_step_finish(struct trip_step *step)
{
	sem_post(&step->released);
	pthread_join(step->thread, NULL);
	sem_destroy(&step->reached);
	sem_destroy(&step->released);
}

#endif
