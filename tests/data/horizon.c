/* SPDX-License-Identifier: BSD-3-Clause */
/* The horizon against a list that is searched and against readings by hand; and what it promises,
 * in the simulation that trip-bench measures it in. */
#include <stdbool.h>

#include "horizon.h"
#include "horizon_sim.h"
#include "trip_test.h"

#define FLOWS 40

static const struct trip_horizon_view nobody = {.limit = TRIP_COUNT_NO_LIMIT};

static void *
horizon_open(struct trip_horizon *horizon, uint32_t n_flows)
{
	void *memory = malloc(trip_horizon_size(n_flows));

	assert_non_null(memory);
	trip_horizon_init(horizon, memory, n_flows);
	return memory;
}

/* NULL, or what is broken. */
static const char *
check_queue(const struct trip_horizon_queue *queue, uint32_t n_flows)
{
	uint32_t placed = 0;

	for (uint32_t i = 0; i < n_flows; i++)
		placed += queue->place[i] != TRIP_HORIZON_NONE;
	if (placed != queue->n)
		return "as many flows have a place as stand in the heap";
	for (uint32_t i = 0; i < queue->n; i++) {
		if (queue->place[queue->heap[i].flow] != i)
			return "a flow's place is where it stands";
		if (i > 0 && queue->heap[(i - 1) / 2].due > queue->heap[i].due)
			return "no flow is due before the one above it";
	}
	return NULL;
}

static const char *
horizon_check(const struct trip_horizon *horizon)
{
	const char *broken = check_queue(&horizon->sweep, horizon->n_flows);

	if (broken == NULL)
		broken = check_queue(&horizon->forecast, horizon->n_flows);
	for (uint32_t i = 0; broken == NULL && i < horizon->n_flows; i++)
		if (horizon->forecast.place[i] != TRIP_HORIZON_NONE &&
			horizon->sweep.place[i] == TRIP_HORIZON_NONE)
			return "what is forecast is swept";
	return broken;
}

static void
horizon_must_be_sound(const struct trip_horizon *horizon)
{
	if (horizon_check(horizon) != NULL)
		fail_msg("broken: %s", horizon_check(horizon));
}

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
	uint64_t due = 0, now = trip_random_below(random, 100);

	if (trip_random_below(random, 3) == 0) {
		trip_horizon_remove(horizon, flow);
		naive->there[flow] = false;
	} else {
		naive->due[flow] = trip_random_below(random, 100);
		trip_horizon_put(horizon, flow, naive->due[flow]);
		naive->there[flow] = true;
	}
	horizon_must_be_sound(horizon);
	assert_int_equal(trip_horizon_due(horizon), earliest(naive));
	first = trip_horizon_next(horizon, now, &due);
	if (first == TRIP_HORIZON_NONE) {
		assert_true(earliest(naive) > now);
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
	void *memory = horizon_open(&horizon, FLOWS);

	for (uint64_t i = 0; i < rounds; i++)
		step(&horizon, &naive, &random);
	free(memory);
}

/* Of a flow whose distance no traffic can cover yet, nobody is asked but for the background. */
static void
horizon_asks_nobody_in_vain(void **state)
{
	struct trip_random random = {trip_test_seed("in vain")};
	uint64_t rounds = trip_test_rounds(20000), now = 0;
	struct trip_horizon horizon;
	void *memory = horizon_open(&horizon, 1);

	trip_horizon_add(&horizon, 0, 0);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t line = trip_random_below(&random, 10);
		uint64_t left = trip_random_below(&random, 5000), reach, due;
		struct trip_horizon_view views[TRIP_COUNT_KINDS] = {
			{.count = 1000, .limit = 1000 + left}, nobody};

		if (trip_random_below(&random, 4) == 0)
			views[0] = nobody;
		horizon.config = (struct trip_horizon_config){
			.period = trip_random_below(&random, 100),
			.background = 100 + trip_random_below(&random, 1000),
			.forecasts = trip_random_below(&random, 2) != 0,
			.line = {(double)line, 0},
		};
		reach = views[0].limit == TRIP_COUNT_NO_LIMIT ? UINT64_MAX
			: line > 0                            ? left / line
							      : 0;
		if (reach > horizon.config.background)
			reach = horizon.config.background;
		if (reach < horizon.config.period)
			reach = horizon.config.period;
		/* Nothing was counted: there is no forecast. */
		trip_horizon_read(&horizon, 0, now, views);
		horizon_must_be_sound(&horizon);
		assert_int_equal(trip_horizon_due(&horizon), now + reach);
		now += reach;
		assert_int_equal(trip_horizon_next(&horizon, now, &due), 0);
		if (reach > 0)
			assert_true(
				trip_horizon_next(&horizon, now - 1, &due) == TRIP_HORIZON_NONE);
	}
	free(memory);
}

/* All of them are late all the time, for both reasons: from one reading of a flow to the next there
 * are no more than two for each flow. */
static void
horizon_starves_nobody(void **state)
{
	struct trip_random random = {trip_test_seed("starving")};
	uint64_t rounds = trip_test_rounds(20000), read[FLOWS] = {0}, due;
	struct trip_horizon horizon;
	void *memory = horizon_open(&horizon, FLOWS);

	horizon.config = (struct trip_horizon_config){
		.forecasts = true, .background = UINT64_MAX / 4, .line = {1000, 0}};
	for (uint32_t i = 0; i < FLOWS; i++)
		trip_horizon_add(&horizon, i, 0);
	for (uint64_t now = 1; now <= rounds; now++) {
		uint32_t flow = trip_horizon_next(&horizon, now, &due);
		uint64_t grew = trip_random_below(&random, flow < 4 ? 1000 : 2);
		struct trip_horizon_view views[TRIP_COUNT_KINDS] = {
			{.count = grew, .grew = grew, .limit = grew + 1}, nobody};

		assert_true(flow != TRIP_HORIZON_NONE);
		assert_true(now - read[flow] <= 2 * FLOWS + 1);
		read[flow] = now;
		trip_horizon_read(&horizon, flow, now, views);
	}
	free(memory);
}

/* Limits that move, counts that pass them: each crossing is told of once, by the reading that shows
 * it, however often the limit is read again; and how far it might have gone. */
static void
horizon_tells_each_miss_once(void **state)
{
	struct trip_random random = {trip_test_seed("misses")};
	uint64_t rounds = trip_test_rounds(20000), count = 0, limit = 50, now = 0;
	uint64_t missed = 0, worst = 0, exposure = 0;
	struct trip_horizon horizon;
	void *memory = horizon_open(&horizon, 1);
	bool crossed = false;

	horizon.config = (struct trip_horizon_config){.line = {3, 0}, .tolerance = {20, 0}};
	trip_horizon_add(&horizon, 0, 0);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t took = 1 + trip_random_below(&random, 20);
		uint64_t grew = trip_random_below(&random, 3 * took + 1);
		struct trip_horizon_view views[TRIP_COUNT_KINDS] = {
			{.count = count + grew, .grew = grew, .limit = limit}, nobody};

		if (!crossed && 3 * took > limit - count && 3 * took - (limit - count) >= exposure)
			exposure = 3 * took - (limit - count) + 1;
		count += grew;
		if (!crossed && count >= limit) {
			crossed = true;
			missed += count - limit > 20;
			worst = count - limit > worst ? count - limit : worst;
		}
		now += took;
		trip_horizon_note(&horizon, 0, now, views);
		trip_horizon_read(&horizon, 0, now, views);
		assert_int_equal(horizon.report.missed, missed);
		assert_int_equal(horizon.report.worst[0], worst);
		assert_int_equal(horizon.report.exposure[0], exposure);
		/* Whoever waits takes his time. */
		if (crossed && trip_random_below(&random, 2) != 0) {
			limit = count + 1 + trip_random_below(&random, 100);
			crossed = false;
		}
	}
	assert_true(missed > 0 && missed < rounds / 2);
	free(memory);
}

/* How far a flow is past its limit when it is found that sends at a rate, and from some moment on
 * at another one. */
static uint64_t
find_crossing(const struct trip_horizon_config *config, uint64_t rate, uint64_t then, uint64_t from,
	uint64_t limit, uint64_t *asked)
{
	uint64_t now = 0, due = 0, count = 0;
	struct trip_horizon horizon;
	void *memory = horizon_open(&horizon, 1);

	horizon.config = *config;
	trip_horizon_add(&horizon, 0, 0);
	for (*asked = 0; count < limit; ++*asked) {
		struct trip_horizon_view views[TRIP_COUNT_KINDS] = {{.limit = limit}, nobody};
		uint64_t before = count;

		now = trip_horizon_due(&horizon);
		assert_int_equal(trip_horizon_next(&horizon, now, &due), 0);
		count = now < from ? rate * now : rate * from + then * (now - from);
		views[0].count = count;
		views[0].grew = count - before;
		trip_horizon_read(&horizon, 0, now, views);
	}
	free(memory);
	return count - limit;
}

/* A steady flow is asked at the halves of what is left, and found within a step of its limit; one
 * that doubles its rate, within two. */
static void
horizon_finds_a_crossing(void **state)
{
	struct trip_random random = {trip_test_seed("crossing")};
	const struct trip_horizon_config config = {.period = 1000000,
		.background = 1000000,
		.gap = 100,
		.forecasts = true,
		.line = {1000, 0}};
	uint64_t rounds = trip_test_rounds(2000), asked;

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t rate = 1 + trip_random_below(&random, 500), time, over;

		time = 2 * config.period + trip_random_below(&random, 100 * config.period);
		over = find_crossing(&config, rate, rate, 0, rate * time, &asked);
		assert_true(over <= 100 * 1000 + rate);
		/* From a period down to a step, by halves. */
		assert_true(asked <= time / config.period + 16);
		over = find_crossing(&config, rate, 2 * rate,
			config.period + trip_random_below(&random, time), rate * time, &asked);
		assert_true(over <= 2 * (100 * 1000 + rate));
	}
}

static struct horizon_sim_result
simulate(struct horizon_sim_shape shape)
{
	struct horizon_sim_result result;

	assert_int_equal(horizon_sim_run(&shape, &result), 0);
	return result;
}

/* No miss is left untold, and no traffic does more than is said that it might. */
static void
horizon_keeps_its_word(void **state)
{
	struct trip_random random = {trip_test_seed("word")};
	uint64_t rounds = trip_test_rounds(100);

	for (uint64_t i = 0; i < rounds; i++) {
		struct horizon_sim_shape shape = {
			.flows = 1 + (uint32_t)trip_random_below(&random, 300),
			.budget = 1000 + trip_random_below(&random, 1000000),
			.seed = trip_random_u64(&random),
			.rounds = 20,
			.bursts = trip_random_below(&random, 2) != 0,
		};
		double round = HORIZON_SIM_LINE * shape.flows / (double)shape.budget;
		struct horizon_sim_result result;

		shape.tolerance = trip_random_below(&random, (uint64_t)(2 * round));
		result = simulate(shape);
		assert_int_equal(result.missed, result.reported);
		/* A packet that was not whole at the reading before. */
		assert_true(result.worst <= result.exposure + 1);
		/* Two rounds of a plain sweep. */
		assert_true((double)result.exposure <= 2 * round * (1 + 1.0 / shape.flows) + 2);
		shape.poisson = true;
		result = simulate(shape);
		assert_int_equal(result.missed, result.reported);
	}
}

static void
horizon_is_better_than_a_sweep(void **state)
{
	struct horizon_sim_shape shape = {.flows = 1000,
		.budget = 100000,
		.seed = 1,
		.rounds = 60,
		.poisson = true,
		.tolerance = UINT64_MAX};
	struct horizon_sim_result ours = simulate(shape), sweep;

	shape.sweep = true;
	sweep = simulate(shape);
	assert_true(ours.crossings > 1000 && sweep.crossings > 1000);
	assert_true(ours.worst * 10 <= sweep.worst);
	shape.bursts = true;
	sweep = simulate(shape);
	shape.sweep = false;
	ours = simulate(shape);
	assert_true(ours.worst_burst <= 2 * sweep.worst_burst);
}

static void
horizon_asks_a_cache_once_a_refresh(void **state)
{
	struct trip_random random = {trip_test_seed("cache")};
	uint64_t rounds = trip_test_rounds(20);

	for (uint64_t i = 0; i < rounds; i++) {
		struct horizon_sim_cache cache = {
			.flows = 1 + (uint32_t)trip_random_below(&random, 2000),
			.seed = trip_random_u64(&random),
			.lag = 1000 + trip_random_below(&random, 1000000),
			.query = 1 + trip_random_below(&random, 1000),
		};
		uint64_t all = cache.flows * cache.query, each = all > cache.lag ? all : cache.lag;
		struct horizon_sim_cached cached;

		cache.time = 8 * each;
		assert_int_equal(horizon_sim_run_cached(&cache, &cached), 0);
		assert_int_equal(cached.most_readings, 1);
		assert_int_equal(cached.crossings, cache.flows);
		/* What is due between two queries waits for the second. */
		assert_true(cached.sweep <= each + 2 * cache.query);
		assert_true(cached.latest <= cache.lag + each + 2 * cache.query);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(horizon_is_a_list_that_is_sorted),
		cmocka_unit_test(horizon_asks_nobody_in_vain),
		cmocka_unit_test(horizon_starves_nobody),
		cmocka_unit_test(horizon_tells_each_miss_once),
		cmocka_unit_test(horizon_finds_a_crossing),
		cmocka_unit_test(horizon_keeps_its_word),
		cmocka_unit_test(horizon_is_better_than_a_sweep),
		cmocka_unit_test(horizon_asks_a_cache_once_a_refresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
