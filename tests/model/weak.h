/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs functions of the product in every order, on a memory as weak as C11 allows. What a model
 * shows of a protocol, this shows of its source.
 *
 * A source that is compiled with `-include weak.h` makes its atomic accesses here. Before each of
 * them, and each fence, the other threads may have their turns. A place keeps all that was stored
 * in it. A read-modify-write takes the newest. A load gives any store, but none older than
 *
 *	what the thread has itself stored there, or loaded from there;
 *	what was known to who made a store that releases, when a load that acquires has given that;
 *	what was known at any seq_cst fence, when the thread has made one since;
 *	for a seq_cst load: what was known at any seq_cst fence, or was stored there by a seq_cst
 *	store, or loaded by a seq_cst load.
 *
 * The store buffers of x86 are a case of this: as long as a store is in one, others load older
 * ones.
 *
 * C11 allows two things that are not done here: that a load gives what is stored later, and that a
 * store is put before one that was made earlier. So what fails here is broken; what holds here
 * holds wherever these two do not matter. Plain accesses are no steps: all see them at once.
 */
#ifndef TRIP_WEAK_H
#define TRIP_WEAK_H

#include <stdbool.h>

#include "trip_atomics.h"

#define TRIP_WEAK_THREADS 4

struct trip_weak {
	/* Makes the state anew, before each execution. */
	void (*begin)(void *arg);
	/* They end by themselves, so none of them waits for another. */
	void (*threads[TRIP_WEAK_THREADS])(void *arg);
	/* Of all that has happened: is it right? */
	bool (*holds)(void *arg);
	void *arg;
};

/* Whether it holds in every execution. Prints how many there are, or the first that is wrong. */
bool trip_weak_holds(const struct trip_weak *weak);

/* Of a thread: which one it is, from 0; outside of them -1. */
int trip_weak_self(void);

#endif
