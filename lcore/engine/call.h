/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control threads have a home do: functions that it runs in the order in which they were
 * posted, between two steps of its loop. Memory of the primary: no code pointer is shared. One
 * thread posts at a time, under the domain's control lock; it need not wait until the home has come
 * to it.
 */
#ifndef TRIP_CALL_H
#define TRIP_CALL_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct trip_home;

/* That a home may be behind. */
#define TRIP_CALLS 4096

struct trip_call {
	void (*function)(struct trip_home *home, uint32_t arg);
	uint32_t arg;
};

struct trip_calls {
	/* How many were posted, and how many have run, both free-running. */
	alignas(64) _Atomic uint32_t posted;
	alignas(64) _Atomic uint32_t ran;
	struct trip_call calls[TRIP_CALLS];
};

/* False: the home is too far behind. */
bool trip_call_post(struct trip_home *home, void (*function)(struct trip_home *home, uint32_t arg),
	uint32_t arg);

/* Any thread: a mark of what was posted so far, and whether all of that has run. */
uint32_t trip_call_mark(const struct trip_home *home);
bool trip_call_ran(const struct trip_home *home, uint32_t mark);

/* The home, whose doorbell has rung for it: runs what was posted, at most `budget`; how many. */
unsigned int trip_call_run(struct trip_home *home, unsigned int budget);

#endif
