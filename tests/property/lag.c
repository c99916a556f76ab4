/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured lag, on a clock of the test: a counter whose cache is refreshed every `period` at
 * any phase, with traffic that pauses, read at the times that the estimate asks for and somewhat
 * later. The bound is never below the period, and comes down to it.
 */
#include "lag.h"
#include "trip_test.h"

#define ASSUMED 1000000
#define NEGLIGIBLE 1000

struct world {
	struct trip_random random;
	uint64_t period, phase;
	/* Packets come until `quiet`, then not before `busy`. */
	uint64_t quiet, busy;
	uint64_t count, now, seen;
};

/* One packet each tick while there is traffic. */
static uint64_t
packets_at(struct world *world, uint64_t now)
{
	if (now < world->quiet)
		return now;
	if (now < world->busy)
		return world->quiet;
	return world->quiet + now - world->busy;
}

static uint64_t
cached_at(struct world *world, uint64_t now)
{
	if (world->period == 0)
		return packets_at(world, now);
	if (now < world->phase)
		return 0;
	return packets_at(world, now - (now - world->phase) % world->period);
}

/* In no time. */
static void
read_at(struct trip_lag *lag, uint64_t now, uint64_t grew)
{
	trip_lag_read(lag, &(struct trip_lag_reading){.began = now, .ended = now, .grew = grew});
}

static uint64_t
measure(struct world *world)
{
	struct trip_lag lag;
	unsigned int readings = 0;

	trip_lag_init(&lag, ASSUMED, NEGLIGIBLE);
	while (!lag.measured) {
		uint64_t gap = trip_lag_gap(&lag), value;

		if (gap < NEGLIGIBLE / 16)
			gap = NEGLIGIBLE / 16;
		world->now += gap + trip_random_below(&world->random, 1 + gap / 4);
		value = cached_at(world, world->now);
		read_at(&lag, world->now, value - world->seen);
		world->seen = value;
		assert_true(lag.bound >= world->period || lag.bound == 0);
		assert_true(lag.bound != 0 || world->period <= NEGLIGIBLE);
		assert_true(++readings < 100000);
	}
	return lag.bound;
}

static void
lag_is_a_bound_that_comes_down(void **state)
{
	struct trip_random random = {trip_test_seed("lag")};
	uint64_t rounds = trip_test_rounds(3000);

	for (uint64_t i = 0; i < rounds; i++) {
		struct world world = {.random = {trip_random_u64(&random)}};
		uint64_t bound;

		world.period = NEGLIGIBLE + trip_random_below(&random, ASSUMED - NEGLIGIBLE);
		world.phase = trip_random_below(&random, world.period);
		world.now = 1 + trip_random_below(&random, ASSUMED);
		world.quiet = trip_random_below(&random, 20 * ASSUMED);
		world.busy = world.quiet + trip_random_below(&random, 20 * ASSUMED);
		bound = measure(&world);
		assert_true(bound <= world.period + world.period / 2 || bound == ASSUMED);
	}
}

static void
lag_of_what_is_never_cached_is_none(void **state)
{
	struct trip_random random = {trip_test_seed("none")};
	uint64_t rounds = trip_test_rounds(3000);

	for (uint64_t i = 0; i < rounds; i++) {
		struct world world = {.random = {trip_random_u64(&random)}, .quiet = UINT64_MAX};

		world.now = 1 + trip_random_below(&random, ASSUMED);
		assert_int_equal(measure(&world), 0);
	}
}

static void
lag_waits_for_traffic(void **state)
{
	struct trip_lag lag;

	trip_lag_init(&lag, ASSUMED, NEGLIGIBLE);
	for (uint64_t now = 1; now < 100 * ASSUMED; now += trip_lag_gap(&lag))
		read_at(&lag, now, 0);
	assert_int_equal(lag.bound, ASSUMED);
	assert_false(lag.measured);
	/* A reading of another counter is no pair with one of this. */
	read_at(&lag, 200 * ASSUMED, 1);
	trip_lag_forget(&lag);
	read_at(&lag, 200 * ASSUMED + 1, 1);
	read_at(&lag, 200 * ASSUMED + 2, 1);
	assert_int_equal(lag.bound, ASSUMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lag_is_a_bound_that_comes_down),
		cmocka_unit_test(lag_of_what_is_never_cached_is_none),
		cmocka_unit_test(lag_waits_for_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
