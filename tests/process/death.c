/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A secondary that is killed leaves nothing behind, and harms nobody: WORK-07, and the memory of
 * the domain is at its baseline again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>

#include "baseline.h"
#include "cntr/cntr.h"
#include "family.h"
#include "primary/process.h"
#include "primary/server.h"

/* ---- it holds everything that one can hold ----------------------------------------------------
 */

static void *
wait_for_ever(void *arg)
{
	(void)trip_cntr_wait(arg, TRIP_CNTR_MAX, -1);
	return NULL;
}

#define ITEMS 20
#define HOUR UINT64_C(3600000000000)

static void
queue_items(struct trip_cntr *theirs, struct trip_cntr *own, struct trip_cntr *completion)
{
	struct trip_work work = {.size = sizeof(work),
		.flags = TRIP_WORK_COMPLETION,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.value = 1}};

	for (unsigned int i = 0; i < ITEMS; i++) {
		work.threshold = 1000 + i;
		work.interval = i % 3 == 0 ? 10 : 0;
		work.triggering_cntr = i % 2 == 0 ? theirs : own;
		if (i % 5 == 4) {
			work.triggering_cntr = trip_clock_cntr(family_domain);
			work.threshold += trip_cntr_read(work.triggering_cntr) + HOUR;
		}
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
	/* Its helper sleeps until it is signalled, and looks for no signals meanwhile. */
	assert_int_equal(fcntl(family_domain->helper.fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(trip_wait_open(family_domain, &set_attr, &member.wait_set), 0);
	assert_int_equal(trip_cntr_open(family_domain, &member, &set, NULL), 0);
	assert_int_equal(trip_cntr_arm(fd, 1000000), 0);
	fid = trip_cntr_fid(cond);
	assert_int_equal(trip_trywait(family_domain, &fid, 1), 0);
	fid = trip_wait_fid(member.wait_set);
	assert_int_equal(trip_trywait(family_domain, &fid, 1), 0);
	pthread_create(&threads[0], NULL, wait_for_ever, own);
	pthread_create(&threads[1], NULL, wait_for_ever, theirs);
	pthread_create(&threads[2], NULL, wait_for_ever, trip_clock_cntr(family_domain));
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

/* ---- beside others that keep the home busy ----------------------------------------------------
 */

#define BUSY 3
/* Items of an iteration. */
#define BUDGET_LOG2 5
/* Of each busy one: what the sweep holds when the victim dies, and what keeps the next one going
 * for longer than the victim takes to be dropped. */
#define BEFORE 100
#define BEHIND 400
/* The victim's, and those of the next process. */
#define LOST 500
#define NEXT 8
#define NEVER 1000

static void
play_queuer(const char *arg)
{
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD, .op.cntr = {.value = 1}};

	family_attach();
	work.triggering_cntr = family_find("theirs", TRIP_WAIT_NONE);
	work.op.cntr.cntr = family_find("completion", TRIP_WAIT_NONE);
	work.threshold = strcmp(arg, "next") == 0 ? 1 : NEVER;
	for (;;) {
		family_say('q');
		/* As many as it is told. */
		for (unsigned int n = (unsigned char)family_listen(); n > 0; n--)
			assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	}
}

/* It has queued that many, and the home has not gone on. */
static void
have_queued(const struct family_child *child, unsigned int n)
{
	for (unsigned int part; n > 0; n -= part) {
		char byte;

		part = RTE_MIN(n, (unsigned int)CHAR_MAX);
		family_tell(child, (char)part);
		assert_int_equal(read(child->from, &byte, 1), 1);
		assert_int_equal(byte, 'q');
	}
}

static struct family_child
start_queuer(unsigned int lcore, const char *arg)
{
	struct family_child child = family_start("queuer", lcore, arg);

	assert_int_equal(family_hear(&child), 'q');
	return child;
}

/* Dead, and the home is asked to drop it; that has not gone on. */
static void
have_dropped(const struct family_child *child, const struct trip_home *home)
{
	const _Atomic uint64_t *calls = home->doorbell.section[TRIP_BELL_CALL].leaf;

	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
	/* Of the first client. */
	while ((atomic_load(calls) & 1u << 1) == 0)
		usleep(1000);
}

static void
a_busy_sweep_forgets_the_dead(void **state)
{
	struct trip_cntr *theirs, *completion;
	struct family_child victim, next, busy[BUSY];
	struct trip_home *home;

	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.budget_log2 = BUDGET_LOG2});
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	home = theirs->home;
	/* The first client has the first channels: a sweep comes to them last. */
	victim = start_queuer(8, "victim");
	for (unsigned int i = 0; i < BUSY; i++)
		busy[i] = start_queuer(9 + i, "busy");
	baseline_settle();
	for (unsigned int i = 0; i < BUSY; i++)
		have_queued(&busy[i], BEFORE);
	family_step();
	assert_true(home->sweeping);
	have_queued(&victim, LOST);
	for (unsigned int i = 0; i < BUSY; i++)
		have_queued(&busy[i], BEHIND);
	have_dropped(&victim, home);
	family_until(family_attached() == BUSY);
	baseline_settle();
	assert_int_equal(trip_cntr_readerr(completion), LOST);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	next = start_queuer(8, "next");
	assert_true(family_domain->server->processes[0].credentials.pid == next.pid);
	have_queued(&next, NEXT);
	trip_cntr_add(theirs, 1);
	baseline_settle();
	assert_int_equal(trip_cntr_read(completion), NEXT);
	for (unsigned int i = 0; i < BUSY; i++)
		kill(busy[i].pid, SIGKILL);
	family_kill(&next);
	assert_int_equal(trip_cntr_readerr(completion), LOST + BUSY * (BEFORE + BEHIND));
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"holder", play_holder},
	{"queuer", play_queuer},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_07_a_dead_owner_leaves_errors_and_nothing_else),
		cmocka_unit_test(its_place_is_taken_by_the_next),
		cmocka_unit_test(a_busy_sweep_forgets_the_dead),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
