/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for homes; by hand, whoever waits runs them. */
#ifndef TRIP_RUNTIME_PROGRESS_H
#define TRIP_RUNTIME_PROGRESS_H

#include "domain/domain.h"

/* Whether the caller is a home of the domain, or a port's worker, which must not wait for one. */
bool trip_progress_on_worker(const struct trip_domain *domain);

/* 0, or -EDEADLK where the caller is such: `number` of `object` is what it would change. */
int trip_progress_check_worker(
	const struct trip_domain *domain, const char *object, uint32_t number, const char *change);

/* The same of an object that has a name; or -ESHUTDOWN, of a domain whose primary has ended. */
int trip_progress_check_named(
	const struct trip_domain *domain, const char *object, const char *name, const char *change);

/* From now on the calling thread runs no homes: it waits until others do. */
void trip_progress_follow(void);

/* Takes the domain's control lock. Where the caller may be the one that progresses the homes which
 * its holder waits for, it does so meanwhile. */
void trip_progress_lock(struct trip_domain *domain);

/* Lets the homes go on while the caller waits for them: progresses, or yields the processor. */
void trip_progress_wait(struct trip_domain *domain);

/*
 * Waits a moment for the burst of another thread; `began`, in tsc ticks, is when we began to wait
 * for it. A burst that runs takes microseconds. One that does not run needs this CPU, and its
 * thread never yields: then we sleep, as after a yield we would wait for its whole time slice.
 */
void trip_progress_wait_burst(uint64_t began);

/*
 * Waits until every iteration of the homes that runs now has ended. What the caller wrote before is
 * seen by every later one. Not from a home.
 */
void trip_progress_quiesce(struct trip_domain *domain);

/* Has a home run a function between two steps of its loop, in the order of these calls; waits only
 * where the home is thousands of them behind. The second waits until it has run. Under the domain's
 * control lock; not from a home. */
void trip_progress_post(struct trip_domain *domain, struct trip_home *home,
	void (*function)(struct trip_home *home, uint32_t arg), uint32_t arg);
void trip_progress_call(struct trip_domain *domain, struct trip_home *home,
	void (*function)(struct trip_home *home, uint32_t arg), uint32_t arg);

#endif
