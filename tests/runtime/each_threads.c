/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that count by keys, read and closed beside counting: each of two threads polls a
 * queue, one reads all the time, and one opens, looks and closes. What is read of a key is never
 * more than was sent of it, and never less than was read before; at the end nothing is missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_byteorder.h>

#include <trip_eal.h>
#include <trip_flows.h>
#include <trip_threads.h>

#define QUEUES 2
#define BURST 32
#define CYCLES (TRIP_TEST_TSAN ? 20 : 200)
#define EVENTS_KEPT 8
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_each *lasting;
static _Atomic bool stop;
static uint64_t n_events;
/* By flow, before it is polled. */
static _Atomic uint64_t sent[FLOWS];
static struct flows_traffic traffic[QUEUES];

static struct trip_each *
open_each(const char *name, uint32_t max, uint64_t idle_us, uint32_t events_kept)
{
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = name,
		.ports = &port,
		.n_ports = 1,
		.parts = by_port,
		.n_parts = 1,
		.max = max,
		.idle_us = idle_us,
		.events_kept = events_kept};
	struct trip_each *each;

	if (trip_each_open(domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
	return each;
}

static void *
poll_queue(void *arg)
{
	const uint16_t queue = (uint16_t)(uintptr_t)arg;
	struct flows_traffic *own = &traffic[queue];
	struct rte_mbuf *pkts[BURST];

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint16_t n = (uint16_t)trip_random_below(&own->random, BURST + 1);

		for (uint16_t i = 0; i < n; i++) {
			uint32_t flow = (uint32_t)trip_random_below(&own->random, FLOWS);

			atomic_fetch_add_explicit(&sent[flow], 1, memory_order_seq_cst);
			pkts[i] = own->packets[flow];
		}
		assert_int_equal(trip_port_burst(port, queue, pkts, n), n);
	}
	return NULL;
}

static uint32_t
flow_of_key(const uint8_t *key, uint32_t size)
{
	uint32_t flow = (uint32_t)(key[0] << 8 | key[1]) - 1;

	assert_true(size == 2 && flow < FLOWS);
	return flow;
}

static uint32_t
flow_of(const struct trip_each_entry *entry)
{
	return flow_of_key(entry->key, entry->key_size);
}

struct seen {
	uint64_t packets[FLOWS];
	uint32_t times[FLOWS];
};

static void
check_entry(const struct trip_each_entry *entry, struct seen *seen)
{
	uint32_t flow = flow_of(entry);

	assert_true(entry->packets <= atomic_load(&sent[flow]));
	assert_true(entry->packets >= seen->packets[flow]);
	seen->packets[flow] = entry->packets;
}

static int
visit(const struct trip_each_entry *entry, void *arg)
{
	struct seen *seen = arg;

	check_entry(entry, seen);
	seen->times[flow_of(entry)]++;
	return 0;
}

/* There is room for all keys: none goes, and each is told once. */
static void *
read_all(void *arg)
{
	static struct seen seen;
	struct trip_each_entry first[FLOWS], one = {.size = sizeof(one)};
	struct trip_each_info info = {.size = sizeof(info)};

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		int n;

		memset(seen.times, 0, sizeof(seen.times));
		assert_int_equal(trip_each_walk(lasting, visit, &seen), 0);
		for (uint32_t i = 0; i < FLOWS; i++)
			assert_true(seen.times[i] <= 1);
		n = trip_each_top(lasting, TRIP_EACH_PACKETS, first, sizeof(first[0]), FLOWS);
		assert_true(n >= 0 && n <= FLOWS);
		for (int i = 0; i < n; i++)
			check_entry(&first[i], &seen);
		for (uint16_t i = 0; i < FLOWS; i++) {
			const uint16_t key = rte_cpu_to_be_16((uint16_t)(i + 1));
			int result = trip_each_read(lasting, &key, &one);

			/* What was there once is there. */
			assert_true(result == 0 || (result == -ENOENT && seen.packets[i] == 0));
			if (result == 0)
				check_entry(&one, &seen);
		}
		assert_int_equal(trip_each_query(lasting, &info), 0);
		assert_int_equal(info.evicted + info.expired, 0);
	}
	return NULL;
}

static int
add_up(const struct trip_each_entry *entry, void *arg)
{
	*(uint64_t *)arg += entry->packets;
	return 0;
}

/* Few are kept, and the oldest is written over as it is read: what is read is whole. */
static uint64_t
read_events(const struct trip_each *each, uint32_t table, uint64_t from)
{
	struct trip_each_event some[EVENTS_KEPT];
	int n = trip_each_events(each, table, from, some, sizeof(some[0]), EVENTS_KEPT);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		uint32_t flow = flow_of_key(some[i].key, some[i].key_size);

		assert_true(some[i].number >= from && some[i].table == table);
		assert_true(some[i].change <= TRIP_EACH_EXPIRED);
		assert_true((some[i].packets == 0) == (some[i].change == TRIP_EACH_ADMITTED));
		assert_true(some[i].packets <= atomic_load(&sent[flow]));
		from = some[i].number + 1;
	}
	return from;
}

static void
look_at_events(const struct trip_each *each)
{
	uint64_t next[QUEUES] = {0};
	struct trip_each_info info = {.size = sizeof(info)};

	/* Until they have gone round. */
	while (next[0] <= EVENTS_KEPT || next[1] <= EVENTS_KEPT)
		for (uint32_t table = 0; table < QUEUES; table++)
			next[table] = read_events(each, table, next[table]);
	assert_int_equal(trip_each_query(each, &info), 0);
	assert_true(next[0] + next[1] <= info.events);
	n_events += next[0] + next[1];
}

/* Of one that no burst counts in any more, all is seen: none does behind the close of another one.
 */
static void
open_and_close(uint64_t cycle)
{
	struct trip_each *eaches[3];
	char name[16];

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "each%u", i);
		eaches[i] = open_each(name, 1 + (uint32_t)cycle % 7, i == 0 ? 320 : LONG_US,
			i == 0 ? EVENTS_KEPT : 0);
	}
	if (cycle % 4 == 0)
		look_at_events(eaches[0]);
	for (unsigned int i = 0; i < 3; i++) {
		struct trip_each_info before = {.size = sizeof(before)}, after = before;
		uint64_t packets = 0;

		assert_int_equal(trip_each_query(eaches[i], &before), 0);
		assert_int_equal(trip_each_walk(eaches[i], add_up, &packets), 0);
		assert_int_equal(trip_each_query(eaches[i], &after), 0);
		assert_true(before.packets <= after.packets);
		assert_true(packets <= after.packets + QUEUES * BURST);
		assert_int_equal(trip_each_close(eaches[i]), 0);
	}
}

static void
each_is_read_and_closed_beside_counting(void **state)
{
	uint64_t cycles = trip_test_rounds(CYCLES), packets = 0, all = 0;
	struct trip_each_info info = {.size = sizeof(info)};
	pthread_t threads[QUEUES + 1];

	lasting = open_each("lasting", 100, LONG_US, 0);
	for (uint16_t q = 0; q < QUEUES; q++)
		trip_thread_start(&threads[q], poll_queue, (void *)(uintptr_t)q);
	trip_thread_start(&threads[QUEUES], read_all, NULL);
	for (uint64_t cycle = 0; cycle < cycles; cycle++)
		open_and_close(cycle);
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < FLOWS; i++)
		all += atomic_load(&sent[i]);
	assert_int_equal(trip_each_query(lasting, &info), 0);
	assert_int_equal(trip_each_walk(lasting, add_up, &packets), 0);
	assert_int_equal(info.packets, all);
	assert_int_equal(packets, all);
	printf("%" PRIu64 " cycles beside %" PRIu64 " packets; %" PRIu64 " events\n", cycles, all,
		n_events);
	assert_int_equal(trip_each_close(lasting), 0);
}

static int
open_all(void **state)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 16,
		.max_flows = 16,
		.max_queues = QUEUES,
		.scrub_us = UINT32_MAX,
		.each_bytes = 4 << 20};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	uint64_t seed = trip_test_seed("each_threads");

	trip_threads_prepare();
	flows_device_open(QUEUES);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_port_open(domain, FLOWS_PORT, &port_attr, &port), 0);
	for (uint16_t q = 0; q < QUEUES; q++) {
		flows_traffic_open(&traffic[q], seed + q);
		assert_int_equal(trip_port_claim(port, TRIP_FLOW_INGRESS, q), 0);
	}
	return 0;
}

static int
close_all(void **state)
{
	for (uint16_t q = 0; q < QUEUES; q++)
		flows_traffic_close(&traffic[q]);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_read_and_closed_beside_counting),
	};
	int failed;

	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, open_all, close_all);
	rte_eal_cleanup();
	return failed;
}
