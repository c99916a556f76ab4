/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of this process for what lcores search: zeroed, on a cache line, outside the EAL heap
 * (growing that takes EAL's shared locks), in huge pages of the kernel's where it gives them. It is
 * touched before it is published, so that no lcore takes a page fault in a burst.
 */
#ifndef TRIP_MEMORY_H
#define TRIP_MEMORY_H

#include <stddef.h>

#include "era.h"

/* What was given up and may still be read; each block's link is in the block itself. */
struct trip_memory_retired {
	struct trip_memory_block *first;
};

/* NULL when there is none. */
void *trip_memory_take(size_t size);
/* As take, for arrays of which most may never be used: pages appear when they are touched. */
void *trip_memory_reserve(size_t size);
void trip_memory_give(void *memory);

/* Give once no reader that began up to now is left. Needs no memory, so it cannot fail. */
void trip_memory_retire(struct trip_memory_retired *retired, void *memory, struct trip_era *era);
/* Give what is safe by now. */
void trip_memory_reclaim(struct trip_memory_retired *retired, struct trip_era *era);
/* Give all; there are no readers. */
void trip_memory_drain(struct trip_memory_retired *retired);

#endif
