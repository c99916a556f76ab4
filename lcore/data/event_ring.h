/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completion events of one home, in firing order: a ring with one producer, the home, and one
 * consumer at a time, whoever holds the reader's lock.
 *
 * The ring has room for twice `limit` events. One-shot items are admitted while fewer than `limit`
 * of theirs are outstanding (queued or unread), and an event of an interval item is dropped, and
 * counted, while `limit` or more are unread. So at most `limit` of each kind are unread at any
 * time, and the event of a one-shot item always finds room.
 */
#ifndef TRIP_EVENT_RING_H
#define TRIP_EVENT_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_work.h>

/* What there is to tell of a firing, which users see as a struct trip_work_event. */
struct trip_event {
	uint64_t id, context;
	uint64_t threshold, value;
	uint64_t count;
	uint64_t latency_ns;
	int32_t result;
	enum trip_op op_type;
	uint32_t flags;
	/* The ring that it goes to: 0, or 1 + the process that queued the item. */
	uint16_t ring;
	/* Its item was counted as an outstanding one-shot. */
	bool one_shot;
};

_Static_assert(sizeof(struct trip_event) == 64, "an event is a cache line");

/* An event as users see it: the same behind its size, and nothing where its ring is named. */
union trip_event_shown {
	struct trip_work_event shown;
	struct {
		size_t size;
		struct trip_event event;
	} own;
};

_Static_assert(
	sizeof(union trip_event_shown) == sizeof(struct trip_work_event), "both are of one size");
_Static_assert(
	offsetof(union trip_event_shown, own.event.id) == offsetof(struct trip_work_event, id) &&
		offsetof(union trip_event_shown, own.event.latency_ns) ==
			offsetof(struct trip_work_event, latency_ns) &&
		offsetof(union trip_event_shown, own.event.flags) ==
			offsetof(struct trip_work_event, flags) &&
		offsetof(union trip_event_shown, own.event.ring) ==
			offsetof(struct trip_work_event, reserved),
	"and in one order");

struct trip_event_ring_shared {
	/* Written by the home. Partner: the acquire load in trip_event_ring_pop(). */
	alignas(64) _Atomic uint64_t tail;
	/* Written by the reader. Partner: the acquire load in trip_event_ring_push(). */
	alignas(64) _Atomic uint64_t head;
	alignas(64) struct trip_event events[];
};

struct trip_event_ring {
	struct trip_event_ring_shared *shared;
	uint32_t limit;
	uint32_t mask;
};

/* Bytes for a ring that admits `limit` events, 1 ... 2^30, of each kind. */
size_t trip_event_ring_size(uint32_t limit);
void trip_event_ring_init(struct trip_event_ring *ring, void *memory, uint32_t limit);
/* Of memory that another process has made. */
void trip_event_ring_map(struct trip_event_ring *ring, void *memory, uint32_t limit);

/* The home. False: dropped. */
bool trip_event_ring_push(struct trip_event_ring *ring, const struct trip_event *event);

/* The reader. Returns how many events it wrote, at most max. */
unsigned int trip_event_ring_pop(
	struct trip_event_ring *ring, struct trip_event *events, unsigned int max);

/* NULL, or the sentence of the invariant that is broken. */
const char *trip_event_ring_check(const struct trip_event_ring *ring);

#endif
