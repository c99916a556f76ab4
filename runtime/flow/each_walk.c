/* SPDX-License-Identifier: BSD-3-Clause */
/* All keys of a statement, while they are being counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "flow/each_sum.h"

/*
 * Keys that are in several tables are told once, with their sums. So all tables are gone over as
 * often as it takes to hold a part of their keys, by what their secret makes of each key, and a
 * part is sorted. A key that stays in a table is found there, whatever becomes of it in others.
 */
#define PART 32768u

/* An entry of a table. */
struct found {
	uint64_t key[TRIP_EACH_KEY_WORDS];
	uint64_t packets, bytes, error;
	uint32_t table, entry;
	struct trip_each_said said;
};

struct part {
	struct found *found;
	uint64_t *floors; /* of each table, behind it */
	size_t n, room;
};

static int
compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int differ = memcmp(x->key, y->key, sizeof(x->key));

	if (differ != 0)
		return differ;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->entry < y->entry ? -1 : 1;
}

static int
note(const struct trip_each *each, struct part *part, const struct trip_keyed_entry *reading,
	uint32_t table, uint32_t entry)
{
	struct found *grown = part->found;

	if (part->n == part->room) {
		part->room = part->room != 0 ? 2 * part->room : 1024;
		grown = realloc(part->found, part->room * sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		part->found = grown;
	}
	grown = &part->found[part->n++];
	*grown = (struct found){.packets = reading->packets,
		.bytes = reading->bytes,
		.error = reading->error,
		.table = table,
		.entry = entry,
		.said = trip_each_said_of(each, reading)};
	memcpy(grown->key, reading->key, each->statement.key.words * sizeof(reading->key[0]));
	return 0;
}

/* Part `which` of so many. */
static int
gather(const struct trip_each *each, struct part *part, uint32_t which, uint32_t parts)
{
	struct trip_keyed_entry reading;
	int error = 0;

	part->n = 0;
	for (uint32_t i = 0; i < each->statement.n_tables; i++) {
		const struct trip_keyed *table = trip_each_table_at(each, i);
		uint32_t n = trip_keyed_entries(table);

		for (uint32_t entry = 0; entry < n && error == 0; entry++)
			if (trip_keyed_read(table, entry, &reading) &&
				trip_keyed_number(table, reading.key) % parts == which)
				error = note(each, part, &reading, i, entry);
		part->floors[i] = trip_keyed_floor(table);
	}
	return error;
}

/* It went as its table was gone over, and came again further behind. */
static bool
comes_again(const struct found *found, size_t left)
{
	return left > 1 && found[1].table == found->table &&
	       memcmp(found[1].key, found->key, sizeof(found->key)) == 0;
}

/* The entries of one key, which begin at `found`: how many. */
static size_t
merge(const struct trip_each *each, const struct found *found, size_t left, uint64_t floor,
	const uint64_t *floors, struct trip_each_entry *sum)
{
	size_t n = 0;

	*sum = trip_each_sum_begin(each, found->key);
	sum->error = floor;
	for (; n < left && memcmp(found[n].key, found->key, sizeof(found->key)) == 0; n++) {
		if (comes_again(&found[n], left - n))
			continue;
		sum->packets += found[n].packets;
		sum->bytes += found[n].bytes;
		/* In the place of what it may have had there without one. */
		sum->error += found[n].error - floors[found[n].table];
		sum->tables++;
		trip_each_sum_say(sum, &found[n].said);
	}
	trip_each_sum_end(each, sum);
	return n;
}

static int
tell_part(const struct trip_each *each, const struct part *part, trip_each_visit_t visit, void *arg)
{
	struct trip_each_entry sum;
	uint64_t floor = 0;
	int result = 0;

	if (part->n == 0)
		return 0;
	qsort(part->found, part->n, sizeof(part->found[0]), compare_found);
	for (uint32_t i = 0; i < each->statement.n_tables; i++)
		floor += part->floors[i];
	for (size_t i = 0; i < part->n && result == 0;) {
		i += merge(each, &part->found[i], part->n - i, floor, part->floors, &sum);
		result = visit(&sum, arg);
	}
	return result;
}

static int
walk_parts(const struct trip_each *each, trip_each_visit_t visit, void *arg)
{
	struct part part = {.floors = calloc(each->statement.n_tables, sizeof(*part.floors))};
	uint64_t keys = 0;
	uint32_t parts;
	int result = part.floors != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < each->statement.n_tables; i++) {
		struct trip_keyed_totals totals;

		trip_keyed_totals(trip_each_table_at(each, i), &totals);
		keys += RTE_MIN(totals.keys, trip_keyed_entries(trip_each_table_at(each, i)));
	}
	parts = (uint32_t)(keys / PART + 1);
	for (uint32_t which = 0; which < parts && result == 0; which++) {
		result = gather(each, &part, which, parts);
		if (result == 0)
			result = tell_part(each, &part, visit, arg);
		else
			result = trip_error_set(ENOMEM, "each \"%s\": no memory for its keys",
				each->statement.name);
	}
	free(part.floors);
	free(part.found);
	return result;
}

static int
walk_one(const struct trip_each *each, trip_each_visit_t visit, void *arg)
{
	const struct trip_keyed *table = trip_each_table_at(each, 0);
	uint32_t n = trip_keyed_entries(table);
	struct trip_keyed_entry reading;
	int result = 0;

	for (uint32_t i = 0; i < n && result == 0; i++) {
		struct trip_each_entry sum;

		if (!trip_keyed_read(table, i, &reading))
			continue;
		sum = trip_each_sum_begin(each, reading.key);
		trip_each_sum_add(each, &sum, &reading);
		trip_each_sum_end(each, &sum);
		result = visit(&sum, arg);
	}
	return result;
}

int
trip_each_walk(const struct trip_each *each, trip_each_visit_t visit, void *arg)
{
	int error = trip_detach_check(each->domain);

	if (error != 0)
		return error;
	return each->statement.n_tables == 1 ? walk_one(each, visit, arg)
					     : walk_parts(each, visit, arg);
}
