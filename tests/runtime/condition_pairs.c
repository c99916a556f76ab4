/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ALL and ANY by the calls of the library (COND-07): by cases, and at random beside a model that
 * keeps a flag for each pair. Pairs wait on counters of two homes, and on a clock.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
#define CNTRS 5
#define EPISODES 150
#define STEPS 40

static struct harness_notes notes;
static struct trip_cntr *cntrs[CNTRS];

/* A condition, and what it is made of. */
struct made {
	struct trip_condition condition;
	struct trip_pair pairs[TRIP_CONDITION_PAIRS_MAX + 1];
};

static struct made outer, inner[TRIP_CONDITION_PAIRS_MAX];

static void
open_bed(void)
{
	harness_open(2, NULL);
	harness_notes_open(&notes);
	for (unsigned int i = 0; i < CNTRS; i++)
		cntrs[i] = harness_cntr(TRIP_WAIT_NONE);
	memset(&outer, 0, sizeof(outer));
	memset(inner, 0, sizeof(inner));
}

static void
close_bed(void)
{
	for (unsigned int i = 0; i < CNTRS; i++)
		harness_cntr_close(cntrs[i]);
	harness_notes_close(&notes);
	harness_close();
}

static struct trip_condition *
make(struct made *made, enum trip_condition_kind kind)
{
	made->condition = (struct trip_condition){.size = sizeof(made->condition), .kind = kind};
	made->condition.when.pairs.of = made->pairs;
	return &made->condition;
}

static void
with(struct made *made, struct trip_cntr *cntr, uint64_t threshold,
	const struct trip_condition *condition)
{
	made->pairs[made->condition.when.pairs.count++] = (struct trip_pair){
		.size = sizeof(struct trip_pair),
		.cntr = cntr,
		.threshold = threshold,
		.condition = condition,
	};
}

static struct trip_work
watch(void)
{
	struct trip_work work = harness_noted(&notes, NULL, 0, NULL);

	work.condition = &outer.condition;
	return work;
}

static uint64_t
pending(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	return stats.pending;
}

static void
expect_fired(uint32_t n, uint64_t reached)
{
	harness_until(harness_notes_count(&notes) >= n);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), n);
	assert_int_equal(notes.event[n - 1].threshold, reached);
	assert_int_equal(notes.event[n - 1].value, reached);
	assert_int_equal(notes.event[n - 1].count, 1);
	assert_true((notes.event[n - 1].flags & TRIP_WORK_MORE) == 0);
}

static void
expect_waiting(void)
{
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
}

static void
cond_07_all_fires_when_each_was_reached(void **state)
{
	struct trip_work work;

	open_bed();
	make(&outer, TRIP_CONDITION_ALL);
	for (unsigned int i = 0; i < 3; i++)
		with(&outer, cntrs[i], 10 + i, NULL);
	/* What was there before counts, and so does what is no more. */
	trip_cntr_add(cntrs[1], 11);
	work = watch();
	(void)harness_queue(&work);
	expect_waiting();
	trip_cntr_set(cntrs[1], 0);
	trip_cntr_add(cntrs[2], 11);
	expect_waiting();
	trip_cntr_adderr(cntrs[2], 1);
	expect_waiting();
	trip_cntr_add(cntrs[0], 10);
	expect_fired(1, 3);
	/* Once. */
	trip_cntr_add(cntrs[0], 100);
	trip_cntr_add(cntrs[1], 100);
	expect_fired(1, 3);
	assert_int_equal(pending(), 0);
	close_bed();
}

static void
cond_07_any_fires_with_the_first(void **state)
{
	struct trip_work work;

	open_bed();
	for (unsigned int first = 0; first < 4; first++) {
		struct trip_cntr *own[4];

		memset(&outer, 0, sizeof(outer));
		make(&outer, TRIP_CONDITION_ANY);
		for (unsigned int i = 0; i < 4; i++) {
			own[i] = harness_cntr(TRIP_WAIT_NONE);
			with(&outer, own[i], 5, NULL);
		}
		work = watch();
		(void)harness_queue(&work);
		harness_settle();
		assert_int_equal(harness_notes_count(&notes), first);
		assert_int_equal(trip_cntr_close(own[first ^ 1]), -EBUSY);
		trip_cntr_add(own[first], 5);
		harness_until(harness_notes_count(&notes) == first + 1);
		/* What is left of it refers to nothing any more. */
		for (unsigned int i = 0; i < 4; i++)
			harness_cntr_close(own[i]);
		expect_fired(first + 1, 1);
	}
	assert_int_equal(pending(), 0);
	close_bed();
}

/* Pairs of one counter, and those that are reached at once. */
static void
cond_07_pairs_may_be_alike(void **state)
{
	struct trip_work work;

	open_bed();
	make(&outer, TRIP_CONDITION_ALL);
	for (unsigned int i = 0; i < TRIP_CONDITION_PAIRS_MAX; i++)
		with(&outer, cntrs[0], i / 2 * 10, NULL);
	work = watch();
	(void)harness_queue(&work);
	trip_cntr_add(cntrs[0], 29);
	expect_waiting();
	trip_cntr_add(cntrs[0], 1);
	expect_fired(1, TRIP_CONDITION_PAIRS_MAX);
	(void)harness_queue(&work);
	expect_fired(2, TRIP_CONDITION_PAIRS_MAX);
	assert_int_equal(pending(), 0);
	close_bed();
}

static void
cond_07_it_is_nested_once(void **state)
{
	struct trip_work work;

	open_bed();
	make(&outer, TRIP_CONDITION_ALL);
	make(&inner[0], TRIP_CONDITION_ANY);
	with(&inner[0], cntrs[0], 1, NULL);
	with(&inner[0], cntrs[1], 1, NULL);
	with(&outer, NULL, 0, &inner[0].condition);
	with(&outer, cntrs[2], 1, NULL);
	work = watch();
	(void)harness_queue(&work);
	/* One of the first kind is as good as two. */
	trip_cntr_add(cntrs[0], 1);
	trip_cntr_add(cntrs[1], 1);
	expect_waiting();
	trip_cntr_add(cntrs[2], 1);
	expect_fired(1, 2);
	assert_int_equal(pending(), 0);

	memset(&outer, 0, sizeof(outer));
	make(&outer, TRIP_CONDITION_ANY);
	for (unsigned int i = 0; i < 3; i++) {
		memset(&inner[i], 0, sizeof(inner[i]));
		make(&inner[i], TRIP_CONDITION_ALL);
		with(&inner[i], cntrs[i], 5, NULL);
		with(&inner[i], cntrs[i + 1], 5, NULL);
		with(&outer, NULL, 0, &inner[i].condition);
	}
	(void)harness_queue(&work);
	trip_cntr_add(cntrs[0], 5);
	trip_cntr_add(cntrs[2], 5);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 1);
	trip_cntr_add(cntrs[3], 5);
	harness_until(harness_notes_count(&notes) == 2);
	/* Nothing of the others refers to it. */
	harness_cntr_close(cntrs[1]);
	cntrs[1] = harness_cntr(TRIP_WAIT_NONE);
	expect_fired(2, 1);
	assert_int_equal(pending(), 0);
	close_bed();
}

/* A pair is an item, so it has what an item may have. */
static void
cond_07_a_pair_has_a_condition_or_a_clock(void **state)
{
	static const struct trip_condition rate = {.size = sizeof(rate),
		.kind = TRIP_CONDITION_RATE,
		.when.rate = {.count = 3, .time = HOUR}};
	static const struct trip_condition idle = {
		.size = sizeof(idle), .kind = TRIP_CONDITION_IDLE, .when.idle.time = 2 * MS};
	struct trip_cntr *clock;
	struct trip_work work;

	open_bed();
	clock = trip_clock_cntr(harness_domain);
	make(&outer, TRIP_CONDITION_ALL);
	with(&outer, cntrs[0], 0, &rate);
	with(&outer, cntrs[1], 1, &idle);
	with(&outer, clock, trip_cntr_read(clock) + 3 * MS, NULL);
	work = watch();
	(void)harness_queue(&work);
	harness_until(trip_cntr_read(clock) > outer.pairs[2].threshold + 5 * MS);
	expect_waiting();
	trip_cntr_add(cntrs[0], 3);
	expect_waiting();
	trip_cntr_add(cntrs[1], 1);
	expect_fired(1, 3);
	assert_int_equal(pending(), 0);
	close_bed();
}

static void
cond_07_it_is_canceled_whole(void **state)
{
	struct trip_work work;
	uint64_t id;

	open_bed();
	for (unsigned int round = 0; round < 4; round++) {
		memset(&outer, 0, sizeof(outer));
		memset(inner, 0, sizeof(inner));
		make(&outer, TRIP_CONDITION_ANY);
		make(&inner[0], TRIP_CONDITION_ALL);
		with(&outer, cntrs[0], 1, NULL);
		with(&outer, cntrs[1], 1, NULL);
		with(&inner[0], cntrs[2], 1, NULL);
		with(&inner[0], cntrs[3], 1, NULL);
		with(&outer, NULL, 0, &inner[0].condition);
		work = watch();
		id = harness_queue(&work);
		if (round % 2 != 0)
			harness_settle();
		assert_int_equal(trip_cntr_close(cntrs[3]), -EBUSY);
		if (round / 2 != 0) {
			assert_int_equal(trip_work_flush(harness_domain, cntrs[4]), 0);
			assert_int_equal(trip_cntr_close(cntrs[3]), -EBUSY);
			assert_int_equal(trip_work_flush(harness_domain, cntrs[3]), 0);
		} else {
			assert_int_equal(trip_work_cancel(harness_domain, id), 0);
		}
		assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
		/* Nothing waits for them, whether homes have gone on or not. */
		for (unsigned int i = 0; i < 4; i++) {
			harness_cntr_close(cntrs[i]);
			cntrs[i] = harness_cntr(TRIP_WAIT_NONE);
			trip_cntr_add(cntrs[i], 1);
		}
		expect_waiting();
		assert_int_equal(pending(), 0);
		for (unsigned int i = 0; i < 4; i++)
			trip_cntr_set(cntrs[i], 0);
	}
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	close_bed();
}

static void
expect_refused(const struct trip_work *work, int error, const char *why)
{
	uint64_t id = 77;

	assert_int_equal(trip_work_queue(harness_domain, work, &id), error);
	assert_int_equal(id, 77);
	if (strstr(trip_error_message(), why) == NULL)
		fail_msg("'%s' is not in '%s'", why, trip_error_message());
}

static void
cond_07_what_is_no_pair_is_refused(void **state)
{
	struct trip_work work;

	open_bed();
	make(&outer, TRIP_CONDITION_ALL);
	work = watch();
	expect_refused(&work, -EINVAL, "0 pairs of condition \"all\" are not in 1 to 8");
	for (unsigned int i = 0; i < TRIP_CONDITION_PAIRS_MAX + 1; i++)
		with(&outer, cntrs[0], 5, NULL);
	expect_refused(&work, -EINVAL, "9 pairs of condition \"all\" are not in 1 to 8");
	outer.condition.when.pairs.count = 2;
	work.interval = 1;
	expect_refused(&work, -EINVAL, "interval 1 of condition \"all\", which fires once");
	work.interval = 0;
	work.triggering_cntr = cntrs[0];
	expect_refused(&work, -EINVAL, "a triggering counter or a threshold");
	work.triggering_cntr = NULL;
	work.threshold = 5;
	expect_refused(&work, -EINVAL, "a triggering counter or a threshold");
	work.threshold = 0;
	outer.condition.when.reserved[2] = 1;
	expect_refused(&work, -EINVAL, "byte 16 of `when`");
	outer.condition.when.reserved[2] = 0;
	outer.condition.when.pairs.of = NULL;
	expect_refused(&work, -EINVAL, "pairs of condition \"all\" are NULL");
	outer.condition.when.pairs.of = outer.pairs;
	outer.pairs[1].threshold = UINT64_MAX;
	expect_refused(&work, -EINVAL, "is above the limit");
	outer.pairs[1].threshold = 5;
	outer.pairs[1].size = 24;
	expect_refused(&work, -EINVAL, "size 24 of pair 1 is not that of the first, 32");
	outer.pairs[0].size = 40;
	outer.pairs[1].size = 40;
	expect_refused(&work, -EINVAL, "struct trip_pair: size 40 is above the limit");
	outer.pairs[0].size = outer.pairs[1].size = sizeof(struct trip_pair);
	outer.pairs[1].cntr = NULL;
	expect_refused(&work, -EINVAL, "the pair's counter is NULL");
	outer.pairs[1].condition = make(&inner[0], TRIP_CONDITION_ALL);
	with(&inner[0], cntrs[1], 1, NULL);
	outer.pairs[1].threshold = 0;
	expect_refused(&work, -EINVAL, "\"all\" within \"all\"");
	inner[0].condition.kind = TRIP_CONDITION_ANY;
	outer.pairs[1].threshold = 1;
	expect_refused(&work, -EINVAL, "threshold 1 of a pair that has no counter");
	outer.pairs[1].threshold = 0;
	inner[0].pairs[0].cntr = NULL;
	inner[0].pairs[0].threshold = 0;
	inner[0].pairs[0].condition = make(&inner[1], TRIP_CONDITION_ALL);
	with(&inner[1], cntrs[1], 1, NULL);
	expect_refused(&work, -EINVAL, "condition \"all\" is nested twice");
	outer.pairs[1].cntr = cntrs[1];
	expect_refused(&work, -EINVAL, "condition \"any\" of a counter");
	assert_int_equal(pending(), 0);
	close_bed();
}

/* Whole or not at all, and all of it comes back. */
static void
cond_07_it_takes_what_it_says(void **state)
{
	struct trip_condition_info info = {.size = sizeof(info)};
	struct trip_work work;
	uint32_t groups = 0;
	uint64_t id = 0;
	int error;

	open_bed();
	assert_int_equal(trip_condition_describe(TRIP_CONDITION_ANY, &info), 0);
	assert_int_equal(info.pairs, TRIP_CONDITION_PAIRS_MAX);
	assert_int_equal(info.repeats, 0);
	make(&outer, TRIP_CONDITION_ANY);
	for (unsigned int i = 0; i < TRIP_CONDITION_PAIRS_MAX; i++)
		with(&outer, cntrs[i % CNTRS], 1000, NULL);
	work = watch();
	for (unsigned int round = 0; round < 6; round++) {
		uint32_t n = 0;

		while ((error = trip_work_queue(harness_domain, &work, &id)) == 0)
			n++;
		assert_true(error == -EAGAIN || error == -ENOSPC);
		harness_settle();
		assert_int_equal(pending(), n * (1 + TRIP_CONDITION_PAIRS_MAX));
		if (round == 0)
			groups = n;
		assert_int_equal(n, groups);
		/* What there is room for beside them is the same each time. */
		if (round % 2 != 0)
			assert_int_equal(trip_work_cancel(harness_domain, id), 0);
		assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
		harness_settle();
		assert_int_equal(pending(), 0);
		work.flags ^= TRIP_WORK_COMPLETION;
	}
	for (unsigned int i = 0; i < groups; i++)
		(void)harness_queue(&work);
	assert_int_equal(harness_notes_count(&notes), 0);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	close_bed();
}

/* ---- at random ---- */

struct model {
	struct trip_random random;
	uint64_t id[STEPS];
	/* Of each: its kind, and of each pair, or all of those that are nested there, the same. */
	struct model_item {
		bool any, over, canceled;
		unsigned int n;
		struct model_pair {
			unsigned int n;
			struct {
				unsigned int cntr;
				uint64_t threshold;
				bool reached;
			} leaf[3];
		} pair[TRIP_CONDITION_PAIRS_MAX];
	} items[STEPS];
	uint32_t n, fired;
	uint64_t sum[CNTRS];
};

static struct model model;

static bool
holds(bool any, unsigned int n, unsigned int reached)
{
	return any ? reached > 0 : reached == n;
}

static void
model_look(void)
{
	for (uint32_t i = 0; i < model.n; i++) {
		struct model_item *item = &model.items[i];
		unsigned int reached = 0;

		for (unsigned int p = 0; p < item->n; p++) {
			struct model_pair *pair = &item->pair[p];
			unsigned int within = 0;

			for (unsigned int l = 0; l < pair->n; l++) {
				pair->leaf[l].reached |=
					model.sum[pair->leaf[l].cntr] >= pair->leaf[l].threshold;
				within += pair->leaf[l].reached;
			}
			/* Those that are nested are of the other kind. */
			reached += holds(!item->any, pair->n, within);
		}
		if (item->over || !holds(item->any, item->n, reached))
			continue;
		item->over = true;
		model.fired++;
	}
}

static void
queue_drawn(void)
{
	struct model_item *item = &model.items[model.n];
	struct trip_work work;

	memset(item, 0, sizeof(*item));
	memset(&outer, 0, sizeof(outer));
	memset(inner, 0, sizeof(inner));
	item->any = trip_random_below(&model.random, 2) != 0;
	item->n = 1 + trip_random_below(&model.random, TRIP_CONDITION_PAIRS_MAX);
	make(&outer, item->any ? TRIP_CONDITION_ANY : TRIP_CONDITION_ALL);
	for (unsigned int p = 0; p < item->n; p++) {
		struct model_pair *pair = &item->pair[p];
		bool nested = trip_random_below(&model.random, 3) == 0;

		pair->n = nested ? 1 + trip_random_below(&model.random, 3) : 1;
		make(&inner[p], item->any ? TRIP_CONDITION_ALL : TRIP_CONDITION_ANY);
		for (unsigned int l = 0; l < pair->n; l++) {
			pair->leaf[l].cntr = trip_random_below(&model.random, CNTRS);
			pair->leaf[l].threshold = trip_random_below(&model.random, 40);
			with(nested ? &inner[p] : &outer, cntrs[pair->leaf[l].cntr],
				pair->leaf[l].threshold, NULL);
		}
		if (nested)
			with(&outer, NULL, 0, &inner[p].condition);
	}
	work = watch();
	model.id[model.n++] = harness_queue(&work);
}

static void
step_drawn(void)
{
	unsigned int cntr = trip_random_below(&model.random, CNTRS);
	uint32_t item = model.n > 0 ? trip_random_below(&model.random, model.n) : 0;
	uint64_t value = trip_random_below(&model.random, 12);

	switch (trip_random_below(&model.random, 8)) {
	case 0:
		trip_cntr_set(cntrs[cntr], value);
		model.sum[cntr] = value;
		break;
	case 1:
		if (model.n == 0)
			break;
		assert_int_equal(trip_work_cancel(harness_domain, model.id[item]),
			model.items[item].over ? -ENOENT : 0);
		model.items[item].over = true;
		break;
	case 2:
	case 3:
	case 4:
		queue_drawn();
		break;
	default:
		trip_cntr_add(cntrs[cntr], value);
		model.sum[cntr] += value;
	}
}

static void
play(uint64_t seed)
{
	uint32_t before = harness_notes_count(&notes);

	memset(&model, 0, sizeof(model));
	model.random = (struct trip_random){seed};
	for (unsigned int i = 0; i < STEPS; i++) {
		step_drawn();
		model_look();
		harness_settle();
		if (harness_notes_count(&notes) - before != model.fired)
			fail_msg("seed %llu, step %u: %u have fired, not %u",
				(unsigned long long)seed, i, harness_notes_count(&notes) - before,
				model.fired);
	}
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	for (unsigned int i = 0; i < CNTRS; i++)
		trip_cntr_set(cntrs[i], 0);
	harness_settle();
	assert_int_equal(pending(), 0);
}

/* On lcores each step waits for homes that wait for a CPU: what is drawn is shown by hand. */
static void
cond_07_random_histories_are_the_models(void **state)
{
	uint64_t episodes =
		harness_rounds(harness_mode == TRIP_PROGRESS_MANUAL ? EPISODES : EPISODES / 50);

	open_bed();
	for (uint64_t episode = 0; episode < episodes; episode++)
		play(harness_seed + episode);
	close_bed();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(cond_07_all_fires_when_each_was_reached),
	HARNESS_TEST_OWN(cond_07_any_fires_with_the_first),
	HARNESS_TEST_OWN(cond_07_pairs_may_be_alike),
	HARNESS_TEST_OWN(cond_07_it_is_nested_once),
	HARNESS_TEST_OWN(cond_07_a_pair_has_a_condition_or_a_clock),
	HARNESS_TEST_OWN(cond_07_it_is_canceled_whole),
	HARNESS_TEST_OWN(cond_07_what_is_no_pair_is_refused),
	HARNESS_TEST_OWN(cond_07_it_takes_what_it_says),
	HARNESS_TEST_OWN(cond_07_random_histories_are_the_models),
};

HARNESS_MAIN(NULL, tests)
