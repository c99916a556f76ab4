/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of one port in one process, for matching: tuple-space search, a hash table per mask.
 *
 * A packet is for the first rule that matches it: by group, then priority, then sequence. That is
 * what looking at one group's table after the other finds, too. `also` rules match besides, in
 * whichever group they are.
 *
 * All of it is private memory of this process. Rules are known by their index, which is also the
 * index of their counts and of their action word.
 *
 * Writers (add, remove, quiet, close, and who attaches readers to the era) are serialised by the
 * caller, by a mutex of its own; they may run while lcores are in bursts. Readers are lcores in
 * trip_soft_burst. What a reader may still look at is never freed or reused: see era.h.
 */
#ifndef TRIP_TABLE_H
#define TRIP_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "era.h"
#include "memory.h"
#include "pattern.h"
#include "tuple.h"
#include "within.h"

/* Different masks in one table; a packet may have to be looked up once for each. */
#define TRIP_TABLE_MASKS_MAX 256
#define TRIP_TABLE_RULES_MAX TRIP_TUPLE_RULE

struct trip_table_rule {
	uint32_t rule;     /* index, below the table's max_rules */
	uint32_t group;    /* as rte_flow has it: the lower goes first */
	uint32_t priority; /* in a group the lower goes first */
	uint64_t sequence; /* at equal priority the lower goes first */
	uint32_t mark;     /* for TRIP_ACTION_MARK */
	bool also;         /* counts in addition to whichever rule takes the packet (PASSTHRU) */
};

#define TRIP_TABLE_SEQUENCE_MAX ((UINT64_C(1) << 47) - 1)

/* What is known of one rule. */
struct trip_table_entry {
	_Atomic uint32_t next; /* rule + 1, 0: last of the rules with this mask and key */
	union {
		uint32_t slot;  /* while it is in the table */
		uint32_t stamp; /* afterwards: of its removal, the lower half */
	};
	uint64_t rank; /* group and priority: the lower goes first */
	uint32_t sequence_low;
	uint16_t sequence_high : 15;
	uint16_t also : 1;
	/* Of its tuple, or one of those two. The writers' alone, so no bit-field of the above. */
	uint16_t tuple;
};

#define TRIP_TABLE_NO_RULE 0
#define TRIP_TABLE_LEAVING UINT16_MAX /* not in the table any more, and not quiet yet */

_Static_assert(sizeof(struct trip_table_entry) == 24, "of a million rules each byte is a megabyte");

static inline uint64_t
trip_table_sequence(const struct trip_table_entry *entry)
{
	return (uint64_t)entry->sequence_high << 32 | entry->sequence_low;
}

/* The masks in the order in which they are searched; never changed, only replaced. */
struct trip_table_view {
	uint32_t count;
	uint32_t wants; /* TRIP_WANT_*, of all masks */
	uint64_t tests; /* bits of all masks (within.h) */
	struct {
		const struct trip_tuple *tuple;
		bool final; /* what is found here is better than all that comes after */
	} at[];
};

struct trip_table {
	/* The readers' line. */
	struct trip_table_entry *entries; /* [max_rules] */
	uint32_t *marks;                  /* [max_rules] */
	struct trip_table_view *_Atomic view;
	_Atomic uint64_t changes;
	struct trip_within within; /* and the writers' */
	/* The writers'. */
	_Alignas(64) struct trip_era era;
	struct trip_memory_retired retired;
	struct trip_tuple *tuples[TRIP_TABLE_MASKS_MAX];
	struct trip_tuple *by_id[TRIP_TABLE_MASKS_MAX + 1]; /* from 1 on; NULL: the id is free */
	uint32_t tuple_count;
	uint32_t last_tuple; /* of the last rule added: the next one's, most often */
	uint32_t max_rules;
	uint32_t rules;
	/* A rule has had a mark. Else nobody looks at them, which would take pages. */
	bool marked;
};

/* -EINVAL, -ENOMEM. Costs 28 bytes of address space a rule at once, pages as they are used. */
int trip_table_open(uint32_t max_rules, struct trip_table **table);

/* No lcore is in a burst any more. */
void trip_table_close(struct trip_table *table);

/*
 * Readers see the rule before this returns or in their next burst. -EINVAL: index out of range,
 * or sequence above TRIP_TABLE_SEQUENCE_MAX.
 * -EEXIST: the index has a rule. -EBUSY: its former rule is not quiet yet. -ENOSPC: one mask more
 * than TRIP_TABLE_MASKS_MAX. -ENOMEM. A rule that was refused has changed nothing.
 */
int trip_table_add(struct trip_table *table, const struct trip_table_rule *rule,
	const struct trip_pattern *pattern);

/*
 * Bursts that begin after this do not match the rule; bursts under way may, until trip_table_quiet
 * says otherwise. An index without a rule is left alone.
 */
void trip_table_remove(struct trip_table *table, uint32_t rule);

/*
 * True when the rule is not in the table and no burst can count on it any more: its counts are
 * final (as this thread reads them from now on), and the index may be used again.
 */
bool trip_table_quiet(struct trip_table *table, uint32_t rule);

/* What was added of a rule, and its pattern; false: it is not in the table. For writers. */
bool trip_table_get(const struct trip_table *table, uint32_t index, struct trip_table_rule *rule,
	struct trip_pattern *pattern);

/* The sequence of the rule that has the index, 0: none. For writers. */
uint64_t trip_table_sequence_of(const struct trip_table *table, uint32_t index);

#endif
