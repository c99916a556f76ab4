/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that are due, and how they become so. home.h has the three lists and what they mean. */
#ifndef TRIP_DUE_H
#define TRIP_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "cell.h"
#include "engine.h"
#include "pending.h"

struct trip_home;

enum trip_due {
	TRIP_DUE_NONE,
	TRIP_DUE_SAMPLED,
	TRIP_DUE_SWEPT,
	TRIP_DUE_FIRING,
};

/* Home's record of a counter. */
struct trip_home_cntr {
	struct trip_pending pending;
	uint64_t sample;
	/* The sum that the budgets of its queues were reckoned from, and what was folded since: any
	 * other addition rings. */
	uint64_t split;
	/* The cell when it was last armed: what the waiters were compared with. */
	struct trip_cell_sample settled;
	/* When the update happened that the sample shows, as far as known. */
	uint64_t since_tsc;
	/* Of the cell when it was sampled. */
	uint32_t setgen;
	uint32_t next_due;
	/* Accepted, but not to be fired against the sample under way: a list of nodes. */
	uint32_t deferred;
	uint32_t waiters;
	/* Waiters for any change among them. */
	uint32_t watchers;
	/* First of the flow sources that feed it, as flow * TRIP_FLOW_FEEDS + place. */
	uint32_t sources;
	/* The first of its conditions, linked both ways. */
	uint32_t conditions;
	uint8_t due;
	/* Times that it was sampled anew while it waited for a sweep. */
	uint8_t resampled;
	/* When it last fired, in ticks of 2^log2. */
	uint8_t fired;
	/* It rang while it was due. */
	bool again : 1;
	/* Swept by a sample that is older than a set before the sweep: due.h. */
	bool stale : 1;
	/* The scrub found it past what is armed: a ring is under way, or was lost. */
	bool suspect : 1;
	/* In the home's list of fed counters, until a pass finds that none feeds it any more. */
	bool fed : 1;
	/* Waiters have been linked since they were last compared. */
	bool unchecked : 1;
	/* Its place among the hot ones + 1; 0: it is none of them. */
	uint8_t hot : 3;
};

_Static_assert(sizeof(struct trip_home_cntr) == 120,
	"with its cell and its bits, a counter is three lines");

struct trip_due_list {
	uint32_t head;
	uint32_t tail;
	uint32_t count;
};

/* Appends a counter, which is in no list, to one; takes the first off a list that is not empty. */
void trip_due_push(
	struct trip_home *home, struct trip_due_list *list, uint32_t cntr, enum trip_due due);
uint32_t trip_due_pop(struct trip_home *home, struct trip_due_list *list);

/* The sum of counter `cntr` may have passed what is armed, or what is armed must be set anew. */
void trip_due_touch(struct trip_home *home, uint32_t cntr);

/* The same, behind the round, of a counter to which it may happen in each iteration. Were that in
 * the list of what fires each time that its ring is taken, it would never be sampled; so one that
 * has rung is sampled, and armed when it settles. */
void trip_due_changed(struct trip_home *home, uint32_t cntr);

/* Whether its cell is armed for all that waits. One that has rung may have to settle first. */
bool trip_due_has_settled(const struct trip_home *home, uint32_t cntr);

/* Likewise, where it is armed without being in a list. Returns whether it is to be sampled or
 * fired. */
bool trip_due_rearm(struct trip_home *home, uint32_t cntr);

/* A counter rang: samples it, or has it sampled when nothing of it is due any more. */
void trip_due_rang(struct trip_home *home, uint32_t cntr);

/*
 * A sweep has begun: counters that were sampled fire once it has accepted everything. A counter
 * that was set after its sample does not: the sweep may hold items that were submitted after the
 * set, and these must not be measured against that sample. It is sampled anew and waits for the
 * next sweep.
 *
 * A counter that is set all the time waits a few sweeps at most. Then its last sample is stale. It
 * holds for items that were accepted before it was taken. It does not hold for items of this sweep,
 * as nobody knows on which side of the set they were submitted (WORK-13): they are deferred until
 * the counter settles. They may also have been submitted before the update that the sample shows,
 * so nothing above them fires before them: the sample counts up to the lowest deferred threshold
 * (WORK-02). Returns how many were sampled anew.
 */
unsigned int trip_due_sweep(struct trip_home *home);

/* The same where nothing is to be accepted, of the one counter that is sampled. TRIP_NONE: it was
 * set; otherwise it is in no list, and about to fire. */
uint32_t trip_due_sweep_one(struct trip_home *home);

/* Queues a node at a threshold of counter `cntr`. False where that must wait until it settles. */
bool trip_due_queue(struct trip_home *home, uint32_t cntr, uint64_t threshold, uint32_t node);

/* Likewise where that is above what was sampled, as mostly. False, and nothing done: it is not. */
static inline bool
trip_due_queue_above(struct trip_pending_pool *pool, struct trip_home_cntr *cntr,
	uint64_t threshold, uint32_t node)
{
	if (threshold <= cntr->pending.sample)
		return false;
	if (threshold <= cntr->sample &&
		(cntr->due == TRIP_DUE_SAMPLED || cntr->due == TRIP_DUE_SWEPT))
		return false;
	trip_pending_insert(pool, &cntr->pending, threshold, node);
	return true;
}

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

#endif
