/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random histories of one thread (queue, cancel, add, set, errors) on a few counters, and what the
 * contract says of each: which items must have fired, which may, and which pairs have an order.
 *
 * Time is the number of operations done. A pair X, Y of one counter, with X's threshold below Y's,
 * must fire in this order where the update that made Y due came after the submission of both
 * (WORK-02): nothing had made Y due when X was submitted, and nothing had when Y was. What is due
 * when it is submitted may be accepted before or after what is on its way: no order is asked of it.
 * Equal thresholds fire in submission order (WORK-03).
 */
#include <string.h>

#include "harness.h"

#define EPISODES 400
#define STEPS 400
#define CNTRS 3
#define RANGE 24

static struct harness_notes notes;

struct item {
	uint64_t id, threshold;
	unsigned int cntr;
	uint32_t submitted;
	/* First and last time since at which the sum was at the threshold; UINT32_MAX: never. */
	uint32_t first_due, last_due;
	/* Place in the order of firing, UINT32_MAX: not fired. */
	uint32_t fired;
	bool canceled;
};

/* What was done at a moment, for the report of a failure. */
struct action {
	const char *what;
	unsigned int cntr;
	uint64_t value, sum;
	uint32_t noted;
};

struct history {
	struct trip_random random;
	struct trip_cntr *cntr[CNTRS];
	uint64_t success[CNTRS], error[CNTRS];
	struct item item[STEPS];
	struct action action[STEPS + 1];
	uint32_t n_items, now, noted;
};

static void
did(struct history *history, const char *what, unsigned int cntr, uint64_t value)
{
	history->action[history->now] = (struct action){.what = what,
		.cntr = cntr,
		.value = value,
		.sum = cntr < CNTRS ? history->success[cntr] + history->error[cntr] : 0,
		.noted = harness_notes_count(&notes)};
}

/* What was done to a counter, up to a moment. */
static void
tell(const struct history *history, unsigned int cntr, uint32_t until)
{
	for (uint32_t i = 1; i <= until; i++) {
		const struct action *action = &history->action[i];

		if (action->what != NULL && (action->cntr == cntr || action->cntr == CNTRS))
			printf("%u: %s %llu, sum %llu, %u fired\n", i, action->what,
				(unsigned long long)action->value, (unsigned long long)action->sum,
				action->noted);
	}
}

/* After every operation: which items of the counter are due. */
static void
note_due(struct history *history, unsigned int cntr)
{
	uint64_t sum = history->success[cntr] + history->error[cntr];

	for (uint32_t i = 0; i < history->n_items; i++) {
		struct item *item = &history->item[i];

		if (item->cntr != cntr || sum < item->threshold)
			continue;
		if (item->first_due == UINT32_MAX)
			item->first_due = history->now;
		item->last_due = history->now;
	}
}

static void
queue(struct history *history, unsigned int cntr)
{
	struct item *item = &history->item[history->n_items];

	*item = (struct item){
		.threshold = trip_random_below(&history->random, RANGE),
		.cntr = cntr,
		.submitted = history->now,
		.first_due = UINT32_MAX,
		.fired = UINT32_MAX,
	};
	item->id = harness_note(&notes, history->cntr[cntr], item->threshold, history->n_items);
	did(history, "queue", cntr, item->threshold);
	history->n_items++;
}

static void
cancel(struct history *history)
{
	struct item *item;

	if (history->n_items == 0)
		return;
	item = &history->item[trip_random_below(&history->random, history->n_items)];
	if (trip_work_cancel(harness_domain, item->id) == 0) {
		assert_false(item->canceled);
		item->canceled = true;
		did(history, "cancel", item->cntr, item->threshold);
	}
}

static void
update(struct history *history, unsigned int cntr)
{
	uint64_t value = trip_random_below(&history->random, RANGE);
	struct trip_cntr *to = history->cntr[cntr];

	const char *what = "add";

	switch (trip_random_below(&history->random, 8)) {
	case 0:
	case 1:
		trip_cntr_set(to, value);
		history->success[cntr] = value;
		what = "set";
		break;
	case 2:
		trip_cntr_adderr(to, value / 4);
		history->error[cntr] += value / 4;
		what = "error";
		break;
	case 3:
		trip_cntr_seterr(to, value / 8);
		history->error[cntr] = value / 8;
		what = "set error";
		break;
	default:
		trip_cntr_add(to, value / 3);
		history->success[cntr] += value / 3;
	}
	did(history, what, cntr, value);
}

/* What has fired since the last look: no canceled item, none twice, none that never was due. */
static void
take_notes(struct history *history)
{
	uint32_t n = harness_notes_count(&notes);

	for (; history->noted < n; history->noted++) {
		const struct trip_work_event *event = &notes.event[history->noted];
		struct item *item = &history->item[event->context];

		assert_true(event->context < history->n_items);
		assert_true(event->id == item->id && event->threshold == item->threshold);
		assert_true(item->fired == UINT32_MAX);
		assert_false(item->canceled);
		assert_true(item->first_due != UINT32_MAX);
		assert_true(event->value >= item->threshold);
		item->fired = history->noted;
	}
}

static void
settle(struct history *history)
{
	harness_settle();
	did(history, "settled", CNTRS, 0);
	take_notes(history);
	for (uint32_t i = 0; i < history->n_items; i++) {
		const struct item *item = &history->item[i];

		if (item->fired == UINT32_MAX && !item->canceled &&
			item->last_due == history->now) {
			tell(history, item->cntr, history->now);
			fail_msg("item %u is due and has not fired", i);
		}
	}
}

/* Whether x, of the lower or equal threshold, must have fired before y. */
static bool
ordered(const struct item *x, const struct item *y)
{
	if (x->threshold == y->threshold)
		return x->submitted < y->submitted;
	return x->first_due > x->submitted && y->first_due > y->submitted &&
	       y->first_due > x->submitted;
}

static void
check_pair(const struct history *history, uint32_t i, uint32_t k)
{
	const struct item *x = &history->item[i], *y = &history->item[k];

	if (i == k || x->cntr != y->cntr || x->threshold > y->threshold || !ordered(x, y) ||
		x->fired == UINT32_MAX || y->fired == UINT32_MAX || x->fired < y->fired)
		return;
	tell(history, x->cntr, history->now);
	fail_msg("item %u (threshold %llu, queued at %u, due at %u) fired after item %u (threshold "
		 "%llu, queued at %u, due at %u)",
		i, (unsigned long long)x->threshold, x->submitted, x->first_due, k,
		(unsigned long long)y->threshold, y->submitted, y->first_due);
}

static void
check_order(const struct history *history)
{
	for (uint32_t i = 0; i < history->n_items; i++)
		for (uint32_t k = 0; k < history->n_items; k++)
			check_pair(history, i, k);
}

static void
step(struct history *history)
{
	unsigned int cntr = (unsigned int)trip_random_below(&history->random, CNTRS);
	uint64_t what = trip_random_below(&history->random, 64);

	history->now++;
	if (what < 30)
		queue(history, cntr);
	else if (what < 55)
		update(history, cntr);
	else if (what < 58)
		cancel(history);
	else if (what < 62) {
		harness_step();
		did(history, "step", CNTRS, 0);
	}
	note_due(history, cntr);
	if (what >= 62)
		settle(history);
}

static void
run_episode(uint64_t seed)
{
	struct history history = {.random = {seed}};

	atomic_store(&notes.n, 0);
	for (unsigned int i = 0; i < CNTRS; i++)
		history.cntr[i] = harness_cntr(TRIP_WAIT_NONE);
	for (uint32_t i = 0; i < STEPS; i++)
		step(&history);
	settle(&history);
	check_order(&history);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	for (unsigned int i = 0; i < CNTRS; i++)
		harness_cntr_close(history.cntr[i]);
}

static void
run(unsigned int homes)
{
	const struct trip_domain_attr attr = {.budget_log2 = 4};
	uint64_t episodes = harness_rounds(EPISODES);

	harness_open(homes, &attr);
	harness_notes_open(&notes);
	for (uint64_t i = 0; i < episodes; i++) {
		run_episode(harness_seed + i);
		if (harness_mode == TRIP_PROGRESS_MANUAL)
			assert_int_equal(trip_domain_check(harness_domain, stdout), 0);
	}
	harness_notes_close(&notes);
}

/* Counters that go down as well: nothing un-fires, and what follows is measured anew. */
static void
work_13_random_histories(void **state)
{
	run(1);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(work_13_random_histories),
};

HARNESS_MAIN(NULL, tests)
