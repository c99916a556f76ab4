/* SPDX-License-Identifier: BSD-3-Clause */
/* A table as those see it who change it; its masks, and the order in which they are searched. */
#ifndef TRIP_TABLE_PRIV_H
#define TRIP_TABLE_PRIV_H

#include "table.h"

static inline uint32_t
trip_table_next(const struct trip_table *table, uint32_t rule)
{
	return atomic_load_explicit(&table->entries[rule].next, memory_order_relaxed);
}

/* The tuple in which a rule is, or NULL. */
static inline struct trip_tuple *
trip_table_tuple(const struct trip_table *table, uint32_t rule)
{
	uint16_t id = table->entries[rule].tuple;

	return id != TRIP_TABLE_LEAVING ? table->by_id[id] : NULL;
}

/* Before what a reader under way could trip over; the release that follows publishes it. */
static inline void
trip_table_count_change(struct trip_table *table)
{
	atomic_store_explicit(&table->changes,
		atomic_load_explicit(&table->changes, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static inline uint64_t
trip_table_rank(const struct trip_table_rule *rule)
{
	return (uint64_t)rule->group << 32 | rule->priority;
}

static inline bool
trip_table_before(const struct trip_table_entry *a, const struct trip_table_entry *b)
{
	return a->rank != b->rank ? a->rank < b->rank
				  : trip_table_sequence(a) < trip_table_sequence(b);
}

/* The masks that the table has now, in order; NULL: no memory. */
struct trip_table_view *trip_table_masks_view(const struct trip_table *table);

/* The tuple of this mask, or tuple_count. */
uint32_t trip_table_masks_find(const struct trip_table *table, const struct trip_pattern *pattern);

/* An empty tuple more, the last; readers do not know it before the next view. -ENOSPC, -ENOMEM. */
int trip_table_masks_add(struct trip_table *table, const struct trip_pattern *pattern);

/* Take an empty tuple out; where there is no memory for a view without it, it stays, empty. */
void trip_table_masks_drop(struct trip_table *table, struct trip_tuple *tuple);

/*
 * Widen what is known of a tuple's rules, and tell the readers before the first rule outside the
 * old bounds can be found. -ENOMEM.
 */
int trip_table_masks_widen(
	struct trip_table *table, struct trip_tuple *tuple, const struct trip_table_rule *rule);

#endif
