/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of completion events: push, pop, invariants. */
#include "event_ring.h"

static uint32_t
ring_entries(uint32_t limit)
{
	uint32_t entries = 1;

	while (entries < 2 * limit)
		entries *= 2;
	return entries;
}

size_t
trip_event_ring_size(uint32_t limit)
{
	return sizeof(struct trip_event_ring_shared) +
	       ring_entries(limit) * sizeof(struct trip_event);
}

void
trip_event_ring_map(struct trip_event_ring *ring, void *memory, uint32_t limit)
{
	ring->shared = memory;
	ring->limit = limit;
	ring->mask = ring_entries(limit) - 1;
}

void
trip_event_ring_init(struct trip_event_ring *ring, void *memory, uint32_t limit)
{
	trip_event_ring_map(ring, memory, limit);
	atomic_init(&ring->shared->head, 0);
	atomic_init(&ring->shared->tail, 0);
}

bool
trip_event_ring_push(struct trip_event_ring *ring, const struct trip_event *event)
{
	struct trip_event_ring_shared *shared = ring->shared;
	uint64_t tail = atomic_load_explicit(&shared->tail, memory_order_relaxed);
	uint64_t unread = tail - atomic_load_explicit(&shared->head, memory_order_acquire);

	if (unread >= (event->one_shot ? ring->mask + 1 : ring->limit))
		return false;
	shared->events[tail & ring->mask] = *event;
	atomic_store_explicit(&shared->tail, tail + 1, memory_order_release);
	return true;
}

unsigned int
trip_event_ring_pop(struct trip_event_ring *ring, struct trip_event *events, unsigned int max)
{
	struct trip_event_ring_shared *shared = ring->shared;
	uint64_t head = atomic_load_explicit(&shared->head, memory_order_relaxed);
	uint64_t unread = atomic_load_explicit(&shared->tail, memory_order_acquire) - head;
	unsigned int n = unread < max ? (unsigned int)unread : max;

	for (unsigned int i = 0; i < n; i++)
		events[i] = shared->events[(head + i) & ring->mask];
	atomic_store_explicit(&shared->head, head + n, memory_order_release);
	return n;
}

const char *
trip_event_ring_check(const struct trip_event_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->shared->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->shared->tail, memory_order_relaxed);

	if (tail - head > (uint64_t)ring->mask + 1)
		return "event ring: more unread events than the ring has room for";
	return NULL;
}
