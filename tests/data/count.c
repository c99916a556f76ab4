/* SPDX-License-Identifier: BSD-3-Clause */
/* Budgets split over sources: a sum that reaches the threshold rings in that burst, not later. */
#include "count.h"
#include "trip_test.h"

#define SOURCES_MAX 20
/* A tsc whose moment is n. */
#define MOMENT(n) ((uint64_t)(n) << TRIP_COUNT_MOMENT_SHIFT)

struct home {
	struct trip_count counts[SOURCES_MAX];
	struct trip_count_folded folded[SOURCES_MAX];
	uint32_t sources;
	uint64_t threshold;
	uint64_t sum; /* folded */
};

static uint64_t
sum_of(const struct home *home)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < home->sources; i++)
		sum += atomic_load(&home->counts[i].packets);
	return sum;
}

/* Fold and hand out what is left; true when the threshold is there. */
static bool
split(struct home *home)
{
	uint64_t remaining, share;
	uint32_t i;

	for (i = 0; i < home->sources; i++)
		home->sum += trip_count_fold(
			&home->counts[i], &home->folded[i], TRIP_COUNT_KIND_PACKETS);
	assert_int_equal(home->sum, sum_of(home));
	if (home->sum >= home->threshold)
		return true;
	remaining = home->threshold - home->sum;
	share = trip_count_share(remaining, home->sources);
	assert_true(share * home->sources >= remaining &&
		    share * home->sources <= remaining + home->sources - 1);
	for (i = 0; i < home->sources; i++)
		assert_false(trip_count_budget(
			&home->counts[i], &home->folded[i], TRIP_COUNT_KIND_PACKETS, share));
	return false;
}

static void
run_to_threshold(struct trip_random *random)
{
	struct home home = {.sources = 1 + (uint32_t)trip_random_below(random, SOURCES_MAX),
		.threshold = 1 + trip_random_below(random, 1 + trip_random_below(random, 100000))};
	uint64_t burst_max = 1 + trip_random_below(random, 64);
	uint32_t i;
	bool done;

	for (i = 0; i < home.sources; i++)
		trip_count_init(&home.counts[i]);
	done = split(&home);
	while (!done) {
		struct trip_count *count = &home.counts[trip_random_below(random, home.sources)];

		trip_count_add(count, 1 + trip_random_below(random, burst_max), 0);
		trip_count_fence();
		if (trip_count_reached(count) != 0)
			done = split(&home);
		/* No ring: then it is not there. */
		else
			assert_true(sum_of(&home) < home.threshold);
	}
	assert_true(sum_of(&home) < home.threshold + burst_max);
}

static void
count_rings_in_the_burst_that_reaches(void **state)
{
	struct trip_random random = {trip_test_seed("count_rings_in_the_burst_that_reaches")};
	uint64_t round, rounds = trip_test_rounds(1000);

	for (round = 0; round < rounds; round++)
		run_to_threshold(&random);
}

static void
count_shares_are_exact_at_the_edges(void **state)
{
	assert_int_equal(trip_count_share(1, 1), 1);
	assert_int_equal(trip_count_share(1, 1000), 1);
	assert_int_equal(trip_count_share(10, 3), 4);
	assert_int_equal(trip_count_share(9, 3), 3);
	assert_int_equal(trip_count_share(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(trip_count_share(UINT64_MAX, 2), UINT64_C(1) << 63);
}

static void
count_keeps_the_first_crossing_of_each_kind(void **state)
{
	struct trip_count_moments moments = {0};
	struct trip_count_folded folded = {0};
	struct trip_count count;

	trip_count_init(&count);
	assert_int_equal(trip_count_reached(&count), 0);
	assert_int_equal(trip_count_take(&moments, TRIP_COUNT_KIND_PACKETS, MOMENT(1)), 0);
	trip_count_add(&count, 3, 180);
	assert_false(trip_count_budget(&count, &folded, TRIP_COUNT_KIND_PACKETS, 4));
	assert_true(trip_count_budget(&count, &folded, TRIP_COUNT_KIND_BYTES, 180));
	assert_int_equal(trip_count_reached(&count), TRIP_COUNT_BYTES);
	trip_count_cross(&moments, TRIP_COUNT_BYTES, MOMENT(10));
	trip_count_cross(&moments, TRIP_COUNT_BYTES | TRIP_COUNT_PACKETS, MOMENT(20) + 1);
	assert_int_equal(
		trip_count_take(&moments, TRIP_COUNT_KIND_PACKETS, MOMENT(21)), MOMENT(20));
	assert_int_equal(trip_count_take(&moments, TRIP_COUNT_KIND_BYTES, MOMENT(10)), MOMENT(10));
	assert_int_equal(trip_count_take(&moments, TRIP_COUNT_KIND_BYTES, MOMENT(30)), 0);
	/* What is kept of a moment has turned over since. */
	trip_count_cross(&moments, TRIP_COUNT_BYTES, MOMENT((UINT64_C(1) << 40) - 5));
	assert_int_equal(trip_count_take(&moments, TRIP_COUNT_KIND_BYTES,
				 MOMENT((UINT64_C(1) << 40) + 7) + 3),
		MOMENT((UINT64_C(1) << 40) - 5));
	/* It came after the home's look at the clock. */
	trip_count_cross(&moments, TRIP_COUNT_BYTES, MOMENT(40));
	assert_int_equal(trip_count_take(&moments, TRIP_COUNT_KIND_BYTES, MOMENT(39)), MOMENT(39));
	/* 0 is no time. */
	trip_count_cross(&moments, TRIP_COUNT_BYTES, 0);
	assert_int_equal(trip_count_take(&moments, TRIP_COUNT_KIND_BYTES, MOMENT(2)), MOMENT(1));
}

static void
count_budgets_stand_on_what_was_folded(void **state)
{
	struct trip_count_folded folded = {0};
	struct trip_count count;

	trip_count_init(&count);
	trip_count_add(&count, 5, 500);
	assert_int_equal(trip_count_fold(&count, &folded, TRIP_COUNT_KIND_PACKETS), 5);
	assert_int_equal(trip_count_fold(&count, &folded, TRIP_COUNT_KIND_PACKETS), 0);
	assert_false(trip_count_budget(&count, &folded, TRIP_COUNT_KIND_PACKETS, 1));
	trip_count_add(&count, 1, 100);
	assert_int_equal(trip_count_reached(&count), TRIP_COUNT_PACKETS);
	/* A share beyond what can be counted is none. */
	assert_false(trip_count_budget(&count, &folded, TRIP_COUNT_KIND_PACKETS, UINT64_MAX - 5));
	assert_int_equal(trip_count_reached(&count), 0);
	assert_false(
		trip_count_budget(&count, &folded, TRIP_COUNT_KIND_BYTES, TRIP_COUNT_NO_LIMIT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count_rings_in_the_burst_that_reaches),
		cmocka_unit_test(count_shares_are_exact_at_the_edges),
		cmocka_unit_test(count_keeps_the_first_crossing_of_each_kind),
		cmocka_unit_test(count_budgets_stand_on_what_was_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
