/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port's worker under everything at once: flows that come and go by two threads, deferred work
 * that drops and passes those that stay, packets, queries, flushes. The driver is played
 * (fake_nic.h): it dies of a dead handle, and of two threads that change rules at once. In the end
 * every packet of the flows that stay is counted, whatever their rules were swapped for.
 */
#include <errno.h>
#include <pthread.h>

#include <rte_ethdev.h>

#include "fake_nic.h"
#include "harness.h"
#include "traffic.h"

#define STAYING 4
#define CHURNERS 2
#define CHURNS 150
#define BURSTS 4000

static const struct fake_nic shared = {.shared = true, .keeps_shared = true};
static struct trip_port *port;
static struct trip_flow *staying[STAYING];
static struct trip_cntr *cntrs[STAYING], *ticks, *completion;
static uint64_t received[STAYING];
static _Atomic unsigned int running;

static struct trip_flow *
create(uint16_t udp_port, struct trip_cntr *cntr)
{
	struct rte_flow_item_udp spec = {.hdr.dst_port = rte_cpu_to_be_16(udp_port)};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .cntrs = &cntr, .n_cntrs = 1, .engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow = NULL;

	return trip_flow_create(port, &attr, pattern, NULL, &flow, NULL) == 0 ? flow : NULL;
}

/* Flows of one packet port each, which count what comes by while they are there. */
static void *
churn(void *arg)
{
	uint16_t udp_port = (uint16_t)(2000 + (uintptr_t)arg);
	uint64_t failures = 0;

	for (uint64_t i = 0; i < trip_test_rounds(CHURNS); i++) {
		struct trip_flow *flow = create(udp_port, ticks);
		struct trip_flow_count count = {.size = sizeof(count)};

		if (flow == NULL) {
			failures++;
			continue;
		}
		fake_nic_receive(udp_port, 3, 100);
		trip_flow_query(flow, &count);
		failures += count.packets != 3;
		failures += trip_flow_destroy(flow) != 0;
	}
	atomic_fetch_sub(&running, 1);
	return (void *)(uintptr_t)failures;
}

static void *
look(void *arg)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_port_stats stats = {.size = sizeof(stats)};
	struct trip_port_facts facts = {.size = sizeof(facts)};
	uint64_t last = 0, failures = 0;

	while (atomic_load(&running) > 0) {
		trip_flow_query(staying[0], &count);
		failures += count.packets < last;
		last = count.packets;
		trip_port_stats_read(port, &stats);
		trip_port_facts_read(port, &facts);
		(void)trip_cntr_age(cntrs[0]);
		sched_yield();
	}
	return (void *)(uintptr_t)failures;
}

/* Drops and passes each of the flows that stay, again and again. */
static void
queue_work(void)
{
	for (unsigned int i = 0; i < STAYING; i++) {
		struct trip_work work = harness_work(
			cntrs[i], 1, i % 2 == 0 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS);

		work.interval = 10;
		work.op.flow = staying[i];
		work.completion_cntr = completion;
		harness_queue(&work);
		work.threshold = 6;
		work.op_type = i % 2 == 0 ? TRIP_OP_FLOW_PASS : TRIP_OP_FLOW_DROP;
		harness_queue(&work);
	}
}

static void
hard_worker_under_everything(void **state)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	struct trip_random random = {harness_seed};
	pthread_t churners[CHURNERS], looker;
	void *failures;

	fake_nic_open(&shared);
	harness_open(2, NULL);
	assert_int_equal(trip_port_open(harness_domain, traffic_start(1), &attr, &port), 0);
	ticks = harness_cntr(TRIP_WAIT_NONE);
	completion = harness_cntr(TRIP_WAIT_NONE);
	for (unsigned int i = 0; i < STAYING; i++) {
		cntrs[i] = harness_cntr(TRIP_WAIT_NONE);
		staying[i] = create((uint16_t)(1000 + i), cntrs[i]);
		assert_non_null(staying[i]);
	}
	queue_work();
	atomic_store(&running, CHURNERS);
	for (uintptr_t i = 0; i < CHURNERS; i++)
		assert_int_equal(pthread_create(&churners[i], NULL, churn, (void *)i), 0);
	assert_int_equal(pthread_create(&looker, NULL, look, NULL), 0);
	for (uint64_t i = 0; i < trip_test_rounds(BURSTS) || atomic_load(&running) > 0; i++) {
		unsigned int flow = (unsigned int)trip_random_below(&random, STAYING);

		fake_nic_receive((uint16_t)(1000 + flow), 1, 100);
		received[flow]++;
		harness_step();
		if (i % 1000 == 999) {
			assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
			queue_work();
		}
	}
	for (unsigned int i = 0; i < CHURNERS; i++) {
		assert_int_equal(pthread_join(churners[i], &failures), 0);
		assert_null(failures);
	}
	assert_int_equal(pthread_join(looker, &failures), 0);
	assert_null(failures);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	for (unsigned int i = 0; i < STAYING; i++) {
		assert_int_equal(trip_flow_destroy(staying[i]), 0);
		harness_expect(cntrs[i], received[i], 0);
		harness_cntr_close(cntrs[i]);
	}
	harness_expect(ticks, CHURNERS * 3 * trip_test_rounds(CHURNS), 0);
	assert_true(trip_cntr_read(completion) > 0);
	assert_int_equal(trip_port_close(port), 0);
	traffic_stop();
	harness_cntr_close(ticks);
	harness_cntr_close(completion);
	harness_close();
	fake_nic_close();
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(hard_worker_under_everything)};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
