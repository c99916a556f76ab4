/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot counters (hot.h), driven by hand on a clock of the test's own: when a counter becomes one and
 * when it cools, that nobody rings meanwhile, and that what happens is what happens in a home that
 * has none, whatever is done to both.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "home_bed.h"
#include "source.h"
#include "waiter.h"

#define ITEMS 40
#define ROUNDS 40000

static bool
is_hot(const struct bed *bed, uint32_t cntr)
{
	return bed->home->cntrs[cntr].hot != 0;
}

/* Fires twice, a moment apart. */
static void
heat(struct bed *bed, uint32_t cntr)
{
	bed_submit(bed, cntr, 1, 1, 0);
	bed_settle(bed);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(bed_add(bed, cntr, 1));
		bed_settle(bed);
	}
	assert_int_equal(bed->logs[cntr].n, 2);
}

static void
fires_twice_is_hot(void **state)
{
	struct bed *bed = bed_open(10);

	heat(bed, 0);
	assert_true(is_hot(bed, 0));
	assert_false(trip_home_idle(bed->home));
	for (unsigned int i = 3; i < 100; i++) {
		bed->now += TICK / 2;
		assert_false(bed_add(bed, 0, 1));
		assert_true(trip_doorbell_idle(&bed->home->doorbell));
		bed_settle(bed);
		assert_int_equal(bed->logs[0].n, i);
		assert_true(is_hot(bed, 0));
	}
	assert_int_equal(atomic_load(&bed->home->stats.heated), 1);
	bed_close(bed);
}

static void
fires_seldom_is_not(void **state)
{
	struct bed *bed = bed_open(10);

	bed_submit(bed, 0, 1, 1, 0);
	bed_settle(bed);
	for (unsigned int i = 1; i < 20; i++) {
		bed->now += 2 * TICK;
		assert_true(bed_add(bed, 0, 1));
		bed_settle(bed);
		assert_int_equal(bed->logs[0].n, i);
		assert_false(is_hot(bed, 0));
	}
	bed_close(bed);
}

static void
cools_after_a_while(void **state)
{
	struct bed *bed = bed_open(10);
	const struct trip_cell *cell = &bed->home->cells[0];

	heat(bed, 0);
	bed->now += TICK - 1;
	bed_settle(bed);
	assert_true(is_hot(bed, 0));
	bed->now += 1;
	bed_settle(bed);
	assert_false(is_hot(bed, 0));
	assert_true(trip_home_idle(bed->home));
	assert_int_equal(atomic_load(&cell->trip_at), 3);
	assert_int_equal(atomic_load(&cell->next), 3);
	assert_true(bed_add(bed, 0, 1));
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 3);
	bed_close(bed);
}

/* What comes between the last look and the arming is found by settling. */
static void
cools_over_an_update(void **state)
{
	struct bed *bed = bed_open(10);

	heat(bed, 0);
	bed->now += 2 * TICK;
	assert_false(bed_add(bed, 0, 1));
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 3);
	bed_close(bed);
}

/* It is added to without firing: the line is left to the adders. */
static void
cools_when_it_is_looked_at_in_vain(void **state)
{
	struct bed *bed = bed_open(10);
	unsigned int looks = 0;

	heat(bed, 0);
	bed_submit(bed, 1, 1, 0, 0);
	bed_submit(bed, 1, 2, 0, 1);
	bed_submit(bed, 1, 1000, 0, 2);
	bed_settle(bed);
	assert_true(bed_add(bed, 1, 1));
	bed_settle(bed);
	assert_true(bed_add(bed, 1, 1));
	bed_settle(bed);
	assert_true(is_hot(bed, 1));
	for (; is_hot(bed, 1); looks++) {
		assert_false(bed_add(bed, 1, 1));
		bed_settle(bed);
	}
	trip_assert_range(looks, 2, 16);
	assert_true(is_hot(bed, 0));
	assert_int_equal(atomic_load(&bed->home->cells[1].trip_at), 1000);
	assert_true(bed_add(bed, 1, 1000 - 2 - looks));
	bed_settle(bed);
	assert_int_equal(bed->logs[1].n, 3);
	bed_close(bed);
}

static void
only_so_many_are(void **state)
{
	struct bed *bed = bed_open(10);

	for (uint32_t i = 0; i < TRIP_HOT_MAX + 2; i++)
		heat(bed, i);
	for (uint32_t i = 0; i < TRIP_HOT_MAX + 2; i++) {
		assert_int_equal(is_hot(bed, i), i < TRIP_HOT_MAX);
		assert_int_equal(bed_add(bed, i, 1), i >= TRIP_HOT_MAX);
	}
	bed_settle(bed);
	for (uint32_t i = 0; i < TRIP_HOT_MAX + 2; i++)
		assert_int_equal(bed->logs[i].n, 3);
	/* One in the middle cools, and leaves its place to one that rang. */
	bed->now += TICK / 2;
	for (uint32_t i = 0; i < TRIP_HOT_MAX; i++)
		if (i != 1)
			bed_add(bed, i, 1);
	bed_settle(bed);
	bed->now += TICK / 2;
	bed_settle(bed);
	assert_false(is_hot(bed, 1));
	assert_true(bed_add(bed, TRIP_HOT_MAX, 1));
	bed_settle(bed);
	assert_true(is_hot(bed, TRIP_HOT_MAX));
	bed_close(bed);
}

/* What was submitted before the update that makes it due fires with what it makes due as well, in
 * threshold order, though nobody looked at the counter's doorbell. */
static void
keeps_the_order(void **state)
{
	static const uint64_t order[] = {3, 5, 10, 20};
	struct bed *bed = bed_open(10);
	const struct log *log = &bed->logs[0];

	heat(bed, 0);
	bed_submit(bed, 0, 20, 0, 20);
	bed_submit(bed, 0, 5, 0, 5);
	bed_settle(bed);
	assert_true(is_hot(bed, 0));
	bed_submit(bed, 0, 10, 0, 10);
	assert_false(bed_add(bed, 0, 18));
	bed_settle(bed);
	/* Behind them, what the interval makes of the same jump. */
	assert_int_equal(log->n, 20 + 3);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(log->fired[2 + i].threshold, order[i]);
	bed_close(bed);
}

static void
sees_errors_and_sets(void **state)
{
	struct bed *bed = bed_open(10);
	struct trip_cell *cell = &bed->home->cells[0];

	heat(bed, 0);
	assert_false(trip_cell_adderr(cell, 1));
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 3);
	assert_false(trip_cell_set(cell, 0));
	assert_false(trip_cell_set(cell, 7));
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 8);
	assert_false(trip_cell_set(cell, 0));
	bed_settle(bed);
	assert_false(trip_cell_seterr(cell, 10));
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 10);
	assert_true(is_hot(bed, 0));
	bed_close(bed);
}

/* Nobody rings for it, nor is it looked at: settling finds that it was set, and has it sampled. */
static void
sees_a_set_while_it_fires(void **state)
{
	struct bed *bed = bed_open(10);
	struct trip_cell *cell = &bed->home->cells[0];

	heat(bed, 0);
	bed->home->budget = 1;
	bed_add(bed, 0, 1000);
	trip_home_iterate(bed->home, bed->now);
	assert_int_equal(bed->home->cntrs[0].due, TRIP_DUE_FIRING);
	assert_false(trip_cell_set(cell, 0));
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 1002);
	assert_int_equal(bed->home->cntrs[0].setgen, atomic_load(&cell->setgen));
	assert_int_equal(bed->home->cntrs[0].sample, 0);
	bed_close(bed);
}

/* A setter that was killed leaves a value without a generation; nobody has to repair that. */
static void
sees_what_a_killed_setter_left(void **state)
{
	struct bed *bed = bed_open(10);
	uint32_t sampled;

	heat(bed, 0);
	atomic_store(&bed->home->cells[0].error, 1);
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 3);
	atomic_store(&bed->home->cells[0].success, 1);
	sampled = (uint32_t)bed->home->cntrs[0].sample;
	bed_settle(bed);
	assert_int_not_equal((uint32_t)bed->home->cntrs[0].sample, sampled);
	bed_close(bed);
}

/* The scrub passes by while counters are hot, and has nothing to do. */
static void
is_no_repair(void **state)
{
	struct bed *bed = bed_open(10);

	heat(bed, 0);
	for (unsigned int i = 0; i < 50; i++) {
		bed->now += TICK / 4;
		bed_add(bed, 0, i % 3);
		bed_settle(bed);
	}
	assert_true(is_hot(bed, 0));
	bed_close(bed);
}

/* What flows count is not in the cell before it rings. */
static void
is_none_that_flows_feed(void **state)
{
	struct bed *bed = bed_open(10);

	heat(bed, 0);
	assert_true(is_hot(bed, 0));
	trip_source_link(bed->home, 0);
	bed_settle(bed);
	assert_false(is_hot(bed, 0));
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(bed_add(bed, 0, 1));
		bed_settle(bed);
	}
	assert_int_equal(bed->logs[0].n, 5);
	assert_false(is_hot(bed, 0));
	trip_source_unlink(bed->home, 0);
	bed_close(bed);
}

/* ---- whatever is done, it happens as in a home that has no hot counters ---- */

struct pair {
	struct bed *beds[2];
	struct trip_random random;
	/* The two give slots out in different orders. */
	uint64_t ids[2][ITEMS], items;
};

static uint64_t
below(struct pair *pair, uint64_t bound)
{
	return trip_random_below(&pair->random, bound);
}

static void
update_both(struct pair *pair, uint32_t cntr)
{
	unsigned int what = (unsigned int)below(pair, 10);
	/* To add nothing may ring for nothing. */
	uint64_t value = 1 + below(pair, 3),
		 level = trip_cell_success(&pair->beds[0]->home->cells[cntr]);

	for (unsigned int i = 0; i < 2; i++) {
		struct trip_cell *cell = &pair->beds[i]->home->cells[cntr];

		if (what < 7)
			bed_add(pair->beds[i], cntr, value);
		else if (what == 7)
			bed_ring_if(pair->beds[i], cntr, trip_cell_adderr(cell, 1));
		else if (what == 8)
			bed_ring_if(pair->beds[i], cntr, trip_cell_seterr(cell, value));
		else
			bed_ring_if(pair->beds[i], cntr,
				trip_cell_set(
					cell, level > 8 ? level - 8 + 4 * value : level + value));
	}
}

/* Cancels an item. A cell stays armed for what was canceled, and is sampled for nothing then unless
 * it was armed anew meanwhile: here all are. */
static int
cancel(struct bed *bed, uint64_t id)
{
	if (id == 0 || trip_channel_cancel(&bed->home->clients[0], id) != 0)
		return -ENOENT;
	trip_doorbell_ring(&bed->home->doorbell, TRIP_BELL_CHANNEL, 0);
	bed_settle(bed);
	for (uint32_t i = 0; i < CNTRS; i++)
		bed_ring_if(bed, i, true);
	bed_settle(bed);
	return 0;
}

static void
submit_both(struct pair *pair, uint32_t cntr)
{
	uint64_t sum = trip_cell_sum(&pair->beds[0]->home->cells[cntr]);
	uint64_t threshold = sum + below(pair, 8),
		 interval = below(pair, 4) == 0 ? 1 + below(pair, 3) : 0;

	pair->items++;
	/* At most so many wait: the oldest goes. */
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t *id = &pair->ids[i][pair->items % ITEMS];

		(void)cancel(pair->beds[i], *id);
		bed_settle(pair->beds[i]);
		*id = bed_submit(pair->beds[i], cntr, threshold, interval, pair->items);
	}
}

static void
cancel_both(struct pair *pair)
{
	uint64_t which = below(pair, ITEMS);
	int first = cancel(pair->beds[0], pair->ids[0][which]);

	assert_int_equal(cancel(pair->beds[1], pair->ids[1][which]), first);
}

static void
wait_both(struct pair *pair, uint32_t cntr)
{
	uint32_t waiter = (uint32_t)below(pair, WAITERS);
	uint64_t ahead = below(pair, 6),
		 level = trip_cell_success(&pair->beds[0]->home->cells[cntr]);

	for (unsigned int i = 0; i < 2; i++) {
		struct trip_home *home = pair->beds[i]->home;
		struct trip_cell_sample seen;

		trip_cell_sample(&home->cells[cntr], &seen);
		if (ahead < 5)
			trip_waiter_arm(home, waiter, waiter, cntr,
				ahead == 0 ? TRIP_WAITER_ANY : level + ahead, &seen);
		else
			trip_waiter_disarm(home, waiter);
	}
}

static void
compare(struct pair *pair)
{
	struct bed *a = pair->beds[0], *b = pair->beds[1];

	bed_settle(a);
	bed_settle(b);
	for (uint32_t i = 0; i < CNTRS; i++) {
		assert_int_equal(a->logs[i].n, b->logs[i].n);
		assert_memory_equal(a->logs[i].fired, b->logs[i].fired,
			a->logs[i].n * sizeof(*a->logs[i].fired));
		a->logs[i].n = 0;
		b->logs[i].n = 0;
	}
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_int_equal(atomic_load(&a->home->waiters[i].word),
			atomic_load(&b->home->waiters[i].word));
	assert_int_equal(atomic_load(&a->home->stats.wakes), atomic_load(&b->home->stats.wakes));
}

static void
change_both(struct pair *pair)
{
	uint32_t cntr = (uint32_t)below(pair, SINK);
	unsigned int what = (unsigned int)below(pair, 16);

	if (what < 9)
		update_both(pair, cntr);
	else if (what < 12)
		submit_both(pair, cntr);
	else if (what < 13)
		cancel_both(pair);
	else if (what < 15)
		wait_both(pair, cntr);
	else
		for (unsigned int i = 0; i < 2; i++)
			pair->beds[i]->now += pair->items % 7 == 0 ? 2 * TICK : TICK / 8;
	if (below(pair, 3) > 0)
		compare(pair);
}

/* Not by another clock than that of its iterations. */
static void
knows_how_long_it_takes(void **state)
{
	struct bed *bed = bed_open(10);
	const struct log *log = &bed->logs[0];

	heat(bed, 0);
	assert_int_equal(atomic_load(&bed->home->stats.longest_tsc), 0);
	bed->takes = 5;
	bed_add(bed, 0, 3);
	bed_settle(bed);
	assert_int_equal(log->n, 5);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(log->fired[2 + i].latency, i * bed->takes);
	assert_int_equal(atomic_load(&bed->home->stats.longest_tsc), 3 * bed->takes);
	bed->takes = 0;
	bed_close(bed);
}

static void
happens_the_same(void **state)
{
	struct pair pair = {.beds = {bed_open(10), bed_open(0)}, .random = {trip_test_seed("hot")}};
	uint64_t heated;

	for (uint64_t i = trip_test_rounds(ROUNDS); i > 0; i--)
		change_both(&pair);
	compare(&pair);
	heated = atomic_load(&pair.beds[0]->home->stats.heated);
	printf("hot: %" PRIu64 " times\n", heated);
	assert_true(heated > 0);
	assert_int_equal(atomic_load(&pair.beds[1]->home->stats.heated), 0);
	bed_close(pair.beds[0]);
	bed_close(pair.beds[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires_twice_is_hot),
		cmocka_unit_test(fires_seldom_is_not),
		cmocka_unit_test(cools_after_a_while),
		cmocka_unit_test(cools_over_an_update),
		cmocka_unit_test(cools_when_it_is_looked_at_in_vain),
		cmocka_unit_test(only_so_many_are),
		cmocka_unit_test(keeps_the_order),
		cmocka_unit_test(sees_errors_and_sets),
		cmocka_unit_test(sees_a_set_while_it_fires),
		cmocka_unit_test(sees_what_a_killed_setter_left),
		cmocka_unit_test(is_no_repair),
		cmocka_unit_test(is_none_that_flows_feed),
		cmocka_unit_test(knows_how_long_it_takes),
		cmocka_unit_test(happens_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
