/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A secondary that is killed leaves nothing behind, and harms nobody: WORK-07, and the memory of
 * the domain is at its baseline again.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "family.h"

/* What a domain has in use. */
struct baseline {
	struct trip_domain_stats stats;
	unsigned int cntrs;
};

static unsigned int
open_cntrs(void)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr)};
	struct trip_cntr *cntrs[256];
	unsigned int n = 0;

	/* As many as are left. */
	while (n < 256 && trip_cntr_open(family_domain, &attr, &cntrs[n], NULL) == 0)
		n++;
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	return n;
}

static void
settle(void)
{
	while (trip_progress(family_domain) > 0)
		;
}

/* All invariants hold, nothing is pending, and every counter, waiter and item can be had. */
static void
expect_baseline(unsigned int cntrs)
{
	struct trip_domain_stats stats;

	settle();
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	assert_int_equal(stats.pending, 0);
	assert_int_equal(open_cntrs(), cntrs);
}

/* ---- it holds everything that one can hold ----------------------------------------------------
 */

static void *
wait_for_ever(void *arg)
{
	(void)trip_cntr_wait(arg, TRIP_CNTR_MAX, -1);
	return NULL;
}

static void
play_holder(const char *arg)
{
	const struct trip_wait_attr set_attr = {.size = sizeof(set_attr), .wait_obj = TRIP_WAIT_FD};
	struct trip_cntr_attr member = {.size = sizeof(member), .wait_obj = TRIP_WAIT_SET};
	struct trip_work work = {.size = sizeof(work), .flags = TRIP_COMPLETION};
	struct trip_cntr *own, *kept, *theirs, *completion, *fd, *cond, *set;
	struct trip_fid *fid;
	pthread_t threads[3];

	family_attach();
	own = family_cntr("own", TRIP_WAIT_UNSPEC);
	kept = family_cntr("kept", TRIP_WAIT_NONE);
	theirs = family_find("theirs", TRIP_WAIT_UNSPEC);
	completion = family_find("completion", TRIP_WAIT_NONE);
	fd = family_find("theirs", TRIP_WAIT_FD);
	cond = family_find("theirs", TRIP_WAIT_MUTEX_COND);
	assert_int_equal(trip_wait_open(family_domain, &set_attr, &member.wait_set), 0);
	assert_int_equal(trip_cntr_open(family_domain, &member, &set, NULL), 0);
	assert_int_equal(trip_cntr_arm(fd, 1000000), 0);
	fid = trip_cntr_fid(cond);
	assert_int_equal(trip_trywait(family_domain, &fid, 1), 0);
	fid = trip_wait_fid(member.wait_set);
	assert_int_equal(trip_trywait(family_domain, &fid, 1), 0);
	pthread_create(&threads[0], NULL, wait_for_ever, own);
	pthread_create(&threads[1], NULL, wait_for_ever, theirs);
	work.op_type = TRIP_OP_CNTR_ADD;
	work.op.cntr.value = 1;
	for (unsigned int i = 0; i < 20; i++) {
		work.threshold = 1000 + i;
		work.interval = i % 3 == 0 ? 10 : 0;
		work.triggering_cntr = i % 2 == 0 ? theirs : own;
		work.op.cntr.cntr = i % 4 < 2 ? completion : own;
		assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	}
	(void)kept;
	family_say('h');
	for (;;)
		pause();
}

static void
work_07_a_dead_owner_leaves_errors_and_nothing_else(void **state)
{
	struct trip_cntr *theirs, *completion, *kept, *own, *late;
	struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "own"};
	struct family_child child;
	unsigned int cntrs;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	cntrs = open_cntrs();
	child = family_start("holder", 8, NULL);
	assert_int_equal(family_hear(&child), 'h');
	kept = family_find("kept", TRIP_WAIT_NONE);
	own = family_find("own", TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_close(own), 0);
	settle();
	family_kill(&child);
	/* Ten of its items targeted a counter of ours. */
	assert_int_equal(trip_cntr_read(completion), 0);
	assert_int_equal(trip_cntr_readerr(completion), 10);
	/* Its own counter tells whoever has found it, and keeps its name till that lets go. */
	assert_int_equal(trip_cntr_readerr(kept), 1);
	attr.name = "kept";
	assert_int_equal(trip_cntr_open(family_domain, &attr, &late, NULL), -EEXIST);
	assert_int_equal(trip_cntr_find(family_domain, &attr, &late, NULL), 0);
	assert_int_equal(trip_cntr_close(late), 0);
	assert_int_equal(trip_cntr_close(kept), 0);
	assert_int_equal(trip_cntr_find(family_domain, &attr, &late, NULL), -ENOENT);
	attr.name = "own";
	assert_int_equal(trip_cntr_find(family_domain, &attr, &late, NULL), -ENOENT);
	/* Nothing of it fires, and nobody is still armed for it. */
	trip_cntr_add(theirs, 2000000);
	settle();
	assert_int_equal(trip_cntr_read(completion), 0);
	expect_baseline(cntrs);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

/* The number that a dead one had, its channel and its waiters serve the next one. */
static void
its_place_is_taken_by_the_next(void **state)
{
	const struct trip_domain_attr tune = {.max_processes = 1, .max_process_waiters = 8};
	struct trip_cntr *theirs, *completion;
	struct family_child child;
	unsigned int cntrs;

	family_open(TRIP_PROGRESS_MANUAL, &tune);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	cntrs = open_cntrs();
	for (unsigned int i = 0; i < 5; i++) {
		child = family_start("holder", 8, NULL);
		assert_int_equal(family_hear(&child), 'h');
		/* Stopped is not dead. */
		kill(child.pid, SIGSTOP);
		for (unsigned int k = 0; k < 100; k++)
			family_step();
		assert_int_equal(family_attached(), 1);
		family_kill(&child);
		expect_baseline(cntrs);
	}
	assert_int_equal(trip_cntr_readerr(completion), 5 * 10);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

/* ---- a storm ----------------------------------------------------------------------------------
 */

static struct trip_random storm_random;

/* Does everything at once, until it is killed. */
static void
storm_step(struct trip_cntr *theirs, struct trip_cntr *completion)
{
	const enum trip_wait_obj objects[] = {TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND,
		TRIP_WAIT_YIELD, TRIP_WAIT_NONE};
	struct trip_cntr *own = family_cntr(NULL, objects[trip_random_below(&storm_random, 5)]);
	struct trip_work work = {.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD};
	struct trip_work_event events[16];
	struct trip_fid *fid = trip_cntr_fid(own);
	uint64_t id;

	for (unsigned int i = 0; i < 8; i++) {
		work.triggering_cntr = trip_random_below(&storm_random, 2) == 0 ? own : theirs;
		work.threshold = trip_random_below(&storm_random, UINT64_C(1) << 40);
		work.interval = trip_random_below(&storm_random, 2) * 1000000;
		work.flags = trip_random_below(&storm_random, 2) ? TRIP_COMPLETION : 0;
		work.op.cntr.cntr = trip_random_below(&storm_random, 2) == 0 ? own : completion;
		work.op.cntr.value = 1;
		if (trip_work_queue(family_domain, &work, &id) == 0 &&
			trip_random_below(&storm_random, 2) == 0)
			(void)trip_work_cancel(family_domain, id);
	}
	trip_cntr_add(own, trip_random_below(&storm_random, 1000));
	trip_cntr_add(theirs, trip_random_below(&storm_random, 1000));
	trip_cntr_adderr(theirs, trip_random_below(&storm_random, 2));
	(void)trip_cntr_wait(own, 1u << 20, (int)trip_random_below(&storm_random, 2));
	(void)trip_trywait(family_domain, &fid, 1);
	(void)trip_cntr_arm(own, 1000000);
	(void)trip_work_read(family_domain, events, 16);
	(void)trip_work_flush(family_domain, trip_random_below(&storm_random, 2) ? own : NULL);
	/* Items on theirs may still refer to it. */
	if (trip_cntr_close(own) != 0) {
		assert_int_equal(trip_work_flush(family_domain, NULL), 0);
		assert_int_equal(trip_cntr_close(own), 0);
	}
}

static void
play_storm(const char *arg)
{
	struct trip_cntr *theirs, *completion;

	storm_random.state = strtoull(arg, NULL, 0);
	family_attach();
	theirs = family_find("theirs", TRIP_WAIT_UNSPEC);
	completion = family_find("completion", TRIP_WAIT_NONE);
	family_say('s');
	for (;;)
		storm_step(theirs, completion);
}

static void
a_storm_of_kills_leaves_nothing(void **state)
{
	struct trip_random random = {.state = trip_test_seed("storm")};
	uint64_t rounds = trip_test_rounds(20), leak = 0;
	struct trip_cntr *theirs, *completion, *ours;
	struct trip_domain_stats stats;
	struct rte_malloc_socket_stats heap[2];
	unsigned int cntrs;
	struct trip_work work = {.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD};

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	ours = family_cntr("ours", TRIP_WAIT_NONE);
	cntrs = open_cntrs();
	work.triggering_cntr = ours;
	work.op.cntr.cntr = completion;
	rte_malloc_get_socket_stats(0, &heap[0]);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t life = trip_random_below(&random, 300), until;
		struct family_child child;
		uint64_t fired;
		char seed[32];

		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)trip_random_u64(&random));
		child = family_start("storm", 8 + (unsigned int)(i % 4), seed);
		assert_int_equal(family_hear(&child), 's');
		/* Our own work goes on beside it, and is counted. */
		work.threshold = trip_cntr_read(ours) + 1;
		assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
		for (until = 0; until < life; until++)
			family_step();
		kill(child.pid, trip_random_below(&random, 4) == 0 ? SIGSTOP : SIGKILL);
		fired = trip_cntr_read(ours) + 1;
		trip_cntr_add(ours, 1);
		settle();
		assert_int_equal(trip_cntr_read(ours), fired);
		family_kill(&child);
		if (i % 10 == 9 || i + 1 == rounds)
			expect_baseline(cntrs);
	}
	rte_malloc_get_socket_stats(0, &heap[1]);
	leak = heap[1].heap_allocsz_bytes - heap[0].heap_allocsz_bytes;
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	printf("%llu kills; longest iteration %.1f us, %llu lost rings repaired, %llu items "
	       "refused; "
	       "EAL's heap grew by %.1f KiB a kill\n",
		(unsigned long long)rounds, (double)stats.longest_iteration_ns / 1000,
		(unsigned long long)stats.scrub_repairs, (unsigned long long)stats.refused,
		(double)leak / 1024 / (double)rounds);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(trip_cntr_close(ours), 0);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"holder", play_holder},
	{"storm", play_storm},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_07_a_dead_owner_leaves_errors_and_nothing_else),
		cmocka_unit_test(its_place_is_taken_by_the_next),
		cmocka_unit_test(a_storm_of_kills_leaves_nothing),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
