/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RATE at a home that is driven by hand, on a clock of the test's own. What was added is written
 * down with its time; each firing is explained by a window of that, and no window that is 1/64
 * shorter is without one, however bursts, rests, sets and other items come.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "condition_bed.h"
#include "condition.h"
#include "fate.h"
#include "soft.h"

#define RATE_TIME UINT64_C(100000)
/* So long that iterations are far nearer to each other than a thousandth of it. */
#define UNTIL_TIME (8 * RATE_TIME)

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

/* Of RATE_TIME. */
static void
rate_watch(struct bed *bed, uint64_t threshold, uint64_t count, uint64_t interval)
{
	condition_submit(bed, &(const struct condition_wanted){.cntr = CONDITION_TRIGGER,
				      .threshold = threshold,
				      .count = count,
				      .time = RATE_TIME,
				      .interval = interval});
	bed_settle(bed);
}

/* So many come at once, and the home has looked. */
static void
expect_fired_behind(struct bed *bed, uint64_t count, uint64_t fired)
{
	bed_add(bed, CONDITION_TRIGGER, count);
	condition_step(bed);
	condition_step(bed);
	assert_int_equal(bed->fired, fired);
}

/* ---- by hand ---- */

static void
it_fires_with_the_last_of_them(void **state)
{
	static const uint64_t apart[] = {0, CONDITION_STEP, RATE_TIME / 64 / 9, RATE_TIME / 10};

	for (unsigned int i = 0; i < RTE_DIM(apart); i++) {
		struct bed *bed = condition_open();

		rate_watch(bed, 0, 10, 0);
		condition_go_to(bed, bed->now + 5 * RATE_TIME);
		for (unsigned int n = 0; n < 10; n++) {
			assert_int_equal(bed->fired, 0);
			condition_go_to(bed, bed->now + apart[i]);
			bed_add(bed, CONDITION_TRIGGER, 1);
		}
		bed_settle(bed);
		assert_int_equal(bed->fired, 1);
		assert_int_equal(bed->logs[CONDITION_TRIGGER].fired[0].threshold, 10);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

static void
less_within_a_window_never_fires_it(void **state)
{
	struct bed *bed = condition_open();

	rate_watch(bed, 0, 10, 0);
	/* Nine in a window, wherever that begins. */
	for (unsigned int i = 0; i < 300; i++) {
		bed_add(bed, CONDITION_TRIGGER, 1);
		condition_go_to(bed, bed->now + RATE_TIME / 9 + CONDITION_STEP);
	}
	assert_int_equal(bed->fired, 0);
	/* Nine at once, again and again. */
	for (unsigned int i = 0; i < 30; i++) {
		condition_go_to(bed, bed->now + RATE_TIME + CONDITION_STEP);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_step(bed);
	}
	assert_int_equal(bed->fired, 0);
	bed_close(bed);
}

static void
a_counter_that_rests_wakes_nobody(void **state)
{
	struct bed *bed = condition_open();
	uint64_t busy;

	rate_watch(bed, 0, 10, 1);
	for (unsigned int i = 0; i < 3; i++) {
		bed_add(bed, CONDITION_TRIGGER, 3);
		condition_go_to(bed, bed->now + RATE_TIME / 16);
		bed_settle(bed);
		assert_true(trip_home_idle(bed->home));
		assert_true(bed->home->clock_tsc == UINT64_MAX);
		busy = atomic_load(&bed->home->stats.busy_iterations);
		condition_go_to(bed, bed->now + 20 * RATE_TIME);
		assert_int_equal(atomic_load(&bed->home->stats.busy_iterations), busy);
	}
	assert_int_equal(bed->fired, 0);
	bed_close(bed);
}

static void
it_fires_again_for_as_many_more(void **state)
{
	struct bed *bed = condition_open();

	rate_watch(bed, 0, 10, 1);
	for (unsigned int i = 0; i < 5; i++) {
		expect_fired_behind(bed, 9, i);
		/* What is above that is of the next window, or of none. */
		expect_fired_behind(bed, 1 + i, i + 1);
	}
	bed_close(bed);
}

static void
a_set_begins_anew(void **state)
{
	static const uint64_t to[] = {0, 5, 9, 40};

	for (unsigned int i = 0; i < RTE_DIM(to); i++) {
		struct bed *bed = condition_open();

		rate_watch(bed, 0, 10, 0);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_go_to(bed, bed->now + RATE_TIME / 8);
		condition_set(bed, to[i]);
		condition_step(bed);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_go_to(bed, bed->now + RATE_TIME / 8);
		assert_int_equal(bed->fired, 0);
		expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

/* The windows begin when the threshold is reached; what came until then is of none. */
static void
it_begins_at_its_threshold(void **state)
{
	struct bed *bed = condition_open();

	rate_watch(bed, 100, 10, 0);
	bed_add(bed, CONDITION_TRIGGER, 99);
	condition_go_to(bed, bed->now + RATE_TIME / 8);
	assert_int_equal(bed->fired, 0);
	/* One of these reaches it. */
	expect_fired_behind(bed, 9, 0);
	expect_fired_behind(bed, 1, 0);
	expect_fired_behind(bed, 1, 1);
	condition_expect_all_back(bed, CONDITION_OWN);
	bed_close(bed);
}

static const struct condition_wanted ten_until_less = {.cntr = CONDITION_TRIGGER,
	.count = 10,
	.time = RATE_TIME,
	.interval = 1,
	.until_count = 10,
	.until_time = UNTIL_TIME};

/* With an until of as many: until there were less in its time, behind the firing. */
static void
it_fires_again_when_it_was_over(void **state)
{
	struct bed *bed = condition_open();
	uint64_t fired;

	condition_submit(bed, &ten_until_less);
	bed_settle(bed);
	expect_fired_behind(bed, 10, 1);
	fired = bed->now;
	/* It goes on, at just the rate of the until, and faster. */
	while (bed->now < fired + 5 * UNTIL_TIME) {
		condition_go_to(bed, bed->now + UNTIL_TIME / 11);
		expect_fired_behind(bed, 1 + (bed->now > fired + 3 * UNTIL_TIME ? 2 : 0), 1);
	}
	/* Not for as long. */
	expect_fired_behind(bed, 10, 1);
	fired = bed->now;
	condition_go_to(bed, fired + UNTIL_TIME - 4 * CONDITION_STEP);
	expect_fired_behind(bed, 10, 1);
	fired = bed->now;
	condition_go_to(bed, fired + UNTIL_TIME + UNTIL_TIME / 64);
	expect_fired_behind(bed, 9, 1);
	expect_fired_behind(bed, 1, 2);
	bed_close(bed);
}

/* What drops passes then, unless another drop came since; what is canceled passes at once. */
static void
what_it_drops_passes_when_it_is_over(void **state)
{
	struct condition_wanted wanted = ten_until_less;
	_Atomic uint8_t action = TRIP_ACTION_ACTIVE;
	struct bed *bed = condition_open();
	uint64_t id, ended;

	wanted.drops = true;
	bed->engine.actions = &action;
	id = condition_submit(bed, &wanted);
	bed_settle(bed);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(action, TRIP_ACTION_ACTIVE);
		bed_add(bed, CONDITION_TRIGGER, 10);
		bed_settle(bed);
		ended = bed->now + UNTIL_TIME;
		condition_go_to(bed, ended - 4 * CONDITION_STEP);
		assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
		condition_go_to(bed, ended + UNTIL_TIME / 64);
	}
	bed_add(bed, CONDITION_TRIGGER, 10);
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
	condition_cancel(bed, CONDITION_OWN, id);
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE);
	condition_submit(bed, &wanted);
	bed_settle(bed);
	bed_add(bed, CONDITION_TRIGGER, 10);
	bed_settle(bed);
	trip_fate_drop(&bed->flow.fate);
	condition_go_to(bed, bed->now + 2 * UNTIL_TIME);
	assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
	bed_close(bed);
}

/* It has fired for the last time: what it drops ends where its alarm would have come next. */
static void
its_end_comes_before_its_alarm(void **state)
{
	const struct condition_wanted wanted = {
		.cntr = CONDITION_TRIGGER, .count = 10, .time = RATE_TIME, .drops = true};
	_Atomic uint8_t action = TRIP_ACTION_ACTIVE;
	struct bed *bed = condition_open();
	uint64_t id;

	bed->engine.actions = &action;
	condition_submit_desc(bed, &wanted, &id)->value = 1;
	bed_ring_channel(bed, CONDITION_OWN);
	bed_settle(bed);
	bed_add(bed, CONDITION_TRIGGER, 1);
	bed_settle(bed);
	bed_add(bed, CONDITION_TRIGGER, 9);
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE | TRIP_ACTION_DROP);
	bed->now += RATE_TIME;
	bed_settle(bed);
	assert_int_equal(action, TRIP_ACTION_ACTIVE);
	condition_expect_none(bed);
	condition_expect_all_back(bed, CONDITION_OWN);
	assert_true(bed->home->clock_tsc == UINT64_MAX);
	bed_close(bed);
}

static void
a_set_begins_the_until_anew(void **state)
{
	struct bed *bed = condition_open();

	condition_submit(bed, &ten_until_less);
	bed_settle(bed);
	expect_fired_behind(bed, 10, 1);
	condition_go_to(bed, bed->now + UNTIL_TIME / 2);
	condition_set(bed, 0);
	condition_go_to(bed, bed->now + UNTIL_TIME - 4 * CONDITION_STEP);
	expect_fired_behind(bed, 10, 1);
	condition_go_to(bed, bed->now + UNTIL_TIME + UNTIL_TIME / 64);
	expect_fired_behind(bed, 10, 2);
	bed_close(bed);
}

/* Its home accepts it late: windows begin where it was queued, by what the counter showed there. */
static void
what_comes_before_it_is_accepted_counts(void **state)
{
	/* How many times the window it takes for ten of them; what the threshold is, of which 5 are
	 * there already. */
	static const struct {
		uint64_t windows, threshold;
		bool fires;
	} cases[] = {{0, 0, true}, {0, 5, true}, {0, 6, false}, {2, 0, false}};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER,
			.threshold = cases[i].threshold,
			.count = 10,
			.time = RATE_TIME};
		struct bed *bed = condition_open();

		bed_add(bed, CONDITION_TRIGGER, 5);
		condition_step(bed);
		condition_submit(bed, &wanted);
		for (unsigned int n = 0; n < 10; n++) {
			bed->now += RATE_TIME / 11 + cases[i].windows * RATE_TIME / 11;
			bed_add(bed, CONDITION_TRIGGER, 1);
		}
		bed_settle(bed);
		assert_int_equal(bed->fired, cases[i].fires);
		bed_add(bed, CONDITION_TRIGGER, 1);
		bed_settle(bed);
		assert_int_equal(bed->fired, cases[i].windows == 0);
		bed_close(bed);
	}
}

/* And where it was set meanwhile, they do not. */
static void
a_set_before_it_is_accepted_begins_anew(void **state)
{
	const struct condition_wanted wanted = {
		.cntr = CONDITION_TRIGGER, .count = 10, .time = RATE_TIME};
	struct bed *bed = condition_open();

	condition_submit(bed, &wanted);
	condition_set(bed, 30);
	bed_settle(bed);
	assert_int_equal(bed->fired, 0);
	expect_fired_behind(bed, 10, 1);
	bed_close(bed);
}

/* It may claim a sum that was never there, and a time to come: its own item is early or late by
 * that, and all else goes on. */
static void
what_is_said_to_be_queued_may_be_anything(void **state)
{
	static const uint64_t words[] = {0, 1, 20, 1 << 20, TRIP_CNTR_MAX, UINT64_MAX};

	for (unsigned int i = 0; i < RTE_DIM(words) * RTE_DIM(words) * 2; i++) {
		const struct condition_wanted wanted = {.channel = CONDITION_CLIENT,
			.cntr = CONDITION_TRIGGER,
			.count = 10,
			.interval = 1,
			.time = RATE_TIME};
		struct bed *bed = condition_open();
		struct trip_work_desc *desc;
		struct trip_condition_queued *queued;
		uint64_t id;

		bed_add(bed, CONDITION_TRIGGER, 20);
		condition_go_to(bed, 3 * RATE_TIME);
		desc = condition_submit_desc(bed, &wanted, &id);
		queued = trip_channel_operands(
			&bed->home->clients[CONDITION_CLIENT], desc->memory - 1);
		*queued = (struct trip_condition_queued){
			.sum = words[i / 2 % RTE_DIM(words)],
			.known = words[i / 2 / RTE_DIM(words)],
			.setgen = i % 2,
		};
		bed_ring_channel(bed, CONDITION_CLIENT);
		condition_step(bed);
		condition_go_to(bed, bed->now + 3 * RATE_TIME);
		assert_true(bed->fired <= 1);
		bed->fired = 0;
		expect_fired_behind(bed, 9, 0);
		expect_fired_behind(bed, 1, 1);
		bed_close(bed);
	}
}

/* ---- its end ---- */

/* Not accepted, before its threshold, resting, counting, when it has fired, and with both its sum
 * and its alarm on their way. */
#define PHASES 6

static void
bring_to(struct bed *bed, unsigned int phase)
{
	if (phase == 0)
		return;
	bed_settle(bed);
	if (phase >= 2)
		bed_add(bed, CONDITION_TRIGGER, 1);
	if (phase >= 2)
		condition_go_to(bed, bed->now + RATE_TIME / 20);
	if (phase >= 3)
		bed_add(bed, CONDITION_TRIGGER, 3);
	if (phase >= 3)
		condition_go_to(bed, bed->now + 2 * CONDITION_STEP);
	if (phase == 4)
		bed_add(bed, CONDITION_TRIGGER, 9);
	if (phase == 4)
		condition_go_to(bed, bed->now + 2 * CONDITION_STEP);
	if (phase == 5) {
		bed->now += RATE_TIME;
		(void)trip_home_iterate(bed->home, bed->now);
		bed_add(bed, CONDITION_TRIGGER, 9);
	}
}

static void
it_is_canceled_at_any_time(void **state)
{
	for (unsigned int i = 0; i < 2 * PHASES; i++) {
		const struct condition_wanted wanted = {.cntr = CONDITION_TRIGGER,
			.threshold = 1,
			.interval = 1,
			.count = 5,
			.time = RATE_TIME,
			.until_count = i % 2,
			.until_time = i % 2 * RATE_TIME,
			.limit = i < PHASES ? 0 : 9};
		struct bed *bed = condition_open();
		uint64_t id = condition_submit(bed, &wanted), fired;

		bring_to(bed, i % PHASES);
		fired = bed->fired + trip_cell_success(&bed->home->cells[CONDITION_TARGET]);
		assert_int_equal(fired, i % PHASES == 4);
		condition_cancel(bed, CONDITION_OWN, id);
		bed_settle(bed);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_go_to(bed, bed->now + 3 * RATE_TIME);
		condition_expect_none(bed);
		assert_true(bed->home->clock_tsc == UINT64_MAX);
		assert_int_equal(
			bed->fired + trip_cell_success(&bed->home->cells[CONDITION_TARGET]), fired);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

/* Its process is gone: the counter that it would have changed, or completed on, says so. */
static void
a_dropped_client_leaves_none(void **state)
{
	for (unsigned int i = 0; i < 2 * PHASES; i++) {
		const struct condition_wanted wanted = {.channel = CONDITION_CLIENT,
			.cntr = CONDITION_TRIGGER,
			.threshold = 1,
			.interval = 1,
			.count = 5,
			.time = RATE_TIME,
			.until_count = i % 2,
			.until_time = i % 2 * RATE_TIME,
			.limit = i < PHASES ? 0 : 9};
		struct bed *bed = condition_open();

		for (unsigned int n = 0; n < 5; n++)
			condition_submit(bed, &wanted);
		bring_to(bed, i % PHASES);
		condition_expect_dropped(
			bed, i < PHASES ? SINK : CONDITION_TARGET, 5, 3 * RATE_TIME);
		bed_close(bed);
	}
}

/* No correct client submits these: what it remembers in is cut short, a circle, somebody else's. */
static void
what_is_wrong_is_refused(void **state)
{
	const struct condition_wanted wanted = {.channel = CONDITION_CLIENT,
		.cntr = CONDITION_TRIGGER,
		.count = 5,
		.time = RATE_TIME};
	struct bed *bed = condition_open();
	struct trip_channel_home *channel = &bed->home->channels[CONDITION_CLIENT];
	struct trip_channel_client *client = &bed->home->clients[CONDITION_CLIENT];
	struct trip_work_desc *good;
	uint64_t id, *parameters;
	uint32_t held;

	good = condition_submit_desc(bed, &wanted, &id);
	bed_ring_channel(bed, CONDITION_CLIENT);
	bed_settle(bed);
	held = channel->held;
	for (unsigned int i = 0; i < 8; i++) {
		struct trip_work_desc *bad = condition_submit_desc(bed, &wanted, &id), *third;

		third = trip_channel_desc(
			client, trip_channel_desc(client, bad->memory - 1)->memory - 1);
		parameters = trip_channel_operands(client, bad->condition - 1);
		switch (i) {
		case 0:
			bad->memory = 0;
			break;
		case 1:
			bad->memory = UINT32_MAX;
			break;
		case 2:
			third->memory = 0;
			break;
		case 3:
			third->memory = bad->memory;
			break;
		case 4:
			third->memory = good->memory;
			break;
		case 5:
			third->memory = bad->condition;
			break;
		case 6:
			parameters[0] = 0;
			break;
		case 7:
			bad->interval = 2;
			break;
		}
		bed_ring_channel(bed, CONDITION_CLIENT);
		bed_settle(bed);
		assert_int_equal(atomic_load(&bed->home->stats.refused), i + 1);
		assert_int_equal(channel->held, held);
	}
	bed_add(bed, CONDITION_TRIGGER, 5);
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	assert_int_equal(channel->held, 0);
	bed_close(bed);
}

/* ---- at random ---- */

#define ITEMS 6
#define STEPS 60000
/* Iterations that a firing takes at most. */
#define LATE (4 * CONDITION_STEP)

struct item {
	struct traffic traffic;
	uint64_t id, interval, due;
	bool live;
	/* It has fired, and it may be over since then; 0: it cannot be. */
	bool holds;
	uint64_t until_count, until_time, over;
};

/* What feeds the counter. */
enum feed { ADDITIONS, QUEUE, HARDWARE };

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

	for (unsigned int i = 0; storm->feed != ADDITIONS && i < storm->all.n; i++)
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
	}
	item->holds = false;
	item->until_count = wanted.until_count;
	item->until_time = wanted.until_time;
	traffic->count = wanted.count;
	traffic->time = wanted.time;
	item->interval = wanted.interval;
	item->live = condition_submit_desc(storm->bed, &wanted, &item->id) != NULL;
	item->due = UINT64_MAX;
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
		assert_true(within(&item->traffic, now, item->traffic.time) >= item->traffic.count);
		/* One that only the whole window explains. */
		storm->sharp += item->due == UINT64_MAX;
		item->live = item->interval != 0;
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

static void
count(struct storm *storm, uint32_t n)
{
	if (storm->feed == ADDITIONS)
		bed_add(storm->bed, storm->cntr, n);
	else if (storm->feed == QUEUE)
		(void)condition_count(storm->bed, n);
	else
		storm->unread += n;
	note_traffic(storm, n);
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
	} else if (what == 1 && storm->feed == ADDITIONS) {
		condition_set(storm->bed, trip_random_below(&storm->random, 1000));
		bed_settle(storm->bed);
		for (i = 0; i < ITEMS; i++) {
			traffic_begin(&storm->items[i].traffic, storm->bed->now);
			storm->items[i].due = UINT64_MAX;
			storm->items[i].over = 0;
		}
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
	uint64_t apart = item->live ? item->traffic.time / item->traffic.count : CONDITION_STEP;
	uint64_t end = storm->bed->now + 3 * RATE_TIME, next = storm->bed->now;

	apart = apart * (1000 + trip_random_below(&storm->random, 40)) / 1020 + 1;
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
		else if (trip_random_below(&storm->random, 500) == 0)
			send_steadily(storm);
		else if (trip_random_below(&storm->random, 2000) == 0)
			for (uint64_t n = trip_random_below(&storm->random, 8000); n > 0; n--)
				step(storm);
		step(storm);
	}
	print_message("%" PRIu64 " firings, %" PRIu64 " of them by a whole window\n", storm->fired,
		storm->sharp);
	assert_true(storm->fired > steps / (STEPS / 1000) && storm->sharp > 0);
}

static void
at_random_by(enum feed feed)
{
	struct storm storm = {
		.random = {.state = trip_test_seed("rate")},
		.bed = condition_open(),
		.feed = feed,
		.cntr = feed == ADDITIONS ? CONDITION_TRIGGER : CONDITION_FED,
	};

	if (feed != ADDITIONS)
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
	if (feed != ADDITIONS)
		trip_source_unlink(storm.bed->home, 0);
	bed_close(storm.bed);
}

static void
additions_at_random(void **state)
{
	at_random_by(ADDITIONS);
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
		cmocka_unit_test(it_fires_with_the_last_of_them),
		cmocka_unit_test(less_within_a_window_never_fires_it),
		cmocka_unit_test(a_counter_that_rests_wakes_nobody),
		cmocka_unit_test(it_fires_again_for_as_many_more),
		cmocka_unit_test(a_set_begins_anew),
		cmocka_unit_test(it_begins_at_its_threshold),
		cmocka_unit_test(it_fires_again_when_it_was_over),
		cmocka_unit_test(what_it_drops_passes_when_it_is_over),
		cmocka_unit_test(its_end_comes_before_its_alarm),
		cmocka_unit_test(a_set_begins_the_until_anew),
		cmocka_unit_test(what_comes_before_it_is_accepted_counts),
		cmocka_unit_test(a_set_before_it_is_accepted_begins_anew),
		cmocka_unit_test(what_is_said_to_be_queued_may_be_anything),
		cmocka_unit_test(it_is_canceled_at_any_time),
		cmocka_unit_test(a_dropped_client_leaves_none),
		cmocka_unit_test(what_is_wrong_is_refused),
		cmocka_unit_test(additions_at_random),
		cmocka_unit_test(a_queue_at_random),
		cmocka_unit_test(hardware_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
