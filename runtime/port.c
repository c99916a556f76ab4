/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports of a domain: their queues, and how packets get to the software engine. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <numa.h>

#include <rte_ethdev.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>

#include "due.h"
#include "error.h"
#include "port.h"
#include "progress.h"

/* From finding a callback to entering it: some instructions, and the time of a lcore that is
 * preempted there. */
#define CALLBACK_GRACE_NS 100000000

/* A queue of this port has reached a limit of a flow: ring the homes of the counters it feeds. */
static void
cross(void *arg, uint32_t flow, unsigned int which)
{
	struct trip_port *port = arg;
	const struct trip_engine *engine = &port->domain->engine;

	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		uint32_t cntr = atomic_load_explicit(
			&engine->flows[flow].source[kind].cntr, memory_order_acquire);

		if ((which & (1u << kind)) != 0 && cntr != TRIP_NONE)
			trip_due_ring(engine, cntr);
	}
}

/*
 * Pairs add_callbacks() with rx_callback(): a callback is published inside ethdev, which orders the
 * same, where ThreadSanitizer does not see it.
 */
static atomic_bool callbacks_added;

static uint16_t
rx_callback(uint16_t port_id, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t max,
	void *arg)
{
	(void)atomic_load_explicit(&callbacks_added, memory_order_acquire);
	return trip_soft_burst(arg, pkts, n);
}

uint16_t
trip_port_burst(struct trip_port *port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return trip_soft_burst(&port->queues[queue].soft, pkts, n);
}

static int
check_attr(const struct trip_port_attr *attr, uint16_t port_id, uint16_t *n_queues)
{
	struct rte_eth_dev_info info;

	if (attr->size != sizeof(*attr))
		return trip_error_set(EINVAL,
			"port %" PRIu16 ": attribute size %zu is not the known %zu", port_id,
			attr->size, sizeof(*attr));
	if ((unsigned int)attr->mode > TRIP_PORT_BURST)
		return trip_error_set(
			EINVAL, "port %" PRIu16 ": mode %d is unknown", port_id, (int)attr->mode);
	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0)
		return trip_error_set(ENODEV, "port %" PRIu16 ": there is no such port", port_id);
	if (info.nb_rx_queues == 0)
		return trip_error_set(
			ENODEV, "port %" PRIu16 ": it is not configured with Rx queues", port_id);
	*n_queues = attr->n_queues != 0 ? attr->n_queues : info.nb_rx_queues;
	if (*n_queues > info.nb_rx_queues)
		return trip_error_set(EINVAL,
			"port %" PRIu16 ": %" PRIu16 " queues, but it is configured with %" PRIu16,
			port_id, *n_queues, info.nb_rx_queues);
	return 0;
}

/* Queues of a port stand side by side; ports that are gone leave gaps, which first fit reuses. */
static int
take_queues(struct trip_domain *domain, struct trip_port *port)
{
	uint32_t first = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned int i = 0; i < RTE_DIM(domain->ports); i++) {
			const struct trip_port *other = domain->ports[i];

			if (other == NULL || first + port->n_queues <= other->first_queue ||
				other->first_queue + other->n_queues <= first)
				continue;
			first = other->first_queue + other->n_queues;
			moved = true;
		}
	}
	if (first + port->n_queues > domain->attr.max_queues)
		return trip_error_set(ENOSPC,
			"port %" PRIu16 ": its %" PRIu16
			" queues do not fit into the domain's max_queues %" PRIu32,
			port->port_id, port->n_queues, domain->attr.max_queues);
	port->first_queue = first;
	return 0;
}

/*
 * Removes the callbacks and frees what ethdev has allocated for them. Bursts go on meanwhile, and
 * one that has found a callback in ethdev's list cannot be seen before it enters the callback;
 * ethdev leaves to us when to free, after a delay that is far longer than that.
 */
static void
remove_callbacks(struct trip_port *port)
{
	const struct timespec grace = {.tv_nsec = CALLBACK_GRACE_NS};
	bool removed = false;

	for (uint16_t q = 0; q < port->n_queues; q++) {
		const struct rte_eth_rxtx_callback **callback = &port->queues[q].callback;

		/* Refused where the application has taken the queue away meanwhile. */
		if (*callback != NULL &&
			rte_eth_remove_rx_callback(port->port_id, q, *callback) == 0)
			removed = true;
		else
			*callback = NULL;
	}
	if (removed)
		nanosleep(&grace, NULL);
	/* They are const to those who only use them. */
	for (uint16_t q = 0; q < port->n_queues; q++)
		rte_free((void *)(uintptr_t)port->queues[q].callback);
}

static int
add_callbacks(struct trip_port *port)
{
	if (port->mode != TRIP_PORT_CALLBACK)
		return 0;
	atomic_store_explicit(&callbacks_added, true, memory_order_release);
	for (uint16_t q = 0; q < port->n_queues; q++) {
		struct trip_port_queue *queue = &port->queues[q];

		queue->callback =
			rte_eth_add_rx_callback(port->port_id, q, rx_callback, &queue->soft);
		if (queue->callback == NULL) {
			int error = rte_errno;

			remove_callbacks(port);
			return trip_error_set(error,
				"port %" PRIu16 ": no Rx callback on queue %" PRIu16 ": %s",
				port->port_id, q, rte_strerror(error));
		}
	}
	return 0;
}

/* Its counts then cross the interconnect with every burst and every budget. */
static void
warn_distance(const struct trip_domain *domain, const struct trip_port *port)
{
	int node = rte_eth_dev_socket_id(port->port_id);

	for (uint32_t i = 0; i < domain->engine.n_homes && node >= 0; i++) {
		unsigned int lcore = domain->lcores[i];

		if (lcore != LCORE_ID_ANY && (int)rte_lcore_to_socket_id(lcore) != node)
			RTE_LOG(WARNING, USER1,
				"tripline: port %" PRIu16
				" is on NUMA node %d, polling lcore %u on "
				"node %u: distance %d\n",
				port->port_id, node, lcore, rte_lcore_to_socket_id(lcore),
				numa_available() < 0
					? -1
					: numa_distance(node, (int)rte_lcore_to_socket_id(lcore)));
	}
}

/* Under the domain's control lock. */
static int
open_port(struct trip_domain *domain, struct trip_port *port)
{
	int error;

	if (port->port_id >= RTE_DIM(domain->ports))
		return trip_error_set(EINVAL, "port %" PRIu16 ": ids above %zu are not supported",
			port->port_id, RTE_DIM(domain->ports) - 1);
	if (domain->ports[port->port_id] != NULL)
		return trip_error_set(EEXIST, "port %" PRIu16 ": the domain \"%s\" has it already",
			port->port_id, domain->name);
	error = take_queues(domain, port);
	if (error != 0)
		return error;
	error = trip_table_open(domain->attr.max_flows, &port->table);
	if (error != 0)
		return trip_error_set(
			-error, "port %" PRIu16 ": no memory for its rules", port->port_id);
	for (uint16_t q = 0; q < port->n_queues; q++)
		trip_soft_open(&port->queues[q].soft, port->table, false,
			trip_engine_count(&domain->engine, port->first_queue + q, 0),
			domain->engine.actions, cross, port);
	error = add_callbacks(port);
	if (error != 0) {
		trip_table_close(port->table);
		return error;
	}
	warn_distance(domain, port);
	domain->ports[port->port_id] = port;
	domain->n_ports++;
	return 0;
}

/* The lock may be held by who waits for this very home. */
static int
refuse_on_home(const struct trip_domain *domain, uint16_t port_id)
{
	return trip_domain_on_home(domain)
		       ? trip_error_set(EDEADLK,
				 "port %" PRIu16 ": a home cannot open or close ports", port_id)
		       : 0;
}

static void
free_port(struct trip_port *port)
{
	free(port->queues);
	free(port);
}

int
trip_port_open(struct trip_domain *domain, uint16_t port_id, const struct trip_port_attr *given,
	struct trip_port **out)
{
	static const struct trip_port_attr defaults = {.size = sizeof(defaults)};
	const struct trip_port_attr *attr = given != NULL ? given : &defaults;
	struct trip_port *port;
	uint16_t n_queues;
	int error = refuse_on_home(domain, port_id);

	if (error == 0)
		error = check_attr(attr, port_id, &n_queues);
	if (error != 0)
		return error;
	port = calloc(1, sizeof(*port));
	if (port != NULL)
		port->queues = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*port->queues) * n_queues);
	if (port == NULL || port->queues == NULL) {
		free(port);
		return trip_error_set(
			ENOMEM, "port %" PRIu16 ": no memory for its queues", port_id);
	}
	memset(port->queues, 0, sizeof(*port->queues) * n_queues);
	port->domain = domain;
	port->port_id = port_id;
	port->mode = attr->mode;
	port->n_queues = n_queues;
	pthread_mutex_lock(&domain->control);
	error = open_port(domain, port);
	pthread_mutex_unlock(&domain->control);
	if (error != 0) {
		free_port(port);
		return error;
	}
	*out = port;
	return 0;
}

int
trip_port_close(struct trip_port *port)
{
	struct trip_domain *domain = port->domain;
	uint32_t n_flows;
	uint64_t stamp;
	int error = refuse_on_home(domain, port->port_id);

	if (error != 0)
		return error;
	pthread_mutex_lock(&domain->control);
	n_flows = port->n_flows;
	pthread_mutex_unlock(&domain->control);
	if (n_flows > 0)
		return trip_error_set(EBUSY, "port %" PRIu16 ": %" PRIu32 " flows are open on it",
			port->port_id, n_flows);
	/* Takes its time, so without the lock; until it is done the port keeps its place. */
	remove_callbacks(port);
	/* A burst that had entered a callback may be in it still. */
	stamp = trip_era_retire(&port->table->era);
	while (!trip_era_safe(&port->table->era, stamp))
		sched_yield();
	for (uint16_t q = 0; q < port->n_queues; q++)
		trip_soft_close(&port->queues[q].soft);
	trip_table_close(port->table);
	pthread_mutex_lock(&domain->control);
	domain->ports[port->port_id] = NULL;
	domain->n_ports--;
	pthread_mutex_unlock(&domain->control);
	free_port(port);
	return 0;
}
