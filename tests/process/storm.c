/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A storm of kills: in each round a secondary that does everything at once, by several threads, is
 * killed at a random instant, in some rounds after it was stopped for a while, at times for
 * seconds. Another secondary works and waits all the time, and misses nothing; and after each round
 * all that the domain has is in use exactly as before (baseline.h). `scripts/test --long` plays
 * 2,000.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "baseline.h"
#include "family.h"

#define THREADS 3
#define LIFE_US 20000
#define STOP_US 20000
/* One round in so many, so long. */
#define LONG_STOPS 50
#define LONG_STOP_US 2000000
/* One-shot items that the witness has pending between two ticks. */
#define AHEAD 10

/* ---- the victim -------------------------------------------------------------------------------
 */

struct storm {
	struct trip_random random;
	struct trip_cntr *theirs, *completion;
};

static uint64_t
below(struct storm *storm, uint64_t bound)
{
	return trip_random_below(&storm->random, bound);
}

static void
work(struct storm *storm, struct trip_cntr *own)
{
	struct trip_work work = {.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD};
	struct trip_work_event events[16];
	uint64_t id;

	for (unsigned int i = 0; i < 8; i++) {
		work.triggering_cntr = below(storm, 2) == 0 ? own : storm->theirs;
		work.threshold = below(storm, UINT64_C(1) << (below(storm, 2) == 0 ? 12 : 40));
		work.interval = below(storm, 2) * 1000000;
		work.flags = below(storm, 2) ? TRIP_COMPLETION : 0;
		work.op.cntr.cntr = below(storm, 2) == 0 ? own : storm->completion;
		work.op.cntr.value = 1;
		if (trip_work_queue(family_domain, &work, &id) == 0 && below(storm, 2) == 0)
			(void)trip_work_cancel(family_domain, id);
	}
	(void)trip_work_read(family_domain, events, 16);
	if (below(storm, 2) == 0)
		(void)trip_work_flush(family_domain, below(storm, 2) ? own : NULL);
}

static void
update(struct storm *storm, struct trip_cntr *own)
{
	trip_cntr_add(own, below(storm, 1000));
	trip_cntr_add(storm->theirs, below(storm, 1000));
	trip_cntr_adderr(storm->theirs, below(storm, 2));
	if (below(storm, 8) == 0)
		trip_cntr_set(own, below(storm, 1000));
}

static void
wait_on(struct storm *storm, struct trip_cntr *own)
{
	struct trip_fid *fid = trip_cntr_fid(own);
	struct pollfd entry = {.events = POLLIN};

	(void)trip_cntr_wait(own, 1u << 20, (int)below(storm, 2));
	if (trip_trywait(family_domain, &fid, 1) == 0 &&
		trip_cntr_control(own, TRIP_GETWAIT, &entry.fd) == 0 && entry.fd < 1024)
		(void)poll(&entry, 1, (int)below(storm, 2));
	(void)trip_cntr_arm(own, 1000000);
}

static void
must(int error)
{
	if (error != 0)
		fail_msg("%s", trip_error_message());
}

static void
wait_on_set(struct storm *storm)
{
	const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};
	const struct trip_wait_attr attr = {
		.size = sizeof(attr), .wait_obj = objects[below(storm, 4)]};
	struct trip_cntr_attr member = {.size = sizeof(member), .wait_obj = TRIP_WAIT_SET};
	struct trip_cntr *cntrs[2];

	must(trip_wait_open(family_domain, &attr, &member.wait_set));
	member.name = "theirs";
	must(trip_cntr_find(family_domain, &member, &cntrs[0], NULL));
	member.name = NULL;
	must(trip_cntr_open(family_domain, &member, &cntrs[1], NULL));
	(void)trip_wait(member.wait_set, (int)below(storm, 2));
	for (unsigned int i = 0; i < 2; i++)
		must(trip_cntr_close(cntrs[i]));
	must(trip_wait_close(member.wait_set));
}

/* There are channels for two of the three. */
static void
change_channels(struct storm *storm)
{
	if (below(storm, 2) == 0)
		(void)trip_thread_detach(family_domain);
	else
		(void)trip_thread_attach(family_domain);
}

static void *
rage(void *arg)
{
	/* Without MUTEX_COND: poll() is tried on what GETWAIT gives. */
	const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_YIELD, TRIP_WAIT_NONE};
	struct storm *storm = arg;

	for (;;) {
		struct trip_cntr *own = family_cntr(NULL, objects[below(storm, 4)]);

		change_channels(storm);
		work(storm, own);
		update(storm, own);
		wait_on(storm, own);
		wait_on_set(storm);
		/* Items on theirs may still refer to it. */
		while (trip_cntr_close(own) != 0)
			must(trip_work_flush(family_domain, NULL));
	}
	return NULL;
}

static void
play_victim(const char *arg)
{
	static struct storm storms[THREADS];
	pthread_t thread;

	family_attach();
	for (unsigned int i = 0; i < THREADS; i++) {
		storms[i] = (struct storm){
			.random = {.state = strtoull(arg, NULL, 0) + i},
			.theirs = family_find("theirs", TRIP_WAIT_UNSPEC),
			.completion = family_find("completion", TRIP_WAIT_NONE),
		};
		assert_int_equal(pthread_create(&thread, NULL, rage, &storms[i]), 0);
	}
	family_say('v');
	for (;;)
		pause();
}

/* ---- the witness ------------------------------------------------------------------------------
 */

struct witness {
	struct trip_cntr *unspec, *by_fd, *by_cond, *member, *tock, *worked, *shots;
	struct trip_wait_set *set;
	struct trip_mutex_cond cond;
	int fd;
};

static void
witness_open(struct witness *witness)
{
	const struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_UNSPEC};
	struct trip_cntr_attr member = {
		.size = sizeof(member), .wait_obj = TRIP_WAIT_SET, .name = "tick"};

	witness->unspec = family_find("tick", TRIP_WAIT_UNSPEC);
	witness->by_fd = family_find("tick", TRIP_WAIT_FD);
	witness->by_cond = family_find("tick", TRIP_WAIT_MUTEX_COND);
	witness->tock = family_find("tock", TRIP_WAIT_NONE);
	witness->worked = family_find("worked", TRIP_WAIT_NONE);
	witness->shots = family_find("shots", TRIP_WAIT_NONE);
	assert_int_equal(trip_wait_open(family_domain, &attr, &witness->set), 0);
	member.wait_set = witness->set;
	assert_int_equal(trip_cntr_find(family_domain, &member, &witness->member, NULL), 0);
	assert_int_equal(trip_cntr_control(witness->by_fd, TRIP_GETWAIT, &witness->fd), 0);
	assert_int_equal(trip_cntr_control(witness->by_cond, TRIP_GETWAIT, &witness->cond), 0);
}

static void
witness_close(struct witness *witness)
{
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(witness->unspec), 0);
	assert_int_equal(trip_cntr_close(witness->by_fd), 0);
	assert_int_equal(trip_cntr_close(witness->by_cond), 0);
	assert_int_equal(trip_cntr_close(witness->member), 0);
	assert_int_equal(trip_wait_close(witness->set), 0);
	assert_int_equal(trip_cntr_close(witness->tock), 0);
	assert_int_equal(trip_cntr_close(witness->worked), 0);
	assert_int_equal(trip_cntr_close(witness->shots), 0);
	assert_int_equal(trip_domain_close(family_domain), 0);
}

/* Sleeps until there were `n` ticks, each time in another way. */
static void
witness_wait(struct witness *witness, uint64_t n)
{
	struct pollfd entry = {.fd = witness->fd, .events = POLLIN};
	struct trip_fid *fid;

	switch (n % 4) {
	case 0:
		assert_int_equal(trip_cntr_wait(witness->unspec, n, -1), 0);
		break;
	case 1:
		fid = trip_cntr_fid(witness->by_fd);
		while (trip_cntr_read(witness->by_fd) < n)
			if (trip_trywait(family_domain, &fid, 1) == 0)
				assert_int_equal(poll(&entry, 1, -1), 1);
		break;
	case 2:
		fid = trip_cntr_fid(witness->by_cond);
		pthread_mutex_lock(witness->cond.mutex);
		while (trip_cntr_read(witness->by_cond) < n)
			if (trip_trywait(family_domain, &fid, 1) == 0)
				pthread_cond_wait(witness->cond.cond, witness->cond.mutex);
		pthread_mutex_unlock(witness->cond.mutex);
		break;
	default:
		while (trip_cntr_read(witness->member) < n)
			assert_int_equal(trip_wait(witness->set, -1), 0);
	}
}

static void
witness_queue(struct witness *witness, struct trip_cntr *target, uint64_t threshold,
	uint64_t interval, uint32_t flags)
{
	const struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = witness->unspec,
		.threshold = threshold,
		.interval = interval,
		.flags = flags,
		.context = threshold,
		.op.cntr = {.cntr = target, .value = 1}};

	if (trip_work_queue(family_domain, &work, NULL) != 0)
		fail_msg("%s", trip_error_message());
}

/* The events of its items come in their order, each once. */
static void
witness_read(uint64_t *told, uint64_t n)
{
	struct trip_work_event events[4];
	int got;

	while ((got = trip_work_read(family_domain, events, 4)) > 0)
		for (int i = 0; i < got; i++)
			assert_int_equal(events[i].context, ++*told);
	assert_int_equal(got, 0);
	trip_assert_range(*told, 0, n);
}

static void
play_witness(const char *arg)
{
	struct witness witness;
	uint64_t told = 0;

	family_attach();
	witness_open(&witness);
	witness_queue(&witness, witness.worked, 1, 1, 0);
	for (uint64_t i = 1; i <= AHEAD; i++)
		witness_queue(&witness, witness.shots, i, 0, TRIP_COMPLETION);
	family_say('w');
	/* 'e': there is no further tick. */
	for (uint64_t n = 1; family_listen() != 'e'; n++) {
		witness_wait(&witness, n);
		witness_queue(&witness, witness.shots, n + AHEAD, 0, TRIP_COMPLETION);
		witness_read(&told, n);
		trip_cntr_add(witness.tock, 1);
	}
	witness_close(&witness);
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static struct family_child witness;
static struct trip_cntr *tick, *tock, *worked, *shots;
static uint64_t ticks;

/* The witness is told by everything that it works and waits with. */
static void
tick_once(void)
{
	family_tell(&witness, 't');
	ticks++;
	trip_cntr_add(tick, 1);
	family_until(trip_cntr_read(tock) == ticks && trip_cntr_read(worked) == ticks &&
		     trip_cntr_read(shots) == ticks);
}

static void
tick_for(uint64_t us)
{
	uint64_t until = rte_rdtsc() + us * rte_get_tsc_hz() / US_PER_S;

	do
		tick_once();
	while (rte_rdtsc() < until);
}

static void
stop(pid_t pid, uint64_t us)
{
	int status;

	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	tick_for(us);
	assert_int_equal(family_attached(), 2);
}

static void
play_round(struct trip_random *random, uint64_t round)
{
	unsigned int lcore = 8 + (unsigned int)(round % 4);
	struct family_child child;
	char seed[32];
	int status;

	snprintf(seed, sizeof(seed), "%" PRIu64, trip_random_u64(random));
	child = family_start("victim", lcore, seed);
	assert_int_equal(family_hear(&child), 'v');
	tick_for(trip_random_below(random, LIFE_US));
	/* It has not failed by itself. */
	assert_int_equal(waitpid(child.pid, &status, WNOHANG), 0);
	if (round % LONG_STOPS == LONG_STOPS / 2)
		stop(child.pid, LONG_STOP_US);
	else if (trip_random_below(random, 4) == 0)
		stop(child.pid, trip_random_below(random, STOP_US));
	kill(child.pid, SIGKILL);
	tick_once();
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(child.to);
	close(child.from);
	family_until(family_attached() == 1);
	tick_once();
}

static void
open_all(void)
{
	family_open(TRIP_PROGRESS_MANUAL,
		&(struct trip_domain_attr){.scrub_us = 1000, .max_process_threads = THREADS - 1});
	tick = family_cntr("tick", TRIP_WAIT_NONE);
	tock = family_cntr("tock", TRIP_WAIT_NONE);
	worked = family_cntr("worked", TRIP_WAIT_NONE);
	shots = family_cntr("shots", TRIP_WAIT_NONE);
	witness = family_start("witness", 7, NULL);
	assert_int_equal(family_hear(&witness), 'w');
	/* It has slept in each way. */
	for (unsigned int i = 0; i < 8; i++)
		tick_once();
}

static void
close_all(void)
{
	family_tell(&witness, 'e');
	family_end(&witness);
	assert_int_equal(trip_cntr_close(tick), 0);
	assert_int_equal(trip_cntr_close(tock), 0);
	assert_int_equal(trip_cntr_close(worked), 0);
	assert_int_equal(trip_cntr_close(shots), 0);
}

/* What came of it, a line for each question. */
static void
tell(uint64_t rounds, uint64_t began, size_t leaked, struct trip_cntr *completion)
{
	struct trip_domain_stats stats;

	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	printf("%" PRIu64 " kills, %.2f s each; longest iteration %.1f us; %" PRIu64
	       " lost rings repaired, %" PRIu64 " items refused\n",
		rounds, (double)(rte_rdtsc() - began) / (double)rte_get_tsc_hz() / (double)rounds,
		(double)stats.longest_iteration_ns / 1000, stats.scrub_repairs, stats.refused);
	printf("EAL's heap grew by %.1f KiB a kill\n", (double)leaked / 1024 / (double)rounds);
	printf("others counted: %" PRIu64
	       " ticks, each told by a wait, by an item with an interval and "
	       "by one of its own; %" PRIu64 " completions of the dead, %" PRIu64
	       " errors for what they left\n",
		ticks, trip_cntr_read(completion), trip_cntr_readerr(completion));
	assert_int_equal(stats.refused, 0);
}

static void
a_storm_of_kills_leaves_nothing(void **state)
{
	struct trip_random random = {.state = trip_test_seed("storm")};
	uint64_t rounds = trip_test_rounds(100), began;
	struct rte_malloc_socket_stats heap[2];
	struct trip_cntr *theirs, *completion;
	struct baseline baseline;

	open_all();
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	completion = family_cntr("completion", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	rte_malloc_get_socket_stats(0, &heap[0]);
	began = rte_rdtsc();
	for (uint64_t i = 0; i < rounds; i++) {
		play_round(&random, i);
		baseline_expect(&baseline);
	}
	rte_malloc_get_socket_stats(0, &heap[1]);
	tell(rounds, began, heap[1].heap_allocsz_bytes - heap[0].heap_allocsz_bytes, completion);
	close_all();
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"victim", play_victim},
	{"witness", play_witness},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_storm_of_kills_leaves_nothing),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
