/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that last, at a home that is driven by hand on a clock of the test's own: a flow drops
 * for a time, and not for one nanosecond more or less; what ends that before; and what of the item
 * comes back (DATA-10).
 */
#include <errno.h>

#include <rte_common.h>

#include "drop.h"
#include "lasting_bed.h"
#include "node.h"

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
	scene_go_to(scene, end - 1);
	assert_true(drops(scene));
	/* A clock rounds down. */
	scene_go_to(scene, end + 1);
	assert_false(drops(scene));
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
	struct scene *scene = scene_open();
	struct trip_event event;

	(void)scene_submit(scene, OWN, 10, 0, TIME);
	scene_add(scene, 9);
	assert_false(drops(scene));
	scene_add(scene, 5);
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
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

/* Each firing counts anew; where it ends in between, it begins anew. */
static void
data_10_a_further_firing_prolongs_it(void **state)
{
	struct scene *scene = scene_open();
	uint64_t id = scene_submit(scene, OWN, 10, 10, TIME);

	scene_add(scene, 10);
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	for (unsigned int i = 0; i < 5; i++) {
		scene_go_to(scene, scene->bed->now + TIME - 1);
		assert_true(drops(scene));
		/* A jump over several, too. */
		scene_add(scene, 10 * (1 + i % 2));
		for (unsigned int n = 0; n <= i % 2; n++)
			assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	}
	expect_until(scene, scene->bed->now + TIME);
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE | TRIP_WORK_END);
	scene_add(scene, 10);
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	expect_until(scene, scene->bed->now + TIME);
	scene_cancel(scene, OWN, id);
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

static void
data_10_each_lasts_for_its_own_time(void **state)
{
	struct scene *scene = scene_open();
	uint64_t begun = scene->bed->now;

	(void)scene_submit(scene, OWN, 1, 0, 10 * TIME);
	(void)scene_submit(scene, CLIENT, 1, 0, TIME);
	(void)scene_submit(scene, OWN, 2, 0, TIME);
	scene_add(scene, 1);
	scene_go_to(scene, begun + TIME + 1);
	assert_true(drops(scene));
	scene_go_to(scene, begun + 9 * TIME + TIME / 2);
	scene_add(scene, 1);
	scene_go_to(scene, begun + 10 * TIME + 1);
	expect_until(scene, begun + 10 * TIME + TIME / 2);
	scene_expect_all_back(scene, OWN);
	scene_expect_all_back(scene, CLIENT);
	scene_close(scene);
}

static void
data_10_another_operation_is_not_undone(void **state)
{
	static const enum trip_op ops[] = {
		TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DELETE};

	for (unsigned int i = 0; i < RTE_DIM(ops); i++) {
		struct scene *scene = scene_open();
		uint64_t begun = scene->bed->now;
		uint8_t is;

		(void)scene_submit(scene, OWN, 1, 0, TIME);
		scene_add(scene, 1);
		scene_operate(scene, ops[i]);
		is = atomic_load(&scene->action);
		/* What follows a pass is another one's. */
		scene_go_to(scene, begun + TIME / 2);
		if (ops[i] == TRIP_OP_FLOW_PASS) {
			assert_int_equal(is, TRIP_ACTION_ACTIVE);
			scene_operate(scene, TRIP_OP_FLOW_DROP);
			is |= TRIP_ACTION_DROP;
		}
		scene_go_to(scene, begun + 2 * TIME);
		assert_int_equal(atomic_load(&scene->action), is);
		assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
		assert_int_equal(event_of(scene).flags, TRIP_WORK_END);
		scene_expect_all_back(scene, OWN);
		scene_close(scene);
	}
}

/* A drop for a time, of what drops for ever already. */
static void
data_10_it_passes_nothing_that_dropped_before(void **state)
{
	struct scene *scene = scene_open();

	scene_operate(scene, TRIP_OP_FLOW_DROP);
	(void)scene_submit(scene, OWN, 1, 0, TIME);
	scene_add(scene, 1);
	scene_go_to(scene, scene->bed->now + 2 * TIME);
	assert_true(drops(scene));
	scene_close(scene);
}

/* The flow has ended: nothing begins, and so nothing is to end. */
static void
data_10_what_fails_does_not_last(void **state)
{
	struct scene *scene = scene_open();
	struct trip_event event;

	scene_operate(scene, TRIP_OP_FLOW_DELETE);
	(void)scene_submit(scene, OWN, 1, 0, TIME);
	scene_add(scene, 1);
	assert_int_equal(trip_event_ring_pop(scene->bed->home->events, &event, 1), 1);
	assert_int_equal(event.result, -ENOENT);
	assert_int_equal(event.flags, 0);
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

/* Before it fires, behind that, and behind its last end. */
static void
data_10_what_is_canceled_ends(void **state)
{
	struct scene *scene = scene_open();
	struct trip_event event;
	uint64_t id = scene_submit(scene, OWN, 1, 0, TIME);

	scene_cancel(scene, OWN, id);
	scene_add(scene, 1);
	assert_false(drops(scene));
	id = scene_submit(scene, OWN, 1, 0, TIME);
	assert_true(drops(scene));
	assert_int_equal(event_of(scene).flags, TRIP_WORK_MORE);
	scene_cancel(scene, OWN, id);
	assert_false(drops(scene));
	scene_go_to(scene, scene->bed->now + 2 * TIME);
	/* Nobody is told, and nothing waits any more. */
	assert_int_equal(trip_event_ring_pop(scene->bed->home->events, &event, 1), 0);
	assert_true(scene->bed->home->clock_tsc == UINT64_MAX);
	id = scene_submit(scene, OWN, 1, 0, TIME);
	scene_go_to(scene, scene->bed->now + TIME + 1);
	assert_int_equal(trip_channel_cancel(&scene->bed->home->clients[OWN], id), -ENOENT);
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

/* And before the home has accepted it: the slot of its end comes back, too. */
static void
data_10_what_is_canceled_at_once_leaves_nothing(void **state)
{
	struct scene *scene = scene_open();
	uint64_t id;

	assert_non_null(scene_submit_desc(scene, OWN, TRIP_OP_FLOW_DROP, TIME, &id));
	scene_cancel(scene, OWN, id);
	scene_add(scene, 1);
	assert_false(drops(scene));
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

/* Canceled, and the home does not know when both of its nodes are on their way to their firing. */
static void
data_10_a_canceled_one_is_left_to_its_bell(void **state)
{
	struct scene *scene = scene_open();
	uint64_t id = scene_submit(scene, OWN, 10, 10, TIME);
	struct trip_channel_client *client = &scene->bed->home->clients[OWN];

	scene_add(scene, 10);
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
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

/* One that had fired counts no error, one that had not does. */
static void
data_10_what_a_dead_client_began_ends(void **state)
{
	struct scene *scene = scene_open();

	(void)scene_submit(scene, CLIENT, 1, 0, TIME);
	(void)scene_submit(scene, CLIENT, 2, 0, TIME);
	scene_add(scene, 1);
	assert_true(drops(scene));
	trip_drop_ask(scene->bed->home, 0);
	while (!trip_drop_done(scene->bed->home, 0))
		bed_settle(scene->bed);
	assert_false(drops(scene));
	assert_int_equal(trip_cell_success(&scene->bed->home->cells[OTHER]), 1);
	assert_int_equal(trip_cell_error(&scene->bed->home->cells[OTHER]), 1);
	scene_expect_all_back(scene, CLIENT);
	scene_close(scene);
}

/* For a time without a slot for its end, that of another item, an operation that never ends, a time
 * above the limit. */
static void
data_10_what_cannot_end_is_refused(void **state)
{
	struct scene *scene = scene_open();
	const struct trip_channel_home *channel = &scene->bed->home->channels[CLIENT];
	const struct trip_work_desc *good;
	uint64_t id;

	good = scene_submit_desc(scene, CLIENT, TRIP_OP_FLOW_DROP, TIME, &id);
	bed_settle(scene->bed);
	for (unsigned int i = 0; i < 5; i++) {
		struct trip_work_desc *bad =
			scene_submit_desc(scene, CLIENT, TRIP_OP_FLOW_DROP, TIME, &id);
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
	scene_add(scene, 1);
	expect_until(scene, scene->bed->now + TIME);
	scene_close(scene);
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
	struct scene *scene = scene_open();
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
			item->id =
				scene_submit(scene, CLIENT, item->next, item->interval, item->time);
		} else if (what == 3 && item->is) {
			scene_cancel(scene, CLIENT, item->id);
			*item = (struct item){0};
		} else if (what < 6) {
			uint64_t n = trip_random_below(&random, 60);

			sum += n;
			scene_add(scene, n);
		} else {
			scene_go_to(scene, scene->bed->now + trip_random_below(&random, 300));
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
			scene_cancel(scene, CLIENT, items[i].id);
	assert_false(drops(scene));
	scene_expect_all_back(scene, CLIENT);
	scene_close(scene);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
