/* SPDX-License-Identifier: BSD-3-Clause */
#include "accept.h"
#include "due.h"
#include "fire.h"
#include "home.h"
#include "hot.h"
#include "node.h"
#include "source.h"
#include "volley.h"
#include "waiter.h"

/* Items that one counter fires before the next one has its turn. */
#define QUANTUM 32
/* Steps of a pending set that cost as much of the budget as an item: some times what one takes. */
#define STEPS_AN_ITEM 32

/* Nothing of the counter is due any more: arms it anew, and looks whether that came too late. Or
 * accepts what has waited for that; how many. */
static unsigned int
settle(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint64_t bound = trip_pending_bound(&home->pool, &cntr->pending);
	bool watched = cntr->watchers > 0, again = cntr->again, reached;
	unsigned int woken;

	cntr->due = TRIP_DUE_NONE;
	cntr->again = false;
	cntr->suspect = false;
	cntr->since_tsc = 0;
	if (cntr->deferred != TRIP_NONE) {
		unsigned int accepted = trip_accept_deferred(home, index, QUANTUM);

		trip_due_touch(home, index);
		cntr->again = again;
		return accepted;
	}
	cntr->split = trip_cell_sum(&home->cells[index]);
	/* What feeds it rings. */
	if (cntr->hot != 0 && cntr->sources != TRIP_NONE)
		trip_hot_leave(home, index);
	reached = trip_due_arm(home, index);
	/* Read after arming: what came before it is found here, what comes after it rings. */
	woken = trip_waiter_settle(home, index, home->budget);
	/* A sum that is there already the next look at a hot one finds. */
	if (cntr->hot != 0)
		again |= trip_hot_settle(home, index, bound);
	else
		again |= cntr->settled.success + cntr->settled.error >= bound;
	/* Without those who woke the cell is to be armed higher, or not at all. Watched, it is
	 * armed so low that it is always reached. */
	again |= woken > 0 || (reached && !watched);
	if (cntr->sources != TRIP_NONE)
		again |= trip_source_budget(home, index, watched ? cntr->split + 1 : bound);
	if (again)
		trip_due_ring_self(home, index);
	return 0;
}

/* Nodes that were popped, of some counters one after the other, and are about to fire. */
struct volley {
	uint32_t nodes[QUANTUM];
	struct {
		uint32_t cntr;
		uint32_t n;
		/* The counter is in the list again. */
		bool listed;
	} runs[QUANTUM];
	unsigned int n_nodes, n_runs;
};

/* Pops what is due of one counter, as far as there is room. */
static unsigned int
load_run(struct trip_home *home, struct volley *volley)
{
	uint32_t index = trip_due_pop(home, &home->firing),
		 *nodes = &volley->nodes[volley->n_nodes];
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint64_t steps = home->pool.steps;
	unsigned int n =
		trip_pending_pop(&home->pool, &cntr->pending, nodes, QUANTUM - volley->n_nodes);
	bool due = trip_pending_due(&home->pool, &cntr->pending);

	for (unsigned int i = 0; i < n; i++)
		trip_node_prefetch(home, nodes[i]);
	if (due)
		trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
	volley->runs[volley->n_runs].cntr = index;
	volley->runs[volley->n_runs].n = n;
	volley->runs[volley->n_runs++].listed = due;
	volley->n_nodes += n;
	/* Where a jump has passed many wheels, pop walks before it hands anything out. */
	return n + 1 + (unsigned int)((home->pool.steps - steps) / STEPS_AN_ITEM);
}

/* Until room is used up: what pops walk and drop counts, however little they hand out. */
static unsigned int
load(struct trip_home *home, struct volley *volley, unsigned int room)
{
	unsigned int done = 0;

	volley->n_nodes = 0;
	volley->n_runs = 0;
	while (home->firing.count > 0 && volley->n_nodes < QUANTUM && volley->n_runs < QUANTUM &&
		done < room)
		done += load_run(home, volley);
	return done;
}

static void
fire_nodes(struct trip_home *home, const uint32_t *nodes, unsigned int n)
{
	for (unsigned int i = 0, end; i < n; i = end) {
		for (end = i; end < n && nodes[end] < home->n_nodes; end++)
			;
		trip_fire(home, &nodes[i], end - i);
		for (; end < n && nodes[end] >= home->n_nodes; end++)
			trip_waiter_fire(home, nodes[end] - home->n_nodes);
	}
}

/* Its run has fired, and it is in no list. How many were accepted on the way. */
static unsigned int
end_run(struct trip_home *home, uint32_t index)
{
	/* Intervals may have come back. */
	if (!trip_pending_due(&home->pool, &home->cntrs[index].pending))
		return settle(home, index);
	trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
	return 0;
}

/* All of it fires before the first counter settles: what is claimed and added together waits for
 * the memory once, where counters have few items due each. How many were accepted on the way. */
static unsigned int
fire_volley(struct trip_home *home, const struct volley *volley)
{
	unsigned int accepted = 0;

	fire_nodes(home, volley->nodes, volley->n_nodes);
	for (unsigned int i = 0; i < volley->n_runs; i++) {
		uint32_t index = volley->runs[i].cntr;

		if (volley->runs[i].n > 0)
			trip_hot_fired(home, index);
		if (!volley->runs[i].listed)
			accepted += end_run(home, index);
	}
	return accepted;
}

unsigned int
trip_volley_fire_alone(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint64_t steps = home->pool.steps;
	uint32_t nodes[QUANTUM];
	unsigned int n;

	trip_pending_sample(&home->pool, &cntr->pending, cntr->sample);
	n = trip_pending_pop(&home->pool, &cntr->pending, nodes, QUANTUM);
	steps = home->pool.steps - steps;
	fire_nodes(home, nodes, n);
	if (n > 0)
		trip_hot_fired(home, index);
	return n + 1 + (unsigned int)(steps / STEPS_AN_ITEM) + end_run(home, index);
}

/*
 * Each volley fires while the memory of the next one is on its way. What an item of the first puts
 * into the pending set, due already, comes behind everything that was due before, so behind the
 * second as well; and whoever cancels an item finds it queued until it is claimed.
 */
unsigned int
trip_volley_fire(struct trip_home *home, unsigned int done)
{
	struct volley volleys[2];
	unsigned int turn = 0;

	done += load(home, &volleys[turn], home->budget - done);
	do {
		struct volley *now = &volleys[turn];

		turn = 1 - turn;
		volleys[turn].n_runs = 0;
		if (done < home->budget)
			done += load(home, &volleys[turn], home->budget - done);
		done += fire_volley(home, now);
	} while (volleys[turn].n_runs > 0 || (done < home->budget && home->firing.count > 0));
	return done;
}
