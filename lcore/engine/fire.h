/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor: what a work item does when it fires. */
#ifndef TRIP_FIRE_H
#define TRIP_FIRE_H

#include <stdint.h>

#include "event_ring.h"

struct trip_engine;
struct trip_home;
struct trip_node;

/* Fires nodes that have left the pending sets of their counters, in their order, at most
 * TRIP_FIRE_BATCH: each is queued again, or gone. */
#define TRIP_FIRE_BATCH 64
void trip_fire(struct trip_home *home, const uint32_t *nodes, unsigned int n);

/* Ends what an item had begun, and tells of it where its flags ask for that. */
void trip_fire_end(struct trip_home *home, const struct trip_node *item, uint64_t begun,
	struct trip_event *event);

/* Counts an operation that has ended on its completion counter, TRIP_NONE: it has none. Any thread.
 */
void trip_fire_complete(const struct trip_engine *engine, uint32_t completion, int result);

/* The home: tells of operations that ports' workers have ended; returns how many. */
unsigned int trip_fire_settle(struct trip_home *home);

/* An item that will never fire: adds 1 to the error of its completion or target counter (WORK-07),
 * but of a hidden one, which nobody else has: what is lost of its pairs would be in its sum, and
 * fire it. */
void trip_fire_fail(struct trip_home *home, uint8_t op, uint32_t target, uint32_t completion);

#endif
