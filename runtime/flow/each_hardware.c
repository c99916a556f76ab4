/* SPDX-License-Identifier: BSD-3-Clause */
/* What readers find of keys in hardware, in any process. */
#include <errno.h>
#include <string.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/each.h"
#include "flow/each_helper.h"
#include "each_help.h"

void
trip_each_hardware_entry(const struct trip_each *each, struct trip_each_entry *entry)
{
	const struct trip_each_statement *statement = &each->statement;
	const struct trip_each_help *help;
	struct trip_each_placed placed;

	if (statement->in_hardware == 0 || entry->op != TRIP_EACH_OP_DROP)
		return;
	help = trip_each_help_of(each->domain->engine.eaches, statement);
	for (uint32_t i = 0; i < statement->in_hardware; i++) {
		if (!trip_each_help_read(
			    trip_each_help_place(help, statement->n_tables, i), &placed) ||
			memcmp(placed.key, entry->key, sizeof(entry->key)) != 0)
			continue;
		entry->hardware_ns = placed.since;
		entry->hardware_packets = placed.packets;
		entry->hardware_bytes = placed.bytes;
		return;
	}
}

static uint64_t
load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Sums on their way to a table. */
static void
add_coming(const struct trip_each_sums *sums, const struct trip_keyed *table,
	struct trip_each_info *info)
{
	uint64_t given = atomic_load_explicit(&sums->given, memory_order_acquire);
	uint64_t added = trip_keyed_added(table);

	for (; given - added <= TRIP_EACH_SUMS && added != given; added++) {
		info->coming_packets += load(&sums->of[added % TRIP_EACH_SUMS].packets);
		info->coming_bytes += load(&sums->of[added % TRIP_EACH_SUMS].bytes);
	}
}

void
trip_each_hardware_info(const struct trip_each *each, struct trip_each_info *info)
{
	const struct trip_each_statement *statement = &each->statement;
	const struct trip_each_help *help;

	if (statement->in_hardware == 0)
		return;
	help = trip_each_help_of(each->domain->engine.eaches, statement);
	info->hardware = statement->in_hardware;
	info->hardware_changes = statement->hardware_changes;
	info->hardware_keys = load(&help->keys);
	info->hardware_waiting = load(&help->waiting);
	info->hardware_packets = load(&help->packets);
	info->hardware_bytes = load(&help->bytes);
	info->coming_packets = load(&help->coming_packets);
	info->coming_bytes = load(&help->coming_bytes);
	info->rule_changes = load(&help->changes);
	info->rules_failed = load(&help->failed);
	info->passed_over = load(&help->passed_over);
	for (uint32_t i = 0; i < statement->n_tables; i++)
		add_coming(trip_each_help_sums(help, i), trip_each_table_at(each, i), info);
}

int
trip_each_settle(struct trip_each *each)
{
	int error =
		trip_progress_check_named(each->domain, "each", each->statement.name, "settle it");

	if (error == 0 && each->found)
		error = trip_error_set(EINVAL,
			"each \"%s\": who has found it does not settle it: who has opened it does",
			each->statement.name);
	return error == 0 ? trip_each_helper_settle(each) : error;
}
