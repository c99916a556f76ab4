/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients that are dropped while a home is busy, driven by hand: what one has left is counted as
 * failed, and nothing of it is taken for the next one's that has its channels.
 */
#include <string.h>

#include <rte_common.h>

#include "call.h"
#include "drop.h"
#include "home_bed.h"

/* Of a channel, in one iteration. */
#define BUDGET 32
/* Thresholds. */
#define RANGE 1000

static void
step(struct bed *bed)
{
	bed->now++;
	(void)trip_home_iterate(bed->home, bed->now);
	bed_check(bed);
}

static uint32_t
channel_of(const struct bed *bed, uint32_t client, uint32_t thread)
{
	return trip_home_client_channel(&bed->home->shape, client) + thread;
}

static void
submit_many(struct bed *bed, uint32_t channel, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_true(
			bed_submit_by(bed, channel, channel % SINK, RANGE, 0, 0) != TRIP_WORK_NONE);
	bed_ring_channel(bed, channel);
}

/* The others keep sweeps busy: one that is under way when the client dies, and the next one, which
 * ends after the client has been dropped. */
static void
drop_beside_others(struct bed *bed, uint32_t client)
{
	bed->home->budget = BUDGET;
	submit_many(bed, 0, 2 * BUDGET);
	step(bed);
	assert_true(bed->home->sweeping);
	submit_many(bed, channel_of(bed, client, 0), 3 * BUDGET);
	for (uint32_t i = client + 1; i < CLIENTS; i++) {
		submit_many(bed, channel_of(bed, i, 0), SLOTS);
		submit_many(bed, channel_of(bed, i, 1), THREAD_SLOTS);
	}
	trip_drop_ask(bed->home, client);
	while (!trip_drop_done(bed->home, client))
		step(bed);
	assert_true(bed->home->sweeping);
	bed->home->budget = 256;
}

/* All of what the next one queues fires. */
static void
the_next_one_is_heard(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t channel = channel_of(bed, 0, 0);

	drop_beside_others(bed, 0);
	assert_int_equal(trip_cell_error(&bed->home->cells[SINK]), 3 * BUDGET);
	bed_settle(bed);
	assert_int_equal(trip_drop_garbage(bed->home, 0), 0);
	for (unsigned int i = 0; i < SLOTS; i++)
		assert_true(bed_submit_by(bed, channel, 0, 1 + i % 2, 0, i) != TRIP_WORK_NONE);
	assert_true(bed_submit_by(bed, channel, 0, 1, 0, 0) == TRIP_WORK_NONE);
	bed_ring_channel(bed, channel);
	bed_settle(bed);
	bed_add(bed, 0, 2);
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, SLOTS);
	assert_int_equal(bed->home->channels[channel].garbage, 0);
	bed_close(bed);
}

/* A counter is about to fire by its sample; what a client submitted after a set behind that is not
 * measured by it. */
static void
what_it_left_does_not_fire(void **state)
{
	struct bed *bed = bed_open(0);
	struct trip_cell *cell = &bed->home->cells[0];
	uint32_t channel = channel_of(bed, 0, 0);

	bed_submit(bed, 0, RANGE, 0, 0);
	bed_settle(bed);
	bed->home->budget = BUDGET;
	bed_ring_if(bed, 0, trip_cell_set(cell, 100));
	for (unsigned int i = 0; i < 3 * BUDGET; i++)
		bed_submit(bed, 1, RANGE, 0, 0);
	step(bed);
	assert_int_equal(bed->home->cntrs[0].due, TRIP_DUE_SWEPT);
	bed_ring_if(bed, 0, trip_cell_set(cell, 0));
	for (unsigned int i = 0; i < SLOTS; i++)
		assert_true(bed_submit_by(bed, channel, 0, 50, 0, 0) != TRIP_WORK_NONE);
	trip_drop_ask(bed->home, 0);
	while (!trip_drop_done(bed->home, 0))
		step(bed);
	bed_settle(bed);
	assert_int_equal(bed->logs[0].n, 0);
	assert_int_equal(trip_cell_error(&bed->home->cells[SINK]), SLOTS);
	bed_close(bed);
}

/* Whatever rings, what was not asked for is not begun: nobody is dropped, nothing is called. */
static void
only_what_was_asked_for_is_done(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t channel = channel_of(bed, 1, 0);

	submit_many(bed, channel, SLOTS);
	bed_settle(bed);
	for (unsigned int bell = 0; bell < TRIP_BELLS; bell++)
		for (uint32_t i = 0; i < bed->home->doorbell.section[bell].count; i++)
			trip_doorbell_ring(&bed->home->doorbell, bell, i);
	bed_settle(bed);
	assert_int_equal(bed->home->n_drops, 0);
	assert_int_equal(atomic_load(&bed->home->stats.pending), SLOTS);
	assert_int_equal(trip_cell_error(&bed->home->cells[channel % SINK]), 0);
	bed_add(bed, channel % SINK, RANGE);
	bed_settle(bed);
	assert_int_equal(bed->fired, SLOTS);
	bed_close(bed);
}

static void
count_calls(struct trip_home *home, uint32_t arg)
{
	(void)trip_cell_add(&home->cells[arg], 1);
}

/* Once for each time that it was asked for, however often that rings. */
static void
a_call_is_made_once(void **state)
{
	struct bed *bed = bed_open(0);

	assert_true(trip_call_post(bed->home, count_calls, SINK));
	bed_settle(bed);
	assert_true(trip_call_ran(bed->home, trip_call_mark(bed->home)));
	trip_doorbell_ring(&bed->home->doorbell, TRIP_BELL_CALL, 0);
	bed_settle(bed);
	assert_int_equal(trip_cell_success(&bed->home->cells[SINK]), 1);
	bed_close(bed);
}

/* A client can silence the doorbell as well as ring it. */
static void
what_was_asked_for_is_done_unrung(void **state)
{
	struct bed *bed = bed_open(0);
	uint32_t rung[1 + CLIENTS];

	bed_settle(bed);
	assert_true(trip_call_post(bed->home, count_calls, SINK));
	trip_drop_ask(bed->home, 2);
	assert_int_equal(
		trip_doorbell_take(&bed->home->doorbell, TRIP_BELL_CALL, rung, RTE_DIM(rung)), 2);
	for (unsigned int i = 0; i < 4; i++) {
		bed->now += TICK;
		bed_settle(bed);
	}
	assert_true(trip_call_ran(bed->home, trip_call_mark(bed->home)));
	assert_true(trip_drop_done(bed->home, 2));
	bed_close(bed);
}

/* ---- clients that come and go, whatever else happens ---- */

#define EPISODES (TRIP_TEST_TSAN ? 10 : 60)
#define STEPS 3000
#define ITEMS (STEPS * 20)

enum fate {
	WAITS,
	FIRED,
	CANCELED,
	FAILED,
};

struct item {
	uint64_t id;
	uint32_t channel;
	uint8_t fate;
};

struct world {
	struct bed *bed;
	struct trip_random random;
	struct item items[ITEMS];
	uint32_t n_items;
	/* By channel: its first item that may wait. */
	uint32_t first[TRIP_CHANNELS_MAX];
	bool dropped[CLIENTS];
	uint64_t fates[FAILED + 1];
};

static uint64_t
below(struct world *world, uint64_t bound)
{
	return trip_random_below(&world->random, bound);
}

static bool
is_dropped(const struct world *world, uint32_t channel)
{
	uint32_t client = trip_home_client_of(&world->bed->home->shape, channel);

	return client != TRIP_NONE && world->dropped[client];
}

static void
end_item(struct world *world, struct item *item, enum fate fate)
{
	assert_int_equal(item->fate, WAITS);
	item->fate = (uint8_t)fate;
	world->fates[fate]++;
}

/* Many at once, so that sweeps take several iterations. */
static void
submit(struct world *world, uint32_t channel)
{
	struct bed *bed = world->bed;
	uint64_t n = below(world, 2) == 0 ? below(world, SLOTS) : 1 + below(world, 4);

	for (; n > 0 && world->n_items < ITEMS; n--) {
		struct item *item = &world->items[world->n_items];
		uint32_t cntr = (uint32_t)below(world, SINK);

		*item = (struct item){.channel = channel};
		item->id = bed_submit_by(bed, channel, cntr,
			trip_cell_sum(&bed->home->cells[cntr]) + below(world, 8), 0,
			world->n_items);
		if (item->id == TRIP_WORK_NONE)
			break;
		world->n_items++;
	}
	/* Or its client dies before. */
	if (channel < trip_home_own_channels(&bed->home->shape) || below(world, 8) > 0)
		bed_ring_channel(bed, channel);
}

static void
cancel(struct world *world, uint32_t channel)
{
	for (uint32_t i = world->n_items; i > 0 && i + 200 > world->n_items; i--) {
		struct item *item = &world->items[i - 1];

		if (item->channel != channel || item->fate != WAITS || below(world, 3) > 0)
			continue;
		assert_int_equal(
			trip_channel_cancel(&world->bed->home->clients[channel], item->id), 0);
		end_item(world, item, CANCELED);
	}
	bed_ring_channel(world->bed, channel);
}

static void
take_logs(struct world *world)
{
	for (uint32_t c = 0; c < SINK; c++) {
		struct log *log = &world->bed->logs[c];

		for (unsigned int i = 0; i < log->n; i++)
			end_item(world, &world->items[log->fired[i].context / CNTRS], FIRED);
		log->n = 0;
	}
}

/* What had not fired by then never does. */
static void
end_client(struct world *world, uint32_t client)
{
	const struct trip_home_shape *shape = &world->bed->home->shape;

	for (uint32_t i = 0; i < world->n_items; i++)
		if (trip_home_client_of(shape, world->items[i].channel) == client &&
			world->items[i].fate == WAITS)
			end_item(world, &world->items[i], FAILED);
	assert_int_equal(trip_drop_garbage(world->bed->home, client), 0);
	world->dropped[client] = false;
}

static void
go_on(struct world *world)
{
	struct bed *bed = world->bed;

	/* By the batch that is accepted of a channel: a sweep may then last as long as a drop. */
	bed->home->budget = below(world, 4) == 0 ? 1 + (unsigned int)below(world, 64) : BUDGET;
	step(bed);
	take_logs(world);
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (world->dropped[i] && trip_drop_done(bed->home, i))
			end_client(world, i);
}

static void
change(struct world *world)
{
	struct bed *bed = world->bed;
	uint32_t channel = (uint32_t)below(world, bed->home->shape.n_channels);
	uint32_t client = trip_home_client_of(&bed->home->shape, channel);
	uint64_t what = below(world, 32);

	if (what < 8)
		go_on(world);
	else if (what < 12)
		bed_add(bed, (uint32_t)below(world, SINK), below(world, 8));
	else if (is_dropped(world, channel))
		return;
	else if (what < 28)
		submit(world, channel);
	else if (what < 30)
		cancel(world, channel);
	else if (client != TRIP_NONE) {
		world->dropped[client] = true;
		trip_drop_ask(bed->home, client);
	}
}

/* Each item has fired, was canceled, or failed with its client, and only one of these. */
static void
end(struct world *world)
{
	struct bed *bed = world->bed;

	for (uint32_t c = 0; c < bed->home->shape.n_channels; c++)
		bed_ring_channel(bed, c);
	for (uint32_t c = 0; c < SINK; c++)
		bed_ring_if(bed, c, trip_cell_set(&bed->home->cells[c], RANGE * RANGE));
	while (bed->home->n_drops > 0 || !trip_home_idle(bed->home))
		go_on(world);
	go_on(world);
	assert_int_equal(world->fates[FIRED] + world->fates[CANCELED] + world->fates[FAILED],
		world->n_items);
	assert_int_equal(trip_cell_success(&bed->home->cells[SINK]), world->fates[FIRED]);
	assert_int_equal(trip_cell_error(&bed->home->cells[SINK]), world->fates[FAILED]);
	bed_close(bed);
}

static void
any_moment(void **state)
{
	struct world *world = malloc(sizeof(*world));
	uint64_t seed = trip_test_seed("drop"), episodes = trip_test_rounds(EPISODES);
	uint64_t fates[FAILED + 1] = {0};

	assert_non_null(world);
	for (uint64_t i = 0; i < episodes; i++) {
		memset(world, 0, sizeof(*world));
		world->bed = bed_open(0);
		world->random = (struct trip_random){seed + i};
		for (unsigned int n = 0; n < STEPS; n++)
			change(world);
		end(world);
		for (unsigned int f = 0; f < RTE_DIM(fates); f++)
			fates[f] += world->fates[f];
	}
	printf("drop: %ju items fired, %ju were canceled, %ju failed\n", (uintmax_t)fates[FIRED],
		(uintmax_t)fates[CANCELED], (uintmax_t)fates[FAILED]);
	free(world);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_one_is_heard),
		cmocka_unit_test(what_it_left_does_not_fire),
		cmocka_unit_test(only_what_was_asked_for_is_done),
		cmocka_unit_test(a_call_is_made_once),
		cmocka_unit_test(what_was_asked_for_is_done_unrung),
		cmocka_unit_test(any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
