/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports opened and closed, and rules added and taken away, while lcores poll the queues all the
 * time: one through the callbacks of a port, the other by the burst call, which it makes as long as
 * it is told that the port is open. Two threads do so at once, each with a port of its own.
 *
 * What the lcore has been handed out bounds what a rule has counted: packets handed out after the
 * rule was there and before it was to go, but for a burst under way, are counted by it; what it has
 * counted was handed out, or was still to be. By the burst call all is known, so counts are exact.
 *
 * Now and then a signal stops the lcore, wherever it is, while the last rule and the port go.
 */
#include <trip_test.h>

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <trip_eal.h>
#include <trip_flows.h>
#include <trip_threads.h>

#define CYCLES (TRIP_TEST_TSAN ? 10 : 30)
#define SOME_FLOWS 8
#define CHANGES 40
#define QUEUES 2
#define BURST 32
#define PACKETS 2047
#define PACKET_SIZE 64
#define PATIENCE_S 400

/* A port, the lcore that polls it, and the thread that opens and closes it. */
struct side {
	uint16_t port_id;
	unsigned int lcore;
	enum trip_port_mode mode;
	struct trip_random random;
	struct trip_cntr *cntrs[SOME_FLOWS];
	/* The lcore's: what came, before rules and after them. */
	_Atomic uint64_t sent[SOME_FLOWS], left[SOME_FLOWS];
	_Atomic uint64_t bursts;
	/* Of the burst call: the port while it may be made. */
	_Atomic(struct trip_port *) open;
	uint64_t cycles, changes;
	_Atomic pthread_t poller;
	pthread_t thread;
};

static struct side sides[] = {
	{.port_id = 0, .lcore = 1, .mode = TRIP_PORT_CALLBACK},
	{.port_id = 1, .lcore = 2, .mode = TRIP_PORT_BURST},
};
static struct trip_domain *domain;
static _Atomic bool stop;
static _Atomic unsigned int running;

static void
tell_hang(int number)
{
	for (unsigned int i = 0; i < RTE_DIM(sides); i++)
		dprintf(STDERR_FILENO, "port %u: cycle %" PRIu64 ", %" PRIu64 " bursts\n", i,
			sides[i].cycles, atomic_load(&sides[i].bursts));
	_exit(EXIT_FAILURE);
}

/* While the rule and the port go. */
static void
stay(int number)
{
	int error = errno;

	for (unsigned int i = 0; i < 20; i++)
		sched_yield();
	errno = error;
}

/* ThreadSanitizer delivers no signal between two instructions. */
static void
stop_poller(struct side *side)
{
	if (!TRIP_TEST_TSAN && trip_random_below(&side->random, 2) == 0)
		pthread_kill(atomic_load(&side->poller), SIGUSR1);
}

/* --- packets: each buffer of the pool holds one for life --- */

static void
fill_buffer(struct rte_mempool *pool, void *arg, void *object, unsigned int index)
{
	struct rte_mbuf *mbuf = object;
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.dst = 1, .proto = 17, .ttl = 64});
	frame_l4(&frame, 1000, (uint16_t)(index % SOME_FLOWS + 1));
	memcpy((uint8_t *)mbuf->buf_addr + RTE_PKTMBUF_HEADROOM, frame.bytes, frame.length);
}

static unsigned int
flow_of(const struct rte_mbuf *mbuf)
{
	/* The low byte of the UDP destination port. */
	return rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, 14 + 20 + 3)[0] - 1u;
}

static void
count(_Atomic uint64_t *counts, struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		atomic_fetch_add(&counts[flow_of(pkts[i])], 1);
}

static void
open_device(uint16_t port_id)
{
	static const struct rte_eth_conf conf;
	struct rte_mempool *pool;
	char name[16];

	snprintf(name, sizeof(name), "ports%u", port_id);
	pool = rte_pktmbuf_pool_create(
		name, PACKETS, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	rte_mempool_obj_iter(pool, fill_buffer, NULL);
	assert_int_equal(rte_eth_dev_configure(port_id, QUEUES, QUEUES, &conf), 0);
	for (uint16_t queue = 0; queue < QUEUES; queue++) {
		assert_int_equal(rte_eth_rx_queue_setup(port_id, queue, 64, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port_id, queue, 64, 0, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(port_id), 0);
}

/* --- the lcores --- */

static uint16_t
burst_call(struct side *side, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	/* Its opener waits for a burst to end before it closes. */
	struct trip_port *port = atomic_load(&side->open);

	if (port == NULL)
		return n;
	count(side->sent, pkts, n);
	n = trip_port_burst(port, queue, pkts, n);
	count(side->left, pkts, n);
	return n;
}

static int
poll_port(void *arg)
{
	struct side *side = arg;
	struct rte_mbuf *pkts[BURST];
	struct trip_random random = {side->lcore};
	uint16_t n, queue = 0;

	atomic_store(&side->poller, pthread_self());
	while (!atomic_load(&stop)) {
		queue = (uint16_t)((queue + 1) % QUEUES);
		n = rte_eth_rx_burst(side->port_id, queue, pkts, BURST);
		if (side->mode == TRIP_PORT_BURST)
			n = burst_call(side, queue, pkts, n);
		else
			count(side->left, pkts, n);
		/* Through the callbacks for what is sent; what those leave is ours. */
		for (uint16_t sent = rte_eth_tx_burst(side->port_id, queue, pkts, n); sent < n;
			sent++)
			rte_pktmbuf_free(pkts[sent]);
		atomic_fetch_add(&side->bursts, 1);
		/* Where processors are shared, others have their turn. */
		if (trip_random_below(&random, 16) == 0)
			sched_yield();
	}
	return 0;
}

/* So many bursts have begun, and ended. */
static void
wait_for_bursts(struct side *side, uint64_t bursts)
{
	uint64_t until = atomic_load(&side->bursts) + bursts + 1;

	while (atomic_load(&side->bursts) < until)
		sched_yield();
}

/* --- the threads --- */

static struct trip_port *
open_port(struct side *side)
{
	const struct trip_port_attr attr = {.size = sizeof(attr),
		.mode = side->mode,
		.n_tx_queues = side->mode == TRIP_PORT_CALLBACK ? QUEUES : 0};
	struct trip_port *port;

	if (trip_port_open(domain, side->port_id, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	return port;
}

static struct trip_flow *
add_rule(struct side *side, struct trip_port *port, uint32_t index, enum flows_action action)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = &side->cntrs[index],
		.n_cntrs = 1,
		.priority = (uint32_t)trip_random_below(&side->random, 3)};

	side->changes++;
	return flows_create(port, index, &attr, action, trip_random_u64(&side->random));
}

/* One rule, there for a few bursts of a lcore that goes through the callbacks. */
static void
check_rule(struct side *side, struct trip_port *port, uint32_t index)
{
	enum flows_action action = index % 2 == 0 ? FLOWS_COUNT : FLOWS_DROP;
	uint64_t counted = trip_cntr_read(side->cntrs[index]);
	uint64_t before = atomic_load(&side->left[index]), there, going, gone;
	struct trip_flow *flow = add_rule(side, port, index, action);

	there = atomic_load(&side->left[index]);
	wait_for_bursts(side, trip_random_below(&side->random, 6));
	going = atomic_load(&side->left[index]);
	flows_destroy(domain, flow);
	gone = atomic_load(&side->left[index]);
	counted = trip_cntr_read(side->cntrs[index]) - counted;
	if (action == FLOWS_DROP)
		assert_true(going - there <= BURST);
	else if (counted + BURST < going - there || counted > gone - before + BURST)
		fail_msg("port %u, rule %" PRIu32 ": counted %" PRIu64 ", %" PRIu64
			 " handed out meanwhile, %" PRIu64 " in all",
			side->port_id, index, counted, going - there, gone - before);
}

static void
cycle_callbacks(struct side *side)
{
	struct trip_port *port = open_port(side);
	struct trip_flow *flow = add_rule(side, port, 0, FLOWS_ALSO);

	assert_int_equal(trip_port_close(port), -EBUSY);
	for (unsigned int i = 0; i < CHANGES; i++)
		check_rule(
			side, port, 1 + (uint32_t)trip_random_below(&side->random, SOME_FLOWS - 1));
	stop_poller(side);
	flows_destroy(domain, flow);
	assert_int_equal(trip_port_close(port), 0);
}

/* All rules but one are there from the first burst to the last; that one comes and goes. */
static void
cycle_bursts(struct side *side)
{
	struct trip_port *port = open_port(side);
	struct trip_flow *flows[SOME_FLOWS];
	uint64_t counted[SOME_FLOWS];

	for (uint32_t i = 0; i < SOME_FLOWS; i++) {
		atomic_store(&side->sent[i], 0);
		atomic_store(&side->left[i], 0);
		counted[i] = trip_cntr_read(side->cntrs[i]);
		flows[i] = add_rule(side, port, i, i % 2 == 0 ? FLOWS_COUNT : FLOWS_DROP);
	}
	atomic_store(&side->open, port);
	for (unsigned int i = 0; i < CHANGES; i++) {
		flows_destroy(domain, flows[0]);
		wait_for_bursts(side, trip_random_below(&side->random, 3));
		flows[0] = add_rule(side, port, 0, FLOWS_COUNT);
	}
	atomic_store(&side->open, NULL);
	wait_for_bursts(side, 1);
	for (uint32_t i = 0; i < SOME_FLOWS; i++) {
		uint64_t sent = atomic_load(&side->sent[i]);

		flows_destroy(domain, flows[i]);
		counted[i] = trip_cntr_read(side->cntrs[i]) - counted[i];
		assert_int_equal(atomic_load(&side->left[i]), i % 2 == 0 ? sent : 0);
		assert_true(i == 0 ? counted[i] <= sent : counted[i] == sent);
	}
	assert_int_equal(trip_port_close(port), 0);
}

static void *
open_and_close(void *arg)
{
	struct side *side = arg;
	uint64_t cycles = trip_test_rounds(CYCLES);

	for (; side->cycles < cycles; side->cycles++) {
		if (side->mode == TRIP_PORT_CALLBACK)
			cycle_callbacks(side);
		else
			cycle_bursts(side);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void
open_world(uint64_t seed)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = RTE_DIM(sides) * SOME_FLOWS,
		.max_flows = 4 * SOME_FLOWS,
		.max_queues = 8,
		.scrub_us = UINT32_MAX};

	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null1", "size=" RTE_STR(PACKET_SIZE)), 0);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	for (unsigned int s = 0; s < RTE_DIM(sides); s++) {
		open_device(sides[s].port_id);
		sides[s].random.state = seed + s;
		for (unsigned int i = 0; i < SOME_FLOWS; i++)
			assert_int_equal(trip_cntr_open(domain, NULL, &sides[s].cntrs[i], NULL), 0);
	}
}

static void
close_world(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(domain, &stats), 0);
	assert_int_equal(stats.scrub_repairs, 0);
	assert_int_equal(trip_domain_check(domain, stdout), 0);
	for (unsigned int s = 0; s < RTE_DIM(sides); s++)
		for (unsigned int i = 0; i < SOME_FLOWS; i++)
			assert_int_equal(trip_cntr_close(sides[s].cntrs[i]), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

static void
ports_come_and_go_under_traffic(void **state)
{
	open_world(trip_test_seed("ports"));
	alarm(PATIENCE_S);
	atomic_store(&running, RTE_DIM(sides));
	for (unsigned int s = 0; s < RTE_DIM(sides); s++) {
		assert_int_equal(rte_eal_remote_launch(poll_port, &sides[s], sides[s].lcore), 0);
		trip_thread_start(&sides[s].thread, open_and_close, &sides[s]);
	}
	while (atomic_load(&running) > 0)
		if (trip_progress(domain) == 0)
			sched_yield();
	for (unsigned int s = 0; s < RTE_DIM(sides); s++)
		pthread_join(sides[s].thread, NULL);
	atomic_store(&stop, true);
	rte_eal_mp_wait_lcore();
	alarm(0);
	for (unsigned int s = 0; s < RTE_DIM(sides); s++)
		printf("%s: %" PRIu64 " times open, %" PRIu64 " rules, %" PRIu64 " bursts\n",
			sides[s].mode == TRIP_PORT_CALLBACK ? "callbacks" : "burst call",
			sides[s].cycles, sides[s].changes, atomic_load(&sides[s].bursts));
	close_world();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ports_come_and_go_under_traffic)};
	int failed;

	trip_threads_prepare();
	signal(SIGALRM, tell_hang);
	signal(SIGUSR1, stay);
	if (trip_eal_init("net_null0,size=" RTE_STR(PACKET_SIZE)) < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
