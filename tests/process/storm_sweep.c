/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deaths beside a busy sweep: others keep the homes at work on many items at once, whose acceptance
 * takes many iterations; one that has queued as many is killed, and the next in its place has all
 * of its own fired.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baseline.h"
#include "domain/domain.h"
#include "family.h"
#include "primary/process.h"
#include "storm.h"

#define BUSY 3
#define NEXT_ITEMS 300
/* Items that a home accepts at a time: 16. */
#define BUDGET_LOG2 4
/* Iterations before a victim queues, and before its death, at most. */
#define STEPS 32

/* ---- parts ------------------------------------------------------------------------------------
 */

/* The primary's, whose home is the busy one; and what the items of this process add to. */
static struct trip_cntr *due, *sum;

static void
open_part(void)
{
	family_attach();
	due = family_find("due", TRIP_WAIT_NONE);
	sum = family_cntr(NULL, TRIP_WAIT_NONE);
}

/* Items that are due, until the channel is full or there are enough: how many. */
static uint64_t
queue(uint64_t most)
{
	const struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = due,
		.threshold = 1,
		.op.cntr = {.cntr = sum, .value = 1}};
	uint64_t n = 0;
	int error = 0;

	while (n < most && (error = trip_work_queue(family_domain, &work, NULL)) == 0)
		n++;
	if (error != 0)
		assert_int_equal(error, -EAGAIN);
	return n;
}

static void
close_part(void)
{
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(due), 0);
	assert_int_equal(trip_cntr_close(sum), 0);
	assert_int_equal(family_try_close(), 0);
}

void
storm_play_busy(const char *arg)
{
	struct pollfd told = {.fd = FAMILY_HEARD, .events = POLLIN};
	uint64_t n = 0;

	open_part();
	family_say('b');
	/* 'r': it rests, until 'g' or 'e'. */
	while (family_listen() == 'g') {
		for (; poll(&told, 1, 0) == 0; sched_yield())
			n += queue(UINT64_MAX);
		assert_int_equal(family_listen(), 'r');
		family_until(trip_cntr_read(sum) == n);
		family_say('r');
	}
	close_part();
}

void
storm_play_mortal(const char *arg)
{
	open_part();
	family_say('m');
	family_listen();
	(void)queue(UINT64_MAX);
	family_say('q');
	for (;; sched_yield())
		(void)queue(UINT64_MAX);
}

void
storm_play_next(const char *arg)
{
	uint64_t n;

	open_part();
	n = queue(NEXT_ITEMS);
	assert_true(n > 0);
	family_until(trip_cntr_read(sum) == n);
	close_part();
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static struct family_child busy[BUSY];

static void
tell_all(char byte)
{
	for (unsigned int i = 0; i < BUSY; i++)
		family_tell(&busy[i], byte);
}

static void
hear_all(char byte)
{
	for (unsigned int i = 0; i < BUSY; i++)
		assert_int_equal(family_hear(&busy[i]), byte);
}

/* Killed, and it begins to be dropped; the homes do not know yet. */
static void
have_dropped(const struct family_child *mortal)
{
	const struct trip_process *process = &family_domain->server->processes[0];
	enum trip_client_state state;

	kill(mortal->pid, SIGKILL);
	assert_int_equal(waitpid(mortal->pid, NULL, 0), mortal->pid);
	do {
		pthread_mutex_lock(&family_domain->lock);
		state = process->state;
		pthread_mutex_unlock(&family_domain->lock);
	} while (state != TRIP_CLIENT_DROPPING);
}

static void
step(uint64_t n)
{
	while (n-- > 0)
		(void)trip_progress(family_domain);
}

/* In the middle of a sweep it queues all that it can, and dies before its turn, or then. */
static void
kill_mortal(struct trip_random *random)
{
	struct family_child mortal = family_start("mortal", 8, NULL);
	char byte;

	assert_int_equal(family_hear(&mortal), 'm');
	step(trip_random_below(random, STEPS));
	family_tell(&mortal, 'q');
	assert_int_equal(read(mortal.from, &byte, 1), 1);
	step(trip_random_below(random, STEPS));
	have_dropped(&mortal);
	close(mortal.to);
	close(mortal.from);
	family_until(family_attached() == BUSY);
}

static void
play_round(struct trip_random *random, const struct baseline *baseline)
{
	struct family_child next;

	tell_all('g');
	kill_mortal(random);
	next = family_start("next", 8, NULL);
	family_join(&next);
	family_until(family_attached() == BUSY);
	tell_all('r');
	hear_all('r');
	baseline_expect(baseline);
}

void
storm_beside_a_busy_sweep(void **state)
{
	const struct trip_domain_attr attr = {
		.max_processes = BUSY + 1, .budget_log2 = BUDGET_LOG2};
	struct trip_random random = {.state = trip_test_seed("sweep")};
	struct family_child first;
	struct trip_cntr *trigger;
	struct baseline baseline;

	family_open(TRIP_PROGRESS_MANUAL, &attr);
	trigger = family_cntr("due", TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_set(trigger, 1), 0);
	/* The first place is the one that they die in: a sweep comes to its channels last. */
	first = family_start("mortal", 8, NULL);
	assert_int_equal(family_hear(&first), 'm');
	for (unsigned int i = 0; i < BUSY; i++)
		busy[i] = family_start("busy", 9 + i, NULL);
	hear_all('b');
	have_dropped(&first);
	close(first.to);
	close(first.from);
	family_until(family_attached() == BUSY);
	baseline_take(&baseline);
	for (uint64_t i = trip_test_rounds(5); i > 0; i--)
		play_round(&random, &baseline);
	tell_all('e');
	for (unsigned int i = 0; i < BUSY; i++)
		family_join(&busy[i]);
	family_until(family_attached() == 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	family_close();
}
