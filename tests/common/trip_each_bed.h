/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a statement by themselves, without a domain or ports: keys are sources of IPv4, and
 * whoever polls one of its queues does so with a clock of the test's.
 */
#ifndef TRIP_EACH_BED_H
#define TRIP_EACH_BED_H

#include <stdlib.h>
#include <string.h>

#include "each_judge.h"
#include "flow/each.h"
#include "trip_test.h"

#define TRIP_EACH_BED_TABLES 3u
/* Bytes of a packet. */
#define TRIP_EACH_BED_LENGTH 60u

/* A statement, and who polls each of its queues. */
struct trip_each_bed {
	struct trip_each_zone *zone;
	struct trip_each_statement *statement;
	struct trip_each_ring_at at;
	struct trip_keyed *tables[TRIP_EACH_BED_TABLES];
	struct trip_each_poll polls[TRIP_EACH_BED_TABLES];
	uint64_t now;
};

/* Whoever takes a queue over polls it with memory of his own. */
static inline void
trip_each_bed_poll(struct trip_each_bed *bed, uint32_t queue)
{
	bed->polls[queue] = (struct trip_each_poll){
		.open = 1, .zone = bed->zone, .queue = &bed->zone->queues[queue]};
}

static inline void
trip_each_bed_open_tables(struct trip_each_bed *bed)
{
	const struct trip_each_statement *statement = bed->statement;
	struct trip_keyed_attr attr = trip_each_keyed(statement);

	attr.secret[0] = 1;
	for (uint32_t i = 0; i < statement->n_tables; i++) {
		uint32_t line = trip_each_table_line(statement, i);

		attr.own = i;
		bed->tables[i] = trip_keyed_init(trip_each_table(bed->zone, line), &attr);
		bed->zone->queues[i].lines[0] = line;
		bed->zone->queues[i].open = bed->zone->queues[i].used = 1;
		trip_each_bed_poll(bed, i);
	}
}

static inline void
trip_each_bed_open(struct trip_each_bed *bed, const struct trip_each_attr *given, uint32_t n_tables)
{
	static const struct trip_each_part by_source[] = {{TRIP_EACH_IPV4_SRC, 0}};
	struct trip_each_attr attr = *given;
	struct trip_each_statement statement = {.first_line = trip_each_first_line(n_tables)};
	size_t size;

	attr.size = sizeof(attr);
	attr.name = "keys";
	attr.parts = by_source;
	attr.n_parts = 1;
	assert_int_equal(trip_each_plan(&attr, &statement), 0);
	trip_each_plan_tables(&statement, n_tables);
	size = trip_each_zone_size(
		n_tables, trip_each_statement_lines(&statement) * TRIP_EACH_LINE);
	*bed = (struct trip_each_bed){.zone = aligned_alloc(TRIP_EACH_LINE, size), .now = 1000000};
	assert_non_null(bed->zone);
	memset(bed->zone, 0, size);
	bed->zone->statements[0] = statement;
	bed->statement = &bed->zone->statements[0];
	bed->at = trip_each_statement_ring(bed->zone, bed->statement);
	trip_each_ring_init(&bed->at);
	trip_each_bed_open_tables(bed);
}

static inline void
trip_each_bed_close(struct trip_each_bed *bed)
{
	free(bed->zone);
}

/* So many packets of a key, at once, on a queue; returns which of them are dropped. */
static inline uint32_t
trip_each_bed_count(struct trip_each_bed *bed, uint32_t queue, uint64_t key, uint32_t n)
{
	uint64_t keys[TRIP_KEYED_CHUNK];
	uint32_t bytes[TRIP_KEYED_CHUNK], dropped, over;
	const struct trip_keyed_chunk chunk = {.keys = keys,
		.bytes = bytes,
		.count = n,
		.close = bed->statement->shares ? trip_each_ring_close(&bed->at) : NULL,
		.dropped = &dropped};
	struct trip_each_poll *poll = &bed->polls[queue];

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = key;
		bytes[i] = TRIP_EACH_BED_LENGTH;
	}
	(void)trip_each_queue_begin(poll, bed->now);
	over = trip_keyed_count(bed->tables[queue], &chunk, bed->now);
	if (over != 0) {
		uint32_t more = trip_each_judge(poll, 0, &chunk, over);

		dropped |= more;
	}
	if (bed->statement->behind)
		(void)trip_each_judge_behind(poll, 0);
	if (chunk.close != NULL)
		(void)trip_each_close_step(poll, 0, 64);
	return dropped;
}

#endif
