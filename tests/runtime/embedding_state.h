/* SPDX-License-Identifier: BSD-3-Clause */
/* What an application owns, as it can be seen from outside of Tripline. */
#ifndef TRIP_EMBEDDING_STATE_H
#define TRIP_EMBEDDING_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#define STATE_LCORES 6
#define STATE_PORTS 2
#define STATE_QUEUES 4
#define STATE_SERVICES 64

/* EAL's shared heap. */
struct state_heap {
	uint64_t allocations, allocated, size;
	/* Memzones, and the sum of hashes of their names. */
	uint64_t zones, zone_names;
};

struct state_port {
	struct rte_eth_conf conf;
	uint16_t rx_queues, tx_queues, mtu;
	int promiscuous, allmulticast, link;
	/* The first callback of each queue. */
	const void *rx_callback[STATE_QUEUES], *tx_callback[STATE_QUEUES];
};

struct state_lcore {
	enum rte_lcore_state_t state;
	enum rte_lcore_role_t role;
	/* Services mapped to it; 0 where it is no service core. */
	uint64_t services;
};

struct state {
	struct state_heap heap;
	struct state_port ports[STATE_PORTS];
	struct state_lcore lcores[STATE_LCORES];
	uint32_t services;
	/* Threads and open files of the process. */
	unsigned int threads, files;
	/* Calls so far that change a port's flow rules. */
	uint64_t flow_calls;
};

void state_take(struct state *state);

/* Fail the test, naming what differs. */
void state_equal_heap(
	const struct state_heap *now, const struct state_heap *before, const char *when);
void state_equal_ports(const struct state *now, const struct state *before);
void state_equal_lcore(const struct state *now, const struct state *before, unsigned int lcore);
void state_equal(const struct state *now, const struct state *before);

void state_take_heap(struct state_heap *heap);

#endif
