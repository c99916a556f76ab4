/* SPDX-License-Identifier: BSD-3-Clause */
/* What fires in which order, and when: pending sets against their model. */
#include "pending_model.h"

enum shape { DENSE, SPARSE, EQUAL, EDGES, TOP, LOW, ANY, SHAPES };

static uint64_t
threshold_of(struct model *model, int set, enum shape shape)
{
	struct trip_random *random = &model->random;
	uint64_t base = model->samples[set], threshold;

	switch (shape) {
	case DENSE:
		threshold = base + trip_random_below(random, 3000);
		break;
	case SPARSE:
		threshold = base + trip_random_below(random, UINT64_C(1) << 40);
		break;
	case EQUAL:
		threshold = base / 4096 * 4096 + 4096 * (1 + trip_random_below(random, 400) / 399);
		break;
	case EDGES:
		threshold = base + (UINT64_C(1) << trip_random_below(random, 64)) - 1 +
			    trip_random_below(random, 3);
		break;
	case TOP:
		return (trip_random_below(random, 2) == 0 ? COUNTER_MAX : INT64_MAX) -
		       trip_random_below(random, 2000);
	case LOW:
		return trip_random_below(random, 200);
	default:
		threshold = trip_random_u64(random) >> trip_random_below(random, 64);
		return threshold <= COUNTER_MAX ? threshold : COUNTER_MAX;
	}
	return threshold >= base && threshold <= COUNTER_MAX ? threshold : COUNTER_MAX;
}

static uint64_t
sum_of(struct model *model, int set)
{
	struct trip_random *random = &model->random;
	uint64_t now = model->samples[set], lowest;

	next_due(model, set, &lowest);
	switch (trip_random_below(random, 9)) {
	case 0:
		return now / 2;
	case 1:
		return now - trip_random_below(random, now < 100 ? now + 1 : 100);
	case 2:
		return trip_random_below(random, 100);
	case 3:
		return lowest == TRIP_PENDING_NONE ? now : lowest;
	case 4:
		return lowest == TRIP_PENDING_NONE || lowest == 0 ? now : lowest - 1;
	case 5:
		return trip_random_below(random, 8) == 0 ? COUNTER_MAX : now;
	case 6:
		return trip_random_u64(random) >> (1 + trip_random_below(random, 63));
	default:
		now += trip_random_below(random, 300);
		return now <= COUNTER_MAX ? now : COUNTER_MAX;
	}
}

/* Nothing is due but what was so when it was accepted. */
static bool
may_sample(const struct model *model, int set)
{
	struct trip_pending known = model->sets[set];

	known.late = TRIP_PENDING_NIL;
	return !trip_pending_due(&model->pool, &known);
}

/* One operation; favour: of 16 operations, how many insert, and how many more cancel. */
static void
step(struct model *model, int set, const unsigned *favour)
{
	uint64_t dice = trip_random_below(&model->random, 16);
	uint32_t node = (uint32_t)trip_random_below(&model->random, model->max_nodes);

	if (dice < favour[0]) {
		enum shape shape =
			(enum shape)((set + trip_random_below(&model->random, 8) / 7 *
						     trip_random_below(&model->random, SHAPES)) %
				     SHAPES);

		if (model->entries[node].set < 0)
			insert(model, set, threshold_of(model, set, shape), node);
	} else if (dice < favour[0] + favour[1]) {
		if (model->entries[node].set >= 0)
			cancel(model, node);
	} else if (trip_random_below(&model->random, 8) == 0 && may_sample(model, set)) {
		sample(model, set, sum_of(model, set));
	} else if (due(model, set)) {
		pop(model, set, (unsigned)trip_random_below(&model->random, 40));
	}
}

/* Random operations on sets that share a pool; most runs in one set, so that wheels come to be. */
static void
random_operations(uint64_t seed, uint32_t max_nodes, unsigned steps, unsigned often)
{
	static const unsigned favours[][2] = {
		{14, 0}, {8, 2}, {3, 12}, {10, 5}, {2, 1}, {15, 0}, {1, 15}};
	const unsigned *favour = favours[0];
	struct model model;
	int set = 0, busy = 0;

	setup(&model, seed, max_nodes);
	for (unsigned i = 0; i < steps; i++) {
		if (i % (max_nodes + 20) == 0) {
			favour = favours[trip_random_below(&model.random, 7)];
			busy = (int)trip_random_below(&model.random, SETS);
		}
		set = trip_random_below(&model.random, 8) == 0
			      ? (int)trip_random_below(&model.random, SETS)
			      : busy;
		step(&model, set, favour);
		if (i % often == 0) {
			check(&model, set);
			check_bound(&model, set);
		}
	}
	empty(&model);
	teardown(&model);
}

static void
matches_the_model(void **state)
{
	uint64_t seed = trip_test_seed("matches_the_model");
	uint64_t rounds = trip_test_rounds(24);

	for (uint64_t i = 0; i < rounds; i++) {
		random_operations(seed + 3 * i, 12, 3000, 1);
		random_operations(seed + 3 * i, 40, 3000, 1);
		random_operations(seed + 3 * i + 1, 400, 4000, 5);
		random_operations(seed + 3 * i + 2, 2500, 12000, 97);
	}
}

/* A home with little pending is never rung for nothing. */
static void
bound_is_exact(uint64_t seed, uint32_t max_nodes, enum shape first, enum shape shapes, uint64_t top)
{
	struct model model;
	uint64_t lowest;

	setup(&model, seed, max_nodes);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t node = (uint32_t)trip_random_below(&model.random, max_nodes);

		if (due(&model, 0))
			pop(&model, 0, 1 + (unsigned)trip_random_below(&model.random, 8));
		else if (trip_random_below(&model.random, 8) == 0)
			sample(&model, 0, sum_of(&model, 0) % top);
		else if (model.entries[node].set >= 0)
			cancel(&model, node);
		else
			insert(&model, 0,
				threshold_of(&model, 0, (enum shape)(first + i % (shapes - first))),
				node);
		check(&model, 0);
		next_due(&model, 0, &lowest);
		if (!due(&model, 0))
			assert_true(trip_pending_bound(&model.pool, &model.sets[0]) == lowest);
	}
	empty(&model);
	teardown(&model);
}

static void
bound_of_few_is_exact(void **state)
{
	uint64_t seed = trip_test_seed("bound_of_few_is_exact");

	/* However far apart; and those that an array holds. */
	bound_is_exact(seed, 4, DENSE, SHAPES, UINT64_MAX);
	bound_is_exact(seed, 28, DENSE, SPARSE, 1000000);
	bound_is_exact(seed, 28, LOW, ANY, 150);
}

/* WORK-03: a crowd on one threshold is never sorted or spread, also when others join it. */
static void
equal_ones_fire_in_order_of_acceptance(void **state)
{
	const uint32_t many = 2000;
	const uint64_t crowd = UINT64_C(1) << 35;
	struct model model;

	setup(&model, trip_test_seed("equal_ones_fire_in_order_of_acceptance"), many + 20);
	for (uint32_t i = 0; i < many; i++)
		insert(&model, 0, crowd, i);
	assert_int_equal(model.pool.used_wheels, 0);
	for (uint32_t i = 0; i < 10; i++) {
		insert(&model, 0, crowd - 1 - trip_random_below(&model.random, 100), many + i);
		insert(&model, 0, crowd + (UINT64_C(1) << i), many + 10 + i);
		check(&model, 0);
	}
	for (uint32_t i = 100; i < 300; i++)
		cancel(&model, i);
	for (uint32_t i = 100; i < 200; i++)
		insert(&model, 0, crowd, i);
	sample(&model, 0, crowd);
	while (due(&model, 0)) {
		pop(&model, 0, 100);
		check(&model, 0);
	}
	assert_int_equal(model.pending, 10);
	empty(&model);
	teardown(&model);
}

/* WORK-02, WORK-03: one jump from 0 to 1000, thresholds in random order, equal ones among them. */
static void
a_jump_fires_in_exact_order(void **state)
{
	uint64_t seed = trip_test_seed("a_jump_fires_in_exact_order");
	uint64_t rounds = trip_test_rounds(10000);
	uint32_t order[400], at[1002], nodes[64];
	uint64_t thresholds[400];
	struct model model;

	setup(&model, seed, 400);
	for (uint64_t round = 0; round < rounds; round++) {
		struct trip_random random = {seed + round};
		uint64_t spread = 1 + trip_random_below(&random, 1000);
		uint32_t n = 1 + (uint32_t)trip_random_below(&random, 400);
		unsigned max = 1 + (unsigned)trip_random_below(&random, 64);
		uint32_t fired = 0, ready;

		memset(at, 0, sizeof(at));
		trip_pending_init(&model.sets[0]);
		for (uint32_t i = 0; i < n; i++) {
			thresholds[i] = 1000 - trip_random_below(&random, spread) +
					trip_random_below(&random, 2);
			at[thresholds[i] + 1 < 1002 ? thresholds[i] + 1 : 1001]++;
			trip_pending_insert(&model.pool, &model.sets[0], thresholds[i], i);
		}
		/* Counting sort: at[t] is where the first of threshold t comes. */
		for (unsigned t = 1; t < 1002; t++)
			at[t] += at[t - 1];
		ready = 0;
		for (uint32_t i = 0; i < n; i++)
			if (thresholds[i] <= 1000) {
				order[at[thresholds[i]]++] = i;
				ready++;
			}
		trip_pending_sample(&model.pool, &model.sets[0], 1000);
		while (trip_pending_due(&model.pool, &model.sets[0])) {
			unsigned count = trip_pending_pop(&model.pool, &model.sets[0], nodes, max);

			for (unsigned i = 0; i < count; i++)
				assert_int_equal(nodes[i], order[fired++]);
		}
		assert_int_equal(fired, ready);
		assert_int_equal(trip_pending_count(&model.sets[0]), n - ready);
		for (uint32_t i = 0; i < n; i++)
			if (thresholds[i] > 1000)
				trip_pending_remove(&model.pool, &model.sets[0], i);
	}
	teardown(&model);
}

/* WORK-04: what is due when it is accepted fires, behind everything that was ready. */
static void
late_items_do_not_overtake(void **state)
{
	static const uint64_t thresholds[] = {10, 7, 7, 12, 0, 9};
	static const uint32_t order[] = {1, 2, 0, 4, 5, 6};
	struct model model;
	uint32_t nodes[8];

	setup(&model, 1, 8);
	for (uint32_t i = 0; i < 4; i++)
		trip_pending_insert(&model.pool, &model.sets[0], thresholds[i], i);
	trip_pending_sample(&model.pool, &model.sets[0], 10);
	assert_int_equal(trip_pending_pop(&model.pool, &model.sets[0], nodes, 1), 1);
	trip_pending_insert(&model.pool, &model.sets[0], thresholds[4], 4);
	trip_pending_insert(&model.pool, &model.sets[0], thresholds[5], 5);
	trip_pending_insert(&model.pool, &model.sets[0], 8, 6);
	assert_int_equal(trip_pending_pop(&model.pool, &model.sets[0], &nodes[1], 7), 5);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(nodes[i], order[i]);
	assert_false(trip_pending_due(&model.pool, &model.sets[0]));
	assert_true(trip_pending_bound(&model.pool, &model.sets[0]) == 12);
	trip_pending_remove(&model.pool, &model.sets[0], 3);
	teardown(&model);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_the_model),
		cmocka_unit_test(bound_of_few_is_exact),
		cmocka_unit_test(equal_ones_fire_in_order_of_acceptance),
		cmocka_unit_test(a_jump_fires_in_exact_order),
		cmocka_unit_test(late_items_do_not_overtake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
