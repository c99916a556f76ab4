/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

static uint32_t
next_of(const struct trip_table *table, uint32_t rule)
{
	return atomic_load_explicit(&table->entries[rule].next, memory_order_relaxed);
}

/* The tuple in which a rule is, or NULL. */
static struct trip_tuple *
tuple_of(const struct trip_table *table, uint32_t rule)
{
	uint16_t id = table->entries[rule].tuple;

	return id != TRIP_TABLE_LEAVING ? table->by_id[id] : NULL;
}

static void
set_next(struct trip_table *table, uint32_t rule, uint32_t next)
{
	/* Release: the rule behind it was written before. Partner: the readers' walk of a chain. */
	atomic_store_explicit(&table->entries[rule].next, next, memory_order_release);
}

/* Before anything that a reader under way could trip over; published by the release that follows.
 */
static void
count_change(struct trip_table *table)
{
	atomic_store_explicit(&table->changes,
		atomic_load_explicit(&table->changes, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static uint64_t
rank_of(const struct trip_table_rule *rule)
{
	return (uint64_t)rule->group << 32 | rule->priority;
}

/* Masks with `also` rules go first and never end a search: all of those rules count. */
static uint64_t
best_of(const struct trip_tuple *tuple)
{
	return tuple->also > 0 ? 0 : tuple->best;
}

static bool
goes_before(const struct trip_tuple *a, const struct trip_tuple *b)
{
	if ((a->also > 0) != (b->also > 0))
		return a->also > 0;
	return best_of(a) < best_of(b);
}

static struct trip_table_view *
view_of(const struct trip_table *table)
{
	struct trip_table_view *view;
	uint32_t count = table->tuple_count, i, j;

	view = trip_memory_take(sizeof(*view) + count * sizeof(view->at[0]));
	if (view == NULL)
		return NULL;
	view->count = count;
	for (i = 0; i < count; i++) {
		for (j = i; j > 0 && goes_before(table->tuples[i], view->at[j - 1].tuple); j--)
			view->at[j] = view->at[j - 1];
		view->at[j].tuple = table->tuples[i];
		view->wants |= table->tuples[i]->bits_mask & (TRIP_WANT_MORE | TRIP_WANT_TUNNEL);
	}
	for (i = 0; i < count; i++)
		view->at[i].final = i + 1 == count ||
				    (view->at[i].tuple->worst < best_of(view->at[i + 1].tuple) &&
					    view->at[i + 1].tuple->also == 0);
	return view;
}

static int
publish_view(struct trip_table *table)
{
	struct trip_table_view *old, *view = view_of(table);

	if (view == NULL)
		return -ENOMEM;
	count_change(table);
	old = atomic_load_explicit(&table->view, memory_order_relaxed);
	/* Release; partner: the acquire at the beginning of a burst. */
	atomic_store_explicit(&table->view, view, memory_order_release);
	trip_memory_retire(&table->retired, old, &table->era);
	return 0;
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
	view = view_of(made);
	if (made->entries == NULL || made->marks == NULL || view == NULL) {
		trip_memory_give(view);
		trip_memory_give(made->marks);
		trip_memory_give(made->entries);
		trip_memory_give(made);
		return -ENOMEM;
	}
	trip_era_init(&made->era);
	atomic_init(&made->view, view);
	*table = made;
	return 0;
}

void
trip_table_close(struct trip_table *table)
{
	uint32_t i;

	if (table == NULL)
		return;
	for (i = 0; i < table->tuple_count; i++)
		trip_tuple_close(table->tuples[i]);
	trip_memory_drain(&table->retired);
	trip_memory_give(atomic_load_explicit(&table->view, memory_order_relaxed));
	trip_memory_give(table->marks);
	trip_memory_give(table->entries);
	trip_memory_give(table);
}

/* The tuple of this mask, or tuple_count. */
static uint32_t
find_tuple(const struct trip_table *table, const struct trip_pattern *pattern)
{
	uint32_t i;

	if (table->last_tuple < table->tuple_count &&
		trip_tuple_same_mask(table->tuples[table->last_tuple], pattern))
		return table->last_tuple;
	for (i = 0; i < table->tuple_count; i++)
		if (trip_tuple_same_mask(table->tuples[i], pattern))
			break;
	return i;
}

/* An empty tuple more; readers do not know it before the next view. */
static int
add_tuple(struct trip_table *table, const struct trip_pattern *pattern)
{
	struct trip_tuple *tuple;

	if (table->tuple_count == TRIP_TABLE_MASKS_MAX)
		return -ENOSPC;
	tuple = trip_tuple_open(pattern);
	if (tuple == NULL)
		return -ENOMEM;
	for (tuple->id = 1; table->by_id[tuple->id] != NULL; tuple->id++)
		;
	table->by_id[tuple->id] = tuple;
	table->tuples[table->tuple_count++] = tuple;
	return 0;
}

/* Take an empty tuple out; where there is no memory for a view without it, it stays, empty. */
static void
drop_tuple(struct trip_table *table, struct trip_tuple *tuple)
{
	uint32_t i;

	for (i = 0; table->tuples[i] != tuple; i++)
		;
	table->tuples[i] = table->tuples[--table->tuple_count];
	if (publish_view(table) != 0) {
		table->tuple_count++;
		table->tuples[table->tuple_count - 1] = table->tuples[i];
		table->tuples[i] = tuple;
		return;
	}
	table->by_id[tuple->id] = NULL;
	trip_memory_retire(&table->retired,
		atomic_load_explicit(&tuple->array, memory_order_relaxed), &table->era);
	trip_memory_retire(&table->retired, tuple, &table->era);
}

/*
 * Widen what is known of a tuple's rules, and tell the readers before the first rule outside the
 * old bounds can be found.
 */
static int
widen(struct trip_table *table, struct trip_tuple *tuple, const struct trip_table_rule *rule)
{
	uint64_t rank = rank_of(rule), best = tuple->best, worst = tuple->worst;
	bool first_also = rule->also && tuple->also == 0;

	if (tuple->rules > 0 && rank >= best && rank <= worst && !first_also)
		return 0;
	tuple->best = rank < best ? rank : best;
	tuple->worst = rank > worst ? rank : worst;
	tuple->also += first_also;
	if (publish_view(table) != 0) {
		tuple->best = best;
		tuple->worst = worst;
		tuple->also -= first_also;
		return -ENOMEM;
	}
	tuple->also -= first_also;
	return 0;
}

static void
note_moved(void *arg, uint32_t lead, uint64_t slot)
{
	struct trip_table *table = arg;

	for (lead &= TRIP_TUPLE_RULE; lead != 0; lead = next_of(table, lead - 1))
		table->entries[lead - 1].slot = (uint32_t)slot;
}

static bool
entry_before(const struct trip_table_entry *a, const struct trip_table_entry *b)
{
	return a->rank != b->rank ? a->rank < b->rank
				  : trip_table_sequence(a) < trip_table_sequence(b);
}

/* What a slot whose first rule is `rule` says. */
static uint32_t
lead_of(const struct trip_table *table, uint32_t rule)
{
	bool plain = next_of(table, rule) == 0 && !table->entries[rule].also;

	return (rule + 1) | (plain ? 0 : TRIP_TUPLE_CHAIN);
}

/* Among the rules that have the same mask and key already, in order. */
static void
link_rule(struct trip_table *table, struct trip_tuple *tuple, uint64_t slot, uint32_t rule)
{
	const struct trip_table_entry *entry = &table->entries[rule];
	uint32_t at = trip_tuple_get(tuple, slot) & TRIP_TUPLE_RULE, before = 0;
	uint32_t first = at;

	while (at != 0 && !entry_before(entry, &table->entries[at - 1])) {
		before = at;
		at = next_of(table, at - 1);
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
	uint32_t next = next_of(table, rule);

	if (first == rule + 1) {
		if (next == 0)
			trip_tuple_erase(tuple, &table->era, slot);
		else
			trip_tuple_set(tuple, slot, lead_of(table, next - 1));
		return;
	}
	while (next_of(table, at - 1) != rule + 1)
		at = next_of(table, at - 1);
	set_next(table, at - 1, next);
	trip_tuple_set(tuple, slot, lead_of(table, first - 1));
}

static int
check_rule(struct trip_table *table, const struct trip_table_rule *rule)
{
	if (rule->rule >= table->max_rules || rule->sequence > TRIP_TABLE_SEQUENCE_MAX)
		return -EINVAL;
	if (tuple_of(table, rule->rule) != NULL)
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
	at = find_tuple(table, pattern);
	if (at == table->tuple_count)
		status = add_tuple(table, pattern);
	if (status != 0)
		return status;
	tuple = table->tuples[at];
	if (!trip_tuple_has_room(tuple))
		status = trip_tuple_grow(tuple, &table->era, &table->retired, note_moved, table);
	if (status == 0)
		status = widen(table, tuple, rule);
	if (status != 0) {
		if (tuple->rules == 0)
			drop_tuple(table, tuple);
		return status;
	}
	table->last_tuple = at;
	entry = &table->entries[rule->rule];
	entry->rank = rank_of(rule);
	entry->sequence_low = (uint32_t)rule->sequence;
	entry->sequence_high = (uint16_t)(rule->sequence >> 32) & 0x7fff;
	entry->also = rule->also;
	/* Most rules have none: its page need not be there for that. */
	if (table->marks[rule->rule] != rule->mark)
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

	if (rule >= table->max_rules || tuple_of(table, rule) == NULL)
		return;
	entry = &table->entries[rule];
	tuple = tuple_of(table, rule);
	count_change(table);
	unlink_rule(table, tuple, entry->slot, rule);
	entry->tuple = TRIP_TABLE_LEAVING;
	entry->stamp = (uint32_t)trip_era_retire(&table->era);
	tuple->rules--;
	tuple->also -= entry->also;
	table->rules--;
	if (tuple->rules == 0)
		drop_tuple(table, tuple);
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
	const struct trip_tuple *tuple = index < table->max_rules ? tuple_of(table, index) : NULL;
	const struct trip_table_entry *entry;

	if (tuple == NULL)
		return false;
	entry = &table->entries[index];
	*rule = (struct trip_table_rule){
		.rule = index,
		.group = (uint32_t)(entry->rank >> 32),
		.priority = (uint32_t)entry->rank,
		.sequence = trip_table_sequence(entry),
		.mark = table->marks[index],
		.also = entry->also,
	};
	trip_tuple_pattern(tuple, entry->slot, pattern);
	return true;
}

void
trip_table_attach(struct trip_table *table, struct trip_era_reader *reader)
{
	trip_era_attach(&table->era, reader);
}

void
trip_table_detach(struct trip_table *table, struct trip_era_reader *reader)
{
	trip_era_detach(&table->era, reader);
}

uint64_t
trip_table_sequence_of(const struct trip_table *table, uint32_t index)
{
	return tuple_of(table, index) != NULL ? trip_table_sequence(&table->entries[index]) : 0;
}

uint32_t
trip_table_rules(const struct trip_table *table)
{
	return table->rules;
}

uint32_t
trip_table_masks(const struct trip_table *table)
{
	return table->tuple_count;
}

static int
check_chain(const struct trip_table *table, uint32_t rule)
{
	const struct trip_table_entry *entry = &table->entries[rule];
	uint32_t at = trip_tuple_get(tuple_of(table, rule), entry->slot) & TRIP_TUPLE_RULE;
	uint32_t before = 0;

	while (at != 0 && at != rule + 1) {
		before = at;
		at = next_of(table, at - 1);
	}
	if (at == 0 || (before != 0 && entry_before(entry, &table->entries[before - 1]))) {
		fprintf(stderr, "table: rule %u is not in its slot, or out of order\n", rule);
		return -EINVAL;
	}
	return 0;
}

int
trip_table_check(const struct trip_table *table)
{
	uint32_t i, rules = 0;

	for (i = 0; i < table->tuple_count; i++) {
		rules += table->tuples[i]->rules;
		if (trip_tuple_check(table->tuples[i]) != 0)
			return -EINVAL;
	}
	if (rules != table->rules) {
		fprintf(stderr, "table: %u rules, its tuples have %u\n", table->rules, rules);
		return -EINVAL;
	}
	for (i = 0, rules = 0; i < table->max_rules; i++) {
		if (tuple_of(table, i) == NULL)
			continue;
		rules++;
		if (check_chain(table, i) != 0 ||
			table->entries[i].rank < tuple_of(table, i)->best ||
			table->entries[i].rank > tuple_of(table, i)->worst)
			return -EINVAL;
	}
	return rules == table->rules ? 0 : -EINVAL;
}
