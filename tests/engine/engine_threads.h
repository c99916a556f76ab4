/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the threads of stress-engine share. Workers call everything at once; waiters sleep without a
 * timeout. Both go by phases: at the end of each the workers stand still, one last update wakes
 * every waiter, and the domain is looked at as a whole.
 */
#ifndef TRIP_ENGINE_THREADS_H
#define TRIP_ENGINE_THREADS_H

#include <errno.h>

#include "harness.h"

#define WORKERS 4
#define PHASES 6
/* Of a worker in a phase. */
#define OPS (TRIP_TEST_TSAN ? 800 : 2000)

/* Anybody changes, sets and waits for these; of the last ones the work is flushed now and then. */
#define CNTRS 8
#define FLUSHED 2
/* Names that counters come and go by. */
#define NAMES 6
/* Counters in a cycle, each adding to the next. */
#define CHAIN 4
/* That go round in it. */
#define TOKENS 3
#define IDS 64

/* An item's context: whose it is, and which. */
#define CONTEXT_BITS 32

/* What has become of a one-shot item; it may not become anything twice. */
enum {
	ITEM_CALL = 1,
	ITEM_COMPLETES = 2,
	ITEM_FLUSHED = 4, /* may be canceled by a flush, too */
	ITEM_FIRED = 8,
	ITEM_CANCELED = 16,
	ITEM_READ = 32,
};

struct world {
	struct trip_cntr *cntrs[CNTRS];
	struct trip_cntr *sink, *flushed_sink, *completion;
	struct trip_cntr *chain[CHAIN];
	uint64_t chain_ids[CHAIN], chain_began[CHAIN], laps;
	_Atomic uint64_t tokens;
	struct trip_function *call, *count;
	struct worker *workers;
	/* Calls in the phases that have been checked; those that failed; outcomes too many. */
	uint64_t fired;
	_Atomic uint64_t failed_calls, twice;
};

extern struct world world;

struct worker {
	struct trip_random random;
	uint32_t index;
	/* What this worker has done wrong, or what was done to it. */
	uint64_t errors;
	/* Its one-shot items of this phase: ITEM_* of each. */
	_Atomic uint8_t *items;
	uint32_t n_items, max_items, ops;
	struct {
		uint64_t id;
		uint32_t item;
		bool add;
	} ids[IDS];
	/* Counter operations: they have no context, but their sum. */
	uint64_t adds, adds_canceled, flushed_adds;
	/* A counter that it alone changes, upwards; its interval item, and how often that fired. */
	struct trip_cntr *own;
	uint64_t own_value, own_id, threshold, interval;
	_Atomic uint64_t firings;
	struct trip_poll_set *poll_set;
	bool polled[CNTRS];
	pthread_t thread;
};

static inline uint64_t
below(struct worker *worker, uint64_t bound)
{
	return trip_random_below(&worker->random, bound);
}

static inline void
expect(struct worker *worker, bool holds)
{
	worker->errors += !holds;
}

/* For threads that may run on any CPU. */
void engine_run_anywhere(void);

/* --- engine_work.c: deferred work --- */

void engine_work_open(void);
void engine_work_close(void);
/* Around each phase; the second once nothing is due any more. */
void engine_work_begin(struct worker *worker);
void engine_work_end(struct worker *worker);
void engine_work_check(void);
void engine_chain_begin(void);
void engine_chain_end(void);

void engine_queue(struct worker *worker);
void engine_cancel(struct worker *worker);
void engine_race(struct worker *worker);
void engine_repeat(struct worker *worker);
void engine_token(struct worker *worker);
void engine_raise(struct worker *worker);
void engine_flush(struct worker *worker);
void engine_events(struct worker *worker);

/* --- engine_life.c: objects that come and go --- */

void engine_live_cntr(struct worker *worker);
void engine_live_name(struct worker *worker);
void engine_live_set(struct worker *worker);
void engine_live_member(struct worker *worker);
void engine_live_poll_set(struct worker *worker);
void engine_poll(struct worker *worker);
void engine_poll_end(struct worker *worker);

/* --- engine_waiter.c: threads that sleep until they are woken --- */

void engine_waiters_open(void);
void engine_waiters_close(void);
void engine_waiters_begin(void);
/* The updates that waiters sleep for, while they do. */
void engine_waiters_update(struct worker *worker);
/* One last update for each: returns when all have been woken by it, and how many changes they saw.
 */
uint64_t engine_waiters_end(struct worker *worker);
/* A wait set of one of the waiters. */
struct trip_wait_set *engine_waiters_set(struct worker *worker);
void engine_waiters_tell(void);

#endif
