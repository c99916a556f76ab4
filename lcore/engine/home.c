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
#include "scrub.h"
#include "source.h"
#include "volley.h"
#include "waiter.h"

/* Counters that rang whose memory is fetched together. */
#define RUNG 32

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
	uint32_t rung[RUNG];
	unsigned int n, done = 0;

	while (home->sampled.count < home->budget && done < home->budget) {
		n = trip_doorbell_take(&home->doorbell, TRIP_BELL_CNTR, rung, RUNG);
		for (unsigned int i = 0; i < n; i++)
			prefetch(home, rung[i]);
		for (unsigned int i = 0; i < n; i++)
			trip_due_rang(home, rung[i]);
		trip_engine_stat(&home->stats.rung, n);
		done += n;
		if (n < RUNG)
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

		/* What was late already stays behind what this sample makes due. */
		trip_pending_sample(&home->pool, &cntr->pending, cntr->sample);
		trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
	}
	home->sweeping = false;
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
			return trip_volley_fire_alone(home, index);
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
	if (home->firing.count > 0 && fired < home->budget)
		fired = trip_volley_fire(home, fired);
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

/* Out of line: it comes seldom. */
static __attribute__((noinline)) void
note_beyond(struct trip_home *home, uint64_t tsc)
{
	trip_engine_stat(&home->stats.beyond, 1);
	trip_engine_stat(&home->stats.beyond_tsc, tsc);
}

/* At the end of an iteration that was not idle. Whoever runs homes by hand may come with an earlier
 * time than who ran them last. */
static void
note_time(struct trip_home *home)
{
	struct trip_home_stats *stats = &home->stats;
	uint64_t ended = trip_home_clock(home), took = ended - home->now;

	if (home->ended_tsc != 0 && home->now > home->ended_tsc)
		trip_engine_stat(&stats->idle_tsc, home->now - home->ended_tsc);
	home->ended_tsc = ended;
	trip_engine_stat(&stats->busy_tsc, took);
	trip_engine_stat_most(&stats->longest_tsc, took);
	if (unlikely(took > home->bound_tsc))
		note_beyond(home, took - home->bound_tsc);
	atomic_store_explicit(&stats->moment_tsc, ended, memory_order_relaxed);
}

static void
publish(struct trip_home *home)
{
	atomic_store_explicit(&home->stats.iterations, trip_engine_stat_read(&home->iterations),
		memory_order_relaxed);
	trip_published_put(home->published, (const _Atomic uint64_t *)&home->stats);
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
	if (done > 0)
		trip_engine_stat(&home->stats.busy_iterations, 1);
	note_time(home);
	publish(home);
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
