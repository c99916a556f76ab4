/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that are set lower while the home is at work on them, with the setter stopped between
 * the value and its generation (cell.h), or killed there: what was accepted as due fires once, by a
 * sum that was at its threshold, and nothing fires that no sum was at since it was submitted. Also
 * where they are set all the time, and in what order.
 */
#include <limits.h>

#include <rte_common.h>

#include "home_bed.h"

#define EPISODES (TRIP_TEST_TSAN ? 20 : 100)
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

/* ---- set again and again ---- */

/* More often than a home samples a counter anew that is set all the time. */
#define SETS 24
/* More than one iteration accepts. */
#define MANY 48

static void
set(struct bed *bed, uint32_t cntr, uint64_t value)
{
	begin_set(bed, cntr, value);
	end_set(bed, cntr);
}

/* The first client's channel. */
#define BUSY 3

/* A sweep that takes a few iterations, none of whose items will be due. */
static void
keep_busy(struct bed *bed)
{
	for (unsigned int i = 0; i < MANY; i++)
		assert_true(bed_submit_by(bed, BUSY, 1, 1000, 0, 0) != TRIP_WORK_NONE);
	bed_ring_channel(bed, BUSY);
	step(bed);
	assert_true(bed->home->sweeping);
}

/* Sampled while a sweep is under way, and set `n` times behind that, each time in another round;
 * with an item that is accepted. */
static struct bed *
open_restless(uint64_t threshold, uint64_t value, unsigned int n)
{
	struct bed *bed = bed_open(0);

	bed_submit(bed, 0, threshold, 0, 0);
	bed_settle(bed);
	/* One batch, and counters that ring while one waits for the next sweep. */
	bed->home->budget = 2;
	keep_busy(bed);
	set(bed, 0, value);
	step(bed);
	for (unsigned int i = 0; i < n; i++) {
		set(bed, 0, value);
		step(bed);
		bed_check(bed);
	}
	return bed;
}

/* However often it was high before. */
static void
queued_after_a_set(void **state)
{
	for (unsigned int n = 0; n < SETS; n++) {
		struct bed *bed = open_restless(1000, 100, n);

		set(bed, 0, 0);
		bed_submit(bed, 0, 50, 0, 1);
		bed_settle(bed);
		expect_fired(bed, 0, 0);
		set(bed, 0, 50);
		bed_settle(bed);
		expect_fired(bed, 0, 1);
		bed_close(bed);
	}
}

/* The lower item was submitted before the update that makes both due, and is accepted after a set
 * that undoes it. */
static void
queued_before_an_update(void **state)
{
	for (unsigned int n = 0; n < SETS; n++) {
		struct bed *bed = open_restless(20, 5, n);
		const struct log *log = &bed->logs[0];

		set(bed, 0, 5);
		keep_busy(bed);
		bed_submit(bed, 0, 10, 0, 1);
		bed_add(bed, 0, 95);
		step(bed);
		set(bed, 0, 0);
		bed_settle(bed);
		set(bed, 0, 100);
		bed_settle(bed);
		expect_fired(bed, 0, 2);
		assert_int_equal(log->fired[0].threshold, 10);
		bed_close(bed);
	}
}

/* Whoever sets it all the time delays what it is to fire, and no more. */
static void
never_at_rest(void **state)
{
	struct bed *bed = open_restless(50, 100, SETS);

	expect_fired(bed, 0, 1);
	for (unsigned int i = 0; i < SETS; i++) {
		bed_submit(bed, 0, 50, 0, i);
		for (unsigned int k = 0; k < SETS; k++) {
			set(bed, 0, 100);
			step(bed);
		}
	}
	expect_fired(bed, 0, 1 + SETS);
	bed_close(bed);
}

/* ---- anything, at any moment of a round ---- */

#define ITEMS 16384
#define CHANGES (STEPS * 32)

struct item {
	uint64_t threshold;
	uint32_t cntr;
	/* When, and what the counter was from then on: an index into its past. */
	unsigned int submitted, since;
	/* The first time that it was at the threshold, by then. */
	unsigned int due;
	/* Place in the order of firing; 0: not fired. */
	unsigned int place;
};

/* What a counter's sum has been. */
struct past {
	struct {
		uint64_t sum;
		unsigned int when;
	} at[CHANGES];
	unsigned int n;
	/* A set has begun, and perhaps none has ended since: it was submitted after no set but
	 * those before this. */
	bool setting, open;
	unsigned int before;
};

struct world {
	struct bed *bed;
	struct trip_random random;
	struct past past[SINK];
	struct item items[ITEMS];
	unsigned int now, n_items, n_fired;
	/* Sets have a beginning and an end. */
	bool halves;
};

static uint64_t
below(struct world *world, uint64_t bound)
{
	return trip_random_below(&world->random, bound);
}

static void
note_sum(struct world *world, uint32_t cntr)
{
	struct past *past = &world->past[cntr];

	assert_true(past->n < CHANGES);
	past->at[past->n].sum = trip_cell_sum(&world->bed->home->cells[cntr]);
	past->at[past->n++].when = ++world->now;
}

static void
set_half(struct world *world, uint32_t cntr)
{
	struct past *past = &world->past[cntr];

	if (!past->setting) {
		if (!past->open)
			past->before = past->n - 1;
		past->open = true;
		begin_set(world->bed, cntr, below(world, RANGE));
		note_sum(world, cntr);
	} else if (below(world, 4) > 0) {
		/* Or it is killed here, and the next one begins anew. */
		end_set(world->bed, cntr);
		past->open = false;
	}
	past->setting = !past->setting;
}

static void
set_any(struct world *world, uint32_t cntr)
{
	if (world->halves) {
		set_half(world, cntr);
	} else {
		set(world->bed, cntr, below(world, RANGE));
		note_sum(world, cntr);
	}
}

static void
submit_one(struct world *world, uint32_t cntr)
{
	const struct past *past = &world->past[cntr];
	struct item *item = &world->items[world->n_items];

	assert_true(world->n_items < ITEMS);
	*item = (struct item){.threshold = below(world, RANGE),
		.cntr = cntr,
		.submitted = ++world->now,
		.since = past->open ? past->before : past->n - 1};
	bed_submit(world->bed, cntr, item->threshold, 0, world->n_items++);
}

/* Mostly one; now and then more than fire in one iteration. */
static void
submit_some(struct world *world, uint32_t cntr)
{
	uint64_t n = below(world, 8) == 0 ? below(world, SLOTS) : 1;

	for (; n > 0 && world->n_items - world->n_fired < SLOTS; n--)
		submit_one(world, cntr);
}

/* The counter was there at a moment since the item was submitted (WORK-13), and the event says no
 * less (WORK-15). */
static void
take_fired(struct world *world, struct item *item, uint64_t value)
{
	const struct past *past = &world->past[item->cntr];
	uint64_t most = 0;

	for (unsigned int i = item->since; i < past->n; i++)
		most = RTE_MAX(most, past->at[i].sum);
	assert_int_equal(item->place, 0);
	item->place = ++world->n_fired;
	trip_assert_range(item->threshold, 0, most);
	trip_assert_range(item->threshold, 0, value);
}

static void
take_logs(struct world *world)
{
	struct bed *bed = world->bed;

	for (uint32_t c = 0; c < SINK; c++) {
		struct log *log = &bed->logs[c];

		for (unsigned int i = 0; i < log->n; i++)
			take_fired(world, &world->items[log->fired[i].context / CNTRS],
				log->fired[i].value);
		log->n = 0;
	}
}

/* With less than any domain has in an iteration: a round takes several of these. */
static void
go_on(struct world *world)
{
	world->bed->home->budget = 1 + (unsigned int)below(world, 4);
	step(world->bed);
	bed_check(world->bed);
	take_logs(world);
}

/* Sets in each round, as by somebody who does nothing else. */
static void
set_restlessly(struct world *world, uint32_t cntr)
{
	for (uint64_t n = below(world, 24); n > 0; n--) {
		set_any(world, cntr);
		if (world->halves)
			set_any(world, cntr);
		if (below(world, 4) == 0)
			submit_some(world, cntr);
		if (below(world, 4) == 0) {
			bed_add(world->bed, cntr, below(world, 4));
			note_sum(world, cntr);
		}
		go_on(world);
	}
}

static void
change(struct world *world)
{
	uint32_t cntr = (uint32_t)below(world, 2);
	uint64_t what = below(world, 64);

	if (what < 16) {
		submit_some(world, cntr);
	} else if (what < 32) {
		set_any(world, cntr);
	} else if (what < 44) {
		bed_add(world->bed, cntr, below(world, 4));
		note_sum(world, cntr);
	} else if (what < 48) {
		/* Rings may come for nothing. */
		bed_ring_if(world->bed, cntr, true);
	} else if (what < 50) {
		set_restlessly(world, cntr);
	} else {
		go_on(world);
	}
}

/* Raised to where all is due, with no set under way; each item has fired once by then. */
static void
end(struct world *world)
{
	struct bed *bed = world->bed;

	for (uint32_t i = 0; i < SINK; i++) {
		set(bed, i, RANGE);
		note_sum(world, i);
		bed_ring_if(bed, i, true);
	}
	bed_settle(bed);
	take_logs(world);
	assert_int_equal(world->n_fired, world->n_items);
	bed_close(bed);
}

/* The first time since it was submitted that the counter was at its threshold. */
static unsigned int
first_due(const struct world *world, const struct item *item)
{
	const struct past *past = &world->past[item->cntr];

	for (unsigned int i = item->since; i < past->n; i++)
		if (past->at[i].sum >= item->threshold)
			return past->at[i].when;
	return UINT_MAX;
}

/* Both were submitted before the update that made the higher one due, and neither was due then: the
 * lower one fires first (WORK-02); equal ones fire in the order of their submission (WORK-03). */
static void
check_order(struct world *world)
{
	for (unsigned int i = 0; i < world->n_items; i++)
		world->items[i].due = first_due(world, &world->items[i]);
	for (unsigned int i = 0; i < world->n_items; i++) {
		const struct item *x = &world->items[i];

		for (unsigned int k = 0; k < world->n_items; k++) {
			const struct item *y = &world->items[k];
			bool ordered = x->threshold == y->threshold && i < k;

			if (x->cntr != y->cntr || x->place < y->place)
				continue;
			if (x->threshold < y->threshold)
				ordered = x->due > x->submitted && y->due > y->submitted &&
					  y->due > x->submitted;
			if (ordered)
				fail_msg("item %u fired after item %u", i, k);
		}
	}
}

static struct world *
play(uint64_t seed, bool halves)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->bed = bed_open(0);
	world->random.state = seed;
	world->halves = halves;
	for (uint32_t i = 0; i < SINK; i++)
		note_sum(world, i);
	for (unsigned int n = 0; n < STEPS; n++)
		change(world);
	end(world);
	return world;
}

static void
any_moment(void **state)
{
	uint64_t seed = trip_test_seed("lowered");

	for (unsigned int i = 0; i < EPISODES; i++)
		free(play(seed + i, true));
}

static void
any_order(void **state)
{
	uint64_t seed = trip_test_seed("lowered in order");

	for (unsigned int i = 0; i < EPISODES; i++) {
		struct world *world = play(seed + i, false);

		check_order(world);
		free(world);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_a_set),
		cmocka_unit_test(queued_after_a_set),
		cmocka_unit_test(queued_before_an_update),
		cmocka_unit_test(never_at_rest),
		cmocka_unit_test(any_moment),
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
