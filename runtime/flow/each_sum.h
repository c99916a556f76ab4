/* SPDX-License-Identifier: BSD-3-Clause */
/* What all tables of a statement have of one key, added up; for each_read.c and each_walk.c. */
#ifndef TRIP_RUNTIME_EACH_SUM_H
#define TRIP_RUNTIME_EACH_SUM_H

#include "flow/each.h"

/* What a table says of a key, as it is in the last life that any of them knows of. */
struct trip_each_said {
	uint64_t life, packets, bytes, hold;
	uint8_t told, mark;
};

struct trip_each_said trip_each_said_of(
	const struct trip_each *each, const struct trip_keyed_entry *reading);

struct trip_each_entry trip_each_sum_begin(const struct trip_each *each, const uint64_t *key);

/* What a table says; and all that it has of the key, that included. */
void trip_each_sum_say(struct trip_each_entry *sum, const struct trip_each_said *said);
void trip_each_sum_add(const struct trip_each *each, struct trip_each_entry *sum,
	const struct trip_keyed_entry *reading);

/* What it had before it began anew is not among what it has. Where it has gone from a table since,
 * there may be less than that. And what hardware has of it. */
void trip_each_sum_end(const struct trip_each *each, struct trip_each_entry *sum);

#endif
