/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that arrive at a device's queues, polled in turn. */
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "replay.h"

#define DESCRIPTORS 128
#define MBUFS 16383
/* Rounds in which nothing came after all that was waited for: then there is no more. */
#define QUIET_ROUNDS 64

static struct rte_mempool *pool;

static int
fail(const char *what, int error)
{
	fprintf(stderr, "replay: port %d: %s: %s\n", REPLAY_PORT, what, strerror(-error));
	return -1;
}

static int
configure(const struct replay *replay)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(REPLAY_PORT, &info);
	uint16_t queue, n_tx;

	if (ret != 0)
		return fail("its capabilities", ret);
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	/* Some drivers want as many Tx queues as there are Rx queues; one of pcap files has one. */
	n_tx = replay->queues < info.max_tx_queues ? replay->queues : info.max_tx_queues;
	ret = rte_eth_dev_configure(REPLAY_PORT, replay->queues, n_tx, &conf);
	if (ret != 0)
		return fail("configuring", ret);
	for (queue = 0; queue < n_tx && ret == 0; queue++)
		ret = rte_eth_tx_queue_setup(REPLAY_PORT, queue, DESCRIPTORS, 0, NULL);
	for (queue = 0; queue < replay->queues && ret == 0; queue++)
		ret = rte_eth_rx_queue_setup(REPLAY_PORT, queue, DESCRIPTORS, 0, NULL, pool);
	return ret == 0 ? 0 : fail("queues", ret);
}

int
replay_device_start(struct replay *replay)
{
	int ret;

	pool = rte_pktmbuf_pool_create("replay", MBUFS, 0, 0,
		(uint16_t)(RTE_PKTMBUF_HEADROOM + replay->room), SOCKET_ID_ANY);
	if (pool == NULL)
		return fail("mbufs", -ENOMEM);
	if (configure(replay) != 0)
		return -1;
	ret = rte_eth_dev_start(REPLAY_PORT);
	return ret == 0 ? 0 : fail("starting", ret);
}

void
replay_device_receive(struct replay *replay)
{
	struct rte_mbuf *pkts[REPLAY_BURST_MAX];
	unsigned int quiet = 0;
	uint16_t queue, n;

	/* Whoever sends may do so from now on. */
	printf("receiving\n");
	fflush(stdout);
	while (replay->received < replay->frames || quiet < QUIET_ROUNDS) {
		quiet++;
		for (queue = 0; queue < replay->queues; queue++) {
			n = rte_eth_rx_burst(REPLAY_PORT, queue, pkts, replay->burst);
			if (n == 0)
				continue;
			quiet = 0;
			replay->received += n;
			if (!replay->callback)
				n = replay_count(replay, queue, pkts, n);
			replay->left += n;
			rte_pktmbuf_free_bulk(pkts, n);
		}
	}
}

void
replay_device_stop(struct replay *replay)
{
	rte_eth_dev_stop(REPLAY_PORT);
	rte_eth_dev_close(REPLAY_PORT);
	rte_mempool_free(pool);
}
