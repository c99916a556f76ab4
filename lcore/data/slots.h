/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Free indices, which any thread takes and gives back without a lock: whoever is stopped in between
 * keeps nobody waiting.
 *
 * A stack, linked through `next`. The head carries a tag that moves with every change of it:
 * between a taker's look at the first index's successor and its exchange of the head, that index
 * may have been taken and given back above another one, and the exchange must fail then. It would
 * not if 2^32 changes came in between.
 *
 * The list belongs to one process and lies in its own memory. Indices may be a part of a larger
 * range, so that what a killed process held is reclaimed whole by whoever gave it that part.
 */
#ifndef TRIP_SLOTS_H
#define TRIP_SLOTS_H

#include <stdatomic.h>
#include <stdint.h>

#define TRIP_SLOTS_NONE UINT32_MAX

struct trip_slots {
	/* Tag << 32 | first free index, or TRIP_SLOTS_NONE. */
	_Atomic uint64_t head;
	/* Of each index, from `first` on, the free one below it. */
	_Atomic uint32_t *next;
	uint32_t first;
};

/* All of first ... first + count - 1 are free, and the lowest go first; `next` has an entry for
 * each index that is ever given. */
void trip_slots_init(
	struct trip_slots *slots, _Atomic uint32_t *next, uint32_t first, uint32_t count);

/* An index, the one last given back where there is one, or TRIP_SLOTS_NONE. */
uint32_t trip_slots_take(struct trip_slots *slots);

void trip_slots_give(struct trip_slots *slots, uint32_t index);

#endif
