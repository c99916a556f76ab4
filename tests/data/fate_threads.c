/* SPDX-License-Identifier: BSD-3-Clause */
/* A flow drops for as long as anything says so, and its action word comes to say the same, whoever
 * changes it at once. */
#include <sched.h>

#include <trip_threads.h>

#include "fate.h"

#define DROP 2
#define OTHERS 5
#define THREADS 2
#define ROUNDS 20000

static _Atomic uint64_t fate;
static _Atomic uint8_t action;

static int
each_state(void **state)
{
	atomic_store(&fate, 0);
	atomic_store(&action, OTHERS);
	return 0;
}

static void
data_10_a_hold_ends_for_itself(void **state)
{
	uint64_t first = trip_fate_hold(&fate), second = trip_fate_hold(&fate);

	assert_true(trip_fate_drops(&fate));
	trip_fate_release(&fate, first);
	assert_true(trip_fate_drops(&fate) && trip_fate_holds(&fate, second));
	trip_fate_release(&fate, second);
	assert_false(trip_fate_drops(&fate));
	assert_false(trip_fate_holds(&fate, 0));
}

static void
data_10_a_drop_is_for_ever(void **state)
{
	uint64_t hold = trip_fate_hold(&fate);

	trip_fate_drop(&fate);
	trip_fate_release(&fate, hold);
	assert_true(trip_fate_drops(&fate));
	hold = trip_fate_hold(&fate);
	trip_fate_release(&fate, hold);
	assert_true(trip_fate_drops(&fate));
	trip_fate_pass(&fate);
	assert_false(trip_fate_drops(&fate));
}

static void
data_10_what_a_pass_has_ended_ends_nothing(void **state)
{
	uint64_t hold = trip_fate_hold(&fate), later;

	trip_fate_pass(&fate);
	assert_false(trip_fate_drops(&fate) || trip_fate_holds(&fate, hold));
	later = trip_fate_hold(&fate);
	trip_fate_release(&fate, hold);
	assert_true(trip_fate_drops(&fate) && trip_fate_holds(&fate, later));
	/* The next flow of this number. */
	trip_fate_begin(&fate, true);
	trip_fate_release(&fate, later);
	assert_true(trip_fate_drops(&fate));
	trip_fate_begin(&fate, false);
	assert_false(trip_fate_drops(&fate));
}

static _Atomic uint64_t arrived;

/* By spinning: who is woken comes too late to be beside another. */
static void
meet(uint64_t nth)
{
	atomic_fetch_add(&arrived, 1);
	for (unsigned int spins = 1; atomic_load(&arrived) < nth * THREADS; spins++)
		if (spins % 1024 == 0)
			sched_yield();
}

/* Each begins a hold, ends its own, or passes; and then sees to it that the flow obeys. How often
 * it did not, when all had. */
static void *
change_and_obey(void *arg)
{
	struct trip_random random = {(uintptr_t)arg};
	uint64_t rounds = trip_test_rounds(ROUNDS), hold = 0, wrong = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		if (trip_random_below(&random, 8) == 0) {
			trip_fate_pass(&fate);
		} else if (hold == 0) {
			hold = trip_fate_hold(&fate);
		} else {
			trip_fate_release(&fate, hold);
			hold = 0;
		}
		trip_fate_obey(&fate, &action, DROP);
		meet(2 * i + 1);
		wrong += atomic_load(&action) != (trip_fate_drops(&fate) ? OTHERS | DROP : OTHERS);
		/* None changes it before all have looked. */
		meet(2 * i + 2);
	}
	return (void *)(uintptr_t)wrong;
}

static void
data_10_who_obeys_last_says_what_holds(void **state)
{
	uint64_t seed = trip_test_seed("fate");
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		trip_thread_start(&threads[i], change_and_obey, (void *)(uintptr_t)(seed + i));
	for (unsigned int i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(data_10_a_hold_ends_for_itself, each_state),
		cmocka_unit_test_setup(data_10_a_drop_is_for_ever, each_state),
		cmocka_unit_test_setup(data_10_what_a_pass_has_ended_ends_nothing, each_state),
		cmocka_unit_test_setup(data_10_who_obeys_last_says_what_holds, each_state),
	};

	trip_threads_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
