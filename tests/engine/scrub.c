/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any process that is attached can clear bits of a doorbell. What others have rung for by then is
 * found by the scrub: here a bit is cleared as soon as it is set, and nobody rings again.
 */
#include <string.h>

#include <rte_common.h>

#include "errand.h"
#include "home_bed.h"
#include "waiter.h"

#define PORT 200

/* The bits that are set of a section, as a hostile client clears them. */
static uint64_t
silence(struct bed *bed, unsigned int bell)
{
	const struct trip_doorbell *db = &bed->home->doorbell;
	const struct trip_doorbell_section *section = &db->section[bell];
	uint64_t silenced = 0;

	for (uint32_t i = 0; i < section->leaves; i++)
		silenced += (uint64_t)__builtin_popcountll(atomic_exchange(&section->leaf[i], 0));
	atomic_store(&db->summary[section->first], 0);
	return silenced;
}

/* More than enough for two passes of the scrub. */
static void
let_pass(struct bed *bed)
{
	for (unsigned int i = 0; i < 64; i++) {
		bed->now += TICK;
		bed_settle(bed);
	}
}

/* The bit was cleared once, and repaired once. */
static void
close_repaired(struct bed *bed, uint64_t repairs)
{
	let_pass(bed);
	bed->repairs = repairs;
	bed_close(bed);
}

static uint32_t
first_channel_of(const struct bed *bed, uint32_t client)
{
	return trip_home_client_channel(&bed->home->shape, client);
}

static void
items_are_accepted(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t channel = first_channel_of(bed, 1);

	let_pass(bed);
	for (unsigned int i = 0; i < SLOTS; i++)
		assert_true(bed_submit_by(bed, channel, 0, 1, 0, i) != TRIP_WORK_NONE);
	bed_ring_channel(bed, channel);
	assert_int_equal(silence(bed, TRIP_BELL_CHANNEL), 1);
	let_pass(bed);
	assert_int_equal(atomic_load(&bed->home->stats.pending), SLOTS);
	bed_add(bed, 0, 1);
	bed_settle(bed);
	assert_int_equal(bed->fired, SLOTS);
	close_repaired(bed, 1);
}

/* All of it while the home has more to do than it comes to. */
static void
items_are_accepted_by_a_busy_home(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t busy = first_channel_of(bed, 0), channel = first_channel_of(bed, 1);
	struct trip_home *home = bed->home;

	home->budget = 16;
	assert_true(bed_submit_by(bed, channel, 0, 1, 0, 0) != TRIP_WORK_NONE);
	for (unsigned int i = 0; i < 120; i++) {
		/* Before that is accepted: the sweep does not end. */
		while (bed_submit_by(bed, busy, 1, 1, 0, 0) != TRIP_WORK_NONE)
			;
		bed_ring_channel(bed, busy);
		bed_add(bed, 1, 1);
		bed->now += TICK;
		(void)trip_home_iterate(home, bed->now);
		bed_check(bed);
	}
	bed_add(bed, 0, 1);
	home->budget = 256;
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 1);
	close_repaired(bed, 1);
}

static void
canceled_items_are_taken_back(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t channel = first_channel_of(bed, 2);
	uint64_t ids[SLOTS];

	for (unsigned int i = 0; i < SLOTS; i++)
		ids[i] = bed_submit_by(bed, channel, 0, 1, 0, i);
	bed_ring_channel(bed, channel);
	bed_settle(bed);
	for (unsigned int i = 0; i < SLOTS; i++)
		assert_int_equal(trip_channel_cancel(&bed->home->clients[channel], ids[i]), 0);
	bed_ring_channel(bed, channel);
	assert_int_equal(silence(bed, TRIP_BELL_CHANNEL), 1);
	let_pass(bed);
	assert_int_equal(atomic_load(&bed->home->stats.pending), 0);
	/* Its places are to be had again. */
	assert_true(bed_submit_by(bed, channel, 0, 1, 0, 0) != TRIP_WORK_NONE);
	bed_ring_channel(bed, channel);
	close_repaired(bed, 1);
}

static bool
signalled(const struct bed *bed, uint32_t waiter)
{
	return (atomic_load(&bed->home->waiters[waiter].word) & TRIP_WAITER_STATE_MASK) ==
	       TRIP_WAITER_SIGNALED;
}

static void
arm(struct bed *bed, uint32_t waiter, uint64_t threshold)
{
	struct trip_cell_sample seen;

	trip_cell_sample(&bed->home->cells[0], &seen);
	trip_waiter_arm(bed->home, waiter, waiter, 0, threshold, &seen);
}

static void
waiters_are_woken(void **state)
{
	struct bed *bed = bed_open(0);

	let_pass(bed);
	arm(bed, 1, 3);
	assert_int_equal(silence(bed, TRIP_BELL_WAITER), 1);
	let_pass(bed);
	assert_false(signalled(bed, 1));
	bed_add(bed, 0, 3);
	bed_settle(bed);
	assert_true(signalled(bed, 1));
	/* And again, when it was known for an older request. */
	arm(bed, 1, 100);
	bed_settle(bed);
	arm(bed, 1, TRIP_WAITER_ANY);
	assert_true(silence(bed, TRIP_BELL_WAITER) > 0);
	let_pass(bed);
	bed_add(bed, 0, 1);
	bed_settle(bed);
	assert_true(signalled(bed, 1));
	close_repaired(bed, 2);
}

/* It waits for a counter that was set, with items that are to fire before: its home rings for
 * itself, to queue it later. */
static void
waiters_that_are_to_be_queued_later_are(void **state)
{
	struct bed *bed = bed_open(0);
	struct trip_cell *cell = &bed->home->cells[0];
	bool later = false;

	bed->home->budget = 16;
	for (unsigned int i = 0; i < 2 * SLOTS / 3; i++)
		bed_submit(bed, 0, 5, 0, i);
	bed_settle(bed);
	bed_add(bed, 0, 10);
	(void)trip_home_iterate(bed->home, bed->now);
	assert_int_not_equal(bed->home->cntrs[0].due, TRIP_DUE_NONE);
	bed_ring_if(bed, 0, trip_cell_set(cell, 0));
	arm(bed, 2, 8);
	for (unsigned int i = 0; i < 100 && !later; i++) {
		(void)trip_home_iterate(bed->home, bed->now);
		later = bed->home->waiter_nodes[2].word != 0 && !bed->home->waiter_nodes[2].queued;
	}
	assert_true(later);
	assert_int_equal(silence(bed, TRIP_BELL_WAITER), 1);
	bed->home->budget = 256;
	let_pass(bed);
	assert_true(bed->home->waiter_nodes[2].queued);
	bed_add(bed, 0, 8);
	bed_settle(bed);
	assert_true(signalled(bed, 2));
	close_repaired(bed, 1);
}

/* More are due than one iteration wakes: the home rings for itself. */
static void
the_rest_of_many_waiters_is_woken(void **state)
{
	struct bed *bed = bed_open(0);
	unsigned int woken = 0;

	for (uint32_t i = 0; i < WAITERS; i++)
		arm(bed, i, TRIP_WAITER_ANY);
	bed_settle(bed);
	bed->home->budget = 2;
	bed_add(bed, 0, 1);
	(void)trip_home_iterate(bed->home, bed->now);
	for (uint32_t i = 0; i < WAITERS; i++)
		woken += signalled(bed, i);
	assert_int_equal(woken, 2);
	assert_int_equal(silence(bed, TRIP_BELL_CNTR), 1);
	bed->home->budget = 256;
	let_pass(bed);
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_true(signalled(bed, i));
	close_repaired(bed, 1);
}

/* Only what is settled leaves room for more. */
static void
errands_that_are_done_are_settled(void **state)
{
	struct bed *bed = bed_open(0);
	struct trip_errand errands[4];
	struct trip_errand_ring ring;
	struct trip_errand_desk desk;

	memset(errands, 0, sizeof(errands));
	memset(&desk, 0, sizeof(desk));
	trip_errand_init(&ring, errands, RTE_DIM(errands));
	desk.rings = &ring;
	atomic_store(&bed->engine.desks[PORT], &desk);
	let_pass(bed);
	for (unsigned int i = 0; i < RTE_DIM(errands); i++) {
		assert_non_null(trip_errand_next(&ring));
		trip_errand_send(&ring);
		trip_errand_done(&ring);
	}
	assert_null(trip_errand_next(&ring));
	trip_doorbell_ring(&bed->home->doorbell, TRIP_BELL_HARD, PORT);
	assert_int_equal(silence(bed, TRIP_BELL_HARD), 1);
	let_pass(bed);
	assert_true(trip_errand_settled(&ring, trip_errand_mark(&ring)));
	assert_non_null(trip_errand_next(&ring));
	close_repaired(bed, 1);
}

/* What is merely late is no repair: between a pass and the next, those ring who had still to. */
static void
rings_under_way_are_not_repaired(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t channel = first_channel_of(bed, 1);

	for (unsigned int i = 0; i < SLOTS; i++) {
		assert_true(bed_submit_by(bed, channel, 0, 1, 0, i) != TRIP_WORK_NONE);
		bed->now += TICK;
		bed_settle(bed);
		bed_ring_channel(bed, channel);
		bed_settle(bed);
	}
	assert_int_equal(atomic_load(&bed->home->stats.pending), SLOTS);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_accepted),
		cmocka_unit_test(items_are_accepted_by_a_busy_home),
		cmocka_unit_test(canceled_items_are_taken_back),
		cmocka_unit_test(waiters_are_woken),
		cmocka_unit_test(waiters_that_are_to_be_queued_later_are),
		cmocka_unit_test(the_rest_of_many_waiters_is_woken),
		cmocka_unit_test(errands_that_are_done_are_settled),
		cmocka_unit_test(rings_under_way_are_not_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
