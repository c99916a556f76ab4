/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WORK-07 of items of pairs: a secondary that queues and cancels them is killed, and what it leaves
 * is dropped pair by pair. None of it fires, and the next process finds all as new.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "baseline.h"
#include "family.h"

#define VICTIMS 6
/* Of each, most of the time. */
#define KEPT 32
#define NEVER 1000
/* Items of an iteration: a home is long at dropping them, and goes on firing meanwhile. */
#define BUDGET_LOG2 5

static struct trip_pair
pair_of(struct trip_cntr *cntr, uint64_t threshold)
{
	return (struct trip_pair){
		.size = sizeof(struct trip_pair), .cntr = cntr, .threshold = threshold};
}

/* Of one there are some that have been reached, and of none as many as it asks for. */
static int
queue_pairs(struct trip_random *random, struct trip_cntr *theirs, struct trip_cntr *other,
	struct trip_work *work, uint64_t *id)
{
	bool nested = trip_random_below(random, 2) != 0;
	struct trip_pair inner[] = {pair_of(other, NEVER), pair_of(theirs, NEVER)};
	struct trip_pair pairs[] = {
		pair_of(theirs, 1), pair_of(other, NEVER), pair_of(theirs, NEVER)};
	struct trip_condition any = {.size = sizeof(any), .kind = TRIP_CONDITION_ANY};
	struct trip_condition all = {.size = sizeof(all), .kind = TRIP_CONDITION_ALL};

	any.when.pairs.of = inner;
	any.when.pairs.count = RTE_DIM(inner);
	all.when.pairs.of = pairs;
	all.when.pairs.count = RTE_DIM(pairs);
	if (nested) {
		pairs[1] = pair_of(NULL, 0);
		pairs[1].condition = &any;
	}
	work->condition = trip_random_below(random, 3) == 0 ? &any : &all;
	return trip_work_queue(family_domain, work, id);
}

/* It queues and cancels until it is killed. */
static void
play_victim(const char *arg)
{
	struct trip_random random = {.state = strtoull(arg, NULL, 0)};
	struct trip_cntr *theirs, *other, *done;
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD, .op.cntr = {.value = 1}};
	struct trip_pair reached[2];
	uint64_t before;
	struct trip_condition all = {.size = sizeof(all), .kind = TRIP_CONDITION_ALL};
	uint64_t ids[KEPT] = {0};

	family_attach();
	theirs = family_find("theirs", TRIP_WAIT_NONE);
	other = family_find("other", TRIP_WAIT_NONE);
	done = family_find("done", TRIP_WAIT_NONE);
	work.op.cntr.cntr = done;
	before = trip_cntr_read(done);
	reached[0] = pair_of(theirs, 1);
	reached[1] = pair_of(other, 1);
	all.when.pairs.of = reached;
	all.when.pairs.count = RTE_DIM(reached);
	work.condition = &all;
	/* Of whoever had its place nothing is left that would stand in its way. */
	assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	while (trip_cntr_read(done) == before)
		sched_yield();
	work.op.cntr.cntr = family_find("completion", TRIP_WAIT_NONE);
	family_say('p');
	for (;;) {
		uint64_t *id = &ids[trip_random_below(&random, KEPT)];

		if (*id != 0)
			assert_int_equal(trip_work_cancel(family_domain, *id), 0);
		*id = 0;
		if (trip_random_below(&random, 4) == 0 ||
			queue_pairs(&random, theirs, other, &work, id) == 0)
			continue;
		assert_int_equal(trip_work_flush(family_domain, NULL), 0);
		memset(ids, 0, sizeof(ids));
	}
}

static void
work_07_pairs_of_the_dead_are_gone(void **state)
{
	struct trip_cntr *theirs, *other, *completion, *done;
	struct trip_random random = {.state = trip_test_seed("pairs of the dead")};
	struct baseline baseline;

	family_open(TRIP_PROGRESS_MANUAL,
		&(struct trip_domain_attr){.max_processes = 1, .budget_log2 = BUDGET_LOG2});
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	other = family_cntr("other", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	done = family_cntr("done", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	for (unsigned int i = 1; i <= VICTIMS; i++) {
		struct family_child child;
		char seed[24];

		trip_cntr_set(theirs, 1);
		trip_cntr_set(other, 1);
		snprintf(seed, sizeof(seed), "%" PRIu64, trip_random_u64(&random));
		child = family_start("victim", 8, seed);
		assert_int_equal(family_hear(&child), 'p');
		for (unsigned int n = trip_random_below(&random, 2000); n > 0; n--)
			family_step();
		/* In whichever call it is, and however far the home has come with it. */
		family_kill(&child);
		trip_cntr_add(theirs, NEVER);
		trip_cntr_add(other, NEVER);
		baseline_expect(&baseline);
		assert_int_equal(trip_cntr_read(completion), 0);
		assert_int_equal(trip_cntr_read(done), i);
	}
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(other), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	assert_int_equal(trip_cntr_close(done), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"victim", play_victim},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_07_pairs_of_the_dead_are_gone),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
