/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop. home.h tells what a round is. */
#include <rte_branch_prediction.h>

#include "accept.h"
#include "call.h"
#include "clock.h"
#include "condition.h"
#include "drop.h"
#include "due.h"
#include "fire.h"
#include "home.h"
#include "hot.h"
#include "node.h"
#include "scrub.h"
#include "source.h"
#include "waiter.h"

/* Items that one counter fires before the next one has its turn. */
#define QUANTUM 32
/* Steps of a pending set that cost as much of the budget as an item: some times what one takes. */
#define STEPS_AN_ITEM 32

_Thread_local struct trip_home *trip_engine_current;

/* Fetches what is looked at of a counter when it rang. */
static void
prefetch(const struct trip_home *home, uint32_t cntr)
{
	const char *record = (const char *)&home->cntrs[cntr];

	__builtin_prefetch(&home->cells[cntr], 1);
	__builtin_prefetch(record, 1);
	__builtin_prefetch(record + sizeof(home->cntrs[cntr]) - 1, 1);
}

/* Samples counters that rang, until the budget is waiting for a sweep. */
static unsigned int
sample_rung(struct trip_home *home)
{
	uint32_t rung[QUANTUM];
	unsigned int n, done = 0;

	while (home->sampled.count < home->budget && done < home->budget) {
		n = trip_doorbell_take(&home->doorbell, TRIP_BELL_CNTR, rung, QUANTUM);
		for (unsigned int i = 0; i < n; i++)
			prefetch(home, rung[i]);
		for (unsigned int i = 0; i < n; i++)
			trip_due_rang(home, rung[i]);
		done += n;
		if (n < QUANTUM)
			return done;
	}
	home->overdue = true;
	return done;
}

/* How many counters were sampled anew. */
static unsigned int
begin_sweep(struct trip_home *home)
{
	trip_accept_begin(home);
	home->sweeping = true;
	return trip_due_sweep(home);
}

static void
end_sweep(struct trip_home *home)
{
	while (home->swept.count > 0) {
		uint32_t index = trip_due_pop(home, &home->swept);
		struct trip_home_cntr *cntr = &home->cntrs[index];

		trip_pending_prefetch_second(&home->pool, &cntr->pending);
		/* What was late already stays behind what this sample makes due. */
		trip_pending_sample(&home->pool, &cntr->pending, cntr->sample);
		trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
	}
	home->sweeping = false;
}

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

/* The one counter that is due: nothing is to be fetched ahead, and there is nothing to take turns
 * with. */
static unsigned int
fire_alone(struct trip_home *home, uint32_t index)
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
static unsigned int
fire_due(struct trip_home *home, unsigned int done)
{
	struct volley volleys[2];
	unsigned int turn = 0;

	if (home->firing.count == 0 || done >= home->budget)
		return done;
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

/* What a control thread asked for, or nothing where another process has rung. */
static unsigned int
run_call(struct trip_home *home)
{
	uint32_t rung;

	if (trip_doorbell_take(&home->doorbell, TRIP_BELL_CALL, &rung, 1) == 0)
		return 0;
	if (rung == 0)
		return trip_call_run(home, home->budget);
	trip_drop_begin(home, rung - 1);
	return 1;
}

uint64_t
trip_home_epoch(struct trip_home *home)
{
	/* Partner: the fence in begin_epoch(). In the one order of both, either this is first, and
	 * the iteration sees what the caller wrote, or the epoch that is read is odd. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(home->epoch);
}

bool
trip_home_quiesced(struct trip_home *home, uint64_t epoch)
{
	return (epoch & 1) == 0 || atomic_load(home->epoch) != epoch;
}

/* What was rung for, and what is left of it. */
static unsigned int
answer(struct trip_home *home)
{
	unsigned int done = run_call(home);

	done += trip_fire_settle(home);
	done += sample_rung(home);
	if (!home->sweeping)
		done += begin_sweep(home);
	done += trip_accept_sweep(home, home->budget);
	done += trip_waiter_accept(home, home->budget);
	if (trip_accept_done(home))
		end_sweep(home);
	done += trip_accept_canceled(home, home->budget);
	done += trip_drop_run(home, home->budget);
	return done;
}

/*
 * Where nobody has rung since the hot counters were sampled, nothing is to be accepted before they
 * fire: whoever submitted an item before an update has rung before it. The sweep is over before it
 * begins. Mostly there is one of them, and nothing else under way; it fires then and there.
 */
static unsigned int
fire_hot(struct trip_home *home)
{
	unsigned int sampled;

	if (home->sampled.count == 1 && home->firing.count == 0) {
		uint32_t index = trip_due_sweep_one(home);

		if (index != TRIP_NONE)
			return fire_alone(home, index);
	}
	sampled = trip_due_sweep(home);
	end_sweep(home);
	return sampled;
}

/* Behind the round: what the clock makes due fires in the next one, which looks first at what was
 * submitted before that moment. */
static unsigned int
run_timers(struct trip_home *home)
{
	unsigned int due = trip_condition_run(home, home->budget);

	due += trip_clock_tick(home);
	due += trip_source_refresh(home, home->budget);
	if (home->now >= home->scrub.next_tsc)
		trip_scrub(home);
	trip_waiter_send_again(home, home->budget);
	trip_home_timers(home);
	return due;
}

static unsigned int
iterate(struct trip_home *home, bool rung)
{
	unsigned int answered = 0, fired = 0;

	if (rung || home->sweeping || home->n_canceling + home->n_drops > 0)
		answered = answer(home);
	else if (home->sampled.count > 0)
		fired = fire_hot(home);
	fired = fire_due(home, fired);
	if (home->now >= home->timer_tsc)
		answered += run_timers(home);
	return answered + fired;
}

/* Whether nothing is under way, and no timer is due. */
static inline bool
idle(const struct trip_home *home, uint64_t now)
{
	return !home->sweeping &&
	       home->sampled.count + home->firing.count + home->n_canceling + home->n_drops == 0 &&
	       now < home->timer_tsc;
}

bool
trip_home_idle(const struct trip_home *home)
{
	return home->n_hot == 0 && trip_doorbell_idle(&home->doorbell) && idle(home, home->now);
}

static uint64_t
begin_epoch(struct trip_home *home)
{
	/* The home alone writes it, so that it need not be one step. */
	uint64_t epoch = atomic_load_explicit(home->epoch, memory_order_relaxed);

	atomic_store_explicit(home->epoch, epoch + 1, memory_order_relaxed);
	/* Before all loads of the iteration, which a read-modify-write is not by C11. Partner: the
	 * fence in trip_home_epoch(). */
	atomic_thread_fence(memory_order_seq_cst);
	return epoch;
}

/* Of what was found. */
static bool
has_left(const struct trip_home *home)
{
	return home->sweeping || home->sampled.count + home->firing.count > 0 ||
	       home->looks != TRIP_NONE;
}

static unsigned int
iterate_busy(struct trip_home *home, bool rung)
{
	struct trip_home *outer = trip_engine_current;
	uint64_t epoch = begin_epoch(home);
	unsigned int done;

	trip_engine_current = home;
	done = iterate(home, rung);
	trip_engine_current = outer;
	/* Here, as it may have nothing to do for long, and what comes then is not late. */
	if (home->overdue && !has_left(home))
		home->overdue = !trip_doorbell_idle(&home->doorbell);
	/* Partner: the loads of trip_home_epoch() and trip_home_quiesced(). */
	atomic_store_explicit(home->epoch, epoch + 2, memory_order_release);
	trip_engine_stat_most(&home->stats.longest_tsc, trip_home_clock(home) - home->now);
	if (done > 0)
		trip_engine_stat(&home->stats.busy_iterations, 1);
	return done;
}

/* What is found now has come since the iteration before, unless that has left something. */
static inline void
begin_iteration(struct trip_home *home, uint64_t now)
{
	if (!has_left(home)) {
		if (!home->overdue)
			home->calm_tsc = home->now;
		home->overdue = false;
	}
	home->now = now;
}

/* Whether there is anything to do; if so, does it. */
static inline unsigned int
iterate_if_busy(struct trip_home *home)
{
	bool rung = !trip_doorbell_idle(&home->doorbell);

	return rung || !idle(home, home->now) ? iterate_busy(home, rung) : 0;
}

/* Out of line, both: an idle iteration saves no registers for them. */
static __attribute__((noinline)) unsigned int
iterate_hot(struct trip_home *home, uint64_t now)
{
	begin_iteration(home, now);
	/* First: what it finds is due by what is seen here, and the doorbell is looked at behind.
	 */
	trip_hot_poll(home);
	return iterate_if_busy(home);
}

static __attribute__((noinline)) unsigned int
iterate_cold(struct trip_home *home, uint64_t now)
{
	begin_iteration(home, now);
	return iterate_if_busy(home);
}

unsigned int
trip_home_iterate(struct trip_home *home, uint64_t now)
{
	trip_engine_stat(&home->iterations, 1);
	if (home->n_hot > 0)
		return iterate_hot(home, now);
	if (unlikely(!trip_doorbell_silent(&home->doorbell) || !idle(home, now)))
		return iterate_cold(home, now);
	home->now = now;
	return 0;
}
