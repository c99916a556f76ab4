/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_FORWARD_H
#define TRIPD_FORWARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "start/options.h"
#include "start/plan.h"

struct tripd_catches;
struct tripd_link;
struct tripd_quota;

/* What became of the packets of a port; written by its forwarder alone. */
struct tripd_forward_stats {
	/* Received, before any rule dropped some. */
	_Atomic uint64_t received;
} __rte_cache_aligned;

/* The forwarding lcores of a run. */
struct tripd_forwarding {
	const struct tripd_plan *plan;
	/* By port, as in the plan. */
	struct tripd_link *links;
	const struct tripd_quota *quota;
	enum tripd_forward mode;
	/* Who looks at packets before they are counted, or NULL. */
	struct tripd_catches *catches;
	/* Set by the control thread; the forwarders end after their burst. */
	_Atomic bool stop;
	struct tripd_forward_stats stats[TRIPD_PORTS_MAX];
	struct tripd_forward_lcore {
		struct tripd_forwarding *forwarding;
		unsigned int index;
		/* Another busy lcore runs on the same processor. */
		bool yields;
		/* Rounds over its ports; written by itself alone. */
		_Atomic uint64_t rounds;
		/* It has ended; what it did is seen by whoever reads this. */
		_Atomic bool ended;
	} __rte_cache_aligned lcores[TRIPD_LCORES_MAX];
};

/* Launches the forwarders. Returns 0, or a negative errno: an lcore is running something else (said
 * on stderr). */
int tripd_forward_start(struct tripd_forwarding *forwarding, const struct tripd_plan *plan,
	struct tripd_link *links, const struct tripd_quota *quota, enum tripd_forward mode);

/* Ends the forwarders, and returns when they have: no packet arrives after that. */
void tripd_forward_stop(struct tripd_forwarding *forwarding);

/* Has packets counted that were received on a queue of the port [i] of the plan, and sends what the
 * rules leave, or frees it; with none, keys of an `each` that are idle go. One thread at a time for
 * each port. */
struct rte_mbuf;
void tripd_forward_packets(struct tripd_forwarding *forwarding, unsigned int i, uint16_t queue,
	struct rte_mbuf **pkts, uint16_t n);

/* Rounds of the forwarder that made the fewest; UINT64_MAX: there is none. */
uint64_t tripd_forward_polls(const struct tripd_forwarding *forwarding);

/* Packets received so far, over all ports. */
uint64_t tripd_forward_received(const struct tripd_forwarding *forwarding);

#endif
