/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_LINK_H
#define TRIPD_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "losses.h"

#define TRIPD_IFNAME_MAX 16

struct rte_mbuf;
struct rte_mempool;
struct tripd_plan;
struct tripd_packet_socket;

/* How frames come from a port and leave by it: by its driver, or by a packet socket. */
struct tripd_link {
	uint16_t port;
	/* Rx queues to be polled. */
	uint16_t n_queues;
	/* Of a port of net_af_packet; NULL: by its driver. */
	struct tripd_packet_socket *socket;
	/* Checksums that their sender has left arrive here. */
	bool finishes;
	/* Frames of which one stayed wrong; by the receiver. */
	_Atomic uint64_t unfinished;
	/* Frames that found its queue full; by the sender. */
	_Atomic uint64_t full;
	/* The interface's name, where its driver takes the promiscuous mode from it when it starts,
	 * and it had it; else empty. */
	char promiscuous[TRIPD_IFNAME_MAX];
	/* Whether a socket holds it promiscuous, and which. */
	bool is_held;
	int held_by;
	/* Whether its driver has been told to. */
	bool enabled;
	/* Of a tap: its kernel counts what it had to drop. Else empty. */
	char tap[TRIPD_IFNAME_MAX];
	/* What its driver and the kernel of a tap said when they were last asked and did answer. */
	struct tripd_losses by_driver;
	uint64_t unsent;
	/* What was lost before it was started. */
	struct tripd_losses before;
};

/* Adds to a counter whose sole writer calls, which needs no read-modify-write; the control thread
 * reads some value of late. */
static inline void
tripd_link_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* How many Rx queues of a port are to be polled: all that it receives on. Before it is configured.
 */
uint16_t tripd_link_queues(uint16_t port);

/* The interface of the kernel whose end is that of the port; 0: none. That of a tap is there as
 * long as this process has it, and is usually moved to the namespace of whoever uses it. */
unsigned int tripd_link_interface(uint16_t port);

/* Whether the port receives copies, of what the kernel goes on receiving itself. */
bool tripd_link_copies(uint16_t port);

/* Whether its packets have the times at which they were captured. */
bool tripd_link_has_times(uint16_t port);

/* Rx descriptors that each of them is to have. */
uint16_t tripd_link_descriptors(uint16_t port);

/*
 * Checks that each packet of a planned port's interface counts once: no other planned port is on
 * the same one, unless both are of net_af_xdp, which divides its queues; and those are all taken.
 * Returns 0, or TRIPD_EXIT_USAGE: packets would count twice or not at all, which is said on stderr.
 */
int tripd_link_check(const struct tripd_plan *plan, uint16_t port);

/* Opens the link of a port that is configured with `n_queues`. Returns 0, or a negative errno, said
 * on stderr. */
int tripd_link_open(
	struct tripd_link *link, uint16_t port, uint16_t n_queues, struct rte_mempool *pool);

void tripd_link_close(struct tripd_link *link);

/* Has a port that has just been started receive what is addressed to others, too, until the link is
 * closed: to forward is to do so. What was lost up to here does not count. Returns 0, or a negative
 * errno. */
int tripd_link_started(struct tripd_link *link);

uint16_t tripd_link_receive(
	struct tripd_link *link, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

/* Sends the first of n packets, and takes those. Returns how many; the others are counted as not
 * sent. One thread at a time. */
uint16_t tripd_link_send(struct tripd_link *link, struct rte_mbuf **pkts, uint16_t n);

/* What was lost since it was started. By the control thread. */
void tripd_link_losses(struct tripd_link *link, struct tripd_losses *losses);

#endif
