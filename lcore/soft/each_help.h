/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of a statement that hardware drops: memory that processes share. A rule takes the key's
 * packets before anybody else sees them, so what it has counted is brought to the key's table, and
 * counts there as if it had been seen and dropped.
 *
 * Each table has one writer, who polls its queue; whoever has the rules, in the primary, hands him
 * sums (keyed.h) by a ring:
 *
 *	primary				who polls the queue
 *	loads trip_keyed_added(): room?	loads `given` (acquire)
 *	writes a sum			adds it to the table
 *	stores `given` (release)	which then has added so many (release)
 *
 * So a sum is in the table once, also where who polls is killed at any instruction: the table says
 * how many it has, and a sum is added whole or not at all.
 *
 * Which keys are in hardware, and what is counted there, is written for readers.
 */
#ifndef TRIP_EACH_HELP_H
#define TRIP_EACH_HELP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "each_queue.h"
#include "keyed.h"

/* Sums on their way to a table, a power of two. */
#define TRIP_EACH_SUMS 64u

struct trip_each_sum {
	_Atomic uint64_t key[TRIP_KEYED_WORDS_MAX];
	_Atomic uint64_t packets, bytes, since;
};

_Static_assert(sizeof(struct trip_each_sum) == 64, "trip_each.h says so");

struct trip_each_sums {
	_Alignas(TRIP_EACH_LINE) _Atomic uint64_t given;
	_Alignas(TRIP_EACH_LINE) struct trip_each_sum of[TRIP_EACH_SUMS];
};

/* A key in hardware. */
struct trip_each_place {
	_Alignas(TRIP_EACH_LINE) _Atomic uint64_t since; /* nanoseconds; 0: it has none */
	_Atomic uint64_t key[TRIP_KEYED_WORDS_MAX];
	_Atomic uint64_t packets, bytes; /* counted there */
};

/* Of the statement: what its owner has done. Behind it, the sums of its tables and its places. */
struct trip_each_help {
	_Alignas(TRIP_EACH_LINE) _Atomic uint64_t keys, waiting;
	_Atomic uint64_t packets, bytes;               /* counted by all rules */
	_Atomic uint64_t coming_packets, coming_bytes; /* of these, not handed to a table */
	_Atomic uint64_t changes, failed, passed_over;
};

static inline struct trip_each_sums *
trip_each_help_sums(const struct trip_each_help *help, uint32_t table)
{
	return (struct trip_each_sums *)((uintptr_t)help + sizeof(*help)) + table;
}

static inline struct trip_each_place *
trip_each_help_place(const struct trip_each_help *help, uint32_t n_tables, uint32_t place)
{
	return (struct trip_each_place *)(uintptr_t)trip_each_help_sums(help, n_tables) + place;
}

/* Bytes for so many tables and places. */
static inline size_t
trip_each_help_size(uint32_t n_tables, uint32_t n_places)
{
	return sizeof(struct trip_each_help) + n_tables * sizeof(struct trip_each_sums) +
	       n_places * sizeof(struct trip_each_place);
}

/* What that takes of a statement; 0: no key of it is ever in hardware. */
static inline uint32_t
trip_each_help_lines(const struct trip_each_statement *statement)
{
	size_t size = trip_each_help_size(statement->n_tables, statement->in_hardware);

	return statement->in_hardware != 0 ? (uint32_t)(size / TRIP_EACH_LINE) : 0;
}

/* Of a statement with `in_hardware`. */
struct trip_each_help *trip_each_help_of(
	const struct trip_each_zone *zone, const struct trip_each_statement *statement);

/* Who has the rules: hands a sum to who polls a table; false: there is no room. */
bool trip_each_help_give(struct trip_each_help *help, uint32_t table, uint64_t added,
	const struct trip_keyed_sum *sum);

/* Who polls: adds some of those that came to its table, and judges their keys. True: there are
 * more. */
bool trip_each_help_take(const struct trip_each_poll *poll, uint32_t which);

/* Anybody: what a place says; false: it has no key. */
struct trip_each_placed {
	uint64_t since, packets, bytes, key[TRIP_KEYED_WORDS_MAX];
};

bool trip_each_help_read(const struct trip_each_place *place, struct trip_each_placed *placed);

#endif
