/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdatomic.h>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_service.h>
#include <rte_service_component.h>

#include <trip_test.h>

#include "embedding_application.h"
#include "embedding_state.h"

static atomic_bool stop;
static _Atomic uint64_t bursts, serves, own_callbacks;
static struct rte_mempool *pool;

bool
application_has_eal(void)
{
	/* The lcores share two processors. */
	static char words[][48] = {"embedding", "--lcores=0@0,1@0-1,2@0-1,3@0-1,4@0-1,5@0-1",
		"--no-huge", "-m", "256", "--no-shconf", "--no-pci", "--no-telemetry",
		"--log-level=error", "--vdev=net_null0", "--vdev=net_null1"};
	char *args[RTE_DIM(words) + 1] = {0};

	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		args[i] = words[i];
	return rte_eal_init(RTE_DIM(words), args) >= 0;
}

static int
receive(void *arg)
{
	struct rte_mbuf *pkts[32];

	while (!stop) {
		for (uint16_t q = 0; q < STATE_QUEUES; q++)
			rte_pktmbuf_free_bulk(pkts, rte_eth_rx_burst(0, q, pkts, 32));
		bursts++;
		sched_yield();
	}
	return 0;
}

static int32_t
serve(void *arg)
{
	serves++;
	sched_yield();
	return 0;
}

static uint16_t
own_callback(
	uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t max, void *arg)
{
	own_callbacks++;
	return n;
}

static void
start_port(uint16_t port)
{
	const struct rte_eth_conf conf = {0};

	assert_int_equal(rte_eth_dev_configure(port, STATE_QUEUES, 1, &conf), 0);
	for (uint16_t q = 0; q < STATE_QUEUES; q++)
		assert_int_equal(
			rte_eth_rx_queue_setup(port, q, 128, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 128, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
}

int
application_start(void **state)
{
	const struct rte_service_spec spec = {.name = "application", .callback = serve};
	uint32_t service;

	pool = rte_pktmbuf_pool_create("packets", 4095, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(pool);
	for (uint16_t port = 0; port < STATE_PORTS; port++)
		start_port(port);
	assert_non_null(rte_eth_add_rx_callback(0, 0, own_callback, NULL));
	assert_int_equal(rte_service_component_register(&spec, &service), 0);
	assert_int_equal(rte_service_component_runstate_set(service, 1), 0);
	assert_int_equal(rte_service_runstate_set(service, 1), 0);
	assert_int_equal(rte_service_lcore_add(SERVING), 0);
	assert_int_equal(rte_service_lcore_add(STOPPED), 0);
	assert_int_equal(rte_service_map_lcore_set(service, SERVING, 1), 0);
	assert_int_equal(rte_service_lcore_start(SERVING), 0);
	assert_int_equal(rte_eal_remote_launch(receive, NULL, RECEIVING), 0);
	return 0;
}

void
application_check(void)
{
	_Atomic uint64_t *const alive[] = {&bursts, &serves, &own_callbacks};

	for (unsigned int i = 0; i < RTE_DIM(alive); i++) {
		uint64_t before = *alive[i];

		while (*alive[i] == before)
			sched_yield();
	}
}

int
application_stop(void **state)
{
	stop = true;
	rte_eal_wait_lcore(RECEIVING);
	return 0;
}
