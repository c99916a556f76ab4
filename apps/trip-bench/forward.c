/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An io forwarder with the software engine in it, beside the same forwarder with a bare lookup in
 * it. Packets go round through a ring port, so receiving and sending cost next to nothing.
 */
#include <rte_ethdev.h>

#include "soft_bed.h"

#define REPETITIONS 15
#define ROUNDS 128
/* What a ring port holds, in whole bursts. */
#define CIRCLING 992u

struct forward {
	struct soft *soft;
	uint16_t port;
	uint64_t hits;
};

static int
port_open(struct forward *forward)
{
	struct rte_eth_conf conf = {0};
	uint16_t port;

	if (rte_eth_dev_get_port_by_name("net_ring_bench", &port) != 0 ||
		rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
		rte_eth_rx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL, forward->soft->pool) !=
			0 ||
		rte_eth_tx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL) != 0 ||
		rte_eth_dev_start(port) != 0)
		return bench_fail("forward: ring port");
	forward->port = port;
	return rte_eth_tx_burst(port, 0, forward->soft->ring, CIRCLING) == CIRCLING
		       ? 0
		       : bench_fail("forward: ring port");
}

static uint64_t
time_engine(struct forward *forward)
{
	uint64_t began = rte_rdtsc();
	struct rte_mbuf *burst[BURST];

	for (unsigned int i = 0; i < CIRCLING; i += BURST) {
		uint16_t n = rte_eth_rx_burst(forward->port, 0, burst, BURST);

		n = trip_port_burst(forward->soft->port, 0, burst, n);
		rte_eth_tx_burst(forward->port, 0, burst, n);
	}
	return rte_rdtsc() - began;
}

static uint64_t
time_lookup(struct forward *forward)
{
	uint64_t hits, began = rte_rdtsc();
	struct rte_mbuf *burst[BURST];
	void *data[BURST];

	for (unsigned int i = 0; i < CIRCLING; i += BURST) {
		uint16_t n = rte_eth_rx_burst(forward->port, 0, burst, BURST);

		rte_hash_lookup_bulk_data(forward->soft->tables[0],
			&forward->soft->key_pointers[0][i], n, &hits, data);
		forward->hits += (uint64_t)__builtin_popcountll(hits);
		rte_eth_tx_burst(forward->port, 0, burst, n);
	}
	return rte_rdtsc() - began;
}

static int
repeat(void *arg, struct bench_sample *sample)
{
	struct forward *forward = arg;
	double engine[ROUNDS], lookup[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		soft_bed_choose(forward->soft);
		if (i % 2 == 0)
			lookup[i] = (double)time_lookup(forward);
		engine[i] = (double)time_engine(forward);
		if (i % 2 != 0)
			lookup[i] = (double)time_lookup(forward);
	}
	/* Millions of packets a second. */
	sample->value = CIRCLING * 1e3 / bench_ns((uint64_t)bench_middle(engine, ROUNDS));
	sample->limit = CIRCLING * 1e3 / bench_ns((uint64_t)bench_middle(lookup, ROUNDS));
	return 0;
}

int
bench_forward(const struct bench *bench, struct bench_result *result)
{
	struct forward forward = {.soft = soft_bed_open(bench, 0, soft_bed_draw_random)};
	int error;

	if (forward.soft == NULL)
		return -1;
	error = port_open(&forward);
	if (error == 0)
		error = bench_repeat(bench, result, REPETITIONS, repeat, &forward);
	if (error == 0)
		error = soft_bed_verify(forward.soft, (REPETITIONS + 1ull) * ROUNDS * CIRCLING);
	rte_eth_dev_stop(forward.port);
	soft_bed_close(forward.soft);
	return error;
}
