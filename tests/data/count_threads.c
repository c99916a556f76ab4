/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues that count and a home that splits, on threads of their own: once all have stopped, a
 * threshold that the sum has reached has been noticed, with no ring outstanding. Every wake that
 * the protocol of count.h could lose would leave the home asleep here.
 */
#include <pthread.h>
#include <sched.h>

#include "count.h"
#include "trip_test.h"

#define QUEUES 3
#define BURSTS 4000
#define BURST_MAX 32

struct world {
	struct trip_count counts[QUEUES];
	struct trip_count_moments moments[QUEUES];
	struct trip_count_folded folded[QUEUES];
	_Atomic bool bell;
	_Atomic uint32_t running;
	uint64_t threshold;
	uint64_t sum; /* folded */
	uint64_t crossings;
	uint64_t step;
};

struct queue {
	struct world *world;
	struct trip_count *count;
	struct trip_count_moments *moments;
	struct trip_random random;
};

static void *
run_queue(void *arg)
{
	struct queue *queue = arg;
	uint32_t i;

	for (i = 0; i < BURSTS; i++) {
		trip_count_add(queue->count, 1 + trip_random_below(&queue->random, BURST_MAX), 0);
		trip_count_fence();
		if (trip_count_reached(queue->count) != 0) {
			trip_count_cross(queue->moments, TRIP_COUNT_PACKETS, i + 1);
			atomic_store(&queue->world->bell, true);
		}
	}
	atomic_fetch_sub(&queue->world->running, 1);
	return NULL;
}

/* Fire what is due and hand out the rest; again where a source got there meanwhile. */
static void
serve(struct world *world)
{
	uint64_t share;
	uint32_t i;
	bool there;

	do {
		for (i = 0; i < QUEUES; i++)
			world->sum += trip_count_fold(
				&world->counts[i], &world->folded[i], TRIP_COUNT_KIND_PACKETS);
		while (world->threshold <= world->sum) {
			world->crossings++;
			world->threshold += world->step;
		}
		share = trip_count_share(world->threshold - world->sum, QUEUES);
		for (i = 0, there = false; i < QUEUES; i++)
			there |= trip_count_budget(&world->counts[i], &world->folded[i],
				TRIP_COUNT_KIND_PACKETS, share);
	} while (there);
}

static void
one_race(struct trip_random *random)
{
	struct world world = {.step = 1 + trip_random_below(random, 20000)};
	struct queue queues[QUEUES];
	pthread_t threads[QUEUES];
	uint64_t sum = 0;
	uint32_t i;

	world.threshold = world.step;
	atomic_store(&world.running, QUEUES);
	for (i = 0; i < QUEUES; i++)
		trip_count_init(&world.counts[i]);
	serve(&world);
	for (i = 0; i < QUEUES; i++) {
		queues[i] = (struct queue){
			&world, &world.counts[i], &world.moments[i], {trip_random_u64(random)}};
		assert_int_equal(pthread_create(&threads[i], NULL, run_queue, &queues[i]), 0);
	}
	/* Sleeps unless rung, as far as the budgets go. */
	while (atomic_load(&world.running) > 0)
		if (atomic_exchange(&world.bell, false))
			serve(&world);
	for (i = 0; i < QUEUES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	if (atomic_exchange(&world.bell, false))
		serve(&world);
	for (i = 0; i < QUEUES; i++)
		sum += trip_count_read(&world.counts[i], TRIP_COUNT_KIND_PACKETS);
	assert_int_equal(world.crossings, sum / world.step);
}

static void
count_loses_no_crossing(void **state)
{
	struct trip_random random = {trip_test_seed("count_loses_no_crossing")};
	uint64_t round, rounds = trip_test_rounds(100);

	for (round = 0; round < rounds; round++)
		one_race(&random);
}

/*
 * One burst against one budget, at about the same moment: at least one side must see the other.
 * Both first hold the line shared, so that both stores wait for it while the loads behind them
 * could go ahead; the home's delay walks over the time that a start takes to arrive.
 */
struct litmus {
	struct trip_count count;
	struct trip_count_folded folded;
	_Alignas(64) _Atomic uint64_t ready;
	_Alignas(64) _Atomic uint64_t start;
	_Alignas(64) _Atomic uint64_t done;
	_Alignas(64) _Atomic uint64_t reset;
	uint64_t rounds;
	bool rang;
};

static void
await(_Atomic uint64_t *word, uint64_t value)
{
	uint32_t spins = 0;

	/* Yields only after a while: both sides should be running when a round starts. */
	while (atomic_load_explicit(word, memory_order_acquire) < value)
		if (++spins % 10000 == 0)
			sched_yield();
}

static void *
run_litmus(void *arg)
{
	struct litmus *litmus = arg;
	uint64_t round;

	for (round = 1; round <= litmus->rounds; round++) {
		(void)trip_count_reached(&litmus->count);
		atomic_store(&litmus->ready, round);
		await(&litmus->start, round);
		trip_count_add(&litmus->count, 1, 0);
		trip_count_fence();
		litmus->rang = trip_count_reached(&litmus->count) != 0;
		atomic_store_explicit(&litmus->done, round, memory_order_release);
		await(&litmus->reset, round);
	}
	return NULL;
}

static void
count_burst_and_budget_see_each_other(void **state)
{
	struct litmus litmus = {.rounds = trip_test_rounds(100000)};
	_Atomic uint32_t delay;
	uint64_t round;
	pthread_t thread;
	bool there;

	trip_count_init(&litmus.count);
	assert_int_equal(pthread_create(&thread, NULL, run_litmus, &litmus), 0);
	for (round = 1; round <= litmus.rounds; round++) {
		await(&litmus.ready, round);
		(void)trip_count_reached(&litmus.count);
		atomic_store(&litmus.start, round);
		for (atomic_init(&delay, 0); delay < round % 64; delay++)
			;
		there = trip_count_budget(
			&litmus.count, &litmus.folded, TRIP_COUNT_KIND_PACKETS, round);
		await(&litmus.done, round);
		if (!there && !litmus.rang)
			fail_msg("round %llu: neither saw the other", (unsigned long long)round);
		trip_count_budget(&litmus.count, &litmus.folded, TRIP_COUNT_KIND_PACKETS,
			TRIP_COUNT_NO_LIMIT);
		atomic_store(&litmus.reset, round);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count_loses_no_crossing),
		cmocka_unit_test(count_burst_and_budget_see_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
