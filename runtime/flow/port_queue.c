/* SPDX-License-Identifier: BSD-3-Clause */
/* Who polls the queues of a port: bursts, claims of processes, rules for other processes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/port.h"
#include "clock.h"
#include "source.h"

/* How long the end of a flow waits for a burst of another process, which may be stopped. */
#define BURST_GRACE_MS 100

static const char *const sides[] = {"Rx", "Tx"};

/* A queue of this port has reached a limit of a flow: ring the homes of the counters it feeds. */
static void
cross(void *arg, uint32_t flow, unsigned int which)
{
	struct trip_port *port = arg;

	trip_source_cross(&port->domain->engine, flow, which);
}

/* Keys of a statement have tripped. */
static void
raise_cntr(void *arg, uint32_t cntr, uint64_t trips)
{
	struct trip_port *port = arg;

	trip_source_raise(&port->domain->engine, cntr, trips);
}

/* By the clock, so that other processes' queues agree. */
static uint64_t
now(void *arg)
{
	const struct trip_port *port = arg;

	return trip_clock_at(port->domain->engine.homes[0], rte_rdtsc());
}

static struct trip_claim *
claim_of(const struct trip_port *port, const struct trip_port_side *side, uint32_t queue)
{
	return &port->domain->engine.claims[side->first_queue + queue];
}

void
trip_port_fids(struct trip_port *port)
{
	port->fid = (struct trip_fid){.domain = port->domain, .kind = TRIP_FID_PORT};
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		for (uint32_t q = 0; q < port->sides[s].n_queues; q++) {
			struct trip_port_queue *queue = &port->sides[s].queues[q];

			queue->fid =
				(struct trip_fid){.domain = port->domain, .kind = TRIP_FID_QUEUE};
			queue->traffic = &claim_of(port, &port->sides[s], q)->traffic;
		}
}

int
trip_port_check_fids(struct trip_port *port)
{
	uint32_t n = trip_fid_refs(&port->fid);

	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		for (uint32_t q = 0; q < port->sides[s].n_queues; q++)
			n += trip_fid_refs(&port->sides[s].queues[q].fid);
	return n == 0 ? 0
		      : trip_error_set(EBUSY, "port %" PRIu16 ": %" PRIu32 " profiles are open",
				port->port_id, n);
}

struct trip_fid *
trip_port_fid(struct trip_port *port)
{
	return &port->fid;
}

struct trip_fid *
trip_port_queue_fid(struct trip_port *port, enum trip_flow_direction direction, uint16_t queue)
{
	return (unsigned int)direction < TRIP_PORT_SIDES && queue < port->sides[direction].n_queues
		       ? &port->sides[direction].queues[queue].fid
		       : NULL;
}

void
trip_port_queue_open(struct trip_port *port, enum trip_flow_direction direction, uint32_t queue)
{
	struct trip_port_side *side = &port->sides[direction];
	const struct trip_engine *engine = &port->domain->engine;
	uint32_t at = side->first_queue + queue;
	const struct trip_soft_shared shared = {
		.counts = trip_engine_count(engine, at, 0),
		.moments = trip_engine_moments(engine, at, 0),
		.actions = engine->actions,
		.police_of = engine->police_of,
		.police = engine->police,
		.n_police = engine->n_police,
		.traffic = &engine->claims[at].traffic,
		.each_zone = engine->eaches,
		.each = engine->eaches != NULL ? &engine->eaches->queues[at] : NULL,
		.each_raise = raise_cntr,
	};

	trip_soft_open(&side->queues[queue].soft, side->table, direction == TRIP_FLOW_EGRESS,
		&shared, cross, now, port);
}

/* The first time that an attached process polls the queue; in the primary it is open. */
static void
follow(struct trip_port *port, enum trip_flow_direction direction, uint32_t queue)
{
	struct trip_port_side *side = &port->sides[direction];
	struct trip_port_queue *polled = &side->queues[queue];

	if (polled->soft.table != NULL)
		return;
	/* The table's writer. */
	pthread_mutex_lock(&side->follow.lock);
	trip_port_queue_open(port, direction, queue);
	trip_soft_follow(&polled->soft, &side->follow, claim_of(port, side, queue));
	pthread_mutex_unlock(&side->follow.lock);
	polled->ended = &port->domain->detached;
}

bool
trip_port_queue_claim(struct trip_port *port, enum trip_flow_direction direction, uint32_t queue)
{
	struct trip_port_side *side = &port->sides[direction];

	if (!trip_claim_take(claim_of(port, side, queue), port->domain->claimant))
		return false;
	follow(port, direction, queue);
	trip_soft_take_over(&side->queues[queue].soft);
	side->queues[queue].claimed = true;
	return true;
}

static void
give(struct trip_port *port, struct trip_port_side *side, uint32_t queue)
{
	side->queues[queue].claimed = false;
	(void)trip_claim_give(claim_of(port, side, queue), port->domain->claimant);
}

/* A child of fork() has the handle, and not the queue. */
static bool
is_ended(const struct trip_port_queue *polled)
{
	return polled->ended != NULL && atomic_load_explicit(polled->ended, memory_order_relaxed);
}

static uint16_t
burst(struct trip_port *port, enum trip_flow_direction direction, uint16_t queue,
	struct rte_mbuf **pkts, uint16_t n)
{
	struct trip_port_side *side = &port->sides[direction];
	struct trip_port_queue *polled;

	if (unlikely(queue >= side->n_queues))
		return n;
	polled = &side->queues[queue];
	if (unlikely(!polled->claimed) && (trip_detach_check(port->domain) != 0 ||
						  !trip_port_queue_claim(port, direction, queue)))
		return n;
	if (unlikely(is_ended(polled)))
		return n;
	return trip_soft_burst(&polled->soft, pkts, n);
}

uint16_t
trip_port_burst(struct trip_port *port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return burst(port, TRIP_FLOW_INGRESS, queue, pkts, n);
}

uint16_t
trip_port_burst_tx(struct trip_port *port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return burst(port, TRIP_FLOW_EGRESS, queue, pkts, n);
}

static int
check_queue(const struct trip_port *port, enum trip_flow_direction direction, uint16_t queue)
{
	int error = trip_detach_check(port->domain);

	if (error != 0)
		return error;
	if ((unsigned int)direction >= TRIP_PORT_SIDES)
		return trip_error_set(EINVAL, "port %" PRIu16 ": direction %d is unknown",
			port->port_id, (int)direction);
	return queue < port->sides[direction].n_queues
		       ? 0
		       : trip_error_set(EINVAL,
				 "port %" PRIu16 ": the domain has %" PRIu16
				 " of its %s queues, and not queue %" PRIu16,
				 port->port_id, port->sides[direction].n_queues, sides[direction],
				 queue);
}

int
trip_port_claim(struct trip_port *port, enum trip_flow_direction direction, uint16_t queue)
{
	int error = check_queue(port, direction, queue);
	struct trip_port_side *side;
	uint32_t owner;

	if (error != 0)
		return error;
	side = &port->sides[direction];
	if (side->queues[queue].claimed || trip_port_queue_claim(port, direction, queue))
		return 0;
	owner = atomic_load_explicit(&claim_of(port, side, queue)->owner, memory_order_relaxed);
	if (owner == TRIP_CLAIM_PRIMARY)
		return trip_error_set(EBUSY,
			"port %" PRIu16 ": %s queue %" PRIu16 " is polled by the primary%s",
			port->port_id, sides[direction], queue,
			port->mode == TRIP_PORT_CALLBACK ? ", in callbacks" : "");
	return trip_error_set(EBUSY,
		"port %" PRIu16 ": %s queue %" PRIu16 " is polled by %s, number %" PRIu32,
		port->port_id, sides[direction], queue,
		owner == port->domain->claimant ? "another handle of this process"
						: "another attached process",
		owner - 1);
}

int
trip_port_release(struct trip_port *port, enum trip_flow_direction direction, uint16_t queue)
{
	int error = check_queue(port, direction, queue);

	if (error != 0)
		return error;
	if (!port->sides[direction].queues[queue].claimed || port->mode == TRIP_PORT_CALLBACK)
		return trip_error_set(EINVAL,
			"port %" PRIu16 ": %s queue %" PRIu16 " is not polled by bursts of this "
			"handle",
			port->port_id, sides[direction], queue);
	give(port, &port->sides[direction], queue);
	return 0;
}

void
trip_port_let_go(struct trip_port *port)
{
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		for (uint32_t q = 0; q < port->sides[s].n_queues; q++)
			if (port->sides[s].queues[q].claimed)
				give(port, &port->sides[s], q);
}

/* ---- in the primary: rules for others, and what others have left ---- */

/* Under the control lock. */
static int
share_side(struct trip_port *port, enum trip_flow_direction direction, void *memory)
{
	struct trip_port_side *side = &port->sides[direction];
	uint32_t max_flows = port->domain->attr.max_flows;
	struct trip_table_rule rule;
	struct trip_pattern pattern;

	side->rules = malloc(sizeof(*side->rules));
	if (side->rules == NULL)
		return -ENOMEM;
	trip_rulebook_view(side->rules, memory, max_flows);
	for (uint32_t i = 0; i < max_flows && side->table != NULL; i++)
		if (trip_table_get(side->table, i, &rule, &pattern) &&
			trip_rulebook_put(side->rules, &rule, &pattern) != 0)
			return -ENOSPC;
	return 0;
}

int
trip_port_share(struct trip_port *port)
{
	size_t size = trip_rulebook_size(port->domain->attr.max_flows);
	int fd, error = 0;

	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		if (port->sides[s].table != NULL &&
			trip_within_is_used(&port->sides[s].table->within))
			return trip_error_set(ENOTSUP,
				"port %" PRIu16 ": rules of it ask for sets, which are the "
				"primary's alone",
				port->port_id);
	if (port->rules_memory == NULL) {
		fd = trip_rulebook_create(TRIP_PORT_SIDES * size, &port->rules_memory);
		if (fd < 0) {
			port->rules_memory = NULL;
			return trip_error_system(-fd,
				"port %" PRIu16
				": no memory in which other processes find its rules",
				port->port_id);
		}
		port->rules_fd = fd;
		for (unsigned int s = 0; s < TRIP_PORT_SIDES && error == 0; s++)
			error = share_side(port, s, (char *)port->rules_memory + s * size);
	}
	if (error != 0) {
		trip_port_unshare(port);
		return trip_error_set(
			-error, "port %" PRIu16 ": no memory for its rules", port->port_id);
	}
	fd = fcntl(port->rules_fd, F_DUPFD_CLOEXEC, 0);
	return fd >= 0 ? fd
		       : trip_error_set(errno, "port %" PRIu16 ": no descriptor for its rules",
				 port->port_id);
}

void
trip_port_unshare(struct trip_port *port)
{
	if (port->rules_memory == NULL)
		return;
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++) {
		free(port->sides[s].rules);
		port->sides[s].rules = NULL;
	}
	munmap(port->rules_memory,
		TRIP_PORT_SIDES * trip_rulebook_size(port->domain->attr.max_flows));
	close(port->rules_fd);
	port->rules_memory = NULL;
}

bool
trip_port_is_past(const struct trip_port *port, const struct trip_port_side *side, uint64_t stamp)
{
	atomic_thread_fence(memory_order_seq_cst); /* W3 of claim.h */
	for (uint32_t q = 0; q < side->n_queues; q++)
		if (!trip_claim_is_past(claim_of(port, side, q), stamp))
			return false;
	return true;
}

/* A burst that has been waited for once may never end: its process is stopped. */
static bool
is_stuck(const struct trip_port *port, const struct trip_port_side *side, uint64_t stamp, bool note)
{
	bool stuck = true;

	for (uint32_t q = 0; q < side->n_queues; q++) {
		uint64_t since = trip_claim_since(claim_of(port, side, q));

		if (since > stamp)
			continue;
		if (note)
			side->queues[q].stuck = since + 1;
		stuck &= side->queues[q].stuck == since + 1;
	}
	return stuck;
}

bool
trip_port_wait_past(const struct trip_port *port, const struct trip_port_side *side, uint64_t stamp)
{
	uint64_t began = rte_rdtsc(), until = began + rte_get_tsc_hz() / 1000 * BURST_GRACE_MS;

	while (!trip_port_is_past(port, side, stamp)) {
		if (rte_rdtsc() > until || is_stuck(port, side, stamp, false)) {
			(void)is_stuck(port, side, stamp, true);
			return false;
		}
		trip_progress_wait_burst(began);
	}
	return true;
}
