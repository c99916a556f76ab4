/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that take indices and give them back: none has two owners, none is lost. */
#include <trip_threads.h>

#include "slots.h"

#define THREADS 4
#define FIRST 1000
#define COUNT 7
#define ROUNDS 200000

static struct trip_slots slots;
static _Atomic uint32_t next[COUNT];
static _Atomic uint32_t owners[COUNT];
static _Atomic uint64_t refused;

static void
in_order(void **state)
{
	trip_slots_init(&slots, next, FIRST, COUNT);
	for (unsigned int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < COUNT; i++)
			assert_int_equal(trip_slots_take(&slots), FIRST + i);
		assert_int_equal(trip_slots_take(&slots), TRIP_SLOTS_NONE);
		trip_slots_give(&slots, FIRST + 3);
		assert_int_equal(trip_slots_take(&slots), FIRST + 3);
		for (uint32_t i = COUNT; i > 0; i--)
			trip_slots_give(&slots, FIRST + i - 1);
	}
	trip_slots_init(&slots, next, 0, 0);
	assert_int_equal(trip_slots_take(&slots), TRIP_SLOTS_NONE);
}

static void
claim(uint32_t index)
{
	trip_assert_range(index, FIRST, FIRST + COUNT - 1);
	assert_int_equal(
		atomic_fetch_add_explicit(&owners[index - FIRST], 1, memory_order_relaxed), 0);
}

static void
give(uint32_t index)
{
	atomic_fetch_sub_explicit(&owners[index - FIRST], 1, memory_order_relaxed);
	trip_slots_give(&slots, index);
}

/* Holds up to three at a time, and gives them back in another order: so the first of the list comes
 * to lie above another one, over and over. */
static void *
take_and_give(void *arg)
{
	struct trip_random random = {(uintptr_t)arg};
	uint32_t held[3] = {TRIP_SLOTS_NONE, TRIP_SLOTS_NONE, TRIP_SLOTS_NONE};
	uint64_t rounds = trip_test_rounds(ROUNDS), none = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		uint32_t *one = &held[trip_random_below(&random, 3)];

		if (*one != TRIP_SLOTS_NONE) {
			give(*one);
			*one = TRIP_SLOTS_NONE;
		} else if ((*one = trip_slots_take(&slots)) != TRIP_SLOTS_NONE) {
			claim(*one);
		} else {
			none++;
		}
	}
	for (unsigned int i = 0; i < 3; i++)
		if (held[i] != TRIP_SLOTS_NONE)
			give(held[i]);
	atomic_fetch_add(&refused, none);
	return NULL;
}

static void
one_owner_each(void **state)
{
	uint64_t seed = trip_test_seed("slots");
	pthread_t threads[THREADS];
	unsigned int left = 0;

	trip_slots_init(&slots, next, FIRST, COUNT);
	for (uintptr_t i = 0; i < THREADS; i++)
		trip_thread_start(&threads[i], take_and_give, (void *)(uintptr_t)(seed + i));
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t index; (index = trip_slots_take(&slots)) != TRIP_SLOTS_NONE; left++)
		claim(index);
	assert_int_equal(left, COUNT);
	printf("none was left %llu times\n", (unsigned long long)atomic_load(&refused));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(one_owner_each),
	};

	trip_threads_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
