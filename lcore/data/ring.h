/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SPSC ring of 32-bit indices in memory shared between processes. One producer, one consumer, each
 * with a handle of its own: there is no step at which the death of one could hang the other.
 *
 * Each end keeps its own index privately and only publishes it, so nobody can move it, and caches
 * the opposite one, so the peer's line is fetched once a batch. The peer's index is believed only
 * so far: a distance beyond the size is -EPROTO, and entries are addressed by masked private
 * indices. What an entry says is for the caller to validate.
 */
#ifndef TRIP_RING_H
#define TRIP_RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct trip_ring {
	_Alignas(64) _Atomic uint32_t head; /* the consumer's, free-running */
	_Alignas(64) _Atomic uint32_t tail; /* the producer's */
	_Alignas(64) _Atomic uint32_t entry[];
};

_Static_assert(offsetof(struct trip_ring, tail) == 64, "head and tail on lines of their own");
_Static_assert(offsetof(struct trip_ring, entry) == 128, "tail and entries on lines of their own");

/* A process's handle of one end. */
struct trip_ring_end {
	struct trip_ring *ring;
	uint32_t size;  /* a power of two */
	uint32_t here;  /* our own index: tail for the producer, head for the consumer */
	uint32_t there; /* the opposite one as last seen */
};

static inline size_t
trip_ring_size(uint32_t size)
{
	return (sizeof(struct trip_ring) + (size_t)size * 4 + 63) & ~(size_t)63;
}

static inline void
trip_ring_init(struct trip_ring *ring)
{
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
}

/* Takes up the ring where the previous handle of that end left it. */
static inline void
trip_ring_map_producer(struct trip_ring_end *end, struct trip_ring *ring, uint32_t size)
{
	end->ring = ring;
	end->size = size;
	end->here = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	end->there = atomic_load_explicit(&ring->head, memory_order_acquire);
}

static inline void
trip_ring_map_consumer(struct trip_ring_end *end, struct trip_ring *ring, uint32_t size)
{
	end->ring = ring;
	end->size = size;
	end->here = atomic_load_explicit(&ring->head, memory_order_relaxed);
	end->there = end->here;
}

/* All n or none: 0, -EAGAIN: they do not fit, -EPROTO: the consumer's index is garbage. */
static inline int
trip_ring_enqueue(struct trip_ring_end *end, const uint32_t *values, uint32_t n)
{
	struct trip_ring *ring = end->ring;
	uint32_t mask = end->size - 1;

	/* here - there is at most size, see below */
	if (end->size - (end->here - end->there) < n) {
		/* Acquire, pairs with the release of head: entries are read before reuse. */
		uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

		if (end->here - head > end->size)
			return -EPROTO;
		end->there = head;
		if (end->size - (end->here - head) < n)
			return -EAGAIN;
	}
	for (uint32_t i = 0; i < n; i++)
		atomic_store_explicit(
			&ring->entry[(end->here + i) & mask], values[i], memory_order_relaxed);
	end->here += n;
	/* Release, pairs with trip_ring_tail: the entries and what they refer to. */
	atomic_store_explicit(&ring->tail, end->here, memory_order_release);
	return 0;
}

/* How far the producer has come; seq_cst, because homes order rounds by it. */
static inline uint32_t
trip_ring_tail(const struct trip_ring_end *end)
{
	return atomic_load(&end->ring->tail);
}

/*
 * At most max entries, none at or behind up_to, which trip_ring_tail() said. Returns how many, or
 * -EPROTO where that leaves the ring. The entries stay the producer's to overwrite only once
 * trip_ring_release() is called.
 */
static inline int
trip_ring_peek(const struct trip_ring_end *end, uint32_t up_to, uint32_t *values, uint32_t max)
{
	uint32_t n = up_to - end->here, mask = end->size - 1;

	if (n > end->size)
		return -EPROTO;
	if (n > max)
		n = max;
	if (n > INT32_MAX)
		n = INT32_MAX;
	for (uint32_t i = 0; i < n; i++)
		values[i] = atomic_load_explicit(
			&end->ring->entry[(end->here + i) & mask], memory_order_relaxed);
	return (int)n;
}

static inline void
trip_ring_release(struct trip_ring_end *end, uint32_t n)
{
	end->here += n;
	/* Release, pairs with the acquire of head in trip_ring_enqueue. */
	atomic_store_explicit(&end->ring->head, end->here, memory_order_release);
}

static inline int
trip_ring_dequeue_to(struct trip_ring_end *end, uint32_t up_to, uint32_t *values, uint32_t max)
{
	int n = trip_ring_peek(end, up_to, values, max);

	if (n > 0)
		trip_ring_release(end, (uint32_t)n);
	return n;
}

/* NULL, or which invariant does not hold; while neither end is in a call. */
static inline const char *
trip_ring_check(const struct trip_ring *ring, uint32_t size)
{
	uint32_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);

	if (size == 0 || (size & (size - 1)) != 0)
		return "ring: the size is no power of two";
	if (tail - head > size)
		return "ring: the tail is further from the head than the ring is long";
	return NULL;
}

#endif
