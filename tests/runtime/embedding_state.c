/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks at everything, and compares. Flow rules cannot be looked at, so the calls that make them
 * are taken over here: the dynamic linker prefers a program's own function to a library's.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_flow.h>
#include <rte_malloc.h>
#include <rte_memzone.h>
#include <rte_service.h>

#include <trip_test.h>

#include "embedding_state.h"

static uint64_t flow_calls;

struct rte_flow *
rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	flow_calls++;
	return NULL;
}

int
rte_flow_configure(uint16_t port_id, const struct rte_flow_port_attr *port_attr, uint16_t nb_queue,
	const struct rte_flow_queue_attr *queue_attr[], struct rte_flow_error *error)
{
	flow_calls++;
	return -ENOTSUP;
}

int
rte_flow_isolate(uint16_t port_id, int set, struct rte_flow_error *error)
{
	flow_calls++;
	return -ENOTSUP;
}

int
rte_flow_flush(uint16_t port_id, struct rte_flow_error *error)
{
	flow_calls++;
	return -ENOTSUP;
}

struct rte_flow_action_handle *
rte_flow_action_handle_create(uint16_t port_id, const struct rte_flow_indir_action_conf *conf,
	const struct rte_flow_action *action, struct rte_flow_error *error)
{
	flow_calls++;
	return NULL;
}

static void
note_zone(const struct rte_memzone *zone, void *arg)
{
	struct state_heap *heap = arg;
	uint64_t hash = 14695981039346656037u;

	for (const char *c = zone->name; *c != 0; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211u;
	heap->zones++;
	heap->zone_names += hash;
}

void
state_take_heap(struct state_heap *heap)
{
	*heap = (struct state_heap){0};
	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(socket, &stats) != 0)
			continue;
		heap->allocations += stats.alloc_count;
		heap->allocated += stats.heap_allocsz_bytes;
		heap->size += stats.heap_totalsz_bytes;
	}
	rte_memzone_walk(note_zone, heap);
}

static void
take_port(uint16_t id, struct state_port *port)
{
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	assert_int_equal(rte_eth_dev_conf_get(id, &port->conf), 0);
	assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
	assert_int_equal(rte_eth_dev_get_mtu(id, &port->mtu), 0);
	assert_int_equal(rte_eth_link_get_nowait(id, &link), 0);
	port->rx_queues = info.nb_rx_queues;
	port->tx_queues = info.nb_tx_queues;
	port->promiscuous = rte_eth_promiscuous_get(id);
	port->allmulticast = rte_eth_allmulticast_get(id);
	port->link = link.link_status;
	for (uint16_t q = 0; q < STATE_QUEUES; q++) {
		port->rx_callback[q] = rte_eth_fp_ops[id].rxq.clbk[q];
		port->tx_callback[q] = rte_eth_fp_ops[id].txq.clbk[q];
	}
}

static void
take_lcore(unsigned int id, struct state_lcore *lcore)
{
	lcore->state = rte_eal_get_lcore_state(id);
	lcore->role = rte_eal_lcore_role(id);
	for (uint32_t service = 0; service < STATE_SERVICES; service++)
		if (rte_service_map_lcore_get(service, id) == 1)
			lcore->services |= UINT64_C(1) << service;
}

static unsigned int
count_entries(const char *path)
{
	DIR *folder = opendir(path);
	unsigned int n = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	return n;
}

void
state_take(struct state *state)
{
	/* Padding too: parts of it are compared as bytes. */
	memset(state, 0, sizeof(*state));
	state_take_heap(&state->heap);
	for (uint16_t i = 0; i < STATE_PORTS; i++)
		take_port(i, &state->ports[i]);
	for (unsigned int i = 0; i < STATE_LCORES; i++)
		take_lcore(i, &state->lcores[i]);
	state->services = rte_service_get_count();
	state->threads = count_entries("/proc/self/task");
	state->files = count_entries("/proc/self/fd");
	state->flow_calls = flow_calls;
}

void
state_equal_heap(const struct state_heap *now, const struct state_heap *before, const char *when)
{
	if (now->zones != before->zones || now->zone_names != before->zone_names)
		fail_msg("%s: %" PRIu64 " memzones, %" PRIu64 " before", when, now->zones,
			before->zones);
	if (now->allocations != before->allocations || now->allocated != before->allocated)
		fail_msg("%s: EAL's heap holds %" PRIu64 " bytes in %" PRIu64 " pieces, %" PRIu64
			 " in %" PRIu64 " before",
			when, now->allocated, now->allocations, before->allocated,
			before->allocations);
	if (now->size != before->size)
		fail_msg("%s: EAL's heap has %" PRIu64 " bytes, %" PRIu64 " before", when,
			now->size, before->size);
}

void
state_equal_ports(const struct state *now, const struct state *before)
{
	assert_int_equal(now->flow_calls, before->flow_calls);
	for (unsigned int i = 0; i < STATE_PORTS; i++)
		if (memcmp(&now->ports[i], &before->ports[i], sizeof(now->ports[i])) != 0)
			fail_msg("port %u is not as it was: its configuration or callbacks", i);
}

void
state_equal_lcore(const struct state *now, const struct state *before, unsigned int lcore)
{
	const struct state_lcore *is = &now->lcores[lcore], *was = &before->lcores[lcore];

	if (is->state != was->state || is->role != was->role || is->services != was->services)
		fail_msg("lcore %u: state %d, role %d, services %#" PRIx64
			 "; before: %d, %d, %#" PRIx64,
			lcore, (int)is->state, (int)is->role, is->services, (int)was->state,
			(int)was->role, was->services);
}

void
state_equal(const struct state *now, const struct state *before)
{
	state_equal_heap(&now->heap, &before->heap, "all closed");
	state_equal_ports(now, before);
	for (unsigned int i = 0; i < STATE_LCORES; i++)
		state_equal_lcore(now, before, i);
	assert_int_equal(now->services, before->services);
	assert_int_equal(now->threads, before->threads);
	assert_int_equal(now->files, before->files);
}
