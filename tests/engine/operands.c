/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Items with operands at a home that is driven by hand: the second slot comes back with the first,
 * whatever becomes of the item; and what no correct client submits is refused.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "drop.h"
#include "home_bed.h"
#include "node.h"

/* Channels: this process's, and the first client's. */
#define OWN 0
#define CLIENT 3
/* Counters: what triggers, and what is filled. */
#define TRIGGER 0
#define TARGET 1

static void
step(struct bed *bed)
{
	bed->now++;
	(void)trip_home_iterate(bed->home, bed->now);
	bed_check(bed);
}

/* Not rung for. The descriptor is of a fill of TARGET by 1. */
static struct trip_work_desc *
submit_desc(struct bed *bed, uint32_t channel, uint64_t threshold, uint64_t limit, uint64_t *id)
{
	struct trip_channel_client *client = &bed->home->clients[channel];
	struct trip_work_desc *desc;
	uint32_t operands;
	int slot = trip_channel_alloc_more(client, trip_channel_returned(client), &operands, 1);

	if (slot == -EAGAIN)
		return NULL;
	assert_true(slot >= 0);
	memcpy(trip_channel_operands(client, operands), &limit, sizeof(limit));
	desc = trip_channel_desc(client, (uint32_t)slot);
	*desc = (struct trip_work_desc){
		.threshold = threshold,
		.value = 1,
		.trigger = TRIGGER,
		.target = TARGET,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CNTR_FILL,
		.operands = 1 + operands,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, id), 0);
	return desc;
}

static uint64_t
submit(struct bed *bed, uint32_t channel, uint64_t threshold, uint64_t limit)
{
	uint64_t id;

	assert_non_null(submit_desc(bed, channel, threshold, limit, &id));
	bed_ring_channel(bed, channel);
	return id;
}

static void
cancel(struct bed *bed, uint32_t channel, uint64_t id)
{
	assert_int_equal(trip_channel_cancel(&bed->home->clients[channel], id), 0);
	bed_ring_channel(bed, channel);
}

static void
expect_target(const struct bed *bed, uint64_t success)
{
	assert_int_equal(trip_cell_success(&bed->home->cells[TARGET]), success);
}

/* All slots are the client's again. */
static void
expect_all_back(struct bed *bed, uint32_t channel, uint32_t slots)
{
	struct trip_channel_client *client = &bed->home->clients[channel];

	assert_int_equal(bed->home->channels[channel].held, 0);
	for (uint32_t i = 0; i < slots; i++)
		assert_true(trip_channel_alloc(client, trip_channel_returned(client)) >= 0);
	assert_int_equal(trip_channel_alloc(client, trip_channel_returned(client)), -EAGAIN);
}

static void
it_fires_with_them(void **state)
{
	struct bed *bed = bed_open(0);

	for (uint64_t i = 1; i <= 3; i++)
		submit(bed, OWN, i, 10 * i);
	submit(bed, OWN, 4, 0);
	bed_settle(bed);
	assert_int_equal(atomic_load(&bed->home->stats.pending), 4);
	assert_int_equal(bed->home->channels[OWN].held, 8);
	for (uint64_t i = 1; i <= 3; i++) {
		bed_add(bed, TARGET, 100 * (i == 3) + 8);
		bed_add(bed, TRIGGER, 1);
		bed_settle(bed);
		expect_target(bed, i == 1 ? 9 : i == 2 ? 18 : 126);
	}
	bed_add(bed, TRIGGER, 1);
	bed_settle(bed);
	expect_target(bed, 126);
	expect_all_back(bed, OWN, SLOTS);
	bed_close(bed);
}

/* Each time; a coalesced firing fills as so many would. */
static void
an_interval_keeps_them(void **state)
{
	for (unsigned int coalesces = 0; coalesces < 2; coalesces++) {
		struct bed *bed = bed_open(0);
		uint64_t id;
		struct trip_work_desc *desc = submit_desc(bed, OWN, 1, 5, &id);

		desc->interval = 1;
		desc->flags = coalesces ? TRIP_WORK_COALESCE : 0;
		bed_ring_channel(bed, OWN);
		bed_settle(bed);
		bed_add(bed, TRIGGER, 3);
		bed_settle(bed);
		expect_target(bed, 3);
		bed_add(bed, TRIGGER, 1000);
		bed_settle(bed);
		expect_target(bed, 5);
		assert_int_equal(bed->home->channels[OWN].held, 2);
		cancel(bed, OWN, id);
		bed_settle(bed);
		expect_all_back(bed, OWN, SLOTS);
		bed_close(bed);
	}
}

/* Before it was accepted, and behind that. */
static void
a_canceled_one_returns_them(void **state)
{
	struct bed *bed = bed_open(0);
	uint64_t id = submit(bed, OWN, 1, 5);

	cancel(bed, OWN, id);
	bed_settle(bed);
	id = submit(bed, OWN, 1, 5);
	bed_settle(bed);
	cancel(bed, OWN, id);
	bed_settle(bed);
	assert_int_equal(atomic_load(&bed->home->stats.refused), 0);
	bed_add(bed, TRIGGER, 1);
	bed_settle(bed);
	expect_target(bed, 0);
	expect_all_back(bed, OWN, SLOTS);
	bed_close(bed);
}

/*
 * Of a large set, canceled items are only marked, and their nodes have operands next: what was
 * marked there is forgotten before it is written over, and not dropped in the place of the item.
 */
static void
nodes_of_canceled_items_have_them(void **state)
{
	struct bed *bed = bed_open(0);
	uint64_t ids[SLOTS];
	unsigned int fills = 0;

	for (unsigned int i = 0; i < SLOTS; i++) {
		ids[i] = bed_submit_by(bed, OWN, TRIGGER, (i + 1) << 20, 0, i);
		for (unsigned int c = 0; c < CLIENTS; c++)
			(void)bed_submit_by(bed, CLIENT + 2 * c, TRIGGER, (i + 1) << 20, 0, i);
	}
	bed_ring_channel(bed, OWN);
	for (unsigned int c = 0; c < CLIENTS; c++)
		bed_ring_channel(bed, CLIENT + 2 * c);
	bed_settle(bed);
	for (unsigned int i = 0; i < SLOTS; i++)
		cancel(bed, OWN, ids[i]);
	bed_settle(bed);
	assert_true(bed->home->pool.marked > 0);
	for (uint64_t id; submit_desc(bed, OWN, (2 * fills + 1) << 19, UINT32_MAX, &id) != NULL;)
		fills++;
	assert_int_equal(fills, SLOTS / 2);
	bed_ring_channel(bed, OWN);
	bed_settle(bed);
	bed_add(bed, TRIGGER, UINT64_C(1) << 40);
	bed_settle(bed);
	expect_target(bed, fills);
	assert_int_equal(bed->fired, CLIENTS * SLOTS);
	expect_all_back(bed, OWN, SLOTS);
	bed_close(bed);
}

/* Its counter is set back while it fires, so what is accepted now waits until that is over. */
static void
a_deferred_one_has_them(void **state)
{
	struct bed *bed = bed_open(0);
	struct trip_home_cntr *cntr = &bed->home->cntrs[TRIGGER];
	uint64_t id;

	for (unsigned int i = 0; i < SLOTS; i++)
		for (unsigned int c = 0; c < CLIENTS; c++)
			(void)bed_submit_by(bed, CLIENT + 2 * c, TRIGGER, 100, 0, 0);
	for (unsigned int c = 0; c < CLIENTS; c++)
		bed_ring_channel(bed, CLIENT + 2 * c);
	bed_settle(bed);
	bed->home->budget = 2;
	bed_add(bed, TRIGGER, 100);
	step(bed);
	step(bed);
	assert_true(bed->fired > 0 && cntr->due == TRIP_DUE_FIRING);
	bed_ring_if(bed, TRIGGER, trip_cell_set(&bed->home->cells[TRIGGER], 0));
	submit(bed, OWN, 50, 5);
	id = submit(bed, OWN, 50, 5);
	submit(bed, OWN, 50, 5);
	step(bed);
	assert_true(cntr->deferred != TRIP_NONE);
	cancel(bed, OWN, id);
	step(bed);
	assert_true(cntr->deferred != TRIP_NONE);
	bed->home->budget = 256;
	bed_settle(bed);
	assert_int_equal(bed->fired, CLIENTS * SLOTS);
	expect_target(bed, 0);
	bed_add(bed, TRIGGER, 50);
	bed_settle(bed);
	expect_target(bed, 2);
	expect_all_back(bed, OWN, SLOTS);
	bed_close(bed);
}

/* What had been accepted, and what had not. */
static void
a_dropped_client_leaves_none(void **state)
{
	struct bed *bed = bed_open(0);

	for (unsigned int i = 0; i < 10; i++)
		submit(bed, CLIENT, 5, 5);
	bed_settle(bed);
	for (unsigned int i = 0; i < 20; i++)
		submit(bed, CLIENT, 5, 5);
	trip_drop_ask(bed->home, 0);
	bed->home->budget = 8;
	while (!trip_drop_done(bed->home, 0))
		step(bed);
	assert_int_equal(trip_cell_error(&bed->home->cells[TARGET]), 30);
	assert_int_equal(trip_drop_garbage(bed->home, 0), 0);
	assert_int_equal(atomic_load(&bed->home->stats.pending), 0);
	bed->home->budget = 256;
	bed_add(bed, TRIGGER, 5);
	bed_settle(bed);
	expect_target(bed, 0);
	expect_all_back(bed, CLIENT, SLOTS);
	bed_close(bed);
}

/* Its own slot, another item's, the operands of another item, one that is none. */
static void
slots_of_others_are_refused(void **state)
{
	struct bed *bed = bed_open(0);
	struct trip_channel_home *channel = &bed->home->channels[CLIENT];
	struct trip_channel_client *client = &bed->home->clients[CLIENT];
	struct trip_work_desc *good, *bad;
	uint64_t id, garbage = 0;

	good = submit_desc(bed, CLIENT, 5, 5, &id);
	bed_ring_channel(bed, CLIENT);
	bed_settle(bed);
	for (unsigned int i = 0; i < 7; i++) {
		bad = submit_desc(bed, CLIENT, 5, 5, &id);
		const uint32_t slots[] = {
			(uint32_t)(bad - client->map.desc) + 1,
			(uint32_t)(good - client->map.desc) + 1,
			good->operands,
			SLOTS + 1,
			UINT32_MAX,
			0,
			bad->operands,
		};

		/* The last one has been submitted, too. */
		if (i == 6)
			atomic_store(&client->map.state[bad->operands - 1],
				trip_channel_word(1, TRIP_CHANNEL_QUEUED));
		bad->operands = slots[i];
		bed_ring_channel(bed, CLIENT);
		bed_settle(bed);
		assert_int_equal(channel->garbage, ++garbage);
		assert_int_equal(atomic_load(&bed->home->stats.refused), garbage);
		assert_int_equal(channel->held, 2);
	}
	bed_add(bed, TRIGGER, 5);
	bed_settle(bed);
	expect_target(bed, 1);
	assert_int_equal(channel->held, 0);
	bed_close(bed);
}

/* The home asks for itself, of what it has copied. */
static void
operands_above_their_limit_are_refused(void **state)
{
	struct bed *bed = bed_open(0);

	submit(bed, CLIENT, 5, TRIP_CNTR_MAX + 1);
	submit(bed, CLIENT, 5, TRIP_CNTR_MAX);
	bed_settle(bed);
	assert_int_equal(atomic_load(&bed->home->stats.refused), 1);
	bed_add(bed, TRIGGER, 5);
	bed_settle(bed);
	expect_target(bed, 1);
	expect_all_back(bed, CLIENT, SLOTS);
	bed_close(bed);
}

/* What is known of an item holds of those like it, not of others of its batch. */
static void
each_of_a_run_is_checked(void **state)
{
	static const struct {
		uint32_t trigger, target, completion;
		uint8_t op;
	} bad[] = {
		{TRIGGER, UINT32_MAX, TRIP_NONE, TRIP_OP_CNTR_FILL},
		{UINT32_MAX, TARGET, TRIP_NONE, TRIP_OP_CNTR_FILL},
		{TRIGGER, TARGET, TARGET, TRIP_OP_CNTR_FILL},
		{TRIGGER, TARGET, TRIP_NONE, UINT8_MAX},
		{TRIP_NONE, 0, 0, 0},
	};
	struct bed *bed = bed_open(0);
	uint64_t id;

	for (unsigned int i = 0; i < 3 * RTE_DIM(bad); i++) {
		struct trip_work_desc *desc = submit_desc(bed, CLIENT, 1 + i, 100, &id);

		/* Each good one is followed by two that are bad alike. */
		if (i % 3 == 0)
			continue;
		desc->trigger = bad[i / 3].trigger;
		desc->target = bad[i / 3].target;
		desc->completion = bad[i / 3].completion;
		desc->op = bad[i / 3].op;
	}
	bed_ring_channel(bed, CLIENT);
	bed_settle(bed);
	assert_int_equal(atomic_load(&bed->home->stats.refused), 2 * RTE_DIM(bad));
	bed_add(bed, TRIGGER, 100);
	bed_settle(bed);
	expect_target(bed, RTE_DIM(bad));
	bed_close(bed);
}

/* ---- at random ---- */

#define STEPS 4000

struct item {
	uint64_t id, threshold;
	/* It is one of these, or a call. */
	bool fills;
};

/* In the end each has fired or was canceled, and the target is as high as the fills made it. */
static void
some_of_each(void **state)
{
	struct trip_random random = {.state = trip_test_seed("operands")};
	struct bed *bed = bed_open(0);
	struct item items[SLOTS];
	uint64_t sum = 0, fills = 0, calls = 0, number = 0;
	unsigned int n = 0;

	for (unsigned int s = 0; s < STEPS; s++) {
		uint64_t what = trip_random_below(&random, 16);

		if (what < 8) {
			struct item *item = &items[n];

			item->fills = what < 4;
			item->threshold = sum + 1 + trip_random_below(&random, 1u << 16);
			if (!item->fills)
				item->id = bed_submit_by(
					bed, CLIENT, TRIGGER, item->threshold, 0, number++);
			else if (submit_desc(bed, CLIENT, item->threshold, TRIP_CNTR_MAX,
					 &item->id) == NULL)
				item->id = TRIP_WORK_NONE;
			n += item->id != TRIP_WORK_NONE;
			bed_ring_channel(bed, CLIENT);
		} else if (what < 12 && n > 0) {
			unsigned int i = (unsigned int)trip_random_below(&random, n);

			cancel(bed, CLIENT, items[i].id);
			items[i] = items[--n];
		} else if (what == 12) {
			uint64_t more = trip_random_below(&random, 1u << 13);

			sum += more;
			bed_add(bed, TRIGGER, more);
			bed_settle(bed);
			for (unsigned int i = n; i-- > 0;) {
				if (items[i].threshold > sum)
					continue;
				fills += items[i].fills;
				calls += !items[i].fills;
				items[i] = items[--n];
			}
		} else {
			step(bed);
		}
		bed_check(bed);
		if (n == SLOTS)
			n--, cancel(bed, CLIENT, items[n].id);
	}
	bed_settle(bed);
	expect_target(bed, fills);
	assert_int_equal(bed->fired, calls);
	assert_true(fills > 100 && calls > 100);
	while (n > 0)
		cancel(bed, CLIENT, items[--n].id);
	bed_settle(bed);
	assert_int_equal(bed->home->channels[CLIENT].garbage, 0);
	expect_all_back(bed, CLIENT, SLOTS);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fires_with_them),
		cmocka_unit_test(an_interval_keeps_them),
		cmocka_unit_test(a_canceled_one_returns_them),
		cmocka_unit_test(nodes_of_canceled_items_have_them),
		cmocka_unit_test(a_deferred_one_has_them),
		cmocka_unit_test(a_dropped_client_leaves_none),
		cmocka_unit_test(slots_of_others_are_refused),
		cmocka_unit_test(operands_above_their_limit_are_refused),
		cmocka_unit_test(each_of_a_run_is_checked),
		cmocka_unit_test(some_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
