/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that are set lower while the home is at work on them, with the setter stopped between
 * the value and its generation (cell.h), or killed there: what was accepted as due fires once, by a
 * sum that was at its threshold, and nothing fires that no sum was at.
 */
#include <rte_common.h>

#include "home_bed.h"

#define EPISODES 400
#define STEPS 400
#define RANGE 24

/* The first half of trip_cell_set(), and the second. */
static void
begin_set(struct bed *bed, uint32_t cntr, uint64_t value)
{
	atomic_store(&bed->home->cells[cntr].success, value);
}

static void
end_set(struct bed *bed, uint32_t cntr)
{
	struct trip_cell *cell = &bed->home->cells[cntr];

	atomic_fetch_add(&cell->setgen, 1);
	bed_ring_if(bed, cntr, atomic_load(&cell->armed) != 0);
}

static void
step(struct bed *bed)
{
	bed->now++;
	(void)trip_home_iterate(bed->home, bed->now);
}

static void
expect_fired(const struct bed *bed, uint32_t cntr, unsigned int n)
{
	const struct log *log = &bed->logs[cntr];

	assert_int_equal(log->n, n);
	for (unsigned int i = 0; i < n; i++)
		trip_assert_range(log->fired[i].threshold, 0, log->fired[i].value);
}

/* At 20, as the home knows. */
static struct bed *
open_at_20(void)
{
	struct bed *bed = bed_open(0);

	bed_submit(bed, 0, 1, 0, 0);
	bed_settle(bed);
	bed_add(bed, 0, 20);
	bed_settle(bed);
	assert_int_equal(bed->home->cntrs[0].pending.sample, 20);
	bed->logs[0].n = 0;
	return bed;
}

/* The counter has rung, an item is queued that is due, and then the set begins. */
static void
within_a_set(void **state)
{
	struct bed *bed = open_at_20();

	bed_submit(bed, 0, 21, 0, 0);
	bed_settle(bed);
	assert_true(bed_add(bed, 0, 1));
	bed_submit(bed, 0, 10, 0, 1);
	begin_set(bed, 0, 5);
	bed_settle(bed);
	expect_fired(bed, 0, 0);
	end_set(bed, 0);
	bed_settle(bed);
	expect_fired(bed, 0, 0);
	bed_add(bed, 0, 16);
	bed_settle(bed);
	expect_fired(bed, 0, 2);
	bed_close(bed);
}

/* ---- anything, at any moment of a round ---- */

struct world {
	struct bed *bed;
	struct trip_random random;
	uint64_t submitted;
	/* A set has begun there. */
	bool setting[SINK];
};

static uint64_t
below(struct world *world, uint64_t bound)
{
	return trip_random_below(&world->random, bound);
}

static void
set_half(struct world *world, uint32_t cntr)
{
	if (!world->setting[cntr])
		begin_set(world->bed, cntr, below(world, RANGE));
	/* Or it is killed here, and the next one begins anew. */
	else if (below(world, 4) > 0)
		end_set(world->bed, cntr);
	world->setting[cntr] = !world->setting[cntr];
}

/* Mostly one; now and then more than fire in one iteration. */
static void
submit_some(struct world *world, uint32_t cntr)
{
	uint64_t n = below(world, 8) == 0 ? below(world, SLOTS) : 1;

	for (; n > 0 && world->submitted - world->bed->fired < SLOTS; n--)
		bed_submit(world->bed, cntr, below(world, RANGE), 0, world->submitted++);
}

static void
change(struct world *world)
{
	struct bed *bed = world->bed;
	uint32_t cntr = (uint32_t)below(world, 2);
	uint64_t what = below(world, 16);

	if (what < 4) {
		submit_some(world, cntr);
	} else if (what < 8) {
		set_half(world, cntr);
	} else if (what < 11) {
		bed_add(bed, cntr, below(world, 4));
	} else if (what < 12) {
		/* Rings may come for nothing. */
		bed_ring_if(bed, cntr, true);
	} else {
		/* Less than any domain has: a round takes several of these. */
		bed->home->budget = 1 + (unsigned int)below(world, 4);
		step(bed);
	}
}

/* Raised to where all is due, with no set under way; each item has fired once by then. */
static void
end(struct world *world)
{
	struct bed *bed = world->bed;

	for (uint32_t i = 0; i < SINK; i++) {
		begin_set(bed, i, RANGE);
		end_set(bed, i);
		bed_ring_if(bed, i, true);
	}
	bed_settle(bed);
	for (uint32_t i = 0; i < SINK; i++)
		expect_fired(bed, i, bed->logs[i].n);
	assert_int_equal(bed->fired, world->submitted);
	bed_close(bed);
}

static void
any_moment(void **state)
{
	uint64_t seed = trip_test_seed("lowered");

	for (unsigned int i = 0; i < EPISODES; i++) {
		struct world world = {.bed = bed_open(0), .random = {seed + i}};

		for (unsigned int n = 0; n < STEPS; n++)
			change(&world);
		end(&world);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_a_set),
		cmocka_unit_test(any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
