/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The callbacks of a port, on each queue of both sides. What Rx drops is freed; what Tx drops is
 * left behind the rest, where the sender finds what was not sent: it may free that, and a callback
 * that freed it too would do so twice.
 */
#include <inttypes.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "domain/error.h"
#include "domain/thread.h"
#include "flow/port.h"

/* From finding a callback to entering it: some instructions, and a preemption between them. */
#define CALLBACK_GRACE_NS 100000000

/*
 * Pairs trip_port_callback_add() with the callbacks: a callback is published inside ethdev, which
 * orders the same, where ThreadSanitizer does not see it.
 */
static atomic_bool callbacks_added;

static uint16_t
rx_callback(uint16_t port_id, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t max,
	void *arg)
{
	(void)atomic_load_explicit(&callbacks_added, memory_order_acquire);
	return trip_soft_burst(arg, pkts, n);
}

static uint16_t
tx_callback(uint16_t port_id, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	(void)atomic_load_explicit(&callbacks_added, memory_order_acquire);
	return trip_soft_sort(arg, pkts, n);
}

static const struct rte_eth_rxtx_callback *
add_one(const struct trip_port *port, unsigned int side, uint16_t q)
{
	struct trip_soft_queue *soft = &port->sides[side].queues[q].soft;

	return side == TRIP_FLOW_INGRESS
		       ? rte_eth_add_rx_callback(port->port_id, q, rx_callback, soft)
		       : rte_eth_add_tx_callback(port->port_id, q, tx_callback, soft);
}

static int
remove_one(const struct trip_port *port, unsigned int side, uint16_t q)
{
	const struct rte_eth_rxtx_callback *callback = port->sides[side].queues[q].callback;

	return side == TRIP_FLOW_INGRESS ? rte_eth_remove_rx_callback(port->port_id, q, callback)
					 : rte_eth_remove_tx_callback(port->port_id, q, callback);
}

int
trip_port_callback_add(struct trip_port *port)
{
	atomic_store_explicit(&callbacks_added, true, memory_order_release);
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++) {
		for (uint16_t q = 0; q < port->sides[s].n_queues; q++) {
			struct trip_port_queue *queue = &port->sides[s].queues[q];
			int error;

			queue->callback = add_one(port, s, q);
			if (queue->callback != NULL)
				continue;
			error = rte_errno;
			trip_port_callback_remove(port);
			return trip_error_set(error,
				"port %" PRIu16 ": no %s callback on queue %" PRIu16 ": %s",
				port->port_id, s == TRIP_FLOW_INGRESS ? "Rx" : "Tx", q,
				rte_strerror(error));
		}
	}
	return 0;
}

/*
 * Removes the callbacks and frees what ethdev has allocated for them. Bursts go on meanwhile, and
 * one that has found a callback in ethdev's list cannot be seen before it enters the callback;
 * ethdev leaves to us when to free, after a delay that is far longer than that.
 */
void
trip_port_callback_remove(struct trip_port *port)
{
	bool removed = false;

	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++) {
		for (uint16_t q = 0; q < port->sides[s].n_queues; q++) {
			struct trip_port_queue *queue = &port->sides[s].queues[q];

			/* Refused where the application has taken the queue away meanwhile. */
			if (queue->callback != NULL && remove_one(port, s, q) == 0)
				removed = true;
			else
				queue->callback = NULL;
		}
	}
	if (removed)
		trip_thread_pause(CALLBACK_GRACE_NS);
	/* They are const to those who only use them. */
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		for (uint16_t q = 0; q < port->sides[s].n_queues; q++)
			rte_free((void *)(uintptr_t)port->sides[s].queues[q].callback);
}
