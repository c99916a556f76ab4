/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of a key, caught as they come by. A forwarder copies them, before any rule drops some;
 * the control thread says of which key, and takes what was caught.
 *
 * Nothing here holds up a forwarder: it tries the lock of a catch, and where another has that just
 * then, this burst is not looked at. The control thread waits for a forwarder, for the length of a
 * burst. So once it has ended a catch nobody looks at the statement by it any more, and that may be
 * closed.
 *
 *	FREE --control--> OPEN --a forwarder, or control--> FULL --control--> FREE
 */
#ifndef TRIPD_CATCH_H
#define TRIPD_CATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <trip.h>

#include "start/options.h"

struct rte_mbuf;

/* At once. */
#define TRIPD_CATCHES 8u
#define TRIPD_CATCH_DIRECTIONS 2u

enum tripd_catch_state {
	TRIPD_CATCH_FREE,
	TRIPD_CATCH_OPEN,
	TRIPD_CATCH_FULL,
};

/* Whose packets. */
struct tripd_catch_key {
	const struct trip_each *each;
	/* How many were closed before: another may be in the place of one of them. */
	uint64_t closings;
	/* Of the plan, a bit each. */
	uint64_t ports;
	enum trip_flow_direction direction;
	uint32_t key_size;
	uint8_t key[TRIP_EACH_KEY_MAX];
};

struct tripd_catch {
	_Atomic bool held;
	_Atomic int state;
	/* Under the lock: whose, and until when, by the packets' clock; 0: for ever. */
	struct tripd_catch_key of;
	uint64_t until_ns;
	/* Records as a file of capture has them. */
	uint8_t *records;
	size_t used;
	uint32_t packets;
};

struct tripd_catches {
	/* How many look at a port. */
	_Atomic uint32_t open[TRIPD_CATCH_DIRECTIONS][TRIPD_PORTS_MAX];
	struct tripd_catch all[TRIPD_CATCHES];
	/* Of each at most: packets, and bytes of a packet. */
	uint32_t packets, bytes;
	/* What the packets' clock says, since the epoch; NULL: that of the day. */
	const uint64_t *packet_ns;
};

/* 0 or -ENOMEM; fini in any case. */
int tripd_catch_init(struct tripd_catches *catches, const struct tripd_sample_options *options,
	const uint64_t *packet_ns);
void tripd_catch_fini(struct tripd_catches *catches);

/* The control thread's: opens one that is free; ends one that is open or full, once, after which it
 * is full; and frees one that has ended. */
void tripd_catch_begin(struct tripd_catches *catches, unsigned int which,
	const struct tripd_catch_key *of, uint64_t until_ns);
void tripd_catch_end(struct tripd_catches *catches, unsigned int which);
void tripd_catch_free(struct tripd_catches *catches, unsigned int which);

static inline enum tripd_catch_state
tripd_catch_state(const struct tripd_catch *caught)
{
	return (enum tripd_catch_state)atomic_load_explicit(&caught->state, memory_order_acquire);
}

/* A forwarder's: up to TRIPD_BURST packets of the port [i] of the plan. */
void tripd_catch_take(struct tripd_catches *catches, unsigned int port,
	enum trip_flow_direction direction, struct rte_mbuf **pkts, uint16_t n);

static inline void
tripd_catch_look(struct tripd_catches *catches, unsigned int port,
	enum trip_flow_direction direction, struct rte_mbuf **pkts, uint16_t n)
{
	/* Relaxed: the states say what is to be looked at. */
	if (catches != NULL && n > 0 &&
		atomic_load_explicit(&catches->open[direction][port], memory_order_relaxed) > 0)
		tripd_catch_take(catches, port, direction, pkts, n);
}

#endif
