/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys whose packets come on several queues at once, each polled by a thread of its own: whichever
 * of these takes a key to what a condition says, it trips once, within the chunks under way. There
 * are few keys, so that queues come there together; few trips are kept, so that a ring goes round
 * meanwhile, or all; and somebody reads them. Some conditions have their keys dropped, which all
 * queues do from then on.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <trip_eal.h>
#include <trip_flows.h>
#include <trip_threads.h>

#define QUEUES 3
#define KEYS 12
#define BURST 40
#define CHUNK 32
#define BURSTS 24
#define KEPT 64
#define CYCLES (TRIP_TEST_TSAN ? 300 : 6000)
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_cntr *trips;
static struct trip_each *each;
static struct trip_each_when whens[TRIP_EACH_WHENS_MAX];
static struct trip_each_act acts[TRIP_EACH_WHENS_MAX];
static uint32_t n_whens;
static uint64_t n_dropped;
/* As many trips are kept as there may be. */
static bool all;
static struct trip_barrier barrier = {.threads = QUEUES + 2};
static _Atomic bool stop;
static struct flows_traffic traffic[QUEUES];
/* Of this cycle, and of each queue. */
static uint64_t sent[QUEUES][KEYS], passed[QUEUES][KEYS];

/* Those that pass come first. */
static void
send_burst(uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t left = trip_port_burst(port, queue, pkts, n);

	for (uint16_t i = 0; i < left; i++)
		passed[queue][pkts[i]->hash.usr]++;
}

static void *
poll_queue(void *arg)
{
	const uint16_t queue = (uint16_t)(uintptr_t)arg;
	struct flows_traffic *own = &traffic[queue];
	struct rte_mbuf *pkts[BURST];

	for (;;) {
		trip_barrier_wait(&barrier);
		if (atomic_load(&stop))
			return NULL;
		for (unsigned int b = 0; b < BURSTS; b++) {
			uint16_t n = (uint16_t)trip_random_below(&own->random, BURST + 1);

			for (uint16_t i = 0; i < n; i++) {
				uint32_t key = (uint32_t)trip_random_below(&own->random, KEYS);

				/* What is dropped is freed, and stays. */
				rte_mbuf_refcnt_set(own->packets[key], FLOWS_LIVES);
				pkts[i] = own->packets[key];
				sent[queue][key]++;
			}
			send_burst(queue, pkts, n);
		}
		trip_barrier_wait(&barrier);
	}
}

static uint32_t
check_trip(const struct trip_each_trip *trip)
{
	uint32_t key = (uint32_t)(trip->key[0] << 8 | trip->key[1]) - 1;

	assert_true(
		trip->key_size == 2 && key < KEYS && trip->when < n_whens && trip->table < QUEUES);
	trip_assert_range(trip->packets, whens[trip->when].count,
		whens[trip->when].count - 1 + (uint64_t)QUEUES * CHUNK);
	return key;
}

/* In their order, while they come. */
static void *
read_trips(void *arg)
{
	struct trip_each_trip some[4];

	for (;;) {
		uint64_t next = 0, seen = 0;

		trip_barrier_wait(&barrier);
		if (atomic_load(&stop))
			return NULL;
		for (unsigned int turn = 0; turn < 200; turn++) {
			int n;

			/* The counter is not ahead of the trips. */
			seen = trip_cntr_read(trips);
			n = trip_each_trips(each, next, some, sizeof(some[0]), 4);
			for (int i = 0; i < n; i++) {
				assert_true(some[i].number >= next);
				next = some[i].number + 1;
				(void)check_trip(&some[i]);
			}
			if (all && n < 4)
				assert_true(next >= seen);
		}
		trip_barrier_wait(&barrier);
	}
}

static void
open_each(struct trip_random *random)
{
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "each",
		.ports = &port,
		.n_ports = 1,
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = LONG_US,
		.whens = whens,
		.n_whens = n_whens,
		.acts = acts,
		.trips = trips,
		.trips_kept = all ? KEPT : 8};

	for (uint32_t i = 0; i < n_whens; i++) {
		whens[i] = (struct trip_each_when){
			.count = 1 + trip_random_below(random, 5 * BURST * BURSTS / KEYS)};
		acts[i].op =
			trip_random_below(random, 4) == 0 ? TRIP_EACH_OP_DROP : TRIP_EACH_OP_NONE;
	}
	if (trip_each_open(domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
}

/* From the least that drops it on, but for chunks under way then; and no other. */
static void
check_passed(unsigned int key)
{
	uint64_t sum = 0, of = 0, limit = UINT64_MAX;

	for (unsigned int q = 0; q < QUEUES; q++) {
		sum += sent[q][key];
		of += passed[q][key];
	}
	for (uint32_t i = 0; i < n_whens; i++)
		if (acts[i].op == TRIP_EACH_OP_DROP)
			limit = RTE_MIN(limit, whens[i].count);
	if (sum <= limit) {
		assert_int_equal(of, sum);
		return;
	}
	trip_assert_range(of + QUEUES * CHUNK, limit, limit + 2 * QUEUES * CHUNK);
	n_dropped += sum - of;
}

static uint64_t
check_all(void)
{
	struct trip_each_trip trip[KEPT];
	uint64_t expected = 0;
	int n = trip_each_trips(each, 0, trip, sizeof(trip[0]), KEPT);

	for (unsigned int key = 0; key < KEYS; key++) {
		uint64_t sum = 0;

		check_passed(key);
		for (unsigned int q = 0; q < QUEUES; q++)
			sum += sent[q][key];
		for (uint32_t when = 0; when < n_whens; when++) {
			unsigned int times = 0;

			for (int i = 0; i < n; i++)
				times += check_trip(&trip[i]) == key && trip[i].when == when;
			expected += sum >= whens[when].count;
			if (all)
				assert_int_equal(times, sum >= whens[when].count);
		}
	}
	assert_int_equal(trip_cntr_read(trips), expected);
	return expected;
}

static void
each_04_a_key_trips_once_over_queues_at_once(void **state)
{
	struct trip_random random = {trip_test_seed("each_trips_threads")};
	uint64_t cycles = trip_test_rounds(CYCLES), n = 0;
	pthread_t threads[QUEUES + 1];

	for (uint16_t q = 0; q < QUEUES; q++)
		trip_thread_start(&threads[q], poll_queue, (void *)(uintptr_t)q);
	trip_thread_start(&threads[QUEUES], read_trips, NULL);
	for (uint64_t cycle = 0; cycle < cycles; cycle++) {
		all = trip_random_below(&random, 2) != 0;
		n_whens = 1 + (uint32_t)trip_random_below(&random, TRIP_EACH_WHENS_MAX);
		assert_int_equal(trip_cntr_set(trips, 0), 0);
		open_each(&random);
		memset(sent, 0, sizeof(sent));
		memset(passed, 0, sizeof(passed));
		trip_barrier_wait(&barrier);
		trip_barrier_wait(&barrier);
		n += check_all();
		assert_int_equal(trip_each_close(each), 0);
	}
	atomic_store(&stop, true);
	trip_barrier_wait(&barrier);
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	printf("%" PRIu64 " trips in %" PRIu64 " cycles, %" PRIu64 " packets dropped\n", n, cycles,
		n_dropped);
	assert_true(n > 0 && n_dropped > 0);
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
	const struct trip_cntr_attr cntr_attr = {.size = sizeof(cntr_attr)};
	uint64_t seed = trip_test_seed("each_trips_traffic");

	trip_threads_prepare();
	flows_device_open(QUEUES);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_port_open(domain, FLOWS_PORT, &port_attr, &port), 0);
	assert_int_equal(trip_cntr_open(domain, &cntr_attr, &trips, NULL), 0);
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
	assert_int_equal(trip_cntr_close(trips), 0);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_04_a_key_trips_once_over_queues_at_once),
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
