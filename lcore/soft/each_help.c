/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that hardware drops: what is handed to tables, and what readers find. */
#include <string.h>

#include "each_help.h"
#include "each_judge.h"

/* Sums that are added in one call. */
#define TAKES 8u

struct trip_each_help *
trip_each_help_of(const struct trip_each_zone *zone, const struct trip_each_statement *statement)
{
	uint32_t line = trip_each_table_line(statement, statement->n_tables);

	return (struct trip_each_help *)((uintptr_t)zone +
					 (size_t)(line + statement->ring_lines) * TRIP_EACH_LINE);
}

bool
trip_each_help_give(struct trip_each_help *help, uint32_t table, uint64_t added,
	const struct trip_keyed_sum *sum)
{
	struct trip_each_sums *sums = trip_each_help_sums(help, table);
	uint64_t given = atomic_load_explicit(&sums->given, memory_order_relaxed);
	struct trip_each_sum *to = &sums->of[given % TRIP_EACH_SUMS];

	if (given - added >= TRIP_EACH_SUMS)
		return false;
	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		atomic_store_explicit(&to->key[i], sum->key[i], memory_order_relaxed);
	atomic_store_explicit(&to->packets, sum->packets, memory_order_relaxed);
	atomic_store_explicit(&to->bytes, sum->bytes, memory_order_relaxed);
	atomic_store_explicit(&to->since, sum->since, memory_order_relaxed);
	/* Release: the sum. Partner: trip_each_help_take(). */
	atomic_store_explicit(&sums->given, given + 1, memory_order_release);
	return true;
}

static void
load_sum(const struct trip_each_sum *from, struct trip_keyed_sum *sum)
{
	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		sum->key[i] = atomic_load_explicit(&from->key[i], memory_order_relaxed);
	sum->packets = atomic_load_explicit(&from->packets, memory_order_relaxed);
	sum->bytes = atomic_load_explicit(&from->bytes, memory_order_relaxed);
	sum->since = atomic_load_explicit(&from->since, memory_order_relaxed);
}

bool
trip_each_help_take(const struct trip_each_poll *poll, uint32_t which)
{
	const struct trip_each_statement *statement = &poll->zone->statements[which];
	uint32_t line = poll->queue->lines[which];
	struct trip_keyed *table = trip_each_table(poll->zone, line);
	const struct trip_each_sums *sums =
		trip_each_help_sums(trip_each_help_of(poll->zone, statement),
			(line - statement->first_line) / statement->table_lines);
	/* Acquire: the sums. Partner: trip_each_help_give(). */
	uint64_t given = atomic_load_explicit(&sums->given, memory_order_acquire);
	uint64_t added = trip_keyed_added(table);
	struct trip_keyed_sum sum;

	if (__builtin_expect(added == given, 1))
		return false;
	/* Whoever had the table has written anything. */
	if (given - added > TRIP_EACH_SUMS)
		trip_keyed_skip_to(table, added = given);
	for (uint32_t n = 0; n < TAKES && added != given; n++, added++) {
		load_sum(&sums->of[added % TRIP_EACH_SUMS], &sum);
		trip_keyed_add(table, &sum, poll->now);
		trip_each_judge_added(poll, which, sum.key);
	}
	return added != given;
}

bool
trip_each_help_read(const struct trip_each_place *place, struct trip_each_placed *placed)
{
	/* Acquire: what was written before that. Partner: the release of its owner. */
	placed->since = atomic_load_explicit(&place->since, memory_order_acquire);
	if (placed->since == 0)
		return false;
	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		placed->key[i] = atomic_load_explicit(&place->key[i], memory_order_relaxed);
	placed->packets = atomic_load_explicit(&place->packets, memory_order_relaxed);
	placed->bytes = atomic_load_explicit(&place->bytes, memory_order_relaxed);
	/* The next key's are behind its being 0. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&place->since, memory_order_relaxed) == placed->since;
}
