/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules added, deleted, dropped and passed under traffic, by calls and by deferred work that the
 * traffic itself triggers. Whatever the interleaving, each packet counts exactly once: of every
 * flow,
 *
 *	sent = counted by its rules, one after the other + counted by the rule below them
 *	sent = left + dropped
 *
 * and drops are known: of a third of the flows no rule ever drops, so all of it is left; of a third
 * every rule drops, also the one below, so nothing is. The last third does both in turn.
 */
#include <trip_test.h>

#include <errno.h>
#include <inttypes.h>
#include <sched.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <trip_eal.h>
#include <trip_flows.h>
#include <trip_threads.h>

#define CHANGES (TRIP_TEST_TSAN ? 3000 : 100000)
#define QUEUES 2
#define WORKS 4
#define AHEAD 2000
#define BURST 256
#define YIELD 2

enum fate { NEVER_DROPS, ALWAYS_DROPS, SOMETIMES_DROPS, FATES };

struct flow {
	enum fate fate;
	struct trip_flow *rule;  /* or NULL */
	struct trip_flow *below; /* at the lowest priority; of what no rule takes */
	struct trip_cntr *cntrs[2];
	struct trip_cntr *below_cntrs[2];
	uint64_t works[WORKS]; /* ids; TRIP_WORK_NONE */
};

struct world {
	struct trip_domain *domain;
	struct trip_port *port;
	struct flow flows[FLOWS];
	struct flows_traffic traffic[QUEUES];
	_Atomic uint64_t bursts;
	_Atomic unsigned int running;
	_Atomic bool stop;
	struct trip_random random;
	uint64_t changes[6];
};

static struct world world;

static bool
drops(enum fate fate)
{
	return fate == ALWAYS_DROPS ||
	       (fate == SOMETIMES_DROPS && trip_random_below(&world.random, 2) == 0);
}

static void
open_world(uint64_t seed)
{
	uint32_t i;

	world = (struct world){.random = {.state = seed}};
	flows_open(&world.domain, &world.port, QUEUES, 4 * FLOWS, 2 * FLOWS);
	for (i = 0; i < FLOWS; i++) {
		struct flow *flow = &world.flows[i];
		const struct trip_flow_attr below = {.size = sizeof(below),
			.cntrs = flow->below_cntrs,
			.n_cntrs = 2,
			.priority = 100};

		flow->fate = i % FATES;
		flows_cntrs_open(world.domain, flow->cntrs);
		flows_cntrs_open(world.domain, flow->below_cntrs);
		flow->below = flows_create(world.port, i, &below,
			flow->fate == ALWAYS_DROPS ? FLOWS_DROP : FLOWS_COUNT, i);
	}
	for (i = 0; i < QUEUES; i++)
		flows_traffic_open(&world.traffic[i], trip_random_u64(&world.random));
}

static void
cancel_works(struct flow *flow)
{
	for (unsigned int i = 0; i < WORKS; i++) {
		/* -ENOENT: it has fired. */
		if (flow->works[i] != TRIP_WORK_NONE)
			trip_work_cancel(world.domain, flow->works[i]);
		flow->works[i] = TRIP_WORK_NONE;
	}
}

static void
destroy(struct flow *flow)
{
	cancel_works(flow);
	flows_destroy(world.domain, flow->rule);
	flow->rule = NULL;
}

static void
create(struct flow *flow, uint32_t index)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = flow->cntrs,
		.n_cntrs = 2,
		.priority = (uint32_t)trip_random_below(&world.random, 3)};

	flow->rule = flows_create(world.port, index, &attr,
		drops(flow->fate) ? FLOWS_DROP : FLOWS_COUNT, trip_random_u64(&world.random));
}

/* Half of the work is due at once, half when the traffic has come so far. */
static void
defer(struct flow *flow)
{
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = flow->cntrs[0],
		.op.flow = flow->rule,
		.op_type = drops(flow->fate) ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS};
	uint64_t *id = &flow->works[trip_random_below(&world.random, WORKS)];
	uint64_t value = trip_cntr_read(flow->cntrs[0]);

	if (trip_random_below(&world.random, 4) == 0)
		work.op_type = TRIP_OP_FLOW_DELETE;
	if (trip_random_below(&world.random, 2) == 0)
		work.threshold = value + trip_random_below(&world.random, AHEAD);
	if (*id != TRIP_WORK_NONE)
		trip_work_cancel(world.domain, *id);
	world.changes[work.op_type - TRIP_OP_FLOW_DROP]++;
	assert_int_equal(trip_work_queue(world.domain, &work, id), 0);
}

static void
change(void)
{
	uint32_t index = (uint32_t)trip_random_below(&world.random, FLOWS);
	struct flow *flow = &world.flows[index];

	if (flow->rule == NULL) {
		world.changes[4]++;
		create(flow, index);
	} else if (trip_random_below(&world.random, 4) == 0) {
		world.changes[5]++;
		destroy(flow);
	} else {
		defer(flow);
	}
	trip_progress(world.domain);
}

/* Where processors are shared, a queue is now and then stopped in the middle of a burst. */
static void
run_queue(uint16_t queue)
{
	struct flows_traffic *traffic = &world.traffic[queue];

	while (!atomic_load_explicit(&world.stop, memory_order_relaxed)) {
		flows_burst(traffic, world.port, queue, BURST);
		atomic_fetch_add_explicit(&world.bursts, 1, memory_order_relaxed);
		if (trip_random_below(&traffic->random, YIELD) == 0)
			sched_yield();
	}
	/* Partner: the acquire in change_under_traffic; what was sent is read after it. */
	atomic_fetch_sub_explicit(&world.running, 1, memory_order_release);
}

static int
run_on_lcore(void *arg)
{
	run_queue(0);
	return 0;
}

static void *
run_on_thread(void *arg)
{
	run_queue(1);
	return NULL;
}

/* Traffic goes on meanwhile, however few processors there are. */
static void
wait_for_burst(void)
{
	uint64_t bursts = atomic_load_explicit(&world.bursts, memory_order_relaxed);

	while (atomic_load_explicit(&world.bursts, memory_order_relaxed) == bursts) {
		trip_progress(world.domain);
		sched_yield();
	}
}

static void
change_under_traffic(uint64_t changes)
{
	pthread_t thread;

	atomic_store(&world.running, QUEUES);
	assert_int_equal(rte_eal_remote_launch(run_on_lcore, NULL, 1), 0);
	trip_thread_start(&thread, run_on_thread, NULL);
	for (uint64_t i = 0; i < changes; i++) {
		change();
		if (trip_random_below(&world.random, 4) == 0)
			wait_for_burst();
	}
	atomic_store(&world.stop, true);
	while (atomic_load_explicit(&world.running, memory_order_acquire) > 0)
		sched_yield();
	pthread_join(thread, NULL);
	rte_eal_wait_lcore(1);
}

/* Of one flow: all that was sent has been counted, and all drops are those of rules that drop. */
static void
check_flow(uint32_t index)
{
	const struct flow *flow = &world.flows[index];
	uint64_t sent = 0, left = 0, counted, bytes;

	for (unsigned int i = 0; i < QUEUES; i++) {
		sent += world.traffic[i].sent[index];
		left += world.traffic[i].left[index];
	}
	counted = trip_cntr_read(flow->cntrs[0]) + trip_cntr_read(flow->below_cntrs[0]);
	bytes = trip_cntr_read(flow->cntrs[1]) + trip_cntr_read(flow->below_cntrs[1]);
	if (counted != sent || bytes != sent * flows_length(&world.traffic[0], index))
		fail_msg("flow %" PRIu32 ": %" PRIu64 " sent, %" PRIu64 " counted in %" PRIu64
			 " bytes",
			index, sent, counted, bytes);
	if (flow->fate == NEVER_DROPS)
		assert_int_equal(left, sent);
	else if (flow->fate == ALWAYS_DROPS)
		assert_int_equal(left, 0);
	else
		assert_true(sent - left <= trip_cntr_read(flow->cntrs[0]));
}

static void
close_world(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	uint32_t i;

	for (i = 0; i < FLOWS; i++) {
		if (world.flows[i].rule != NULL)
			destroy(&world.flows[i]);
		flows_destroy(world.domain, world.flows[i].below);
	}
	for (i = 0; i < FLOWS; i++)
		check_flow(i);
	/* Nobody has waited for the home to take out what was canceled. */
	while (trip_progress(world.domain) > 0)
		;
	trip_domain_stats_read(world.domain, &stats);
	assert_int_equal(stats.accepted, stats.fired + stats.canceled);
	assert_int_equal(stats.scrub_repairs, 0);
	assert_int_equal(trip_domain_check(world.domain, stderr), 0);
	for (i = 0; i < FLOWS; i++)
		for (unsigned int kind = 0; kind < 2; kind++) {
			assert_int_equal(trip_cntr_close(world.flows[i].cntrs[kind]), 0);
			assert_int_equal(trip_cntr_close(world.flows[i].below_cntrs[kind]), 0);
		}
	assert_int_equal(trip_port_close(world.port), 0);
	assert_int_equal(trip_domain_close(world.domain), 0);
	for (i = 0; i < QUEUES; i++)
		flows_traffic_close(&world.traffic[i]);
}

static void
churn_under_traffic(void **state)
{
	uint64_t changes = trip_test_rounds(CHANGES), sent = 0;

	open_world(trip_test_seed("churn"));
	change_under_traffic(changes);
	for (unsigned int i = 0; i < QUEUES * FLOWS; i++)
		sent += world.traffic[i / FLOWS].sent[i % FLOWS];
	printf("%" PRIu64 " changes: %" PRIu64 " added, %" PRIu64 " destroyed, %" PRIu64
	       " dropped, %" PRIu64 " passed, %" PRIu64 " deleted; %" PRIu64 " packets\n",
		changes, world.changes[4], world.changes[5], world.changes[0], world.changes[1],
		world.changes[2], sent);
	close_world();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(churn_under_traffic)};
	int failed;

	trip_threads_prepare();
	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
