/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that begin anew as they trip, and trip again and again, whose packets come on several queues
 * at once, each polled by a thread of its own. Whichever of these takes a key there: each packet is
 * in one life of the key, each crossing in one trip, and all that is due in a life is told, once
 * and before it ends.
 */
#include <inttypes.h>
#include <string.h>

#include <trip_eal.h>
#include <trip_flows.h>
#include <trip_threads.h>

#define QUEUES 3
#define KEYS 6
#define BURST 40
#define CHUNK 32
#define BURSTS 24
#define KEPT 8192
#define CYCLES (TRIP_TEST_TSAN ? 200 : 3000)
#define LONG_US (UINT64_C(3600) * 1000000)

enum { ANEW, EVERY, ONCE, ALL, CONDITIONS };

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_each *each;
static struct trip_each_when whens[CONDITIONS];
/* all(count, any(count, count, a time that never comes)), and from where on that holds. */
static struct trip_each_member members[] = {{.of = ALL},
	{.when = {.group = TRIP_EACH_ANY}, .of = ALL}, {.of = ALL, .within = 2},
	{.of = ALL, .within = 2}, {.when = {.quiet_us = LONG_US / 2}, .of = ALL, .within = 2}};
static uint64_t all_at;
static const struct trip_each_act acts[CONDITIONS] = {[ANEW] = {.op = TRIP_EACH_OP_RESET}};
static struct trip_barrier barrier = {.threads = QUEUES + 1};
static _Atomic bool stop;
static struct flows_traffic traffic[QUEUES];
/* Of this cycle, and of each queue. */
static uint64_t sent[QUEUES][KEYS];

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

				pkts[i] = own->packets[key];
				sent[queue][key]++;
			}
			assert_int_equal(trip_port_burst(port, queue, pkts, n), n);
		}
		trip_barrier_wait(&barrier);
	}
}

/* A key, as its trips say in their order. */
struct lives {
	uint64_t life, told; /* packets of lives that have ended */
	uint64_t level;      /* of this one */
	bool once, all;
	uint64_t most;
} lives[KEYS];

static uint64_t
level_of(uint64_t packets)
{
	const struct trip_each_when *when = &whens[EVERY];

	return packets < when->count ? 0 : (packets - when->count) / when->every + 1;
}

/* All that is due by so many packets of a life has been told. */
static void
check_told(const struct lives *key, uint64_t packets)
{
	assert_int_equal(key->level, level_of(packets));
	assert_int_equal(key->once, packets >= whens[ONCE].count);
	assert_int_equal(key->all, packets >= all_at);
	assert_true(key->most <= packets);
}

static void
take_trip(const struct trip_each_trip *trip)
{
	uint32_t at = (uint32_t)(trip->key[0] << 8 | trip->key[1]) - 1;
	struct lives *key = &lives[at];

	assert_true(at < KEYS && trip->when < CONDITIONS);
	assert_true(trip->packets >= whens[trip->when].count);
	if (trip->when == ANEW) {
		trip_assert_range(trip->packets, whens[ANEW].count,
			whens[ANEW].count - 1 + (uint64_t)QUEUES * CHUNK);
		check_told(key, trip->packets);
		*key = (struct lives){.life = key->life + 1, .told = key->told + trip->packets};
		return;
	}
	key->most = RTE_MAX(key->most, trip->packets);
	if (trip->when == ONCE || trip->when == ALL) {
		bool *told = trip->when == ONCE ? &key->once : &key->all;

		assert_true(trip->when == ONCE || trip->packets >= all_at);
		assert_false(*told);
		*told = true;
		return;
	}
	assert_int_equal(key->level + trip->times, level_of(trip->packets));
	key->level += trip->times;
}

static uint64_t
check_all(void)
{
	struct trip_each_trip trip[64];
	uint64_t next = 0;
	int n;

	memset(lives, 0, sizeof(lives));
	while ((n = trip_each_trips(each, next, trip, sizeof(trip[0]), RTE_DIM(trip))) > 0)
		for (int i = 0; i < n; i++) {
			assert_int_equal(trip[i].number, next++);
			take_trip(&trip[i]);
		}
	for (unsigned int key = 0; key < KEYS; key++) {
		const uint8_t bytes[] = {0, (uint8_t)(key + 1)};
		struct trip_each_entry entry = {.size = sizeof(entry)};
		uint64_t sum = 0;

		for (unsigned int q = 0; q < QUEUES; q++)
			sum += sent[q][key];
		if (sum == 0)
			continue;
		assert_int_equal(trip_each_read(each, bytes, &entry), 0);
		assert_int_equal(entry.anew, lives[key].life);
		assert_int_equal(entry.anew_packets, lives[key].told);
		assert_int_equal(entry.packets + lives[key].told, sum);
		assert_true(entry.packets < whens[ANEW].count);
		check_told(&lives[key], entry.packets);
	}
	return next;
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
		.n_whens = CONDITIONS,
		.members = members,
		.n_members = RTE_DIM(members),
		.acts = acts,
		.trips_kept = KEPT};

	for (uint32_t i = 0; i < CONDITIONS; i++)
		whens[i].count = i != ALL ? 1 + trip_random_below(random, 150) : 0;
	whens[ALL].group = TRIP_EACH_ALL;
	for (uint32_t i = 0; i < 4; i++)
		members[i].when.count = i != 1 ? 1 + trip_random_below(random, 150) : 0;
	all_at = RTE_MAX(
		members[0].when.count, RTE_MIN(members[2].when.count, members[3].when.count));
	whens[EVERY].every = 1 + trip_random_below(random, 60);
	if (trip_each_open(domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
}

static void
each_03_lives_and_crossings_are_exact_over_queues_at_once(void **state)
{
	struct trip_random random = {trip_test_seed("each_again_threads")};
	uint64_t cycles = trip_test_rounds(CYCLES), n = 0;
	pthread_t threads[QUEUES];

	for (uint16_t q = 0; q < QUEUES; q++)
		trip_thread_start(&threads[q], poll_queue, (void *)(uintptr_t)q);
	for (uint64_t cycle = 0; cycle < cycles; cycle++) {
		open_each(&random);
		memset(sent, 0, sizeof(sent));
		trip_barrier_wait(&barrier);
		trip_barrier_wait(&barrier);
		n += check_all();
		assert_int_equal(trip_each_close(each), 0);
	}
	atomic_store(&stop, true);
	trip_barrier_wait(&barrier);
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	printf("%" PRIu64 " trips in %" PRIu64 " cycles\n", n, cycles);
	assert_true(n > 0);
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
	uint64_t seed = trip_test_seed("each_again_traffic");

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
		cmocka_unit_test(each_03_lives_and_crossings_are_exact_over_queues_at_once),
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
