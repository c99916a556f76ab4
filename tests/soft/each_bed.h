/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests ask of the tables of a statement by themselves, and how time passes there. */
#ifndef TRIP_TEST_EACH_BED_H
#define TRIP_TEST_EACH_BED_H

#include "trip_each_bed.h"

#define TABLES_MAX 2u
#define SECOND UINT64_C(1000000)
#define LENGTH TRIP_EACH_BED_LENGTH

static inline uint64_t
bed_trips(const struct trip_each_bed *bed)
{
	return trip_each_ring_trips(&bed->at);
}

static inline struct trip_each_told
bed_last_trip(const struct trip_each_bed *bed)
{
	struct trip_each_told told;

	assert_true(trip_each_ring_read(&bed->at, bed_trips(bed) - 1, &told));
	return told;
}

static inline uint32_t
bed_entry_of(const struct trip_each_bed *bed, uint32_t queue, uint64_t key)
{
	uint32_t entry = trip_keyed_find(bed->tables[queue], &key);

	assert_int_not_equal(entry, TRIP_KEYED_NONE);
	return entry;
}

/* For so long no packet comes to any queue, each of which is polled at each `step`. */
static inline void
bed_be_silent(struct trip_each_bed *bed, uint64_t us, uint64_t step)
{
	for (uint64_t end = bed->now + us; bed->now < end;) {
		bed->now += step;
		for (uint32_t i = 0; i < bed->statement->n_tables; i++)
			trip_each_queue_sweep(&bed->polls[i], bed->now);
	}
}

#endif
