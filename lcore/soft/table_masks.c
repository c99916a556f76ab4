/* SPDX-License-Identifier: BSD-3-Clause */
/* The masks of a table: a tuple for each, and the order in which readers search them. */
#include <errno.h>

#include "table_priv.h"

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

struct trip_table_view *
trip_table_masks_view(const struct trip_table *table)
{
	struct trip_table_view *view;
	uint32_t count = table->tuple_count, j;

	view = trip_memory_take(sizeof(*view) + count * sizeof(view->at[0]));
	if (view == NULL)
		return NULL;
	view->count = count;
	for (uint32_t i = 0; i < count; i++) {
		for (j = i; j > 0 && goes_before(table->tuples[i], view->at[j - 1].tuple); j--)
			view->at[j] = view->at[j - 1];
		view->at[j].tuple = table->tuples[i];
		view->wants |= table->tuples[i]->bits_mask & (TRIP_WANT_MORE | TRIP_WANT_TUNNEL);
		view->tests |= table->tuples[i]->packet_mask[TRIP_PLACE_TESTS / 8];
	}
	for (uint32_t i = 0; i < count; i++)
		view->at[i].final = i + 1 == count ||
				    (view->at[i].tuple->worst < best_of(view->at[i + 1].tuple) &&
					    view->at[i + 1].tuple->also == 0);
	return view;
}

static int
publish_view(struct trip_table *table)
{
	struct trip_table_view *old, *view = trip_table_masks_view(table);

	if (view == NULL)
		return -ENOMEM;
	trip_table_count_change(table);
	old = atomic_load_explicit(&table->view, memory_order_relaxed);
	/* Release; partner: the acquire at the beginning of a burst. */
	atomic_store_explicit(&table->view, view, memory_order_release);
	trip_memory_retire(&table->retired, old, &table->era);
	return 0;
}

uint32_t
trip_table_masks_find(const struct trip_table *table, const struct trip_pattern *pattern)
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

int
trip_table_masks_add(struct trip_table *table, const struct trip_pattern *pattern)
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

void
trip_table_masks_drop(struct trip_table *table, struct trip_tuple *tuple)
{
	uint32_t i = 0;

	for (; table->tuples[i] != tuple; i++)
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

int
trip_table_masks_widen(
	struct trip_table *table, struct trip_tuple *tuple, const struct trip_table_rule *rule)
{
	uint64_t rank = trip_table_rank(rule), best = tuple->best, worst = tuple->worst;
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
