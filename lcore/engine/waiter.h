/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiter slots: how a thread that is about to sleep asks a home to wake it.
 *
 * A slot has one owner, a thread or a handle. The owner writes what it waits for, publishes the
 * word ARMED with a fresh generation, and rings the home. The home copies the request, checks that
 * the word has not moved meanwhile, and follows it like a work item whose operation is a wake. The
 * home wakes by moving ARMED to SIGNALING with a compare-exchange, signalling, and storing
 * SIGNALED; the owner takes a request back by moving ARMED to IDLE with a compare-exchange. So a
 * request is answered at most once, and an owner that finds SIGNALING knows that a signal is under
 * way: before it arms anew, or gives away what is signalled, it waits for the end of it (W1), which
 * is two system calls of the home away. An older request therefore never signals a newer one's
 * descriptor.
 *
 * A signal fails where the kernel has no memory for it. The home then moves SIGNALING back to
 * ARMED, lists the request, and signals again and again, by a timer, until that succeeds or the
 * owner has taken the request back. Whoever waits for the end of a signal takes back what it
 * leaves.
 *
 * No wake is lost (WAIT-04): the request holds the values that the owner saw. An update before the
 * home has armed the cell is found by the home's comparison after arming; one after it rings.
 *
 * To signal is to bump `sequence` of the slot that the request names (its own, or that of a wait
 * set), to wake the futex there if anybody sleeps on it, and to write its descriptor if it has one.
 *	sleeper: S1 load sequence		home:	H1 sequence += 1
 *		 S2 arm, look			H2 load sleepers, wake them
 *		 S3 sleepers += 1
 *		 S4 futex wait while sequence is what S1 saw
 * All are seq_cst: either H2 sees S3 and wakes, or S3 comes after H1, and the kernel finds at S4
 * that sequence has moved.
 */
#ifndef TRIP_WAITER_H
#define TRIP_WAITER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cell.h"

struct trip_home;

enum trip_waiter_state {
	TRIP_WAITER_IDLE,
	TRIP_WAITER_ARMED,
	/* The home's alone: it ends by itself. */
	TRIP_WAITER_SIGNALING,
	TRIP_WAITER_SIGNALED,
};

/*
 * In the primary's descriptor of a slot: a socket whose other end is another process's. An eventfd
 * is for a process of its own: another that had it could fill it and make it blocking, and so stop
 * the home. What a send does at this end of a pair, the other does not decide.
 */
#define TRIP_WAITER_SOCKET (1 << 30)

#define TRIP_WAITER_STATE_BITS 2
#define TRIP_WAITER_STATE_MASK ((1u << TRIP_WAITER_STATE_BITS) - 1)

/* Of a waiter's word. */
static inline uint32_t
trip_waiter_state(uint32_t word)
{
	return word & TRIP_WAITER_STATE_MASK;
}

/* Wakes on any change of success or error; else on success >= threshold, or a change of error. */
#define TRIP_WAITER_ANY UINT64_MAX

/* Shared. Fields are atomics because the home may read them while their owner writes anew. */
struct trip_waiter {
	/* generation << TRIP_WAITER_STATE_BITS | state; the generation skips 0. */
	alignas(64) _Atomic uint32_t word;
	/* Local index of the counter. */
	_Atomic uint32_t cntr;
	_Atomic uint64_t threshold;
	/* What the owner saw. */
	_Atomic uint64_t success;
	_Atomic uint64_t error;
	_Atomic uint32_t setgen;
	_Atomic uint32_t errgen;
	/* The slot to signal, by its number in the domain. */
	_Atomic uint32_t signals;
	/* As a slot that is signalled: the futex, and how many sleep on it. */
	_Atomic uint32_t sequence;
	_Atomic uint32_t sleepers;
};

_Static_assert(sizeof(struct trip_waiter) == 64, "a waiter is one cache line");

/* Home's copy of an armed waiter. */
struct trip_waiter_node {
	struct trip_cell_sample seen;
	uint64_t threshold;
	/* The word of the waiter that this stands for; 0: not tracked. */
	uint32_t word;
	uint32_t cntr;
	uint32_t signals;
	uint32_t prev;
	uint32_t next;
	/* Queued in the pending set of its counter. */
	bool queued;
	/* The scrub found a request that nobody has rung for. */
	bool suspect;
	/* The word of the request whose signal failed, while it is listed; 0: none. */
	uint32_t unsent;
	uint32_t next_unsent;
};

/*
 * The owner: arms the slot for a counter of this home, in place of what it was armed for before.
 * Whoever waits on slot `signals` of the domain is then woken. Any process. Waits at W1.
 */
void trip_waiter_arm(struct trip_home *home, uint32_t waiter, uint32_t signals, uint32_t cntr,
	uint64_t threshold, const struct trip_cell_sample *seen);

/* The owner: takes the request back; the home forgets it. Its signal may be under way. */
void trip_waiter_disarm(struct trip_home *home, uint32_t waiter);

/* Likewise; and no signal of this slot's requests comes any more. Waits at W1. */
void trip_waiter_quiesce(struct trip_home *home, uint32_t waiter);
/* Likewise, but false where it would have to wait: for a home that is stopped in a signal, as long
 * as that is. True: to arm does not wait. */
bool trip_waiter_try_quiesce(struct trip_home *home, uint32_t waiter);

/* Another process's view of a home that runs no more: wakes whoever waits on its slots, for ever as
 * far as they are this process's descriptors, and ends a signal that was under way. Nobody takes a
 * descriptor from its slot, to close it, meanwhile. */
void trip_waiter_end(struct trip_home *home);

/* Sleeps until `sequence` of the slot is not `seen` any more, at most `ms` milliseconds (negative:
 * for ever), or for no reason. Its caller is then about to read `next`. */
void trip_waiter_sleep(struct trip_waiter *waiter, uint32_t seen, int ms, const void *next);

/* Wakes whoever sleeps there. */
void trip_waiter_wake(struct trip_waiter *waiter);

/* The home: takes up what rang, at most `budget`; returns how many. */
unsigned int trip_waiter_accept(struct trip_home *home, unsigned int budget);

/* The home, after arming a counter: notes its values as settled, and wakes the waiters whom they
 * satisfy, at most `budget`; returns how many. */
unsigned int trip_waiter_settle(struct trip_home *home, uint32_t cntr, unsigned int budget);

/* The home: the threshold of a waiter was reached; its node has left the pending set. */
void trip_waiter_fire(struct trip_home *home, uint32_t waiter);

/* The home, when its timer is due: signals that have failed, at most `budget` of them. */
void trip_waiter_send_again(struct trip_home *home, unsigned int budget);

#endif
