/* SPDX-License-Identifier: BSD-3-Clause */
/* The home's nodes: one for each slot of each channel, so that they cannot run out. */
#ifndef TRIP_NODE_H
#define TRIP_NODE_H

#include <stdint.h>

#include "engine.h"

/* The node of a slot that was accepted; its caller fills it in. */
uint32_t trip_node_take(struct trip_home *home, uint32_t channel, uint32_t slot);

/* Queues a node at its threshold. One that cannot be yet is deferred until its counter settles, and
 * with it what follows it on that counter. */
void trip_node_queue(struct trip_home *home, uint32_t node);

/* Takes a node that was deferred out of the list of its counter. */
void trip_node_undefer(struct trip_home *home, uint32_t node);

/* Gives a node back, and its slot to its client. It is in no pending set and in no list. */
void trip_node_drop(struct trip_home *home, uint32_t node);

#endif
