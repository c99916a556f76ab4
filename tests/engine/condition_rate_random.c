/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RATE at random, at a home that is driven by hand. What was added is written down with its time;
 * each firing is explained by a window of that, and no window that is 1/64 shorter is without one,
 * however bursts, rests, sets and other items come.
 */
#include <inttypes.h>

#include <rte_common.h>

#include "condition_bed.h"
#include "condition.h"

/* ---- what has come ---- */

struct burst {
	uint64_t at, count;
};

struct traffic {
	struct burst *bursts;
	unsigned int n, room;
	uint64_t begin, count, time;
};

static void
traffic_begin(struct traffic *traffic, uint64_t now)
{
	traffic->n = 0;
	traffic->begin = now;
}

static void
traffic_add(struct traffic *traffic, uint64_t now, uint64_t count)
{
	if (traffic->n == traffic->room) {
		traffic->room = traffic->room * 2 + 64;
		traffic->bursts =
			realloc(traffic->bursts, traffic->room * sizeof(*traffic->bursts));
		assert_non_null(traffic->bursts);
	}
	traffic->bursts[traffic->n++] = (struct burst){now, count};
}

/* How much came within so long a time before the last burst, or before a moment behind that. */
static uint64_t
within(const struct traffic *traffic, uint64_t now, uint64_t time)
{
	uint64_t sum = 0;

	for (unsigned int i = traffic->n; i > 0 && now - traffic->bursts[i - 1].at <= time; i--)
		sum += traffic->bursts[i - 1].count;
	return sum;
}

/* ---- items ---- */

#define ITEMS 6
#define STEPS 60000
/* Iterations that a firing takes at most. */
#define LATE (4 * CONDITION_STEP)

struct item {
	struct traffic traffic;
	uint64_t id, interval, due;
	bool live;
	/* It was queued as one that has begun, and is to fire for that. */
	bool begun;
	/* It has fired, and it may be over since then; 0: it cannot be. */
	bool holds;
	uint64_t until_count, until_time, over;
};

/* What feeds the counter; VERY_MUCH: additions to values near the most that there is. */
enum feed { ADDITIONS, VERY_MUCH, QUEUE, HARDWARE };

/* What hardware is behind, at most. */
#define LAG (8 * CONDITION_STEP)

struct storm {
	struct trip_random random;
	struct bed *bed;
	enum feed feed;
	uint32_t cntr;
	/* All that came since the flow was linked. */
	struct traffic all;
	/* What hardware has not told yet, and when it does. */
	uint64_t unread, reads_at;
	struct item items[ITEMS];
	uint64_t fired, sharp;
};

/* What of the flow has not come to its counter when an item is queued may be of its windows. */
static void
note_not_told(const struct storm *storm, struct traffic *traffic)
{
	const struct trip_cell *cell = &storm->bed->home->cells[storm->cntr];

	for (unsigned int i = 0; storm->feed >= QUEUE && i < storm->all.n; i++)
		if (storm->all.bursts[i].at >= atomic_load(&cell->refreshed_tsc))
			traffic_add(traffic, storm->all.bursts[i].at, storm->all.bursts[i].count);
}

static void
begin_item(struct storm *storm, unsigned int i)
{
	struct item *item = &storm->items[i];
	struct traffic *traffic = &item->traffic;
	struct condition_wanted wanted = {
		.cntr = storm->cntr,
		.count = 1 + trip_random_below(
				     &storm->random, 1 + trip_random_below(&storm->random, 400)),
		.time = RATE_TIME + trip_random_below(&storm->random, 4 * RATE_TIME),
		.interval = trip_random_below(&storm->random, 4) != 0,
		.number = i,
	};

	if (wanted.interval && i % 2 == 0) {
		wanted.until_count = 1 + trip_random_below(&storm->random, 2 * wanted.count);
		wanted.until_time = UNTIL_TIME + trip_random_below(&storm->random, RATE_TIME);
		wanted.begun = trip_random_below(&storm->random, 2) != 0;
	}
	item->holds = false;
	item->until_count = wanted.until_count;
	item->until_time = wanted.until_time;
	traffic->count = wanted.count;
	traffic->time = wanted.time;
	item->interval = wanted.interval;
	item->live = condition_submit_desc(storm->bed, &wanted, &item->id) != NULL;
	item->begun = wanted.begun;
	item->due = item->begun ? storm->bed->now + LATE : UINT64_MAX;
	bed_ring_channel(storm->bed, CONDITION_OWN);
	traffic_begin(traffic, storm->bed->now);
	note_not_told(storm, traffic);
}

/* A window that ends now has fired it by then: one that is 1/64 shorter. In hardware it is shorter
 * by what that is behind, too, begins when all that came before the windows began has been told,
 * and is found a part later. */
static uint64_t
due_by(const struct storm *storm, const struct traffic *traffic)
{
	uint64_t now = storm->bed->now, time = traffic->time - traffic->time / 64, late = LATE;

	time = RTE_MIN(time, now - traffic->begin);
	if (storm->feed == HARDWARE) {
		uint64_t from = traffic->begin + 2 * LAG + traffic->time / 64;

		if (now < from)
			return UINT64_MAX;
		time = RTE_MIN(time - 2 * LAG, now - from);
		late += LAG + traffic->time / 64;
	}
	return within(traffic, now, time) >= traffic->count ? now + late : UINT64_MAX;
}

static void
note_traffic(struct storm *storm, uint64_t count)
{
	traffic_add(&storm->all, storm->bed->now, count);
	for (unsigned int i = 0; i < ITEMS; i++) {
		struct item *item = &storm->items[i];

		if (!item->live)
			continue;
		traffic_add(&item->traffic, storm->bed->now, count);
		if (!item->holds)
			item->due = RTE_MIN(item->due, due_by(storm, &item->traffic));
	}
}

/* Whether less came within so long a time behind the firing. */
static bool
is_below(const struct item *item, uint64_t now, uint64_t time)
{
	return now - item->traffic.begin >= time &&
	       within(&item->traffic, now, time - 1) < item->until_count;
}

static void
look_at_until(const struct storm *storm, struct item *item)
{
	uint64_t now = storm->bed->now, time = item->until_time;

	if (item->over == 0 && is_below(item, now, time))
		item->over = now;
	/* It is by now, however late: a window may begin. */
	if (storm->feed == HARDWARE || !is_below(item, now, time + time / 64 + LATE))
		return;
	item->holds = false;
	item->traffic.begin = now;
}

static void
check_fired(struct storm *storm)
{
	struct log *log = &storm->bed->logs[storm->cntr];
	uint64_t now = storm->bed->now;

	for (unsigned int n = 0; n < log->n; n++) {
		struct item *item = &storm->items[log->fired[n].context / CNTRS];

		assert_true(item->live && (!item->holds || item->over != 0));
		assert_true(item->begun ||
			    within(&item->traffic, now, item->traffic.time) >= item->traffic.count);
		/* One that only the whole window explains. */
		storm->sharp += item->due == UINT64_MAX;
		item->begun = false;
		/* Behind the largest threshold none goes on (WORK-14). */
		item->live = item->interval != 0 && log->fired[n].threshold < TRIP_CNTR_MAX;
		item->due = UINT64_MAX;
		item->holds = item->until_time != 0;
		item->over = 0;
		traffic_begin(&item->traffic, now);
		storm->fired++;
	}
	log->n = 0;
	for (unsigned int i = 0; i < ITEMS; i++) {
		if (storm->items[i].live && storm->items[i].holds)
			look_at_until(storm, &storm->items[i]);
		assert_true(!storm->items[i].live || now <= storm->items[i].due);
	}
}

static void
step(struct storm *storm)
{
	struct bed *bed = storm->bed;

	if (storm->feed == HARDWARE && bed->now >= storm->reads_at) {
		(void)condition_count(bed, (uint32_t)storm->unread);
		storm->unread = 0;
		atomic_store(&bed->flow.fresh_tsc, bed->now);
		storm->reads_at = bed->now + trip_random_below(&storm->random, LAG);
	}
	condition_step(bed);
	check_fired(storm);
}

/* To one of its values, as far as that goes; how many came. Not as far as both go: nothing rings
 * there, and a set is found late (condition_rate_top.c). */
static uint64_t
add(struct storm *storm, uint32_t n)
{
	const struct trip_cell *cell = &storm->bed->home->cells[storm->cntr];
	uint64_t before = trip_cell_sum(cell);

	if (n >= 2 * TRIP_CNTR_MAX - before)
		return 0;
	if (trip_random_below(&storm->random, 2) == 0)
		bed_add(storm->bed, storm->cntr, n);
	else
		condition_add_error(storm->bed, n);
	return trip_cell_sum(cell) - before;
}

static void
count(struct storm *storm, uint32_t n)
{
	uint64_t came = n;

	if (storm->feed < QUEUE)
		came = add(storm, n);
	else if (storm->feed == QUEUE)
		(void)condition_count(storm->bed, n);
	else
		storm->unread += n;
	note_traffic(storm, came);
}

/* What one of its values is set to. */
static uint64_t
draw_value(struct storm *storm)
{
	uint64_t value = trip_random_below(&storm->random, 1000);

	if (storm->feed == ADDITIONS)
		return value;
	switch (trip_random_below(&storm->random, 4)) {
	case 0:
		return value;
	case 1:
		return TRIP_CNTR_MAX / 2 + value;
	default:
		return TRIP_CNTR_MAX - 1 - 10 * value;
	}
}

/* Faster and slower than what any of them waits for, by turns. */
static void
send_some(struct storm *storm, uint64_t pace)
{
	/* Between two iterations. */
	storm->bed->now += trip_random_below(&storm->random, CONDITION_STEP);
	count(storm, (uint32_t)(1 + trip_random_below(&storm->random, pace)));
}

static void
change(struct storm *storm, uint64_t what)
{
	unsigned int i = (unsigned int)trip_random_below(&storm->random, ITEMS);
	struct item *item = &storm->items[i];

	if (!item->live) {
		begin_item(storm, i);
		for (uint64_t n = trip_random_below(&storm->random, 3); n > 0; n--)
			send_some(storm, 4);
		bed_settle(storm->bed);
	} else if (what == 0) {
		condition_cancel(storm->bed, CONDITION_OWN, item->id);
		bed_settle(storm->bed);
		item->live = false;
	} else if (storm->feed < QUEUE && (what == 1 || (what < 5 && storm->feed == VERY_MUCH))) {
		(trip_random_below(&storm->random, 4) == 0 ? condition_set_error : condition_set)(
			storm->bed, draw_value(storm));
		for (i = 0; i < ITEMS; i++) {
			traffic_begin(&storm->items[i].traffic, storm->bed->now);
			storm->items[i].due = UINT64_MAX;
			storm->items[i].over = 0;
		}
		for (uint64_t n = trip_random_below(&storm->random, 3); n > 0; n--)
			send_some(storm, 400);
		bed_settle(storm->bed);
	} else {
		/* Nodes are of other items in between. */
		(void)condition_submit_add(storm->bed, CONDITION_OWN);
		bed_ring_channel(storm->bed, CONDITION_OWN);
	}
}

/* As fast as one of them waits for, or nearly, for some of its windows. */
static void
send_steadily(struct storm *storm)
{
	const struct item *item = &storm->items[trip_random_below(&storm->random, ITEMS)];
	uint64_t gaps = item->traffic.count > 1 ? item->traffic.count - 1 : 1;
	uint64_t apart = item->live ? item->traffic.time / gaps : CONDITION_STEP;
	uint64_t end = storm->bed->now + 3 * item->traffic.time / 2, next = storm->bed->now;

	apart = apart * (1000 - trip_random_below(&storm->random, 16)) / 1000 + 1;
	while (storm->bed->now < end) {
		for (; next + CONDITION_STEP <= storm->bed->now; next += apart)
			;
		if (next > storm->bed->now) {
			step(storm);
			continue;
		}
		next += apart;
		count(storm, 1);
		step(storm);
	}
}

static void
play(struct storm *storm)
{
	const uint64_t steps = trip_test_rounds(STEPS);
	uint64_t pace = 1, chance = 500;

	for (uint64_t s = 0; s < steps; s++) {
		if (trip_random_below(&storm->random, 2000) == 0) {
			pace = UINT64_C(1) << trip_random_below(&storm->random, 7);
			chance = UINT64_C(1) << trip_random_below(&storm->random, 10);
		}
		if (trip_random_below(&storm->random, 1000) < chance)
			send_some(storm, pace);
		else if (trip_random_below(&storm->random, 300) == 0)
			change(storm, trip_random_below(&storm->random, 6));
		else if (trip_random_below(&storm->random, 1200) == 0)
			send_steadily(storm);
		else if (trip_random_below(&storm->random, 2000) == 0)
			for (uint64_t n = trip_random_below(&storm->random, 8000); n > 0; n--)
				step(storm);
		step(storm);
	}
	print_message("%" PRIu64 " firings, %" PRIu64 " of them by a whole window\n", storm->fired,
		storm->sharp);
	assert_true(storm->fired > 0 &&
		    (storm->sharp > 0 || steps < STEPS || storm->feed == VERY_MUCH));
}

static void
at_random_by(enum feed feed)
{
	struct storm storm = {
		.random = {.state = trip_test_seed("rate")},
		.bed = condition_open(),
		.feed = feed,
		.cntr = feed < QUEUE ? CONDITION_TRIGGER : CONDITION_FED,
	};

	if (feed >= QUEUE)
		condition_link_flow(storm.bed, feed == HARDWARE);
	play(&storm);
	for (unsigned int i = 0; i < ITEMS; i++) {
		if (storm.items[i].live)
			condition_cancel(storm.bed, CONDITION_OWN, storm.items[i].id);
		free(storm.items[i].traffic.bursts);
	}
	free(storm.all.bursts);
	bed_settle(storm.bed);
	condition_expect_all_back(storm.bed, CONDITION_OWN);
	if (feed >= QUEUE)
		trip_source_unlink(storm.bed->home, 0);
	bed_close(storm.bed);
}

static void
additions_at_random(void **state)
{
	at_random_by(ADDITIONS);
}

static void
additions_to_very_much_at_random(void **state)
{
	at_random_by(VERY_MUCH);
}

static void
a_queue_at_random(void **state)
{
	at_random_by(QUEUE);
}

static void
hardware_at_random(void **state)
{
	at_random_by(HARDWARE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(additions_at_random),
		cmocka_unit_test(additions_to_very_much_at_random),
		cmocka_unit_test(a_queue_at_random),
		cmocka_unit_test(hardware_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
