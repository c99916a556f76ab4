/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured lag, on a clock of the test: a counter whose cache is refreshed every `period` at
 * any phase, with traffic that pauses, read at the times that the estimate asks for and somewhat
 * later. A reading is held up now and then, before the counter is asked and after that. The bound
 * is never below the period, comes down to it, and follows where the period changes.
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
	/* One reading in so many is held up; 0: none. */
	uint64_t holds;
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
hold_up(struct world *world)
{
	return world->holds != 0 && trip_random_below(&world->random, world->holds) == 0
		       ? trip_random_below(&world->random, ASSUMED)
		       : 0;
}

/* When the estimate asks for it. */
static void
read_next(struct world *world, struct trip_lag *lag)
{
	uint64_t gap = trip_lag_gap(lag), value;
	struct trip_lag_reading reading;

	if (gap < NEGLIGIBLE / 16)
		gap = NEGLIGIBLE / 16;
	world->now += gap + trip_random_below(&world->random, 1 + gap / 4);
	reading.began = world->now;
	world->now += hold_up(world);
	value = cached_at(world, world->now);
	world->now += hold_up(world);
	reading.ended = world->now;
	reading.grew = value - world->seen;
	world->seen = value;
	trip_lag_read(lag, &reading);
}

static uint64_t
measure(struct world *world)
{
	struct trip_lag lag;
	unsigned int readings = 0;

	trip_lag_init(&lag, ASSUMED, NEGLIGIBLE);
	while (!lag.measured) {
		read_next(world, &lag);
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
lag_is_a_bound_of_readings_that_are_held_up(void **state)
{
	struct trip_random random = {trip_test_seed("held up")};
	uint64_t rounds = trip_test_rounds(3000);

	for (uint64_t i = 0; i < rounds; i++) {
		struct world world = {
			.random = {trip_random_u64(&random)}, .quiet = UINT64_MAX, .holds = 8};

		world.period = NEGLIGIBLE + trip_random_below(&random, ASSUMED - NEGLIGIBLE);
		world.phase = trip_random_below(&random, world.period);
		world.now = 1 + trip_random_below(&random, ASSUMED);
		/* As it comes down. */
		(void)measure(&world);
	}
}

/* Under traffic, in some measurements; what is read less often than it is refreshed changes at each
 * reading. */
static void
lag_follows_the_period(void **state)
{
	struct trip_random random = {trip_test_seed("follows")};
	uint64_t rounds = trip_test_rounds(300);

	for (uint64_t i = 0; i < rounds; i++) {
		struct world world = {.random = {trip_random_u64(&random)}, .quiet = UINT64_MAX};
		struct trip_lag lag;

		trip_lag_init(&lag, ASSUMED, NEGLIGIBLE);
		world.now = 1;
		for (unsigned int change = 0; change < 4; change++) {
			uint64_t until = world.now + 300 * ASSUMED;

			world.period = 2 * NEGLIGIBLE +
				       trip_random_below(&random, ASSUMED - 2 * NEGLIGIBLE);
			while (world.now < until)
				read_next(&world, &lag);
			trip_assert_range(lag.bound, world.period, 2 * world.period);
		}
	}
}

/* Packets one by one say nothing of a cache. */
static void
lag_is_not_raised_by_a_trickle(void **state)
{
	struct world world = {.random = {1}, .quiet = UINT64_MAX};
	struct trip_lag lag;

	trip_lag_init(&lag, ASSUMED, NEGLIGIBLE);
	world.now = 1;
	while (!lag.measured)
		read_next(&world, &lag);
	assert_int_equal(lag.bound, 0);
	for (unsigned int i = 0; i < 10000; i++) {
		world.now += ASSUMED / 16;
		read_at(&lag, world.now, i % 6 == 0);
		assert_int_equal(lag.bound, 0);
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
		cmocka_unit_test(lag_is_a_bound_of_readings_that_are_held_up),
		cmocka_unit_test(lag_follows_the_period),
		cmocka_unit_test(lag_is_not_raised_by_a_trickle),
		cmocka_unit_test(lag_of_what_is_never_cached_is_none),
		cmocka_unit_test(lag_waits_for_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
