/* SPDX-License-Identifier: BSD-3-Clause */
/* Adders against the home that arms, and adders against the maximum. */
#include <trip_threads.h>

#include "cell.h"

#define ADDERS 2 /* at most */

static uint64_t seed;

struct stage {
	struct trip_cell cell;
	struct trip_barrier start, end;
	_Atomic unsigned rung;
	_Atomic unsigned done;
	uint64_t rounds;
	unsigned adders;
	uint64_t target; /* what all adders of a round add together */
};

struct actor {
	struct stage *stage;
	struct trip_random rnd;
	pthread_t thread;
	uint64_t added;
};

/* Errors and sets count too: in some rounds the last of the target comes as an error. */
static void *
cross_in_steps(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;
	uint64_t round;

	for (round = 0; round < stage->rounds; round++) {
		uint64_t left, add;

		trip_barrier_wait(&stage->start);
		for (left = stage->target / stage->adders; left > 0; left -= add) {
			bool ring;

			add = 1 + trip_random_below(&actor->rnd, left);
			if (trip_random_below(&actor->rnd, 8) == 0)
				ring = trip_cell_adderr(&stage->cell, add);
			else
				ring = trip_cell_add(&stage->cell, add);
			if (ring)
				atomic_store(&stage->rung, 1);
		}
		trip_barrier_wait(&stage->end);
	}
	return NULL;
}

/* The home arms while they add: in the end one of the two sides has noticed. */
static void
cross(unsigned adders, uint64_t rounds)
{
	struct stage stage = {.adders = adders,
		.rounds = trip_test_rounds(rounds),
		.start.threads = adders + 1,
		.end.threads = adders + 1};
	struct trip_random rnd = {seed};
	struct actor actor[ADDERS];
	uint64_t round;
	unsigned i;

	for (i = 0; i < adders; i++) {
		actor[i] = (struct actor){.stage = &stage, .rnd.state = seed + i + 1};
		trip_thread_start(&actor[i].thread, cross_in_steps, &actor[i]);
	}
	for (round = 0; round < stage.rounds; round++) {
		uint64_t bound, after;
		bool noticed;

		trip_cell_init(&stage.cell);
		atomic_store(&stage.rung, 0);
		stage.target = adders * (1 + trip_random_below(&rnd, 8));
		after = trip_random_below(&rnd, stage.target);
		bound = trip_random_below(&rnd, 2) ? stage.target
						   : 1 + trip_random_below(&rnd, stage.target);
		trip_barrier_wait(&stage.start);
		/* In the middle of their adding: an offset in time would hit it less often. */
		while (trip_cell_sum(&stage.cell) < after)
			;
		noticed = trip_cell_arm(&stage.cell, bound, false);
		trip_barrier_wait(&stage.end);
		assert_true(trip_cell_sum(&stage.cell) == stage.target);
		assert_true(noticed || atomic_load(&stage.rung));
	}
	for (i = 0; i < adders; i++)
		pthread_join(actor[i].thread, NULL);
}

static void
crossings_are_noticed(void **state)
{
	cross(1, 50000); /* fits on two cores, where the two meet within nanoseconds */
	cross(ADDERS, 4000);
}

static bool
change(struct trip_cell *cell, uint64_t round)
{
	uint64_t was;

	switch (round % 3) {
	case 0:
		return trip_cell_adderr(cell, 1);
	case 1:
		return trip_cell_set(cell, 7);
	default:
		return trip_cell_reset(cell, &was);
	}
}

static void *
change_in_rounds(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;
	uint64_t round;

	for (round = 0; round < stage->rounds; round++) {
		trip_barrier_wait(&stage->start);
		if (change(&stage->cell, round))
			atomic_store(&stage->rung, 1);
		trip_barrier_wait(&stage->end);
	}
	return NULL;
}

/* A change of the error value, a set or a reset is rung for, or is in no sample taken before the
 * arming. */
static void
changes_are_noticed(void **state)
{
	struct stage stage = {
		.rounds = trip_test_rounds(20000), .start.threads = 2, .end.threads = 2};
	struct actor actor = {.stage = &stage};
	uint64_t round;

	trip_cell_init(&stage.cell);
	trip_thread_start(&actor.thread, change_in_rounds, &actor);
	for (round = 0; round < stage.rounds; round++) {
		struct trip_cell_sample sample;
		bool noticed;

		atomic_store(&stage.rung, 0);
		trip_cell_arm(&stage.cell, TRIP_CELL_IDLE, false);
		trip_cell_sample(&stage.cell, &sample);
		trip_barrier_wait(&stage.start);
		trip_cell_arm(&stage.cell, TRIP_CELL_IDLE, true);
		noticed = trip_cell_stale(&stage.cell, &sample);
		trip_barrier_wait(&stage.end);
		assert_true(noticed || atomic_load(&stage.rung));
	}
	pthread_join(actor.thread, NULL);
}

static void *
add_to_the_maximum(void *arg)
{
	struct actor *actor = arg;
	struct trip_cell *cell = &actor->stage->cell;
	uint64_t i;

	trip_barrier_wait(&actor->stage->start);
	for (i = 0; i < actor->stage->rounds; i++) {
		uint64_t v = trip_random_u64(&actor->rnd);

		trip_cell_add(cell, v % 64 == 0 ? v : v >> 32);
		if (v % 128 == 1)
			trip_cell_adderr(cell, v >> 1);
	}
	atomic_fetch_add(&actor->stage->done, 1);
	return NULL;
}

/* Nobody ever reads less than before, and in the end it is the maximum. */
static void
maximum_is_never_passed(void **state)
{
	struct stage stage = {.rounds = trip_test_rounds(200000), .start.threads = 4};
	struct actor actor[3];
	uint64_t success = TRIP_CNTR_MAX - (UINT64_C(1) << 40), error = 0, now;
	unsigned i, all;

	trip_cell_init(&stage.cell);
	trip_cell_set(&stage.cell, success);
	for (i = 0; i < 3; i++) {
		actor[i] = (struct actor){.stage = &stage, .rnd.state = seed + 10 + i};
		trip_thread_start(&actor[i].thread, add_to_the_maximum, &actor[i]);
	}
	trip_barrier_wait(&stage.start);
	do {
		all = atomic_load(&stage.done);
		now = trip_cell_success(&stage.cell);
		assert_true(now >= success && now <= TRIP_CNTR_MAX);
		success = now;
		now = trip_cell_error(&stage.cell);
		assert_true(now >= error && now <= TRIP_CNTR_MAX);
		error = now;
	} while (all < 3);
	for (i = 0; i < 3; i++)
		pthread_join(actor[i].thread, NULL);
	assert_true(trip_cell_success(&stage.cell) == TRIP_CNTR_MAX);
	assert_null(trip_cell_check(&stage.cell));
}

static void *
add_ones(void *arg)
{
	struct actor *actor = arg;
	uint64_t i;

	for (i = 0; i < actor->stage->rounds; i++)
		trip_cell_add(&actor->stage->cell, i % 2 ? 1 : UINT64_C(1) << 32);
	return NULL;
}

static void
no_add_is_lost(void **state)
{
	struct stage stage = {.rounds = trip_test_rounds(200000)};
	struct actor actor[3];
	uint64_t rounds = stage.rounds;
	unsigned i;

	trip_cell_init(&stage.cell);
	for (i = 0; i < 3; i++) {
		actor[i].stage = &stage;
		trip_thread_start(&actor[i].thread, add_ones, &actor[i]);
	}
	for (i = 0; i < 3; i++)
		pthread_join(actor[i].thread, NULL);
	assert_true(trip_cell_success(&stage.cell) == 3 * (rounds / 2 + ((rounds + 1) / 2 << 32)));
}

static void *
add_until_done(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;
	uint64_t added = 0;

	trip_barrier_wait(&stage->start);
	while (atomic_load(&stage->done) == 0)
		for (uint64_t i = 0; i < 64; i++, added++)
			trip_cell_add(&stage->cell, 1);
	actor->added = added;
	return NULL;
}

/* Each is in what a reset takes out, or in what is there in the end. */
static void
no_add_is_lost_by_resets(void **state)
{
	struct stage stage = {.rounds = trip_test_rounds(200000), .start.threads = ADDERS + 1};
	struct actor actor[ADDERS];
	uint64_t taken = 0, added = 0, was;
	unsigned i;

	trip_cell_init(&stage.cell);
	for (i = 0; i < ADDERS; i++) {
		actor[i].stage = &stage;
		trip_thread_start(&actor[i].thread, add_until_done, &actor[i]);
	}
	trip_barrier_wait(&stage.start);
	for (uint64_t round = 0; round < stage.rounds; round++) {
		trip_cell_reset(&stage.cell, &was);
		taken += was;
	}
	atomic_store(&stage.done, 1);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(actor[i].thread, NULL);
		added += actor[i].added;
	}
	assert_true(taken + trip_cell_success(&stage.cell) == added);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crossings_are_noticed),
		cmocka_unit_test(changes_are_noticed),
		cmocka_unit_test(maximum_is_never_passed),
		cmocka_unit_test(no_add_is_lost),
		cmocka_unit_test(no_add_is_lost_by_resets),
	};

	trip_threads_prepare();
	seed = trip_test_seed("stress cell");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
