/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of one side of a port as data, for processes that poll its queues: a file in memory
 * that the primary alone can write (sealed), and others map to read. It holds what a table is made
 * from, packed: a rule is its rank, sequence, mark and key, 32 bytes where the key has 12, and
 * refers to a mask that rules have in common. Pages are there once they are written.
 *
 * A rule's word, which is its sequence, its mask and whether it is PASSTHRU, comes last and goes
 * first, and no word is used twice: a reader that finds the same word before and after it has read
 * the rest has read one rule. A mask stays as long as a rule refers to it. So a reader may stop, or
 * die, at any instruction, and holds up nothing.
 *
 * Each change is in a log of indices, of which the last TRIP_RULEBOOK_LOG are kept: `changes` says
 * how many there have been. Who has missed more looks at all rules.
 */
#ifndef TRIP_RULEBOOK_H
#define TRIP_RULEBOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

#define TRIP_RULEBOOK_LOG 4096

struct trip_rulebook_head {
	_Alignas(64) _Atomic uint64_t changes;
	/* No rule has an index as high. */
	_Atomic uint32_t high;
	_Alignas(64) _Atomic uint32_t log[TRIP_RULEBOOK_LOG];
};

struct trip_rulebook_mask {
	_Atomic uint64_t words[TRIP_PACKET_WORDS];
	/* What the presence bits must be. */
	_Atomic uint64_t bits;
};

struct trip_rulebook_rule {
	/* 0: there is none. */
	_Atomic uint64_t word;
	_Atomic uint64_t rank;
	_Atomic uint64_t mark_half;
	_Atomic uint64_t first;
};

_Static_assert(sizeof(struct trip_rulebook_rule) == 32, "packed");

/* What a key has beyond its first word. */
struct trip_rulebook_tail {
	_Atomic uint64_t words[TRIP_TUPLE_WORDS_MAX - 1];
};

/* A view of it, of this process. */
struct trip_rulebook {
	struct trip_rulebook_head *head;
	struct trip_rulebook_mask *masks; /* [TRIP_TABLE_MASKS_MAX] */
	struct trip_rulebook_rule *rules; /* [max_rules] */
	struct trip_rulebook_tail *tails;
	uint32_t max_rules;
	/* The writer's: rules that refer to each mask. */
	uint32_t users[TRIP_TABLE_MASKS_MAX];
};

/* Bytes of a side; the sides of a port lie one behind the other. */
size_t trip_rulebook_size(uint32_t max_rules);

/* A new file of that size, mapped: its descriptor, sealed against writes, or a negative errno. */
int trip_rulebook_create(size_t size, void **memory);

void trip_rulebook_view(struct trip_rulebook *rules, void *memory, uint32_t max_rules);

/* The writer's, one at a time. */

/* -ENOSPC: one mask more than TRIP_TABLE_MASKS_MAX, which a table would have refused. */
int trip_rulebook_put(struct trip_rulebook *rules, const struct trip_table_rule *rule,
	const struct trip_pattern *pattern);

/* Returns the stamp of the change: see claim.h. */
uint64_t trip_rulebook_take(struct trip_rulebook *rules, uint32_t index);

/* A change of something else that bursts look at, and its stamp. */
uint64_t trip_rulebook_touch(struct trip_rulebook *rules);

/* Anybody's. */

static inline uint64_t
trip_rulebook_changes(const struct trip_rulebook *rules)
{
	/* Partner: the release in note_change(), rulebook.c. */
	return atomic_load_explicit(&rules->head->changes, memory_order_acquire);
}

/* Of the rule that has the index now, 0: none. */
static inline uint64_t
trip_rulebook_sequence(const struct trip_rulebook *rules, uint32_t index)
{
	return atomic_load_explicit(&rules->rules[index].word, memory_order_relaxed) >> 9;
}

/* The rule that has the index; false: none, or it is changing, which will be in the log. */
bool trip_rulebook_get(const struct trip_rulebook *rules, uint32_t index,
	struct trip_table_rule *rule, struct trip_pattern *pattern);

/* The index that change `at` was about; false: it is too long ago. */
bool trip_rulebook_change(const struct trip_rulebook *rules, uint64_t at, uint32_t *index);

#endif
