/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds of a table, and of its tuples, between two calls of its writers. */
#include <errno.h>
#include <stdio.h>

#include "table_check.h"
#include "table_priv.h"
#include "tuple_priv.h"

static int
check_tuple(const struct trip_tuple *tuple)
{
	const struct trip_tuple_array *array = trip_tuple_array_of(tuple);
	unsigned int slots = trip_tuple_slots(tuple->words);
	uint64_t index, slot, keys = 0, dead = 0, passes = 0, due = 0;
	struct trip_tuple_key key;

	for (index = 0; index < array->count; index++) {
		const struct trip_tuple_side *side = &array->side[index];
		struct trip_tuple_place first =
			trip_tuple_place(array, tuple->words, index * slots);

		passes += side->passed;
		dead += (uint64_t)__builtin_popcount(side->dead);
		if ((trip_tuple_goes_on(first.bucket) != 0) != (side->passed > 0)) {
			fprintf(stderr, "tuple: bucket %llu was passed by %u keys and denies it\n",
				(unsigned long long)index, side->passed);
			return -EINVAL;
		}
	}
	for (slot = 0; slot < array->count * slots; slot++) {
		if (trip_tuple_get(tuple, slot) == 0)
			continue;
		trip_tuple_load_key(
			trip_tuple_place(array, tuple->words, slot), tuple->words, &key);
		keys++;
		due += (slot / slots + array->count - trip_tuple_home_index(tuple, &key)) %
		       array->count;
		if (trip_tuple_find(tuple, &key) != slot) {
			fprintf(stderr, "tuple: slot %llu is not found by its own key\n",
				(unsigned long long)slot);
			return -EINVAL;
		}
	}
	if (keys == tuple->keys && dead == tuple->dead && passes == due)
		return 0;
	fprintf(stderr, "tuple: %llu keys of %llu, %llu dead of %llu, %llu passes of %llu\n",
		(unsigned long long)keys, (unsigned long long)tuple->keys, (unsigned long long)dead,
		(unsigned long long)tuple->dead, (unsigned long long)passes,
		(unsigned long long)due);
	return -EINVAL;
}

static int
check_chain(const struct trip_table *table, uint32_t rule)
{
	const struct trip_table_entry *entry = &table->entries[rule];
	uint32_t at = trip_tuple_get(trip_table_tuple(table, rule), entry->slot) & TRIP_TUPLE_RULE;
	uint32_t before = 0;

	while (at != 0 && at != rule + 1) {
		before = at;
		at = trip_table_next(table, at - 1);
	}
	if (at == 0 || (before != 0 && trip_table_before(entry, &table->entries[before - 1]))) {
		fprintf(stderr, "table: rule %u is not in its slot, or out of order\n", rule);
		return -EINVAL;
	}
	return 0;
}

int
table_check(const struct trip_table *table)
{
	uint32_t i, rules = 0;

	for (i = 0; i < table->tuple_count; i++) {
		rules += table->tuples[i]->rules;
		if (check_tuple(table->tuples[i]) != 0)
			return -EINVAL;
	}
	if (rules != table->rules) {
		fprintf(stderr, "table: %u rules, its tuples have %u\n", table->rules, rules);
		return -EINVAL;
	}
	for (i = 0, rules = 0; i < table->max_rules; i++) {
		if (trip_table_tuple(table, i) == NULL)
			continue;
		rules++;
		if (check_chain(table, i) != 0 ||
			table->entries[i].rank < trip_table_tuple(table, i)->best ||
			table->entries[i].rank > trip_table_tuple(table, i)->worst)
			return -EINVAL;
	}
	return rules == table->rules ? 0 : -EINVAL;
}
