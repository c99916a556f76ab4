/* SPDX-License-Identifier: BSD-3-Clause */
/* A spread has each value in one bucket, that of its size, and its quantiles are those of a sorted
 * list, to a bucket's width. */
#include <stdlib.h>
#include <string.h>

#include <trip_test.h>

#include "spread.h"

#define VALUES 5000

static struct trip_spread spread;

static void
copy_anew(struct trip_spread_copy *copy)
{
	memset(copy, 0, sizeof(*copy));
	trip_spread_copy(&spread, copy);
}

/* Buckets follow each other without a gap, from 0 to the largest number. */
static void
each_value_is_in_one_bucket(void **state)
{
	for (unsigned int i = 0; i < TRIP_SPREAD_BUCKETS; i++) {
		uint64_t top = trip_spread_top(i), bottom = i == 0 ? 0 : trip_spread_top(i - 1) + 1;

		assert_true(bottom <= top);
		assert_int_equal(trip_spread_bucket(bottom), i);
		assert_int_equal(trip_spread_bucket(top), i);
		assert_true((top - bottom) <= bottom / 8);
	}
	assert_int_equal(trip_spread_top(TRIP_SPREAD_BUCKETS - 1), UINT64_MAX);
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
expect_quantiles(const struct trip_spread_copy *copy, const uint64_t *sorted, uint64_t n)
{
	static const unsigned int permilles[] = {1, 500, 900, 990, 999, 1000};

	for (unsigned int i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		uint64_t at = (n * permilles[i] + 999) / 1000, value = sorted[at > 0 ? at - 1 : 0];

		assert_int_equal(trip_spread_quantile(copy, permilles[i]),
			trip_spread_top(trip_spread_bucket(value)));
	}
}

static void
quantiles_are_those_of_a_sorted_list(void **state)
{
	static uint64_t sorted[VALUES];
	struct trip_spread_copy copy;
	uint64_t sum = 0;

	memset(&spread, 0, sizeof(spread));
	copy_anew(&copy);
	assert_int_equal(trip_spread_count(&copy), 0);
	assert_int_equal(trip_spread_quantile(&copy, 500), 0);
	srand48(27);
	for (unsigned int i = 0; i < VALUES; i++) {
		sorted[i] = ((uint64_t)mrand48() << 32 ^ (uint64_t)mrand48()) >>
			    (unsigned int)lrand48() % 64;
		sum += sorted[i];
		trip_spread_add(&spread, sorted[i], 1);
	}
	qsort(sorted, VALUES, sizeof(sorted[0]), compare);
	copy_anew(&copy);
	assert_int_equal(trip_spread_count(&copy), VALUES);
	assert_int_equal(copy.sum, sum);
	expect_quantiles(&copy, sorted, VALUES);
}

static void
one_is_all_of_its_quantiles(void **state)
{
	struct trip_spread_copy copy;

	memset(&spread, 0, sizeof(spread));
	trip_spread_add(&spread, 5, 1);
	copy_anew(&copy);
	for (unsigned int permille = 1; permille <= 1000; permille++)
		assert_int_equal(trip_spread_quantile(&copy, permille), 5);
	trip_spread_add(&spread, 1000, 998);
	trip_spread_add(&spread, UINT64_MAX, 1);
	copy_anew(&copy);
	assert_int_equal(trip_spread_count(&copy), 1000);
	assert_int_equal(trip_spread_quantile(&copy, 1), 5);
	assert_int_equal(
		trip_spread_quantile(&copy, 999), trip_spread_top(trip_spread_bucket(1000)));
	assert_int_equal(trip_spread_quantile(&copy, 1000), UINT64_MAX);
}

/* Of several homes. */
static void
a_copy_adds_to_what_it_has(void **state)
{
	struct trip_spread_copy copy;

	memset(&spread, 0, sizeof(spread));
	trip_spread_add(&spread, 7, 3);
	copy_anew(&copy);
	trip_spread_copy(&spread, &copy);
	assert_int_equal(trip_spread_count(&copy), 6);
	assert_int_equal(copy.sum, 42);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_is_in_one_bucket),
		cmocka_unit_test(quantiles_are_those_of_a_sorted_list),
		cmocka_unit_test(one_is_all_of_its_quantiles),
		cmocka_unit_test(a_copy_adds_to_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
