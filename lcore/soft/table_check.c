/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds of a table between two calls of its writers. */
#include <errno.h>
#include <stdio.h>

#include "table_priv.h"

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
