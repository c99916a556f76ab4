/* SPDX-License-Identifier: BSD-3-Clause */
/* The horizon against a list that is searched: what is due first, whatever was put and removed; and
 * its forecasts against flows whose rates are known. */
#include <stdbool.h>

#include "horizon.h"
#include "trip_test.h"

#define FLOWS 40

struct naive {
	bool there[FLOWS];
	uint64_t due[FLOWS];
};

static uint64_t
earliest(const struct naive *naive)
{
	uint64_t due = UINT64_MAX;

	for (uint32_t i = 0; i < FLOWS; i++)
		if (naive->there[i] && naive->due[i] < due)
			due = naive->due[i];
	return due;
}

static void
step(struct trip_horizon *horizon, struct naive *naive, struct trip_random *random)
{
	uint32_t flow = (uint32_t)trip_random_below(random, FLOWS), first;
	uint64_t due = 0;

	if (trip_random_below(random, 3) == 0) {
		trip_horizon_remove(horizon, flow);
		naive->there[flow] = false;
	} else {
		due = trip_random_below(random, 100);
		trip_horizon_put(horizon, flow, due);
		naive->there[flow] = true;
		naive->due[flow] = due;
	}
	if (trip_horizon_check(horizon) != NULL)
		fail_msg("broken: %s", trip_horizon_check(horizon));
	first = trip_horizon_first(horizon, &due);
	if (first == TRIP_HORIZON_NONE) {
		assert_int_equal(earliest(naive), UINT64_MAX);
		return;
	}
	assert_true(naive->there[first]);
	assert_int_equal(naive->due[first], due);
	assert_int_equal(due, earliest(naive));
}

static void
horizon_is_a_list_that_is_sorted(void **state)
{
	struct trip_random random = {trip_test_seed("horizon")};
	uint64_t rounds = trip_test_rounds(20000);
	struct trip_horizon horizon;
	struct naive naive = {0};
	void *memory = malloc(trip_horizon_size(FLOWS));

	assert_non_null(memory);
	trip_horizon_init(&horizon, memory, FLOWS);
	for (uint64_t i = 0; i < rounds; i++)
		step(&horizon, &naive, &random);
	free(memory);
}

/* All are late all the time: each is asked nevertheless, the hasty ones more often. */
static void
horizon_starves_nobody(void **state)
{
	struct trip_horizon horizon;
	uint64_t asked[FLOWS] = {0}, due = 0;
	void *memory = malloc(trip_horizon_size(FLOWS));

	assert_non_null(memory);
	trip_horizon_init(&horizon, memory, FLOWS);
	for (uint32_t i = 0; i < FLOWS; i++)
		trip_horizon_put(&horizon, i, 0);
	/* Asking takes 10, half the flows want it after 16, the others after 256. */
	for (uint64_t now = 0; now < 1000000; now += 10) {
		uint32_t flow = trip_horizon_first(&horizon, &due);

		asked[flow]++;
		trip_horizon_put(&horizon, flow, now + (flow < FLOWS / 2 ? 16 : 256));
	}
	for (uint32_t i = 0; i < FLOWS; i++)
		assert_true(asked[i] > 1000000 / 10 / FLOWS / 4);
	assert_true(asked[0] > asked[FLOWS - 1]);
	free(memory);
}

/* A steady flow is asked ever sooner, and found no more than a gap behind its limit. */
static void
horizon_finds_a_crossing(void **state)
{
	struct trip_random random = {trip_test_seed("crossing")};
	const uint64_t period = 1000000, gap = 100;
	uint64_t rounds = trip_test_rounds(2000);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t rate = 1 + trip_random_below(&random, 1000), n = 0, asked = 0;
		uint64_t limit = rate * (2 * period + trip_random_below(&random, 100 * period));
		uint64_t now = 0, until = period;

		while (n < limit) {
			struct trip_horizon_view view;

			now += until;
			view = (struct trip_horizon_view){
				.took = until,
				.grew = rate * now - n,
				.left = limit > rate * now ? limit - rate * now : 0,
			};
			n = rate * now;
			until = trip_horizon_until(&view, period, gap);
			assert_true(until >= gap && until <= period);
			asked++;
		}
		/* At the halves of what is left, from a period down to a gap. */
		assert_true(n - limit <= rate * (gap + 1));
		assert_true(asked <= limit / rate / period + 16);
	}
}

static void
horizon_asks_nobody_in_vain(void **state)
{
	struct trip_horizon_view view = {.took = 1000, .grew = 5, .left = UINT64_MAX};

	assert_int_equal(trip_horizon_until(&view, 1000, 10), 1000);
	view = (struct trip_horizon_view){.took = 1000, .grew = 0, .left = 1};
	assert_int_equal(trip_horizon_until(&view, 1000, 10), 1000);
	view = (struct trip_horizon_view){.took = 1000, .grew = UINT64_MAX / 2, .left = 0};
	assert_int_equal(trip_horizon_until(&view, 1000, 10), 10);
	/* A gap that is longer than the period is the period. */
	assert_int_equal(trip_horizon_until(&view, 1000, 2000), 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(horizon_is_a_list_that_is_sorted),
		cmocka_unit_test(horizon_starves_nobody),
		cmocka_unit_test(horizon_finds_a_crossing),
		cmocka_unit_test(horizon_asks_nobody_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
