/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that call everything at once on two homes, in phases. At the end of each phase
 *
 *	every waiter has returned: one update woke each of them, without a timeout or a second try;
 *	every item that was queued has fired or was canceled, once, and its event was read, once;
 *	completions are what has fired, sums what was added, firings of an interval what was passed;
 *	a poll set reports each member that has changed, once;
 *	nothing is pending, and every invariant of the homes holds.
 *
 * Beside that a cycle of counters keeps the homes busy without an end. The scrub is off. Bounded in
 * operations; TRIP_ROUNDS sets those of each worker and phase.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "domain/domain.h"
#include "engine_threads.h"
#include "domain/progress.h"

/* Seconds that a phase may take: beyond, somebody sleeps for ever. */
#define PATIENCE_S 400
#define RANGE 5000
/* Tsc ticks, a few microseconds: the cycle pauses as long now and then. */
#define HOT_LOG2 14

struct world world;

static struct worker workers[WORKERS];
static _Atomic unsigned int running, phase;
static _Atomic int stage;

static void
tell_hang(int number)
{
	static const char *const stages[] = {"workers", "chain", "waiters", "settling", "checks"};

	dprintf(STDERR_FILENO, "phase %u: %s have not ended in %d s\n", atomic_load(&phase),
		stages[atomic_load(&stage)], PATIENCE_S);
	engine_waiters_tell();
	_exit(EXIT_FAILURE);
}

void
engine_run_anywhere(void)
{
	cpu_set_t all;

	/* Not on the main lcore's CPU only, where it was started. */
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static void
change(struct worker *worker)
{
	struct trip_cntr *cntr = world.cntrs[below(worker, CNTRS)];

	switch (below(worker, 8)) {
	case 0:
		trip_cntr_set(cntr, below(worker, RANGE));
		break;
	case 1:
		trip_cntr_seterr(cntr, below(worker, 20));
		break;
	case 2:
		trip_cntr_adderr(cntr, 1);
		break;
	default:
		trip_cntr_add(cntr, below(worker, 20));
	}
}

/* With others, for as long as it takes at most. */
static void
wait_for(struct worker *worker)
{
	struct trip_cntr *cntr = world.cntrs[below(worker, CNTRS)];
	uint64_t threshold = trip_cntr_read(cntr) + below(worker, 20);
	int result = trip_cntr_wait(cntr, threshold, (int)below(worker, 2));

	expect(worker, result == 0 || result == -EIO || result == -ETIMEDOUT);
}

static void
look(struct worker *worker)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	expect(worker, trip_domain_stats_read(harness_domain, &stats) == 0);
	expect(worker, stats.scrub_repairs == 0 && stats.refused == 0);
}

/* There are channels for all workers but one. */
static void
change_channels(struct worker *worker)
{
	int result = below(worker, 2) == 0 ? trip_thread_detach(harness_domain)
					   : trip_thread_attach(harness_domain);

	expect(worker,
		result == 0 || result == -ENOENT || result == -EALREADY || result == -ENOSPC);
}

static void
step(struct worker *worker)
{
	harness_step();
}

/* In a hundred operations. */
static const struct {
	void (*run)(struct worker *worker);
	unsigned int weight;
} ops[] = {
	{change, 21},
	{change_channels, 2},
	{engine_queue, 24},
	{engine_race, 1},
	{engine_cancel, 7},
	{engine_raise, 6},
	{engine_waiters_update, 14},
	{engine_poll, 5},
	{engine_events, 3},
	{engine_repeat, 3},
	{engine_token, 1},
	{engine_flush, 1},
	{engine_live_cntr, 2},
	{engine_live_name, 2},
	{engine_live_set, 1},
	{engine_live_member, 1},
	{engine_live_poll_set, 1},
	{wait_for, 2},
	{look, 1},
	{step, 2},
};

static void *
work_on(void *arg)
{
	struct worker *worker = arg;

	engine_run_anywhere();
	for (uint32_t i = 0; i < worker->ops; i++) {
		uint64_t what = below(worker, 100);
		unsigned int op = 0;

		for (; what >= ops[op].weight; op++)
			what -= ops[op].weight;
		ops[op].run(worker);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void
open_worker(uint32_t index)
{
	struct worker *worker = &workers[index];

	*worker = (struct worker){.random = {harness_seed + index},
		.index = index,
		.own = harness_cntr(TRIP_WAIT_NONE),
		.ops = (uint32_t)trip_test_rounds(OPS)};
	/* Each operation queues one item, some queue as many as there are ids. */
	worker->max_items = 2 * worker->ops + IDS;
	worker->items = calloc(worker->max_items, sizeof(*worker->items));
	assert_non_null(worker->items);
	assert_int_equal(trip_poll_open(harness_domain, NULL, &worker->poll_set), 0);
}

static void
close_worker(struct worker *worker)
{
	for (unsigned int i = 0; i < CNTRS; i++)
		if (worker->polled[i])
			assert_int_equal(
				trip_poll_del(worker->poll_set, trip_cntr_fid(world.cntrs[i]), 0),
				0);
	assert_int_equal(trip_poll_close(worker->poll_set), 0);
	harness_cntr_close(worker->own);
	free(worker->items);
}

static void
open_world(void)
{
	static const enum trip_wait_obj objs[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};
	const struct trip_domain_attr tune = {
		.max_process_threads = WORKERS - 1, .max_thread_works = 4096};

	harness_open(2, &tune);
	world = (struct world){.workers = workers};
	for (unsigned int i = 0; i < CNTRS; i++) {
		struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = objs[i % 4]};

		assert_int_equal(
			trip_cntr_open(harness_domain, &attr, &world.cntrs[i], &world.cntrs[i]), 0);
	}
	engine_work_open();
	engine_waiters_open();
	for (uint32_t i = 0; i < WORKERS; i++)
		open_worker(i);
}

static void
close_world(void)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		close_worker(&workers[i]);
	engine_waiters_close();
	engine_work_close();
	for (unsigned int i = 0; i < CNTRS; i++)
		harness_cntr_close(world.cntrs[i]);
}

static void
run_workers(void)
{
	atomic_store(&stage, 0);
	atomic_store(&running, WORKERS);
	for (unsigned int i = 0; i < WORKERS; i++) {
		engine_work_begin(&workers[i]);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work_on, &workers[i]), 0);
	}
	while (atomic_load(&running) > 0)
		harness_step();
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Whatever is left is due. */
static void
fire_all(void)
{
	atomic_store(&stage, 3);
	for (unsigned int i = 0; i < CNTRS; i++)
		trip_cntr_set(world.cntrs[i], TRIP_CNTR_MAX);
	harness_settle();
}

static _Atomic unsigned int broken;

static void
report(void *arg, const char *sentence)
{
	printf("%s\n", sentence);
}

/* On the home itself, between two of its iterations. */
static void
check_home(struct trip_home *home, uint32_t arg)
{
	atomic_fetch_add(&broken, trip_home_check(home, report, NULL));
}

/* On the home itself: counters become hot soon, and cool as soon as they pause. */
static void
hurry_heat(struct trip_home *home, uint32_t arg)
{
	home->hot.log2 = HOT_LOG2;
}

/* Times that counters became hot; each cooled before it did again. */
static uint64_t
count_heats(void)
{
	uint64_t heats = 0;

	for (uint32_t i = 0; i < harness_domain->engine.n_homes; i++)
		heats += atomic_load(&harness_domain->engine.homes[i]->stats.heated);
	return heats;
}

static void
check_world(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	atomic_store(&stage, 4);
	for (unsigned int i = 0; i < WORKERS; i++)
		for (unsigned int n = 0; n < 1 + HARNESS_NOTES / 32; n++)
			engine_events(&workers[i]);
	for (unsigned int i = 0; i < WORKERS; i++) {
		engine_work_end(&workers[i]);
		engine_poll_end(&workers[i]);
		assert_int_equal(workers[i].errors, 0);
	}
	engine_work_check();
	harness_settle();
	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	assert_int_equal(stats.pending, 0);
	assert_int_equal(stats.scrub_repairs, 0);
	assert_int_equal(stats.events_lost, 0);
	for (uint32_t i = 0; i < harness_domain->engine.n_homes; i++)
		trip_progress_call(harness_domain, harness_domain->engine.homes[i], check_home, 0);
	assert_int_equal(atomic_load(&broken), 0);
}

static void
everything_at_once(void **state)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	uint64_t changes = 0;

	open_world();
	for (uint32_t i = 0; i < harness_domain->engine.n_homes; i++)
		trip_progress_call(harness_domain, harness_domain->engine.homes[i], hurry_heat, 0);
	for (unsigned int i = 0; i < PHASES; i++) {
		atomic_store(&phase, i);
		alarm(PATIENCE_S);
		for (unsigned int c = 0; c < CNTRS; c++)
			trip_cntr_set(world.cntrs[c], below(&workers[0], RANGE));
		engine_waiters_begin();
		engine_chain_begin();
		run_workers();
		atomic_store(&stage, 1);
		engine_chain_end();
		atomic_store(&stage, 2);
		changes += engine_waiters_end(&workers[0]);
		fire_all();
		check_world();
	}
	alarm(0);
	trip_domain_stats_read(harness_domain, &stats);
	printf("%u workers, %u operations each in %u phases: %" PRIu64 " items accepted, %" PRIu64
	       " firings (%" PRIu64 " of the cycle), %" PRIu64 " canceled; waiters saw %" PRIu64
	       " changes; %" PRIu64 " repairs; %" PRIu64 " times hot\n",
		WORKERS, workers[0].ops, PHASES, stats.accepted, stats.fired, world.laps,
		stats.canceled, changes, stats.scrub_repairs, count_heats());
	assert_int_not_equal(count_heats(), 0);
	close_world();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(everything_at_once),
};

int
main(int argc, char **argv)
{
	signal(SIGALRM, tell_hang);
	return harness_main(argc, argv, NULL, tests, 1);
}
