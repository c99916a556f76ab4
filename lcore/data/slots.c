/* SPDX-License-Identifier: BSD-3-Clause */
/* Free indices as a stack without a lock. */
#include "slots.h"

static uint64_t
next_head(uint64_t head, uint32_t index)
{
	return ((head >> 32) + 1) << 32 | index;
}

void
trip_slots_init(struct trip_slots *slots, _Atomic uint32_t *next, uint32_t first, uint32_t count)
{
	slots->next = next;
	slots->first = first;
	for (uint32_t i = 0; i < count; i++)
		atomic_init(&next[i], i + 1 < count ? first + i + 1 : TRIP_SLOTS_NONE);
	atomic_init(&slots->head, count > 0 ? first : TRIP_SLOTS_NONE);
}

uint32_t
trip_slots_take(struct trip_slots *slots)
{
	/* Acquire, also where the exchange fails: pairs with the release in trip_slots_give(). */
	uint64_t head = atomic_load_explicit(&slots->head, memory_order_acquire);
	uint32_t index, below;

	do {
		index = (uint32_t)head;
		if (index == TRIP_SLOTS_NONE)
			return TRIP_SLOTS_NONE;
		/* Of an index that is somebody else's by now it may be anything. */
		below = atomic_load_explicit(
			&slots->next[index - slots->first], memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&slots->head, &head, next_head(head, below),
		memory_order_acquire, memory_order_acquire));
	return index;
}

void
trip_slots_give(struct trip_slots *slots, uint32_t index)
{
	uint64_t head = atomic_load_explicit(&slots->head, memory_order_relaxed);

	/* Release: whoever takes it finds `next`, and what its owner did with it. */
	do
		atomic_store_explicit(
			&slots->next[index - slots->first], (uint32_t)head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&slots->head, &head, next_head(head, index),
		memory_order_release, memory_order_relaxed));
}
