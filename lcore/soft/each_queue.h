/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What queues count by keys that nobody knew beforehand: statements, which each of their queues has
 * a table for (../data/keyed.h). All of it is in memory that processes share: a statement is a key
 * and a filter, compiled, which whoever polls reads as it is; a queue has a bit for each statement
 * that it counts, and says where its tables are. One process at a time polls a queue (claim.h), and
 * is the writer of its tables.
 *
 * A bit is shown when all behind it is written, and taken away before that changes. Bursts look at
 * the bits within the era, or the claim, that orders their table's changes:
 *
 *	burst					primary
 *	R1 - R3 of era.h, and of claim.h	W1 take the bit away
 *	R4 load the bits (acquire)		W2 stamp; W3, W4: is it past?
 *
 * So where it is past, nobody counts in the statement's tables any more. In the primary a queue has
 * a copy of its bits in its own memory, so that a queue without any looks at one word that it has;
 * a burst of another process makes that copy as it begins.
 *
 * `used` says in whose tables somebody has counted since they were made. Whoever takes a queue over
 * recovers these before it counts; those that are opened later are new.
 */
#ifndef TRIP_EACH_QUEUE_H
#define TRIP_EACH_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_domain.h>

#include "count.h"
#include "each_key.h"
#include "each_ring.h"
#include "keyed.h"
#include "pattern.h"

/* Tables begin where lines of so many bytes do. */
#define TRIP_EACH_LINE 64u

/* A statement, as data. */
struct trip_each_statement {
	struct trip_each_key key;
	/* What a packet must be beside having the key. */
	struct trip_each_test filter[TRIP_PACKET_WORDS];
	uint32_t n_filter;
	uint32_t wants; /* TRIP_WANT_*, of both */
	/* What readers ask. */
	struct trip_each_part parts[TRIP_EACH_PARTS_MAX];
	uint32_t n_parts;
	enum trip_each_rank rank;
	uint32_t max;
	/* Its tables lie one behind the other, then its trips, where there are conditions, and what
	 * there is of keys in hardware (each_help.h), and orders of what is done by hand
	 * (each_hand.h). */
	uint32_t n_tables;
	uint32_t first_line, table_lines, ring_lines, help_lines, hand_lines;
	/* Keys that hardware drops at most; 0: none. And changes of rules a second. */
	uint32_t in_hardware, hardware_changes;
	uint64_t idle; /* microseconds */
	struct trip_each_when whens[TRIP_EACH_WHENS_MAX];
	uint32_t n_whens;
	uint8_t rates; /* which of them are, a bit each */
	bool counts;   /* others are there */
	/* Members of conditions; which of them each condition has, and each that is a group itself,
	 * a bit each. */
	struct trip_each_member members[TRIP_EACH_MEMBERS_MAX];
	uint32_t n_members;
	uint32_t of_when[TRIP_EACH_WHENS_MAX], of_member[TRIP_EACH_MEMBERS_MAX];
	/* The shortest time for which keys are quiet; 0: there is none. */
	uint64_t quiet;
	/* What is looked at behind each chunk: held keys, quiet ones. */
	bool behind;
	/* What each condition does; which of them hold keys, a bit each; and whether there is what
	 * all tables have in common of keys that are close, or held. */
	struct trip_each_act acts[TRIP_EACH_WHENS_MAX];
	uint8_t holds;
	bool hands;          /* keys may be held by hand */
	uint64_t hold_round; /* microseconds; 0: no hold ends */
	bool shares;
	/* Conditions that may be told of a key again and again; those by which it begins anew, a
	 * bit each; and words of its entries (keyed.h): that say from which count on it is told
	 * again, and, behind 1, when it began anew. */
	uint8_t again, anew;
	uint32_t memos;
	uint8_t next[TRIP_EACH_WHENS_MAX], life, window, bucket, members_told, seen;
	enum trip_each_full full;
	uint32_t kept;
	uint32_t events_kept; /* by each table */
	uint32_t cntr;        /* of the domain, which trips raise, and 1; 0: none */
	char name[TRIP_NAME_MAX + 1];
};

/* What a queue counts. */
struct trip_each_queue {
	_Alignas(TRIP_EACH_LINE) _Atomic uint64_t open;
	/* Of the writer; the primary takes a bit away before it shows the statement. */
	_Atomic uint64_t used;
	/* For whose tables there are orders (each_hand.h): the primary sets a bit behind one, and
	 * who polls takes it away before he takes them. */
	_Atomic uint64_t ordered;
	/* Of all open ones, at least. */
	_Atomic uint32_t wants;
	uint32_t lines[TRIP_EACH_MAX]; /* where its tables begin */
};

/* All of a domain's, in one piece; behind the queues are tables. */
struct trip_each_zone {
	_Alignas(TRIP_EACH_LINE) struct trip_each_statement statements[TRIP_EACH_MAX];
	struct trip_each_queue queues[];
};

_Static_assert(sizeof(struct trip_each_queue) % TRIP_EACH_LINE == 0, "tables begin at a line");
_Static_assert(TRIP_EACH_MAX <= 64, "a bit each");
_Static_assert(TRIP_EACH_WHENS_MAX == TRIP_KEYED_LIMITS, "a limit each");

/* Lines before the tables, and bytes of a zone with so many for these. */
static inline uint32_t
trip_each_first_line(uint32_t n_queues)
{
	return (uint32_t)((sizeof(struct trip_each_zone) +
				  (size_t)n_queues * sizeof(struct trip_each_queue)) /
			  TRIP_EACH_LINE);
}

static inline size_t
trip_each_zone_size(uint32_t n_queues, uint64_t bytes)
{
	return (size_t)trip_each_first_line(n_queues) * TRIP_EACH_LINE + bytes;
}

static inline struct trip_keyed *
trip_each_table(const struct trip_each_zone *zone, uint32_t line)
{
	return (struct trip_keyed *)((uintptr_t)zone + (size_t)line * TRIP_EACH_LINE);
}

/* Where one of its tables begins; what is behind them, for n_tables. */
static inline uint32_t
trip_each_table_line(const struct trip_each_statement *statement, uint32_t table)
{
	return statement->first_line + table * statement->table_lines;
}

/* A condition that is none by itself, but what its members are. */
static inline bool
trip_each_is_group(const struct trip_each_when *when)
{
	return when->group != TRIP_EACH_ITSELF;
}

/* Its keys may be told again and again, or begin anew. */
static inline bool
trip_each_is_told_again(const struct trip_each_statement *statement)
{
	return (statement->again | statement->anew) != 0;
}

/* Microseconds for which what a condition does lasts, at first; 0: for ever. */
static inline uint64_t
trip_each_act_time(const struct trip_each_act *act)
{
	if (act->until_us != 0)
		return act->until_us;
	return act->op == TRIP_EACH_OP_DROP ? act->time_us : 0;
}

/* Something is told of its keys. */
static inline bool
trip_each_tells_trips(const struct trip_each_statement *statement)
{
	return statement->n_whens > 0 || statement->hands;
}

/* What its trips take; 0: there are none. */
static inline uint32_t
trip_each_statement_ring_lines(const struct trip_each_statement *statement)
{
	const struct trip_each_ring_at at = {.kept = statement->kept,
		.n_tables = statement->n_tables,
		.hands = statement->hands,
		.lives = trip_each_is_told_again(statement)};

	return trip_each_tells_trips(statement)
		       ? (uint32_t)(trip_each_ring_size(&at) / TRIP_EACH_LINE)
		       : 0;
}

/* With all that belongs to it. */
static inline uint64_t
trip_each_statement_lines(const struct trip_each_statement *statement)
{
	return (uint64_t)statement->n_tables * statement->table_lines + statement->ring_lines +
	       statement->help_lines + statement->hand_lines;
}

/* Of one that tells of its keys. */
static inline struct trip_each_ring_at
trip_each_statement_ring(
	const struct trip_each_zone *zone, const struct trip_each_statement *statement)
{
	uint32_t line = trip_each_table_line(statement, statement->n_tables);

	return (struct trip_each_ring_at){
		.ring = (struct trip_each_ring *)((uintptr_t)zone + (size_t)line * TRIP_EACH_LINE),
		.kept = statement->kept,
		.n_tables = statement->n_tables,
		.hands = statement->hands,
		.lives = trip_each_is_told_again(statement),
		.anew = statement->anew};
}

/* The key of a packet in hand, where the statement counts it; `sent`: 0 or TRIP_WANT_SENT. */
bool trip_each_queue_key(const struct trip_each_statement *statement, const struct rte_mbuf *pkt,
	uint32_t sent, uint64_t key[TRIP_EACH_KEY_WORDS]);

/* A pattern as what a packet must be; and what a parser is to be asked for. */
void trip_each_queue_filter(
	const struct trip_pattern *pattern, struct trip_each_statement *statement);

/* The counter that trips raise is at this or above from now on: rings its home. */
typedef void (*trip_each_raise)(void *arg, uint32_t cntr, uint64_t trips);

/* A queue, for whoever polls it: memory of this process. */
struct trip_each_poll {
	/* Its bits. The primary's control threads write them, too. */
	_Atomic uint64_t open;
	/* NULL: the domain has none. */
	struct trip_each_zone *zone;
	struct trip_each_queue *queue;
	trip_each_raise raise;
	void *arg;
	/* Of the burst: microseconds, and statements. */
	uint64_t now, counts;
	/* Of the chunk: packets that no statement sees. */
	uint32_t skipped;
	/* When tables are to be swept next, if no packet comes. */
	uint64_t sweep_at;
};

/* A chunk of packets, parsed with what trip_each_queue_begin() has returned. */
struct trip_each_chunk {
	const struct trip_packet_fields *fields;
	const uint32_t *bytes;
	uint32_t count;
};

static inline uint64_t
trip_each_queue_open(const struct trip_each_poll *poll)
{
	/* Acquire: R4. Partner: the release of whoever shows a statement. */
	return atomic_load_explicit(&poll->open, memory_order_acquire);
}

/* R4 in another process. */
static inline void
trip_each_queue_follow(struct trip_each_poll *poll)
{
	if (poll->queue != NULL)
		atomic_store_explicit(&poll->open,
			atomic_load_explicit(&poll->queue->open, memory_order_acquire),
			memory_order_relaxed);
}

/* Within a burst. At its beginning: TRIP_WANT_*. */
uint32_t trip_each_queue_begin(struct trip_each_poll *poll, uint64_t now);

/* Each chunk, once it is known which are skipped. Returns which packets are to be dropped. */
uint32_t trip_each_queue_count(struct trip_each_poll *poll, const struct trip_each_chunk *chunk);

/* Where no packets came; and before the first burst of whoever has taken the queue over. */
void trip_each_queue_sweep(struct trip_each_poll *poll, uint64_t now);
void trip_each_queue_recover(struct trip_each_poll *poll, uint64_t now);

#endif
