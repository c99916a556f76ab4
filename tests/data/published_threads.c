/* SPDX-License-Identifier: BSD-3-Clause */
/* What a copy of a record holds is of one publication, whoever publishes meanwhile, and though who
 * publishes stops in the middle of one, or for good. */
#include <string.h>

#include <trip_threads.h>

#include "published.h"

#define READERS 3
#define COPIES 200000

/* The words of publication n: each tells which it is. */
static void
fill(_Atomic uint64_t *words, uint64_t n)
{
	for (uint64_t i = 0; i < TRIP_PUBLISHED_WORDS; i++)
		atomic_store_explicit(&words[i], n * (i + 1), memory_order_relaxed);
}

static void
expect(const uint64_t *words, uint64_t n)
{
	for (uint64_t i = 0; i < TRIP_PUBLISHED_WORDS; i++)
		assert_int_equal(words[i], n * (i + 1));
}

static void
what_was_published_last_is_read(void **state)
{
	static struct trip_published published;
	_Atomic uint64_t words[TRIP_PUBLISHED_WORDS];
	uint64_t copy[TRIP_PUBLISHED_WORDS];

	assert_int_equal(trip_published_get(&published, copy), 0);
	expect(copy, 0);
	for (uint64_t n = 1; n <= 3 * TRIP_PUBLISHED_COPIES; n++) {
		fill(words, n);
		trip_published_put(&published, words);
		for (unsigned int again = 0; again < 2; again++) {
			assert_int_equal(trip_published_get(&published, copy), n);
			expect(copy, n);
		}
	}
}

/* It wrote so many words of the next publication, and no number. */
static void
who_dies_while_it_publishes_stops_nobody(void **state)
{
	static struct trip_published published;
	_Atomic uint64_t words[TRIP_PUBLISHED_WORDS];
	uint64_t copy[TRIP_PUBLISHED_WORDS];

	for (uint64_t n = 1; n <= 2 * TRIP_PUBLISHED_COPIES; n++) {
		fill(words, n);
		trip_published_put(&published, words);
		for (uint64_t i = 0; i < TRIP_PUBLISHED_WORDS; i++) {
			atomic_store(&published.copies[(n + 1) % TRIP_PUBLISHED_COPIES].words[i],
				UINT64_MAX);
			assert_int_equal(trip_published_get(&published, copy), n);
			expect(copy, n);
		}
	}
}

/* An attached process writes over it: the writer stays within it, and so do readers. */
static void
a_number_that_is_garbage_leads_nobody_out(void **state)
{
	static const uint64_t garbage[] = {UINT64_MAX, UINT64_MAX - 1, 12345};
	static struct {
		uint64_t before[8];
		struct trip_published published;
		uint64_t behind[8];
	} beside;
	_Atomic uint64_t words[TRIP_PUBLISHED_WORDS];
	uint64_t copy[TRIP_PUBLISHED_WORDS];

	for (unsigned int i = 0; i < 3; i++) {
		atomic_store(&beside.published.number, garbage[i]);
		(void)trip_published_get(&beside.published, copy);
		fill(words, i + 1);
		trip_published_put(&beside.published, words);
		assert_int_equal(trip_published_get(&beside.published, copy), garbage[i] + 1);
		expect(copy, i + 1);
	}
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(beside.before[i] + beside.behind[i], 0);
}

static struct trip_published shared;
static _Atomic bool over;

static void *
publish(void *arg)
{
	_Atomic uint64_t words[TRIP_PUBLISHED_WORDS];
	uint64_t n = 0;

	while (!atomic_load(&over)) {
		fill(words, ++n);
		trip_published_put(&shared, words);
	}
	return NULL;
}

static void *
copy_on(void *arg)
{
	uint64_t copy[TRIP_PUBLISHED_WORDS], last = 0, rounds = trip_test_rounds(COPIES);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t n = trip_published_get(&shared, copy);

		assert_true(n >= last);
		expect(copy, n);
		last = n;
	}
	return NULL;
}

static void
copies_are_whole(void **state)
{
	pthread_t writer, readers[READERS];

	trip_thread_start(&writer, publish, NULL);
	for (unsigned int i = 0; i < READERS; i++)
		trip_thread_start(&readers[i], copy_on, NULL);
	for (unsigned int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	atomic_store(&over, true);
	pthread_join(writer, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_published_last_is_read),
		cmocka_unit_test(who_dies_while_it_publishes_stops_nobody),
		cmocka_unit_test(a_number_that_is_garbage_leads_nobody_out),
		cmocka_unit_test(copies_are_whole),
	};

	trip_threads_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
