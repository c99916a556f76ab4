/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read of a spread. */
#include "spread.h"

void
trip_spread_copy(const struct trip_spread *spread, struct trip_spread_copy *copy)
{
	copy->sum += atomic_load_explicit(&spread->sum, memory_order_relaxed);
	for (unsigned int i = 0; i < TRIP_SPREAD_BUCKETS; i++)
		copy->buckets[i] += atomic_load_explicit(&spread->buckets[i], memory_order_relaxed);
}

uint64_t
trip_spread_count(const struct trip_spread_copy *copy)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < TRIP_SPREAD_BUCKETS; i++)
		count += copy->buckets[i];
	return count;
}

uint64_t
trip_spread_quantile(const struct trip_spread_copy *copy, unsigned int permille)
{
	uint64_t count = trip_spread_count(copy), below = 0,
		 /* Rounded up, and in parts, as 1000 times as many may be more than 64 bits. */
		rank = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;

	if (count == 0)
		return 0;
	for (unsigned int i = 0; i < TRIP_SPREAD_BUCKETS; i++) {
		below += copy->buckets[i];
		if (below >= rank && copy->buckets[i] > 0)
			return trip_spread_top(i);
	}
	/* Somebody has written over it. */
	return UINT64_MAX;
}
