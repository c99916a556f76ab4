/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter cell against a model in 128-bit arithmetic. */
#include <trip_test.h>

#include "cell.h"

struct model {
	uint64_t success, error, bound;
	/* The bound less the error of when it was armed. */
	uint64_t trip_at;
	uint32_t errgen, setgen;
	/* The sum, when either value was set last. */
	uint64_t set_to;
	bool armed;
};

static struct trip_random rnd;

/* Values that matter: small, around 2^32, around the maximum, beyond it. */
static uint64_t
some_value(void)
{
	static const uint64_t around[] = {
		0, 1, UINT64_C(1) << 32, TRIP_CNTR_MAX, UINT64_C(1) << 63, UINT64_MAX};
	uint64_t base = around[trip_random_below(&rnd, 6)];

	switch (trip_random_below(&rnd, 4)) {
	case 0:
		return base + trip_random_below(&rnd, 8);
	case 1:
		return base - trip_random_below(&rnd, 8);
	case 2:
		return trip_random_below(&rnd, 1000);
	default:
		return trip_random_u64(&rnd) >> trip_random_below(&rnd, 64);
	}
}

static uint64_t
at_most_max(trip_u128 value)
{
	return value > TRIP_CNTR_MAX ? TRIP_CNTR_MAX : (uint64_t)value;
}

/* As far as a limit, which may be passed already. A ring that finds the cell so is superfluous, and
 * allowed. */
static void
step_fill(struct trip_cell *cell, struct model *m, uint64_t value)
{
	uint64_t limit = at_most_max(some_value()), before = m->success;

	if (before < limit)
		m->success = (trip_u128)before + value > limit ? limit : before + value;
	if (trip_cell_fill(cell, value, limit))
		assert_true(m->armed && (m->success >= m->trip_at || m->success == TRIP_CNTR_MAX));
	else
		assert_false(m->armed && m->success >= m->trip_at && m->success != before);
}

static void
step_values(struct trip_cell *cell, struct model *m)
{
	uint64_t v = some_value(), before = m->error, was;

	switch (trip_random_below(&rnd, 7)) {
	case 0:
	case 1:
		m->success = at_most_max((trip_u128)m->success + v);
		/* Where only an error or nothing is waited for, or more than success can be, a ring
		 * at the maximum is superfluous, and allowed. */
		if (trip_cell_add(cell, v) != (m->armed && m->success >= m->trip_at))
			assert_true(m->armed && m->trip_at > TRIP_CNTR_MAX &&
				    m->success == TRIP_CNTR_MAX);
		break;
	case 2:
		m->success = at_most_max(v);
		m->set_to = m->success + m->error;
		m->setgen++;
		assert_int_equal(trip_cell_set(cell, v), m->armed);
		break;
	case 3:
		m->error = at_most_max((trip_u128)m->error + v);
		m->errgen += m->error != before;
		assert_int_equal(trip_cell_adderr(cell, v), m->armed && m->error != before);
		break;
	case 4:
		step_fill(cell, m, v);
		break;
	case 5:
		assert_int_equal(trip_cell_reset(cell, &was), m->armed);
		assert_true(was == m->success);
		m->success = 0;
		m->set_to = m->error;
		m->setgen++;
		break;
	default:
		m->error = at_most_max(v);
		m->errgen += m->error != before;
		m->set_to = m->success + m->error;
		m->setgen++;
		assert_int_equal(trip_cell_seterr(cell, v), m->armed);
		break;
	}
}

static void
step_arm(struct trip_cell *cell, struct model *m)
{
	bool armed = trip_random_below(&rnd, 2);
	uint64_t sum = m->success + m->error;

	/* A sum, or TRIP_CELL_IDLE. */
	m->bound = trip_random_below(&rnd, 3) ? some_value() : TRIP_CELL_IDLE;
	if (trip_random_below(&rnd, 3) == 0 && sum < TRIP_CELL_IDLE - 8)
		m->bound = sum + trip_random_below(&rnd, 8);
	m->trip_at = m->bound == TRIP_CELL_IDLE ? TRIP_CELL_IDLE
		     : m->bound > m->error      ? m->bound - m->error
						: 0;
	m->armed = armed || m->bound != TRIP_CELL_IDLE;
	assert_int_equal(trip_cell_arm(cell, m->bound, armed),
		m->bound != TRIP_CELL_IDLE && sum >= m->bound);
}

static void
compare(const struct trip_cell *cell, const struct model *m)
{
	const char *wrong = trip_cell_check(cell);

	if (wrong != NULL)
		fail_msg("%s", wrong);
	assert_true(trip_cell_success(cell) == m->success);
	assert_true(trip_cell_error(cell) == m->error);
	assert_true(trip_cell_sum(cell) == m->success + m->error);
	assert_true(cell->errgen == m->errgen && cell->setgen == m->setgen);
	assert_true(cell->set_to == m->set_to);
}

static void
random_operations(void **state)
{
	uint64_t rounds = trip_test_rounds(2000), i;
	struct trip_cell_sample sample, before;
	struct trip_cell cell;
	unsigned step;

	for (i = 0; i < rounds; i++) {
		struct model m = {.bound = TRIP_CELL_IDLE, .trip_at = TRIP_CELL_IDLE};

		trip_cell_init(&cell);
		for (step = 0; step < 100; step++) {
			trip_cell_sample(&cell, &before);
			if (trip_random_below(&rnd, 4) == 0)
				step_arm(&cell, &m);
			else
				step_values(&cell, &m);
			compare(&cell, &m);
			trip_cell_sample(&cell, &sample);
			assert_false(trip_cell_stale(&cell, &sample));
			if (sample.errgen != before.errgen || sample.setgen != before.setgen)
				assert_true(trip_cell_stale(&cell, &before));
		}
	}
}

static void
wide_values_read_back(void **state)
{
	struct trip_cell cell;
	unsigned i;

	trip_cell_init(&cell);
	trip_cell_arm(&cell, (UINT64_C(1) << 32) + 5, false);
	for (i = 0; i < 4; i++)
		assert_false(trip_cell_add(&cell, UINT64_C(1) << 30));
	assert_false(trip_cell_add(&cell, 4));
	assert_true(trip_cell_add(&cell, 1));
	assert_true(trip_cell_success(&cell) == (UINT64_C(1) << 32) + 5);
	trip_cell_set(&cell, 0);
	assert_true(trip_cell_add(&cell, (UINT64_C(1) << 32) + 5));
	assert_true(trip_cell_success(&cell) == (UINT64_C(1) << 32) + 5);
}

/* Both values at their maximum. */
static void
saturates(void **state)
{
	struct trip_cell cell;

	trip_cell_init(&cell);
	trip_cell_seterr(&cell, TRIP_CNTR_MAX);
	trip_cell_set(&cell, TRIP_CNTR_MAX - 1);
	trip_cell_arm(&cell, TRIP_CNTR_MAX, false);
	assert_true(trip_cell_add(&cell, UINT32_MAX));
	assert_null(trip_cell_check(&cell));
	assert_true(trip_cell_success(&cell) == TRIP_CNTR_MAX);
	assert_true(trip_cell_sum(&cell) == UINT64_MAX - 1);
	assert_true(trip_cell_add(&cell, UINT64_MAX));
	assert_true(trip_cell_success(&cell) == TRIP_CNTR_MAX);
	assert_false(trip_cell_adderr(&cell, 1));
}

/* A reader never sees what an adder left that died between its add and its clamp. */
static void
killed_before_the_clamp(void **state)
{
	struct trip_cell cell;
	uint64_t was;

	trip_cell_init(&cell);
	trip_cell_set(&cell, TRIP_CNTR_MAX);
	atomic_fetch_add(&cell.success, UINT32_MAX);
	assert_true(trip_cell_success(&cell) == TRIP_CNTR_MAX);
	assert_non_null(trip_cell_check(&cell));
	trip_cell_add(&cell, 1);
	assert_null(trip_cell_check(&cell));
	atomic_fetch_add(&cell.success, UINT32_MAX);
	trip_cell_reset(&cell, &was);
	assert_true(was == TRIP_CNTR_MAX);
	assert_null(trip_cell_check(&cell));
}

/* ... nor does a home overlook one that died before its ring or before its generation. */
static void
killed_before_the_ring(void **state)
{
	struct trip_cell_sample sample;
	struct trip_cell cell;

	trip_cell_init(&cell);
	trip_cell_arm(&cell, 10, false);
	trip_cell_sample(&cell, &sample);
	atomic_fetch_add(&cell.success, 9);
	assert_false(trip_cell_stale(&cell, &sample));
	atomic_fetch_add(&cell.success, 1);
	assert_true(trip_cell_stale(&cell, &sample));
	trip_cell_sample(&cell, &sample);
	atomic_store(&cell.error, 3);
	assert_true(trip_cell_stale(&cell, &sample));
	trip_cell_sample(&cell, &sample);
	atomic_store(&cell.success, 0);
	assert_true(trip_cell_stale(&cell, &sample));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(wide_values_read_back),
		cmocka_unit_test(saturates),
		cmocka_unit_test(killed_before_the_clamp),
		cmocka_unit_test(killed_before_the_ring),
	};

	rnd.state = trip_test_seed("cell");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
