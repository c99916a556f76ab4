/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pending set against a model that searches a plain array, and the promises that a model does
 * not see: that its memory suffices, and that no call does much whatever clients do to a counter.
 */
#include <string.h>

#include "pending.h"
#include "trip_test.h"

#define SETS 5
#define COUNTER_MAX (UINT64_MAX - 1) /* success and error, both at their limit */

struct entry {
	uint64_t threshold;
	uint64_t accepted;
	bool late;
	int set; /* -1: not pending */
};

struct model {
	struct trip_random random;
	struct trip_pending_pool pool;
	void *memory;
	struct trip_pending sets[SETS];
	uint64_t samples[SETS];
	struct entry *entries; /* one a node */
	uint32_t max_nodes;
	uint32_t pending;
	uint32_t most_chunks;
	uint32_t most_wheels;
	uint64_t clock;
	uint64_t most_steps;
};

static void
setup(struct model *model, uint64_t seed, uint32_t max_nodes)
{
	size_t size = trip_pending_pool_size(max_nodes);

	memset(model, 0, sizeof(*model));
	model->random.state = seed;
	model->max_nodes = max_nodes;
	model->memory = aligned_alloc(64, size);
	model->entries = calloc(max_nodes, sizeof(*model->entries));
	assert_non_null(model->memory);
	assert_non_null(model->entries);
	memset(model->memory, 0xa5, size);
	trip_pending_pool_init(&model->pool, model->memory, max_nodes);
	for (uint32_t i = 0; i < max_nodes; i++)
		model->entries[i].set = -1;
	for (int i = 0; i < SETS; i++)
		trip_pending_init(&model->sets[i]);
}

static void
teardown(struct model *model)
{
	for (int i = 0; i < SETS; i++) {
		assert_null(trip_pending_check(&model->pool, &model->sets[i]));
		if (model->pending == 0)
			assert_true(trip_pending_bound(&model->pool, &model->sets[i]) ==
				    TRIP_PENDING_NONE);
	}
	if (model->pending == 0) {
		assert_int_equal(model->pool.used_chunks, 0);
		assert_int_equal(model->pool.used_wheels, 0);
	}
	free(model->memory);
	free(model->entries);
}

static void
measure(struct model *model, uint64_t before, uint64_t limit)
{
	uint64_t steps = model->pool.steps - before;

	assert_true(steps <= limit);
	if (steps > model->most_steps)
		model->most_steps = steps;
	if (model->pool.used_chunks > model->most_chunks)
		model->most_chunks = model->pool.used_chunks;
	if (model->pool.used_wheels > model->most_wheels)
		model->most_wheels = model->pool.used_wheels;
}

static void
check(struct model *model, int set)
{
	const char *broken = trip_pending_check(&model->pool, &model->sets[set]);

	if (broken != NULL)
		fail_msg("not so: %s", broken);
}

static void
insert(struct model *model, int set, uint64_t threshold, uint32_t node)
{
	uint64_t before = model->pool.steps;

	model->entries[node] = (struct entry){
		.threshold = threshold,
		.accepted = model->clock++,
		.late = threshold <= model->samples[set],
		.set = set,
	};
	model->pending++;
	trip_pending_insert(&model->pool, &model->sets[set], threshold, node);
	measure(model, before, TRIP_PENDING_STEPS);
}

static void
cancel(struct model *model, uint32_t node)
{
	uint64_t before = model->pool.steps;
	int set = model->entries[node].set;

	model->entries[node].set = -1;
	model->pending--;
	trip_pending_remove(&model->pool, &model->sets[set], node);
	measure(model, before, TRIP_PENDING_STEPS);
}

static bool
sooner(const struct entry *a, const struct entry *b)
{
	if (a->late != b->late)
		return b->late;
	if (!a->late && a->threshold != b->threshold)
		return a->threshold < b->threshold;
	return a->accepted < b->accepted;
}

/* The next due node by the model, and the lowest threshold. */
static uint32_t
next_due(const struct model *model, int set, uint64_t *lowest)
{
	uint32_t found = TRIP_PENDING_NIL;

	*lowest = TRIP_PENDING_NONE;
	for (uint32_t i = 0; i < model->max_nodes; i++) {
		const struct entry *entry = &model->entries[i];

		if (entry->set != set)
			continue;
		if (entry->threshold < *lowest)
			*lowest = entry->threshold;
		if ((entry->late || entry->threshold <= model->samples[set]) &&
			(found == TRIP_PENDING_NIL || sooner(entry, &model->entries[found])))
			found = i;
	}
	return found;
}

static void
check_bound(const struct model *model, int set)
{
	const struct trip_pending *pending = &model->sets[set];
	uint64_t bound = trip_pending_bound(&model->pool, pending);
	uint64_t lowest;
	uint32_t node = next_due(model, set, &lowest);

	assert_true(bound <= lowest);
	assert_true((bound == TRIP_PENDING_NONE) == (trip_pending_count(pending) == 0));
	if (trip_pending_due(&model->pool, pending))
		return;
	assert_int_equal(node, TRIP_PENDING_NIL);
	assert_true(bound > model->samples[set]);
}

static unsigned
pop(struct model *model, int set, unsigned max)
{
	uint64_t before = model->pool.steps, lowest;
	uint32_t nodes[256];
	unsigned count;

	count = trip_pending_pop(&model->pool, &model->sets[set], nodes, max);
	assert_true(count <= max);
	measure(model, before, TRIP_PENDING_STEPS + (uint64_t)TRIP_PENDING_STEPS_POP * max);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(nodes[i], next_due(model, set, &lowest));
		model->entries[nodes[i]].set = -1;
		model->pending--;
	}
	return count;
}

static bool
due(const struct model *model, int set)
{
	return trip_pending_due(&model->pool, &model->sets[set]);
}

static void
sample(struct model *model, int set, uint64_t sum)
{
	model->samples[set] = sum;
	trip_pending_sample(&model->pool, &model->sets[set], sum);
}

enum shape { DENSE, SPARSE, EQUAL, EDGES, TOP, LOW, ANY, SHAPES };

static uint64_t
threshold_of(struct model *model, int set, enum shape shape)
{
	struct trip_random *random = &model->random;
	uint64_t base = model->samples[set] & INT64_MAX, threshold;

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
		threshold = base + (UINT64_C(1) << trip_random_below(random, 63)) - 1 +
			    trip_random_below(random, 3);
		break;
	case TOP:
		return INT64_MAX - trip_random_below(random, 2000);
	case LOW:
		return trip_random_below(random, 200);
	default:
		return trip_random_u64(random) >> (1 + trip_random_below(random, 63));
	}
	return threshold <= INT64_MAX ? threshold : INT64_MAX;
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
	} else if (due(model, set)) {
		pop(model, set, (unsigned)trip_random_below(&model->random, 40));
	} else if (trip_random_below(&model->random, 8) == 0) {
		sample(model, set, sum_of(model, set));
	}
}

static void
empty(struct model *model)
{
	for (int set = 0; set < SETS; set++) {
		while (due(model, set))
			pop(model, set, 256);
		sample(model, set, COUNTER_MAX);
		while (due(model, set))
			pop(model, set, 256);
		check(model, set);
		assert_int_equal(trip_pending_count(&model->sets[set]), 0);
	}
	assert_int_equal(model->pending, 0);
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
		random_operations(seed + 3 * i + 1, 400, 4000, 5);
		random_operations(seed + 3 * i + 2, 2500, 12000, 97);
	}
}

/* All nodes pending, in whatever way costs most memory: the pool holds them, at 64 bytes each. */
static void
capacity_is_exact(void **state)
{
	uint64_t seed = trip_test_seed("capacity_is_exact");
	const uint32_t max_nodes = 20000;
	struct model model;

	assert_true(trip_pending_pool_size(1000000) <= 64000000);
	assert_true(trip_pending_pool_size(0) % 64 == 0);
	assert_int_equal(trip_pending_pool_size(TRIP_PENDING_MAX_NODES + 1), 0);
	setup(&model, seed, max_nodes);
	for (unsigned round = 0; round < 40; round++) {
		unsigned width = 1 + (unsigned)trip_random_below(&model.random, 63);

		/* Fill up, raise so that much is spread, then thin out what is left. */
		for (uint32_t node = 0; node < max_nodes; node++)
			if (model.entries[node].set < 0)
				insert(&model, (int)(round % SETS),
					trip_random_u64(&model.random) >> width, node);
		assert_int_equal(model.pending, max_nodes);
		for (int set = 0; set < SETS; set++) {
			uint32_t nodes[8];

			if (trip_pending_count(&model.sets[set]) > 0 && !due(&model, set))
				sample(&model, set,
					trip_pending_bound(&model.pool, &model.sets[set]));
			for (unsigned i = 0, n; i < 200 && due(&model, set); i++) {
				n = trip_pending_pop(&model.pool, &model.sets[set], nodes, 8);
				for (unsigned j = 0; j < n; j++)
					model.entries[nodes[j]].set = -1;
				model.pending -= n;
			}
			check(&model, set);
		}
		for (uint32_t node = 0; node < max_nodes; node++)
			if (model.entries[node].set >= 0 && (node + round) % 16 >= 3)
				cancel(&model, node);
		for (int set = 0; set < SETS; set++)
			check(&model, set);
	}
	printf("most chunks %u of %u, most wheels %u of %u\n", model.most_chunks,
		model.pool.max_chunks, model.most_wheels, model.pool.max_wheels);
	for (uint32_t node = 0; node < max_nodes; node++)
		if (model.entries[node].set >= 0)
			cancel(&model, node);
	assert_int_equal(model.pending, 0);
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

/* Cancels while a wheel is being filled, from either end of what it is filled from. */
static void
canceling_meets_a_half_filled_wheel(void **state)
{
	uint64_t seed = trip_test_seed("canceling_meets_a_half_filled_wheel");
	const uint64_t base = UINT64_C(2) << 30;
	const uint32_t many = 3000;
	struct model model;

	for (unsigned round = 0; round < 12; round++) {
		setup(&model, seed + round, many + 40);
		insert(&model, 0, base / 2, many);
		for (uint32_t i = 0; i < many; i++)
			insert(&model, 0, base + trip_random_below(&model.random, 900), i);
		sample(&model, 0, base + 300);
		while (model.sets[0].split == TRIP_PENDING_NIL)
			pop(&model, 0, 1);
		for (uint32_t i = 0; i < many - 30; i++) {
			uint32_t node = round % 2 == 0 ? i : many - 1 - i;

			if (i % 100 == 0 && i < 900)
				insert(&model, 0, base + 301 + i / 2, many + 1 + i / 100);
			if (model.entries[node].set >= 0)
				cancel(&model, node);
			if (i % 20 == round)
				check(&model, 0);
		}
		empty(&model);
		teardown(&model);
	}
}

/*
 * What costs most wheels: a crowd of thresholds, one outlier for each digit, and the crowd thinned
 * out until its wheel would be folded.
 */
static void
chains_of_wheels_fit(void **state)
{
	enum { CHAINS = 40, CROWD = 257, LEFT = 128, OUTLIERS = 10 };
	const uint32_t max_nodes = CHAINS * (LEFT + OUTLIERS) + CROWD;
	static struct trip_pending sets[CHAINS];
	uint32_t node = 0, spare[CROWD], spares = 0;
	struct model model;

	setup(&model, 1, max_nodes);
	for (unsigned chain = 0; chain < CHAINS; chain++) {
		uint32_t crowd[CROWD];

		trip_pending_init(&sets[chain]);
		for (unsigned i = 0; i < CROWD; i++) {
			crowd[i] = spares > 0 ? spare[--spares] : node++;
			trip_pending_insert(&model.pool, &sets[chain], 1 + i % 32, crowd[i]);
		}
		for (unsigned digit = 1; digit <= OUTLIERS; digit++)
			trip_pending_insert(&model.pool, &sets[chain], UINT64_C(1) << (6 * digit),
				spares > 0 ? spare[--spares] : node++);
		for (unsigned i = 0; i < CROWD - LEFT; i++) {
			trip_pending_remove(&model.pool, &sets[chain], crowd[i]);
			spare[spares++] = crowd[i];
		}
		assert_null(trip_pending_check(&model.pool, &sets[chain]));
	}
	assert_int_equal(model.pool.used_wheels, CHAINS * (OUTLIERS + 1));
	for (unsigned chain = 0; chain < CHAINS; chain++) {
		uint32_t nodes[64];

		trip_pending_sample(&model.pool, &sets[chain], COUNTER_MAX);
		while (trip_pending_due(&model.pool, &sets[chain]))
			trip_pending_pop(&model.pool, &sets[chain], nodes, 64);
	}
	teardown(&model);
}

static unsigned
fire_all(struct model *model, uint64_t *last)
{
	uint32_t nodes[32];
	unsigned fired = 0;

	while (due(model, 0)) {
		uint64_t before = model->pool.steps;
		unsigned count = trip_pending_pop(&model->pool, &model->sets[0], nodes, 32);

		measure(model, before, TRIP_PENDING_STEPS + 32 * TRIP_PENDING_STEPS_POP);
		for (unsigned i = 0; i < count; i++) {
			const struct entry *entry = &model->entries[nodes[i]];

			assert_true(entry->threshold >= *last);
			assert_true(entry->threshold <= model->samples[0]);
			*last = entry->threshold;
			model->entries[nodes[i]].set = -1;
		}
		model->pending -= count;
		fired += count;
	}
	return fired;
}

/*
 * A client that lowers and raises in a loop, a million items pending: no call does more than its
 * bound, and all of it together moves each item a few times only, not once a loop.
 */
static void
lowering_and_raising_stays_bounded(void **state)
{
	uint64_t seed = trip_test_seed("lowering_and_raising_stays_bounded");
	const uint32_t many = 1000000, few = 8;
	const uint64_t loops = 4000, base = UINT64_C(1) << 41;
	struct model model;
	uint64_t last, before;

	setup(&model, seed, many + few);
	for (uint32_t i = 0; i < many; i++)
		insert(&model, 0, base + 1 + trip_random_below(&model.random, base), i);
	check(&model, 0);
	before = model.pool.steps;
	for (uint64_t loop = 0; loop < loops; loop++) {
		uint64_t low = trip_random_below(&model.random, base - 1000) >>
			       trip_random_below(&model.random, 40);

		sample(&model, 0, low);
		last = 0;
		assert_int_equal(fire_all(&model, &last), 0);
		for (uint32_t i = 0; i < few; i++)
			insert(&model, 0, low + 1 + trip_random_below(&model.random, 900),
				many + i);
		/* To just among them and then among the million, whose lowest fire as well. */
		sample(&model, 0, low + 500);
		fire_all(&model, &last);
		sample(&model, 0, base + loop * (base / many * 50));
		fire_all(&model, &last);
	}
	printf("%llu steps a loop, the most in one call %llu\n",
		(unsigned long long)((model.pool.steps - before) / loops),
		(unsigned long long)model.most_steps);
	assert_true(model.pool.steps - before <= (uint64_t)many * 11 + loops * 1000);
	check(&model, 0);
	sample(&model, 0, COUNTER_MAX);
	fire_all(&model, &last);
	assert_int_equal(model.pending, 0);
	teardown(&model);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_the_model),
		cmocka_unit_test(capacity_is_exact),
		cmocka_unit_test(equal_ones_fire_in_order_of_acceptance),
		cmocka_unit_test(canceling_meets_a_half_filled_wheel),
		cmocka_unit_test(chains_of_wheels_fit),
		cmocka_unit_test(a_jump_fires_in_exact_order),
		cmocka_unit_test(late_items_do_not_overtake),
		cmocka_unit_test(lowering_and_raising_stays_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
