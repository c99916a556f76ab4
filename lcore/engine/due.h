/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that are due, and how they become so. engine.h has the three lists and what they mean.
 */
#ifndef TRIP_DUE_H
#define TRIP_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

/* Appends a counter, which is in no list, to one; takes the first off a list that is not empty. */
void trip_due_push(
	struct trip_home *home, struct trip_due_list *list, uint32_t cntr, enum trip_due due);
uint32_t trip_due_pop(struct trip_home *home, struct trip_due_list *list);

/* The sum of counter `cntr` may have passed what is armed, or what is armed must be set anew. */
void trip_due_touch(struct trip_home *home, uint32_t cntr);

/* Fetches what is looked at of a counter when it rang. */
static inline void
trip_due_prefetch(const struct trip_home *home, uint32_t cntr)
{
	const char *record = (const char *)&home->cntrs[cntr];

	__builtin_prefetch(&home->cells[cntr], 1);
	__builtin_prefetch(record, 1);
	__builtin_prefetch(record + sizeof(home->cntrs[cntr]) - 1, 1);
}

/* A counter rang: samples it, or has it sampled when nothing of it is due any more. */
void trip_due_rang(struct trip_home *home, uint32_t cntr);

/*
 * A sweep has begun: what was sampled fires once everything submitted up to then is accepted. Not
 * so a counter that was set between its sample and then: the sweep may hold what was submitted
 * after the set, which must not be measured against that sample, so it is sampled anew and waits
 * for the next sweep.
 *
 * A counter that is set all the time waits a few sweeps at most. Then its last sample is stale: it
 * holds for what was accepted before it was taken, and not for what this sweep accepts, as nobody
 * knows on which side of the set that was submitted (WORK-13). That is deferred until the counter
 * settles. As it may as well have been submitted before the update that the sample shows, nothing
 * above it fires before it: the sample counts up to the lowest threshold that was deferred
 * (WORK-02). Returns how many were sampled anew.
 */
unsigned int trip_due_sweep(struct trip_home *home);

/* The same where nothing is to be accepted, of the one counter that is sampled. TRIP_NONE: it was
 * set; otherwise it is in no list, and about to fire. */
uint32_t trip_due_sweep_one(struct trip_home *home);

/* Queues a node at a threshold of counter `cntr`. False where that must wait until it settles. */
bool trip_due_queue(struct trip_home *home, uint32_t cntr, uint64_t threshold, uint32_t node);

/* A work item at this threshold waits for that. */
void trip_due_deferred(struct trip_home *home, uint32_t cntr, uint64_t threshold);

/* Arms the cell of a counter of which nothing is due. True where it has been reached already: then
 * the counter is to be sampled again. */
bool trip_due_arm(struct trip_home *home, uint32_t cntr);

/* A threshold has been taken out of what is pending: where the cell showed it as the next one, that
 * is another now. */
void trip_due_dropped(struct trip_home *home, uint32_t cntr, uint64_t threshold);

/* Has counter `cntr` of this home sampled again. */
void trip_due_ring_self(struct trip_home *home, uint32_t cntr);

/* Rings the home of a counter of any home; any thread. */
void trip_due_ring(const struct trip_engine *engine, uint32_t cntr);

/* Adds to a counter of any home, which hears of it where it cares. Any thread. */
static inline void
trip_due_add(const struct trip_engine *engine, uint32_t cntr, uint64_t value)
{
	if (trip_cell_add(trip_engine_cell(engine, cntr), value))
		trip_due_ring(engine, cntr);
}

#endif
