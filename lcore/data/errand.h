/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errands: what one thread (the sender) has another (the runner) do, in order, without waiting for
 * it. One ring with three indices, each with one writer; a slot goes through their hands in turn:
 *
 *	sender	fills a slot in, sends		sent
 *	runner	does it, notes the result	done
 *	sender	looks at the result, settles	settled
 *
 * sent - settled is at most the size, so a slot is filled in again only after the sender itself has
 * settled it; done lies between the two. Each index is released by its writer and acquired by who
 * goes by it, and that is all the ordering that a slot needs. To be told of what is done is more:
 * the runner rings the sender's doorbell, and done is what that rings for (V and C4 of doorbell.h).
 * A ring is full when size errands are anywhere on this way: the sender is told so at once, and
 * never waits.
 *
 * A desk is where several senders hand in errands for one runner, each on a ring of its own. A
 * ticket says in which order they are run; whoever has the runner do something else may draw one,
 * too.
 *
 * Sleep. A sender draws its ticket (T1) and then looks whether the runner sleeps (T2); the runner
 * says that it sleeps (W1) and then looks for tickets (W2). All four are seq_cst, so T2 sees W1,
 * and wakes it, or W2 sees T1. A sender that finds the runner awake makes no system call.
 *
 * All of them live in one process: what the indices say is trusted.
 */
#ifndef TRIP_ERRAND_H
#define TRIP_ERRAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_ring.h"

struct trip_errand {
	/* What is told when it is settled; the runner fills in the result. */
	struct trip_event event;
	/* Errands of several rings are run in the order of their tickets. */
	uint64_t ticket;
	uint32_t flow;
	uint32_t completion;
	uint8_t flags;
	/* What is to be done: the end of an operation does something else than that. */
	uint8_t op;
	/* It lasts, until the sender ends it. */
	bool lasts;
	/* If so: which of the sender's nodes is to know what it has begun, or TRIP_NONE;
	 * and what that is, which the runner fills in. 0: it has failed. */
	uint32_t end;
	uint64_t begun;
};

/* What a flow becomes at an end the flow's fate says. */
static inline bool
trip_errand_is_end(const struct trip_errand *errand)
{
	return errand->op != errand->event.op_type;
}

struct trip_errand_ring {
	struct trip_errand *errands;
	uint32_t size; /* a power of two */
	_Alignas(64) _Atomic uint32_t sent;
	_Atomic uint32_t settled;
	_Alignas(64) _Atomic uint32_t done;
};

struct trip_errand_desk {
	/* Tickets drawn and served. */
	_Alignas(64) _Atomic uint64_t tickets;
	_Atomic uint64_t served;
	/* The runner sleeps, or is about to; and what it sleeps on, an eventfd. */
	_Atomic bool asleep;
	int wake_fd;
	/* By sender. */
	struct trip_errand_ring *rings;
	/* Errands that found their ring full. */
	_Atomic uint64_t refused;
	/* Something is owed that no errand brings: the runner looks for it behind all of them. */
	_Atomic bool owed;
};

/* Sender: hands in what the runner is to do. False: too many of it are under way. */
bool trip_errand_hand_in(
	struct trip_errand_desk *desk, uint32_t sender, const struct trip_errand *errand);

/* Whoever has drawn a ticket: wakes the runner where it sleeps. */
void trip_errand_wake(struct trip_errand_desk *desk);

static inline void
trip_errand_init(struct trip_errand_ring *ring, struct trip_errand *errands, uint32_t size)
{
	ring->errands = errands;
	ring->size = size;
	atomic_init(&ring->sent, 0);
	atomic_init(&ring->settled, 0);
	atomic_init(&ring->done, 0);
}

/* Sender: the slot to fill in next, NULL: full. */
static inline struct trip_errand *
trip_errand_next(struct trip_errand_ring *ring)
{
	uint32_t sent = atomic_load_explicit(&ring->sent, memory_order_relaxed);

	/* Both are the sender's own. */
	if (sent - atomic_load_explicit(&ring->settled, memory_order_relaxed) == ring->size)
		return NULL;
	return &ring->errands[sent & (ring->size - 1)];
}

/* Sender: what trip_errand_next() gave is filled in. Partner: trip_errand_peek(). */
static inline void
trip_errand_send(struct trip_errand_ring *ring)
{
	atomic_store_explicit(&ring->sent,
		atomic_load_explicit(&ring->sent, memory_order_relaxed) + 1, memory_order_release);
}

/* Runner: of those that are not done the nth, from 0, the oldest; NULL: there are no more. */
static inline struct trip_errand *
trip_errand_peek(struct trip_errand_ring *ring, uint32_t n)
{
	uint32_t done = atomic_load_explicit(&ring->done, memory_order_relaxed);

	if (atomic_load_explicit(&ring->sent, memory_order_acquire) - done <= n)
		return NULL;
	return &ring->errands[(done + n) & (ring->size - 1)];
}

/* Runner: the oldest is done. Partner: trip_errand_back(). */
static inline void
trip_errand_done(struct trip_errand_ring *ring)
{
	atomic_store_explicit(&ring->done,
		atomic_load_explicit(&ring->done, memory_order_relaxed) + 1, memory_order_release);
}

/* Sender: the oldest that is done and not settled, NULL: none. */
static inline struct trip_errand *
trip_errand_back(struct trip_errand_ring *ring)
{
	uint32_t settled = atomic_load_explicit(&ring->settled, memory_order_relaxed);

	/* C4. Partner: trip_errand_done(). */
	if (atomic_load(&ring->done) == settled)
		return NULL;
	return &ring->errands[settled & (ring->size - 1)];
}

/* Sender: of those that are not settled the nth, from 0, the oldest; NULL: there are no more. */
static inline struct trip_errand *
trip_errand_unsettled(struct trip_errand_ring *ring, uint32_t n)
{
	uint32_t settled = atomic_load_explicit(&ring->settled, memory_order_relaxed);

	if (atomic_load_explicit(&ring->sent, memory_order_relaxed) - settled <= n)
		return NULL;
	return &ring->errands[(settled + n) & (ring->size - 1)];
}

/* Sender: that one is settled. Partner: trip_errand_settled(). */
static inline void
trip_errand_settle(struct trip_errand_ring *ring)
{
	atomic_store_explicit(&ring->settled,
		atomic_load_explicit(&ring->settled, memory_order_relaxed) + 1,
		memory_order_release);
}

/* Any thread that has seen the sender send: a mark of what was sent so far, and whether all of that
 * has been settled. */
static inline uint32_t
trip_errand_mark(struct trip_errand_ring *ring)
{
	return atomic_load_explicit(&ring->sent, memory_order_acquire);
}

static inline bool
trip_errand_settled(struct trip_errand_ring *ring, uint32_t mark)
{
	uint32_t settled = atomic_load_explicit(&ring->settled, memory_order_acquire);

	return (int32_t)(settled - mark) >= 0;
}

#endif
