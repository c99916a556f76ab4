/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What statements are for: of a flood from a hundred thousand sources, fifty that really have much
 * trip, each in the burst of the packet that takes it there, and nobody else, whatever queues its
 * packets come on. And an attack spread over all hosts of a network, none of which has much: the
 * network trips, no host does.
 */
#include <string.h>

#include <trip_eal.h>
#include <trip_flows.h>

#include "flow/each.h"

#define QUEUES_MAX 4u
#define SOURCES 100000u
#define HITTERS 50u
#define COUNT 250u
#define HITTER_HAS (COUNT + 50)
#define BURST 48
#define PACKETS 1000000u
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_source[] = {{TRIP_EACH_IPV4_SRC, 0}};
static const struct trip_each_part by_host[] = {{TRIP_EACH_IPV4_DST, 0}};
static const struct trip_each_part by_network[] = {{TRIP_EACH_IPV4_DST, 24}};

static struct trip_domain *domain;
static struct trip_port *port;
static struct rte_mbuf *mbufs[BURST];
static uint32_t had[SOURCES];

/* A burst that is being filled. */
static uint16_t filled;

static void
open_port(uint16_t queues)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	static const struct rte_eth_conf conf;

	assert_int_equal(rte_eth_dev_configure(FLOWS_PORT, queues, queues, &conf), 0);
	assert_int_equal(trip_port_open(domain, FLOWS_PORT, &attr, &port), 0);
}

static void
put_packet(uint32_t source, uint32_t destination)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(mbufs[filled], uint8_t *, 14);
	const uint32_t wire[] = {rte_cpu_to_be_32(source), rte_cpu_to_be_32(destination)};

	memcpy(ip + 12, wire, sizeof(wire));
	filled++;
}

static void
send_burst(uint16_t queue)
{
	assert_int_equal(trip_port_burst(port, queue, mbufs, filled), filled);
	filled = 0;
}

static struct trip_each *
open_each(const char *name, const struct trip_each_part *part, uint32_t max,
	const struct trip_each_when *when)
{
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = name,
		.ports = &port,
		.n_ports = 1,
		.parts = part,
		.n_parts = 1,
		.max = max,
		.idle_us = LONG_US,
		.whens = when,
		.n_whens = 1};
	struct trip_each *each;

	if (trip_each_open(domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
	return each;
}

static uint64_t
trips_of(const struct trip_each *each)
{
	struct trip_each_info info = {.size = sizeof(info)};

	assert_int_equal(trip_each_query(each, &info), 0);
	return info.trips;
}

static uint32_t
address_of(const struct trip_each *each, uint64_t number)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, number, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, number);
	return (uint32_t)trip.key[0] << 24 | (uint32_t)trip.key[1] << 16 |
	       (uint32_t)trip.key[2] << 8 | trip.key[3];
}

/* Those that have passed the count in this burst, all of them, and no others. */
static void
check_trips(const struct trip_each *each, uint64_t before, uint64_t expected)
{
	assert_int_equal(trips_of(each), expected);
	for (; before < expected; before++) {
		uint32_t source = address_of(each, before);

		assert_true(source < HITTERS);
		trip_assert_range(had[source], COUNT, COUNT + BURST);
	}
}

static void
flood(uint16_t queues, uint32_t packets, bool room)
{
	static const struct trip_each_when when = {.count = COUNT};
	struct trip_random random = {trip_test_seed("each_flood") + queues};
	struct trip_each *each;
	uint64_t trips = 0;

	open_port(queues);
	each = open_each("sources", by_source, room ? SOURCES : SOURCES / 8, &when);
	memset(had, 0, sizeof(had));
	for (uint32_t sent = 0; sent < packets;) {
		uint64_t before = trips;

		for (; filled < BURST; sent++) {
			uint32_t source =
				HITTERS + (uint32_t)trip_random_below(&random, SOURCES - HITTERS);

			if (trip_random_below(&random, packets) < HITTERS * HITTER_HAS)
				source = (uint32_t)trip_random_below(&random, HITTERS);
			trips += ++had[source] == COUNT;
			put_packet(source, 1);
		}
		send_burst((uint16_t)trip_random_below(&random, queues));
		if (room)
			check_trips(each, before, trips);
	}
	/* Where keys go, none is early. */
	if (!room) {
		assert_true(trips_of(each) > 0);
		for (uint64_t i = 0; i < trips_of(each); i++)
			assert_true(had[address_of(each, i)] >= COUNT);
	}
	printf("%u queues, %s: %llu of %u trip\n", queues, room ? "room" : "little room",
		(unsigned long long)trips_of(each), HITTERS);
	assert_true(trips >= HITTERS - 5);
	assert_int_equal(trip_each_close(each), 0);
	assert_int_equal(trip_port_close(port), 0);
}

static void
each_04_hitters_trip_in_a_flood(void **state)
{
	uint32_t packets = (uint32_t)RTE_MAX(trip_test_rounds(PACKETS), UINT64_C(100000));

	for (uint16_t queues = 1; queues <= QUEUES_MAX; queues *= 2) {
		flood(queues, packets, true);
		flood(queues, packets, false);
	}
}

/* 10.1.2.0/24, among others. */
static void
each_04_a_network_trips_and_no_host_of_it(void **state)
{
	static const struct trip_each_when much = {.count = 200}, more = {.count = 20000};
	const uint32_t network = UINT32_C(0x0a010200);

	for (uint16_t queues = 1; queues <= QUEUES_MAX; queues *= 2) {
		struct trip_random random = {trip_test_seed("each_carpet") + queues};
		struct trip_each *hosts, *networks;
		uint64_t sent = 0;

		open_port(queues);
		hosts = open_each("hosts", by_host, 4096, &much);
		networks = open_each("networks", by_network, 4096, &more);
		while (sent < more.count + 1000) {
			/* By turns, so that all have about the same. */
			for (unsigned int i = 0; i < 20; i++)
				put_packet(1, network + (uint32_t)(sent++ % 254));
			for (unsigned int i = 0; i < 5; i++)
				put_packet(1, (uint32_t)trip_random_below(&random, 1 << 20) << 8);
			send_burst((uint16_t)trip_random_below(&random, queues));
			assert_int_equal(trips_of(networks), sent >= more.count);
		}
		assert_int_equal(address_of(networks, 0), network);
		assert_int_equal(trips_of(hosts), 0);
		assert_int_equal(trip_each_close(hosts), 0);
		assert_int_equal(trip_each_close(networks), 0);
		assert_int_equal(trip_port_close(port), 0);
	}
}

/* Another process has written over the trips: no burst is held up by that, and all of it counts. */
static void
each_garbage_among_trips_holds_nobody_up(void **state)
{
	static const struct trip_each_when when = {.count = 10};
	struct trip_each_info info = {.size = sizeof(info)};
	struct trip_each_ring_at at;
	struct trip_each *each;
	uint32_t sent = 0;

	open_port(2);
	each = open_each("sources", by_source, 64, &when);
	at = trip_each_statement_ring(domain->engine.eaches, &each->statement);
	memset(at.ring, 0x7f, trip_each_ring_size(&at));
	at.ring->trips = 0;
	for (uint16_t i = 0; i < 8; i++) {
		for (; filled < BURST; sent++)
			put_packet(sent % 3, 1);
		send_burst(i % 2);
	}
	assert_int_equal(trip_each_query(each, &info), 0);
	assert_int_equal(info.packets, sent);
	assert_int_equal(trip_each_close(each), 0);
	assert_int_equal(trip_port_close(port), 0);
}

static int
open_all(void **state)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 16,
		.max_flows = 16,
		.max_queues = QUEUES_MAX,
		.scrub_us = UINT32_MAX,
		.each_bytes = 32 << 20};
	struct frame frame;

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 17, .ttl = 64});
	frame_l4(&frame, 1000, 1000);
	for (unsigned int i = 0; i < BURST; i++)
		mbufs[i] = mbuf_of(&frame);
	return 0;
}

static int
close_all(void **state)
{
	for (unsigned int i = 0; i < BURST; i++)
		mbuf_release(mbufs[i]);
	assert_int_equal(trip_domain_close(domain), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_04_hitters_trip_in_a_flood),
		cmocka_unit_test(each_04_a_network_trips_and_no_host_of_it),
		cmocka_unit_test(each_garbage_among_trips_holds_nobody_up),
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
