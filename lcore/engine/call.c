/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of control threads: a ring with one writer, and the home that runs them. */
#include <rte_common.h>

#include "call.h"
#include "home.h"

bool
trip_call_post(struct trip_home *home, void (*function)(struct trip_home *home, uint32_t arg),
	uint32_t arg)
{
	struct trip_calls *calls = home->calls;
	uint32_t posted = atomic_load_explicit(&calls->posted, memory_order_relaxed);

	/* Acquire: the home has read what is written over. Partner: trip_call_run(). */
	if (posted - atomic_load_explicit(&calls->ran, memory_order_acquire) == TRIP_CALLS)
		return false;
	calls->calls[posted % TRIP_CALLS] = (struct trip_call){.function = function, .arg = arg};
	/* Releases the call, and is the full barrier that the doorbell asks for. */
	atomic_fetch_add(&calls->posted, 1);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CALL, 0);
	return true;
}

uint32_t
trip_call_mark(const struct trip_home *home)
{
	return atomic_load_explicit(&home->calls->posted, memory_order_relaxed);
}

bool
trip_call_ran(const struct trip_home *home, uint32_t mark)
{
	return (int32_t)(atomic_load_explicit(&home->calls->ran, memory_order_acquire) - mark) >= 0;
}

unsigned int
trip_call_run(struct trip_home *home, unsigned int budget)
{
	struct trip_calls *calls = home->calls;
	uint32_t ran = atomic_load_explicit(&calls->ran, memory_order_relaxed);
	/* Behind the doorbell: C4 of doorbell.h. Partner: the fetch_add in trip_call_post(). */
	uint32_t left = atomic_load(&calls->posted) - ran, n = RTE_MIN(left, budget);

	for (uint32_t i = 0; i < n; i++) {
		const struct trip_call *call = &calls->calls[ran++ % TRIP_CALLS];

		call->function(home, call->arg);
		/* Release: what it has done. Partners: trip_call_ran(), trip_call_post(). */
		atomic_store_explicit(&calls->ran, ran, memory_order_release);
	}
	if (n < left)
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_CALL, 0);
	return n;
}
