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

#include "baseline.h"
#include "family.h"

/* ---- it holds everything that one can hold ----------------------------------------------------
 */

static void *
wait_for_ever(void *arg)
{
	(void)trip_cntr_wait(arg, TRIP_CNTR_MAX, -1);
	return NULL;
}

#define ITEMS 20

static void
queue_items(struct trip_cntr *theirs, struct trip_cntr *own, struct trip_cntr *completion)
{
	struct trip_work work = {.size = sizeof(work),
		.flags = TRIP_COMPLETION,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.value = 1}};

	for (unsigned int i = 0; i < ITEMS; i++) {
		work.threshold = 1000 + i;
		work.interval = i % 3 == 0 ? 10 : 0;
		work.triggering_cntr = i % 2 == 0 ? theirs : own;
		work.op.cntr.cntr = i % 4 < 2 ? completion : own;
		assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	}
}

static void
play_holder(const char *arg)
{
	const struct trip_wait_attr set_attr = {.size = sizeof(set_attr), .wait_obj = TRIP_WAIT_FD};
	struct trip_cntr_attr member = {.size = sizeof(member), .wait_obj = TRIP_WAIT_SET};
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
	queue_items(theirs, own, completion);
	assert_int_equal(trip_thread_attach(family_domain), 0);
	queue_items(theirs, own, completion);
	(void)kept;
	family_say('h');
	for (;;)
		pause();
}

/* Of all processes but ours. */
static unsigned int
count_items(void)
{
	struct trip_client_process processes[4];
	struct trip_client_work works[64];
	struct trip_client *client;
	unsigned int n = 0;
	uint64_t cursor = 0;
	int got;

	assert_int_equal(trip_client_open(family_socket(), &client), 0);
	while ((got = trip_client_list(
			client, TRIP_CLIENT_WORK, &cursor, works, sizeof(*works), 64)) > 0)
		for (int i = 0; i < got; i++)
			n += works[i].pid != (uint32_t)getpid();
	assert_int_equal(got, 0);
	cursor = 0;
	got = trip_client_list(
		client, TRIP_CLIENT_PROCESS, &cursor, processes, sizeof(*processes), 4);
	assert_int_equal(got, 2);
	assert_int_equal(processes[0].works, 0);
	assert_int_equal(processes[1].works, n);
	trip_client_close(client);
	return n;
}

static void
work_07_a_dead_owner_leaves_errors_and_nothing_else(void **state)
{
	struct trip_cntr *theirs, *completion, *kept, *own, *late;
	struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "own"};
	struct family_child child;
	struct baseline baseline;

	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.max_process_threads = 2});
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	child = family_start("holder", 8, NULL);
	assert_int_equal(family_hear(&child), 'h');
	kept = family_find("kept", TRIP_WAIT_NONE);
	own = family_find("own", TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_close(own), 0);
	baseline_settle();
	assert_int_equal(count_items(), 2 * ITEMS);
	family_kill(&child);
	/* A half of its items targeted a counter of ours. */
	assert_int_equal(trip_cntr_read(completion), 0);
	assert_int_equal(trip_cntr_readerr(completion), ITEMS);
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
	baseline_settle();
	assert_int_equal(trip_cntr_read(completion), 0);
	baseline_expect(&baseline);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

/* The number that a dead one had, its channel and its waiters serve the next one. */
static void
its_place_is_taken_by_the_next(void **state)
{
	const struct trip_domain_attr tune = {
		.max_processes = 1, .max_process_waiters = 8, .max_process_threads = 1};
	struct trip_cntr *theirs, *completion;
	struct family_child child;
	struct baseline baseline;

	family_open(TRIP_PROGRESS_MANUAL, &tune);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	for (unsigned int i = 0; i < 5; i++) {
		child = family_start("holder", 8, NULL);
		assert_int_equal(family_hear(&child), 'h');
		/* Stopped is not dead. */
		kill(child.pid, SIGSTOP);
		for (unsigned int k = 0; k < 100; k++)
			family_step();
		assert_int_equal(family_attached(), 1);
		family_kill(&child);
		baseline_expect(&baseline);
	}
	assert_int_equal(trip_cntr_readerr(completion), 5 * ITEMS);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"holder", play_holder},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_07_a_dead_owner_leaves_errors_and_nothing_else),
		cmocka_unit_test(its_place_is_taken_by_the_next),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
