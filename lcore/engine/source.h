/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow sources: how what queues have counted gets into the cells of counters. What a port's worker
 * reads of flows in hardware is a queue like any other.
 *
 * A home folds what the queues have counted into the cell when one of them rings, and at least once
 * a refresh period. A queue rings when it reaches its budget, its share of the distance to what is
 * armed (count.h has the protocol and the proof).
 */
#ifndef TRIP_SOURCE_H
#define TRIP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

#define TRIP_BUDGET_NONE UINT64_MAX

struct trip_home;

/* The home's: its counters that flows feed, which it refreshes once a period. */
struct trip_fed {
	uint32_t *cntrs;
	uint32_t n;
	/* Of those, the ones that the pass under way has left. */
	uint32_t left;
	/* The next pass: UINT64_MAX while nothing is fed. */
	uint64_t period_tsc, next_tsc;
};

/* Any thread; relaxed: what a flow has counted so far, over its queues. */
void trip_source_count(const struct trip_engine *engine, uint32_t flow, uint32_t first_queue,
	uint32_t n_queues, uint64_t *packets, uint64_t *bytes);

/* Whoever counts: a flow has reached limits, a set of trip_count_which. Rings the homes of the
 * counters that it feeds. */
void trip_source_cross(const struct trip_engine *engine, uint32_t flow, unsigned int which);

/* Any thread: a counter is at this value or above from now on, where it is not yet. */
void trip_source_raise(const struct trip_engine *engine, uint32_t cntr, uint64_t value);

/* Whoever counts: the flow counts no more, though nobody asked for that. Its counters' error value
 * says so (CNTR-03). */
void trip_source_fail(const struct trip_engine *engine, uint32_t flow);

/* The home: adds what the sources of a counter have counted since, and notes when it crossed. True
 * where that was anything. */
bool trip_source_fold(struct trip_home *home, uint32_t cntr);

/* The home: hands out the distance from the folded sum to `bound` (TRIP_BUDGET_NONE: none). True
 * when a queue has reached its share already: then fold again. */
bool trip_source_budget(struct trip_home *home, uint32_t cntr, uint64_t bound);

/* The home: refreshes at most `budget` fed counters; returns how many are to be sampled. */
unsigned int trip_source_refresh(struct trip_home *home, unsigned int budget);

/* Whoever ends a flow in software: adds its last counts, which are final, to its counters. */
void trip_source_finish(const struct trip_engine *engine, uint32_t flow);

/* The home: links and unlinks what feeds a flow's counters. Unlinking folds what is left first. */
void trip_source_link(struct trip_home *home, uint32_t flow);
void trip_source_unlink(struct trip_home *home, uint32_t flow);

#endif
