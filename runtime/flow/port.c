/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports of a domain: their queues, and how packets get to the software engine. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <numa.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "flow/each.h"
#include "flow/flow.h"
#include "flow/port.h"
#include "hard.h"

/* How often counters in hardware are asked, where nobody says. */
#define QUERY_US 1000

static int
check_queues(uint16_t port_id, const char *which, uint32_t n_queues, uint16_t configured)
{
	if (n_queues <= configured)
		return 0;
	return trip_error_set(EINVAL,
		"port %" PRIu16 ": %" PRIu32 " %s queues, but it is configured with %" PRIu16,
		port_id, n_queues, which, configured);
}

static int
check_attr(const struct trip_port_attr *attr, uint16_t port_id, uint32_t *n_rx)
{
	struct rte_eth_dev_info info;
	int error;

	if ((unsigned int)attr->mode > TRIP_PORT_BURST)
		return trip_error_set(
			EINVAL, "port %" PRIu16 ": mode %d is unknown", port_id, (int)attr->mode);
	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0)
		return trip_error_set(ENODEV, "port %" PRIu16 ": there is no such port", port_id);
	if (info.nb_rx_queues == 0)
		return trip_error_set(
			ENODEV, "port %" PRIu16 ": it is not configured with Rx queues", port_id);
	*n_rx = attr->n_queues != 0 ? attr->n_queues : info.nb_rx_queues;
	error = check_queues(port_id, "Rx", *n_rx, info.nb_rx_queues);
	return error == 0 ? check_queues(port_id, "Tx", attr->n_tx_queues, info.nb_tx_queues)
			  : error;
}

static uint32_t
queues_of(const struct trip_port *port)
{
	return (uint32_t)port->sides[0].n_queues + port->sides[1].n_queues;
}

/* Queues of a port stand side by side; ports that are gone leave gaps, which first fit reuses. */
static int
take_queues(struct trip_domain *domain, struct trip_port *port)
{
	uint32_t first = 0, n_queues = queues_of(port);
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned int i = 0; i < RTE_DIM(domain->ports); i++) {
			const struct trip_port *other = domain->ports[i];

			if (other == NULL || first + n_queues <= other->sides[0].first_queue ||
				other->sides[0].first_queue + queues_of(other) <= first)
				continue;
			first = other->sides[0].first_queue + queues_of(other);
			moved = true;
		}
	}
	if (first + n_queues > domain->attr.max_queues)
		return trip_error_set(ENOSPC,
			"port %" PRIu16 ": its %" PRIu32
			" queues do not fit into the domain's max_queues %" PRIu32,
			port->port_id, n_queues, domain->attr.max_queues);
	port->sides[0].first_queue = first;
	port->sides[1].first_queue = first + port->sides[0].n_queues;
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

static int
open_side(struct trip_domain *domain, struct trip_port *port, unsigned int which)
{
	struct trip_port_side *side = &port->sides[which];
	int error;

	if (side->n_queues == 0)
		return 0;
	error = trip_table_open(domain->attr.max_flows, &side->table);
	if (error != 0)
		return trip_error_set(
			-error, "port %" PRIu16 ": no memory for its rules", port->port_id);
	for (uint32_t q = 0; q < side->n_queues; q++) {
		trip_claim_init(&domain->engine.claims[side->first_queue + q]);
		trip_port_queue_open(port, which, q);
		if (port->mode == TRIP_PORT_CALLBACK)
			(void)trip_port_queue_claim(port, which, q);
	}
	return 0;
}

/* After its last burst. */
static void
close_side(struct trip_port_side *side)
{
	if (side->table == NULL)
		return;
	for (uint16_t q = 0; q < side->n_queues; q++)
		trip_soft_close(&side->queues[q].soft);
	trip_table_close(side->table);
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
	for (unsigned int s = 0; s < TRIP_PORT_SIDES && error == 0; s++)
		error = open_side(domain, port, s);
	if (error == 0 && port->mode == TRIP_PORT_CALLBACK)
		error = trip_port_callback_add(port);
	if (error != 0) {
		for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
			close_side(&port->sides[s]);
		return error;
	}
	warn_distance(domain, port);
	domain->ports[port->port_id] = port;
	domain->n_ports++;
	return 0;
}

static void
free_port(struct trip_port *port)
{
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		free(port->sides[s].queues);
	free(port);
}

static int
take_side(struct trip_port_side *side, uint32_t n_queues)
{
	size_t size = sizeof(*side->queues) * n_queues;

	if (n_queues == 0)
		return 0;
	side->queues = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
	if (side->queues == NULL)
		return -ENOMEM;
	memset(side->queues, 0, size);
	side->n_queues = (uint16_t)n_queues;
	return 0;
}

static int
open_local(struct trip_domain *domain, uint16_t port_id, const struct trip_port_attr *attr,
	struct trip_port **out)
{
	struct trip_port *port;
	uint32_t n_rx;
	int error = trip_progress_check_worker(domain, "port", port_id, "open ports");

	if (error == 0)
		error = check_attr(attr, port_id, &n_rx);
	if (error != 0)
		return error;
	port = calloc(1, sizeof(*port));
	if (port == NULL || take_side(&port->sides[TRIP_FLOW_INGRESS], n_rx) != 0 ||
		take_side(&port->sides[TRIP_FLOW_EGRESS], attr->n_tx_queues) != 0) {
		if (port != NULL)
			free_port(port);
		return trip_error_set(
			ENOMEM, "port %" PRIu16 ": no memory for its queues", port_id);
	}
	port->domain = domain;
	port->port_id = port_id;
	port->mode = attr->mode;
	port->query_us = attr->query_us != 0 ? attr->query_us : QUERY_US;
	port->flow_queue = attr->flow_queue;
	port->notify = attr->notify;
	port->notify_arg = attr->notify_arg;
	port->next_sequence = 1;
	trip_progress_lock(domain);
	error = open_port(domain, port);
	pthread_mutex_unlock(&domain->control);
	if (error != 0) {
		free_port(port);
		return error;
	}
	trip_port_fids(port);
	*out = port;
	return 0;
}

/* One that had entered a callback may be in it still. */
static void
wait_for_bursts(struct trip_port_side *side)
{
	uint64_t stamp, began = rte_rdtsc();

	if (side->table == NULL)
		return;
	stamp = trip_era_retire(&side->table->era);
	while (!trip_era_safe(&side->table->era, stamp))
		trip_progress_wait_burst(began);
}

static int
find_local(struct trip_domain *domain, uint16_t port_id, struct trip_port **out)
{
	return trip_error_set(ENOTSUP,
		"port %" PRIu16 ": attached processes find ports, which the primary opens",
		port_id);
}

static int
close_local(struct trip_port *port)
{
	struct trip_domain *domain = port->domain;
	uint32_t n_flows, n_found, n_eaches;
	int error = trip_progress_check_worker(domain, "port", port->port_id, "close ports");

	if (error != 0)
		return error;
	trip_progress_lock(domain);
	n_flows = port->n_flows;
	n_found = port->n_found;
	n_eaches = port->n_eaches;
	port->closing = n_flows == 0 && n_found == 0 && n_eaches == 0;
	pthread_mutex_unlock(&domain->control);
	if (n_flows > 0)
		return trip_error_set(EBUSY, "port %" PRIu16 ": %" PRIu32 " flows are open on it",
			port->port_id, n_flows);
	if (n_eaches > 0)
		return trip_error_set(EBUSY,
			"port %" PRIu16 ": %" PRIu32 " statements count on it by keys",
			port->port_id, n_eaches);
	if (n_found > 0)
		return trip_error_set(EBUSY,
			"port %" PRIu16 ": %" PRIu32 " handles of other processes have it open",
			port->port_id, n_found);
	trip_port_hard_stop(port);
	/* Takes its time, so without the lock; until it is done the port keeps its place. */
	trip_port_callback_remove(port);
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++) {
		wait_for_bursts(&port->sides[s]);
		close_side(&port->sides[s]);
	}
	trip_port_unshare(port);
	trip_progress_lock(domain);
	/* No other process has it. */
	trip_flow_free_held(domain, port);
	trip_each_free_held(domain, port);
	domain->ports[port->port_id] = NULL;
	domain->n_ports--;
	pthread_mutex_unlock(&domain->control);
	free_port(port);
	return 0;
}

const struct trip_port_backend trip_port_local = {
	.open = open_local,
	.find = find_local,
	.close = close_local,
	.facts = trip_port_hard_facts,
	.facts_read = trip_port_hard_facts_read,
	.stats_read = trip_port_hard_stats_read,
	.run = trip_port_hard_run,
};

int
trip_port_open(struct trip_domain *domain, uint16_t port_id, const struct trip_port_attr *given,
	struct trip_port **out)
{
	struct trip_port_attr attr;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = TRIP_SIZED_TAKE(trip_port_attr, &attr, given);
	return error == 0 ? domain->backend->port->open(domain, port_id, &attr, out) : error;
}

int
trip_port_find(struct trip_domain *domain, uint16_t port_id, struct trip_port **out)
{
	int error = trip_detach_check(domain);

	return error != 0 ? error : domain->backend->port->find(domain, port_id, out);
}

int
trip_port_close(struct trip_port *port)
{
	int error = trip_detach_check(port->domain);

	if (error == 0)
		error = trip_port_check_fids(port);
	return error != 0 ? error : port->domain->backend->port->close(port);
}

/* Of no domain: in a secondary process, whichever it is attached to. */
int
trip_port_facts(uint16_t port_id, struct trip_port_facts *facts)
{
	bool far = rte_eal_process_type() == RTE_PROC_SECONDARY;
	const struct trip_backend *backend = far ? trip_detach_backend() : NULL;
	struct trip_port_facts own;
	int error;

	if (far && backend == NULL)
		return -ENOTSUP;
	error = far ? backend->port->facts(port_id, &own) : trip_port_hard_facts(port_id, &own);
	return error == 0 ? TRIP_SIZED_GIVE(trip_port_facts, facts, &own) : error;
}

int
trip_port_facts_read(struct trip_port *port, struct trip_port_facts *facts)
{
	struct trip_port_facts own;
	int error = trip_detach_check(port->domain);

	if (error == 0)
		error = port->domain->backend->port->facts_read(port, &own);
	return error == 0 ? TRIP_SIZED_GIVE(trip_port_facts, facts, &own) : error;
}

int
trip_port_stats_read(struct trip_port *port, struct trip_port_stats *stats)
{
	struct trip_port_stats own;
	int error = trip_detach_check(port->domain);

	if (error == 0)
		error = port->domain->backend->port->stats_read(port, &own);
	return error == 0 ? TRIP_SIZED_GIVE(trip_port_stats, stats, &own) : error;
}

int
trip_port_stopping(struct trip_port *port)
{
	int result = trip_detach_check(port->domain);

	if (result == 0)
		result = port->domain->backend->port->run(port, trip_hard_stopping);
	return result < 0 ? result : 0;
}

int
trip_port_started(struct trip_port *port)
{
	int error = trip_detach_check(port->domain);

	return error != 0 ? error : port->domain->backend->port->run(port, trip_hard_started);
}
