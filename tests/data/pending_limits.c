/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client that means harm meets: the memory of pending sets suffices in every distribution,
 * and no call does more than its bound, whatever is pending and was done to the counter before.
 */
#include "pending_model.h"

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

/*
 * What costs most wheels: a crowd of thresholds, one outlier for each digit, and the crowd thinned
 * out until its wheel would be folded.
 */
static void
chains_of_wheels_fit(void **state)
{
	enum { CHAINS = 40, CROWD = 321, LEFT = 240, OUTLIERS = 10 };
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

/*
 * Sets of which little is left keep a line each, more than there are chunks for all nodes; these
 * give way where sets that have enough want one, and what they held fires in order all the same.
 */
static void
what_is_left_of_few_gives_way(void **state)
{
	enum { THIN = 500, EACH = 5, FULL = 500, NEED = 4 };
	static struct trip_pending sets[THIN + FULL];
	const uint32_t max_nodes = THIN * EACH;
	uint32_t spare[THIN * EACH], spares = 0, nodes[EACH], lines;
	struct model model;

	setup(&model, 1, max_nodes);
	for (uint32_t i = 0; i < THIN; i++) {
		trip_pending_init(&sets[i]);
		for (uint32_t j = 0; j < EACH; j++)
			trip_pending_insert(&model.pool, &sets[i], 10 - j, i * EACH + j);
		trip_pending_sample(&model.pool, &sets[i], 7 + i % 3);
		for (uint32_t n = trip_pending_pop(&model.pool, &sets[i], nodes, EACH); n > 0; n--)
			spare[spares++] = nodes[n - 1];
	}
	assert_int_equal(model.pool.used_chunks, THIN);
	lines = model.pool.used_chunks;
	for (uint32_t i = 0; i < FULL && spares > EACH; i++) {
		struct trip_pending *set = &sets[THIN + i];

		trip_pending_init(set);
		for (uint32_t j = 0; j <= NEED; j++)
			trip_pending_insert(&model.pool, set, 10 - j, spare[--spares]);
		assert_null(trip_pending_check(&model.pool, set));
		lines++;
	}
	/* Otherwise this has shown nothing. */
	assert_true(lines > model.pool.max_chunks);
	assert_true(model.pool.used_chunks <= model.pool.max_chunks);
	for (uint32_t i = 0; i < THIN; i++) {
		uint32_t left = 10 - (7 + i % 3);

		assert_null(trip_pending_check(&model.pool, &sets[i]));
		trip_pending_sample(&model.pool, &sets[i], 10);
		assert_int_equal(trip_pending_pop(&model.pool, &sets[i], nodes, EACH), left);
		for (uint32_t j = 0; j < left; j++)
			assert_int_equal(nodes[j], i * EACH + left - 1 - j);
	}
	for (uint32_t i = THIN; i < THIN + FULL && sets[i].count > 0; i++) {
		trip_pending_sample(&model.pool, &sets[i], 10);
		assert_int_equal(trip_pending_pop(&model.pool, &sets[i], nodes, EACH), NEED + 1);
	}
	teardown(&model);
}

#define OTHERS 21000u

/*
 * A wheel that is being filled from a crowd of thresholds above base; node many is gone. There are
 * so many others far above that the crowd is no large part of the set, or its wheel would have been
 * made when it was small.
 */
static void
half_fill(struct model *model, uint64_t seed, uint64_t base, uint32_t many)
{
	setup(model, seed, many + 500 + OTHERS);
	for (uint32_t i = 0; i < OTHERS; i++)
		insert(model, 0, base << 4 | trip_random_below(&model->random, base),
			many + 500 + i);
	insert(model, 0, base / 2, many);
	for (uint32_t i = 0; i < many; i++)
		insert(model, 0, base + trip_random_below(&model->random, 900), i);
	sample(model, 0, base + 300);
	assert_int_equal(pop(model, 0, 1), 1);
	assert_int_equal(pop(model, 0, 1), 0);
	assert_int_not_equal(model->sets[0].split, TRIP_PENDING_NIL);
}

/* Without the others, of which the model would take its time. */
static void
empty_half_filled(struct model *model, uint32_t many)
{
	for (uint32_t i = 0; i < OTHERS; i++)
		cancel(model, many + 500 + i);
	empty(model);
	teardown(model);
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
		half_fill(&model, seed + round, base, many);
		for (uint32_t i = 0; i < many - 30; i++) {
			uint32_t node = round % 2 == 0 ? i : many - 1 - i;

			if (i % 100 == 0 && i < 900)
				insert(&model, 0, base + 301 + i / 2, many + 1 + i / 100);
			if (model.entries[node].set >= 0)
				cancel(&model, node);
			if (i % 50 == round)
				check(&model, 0);
		}
		empty_half_filled(&model, many);
	}
}

/* Work submitted for a wheel that is being filled does not put off the end of that. */
static void
submitting_does_not_outrun_spreading(void **state)
{
	const uint64_t base = UINT64_C(2) << 30;
	const uint32_t many = 3000;
	uint32_t node = many;
	struct model model;

	half_fill(&model, trip_test_seed("submitting_does_not_outrun_spreading"), base, many);
	for (; model.sets[0].split != TRIP_PENDING_NIL; node++) {
		assert_true(node < many + 500);
		insert(&model, 0, base + 301 + trip_random_below(&model.random, 50), node);
		if (node % 16 == 0)
			check(&model, 0);
	}
	empty_half_filled(&model, many);
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

/* The same for one who makes as much as possible be sorted, and then submits around it. */
static void
a_long_front_stays_bounded(void **state)
{
	const uint32_t loops = 300, each = 200;
	const uint64_t width = 1000, top = (loops + 1) * width;
	struct model model;
	uint64_t last;

	setup(&model, trip_test_seed("a_long_front_stays_bounded"), loops * each + 2);
	for (uint32_t loop = 0; loop < loops; loop++) {
		uint64_t low = top - (loop + 1) * width;

		sample(&model, 0, low);
		insert(&model, 0, low + 1, loop * each);
		for (uint32_t i = 1; i < each; i++)
			insert(&model, 0, low + 2 + trip_random_below(&model.random, width - 1),
				loop * each + i);
		sample(&model, 0, low + 1);
		last = 0;
		assert_int_equal(fire_all(&model, &last), 1);
	}
	check(&model, 0);
	sample(&model, 0, 0);
	insert(&model, 0, 1, loops * each);
	insert(&model, 0, top * 2, loops * each + 1);
	sample(&model, 0, 1);
	last = 0;
	assert_int_equal(fire_all(&model, &last), 1);
	check(&model, 0);
	sample(&model, 0, COUNTER_MAX);
	assert_int_equal(fire_all(&model, &last), loops * (each - 1) + 1);
	teardown(&model);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity_is_exact),
		cmocka_unit_test(chains_of_wheels_fit),
		cmocka_unit_test(what_is_left_of_few_gives_way),
		cmocka_unit_test(canceling_meets_a_half_filled_wheel),
		cmocka_unit_test(submitting_does_not_outrun_spreading),
		cmocka_unit_test(lowering_and_raising_stays_bounded),
		cmocka_unit_test(a_long_front_stays_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
