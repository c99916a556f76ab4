/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that last, at a home that is driven by hand on a clock of the test's own: a flow drops
 * for a time, and not for one nanosecond more or less; what ends that before; and what of the item
 * comes back (DATA-10).
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "drop.h"
#include "errand.h"
#include "home_bed.h"
#include "node.h"
#include "soft.h"

/* Channels: this process's, and the first client's. */
#define OWN 0
#define CLIENT 3
#define TRIGGER 0
/* Where operations are completed that are not drops. */
#define OTHER 1
#define TIME 5000

struct scene {
	struct bed *bed;
	_Atomic uint8_t action;
	struct trip_police police;
};

static struct scene *
open_scene(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->bed = bed_open(10);
	scene->bed->home->scrub.period_tsc = UINT64_MAX / 2;
	scene->bed->engine.actions = &scene->action;
	scene->bed->engine.police = &scene->police;
	scene->bed->engine.n_police = 1;
	atomic_store(&trip_engine_change(&scene->bed->engine, 0)->own_police, 1);
	atomic_store(&scene->action, TRIP_ACTION_ACTIVE);
	bed_settle(scene->bed);
	return scene;
}

static void
close_scene(struct scene *scene)
{
	assert_int_equal(atomic_load(&scene->bed->home->stats.pending), 0);
	bed_close(scene->bed);
	free(scene);
}

static void
go_to(struct scene *scene, uint64_t now)
{
	scene->bed->now = now;
	bed_settle(scene->bed);
}

/* Of an operation on the flow; not rung for. */
static struct trip_work_desc *
submit_desc(struct scene *scene, uint32_t channel, enum trip_op op, uint64_t time, uint64_t *id)
{
	struct trip_channel_client *client = &scene->bed->home->clients[channel];
	struct trip_work_desc *desc;
	uint32_t end = TRIP_NONE;
	int slot = time != 0
			   ? trip_channel_alloc_more(client, trip_channel_returned(client), &end, 1)
			   : trip_channel_alloc(client, trip_channel_returned(client));

	if (slot == -EAGAIN)
		return NULL;
	assert_true(slot >= 0);
	desc = trip_channel_desc(client, (uint32_t)slot);
	*desc = (struct trip_work_desc){
		.threshold = 1,
		.value = time,
		.context = 7,
		.trigger = TRIGGER,
		.completion = OTHER,
		.op = (uint8_t)op,
		.end = 1 + end,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, id), 0);
	bed_ring_channel(scene->bed, channel);
	return desc;
}

/* Accepted. */
static uint64_t
submit(struct scene *scene, uint32_t channel, uint64_t threshold, uint64_t interval, uint64_t time)
{
	uint64_t id;
	struct trip_work_desc *desc = submit_desc(scene, channel, TRIP_OP_FLOW_DROP, time, &id);

	assert_non_null(desc);
	desc->threshold = threshold;
	desc->interval = interval;
	desc->flags = TRIP_WORK_COMPLETION;
	bed_settle(scene->bed);
	return id;
}

static void
operate(struct scene *scene, enum trip_op op)
{
	uint64_t id;

	submit_desc(scene, OWN, op, 0, &id)->threshold = 0;
	bed_settle(scene->bed);
}

static void
add(struct scene *scene, uint64_t n)
{
	bed_add(scene->bed, TRIGGER, n);
	bed_settle(scene->bed);
}

static void
cancel(struct scene *scene, uint32_t channel, uint64_t id)
{
	assert_int_equal(trip_channel_cancel(&scene->bed->home->clients[channel], id), 0);
	bed_ring_channel(scene->bed, channel);
	bed_settle(scene->bed);
}

static bool
drops(const struct scene *scene)
{
	return (atomic_load(&scene->action) & TRIP_ACTION_DROP) != 0;
}

/* It drops until then, and passes from then on. */
static void
expect_until(struct scene *scene, uint64_t end)
{
	assert_true(drops(scene));
	go_to(scene, end - 1);
	assert_true(drops(scene));
	/* A clock rounds down. */
	go_to(scene, end + 1);
	assert_false(drops(scene));
}

static void
expect_all_back(struct scene *scene, uint32_t channel)
{
	struct trip_channel_client *client = &scene->bed->home->clients[channel];

	assert_int_equal(scene->bed->home->channels[channel].held, 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_true(trip_channel_alloc(client, trip_channel_returned(client)) >= 0);
	assert_int_equal(trip_channel_alloc(client, trip_channel_returned(client)), -EAGAIN);
}

/* The next event of this process. */
static struct trip_event
event_of(struct scene *scene)
{
	struct trip_event event;

	assert_int_equal(trip_event_ring_pop(scene->bed->home->events, &event, 1), 1);
	assert_int_equal(event.op_type, TRIP_OP_FLOW_DROP);
	assert_int_equal(event.context, 7);
	assert_int_equal(event.result, 0);
	return event;
}

static void
data_10_it_passes_behind_the_time(void **state)
{
	struct scene *scene = open_scene();
	struct trip_event event;

	(void)submit(scene, OWN, 10, 0, TIME);
	add(scene, 9);
	assert_false(drops(scene));
	add(scene, 5);
	event = event_of(scene);
	assert_int_equal(event.flags, TRIP_WORK_MORE);
	assert_int_equal(event.threshold, 10);
	assert_int_equal(event.value, 14);
	assert_int_equal(trip_cell_success(&scene->bed->home->cells[OTHER]), 1);
	expect_until(scene, scene->bed->now + TIME);
	event = event_of(scene);
	assert_int_equal(event.flags, TRIP_WORK_END);
	assert_int_equal(event.threshold, 10);
	assert_int_equal(event.value, 14);
	/* It has ended once. */
	assert_int_equal(trip_cell_success(&scene->bed->home->cells[OTHER]), 1);
	expect_all_back(scene, OWN);
	close_scene(scene);
}

/* Each firing counts anew; where it ends in between, it begins anew. */
static void
data_10_a_further_firing_prolongs_it(void **state)
{
	struct scene *scene = open_scene();
	uint64_t id = submit(scene, OWN, 10, 10, TIME);

	add(scene, 10);
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	for (unsigned int i = 0; i < 5; i++) {
		go_to(scene, scene->bed->now + TIME - 1);
		assert_true(drops(scene));
		/* A jump over several, too. */
		add(scene, 10 * (1 + i % 2));
		for (unsigned int n = 0; n <= i % 2; n++)
			assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	}
	expect_until(scene, scene->bed->now + TIME);
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE | TRIP_WORK_END);
	add(scene, 10);
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	expect_until(scene, scene->bed->now + TIME);
	cancel(scene, OWN, id);
	expect_all_back(scene, OWN);
	close_scene(scene);
}

static void
data_10_each_lasts_for_its_own_time(void **state)
{
	struct scene *scene = open_scene();
	uint64_t begun = scene->bed->now;

	(void)submit(scene, OWN, 1, 0, 10 * TIME);
	(void)submit(scene, CLIENT, 1, 0, TIME);
	(void)submit(scene, OWN, 2, 0, TIME);
	add(scene, 1);
	go_to(scene, begun + TIME + 1);
	assert_true(drops(scene));
	go_to(scene, begun + 9 * TIME + TIME / 2);
	add(scene, 1);
	go_to(scene, begun + 10 * TIME + 1);
	expect_until(scene, begun + 10 * TIME + TIME / 2);
	expect_all_back(scene, OWN);
	expect_all_back(scene, CLIENT);
	close_scene(scene);
}

static void
data_10_another_operation_is_not_undone(void **state)
{
	static const enum trip_op ops[] = {
		TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DELETE};

	for (unsigned int i = 0; i < RTE_DIM(ops); i++) {
		struct scene *scene = open_scene();
		uint64_t begun = scene->bed->now;
		uint8_t is;

		(void)submit(scene, OWN, 1, 0, TIME);
		add(scene, 1);
		operate(scene, ops[i]);
		is = atomic_load(&scene->action);
		/* What follows a pass is another one's. */
		go_to(scene, begun + TIME / 2);
		if (ops[i] == TRIP_OP_FLOW_PASS) {
			assert_int_equal(is, TRIP_ACTION_ACTIVE);
			operate(scene, TRIP_OP_FLOW_DROP);
			is |= TRIP_ACTION_DROP;
		}
		go_to(scene, begun + 2 * TIME);
		assert_int_equal(atomic_load(&scene->action), is);
		assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
		assert_int_equal(event_of(scene).flags, TRIP_WORK_END);
		expect_all_back(scene, OWN);
		close_scene(scene);
	}
}

/* A drop for a time, of what drops for ever already. */
static void
data_10_it_passes_nothing_that_dropped_before(void **state)
{
	struct scene *scene = open_scene();

	operate(scene, TRIP_OP_FLOW_DROP);
	(void)submit(scene, OWN, 1, 0, TIME);
	add(scene, 1);
	go_to(scene, scene->bed->now + 2 * TIME);
	assert_true(drops(scene));
	close_scene(scene);
}

/* The flow has ended: nothing begins, and so nothing is to end. */
static void
data_10_what_fails_does_not_last(void **state)
{
	struct scene *scene = open_scene();
	struct trip_event event;

	operate(scene, TRIP_OP_FLOW_DELETE);
	(void)submit(scene, OWN, 1, 0, TIME);
	add(scene, 1);
	assert_int_equal(trip_event_ring_pop(scene->bed->home->events, &event, 1), 1);
	assert_int_equal(event.result, -ENOENT);
	assert_int_equal(event.flags, 0);
	expect_all_back(scene, OWN);
	close_scene(scene);
}

/* Before it fires, behind that, and behind its last end. */
static void
data_10_what_is_canceled_ends(void **state)
{
	struct scene *scene = open_scene();
	struct trip_event event;
	uint64_t id = submit(scene, OWN, 1, 0, TIME);

	cancel(scene, OWN, id);
	add(scene, 1);
	assert_false(drops(scene));
	id = submit(scene, OWN, 1, 0, TIME);
	assert_true(drops(scene));
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	cancel(scene, OWN, id);
	assert_false(drops(scene));
	go_to(scene, scene->bed->now + 2 * TIME);
	/* Nobody is told, and nothing waits any more. */
	assert_int_equal(trip_event_ring_pop(scene->bed->home->events, &event, 1), 0);
	assert_true(scene->bed->home->clock_tsc == UINT64_MAX);
	id = submit(scene, OWN, 1, 0, TIME);
	go_to(scene, scene->bed->now + TIME + 1);
	assert_int_equal(trip_channel_cancel(&scene->bed->home->clients[OWN], id), -ENOENT);
	expect_all_back(scene, OWN);
	close_scene(scene);
}

/* And before the home has accepted it: the slot of its end comes back, too. */
static void
data_10_what_is_canceled_at_once_leaves_nothing(void **state)
{
	struct scene *scene = open_scene();
	uint64_t id;

	assert_non_null(submit_desc(scene, OWN, TRIP_OP_FLOW_DROP, TIME, &id));
	cancel(scene, OWN, id);
	add(scene, 1);
	assert_false(drops(scene));
	expect_all_back(scene, OWN);
	close_scene(scene);
}

/* Canceled, and the home does not know when both of its nodes are on their way to their firing. */
static void
data_10_a_canceled_one_is_left_to_its_bell(void **state)
{
	struct scene *scene = open_scene();
	uint64_t id = submit(scene, OWN, 10, 10, TIME);
	struct trip_channel_client *client = &scene->bed->home->clients[OWN];

	add(scene, 10);
	assert_true(drops(scene));
	scene->bed->now += TIME + 1;
	/* The clock ticks, and does not fire yet. */
	(void)trip_home_iterate(scene->bed->home, scene->bed->now);
	bed_add(scene->bed, TRIGGER, 10);
	assert_int_equal(trip_channel_cancel(client, id), 0);
	bed_settle(scene->bed);
	assert_true(drops(scene));
	bed_ring_channel(scene->bed, OWN);
	bed_settle(scene->bed);
	assert_false(drops(scene));
	expect_all_back(scene, OWN);
	close_scene(scene);
}

/* One that had fired counts no error, one that had not does. */
static void
data_10_what_a_dead_client_began_ends(void **state)
{
	struct scene *scene = open_scene();

	(void)submit(scene, CLIENT, 1, 0, TIME);
	(void)submit(scene, CLIENT, 2, 0, TIME);
	add(scene, 1);
	assert_true(drops(scene));
	trip_drop_ask(scene->bed->home, 0);
	while (!trip_drop_done(scene->bed->home, 0))
		bed_settle(scene->bed);
	assert_false(drops(scene));
	assert_int_equal(trip_cell_success(&scene->bed->home->cells[OTHER]), 1);
	assert_int_equal(trip_cell_error(&scene->bed->home->cells[OTHER]), 1);
	expect_all_back(scene, CLIENT);
	close_scene(scene);
}

/* For a time without a slot for its end, that of another item, an operation that never ends, a time
 * above the limit. */
static void
data_10_what_cannot_end_is_refused(void **state)
{
	struct scene *scene = open_scene();
	const struct trip_channel_home *channel = &scene->bed->home->channels[CLIENT];
	const struct trip_work_desc *good;
	uint64_t id;

	good = submit_desc(scene, CLIENT, TRIP_OP_FLOW_DROP, TIME, &id);
	bed_settle(scene->bed);
	for (unsigned int i = 0; i < 5; i++) {
		struct trip_work_desc *bad =
			submit_desc(scene, CLIENT, TRIP_OP_FLOW_DROP, TIME, &id);
		const uint32_t ends[] = {0, good->end, SLOTS + 1, bad->end, bad->end};

		bad->end = ends[i];
		if (i == 3)
			bad->op = TRIP_OP_FLOW_PASS;
		if (i == 4)
			bad->value = TRIP_CNTR_MAX + 1;
		bed_settle(scene->bed);
		assert_int_equal(atomic_load(&scene->bed->home->stats.refused), 1 + i);
		assert_int_equal(channel->held, 2);
	}
	add(scene, 1);
	expect_until(scene, scene->bed->now + TIME);
	close_scene(scene);
}

/* ---- at random ---- */

#define STEPS 6000
#define ITEMS 8

struct item {
	uint64_t id, interval, time, next, end;
	bool is, began;
};

/* Fires what is due; what lasts of it, until when. */
static void
expect_item(struct item *item, uint64_t sum, uint64_t now)
{
	bool fires = item->is && item->next != 0 && sum >= item->next;

	if (fires) {
		item->end = now + item->time;
		item->began = true;
		item->next = item->interval != 0
				     ? item->next + ((sum - item->next) / item->interval + 1) *
							    item->interval
				     : 0;
	}
	if (item->began && now > item->end) {
		item->began = false;
		item->is = item->next != 0;
	}
}

/* It drops exactly while one of them lasts; and all that was taken comes back. */
static void
data_10_some_of_each(void **state)
{
	struct trip_random random = {.state = trip_test_seed("lasting")};
	struct item items[ITEMS] = {{0}};
	struct scene *scene = open_scene();
	uint64_t sum = 0, changes = 0, steps = trip_test_rounds(STEPS);
	bool dropped = false;

	for (uint64_t s = 0; s < steps; s++) {
		struct item *item = &items[trip_random_below(&random, ITEMS)];
		uint64_t what = trip_random_below(&random, 8);
		struct trip_event events[ITEMS];
		bool lasts = false;

		if (what < 3 && !item->is) {
			*item = (struct item){.is = true,
				.interval = trip_random_below(&random, 3) * 40,
				.time = 1 + trip_random_below(&random, 200),
				.next = sum + 1 + trip_random_below(&random, 100)};
			item->id = submit(scene, CLIENT, item->next, item->interval, item->time);
		} else if (what == 3 && item->is) {
			cancel(scene, CLIENT, item->id);
			*item = (struct item){0};
		} else if (what < 6) {
			uint64_t n = trip_random_below(&random, 60);

			sum += n;
			add(scene, n);
		} else {
			go_to(scene, scene->bed->now + trip_random_below(&random, 300));
		}
		for (unsigned int i = 0; i < ITEMS; i++) {
			expect_item(&items[i], sum, scene->bed->now);
			lasts |= items[i].began;
		}
		assert_int_equal(drops(scene), lasts);
		changes += lasts != dropped;
		dropped = lasts;
		(void)trip_event_ring_pop(&scene->bed->home->events[1], events, ITEMS);
	}
	assert_true(changes > steps / 100);
	for (unsigned int i = 0; i < ITEMS; i++)
		if (items[i].is)
			cancel(scene, CLIENT, items[i].id);
	assert_false(drops(scene));
	expect_all_back(scene, CLIENT);
	close_scene(scene);
}

#define PORT 2

/* A worker of a port that does what it is told. */
static unsigned int
do_errands(struct scene *scene, struct trip_errand_ring *ring, uint8_t *last)
{
	const struct trip_errand *errand;
	unsigned int n = 0;

	for (; (errand = trip_errand_peek(ring, 0)) != NULL; n++) {
		*last = errand->op;
		trip_errand_done(ring);
		trip_doorbell_ring(&scene->bed->home->doorbell, TRIP_BELL_HARD, PORT);
	}
	bed_settle(scene->bed);
	return n;
}

/* In hardware: where the worker has all that it may have, a delete fails, and nothing is deleted.
 * What drops ends when it was to. */
static void
data_10_a_delete_that_is_not_sent_ends_no_drop(void **state)
{
	struct scene *scene = open_scene();
	struct trip_errand errands[2];
	struct trip_errand_ring ring;
	struct trip_errand_desk desk;
	uint8_t last = 0;

	memset(errands, 0, sizeof(errands));
	memset(&desk, 0, sizeof(desk));
	trip_errand_init(&ring, errands, RTE_DIM(errands));
	desk.rings = &ring;
	atomic_store(&scene->bed->engine.desks[PORT], &desk);
	atomic_store(&scene->bed->engine.flows[0].hard, PORT + 1);
	submit(scene, OWN, 1, 0, TIME);
	go_to(scene, 100);
	add(scene, 1);
	assert_int_equal(do_errands(scene, &ring, &last), 1);
	assert_int_equal(last, TRIP_OP_FLOW_DROP);
	/* Another flow's. */
	for (unsigned int i = 0; i < RTE_DIM(errands); i++) {
		*trip_errand_next(&ring) = (struct trip_errand){.completion = TRIP_NONE};
		trip_errand_send(&ring);
	}
	operate(scene, TRIP_OP_FLOW_DELETE);
	assert_int_equal(atomic_load(&desk.refused), 1);
	assert_int_equal(do_errands(scene, &ring, &last), RTE_DIM(errands));
	go_to(scene, 100 + TIME + 1);
	assert_int_equal(do_errands(scene, &ring, &last), 1);
	assert_int_equal(last, TRIP_OP_FLOW_PASS);
	close_scene(scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_10_it_passes_behind_the_time),
		cmocka_unit_test(data_10_a_further_firing_prolongs_it),
		cmocka_unit_test(data_10_each_lasts_for_its_own_time),
		cmocka_unit_test(data_10_another_operation_is_not_undone),
		cmocka_unit_test(data_10_it_passes_nothing_that_dropped_before),
		cmocka_unit_test(data_10_what_fails_does_not_last),
		cmocka_unit_test(data_10_what_is_canceled_ends),
		cmocka_unit_test(data_10_what_is_canceled_at_once_leaves_nothing),
		cmocka_unit_test(data_10_a_canceled_one_is_left_to_its_bell),
		cmocka_unit_test(data_10_what_a_dead_client_began_ends),
		cmocka_unit_test(data_10_what_cannot_end_is_refused),
		cmocka_unit_test(data_10_some_of_each),
		cmocka_unit_test(data_10_a_delete_that_is_not_sent_ends_no_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
