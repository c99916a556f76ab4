/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that are held by hand: dropped, or passed whatever conditions say, for a time or until they
 * are let go. Each table has one writer, who polls its queue, so he does that; whoever asks for it,
 * in the primary, gives an order to each table:
 *
 *	primary				who polls the queue
 *	loads `taken`: room?		loads the queue's bit, as a burst begins (acquire)
 *	writes the order		takes the bit away, and loads `given` (acquire)
 *	stores `given` (release)	does the order
 *	sets the queue's bit (release)	stores `taken` (release)
 *
 * All tables do the same, so none looks into others for it. A key without an entry gets one, that
 * has no packet. Where there is no room the order waits, and those behind it.
 *
 * Whoever polls may be killed at any instruction. His follower finds all bits set, and does an
 * order that was not taken once more, which changes nothing: what had held the key ends, and is
 * told, before `doing` says that the order is being done; behind that a hold by hand is its own.
 *
 * As long as a key is held by hand, conditions that hold keys do not judge it. Its end is told by
 * one of the tables, the owner, as trips are: written to its log, said in the entry's mark, and
 * then told. What it began the primary has told, in a log of its own.
 *
 * A hold of an entry of another table of which an order waits is past.
 */
#ifndef TRIP_EACH_HAND_H
#define TRIP_EACH_HAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "each_queue.h"

/* On their way to a table, a power of two. */
#define TRIP_EACH_ORDERS 64u

struct trip_each_order {
	_Atomic uint64_t key[TRIP_KEYED_WORDS_MAX];
	_Atomic uint64_t until; /* microseconds, or TRIP_KEYED_EVER */
	_Atomic uint64_t does;  /* an enum trip_each_op, and TRIP_EACH_ORDER_OWNS */
	_Atomic uint64_t spare;
};

#define TRIP_EACH_ORDER_OWNS UINT64_C(0x100)

_Static_assert(sizeof(struct trip_each_order) == 64, "trip_each.h says so");

struct trip_each_orders {
	_Alignas(TRIP_EACH_LINE) _Atomic uint64_t given;
	_Alignas(TRIP_EACH_LINE) _Atomic uint64_t taken;
	_Atomic uint64_t doing; /* an order's number, and 1 */
	_Alignas(TRIP_EACH_LINE) struct trip_each_order of[TRIP_EACH_ORDERS];
};

/* What is to be done. */
struct trip_each_ordered {
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint64_t until;
	enum trip_each_op op; /* TRIP_EACH_OP_NONE: it is let go */
	bool owns;
};

/* Of a statement with `hands`. */
static inline struct trip_each_orders *
trip_each_hand_orders(const struct trip_each_zone *zone,
	const struct trip_each_statement *statement, uint32_t table)
{
	uint32_t line = trip_each_table_line(statement, statement->n_tables) +
			statement->ring_lines + statement->help_lines;

	return (struct trip_each_orders *)((uintptr_t)zone + (size_t)line * TRIP_EACH_LINE) + table;
}

static inline uint32_t
trip_each_hand_lines(const struct trip_each_statement *statement)
{
	size_t size = statement->n_tables * sizeof(struct trip_each_orders);

	return statement->hands ? (uint32_t)(size / TRIP_EACH_LINE) : 0;
}

/* The primary, under its lock: whether there is room for one more; and gives it. */
bool trip_each_hand_has_room(const struct trip_each_orders *orders);
void trip_each_hand_give(struct trip_each_orders *orders, const struct trip_each_ordered *order);

/* Anybody: the last order of those that wait that is of a key. False: there is none. */
bool trip_each_hand_waits(const struct trip_each_orders *orders, const uint64_t *key,
	struct trip_each_ordered *order);

/* Who polls, as a burst begins: of these statements, a bit each. */
void trip_each_hand_take(const struct trip_each_poll *poll, uint64_t which);

#endif
