/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that last: what they have done when they fired is undone when they end (DATA-10).
 *
 * Such an item has a slot beside its own, and a second node: its end, which knows what is to be
 * undone, and since when. It may stand in the pending set of the clock. The item stays its client's
 * until it ends: a one-shot item that has fired stands nowhere then, but can be canceled. What is
 * canceled, flushed, or was its client's who is gone, ends with it, and nobody is told.
 *
 * One that fires again lasts from then on: its end is noted later, and the node, when its time
 * comes, stands once more. So no node is moved that may be on its way to its firing already; and
 * for the same reason an item that is canceled is only taken out when its channel's bell is read.
 *
 * What an errand has begun is known when the home settles it. What is to end before that ends then,
 * unless it has fired again; what an item has under way that was given back ends then, too.
 */
#ifndef TRIP_LASTING_H
#define TRIP_LASTING_H

#include <stdbool.h>
#include <stdint.h>

#include "event_ring.h"

struct trip_errand;
struct trip_home;

/* An item was accepted that has an end. */
void trip_lasting_begin(struct trip_home *home, uint32_t item);

/* It has fired, and `more` says whether it will again. Where that has begun nothing and was the
 * last time, it is over: so the event says then. */
void trip_lasting_fired(struct trip_home *home, uint32_t item, struct trip_event *event, bool more);

/* A node has been reached. True: it is an end. */
bool trip_lasting_reached(struct trip_home *home, uint32_t node);

/* What an item had begun ends now, and is told. Not while it is on its way to its firing. */
void trip_lasting_end(struct trip_home *home, uint32_t item);

/* The errand of a firing, which lasts, is done at this port: the end knows what it has begun. */
void trip_lasting_told(struct trip_home *home, const struct trip_errand *errand, uint32_t port);

/* Whether an item with this end, which may be TRIP_NONE, will not fire again, and waits for its end
 * alone. */
bool trip_lasting_is_over(const struct trip_home *home, uint32_t end);

/* The item is given back. */
void trip_lasting_drop(struct trip_home *home, uint32_t item);

#endif
