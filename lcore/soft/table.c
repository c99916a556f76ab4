/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds, removes and replaces rules of a table. */
#include <errno.h>

#include "table_priv.h"

static void
set_next(struct trip_table *table, uint32_t rule, uint32_t next)
{
	/* Release: the rule behind it was written before. Partner: the readers' walk of a chain. */
	atomic_store_explicit(&table->entries[rule].next, next, memory_order_release);
}

int
trip_table_open(uint32_t max_rules, struct trip_table **table)
{
	struct trip_table *made;
	struct trip_table_view *view;

	if (max_rules == 0 || max_rules > TRIP_TABLE_RULES_MAX)
		return -EINVAL;
	made = trip_memory_take(sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->max_rules = max_rules;
	made->entries = trip_memory_reserve((size_t)max_rules * sizeof(*made->entries));
	made->marks = trip_memory_reserve((size_t)max_rules * sizeof(*made->marks));
	view = trip_table_masks_view(made);
	if (made->entries == NULL || made->marks == NULL || view == NULL) {
		trip_memory_give(view);
		trip_memory_give(made->marks);
		trip_memory_give(made->entries);
		trip_memory_give(made);
		return -ENOMEM;
	}
	trip_era_init(&made->era);
	trip_within_init(&made->within);
	atomic_init(&made->view, view);
	*table = made;
	return 0;
}

void
trip_table_close(struct trip_table *table)
{
	if (table == NULL)
		return;
	for (uint32_t i = 0; i < table->tuple_count; i++)
		trip_tuple_close(table->tuples[i]);
	trip_memory_drain(&table->retired);
	trip_memory_give(atomic_load_explicit(&table->view, memory_order_relaxed));
	trip_memory_give(table->marks);
	trip_memory_give(table->entries);
	trip_memory_give(table);
}

static void
note_moved(void *arg, uint32_t lead, uint64_t slot)
{
	struct trip_table *table = arg;

	for (lead &= TRIP_TUPLE_RULE; lead != 0; lead = trip_table_next(table, lead - 1))
		table->entries[lead - 1].slot = (uint32_t)slot;
}

/* What a slot whose first rule is `rule` says. */
static uint32_t
lead_of(const struct trip_table *table, uint32_t rule)
{
	bool plain = trip_table_next(table, rule) == 0 && !table->entries[rule].also;

	return (rule + 1) | (plain ? 0 : TRIP_TUPLE_CHAIN);
}

/* Among the rules that have the same mask and key already, in order. */
static void
link_rule(struct trip_table *table, struct trip_tuple *tuple, uint64_t slot, uint32_t rule)
{
	const struct trip_table_entry *entry = &table->entries[rule];
	uint32_t at = trip_tuple_get(tuple, slot) & TRIP_TUPLE_RULE, before = 0;
	uint32_t first = at;

	while (at != 0 && !trip_table_before(entry, &table->entries[at - 1])) {
		before = at;
		at = trip_table_next(table, at - 1);
	}
	set_next(table, rule, at);
	if (before == 0) {
		trip_tuple_set(tuple, slot, lead_of(table, rule));
		return;
	}
	set_next(table, before - 1, rule + 1);
	trip_tuple_set(tuple, slot, lead_of(table, first - 1));
}

static void
unlink_rule(struct trip_table *table, struct trip_tuple *tuple, uint64_t slot, uint32_t rule)
{
	uint32_t first = trip_tuple_get(tuple, slot) & TRIP_TUPLE_RULE, at = first;
	uint32_t next = trip_table_next(table, rule);

	if (first == rule + 1) {
		if (next == 0)
			trip_tuple_erase(tuple, &table->era, slot);
		else
			trip_tuple_set(tuple, slot, lead_of(table, next - 1));
		return;
	}
	while (trip_table_next(table, at - 1) != rule + 1)
		at = trip_table_next(table, at - 1);
	set_next(table, at - 1, next);
	trip_tuple_set(tuple, slot, lead_of(table, first - 1));
}

static int
check_rule(struct trip_table *table, const struct trip_table_rule *rule)
{
	if (rule->rule >= table->max_rules || rule->sequence > TRIP_TABLE_SEQUENCE_MAX)
		return -EINVAL;
	if (trip_table_tuple(table, rule->rule) != NULL)
		return -EEXIST;
	if (!trip_table_quiet(table, rule->rule))
		return -EBUSY;
	return 0;
}

/* The entry is filled in, its tuple is known to readers, and nothing can fail any more. */
static void
insert_rule(struct trip_table *table, struct trip_tuple *tuple, uint32_t rule,
	const struct trip_tuple_key *key)
{
	uint64_t slot = trip_tuple_find(tuple, key);

	if (slot == TRIP_TUPLE_NO_SLOT) {
		set_next(table, rule, 0);
		slot = trip_tuple_insert(tuple, &table->era, key, lead_of(table, rule));
	} else {
		link_rule(table, tuple, slot, rule);
	}
	table->entries[rule].slot = (uint32_t)slot;
	table->entries[rule].tuple = (uint16_t)tuple->id;
	tuple->rules++;
	tuple->also += table->entries[rule].also;
	table->rules++;
}

int
trip_table_add(struct trip_table *table, const struct trip_table_rule *rule,
	const struct trip_pattern *pattern)
{
	int status = check_rule(table, rule);
	struct trip_tuple_key key;
	struct trip_table_entry *entry;
	struct trip_tuple *tuple;
	uint32_t at;

	if (status != 0)
		return status;
	trip_memory_reclaim(&table->retired, &table->era);
	at = trip_table_masks_find(table, pattern);
	if (at == table->tuple_count)
		status = trip_table_masks_add(table, pattern);
	if (status != 0)
		return status;
	tuple = table->tuples[at];
	if (!trip_tuple_has_room(tuple))
		status = trip_tuple_grow(tuple, &table->era, &table->retired, note_moved, table);
	if (status == 0)
		status = trip_table_masks_widen(table, tuple, rule);
	if (status != 0) {
		if (tuple->rules == 0)
			trip_table_masks_drop(table, tuple);
		return status;
	}
	table->last_tuple = at;
	entry = &table->entries[rule->rule];
	entry->rank = trip_table_rank(rule);
	entry->sequence_low = (uint32_t)rule->sequence;
	entry->sequence_high = (uint16_t)(rule->sequence >> 32) & 0x7fff;
	entry->also = rule->also;
	/* Most rules have none: its page need not be there for that. */
	table->marked |= rule->mark != 0;
	if (table->marked && table->marks[rule->rule] != rule->mark)
		table->marks[rule->rule] = rule->mark;
	trip_tuple_make_key(tuple, pattern, &key);
	insert_rule(table, tuple, rule->rule, &key);
	return 0;
}

void
trip_table_remove(struct trip_table *table, uint32_t rule)
{
	struct trip_table_entry *entry;
	struct trip_tuple *tuple;

	if (rule >= table->max_rules || trip_table_tuple(table, rule) == NULL)
		return;
	entry = &table->entries[rule];
	tuple = trip_table_tuple(table, rule);
	trip_table_count_change(table);
	unlink_rule(table, tuple, entry->slot, rule);
	entry->tuple = TRIP_TABLE_LEAVING;
	entry->stamp = (uint32_t)trip_era_retire(&table->era);
	tuple->rules--;
	tuple->also -= entry->also;
	table->rules--;
	if (tuple->rules == 0)
		trip_table_masks_drop(table, tuple);
	trip_memory_reclaim(&table->retired, &table->era);
}

bool
trip_table_quiet(struct trip_table *table, uint32_t rule)
{
	struct trip_table_entry *entry = &table->entries[rule];

	if (entry->tuple == TRIP_TABLE_LEAVING && trip_era_safe_low(&table->era, entry->stamp))
		entry->tuple = TRIP_TABLE_NO_RULE;
	return entry->tuple == TRIP_TABLE_NO_RULE;
}

bool
trip_table_get(const struct trip_table *table, uint32_t index, struct trip_table_rule *rule,
	struct trip_pattern *pattern)
{
	const struct trip_tuple *tuple =
		index < table->max_rules ? trip_table_tuple(table, index) : NULL;
	const struct trip_table_entry *entry;

	if (tuple == NULL)
		return false;
	entry = &table->entries[index];
	*rule = (struct trip_table_rule){
		.rule = index,
		.group = (uint32_t)(entry->rank >> 32),
		.priority = (uint32_t)entry->rank,
		.sequence = trip_table_sequence(entry),
		.mark = table->marked ? table->marks[index] : 0,
		.also = entry->also,
	};
	trip_tuple_pattern(tuple, entry->slot, pattern);
	return true;
}

uint64_t
trip_table_sequence_of(const struct trip_table *table, uint32_t index)
{
	return trip_table_tuple(table, index) != NULL ? trip_table_sequence(&table->entries[index])
						      : 0;
}
