/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the index of an object that is gone can be another's.
 *
 * An item gives its references back with its slot, which is before its operation runs. So an
 * iteration that runs while an object is closed may still write by the object's index. Closing does
 * not wait for that: the index is kept back for a grace period. The period is over when
 *
 *	- every iteration that ran at its beginning has ended,
 *	- and what those had started on hardware,
 *	- and the homes have run the calls that were posted by then (call.h).
 *
 * One period is under way at a time. All indices that were given back before it began wait for it
 * together. Whoever opens an object waits only where no other index is left.
 */
#ifndef TRIP_RUNTIME_INDICES_H
#define TRIP_RUNTIME_INDICES_H

#include <stdbool.h>
#include <stdint.h>

#include "home.h"

struct trip_domain;

/* Under the domain's lock. */
struct trip_grace {
	/* Periods that have begun, and that are over: one more at most. */
	uint64_t begun, over;
	uint64_t epochs[TRIP_HOMES_MAX];
	uint32_t calls[TRIP_HOMES_MAX];
	/* Its iterations have ended; what they had started on hardware is marked. */
	bool marked;
};

/* A free list of indices. Those from `fresh` on were never used. */
struct trip_indices {
	/* Those given back, in a circle of `limit`. From `first` on: n_ready that can be taken,
	 * then n_due that wait for the end of `period`, then those that came later. */
	uint32_t *freed;
	uint32_t first;
	uint32_t n_freed;
	uint32_t n_ready;
	uint32_t n_due;
	uint64_t period;
	uint32_t fresh;
	uint32_t limit;
};

int trip_indices_init(struct trip_indices *indices, uint32_t limit);
void trip_indices_fini(struct trip_indices *indices);

/* An index, or TRIP_NONE where none is left. */
uint32_t trip_indices_take(struct trip_indices *indices);
/*
 * Where all that are left are not ripe: the one that has waited longest, except `but`. For a
 * handler, which would wait for itself. It excludes the index that its own iteration still refers
 * to. What remains is a race with an iteration of another home that has lasted since the close.
 */
uint32_t trip_indices_take_unripe(struct trip_indices *indices, uint32_t but);
/*
 * Takes n where there may have to be a wait for them; TRIP_NONE: there are not so many, and none is
 * taken. True: that is all, and on a home it always is; false: some are not ripe, so let it
 * progress and try again. Under the domain's lock.
 */
bool trip_indices_try(
	struct trip_domain *domain, struct trip_indices *indices, uint32_t *index, unsigned int n);
/* Gives one back, to be taken next. */
void trip_indices_give(struct trip_indices *indices, uint32_t index);

/* Gives one back, to be taken after a grace period that begins later. The other looks which periods
 * are over. Under the domain's lock. */
void trip_indices_retire(struct trip_domain *domain, struct trip_indices *indices, uint32_t index);
void trip_indices_ripen(struct trip_domain *domain, struct trip_indices *indices);

/* Whether there are some whose grace period is not over. */
static inline bool
trip_indices_unripe(const struct trip_indices *indices)
{
	return indices->n_freed > indices->n_ready;
}

#endif
