/* SPDX-License-Identifier: BSD-3-Clause */
/* IDLE of counters that flows feed, of one to which anything is done at random, where a model says
 * when each item is to fire, and of one that many watch. */
#include <rte_common.h>

#include "condition_bed.h"
#include "node.h"

/* ---- flows ---- */

static void
watch_flow(struct bed *bed, bool hard)
{
	condition_link_flow(bed, hard);
	condition_submit(bed, &(const struct condition_wanted){
				      .cntr = CONDITION_FED, .interval = 1, .time = IDLE_TIME});
	bed_settle(bed);
}

/* What is in no cell yet has advanced all the same; and queues do not ring for each packet. */
static void
packets_of_a_queue_are_not_overlooked(void **state)
{
	static const uint64_t apart[] = {
		CONDITION_STEP, IDLE_TIME / 20, IDLE_TIME - 10 * CONDITION_STEP};

	for (unsigned int i = 0; i < RTE_DIM(apart); i++) {
		struct bed *bed = condition_open();
		unsigned int rings = 0, packets = 0;
		uint64_t end;

		watch_flow(bed, false);
		for (end = bed->now + 20 * IDLE_TIME; bed->now < end; packets++) {
			rings += condition_count(bed, 1);
			condition_go_to(bed, bed->now + apart[i]);
		}
		assert_int_equal(bed->fired, 0);
		assert_true(rings <= packets && rings <= 20 * 260);
		(void)condition_count(bed, 1);
		idle_expect_fires(bed, bed->now);
		(void)condition_count(bed, 1);
		idle_expect_fires(bed, bed->now);
		trip_source_unlink(bed->home, 0);
		bed_close(bed);
	}
}

/* As long as hardware has not been read, nobody knows. Then it is late by that, and a rest. */
static void
hardware_is_judged_by_what_was_read(void **state)
{
	struct bed *bed = condition_open();
	uint64_t advanced, fresh = bed->now;

	watch_flow(bed, true);
	condition_go_to(bed, bed->now + 5 * IDLE_TIME);
	assert_int_equal(bed->fired, 0);
	/* It was read four times in five, each a while ago, and packets were there. */
	for (unsigned int i = 0; i < 20; i++) {
		trip_count_add(&bed->read->count, 1, 64);
		fresh = bed->now;
		atomic_store(&bed->flow.fresh_tsc, fresh);
		condition_go_to(bed, bed->now + IDLE_TIME / 2);
		assert_int_equal(bed->fired, 0);
	}
	advanced = bed->now;
	condition_go_to(bed, advanced + 5 * IDLE_TIME);
	assert_int_equal(bed->fired, 0);
	atomic_store(&bed->flow.fresh_tsc, fresh + IDLE_TIME - 1);
	condition_go_to(bed, bed->now + 2 * IDLE_TIME);
	assert_int_equal(bed->fired, 0);
	fresh = bed->now;
	atomic_store(&bed->flow.fresh_tsc, fresh);
	condition_go_to(bed, bed->now + IDLE_TIME / 50);
	assert_int_equal(bed->fired, 1);
	trip_source_unlink(bed->home, 0);
	bed_close(bed);
}

/* As much as hardware is behind, where that is not much. */
#define LAG (4 * CONDITION_STEP)

/* To find that it counts no more, and that all until the end is known, takes 1 % together. */
static void
hardware_that_is_read_often_is_in_time(void **state)
{
	for (uint64_t stops = IDLE_TIME; stops < IDLE_TIME + IDLE_TIME / 100;
		stops += CONDITION_STEP) {
		struct bed *bed = condition_open();
		uint64_t began = bed->now, advanced = 0;

		watch_flow(bed, true);
		while (bed->fired == 0 && bed->now < began + 4 * IDLE_TIME) {
			if (bed->now < began + stops) {
				advanced = bed->now;
				trip_count_add(&bed->read->count, 1, 64);
			}
			atomic_store(&bed->flow.fresh_tsc, bed->now - LAG);
			condition_step(bed);
		}
		assert_int_equal(bed->fired, 1);
		assert_true(bed->now >= advanced + IDLE_TIME);
		assert_true(bed->now <= advanced + IDLE_LATEST + LAG + 4 * CONDITION_STEP);
		trip_source_unlink(bed->home, 0);
		bed_close(bed);
	}
}

/* ---- at random ---- */

#define ITEMS 40
#define STEPS 40000

/* What is known of an item. */
struct item {
	uint64_t id, time, interval;
	/* From when on it rests, and what it stood at when it fired. */
	uint64_t since, sum;
	bool live, fired;
};

struct storm {
	struct trip_random random;
	struct bed *bed;
	struct item items[ITEMS];
	uint64_t fired, late;
};

static void
begin_item(struct storm *storm, unsigned int i)
{
	struct item *item = &storm->items[i];
	struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER,
		.interval = trip_random_below(&storm->random, 3),
		.time = 1 + trip_random_below(&storm->random,
				    8 * IDLE_TIME >> trip_random_below(&storm->random, 12))};
	struct trip_work_desc *desc = condition_submit_desc(storm->bed, &wanted, &item->id);

	if (desc == NULL)
		return;
	desc->context = (uint64_t)i * CNTRS + CONDITION_TRIGGER;
	bed_ring_channel(storm->bed, CONDITION_OWN);
	bed_settle(storm->bed);
	item->time = wanted.time;
	item->interval = wanted.interval;
	item->since = storm->bed->now;
	item->live = true;
	item->fired = false;
}

/* It has advanced, or was set: what waits for that waits anew. */
static void
advance(struct storm *storm, uint64_t sum, bool was_set)
{
	for (unsigned int i = 0; i < ITEMS; i++) {
		struct item *item = &storm->items[i];

		if (item->fired && !was_set && sum < item->sum + item->interval)
			continue;
		item->since = storm->bed->now;
		item->fired = false;
	}
}

static void
check_fired(struct storm *storm)
{
	struct log *log = &storm->bed->logs[CONDITION_TRIGGER];

	for (unsigned int n = 0; n < log->n; n++) {
		struct item *item = &storm->items[log->fired[n].context / CNTRS];

		assert_true(item->live && !item->fired);
		assert_true(storm->bed->now >= item->since + item->time);
		item->fired = true;
		item->sum = log->fired[n].value;
		item->live = item->interval != 0;
		storm->fired++;
	}
	log->n = 0;
	for (unsigned int i = 0; i < ITEMS; i++) {
		const struct item *item = &storm->items[i];

		if (item->live && !item->fired)
			assert_true(storm->bed->now <= item->since + item->time + item->time / 100 +
							       16 * CONDITION_STEP);
	}
}

static void
at_random(void **state)
{
	struct storm storm = {.random = {.state = trip_test_seed("idle")}, .bed = condition_open()};
	struct trip_cell *cell = &storm.bed->home->cells[CONDITION_TRIGGER];

	for (unsigned int s = 0; s < STEPS; s++) {
		uint64_t what = trip_random_below(&storm.random, 1000);
		unsigned int i = (unsigned int)trip_random_below(&storm.random, ITEMS);

		if (what < 20) {
			if (!storm.items[i].live)
				begin_item(&storm, i);
		} else if (what < 24 && storm.items[i].live) {
			condition_cancel(storm.bed, CONDITION_OWN, storm.items[i].id);
			storm.items[i].live = false;
		} else if (what < 60) {
			bed_add(storm.bed, CONDITION_TRIGGER, 1 + what % 3);
			advance(&storm, trip_cell_sum(cell), false);
		} else if (what < 64) {
			condition_set(storm.bed, trip_random_below(&storm.random, 100));
			advance(&storm, trip_cell_sum(cell), true);
		} else if (what < 80) {
			/* Nodes are of other items in between. */
			(void)condition_submit_add(storm.bed, CONDITION_OWN);
			bed_ring_channel(storm.bed, CONDITION_OWN);
		} else if (what < 82) {
			/* Quiet for a while. */
			for (unsigned int n = 0; n < 2000; n++) {
				condition_step(storm.bed);
				check_fired(&storm);
			}
		}
		condition_step(storm.bed);
		check_fired(&storm);
	}
	assert_true(storm.fired > 1000);
	for (unsigned int i = 0; i < ITEMS; i++)
		if (storm.items[i].live)
			condition_cancel(storm.bed, CONDITION_OWN, storm.items[i].id);
	bed_settle(storm.bed);
	assert_true(trip_cell_success(&storm.bed->home->cells[CONDITION_TARGET]) > 100);
	condition_expect_all_back(storm.bed, CONDITION_OWN);
	bed_close(storm.bed);
}

/* ---- of many ---- */

/* Of those that are looked at next, whether more stand than not. */
static bool
most_stand(const struct trip_home *home)
{
	uint32_t at = home->looks;
	int more = 0;

	if (at == TRIP_NONE)
		return false;
	for (unsigned int i = 0; i < home->budget; i++) {
		more += home->nodes[home->nodes[at].condition.item].queued ? 1 : -1;
		at = home->nodes[at].condition.next;
	}
	return more > 0;
}

/* Additions come when that makes most items lift that stand, and not when others would stand: so
 * some do either in most iterations, and each time their counter has to settle. It is sampled all
 * the same, whether it rings or is hot, and fires what it has reached. */
static void
hides_no_crossing(unsigned int items, uint8_t hot)
{
	struct bed *bed = condition_open();
	uint64_t sum = 0, fired = 0;
	unsigned int waits = 0;

	bed->home->hot.log2 = hot;
	for (unsigned int i = 0; i < items; i++)
		condition_submit(bed, &(const struct condition_wanted){.cntr = CONDITION_TRIGGER,
					      .interval = 1,
					      .time = 256 * CONDITION_STEP});
	bed_submit(bed, CONDITION_TRIGGER, 1, 1, 1);
	bed_settle(bed);
	bed->home->budget = 2;
	for (unsigned int i = 0; i < 2000; i++) {
		struct log *log = &bed->logs[CONDITION_TRIGGER];
		uint64_t before = fired;

		sum += most_stand(bed->home);
		bed_ring_if(bed, CONDITION_TRIGGER,
			trip_cell_add(&bed->home->cells[CONDITION_TRIGGER],
				sum - trip_cell_success(&bed->home->cells[CONDITION_TRIGGER])));
		condition_step(bed);
		while (log->n > 0)
			fired += log->fired[--log->n].context != CONDITION_TRIGGER;
		waits = fired < sum && fired == before ? waits + 1 : 0;
		assert_true(waits <= 4);
	}
	assert_true(fired > 20);
	bed_close(bed);
}

static void
conditions_that_come_and_go_hide_no_crossing(void **state)
{
	for (unsigned int items = 4; items < SLOTS / 2; items++) {
		hides_no_crossing(items, 0);
		hides_no_crossing(items, 12);
	}
}

/* Whoever added before it was hot is that slow. */
static uint64_t
rings_meanwhile(struct trip_home *home)
{
	trip_due_ring_self(home, CONDITION_TRIGGER);
	return home->now;
}

/* So it is sampled next, and need not be polled for what has come to stand. */
static void
a_hot_counter_that_was_rung_for_is_in_order(void **state)
{
	struct bed *bed = condition_open();
	uint64_t (*clock)(struct trip_home * home) = bed->home->clock;

	bed->home->hot.log2 = 12;
	idle_watch(bed, 1);
	bed_submit(bed, CONDITION_TRIGGER, 5, 5, 1);
	bed_settle(bed);
	for (unsigned int i = 0; i < 3; i++) {
		bed_add(bed, CONDITION_TRIGGER, 5);
		condition_step(bed);
	}
	assert_int_equal(bed->home->n_hot, 1);
	bed->home->clock = rings_meanwhile;
	for (unsigned int i = 0; i < 2 * IDLE_TIME / 256 / CONDITION_STEP; i++) {
		condition_step(bed);
		bed_check(bed);
	}
	bed->home->clock = clock;
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_a_queue_are_not_overlooked),
		cmocka_unit_test(hardware_is_judged_by_what_was_read),
		cmocka_unit_test(hardware_that_is_read_often_is_in_time),
		cmocka_unit_test(at_random),
		cmocka_unit_test(conditions_that_come_and_go_hide_no_crossing),
		cmocka_unit_test(a_hot_counter_that_was_rung_for_is_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
