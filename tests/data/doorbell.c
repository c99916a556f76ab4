/* SPDX-License-Identifier: BSD-3-Clause */
/* The doorbell against a plain array of flags. */
#include <string.h>

#include <trip_test.h>

#include "doorbell.h"

static struct trip_random rnd;

struct bell {
	struct trip_doorbell_shape shape;
	struct trip_doorbell db;
	void *memory;
	uint8_t *rung[TRIP_DOORBELL_SECTIONS];
};

static void
bell_make(struct bell *bell, uint32_t most)
{
	unsigned i, left = TRIP_DOORBELL_WORDS;

	memset(bell, 0, sizeof(*bell));
	for (i = 0; i < TRIP_DOORBELL_SECTIONS && left > 0; i++) {
		if (trip_random_below(&rnd, 3) == 0)
			continue;
		bell->shape.words[i] = (uint8_t)(1 + trip_random_below(&rnd, left));
		left -= bell->shape.words[i];
		bell->shape.count[i] = (uint32_t)(1 + trip_random_below(&rnd, most));
		bell->rung[i] = calloc(bell->shape.count[i], 1);
	}
	bell->memory = aligned_alloc(64, trip_doorbell_size(&bell->shape));
	trip_doorbell_init(bell->memory, &bell->shape);
	trip_doorbell_map(&bell->db, bell->memory, &bell->shape);
}

static void
bell_free(struct bell *bell)
{
	unsigned i;

	for (i = 0; i < TRIP_DOORBELL_SECTIONS; i++)
		free(bell->rung[i]);
	free(bell->memory);
}

static bool
model_idle(const struct bell *bell)
{
	unsigned i;

	for (i = 0; i < TRIP_DOORBELL_SECTIONS; i++)
		if (bell->rung[i] != NULL && memchr(bell->rung[i], 1, bell->shape.count[i]) != NULL)
			return false;
	return true;
}

/* What is taken was rung, and is rung no more; fewer than max means everything. */
static void
take_some(struct bell *bell, unsigned section, unsigned max)
{
	uint32_t out[300];
	unsigned i, n = trip_doorbell_take(&bell->db, section, out, max);

	assert_true(n <= max);
	for (i = 0; i < n; i++) {
		assert_true(out[i] < bell->shape.count[section]);
		assert_int_equal(bell->rung[section][out[i]], 1);
		bell->rung[section][out[i]] = 0;
	}
	if (n < max)
		assert_null(memchr(bell->rung[section], 1, bell->shape.count[section]));
}

static void
bell_check(const struct bell *bell)
{
	const char *wrong = trip_doorbell_check(&bell->db);

	if (wrong != NULL)
		fail_msg("%s", wrong);
}

static void
random_operations(void **state)
{
	uint64_t rounds = trip_test_rounds(150), i;
	struct bell bell;
	unsigned step;

	for (i = 0; i < rounds; i++) {
		bell_make(&bell, i % 10 == 0 ? 250000 : i % 10 < 5 ? 20000 : 300);
		for (step = 0; step < 300; step++) {
			unsigned section =
				(unsigned)trip_random_below(&rnd, TRIP_DOORBELL_SECTIONS);
			uint32_t index, count = bell.shape.count[section];

			if (count == 0) {
				assert_int_equal(
					trip_doorbell_take(&bell.db, section, &index, 1), 0);
			} else if (trip_random_below(&rnd, 3) != 0) {
				index = (uint32_t)trip_random_below(&rnd, count);
				trip_doorbell_ring(&bell.db, section, index);
				bell.rung[section][index] = 1;
				assert_false(trip_doorbell_idle(&bell.db));
			} else {
				take_some(&bell, section, (unsigned)trip_random_below(&rnd, 300));
			}
			bell_check(&bell);
		}
		for (step = 0; step < TRIP_DOORBELL_SECTIONS; step++)
			while (bell.rung[step] != NULL &&
				memchr(bell.rung[step], 1, bell.shape.count[step]) != NULL)
				take_some(&bell, step, 300);
		assert_true(model_idle(&bell));
		bell_free(&bell);
	}
}

/* 16 million indices: a take stops after its budget, loses nothing, and ends idle. */
static void
largest(void **state)
{
	struct bell bell = {.shape = {.count = {TRIP_DOORBELL_INDICES, 3}, .words = {7, 1}}};
	unsigned i, got = 0, takes = 0, want = 500;
	uint32_t out[64];

	bell.memory = aligned_alloc(64, trip_doorbell_size(&bell.shape));
	trip_doorbell_init(bell.memory, &bell.shape);
	trip_doorbell_map(&bell.db, bell.memory, &bell.shape);
	for (i = 0; i < want; i++)
		trip_doorbell_ring(
			&bell.db, 0, (uint32_t)((uint64_t)i * TRIP_DOORBELL_INDICES / want));
	trip_doorbell_ring(&bell.db, 0, TRIP_DOORBELL_INDICES - 1);
	trip_doorbell_ring(&bell.db, 0, TRIP_DOORBELL_INDICES); /* none: ignored */
	while (!trip_doorbell_idle(&bell.db)) {
		got += trip_doorbell_take(&bell.db, 0, out, 64);
		bell_check(&bell);
		assert_true(++takes < 100000);
	}
	assert_int_equal(got, want + 1);
	free(bell.memory);
}

static void
impossible_shapes(void **state)
{
	struct trip_doorbell_shape many = {.count = {1, 1}, .words = {8, 1}};
	struct trip_doorbell_shape large = {.count = {TRIP_DOORBELL_INDICES + 1}, .words = {8}};
	struct trip_doorbell_shape wordless = {.count = {1, 1}, .words = {8, 0}};
	struct trip_doorbell_shape spare = {.count = {1, 0}, .words = {1, 1}};

	assert_int_equal(trip_doorbell_size(&many), 0);
	assert_int_equal(trip_doorbell_size(&large), 0);
	assert_int_equal(trip_doorbell_size(&wordless), 0);
	assert_int_equal(trip_doorbell_size(&spare), 0);
}

/* Low indices that are rung again after every take do not starve a high one. */
static void
busy_indices_do_not_starve(void **state)
{
	uint64_t rounds = trip_test_rounds(200), i;
	struct bell bell = {.shape = {.words = {1}}};
	uint32_t out[8], index;

	for (i = 0; i < rounds; i++) {
		uint32_t count = (uint32_t)(200 + trip_random_below(&rnd, 20000));
		uint32_t quiet = (uint32_t)trip_random_below(&rnd, count);
		unsigned max = (unsigned)(1 + trip_random_below(&rnd, 8)), takes = 0, n;
		bool seen = false;

		bell.shape.count[0] = count;
		bell.memory = aligned_alloc(64, trip_doorbell_size(&bell.shape));
		trip_doorbell_init(bell.memory, &bell.shape);
		trip_doorbell_map(&bell.db, bell.memory, &bell.shape);
		trip_doorbell_ring(&bell.db, 0, quiet);
		while (!seen) {
			for (index = 0; index < 100; index++)
				trip_doorbell_ring(&bell.db, 0, index);
			n = trip_doorbell_take(&bell.db, 0, out, max);
			assert_int_equal(n, max);
			while (n > 0)
				seen |= out[--n] == quiet;
			assert_true(++takes <= 2 * 101 / max + 2);
		}
		free(bell.memory);
	}
}

/* A ringer that died between leaf and summary. */
static void
killed_ringer(void **state)
{
	struct bell bell = {.shape = {.count = {5000, 10}, .words = {1, 1}}};
	struct trip_doorbell_scrub scrub = {0};
	uint32_t out[4];

	bell.memory = aligned_alloc(64, trip_doorbell_size(&bell.shape));
	trip_doorbell_init(bell.memory, &bell.shape);
	trip_doorbell_map(&bell.db, bell.memory, &bell.shape);
	atomic_fetch_or(&bell.db.section[0].leaf[70], UINT64_C(1) << 3);
	assert_non_null(trip_doorbell_check(&bell.db));
	assert_true(trip_doorbell_idle(&bell.db));
	trip_doorbell_ring(&bell.db, 0, 70 * 64 + 3);
	assert_int_equal(trip_doorbell_take(&bell.db, 0, out, 4), 1);
	assert_int_equal(out[0], 70 * 64 + 3);

	atomic_fetch_or(&bell.db.section[0].leaf[70], UINT64_C(1) << 9);
	assert_int_equal(trip_doorbell_scrub(&bell.db, 0, &scrub, 60), 0);
	assert_int_equal(trip_doorbell_scrub(&bell.db, 0, &scrub, 60), 0);
	assert_int_equal(trip_doorbell_scrub(&bell.db, 0, &scrub, 60), 1);
	assert_int_equal(trip_doorbell_scrub(&bell.db, 0, &scrub, 1000), 0);
	assert_int_equal(trip_doorbell_take(&bell.db, 0, out, 4), 1);
	assert_int_equal(out[0], 70 * 64 + 9);
	bell_check(&bell);
	free(bell.memory);
}

/* Bits that no correct process sets neither become indices nor end the consumer's idleness. */
static void
garbage_bits(void **state)
{
	struct bell bell = {.shape = {.count = {70, 10}, .words = {2, 1}}};
	uint32_t out[200];
	unsigned i;

	bell.memory = aligned_alloc(64, trip_doorbell_size(&bell.shape));
	trip_doorbell_map(&bell.db, bell.memory, &bell.shape);
	for (i = 0; i < 200; i++) {
		size_t word, words = trip_doorbell_size(&bell.shape) / 8;
		uint64_t *raw = bell.memory;

		for (word = 0; word < words; word++)
			raw[word] = trip_random_below(&rnd, 3) ? trip_random_u64(&rnd) : UINT64_MAX;
		while (!trip_doorbell_idle(&bell.db)) {
			unsigned n = trip_doorbell_take(&bell.db, 0, out, 200);

			while (n > 0)
				assert_true(out[--n] < 70);
			n = trip_doorbell_take(&bell.db, 1, out, 200);
			while (n > 0)
				assert_true(out[--n] < 10);
		}
	}
	free(bell.memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(largest),
		cmocka_unit_test(impossible_shapes),
		cmocka_unit_test(busy_indices_do_not_starve),
		cmocka_unit_test(killed_ringer),
		cmocka_unit_test(garbage_bits),
	};

	rnd.state = trip_test_seed("doorbell");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
