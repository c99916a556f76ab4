/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the index of an object that is gone can be another's.
 *
 * An operation lets go of its objects when its item's slot comes back, which is before it runs. So
 * an iteration that runs while an object is closed may write by its index yet. Closing does not
 * wait for that: the index is kept back for a grace period. That is over when every iteration has
 * ended that ran when it began, what those had started on hardware has, too, and the homes have run
 * all that they were asked to by then (call.h). One period is under way at a time, and all indices
 * that were given back before it began wait for it together: whoever opens finds them, and waits
 * where there is no other left, once for all of them.
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

/* A free list of indices: what was never used lies above `fresh`. */
struct trip_indices {
	/* Those given back, in a circle of `limit`: from `first` on n_ready that can be taken, then
	 * n_due that can be when `period` is over, then those that came since. */
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
 * Where only such are left that were retired and are not ripe: the one that has waited longest, but
 * not this one. For a handler, which would wait for itself: what is known to refer to an index yet
 * it can exclude, the rest is a race with another home that must have lasted since.
 */
uint32_t trip_indices_take_unripe(struct trip_indices *indices, uint32_t but);
/* Gives one back, to be taken next. */
void trip_indices_give(struct trip_indices *indices, uint32_t index);

/* Gives one back, to be taken when a grace period is over that begins behind this; and looks which
 * periods are over. Under the domain's lock. */
void trip_indices_retire(struct trip_domain *domain, struct trip_indices *indices, uint32_t index);
void trip_indices_ripen(struct trip_domain *domain, struct trip_indices *indices);

/* Whether there are some whose grace period is not over. */
static inline bool
trip_indices_unripe(const struct trip_indices *indices)
{
	return indices->n_freed > indices->n_ready;
}

#endif
