/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A storm of kills: in each round a secondary that does everything at once, by several threads, is
 * killed at a random instant, in some rounds after it was stopped for a while, at times for
 * seconds; in others the primary was forked meanwhile. A user who may only look leaves idle and
 * garbage connections. Another secondary works and waits all the time, and misses nothing; and
 * after each round all that the domain has is in use exactly as before (baseline.h).
 * `scripts/test --long` plays 2,000.
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
#include "domain/domain.h"
#include "flows.h"
#include "primary/server.h"
#include "storm.h"

#define LIFE_US 20000
#define STOP_US 20000
/* One round in so many, so long. */
#define LONG_STOPS 50
#define LONG_STOP_US 2000000
/* One-shot items that the witness has pending between two ticks. */
#define AHEAD 10
/* It asks for what its flow has counted once in so many ticks. */
#define QUERY 64
#define ROUNDS 100

/* ---- the witness ------------------------------------------------------------------------------
 */

struct witness {
	struct trip_cntr *unspec, *by_fd, *by_cond, *member, *tock, *worked, *shots, *seen;
	struct trip_port *port;
	struct trip_flow *flow;
	struct trip_wait_set *set;
	struct trip_mutex_cond cond;
	int fd;
};

static void
must(int error)
{
	if (error != 0)
		fail_msg("%s", trip_error_message());
}

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
	witness->cond.size = sizeof(witness->cond);
	assert_int_equal(trip_cntr_control(witness->by_cond, TRIP_GETWAIT, &witness->cond), 0);
	witness->seen = family_find("seen", TRIP_WAIT_NONE);
	witness->port = flows_find();
	must(trip_port_claim(witness->port, TRIP_FLOW_INGRESS, STORM_QUEUES));
	witness->flow = flows_create(witness->port,
		&(struct trip_flow_attr){.size = sizeof(struct trip_flow_attr),
			.cntrs = &witness->seen,
			.n_cntrs = 1},
		FLOWS_DNS);
}

static void
witness_close(struct witness *witness)
{
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	must(trip_flow_destroy(witness->flow));
	must(trip_port_close(witness->port));
	must(trip_cntr_close(witness->seen));
	assert_int_equal(trip_cntr_close(witness->unspec), 0);
	assert_int_equal(trip_cntr_close(witness->by_fd), 0);
	assert_int_equal(trip_cntr_close(witness->by_cond), 0);
	assert_int_equal(trip_cntr_close(witness->member), 0);
	assert_int_equal(trip_wait_close(witness->set), 0);
	assert_int_equal(trip_cntr_close(witness->tock), 0);
	assert_int_equal(trip_cntr_close(witness->worked), 0);
	assert_int_equal(trip_cntr_close(witness->shots), 0);
	assert_int_equal(family_try_close(), 0);
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
witness_queue(struct trip_cntr *trigger, struct trip_cntr *target, uint64_t threshold,
	uint64_t interval, uint32_t flags)
{
	const struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = trigger,
		.threshold = threshold,
		.interval = interval,
		.flags = flags,
		.context = threshold,
		.op.cntr = {.cntr = target, .value = 1}};

	must(trip_work_queue(family_domain, &work, NULL));
}

/* One in two is told by a tick, one by the burst of packets behind it. */
static void
witness_shoot(struct witness *witness, uint64_t n)
{
	witness_queue(n % 2 == 0 ? witness->unspec : witness->seen, witness->shots, n, 0,
		TRIP_WORK_COMPLETION);
}

/* Its packets count, and the primary says as many, in turn with the calls of others. */
static void
witness_burst(struct witness *witness, uint64_t n)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(flows_burst(witness->port, STORM_QUEUES, FLOWS_DNS, 1), 1);
	if (n % QUERY != 0)
		return;
	must(trip_flow_query(witness->flow, &count));
	assert_int_equal(count.packets, n);
}

/* The events of its items come in their order, each once. */
static void
witness_read(uint64_t *told, uint64_t n)
{
	struct trip_work_event events[4];
	int got;

	while ((got = trip_work_read(family_domain, events, sizeof(struct trip_work_event), 4)) > 0)
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
	witness_queue(witness.unspec, witness.worked, 1, 1, 0);
	for (uint64_t i = 1; i <= AHEAD; i++)
		witness_shoot(&witness, i);
	family_say('w');
	/* 'e': there is no further tick. */
	for (uint64_t n = 1; family_listen() != 'e'; n++) {
		witness_wait(&witness, n);
		witness_shoot(&witness, n + AHEAD);
		witness_burst(&witness, n);
		witness_read(&told, n);
		trip_cntr_add(witness.tock, 1);
	}
	witness_close(&witness);
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static struct family_child witness;
static struct trip_cntr *tick, *tock, *worked, *shots, *seen;
static uint64_t ticks;
/* Victims that had rules, had queues, were in a burst, as far as could be seen from outside. */
static uint64_t with_rules, with_queues, in_bursts;

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
stop_for(pid_t pid, uint64_t us)
{
	int status;

	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	tick_for(us);
	assert_int_equal(family_attached(), 2);
}

/* Beyond the witness's. */
static void
look_at_victim(void)
{
	const struct trip_engine *engine = &family_domain->engine;
	uint64_t rules = 0, queues = 0, bursts = 0;

	for (uint32_t i = 0; i < engine->n_flows; i++)
		rules += atomic_load(&engine->actions[i]) != 0;
	for (uint32_t q = 0; q < STORM_QUEUES; q++) {
		queues += atomic_load(&engine->claims[q].owner) != TRIP_CLAIM_NONE;
		bursts += atomic_load(&engine->claims[q].since) != TRIP_ERA_IDLE;
	}
	with_rules += rules > 1;
	with_queues += queues > 0;
	in_bursts += bursts > 0;
}

static void
play_round(struct trip_random *random, uint64_t round)
{
	unsigned int lcore = 8 + (unsigned int)(round % 4);
	struct family_child child;
	char seed[32];
	int status;

	snprintf(seed, sizeof(seed), "%" PRIu64, trip_random_u64(random));
	storm_go_on();
	child = family_start("victim", lcore, seed);
	assert_int_equal(family_hear(&child), 'v');
	tick_for(trip_random_below(random, LIFE_US));
	/* It has not failed by itself. */
	assert_int_equal(waitpid(child.pid, &status, WNOHANG), 0);
	if (round % LONG_STOPS == LONG_STOPS / 2)
		stop_for(child.pid, LONG_STOP_US);
	else if (trip_random_below(random, 4) == 0)
		stop_for(child.pid, trip_random_below(random, STOP_US));
	/* It has the victim's pidfd, and lives on when the next one has its place. */
	if (trip_random_below(random, 3) == 0)
		storm_fork();
	look_at_victim();
	kill(child.pid, SIGKILL);
	tick_once();
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(child.to);
	close(child.from);
	family_until(family_attached() == 1);
	tick_once();
	storm_rest();
}

static void
open_all(void)
{
	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.scrub_us = 1000,
						  .socket_mode = 0666,
						  .max_process_threads = STORM_THREADS - 1,
						  .max_process_flows = 2 * STORM_THREADS});
	flows_open_port(STORM_QUEUES + 1);
	tick = family_cntr("tick", TRIP_WAIT_NONE);
	tock = family_cntr("tock", TRIP_WAIT_NONE);
	worked = family_cntr("worked", TRIP_WAIT_NONE);
	shots = family_cntr("shots", TRIP_WAIT_NONE);
	seen = family_cntr("seen", TRIP_WAIT_NONE);
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
	assert_int_equal(trip_cntr_read(seen), ticks);
	assert_int_equal(trip_cntr_close(seen), 0);
	flows_close_port();
	assert_int_equal(trip_cntr_close(tick), 0);
	assert_int_equal(trip_cntr_close(tock), 0);
	assert_int_equal(trip_cntr_close(worked), 0);
	assert_int_equal(trip_cntr_close(shots), 0);
}

/* What came of it, a line for each question. */
static void
tell(uint64_t rounds, uint64_t began, size_t leaked, struct trip_cntr *completion)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	printf("%" PRIu64 " kills, %.2f s each; longest iteration %.1f us; %" PRIu64
	       " lost rings repaired, %" PRIu64 " items refused\n",
		rounds, (double)(rte_rdtsc() - began) / (double)rte_get_tsc_hz() / (double)rounds,
		(double)stats.longest_iteration_ns / 1000, stats.scrub_repairs, stats.refused);
	printf("EAL's heap grew by %.1f KiB a kill\n", (double)leaked / 1024 / (double)rounds);
	printf("%" PRIu64 " had rules when they were killed, %" PRIu64 " queues, %" PRIu64
	       " were in a burst\n",
		with_rules, with_queues, in_bursts);
	printf("others counted: %" PRIu64
	       " ticks, each told by a wait, by an item with an interval and "
	       "by one of its own; %" PRIu64 " completions of the dead, %" PRIu64
	       " errors for what they left\n",
		ticks, trip_cntr_read(completion), trip_cntr_readerr(completion));
	printf("a stranger: %" PRIu64 " connections ended by garbage, %" PRIu64 " refused\n",
		family_domain->server->garbage.count, family_domain->server->refusals.count);
	assert_int_equal(stats.refused, 0);
	/* In fewer rounds the stranger may not come to it. */
	assert_true(rounds < ROUNDS || family_domain->server->garbage.count > 0);
}

static void
a_storm_of_kills_leaves_nothing(void **state)
{
	struct trip_random random = {.state = trip_test_seed("storm")};
	uint64_t rounds = trip_test_rounds(ROUNDS), began;
	struct rte_malloc_socket_stats heap[2];
	struct trip_cntr *theirs, *completion;
	struct baseline baseline;

	open_all();
	storm_open_others(trip_random_u64(&random));
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
	storm_close_others();
	close_all();
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	family_close();
}

static const struct family_part parts[] = {
	{.name = "victim", .play = storm_play_victim},
	{.name = "witness", .play = play_witness},
	{.name = "stranger", .play = storm_play_stranger, .bare = true},
	{.name = "visitor", .play = storm_play_visitor},
	{.name = "busy", .play = storm_play_busy},
	{.name = "mortal", .play = storm_play_mortal},
	{.name = "next", .play = storm_play_next},
	{.name = NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_storm_of_kills_leaves_nothing),
		cmocka_unit_test(storm_of_closes),
		cmocka_unit_test(storm_beside_a_busy_sweep),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return flows_main(argc, argv, parts, run);
}
