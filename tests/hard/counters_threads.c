/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A counters object over flows in hardware that two threads create and destroy, while two others
 * have the device asked, and read. The driver is played (fake_nic.h): it dies of a dead handle, so
 * of a reader that asks for a flow that is gone. No slot goes down, and in the end each packet that
 * came while its rule was there is in the slots.
 */
#include <inttypes.h>

#include <rte_ethdev.h>

#include <trip_threads.h>

#include "fake_nic.h"
#include "harness.h"
#include "traffic.h"

#define OWNERS 2
#define READERS 2
#define ROUNDS 300
#define PACKET 100
/* Flows that an owner has at a time. */
#define FLOWS 3

static const struct fake_nic direct = {0};

struct owner {
	pthread_t thread;
	uint16_t first_port;
	struct trip_random random;
	uint64_t received;
};

static struct trip_port *port;
static struct trip_counters *counters;
static struct owner owners[OWNERS];
static _Atomic uint64_t seen;
static _Atomic bool stop;

static void
attach(uint32_t index, enum trip_counter_description desc)
{
	const struct trip_counter_attach_attr attr = {
		.size = sizeof(attr), .index = index, .counter_desc = desc};

	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, NULL), 0);
}

static struct trip_flow *
create(uint16_t udp_port)
{
	const struct rte_flow_item_udp spec = {.hdr.dst_port = rte_cpu_to_be_16(udp_port)};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .counters = counters, .engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow;

	assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flow, NULL), 0);
	return flow;
}

static void *
run_owner(void *arg)
{
	struct trip_flow *flows[FLOWS] = {NULL};
	struct owner *owner = arg;

	for (uint64_t i = 0; i < trip_test_rounds(ROUNDS); i++) {
		uint16_t at = (uint16_t)trip_random_below(&owner->random, FLOWS);
		uint64_t n = trip_random_below(&owner->random, 5);

		if (flows[at] == NULL) {
			flows[at] = create((uint16_t)(owner->first_port + at));
		} else if (trip_random_below(&owner->random, 2) == 0) {
			assert_int_equal(trip_flow_destroy(flows[at]), 0);
			flows[at] = NULL;
			continue;
		}
		fake_nic_receive((uint16_t)(owner->first_port + at), n, PACKET);
		owner->received += n;
	}
	for (unsigned int at = 0; at < FLOWS; at++)
		if (flows[at] != NULL)
			assert_int_equal(trip_flow_destroy(flows[at]), 0);
	return NULL;
}

/* A read that begins after another has ended shows no less. */
static void
read_once(uint32_t flags)
{
	uint64_t most = atomic_load_explicit(&seen, memory_order_acquire), values[2];
	uint64_t before = most;

	assert_int_equal(trip_counters_read(counters, values, 2, flags), 0);
	if (values[0] < before)
		fail_msg("%" PRIu64 " after %" PRIu64, values[0], before);
	while (values[0] > most && !atomic_compare_exchange_weak_explicit(&seen, &most, values[0],
					   memory_order_release, memory_order_relaxed))
		;
}

static void *
run_reader(void *arg)
{
	uint32_t flags = (uintptr_t)arg == 0 ? TRIP_READ_CACHED : 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		read_once(flags);
		sched_yield();
	}
	return NULL;
}

static void
read_while_rules_come_and_go(void **state)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	pthread_t readers[READERS];
	uint64_t values[2], sum = 0;

	fake_nic_open(&direct);
	harness_open(1, NULL);
	assert_int_equal(trip_port_open(harness_domain, traffic_start(1), &attr, &port), 0);
	assert_int_equal(trip_counters_create(harness_domain, NULL, &counters), 0);
	attach(0, TRIP_COUNTER_PACKETS);
	attach(1, TRIP_COUNTER_BYTES);
	atomic_store(&seen, 0);
	atomic_store(&stop, false);
	for (uintptr_t i = 0; i < READERS; i++)
		trip_thread_start(&readers[i], run_reader, (void *)i);
	for (unsigned int i = 0; i < OWNERS; i++) {
		owners[i] = (struct owner){.first_port = (uint16_t)(1000 + 100 * i),
			.random = {.state = harness_seed + i}};
		trip_thread_start(&owners[i].thread, run_owner, &owners[i]);
	}
	for (unsigned int i = 0; i < OWNERS; i++) {
		pthread_join(owners[i].thread, NULL);
		sum += owners[i].received;
	}
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(trip_counters_read(counters, values, 2, 0), 0);
	assert_int_equal(values[0], sum);
	assert_int_equal(values[1], sum * PACKET);
	assert_int_equal(trip_counters_destroy(counters), 0);
	assert_int_equal(trip_port_close(port), 0);
	traffic_stop();
	harness_close();
	fake_nic_close();
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(read_while_rules_come_and_go)};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
