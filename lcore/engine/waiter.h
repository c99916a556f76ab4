/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiter slots: how a thread that is about to sleep asks a home to write its eventfd.
 *
 * A slot has one owner, a thread or a handle. The owner writes what it waits for, publishes the
 * word ARMED with a fresh generation, and rings the home. The home copies the request, checks that
 * the word has not moved meanwhile, and follows it like a work item whose operation is a wake. The
 * home wakes by moving ARMED to SIGNALED with a compare-exchange and then writing the eventfd; the
 * owner takes a request back by moving ARMED to IDLE with one. So a request is answered at most
 * once, and an owner that re-arms is never answered for an older request, except by one late write
 * to the descriptor: one wake for nothing, which the next trip_trywait() drains.
 *
 * No wake is lost (WAIT-04): the request holds the values that the owner saw. An update before the
 * home has armed the cell is found by the home's comparison after arming; one after it rings.
 *
 * The descriptor of a slot stays open until the domain is closed: a late write must never reach a
 * descriptor number that has become somebody else's file.
 */
#ifndef TRIP_WAITER_H
#define TRIP_WAITER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct trip_cell_sample;
struct trip_home;

enum trip_waiter_state {
	TRIP_WAITER_IDLE,
	TRIP_WAITER_ARMED,
	TRIP_WAITER_SIGNALED,
};

#define TRIP_WAITER_STATE_BITS 2
#define TRIP_WAITER_STATE_MASK ((1u << TRIP_WAITER_STATE_BITS) - 1)

/* Wakes on any change of success or error. Otherwise on success >= threshold or a change of error.
 */
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
};

/* The owner: arms the slot, in place of what it was armed for before. Any process. */
void trip_waiter_arm(struct trip_home *home, uint32_t waiter, uint32_t cntr, uint64_t threshold,
	const struct trip_cell_sample *seen);

/* The owner: takes the request back; the home forgets it on its own. */
void trip_waiter_disarm(struct trip_home *home, uint32_t waiter);

/* The home: takes up what rang, at most `budget`; returns how many. */
unsigned int trip_waiter_accept(struct trip_home *home, unsigned int budget);

/* The home, after arming a counter: notes its values as settled, and wakes the waiters whom they
 * satisfy, at most `budget`; returns how many. */
unsigned int trip_waiter_settle(struct trip_home *home, uint32_t cntr, unsigned int budget);

/* The home: the threshold of a waiter was reached; its node has left the pending set. */
void trip_waiter_fire(struct trip_home *home, uint32_t waiter);

#endif
