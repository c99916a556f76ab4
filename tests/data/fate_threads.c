/* SPDX-License-Identifier: BSD-3-Clause */
/* A flow drops for as long as anything says so, and its action word comes to say the same, whoever
 * changes it at once. */
#include <trip_threads.h>

#include "fate.h"

#define DROP 2
#define OTHERS 5
#define THREADS 4
#define ROUNDS 100000

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

static void *
hold_and_release(void *arg)
{
	struct trip_random random = {(uintptr_t)arg};
	uint64_t rounds = trip_test_rounds(ROUNDS), hold = 0;

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
	}
	if (hold != 0)
		trip_fate_release(&fate, hold);
	trip_fate_obey(&fate, &action, DROP);
	return NULL;
}

static void
data_10_who_obeys_last_says_what_holds(void **state)
{
	uint64_t seed = trip_test_seed("fate");
	pthread_t threads[THREADS];

	for (unsigned int round = 0; round < 2; round++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			trip_thread_start(
				&threads[i], hold_and_release, (void *)(uintptr_t)(seed + i));
		for (unsigned int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_false(trip_fate_drops(&fate));
		assert_int_equal(atomic_load(&action), OTHERS);
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
