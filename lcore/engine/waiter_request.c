/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits: asks, takes it back, sleeps and is woken. waiter.h has the protocol. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_pause.h>

#include "home.h"
#include "waiter.h"

/* Looks at a signal that is under way before its home may need the CPU that we are on. */
#define SIGNAL_SPINS 64

/* In place of a home that does not. */
static void
end_signal(_Atomic uint32_t *state, uint32_t word)
{
	(void)atomic_compare_exchange_strong(
		state, &word, (word & ~TRIP_WAITER_STATE_MASK) | TRIP_WAITER_SIGNALED);
}

void
trip_waiter_disarm(struct trip_home *home, uint32_t waiter)
{
	struct trip_waiter *w = &home->waiters[waiter];
	uint32_t word = atomic_load_explicit(&w->word, memory_order_relaxed);
	uint32_t idle = (word & ~TRIP_WAITER_STATE_MASK) | TRIP_WAITER_IDLE;

	if (trip_waiter_state(word) == TRIP_WAITER_ARMED &&
		atomic_compare_exchange_strong(&w->word, &word, idle))
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, waiter);
}

/* W1. Acquire: pairs with the stores at the end of wake(). */
static bool
is_signaling(struct trip_home *home, uint32_t waiter, uint32_t *word)
{
	/* Each time: a signal that failed leaves the request armed. */
	trip_waiter_disarm(home, waiter);
	*word = atomic_load_explicit(&home->waiters[waiter].word, memory_order_acquire);
	return trip_waiter_state(*word) == TRIP_WAITER_SIGNALING;
}

void
trip_waiter_quiesce(struct trip_home *home, uint32_t waiter)
{
	_Atomic uint32_t *state = &home->waiters[waiter].word;
	unsigned int spins = 0;
	uint64_t epoch;
	uint32_t word;

	if (!is_signaling(home, waiter, &word))
		return;
	epoch = trip_home_epoch(home);
	while (is_signaling(home, waiter, &word)) {
		/* A signal ends within its iteration: this one is none, but what a process left
		 * that wrote where it should not. */
		if ((trip_engine_current == home || trip_home_quiesced(home, epoch)) &&
			is_signaling(home, waiter, &word))
			end_signal(state, word);
		else if (++spins % SIGNAL_SPINS == 0)
			sched_yield();
		else
			rte_pause();
	}
}

bool
trip_waiter_try_quiesce(struct trip_home *home, uint32_t waiter)
{
	uint32_t word;

	if (!is_signaling(home, waiter, &word))
		return true;
	if (trip_engine_current != home && !trip_home_quiesced(home, trip_home_epoch(home)))
		return false;
	if (is_signaling(home, waiter, &word))
		end_signal(&home->waiters[waiter].word, word);
	return true;
}

void
trip_waiter_arm(struct trip_home *home, uint32_t waiter, uint32_t signals, uint32_t cntr,
	uint64_t threshold, const struct trip_cell_sample *seen)
{
	struct trip_waiter *w = &home->waiters[waiter];
	uint32_t generation;

	/* From here on the home answers no older request, nor takes one up. */
	trip_waiter_quiesce(home, waiter);
	generation = atomic_load_explicit(&w->word, memory_order_relaxed) >> TRIP_WAITER_STATE_BITS;
	generation = (generation + 1) & (UINT32_MAX >> TRIP_WAITER_STATE_BITS);
	if (generation == 0)
		generation = 1;
	/* Release: a home that sees one of these sees that the word is not the old ARMED any more.
	 * Partner: the acquire loads in copy_request(). */
	atomic_store_explicit(&w->cntr, cntr, memory_order_release);
	atomic_store_explicit(&w->signals, signals, memory_order_release);
	atomic_store_explicit(&w->threshold, threshold, memory_order_release);
	atomic_store_explicit(&w->success, seen->success, memory_order_release);
	atomic_store_explicit(&w->error, seen->error, memory_order_release);
	atomic_store_explicit(&w->setgen, seen->setgen, memory_order_release);
	atomic_store_explicit(&w->errgen, seen->errgen, memory_order_release);
	atomic_store(&w->word, generation << TRIP_WAITER_STATE_BITS | TRIP_WAITER_ARMED);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, waiter);
}

void
trip_waiter_sleep(struct trip_waiter *waiter, uint32_t seen, int ms, const void *next)
{
	struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	atomic_fetch_add(&waiter->sleepers, 1); /* S3 */
	syscall(SYS_futex, &waiter->sequence, FUTEX_WAIT, seen, ms < 0 ? NULL : &timeout, NULL, 0);
	/* Before the atomic, which what follows it has to wait for. */
	__builtin_prefetch(next);
	atomic_fetch_sub(&waiter->sleepers, 1);
}

static void
futex_wake(_Atomic uint32_t *word)
{
	/* Not private: a sleeper may be in another process. */
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void
trip_waiter_wake(struct trip_waiter *waiter)
{
	atomic_fetch_add(&waiter->sequence, 1);  /* H1 */
	if (atomic_load(&waiter->sleepers) != 0) /* H2 */
		futex_wake(&waiter->sequence);
}

void
trip_waiter_end(struct trip_home *home)
{
	for (uint32_t i = 0; i < home->shape.n_waiters; i++) {
		int fd = atomic_load_explicit(&home->waiter_fds[i], memory_order_acquire);
		uint32_t word = atomic_load(&home->waiters[i].word);

		if (trip_waiter_state(word) == TRIP_WAITER_SIGNALING)
			end_signal(&home->waiters[i].word, word);
		trip_waiter_wake(&home->waiters[i]);
		/* The kernel does so as well, unless a child of the primary has the other end. */
		if (fd >= 0)
			shutdown(fd & ~TRIP_WAITER_SOCKET, SHUT_RDWR);
	}
}
