/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that are due, and how they become so. engine.h has the three lists and what they mean.
 */
#ifndef TRIP_DUE_H
#define TRIP_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

/* Appends a counter, which is in no list, to one; takes the first off a list that is not empty. */
void trip_due_push(
	struct trip_home *home, struct trip_due_list *list, uint32_t cntr, enum trip_due due);
uint32_t trip_due_pop(struct trip_home *home, struct trip_due_list *list);

/* The sum of counter `cntr` may have passed what is armed, or what is armed must be set anew. */
void trip_due_touch(struct trip_home *home, uint32_t cntr);

/* Queues a node at a threshold of counter `cntr`. False where that must wait until it settles. */
bool trip_due_queue(struct trip_home *home, uint32_t cntr, uint64_t threshold, uint32_t node);

/* Has counter `cntr` of this home sampled again. */
void trip_due_ring_self(struct trip_home *home, uint32_t cntr);

/* Rings the home of a counter of any home; any thread. */
void trip_due_ring(const struct trip_engine *engine, uint32_t cntr);

#endif
