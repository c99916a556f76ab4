/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bits of keys that are close to a limit, which all tables of a statement have in common
 * (keyed.h), are cleared when their keys have gone. Else an attack from many sources leaves all of
 * them set, and each packet is looked for in all tables.
 *
 * Each bit is there twice: whoever has a close key sets both, and either says that it is. When many
 * keys have come close since the last time, one table's poller clears one of the two of all, first
 * the first and then the second. That begins a round, in which each table's poller goes over its
 * entries, some at a time, and sets both bits of all that are close, as those do in any case that
 * come close meanwhile. The next round does not begin before all have: so one of the two is there
 * at each moment, of each key that is close. A table without keys has none.
 *
 * A queue that nobody polls holds that up, and nothing else: its keys' bits stay. Who is killed as
 * he clears has a follower who does the rest.
 */
#include "each_bench.h"

/* Keys that come close before it is worth while: a 64th of the bits. */
#define MANY ((1u << TRIP_KEYED_CLOSE_BITS) / 64)
#define ROUND_SHIFT 32u

void
trip_each_close_come(const struct each_bench *bench, const struct each_judged *judged)
{
	if (bench->close != NULL && bench->statement->shares &&
		trip_keyed_come_close(bench->close, trip_keyed_number(bench->table, judged->key)))
		atomic_fetch_add_explicit(&bench->at.ring->came, 1, memory_order_relaxed);
}

/* All of one of the two, by whoever has taken the round; then others may set them. */
static void
clear(const struct each_bench *bench, uint64_t round)
{
	for (uint32_t i = round & 1; i < TRIP_KEYED_CLOSE_WORDS; i += 2)
		atomic_store_explicit(&bench->close[i], 0, memory_order_relaxed);
	/* Release: they are cleared. Partner: the acquire in trip_each_close_step(). */
	atomic_store_explicit(&bench->at.ring->round, round << ROUND_SHIFT, memory_order_release);
}

void
trip_each_close_recover(const struct each_bench *bench)
{
	uint64_t word = atomic_load_explicit(&bench->at.ring->round, memory_order_acquire);

	if ((uint32_t)word == bench->own + 1)
		clear(bench, word >> ROUND_SHIFT);
}

/* Whether a table's poller has set those of all its keys. */
static bool
has_passed(const struct each_bench *bench, uint32_t table, uint64_t round)
{
	/* Acquire: its bits. Partner: the release in pass(). */
	if (atomic_load_explicit(
		    &trip_each_ring_head(&bench->at, table)->passed, memory_order_acquire) == round)
		return true;
	return table != bench->own && trip_keyed_is_empty(trip_each_table(bench->poll->zone,
					      trip_each_table_line(bench->statement, table)));
}

/* The next round, if all have gone through this one. */
static void
begin(const struct each_bench *bench, uint64_t word)
{
	uint64_t round = word >> ROUND_SHIFT, next = (uint32_t)(round + 1);

	for (uint32_t i = 0; i < bench->statement->n_tables; i++)
		if (!has_passed(bench, i, round))
			return;
	if (!atomic_compare_exchange_strong_explicit(&bench->at.ring->round, &word,
		    next << ROUND_SHIFT | (bench->own + 1), memory_order_acq_rel,
		    memory_order_relaxed))
		return;
	atomic_store_explicit(&bench->at.ring->came, 0, memory_order_relaxed);
	clear(bench, next);
}

/* True: there are more entries. */
static bool
pass(const struct each_bench *bench, uint64_t round, uint32_t looks)
{
	struct trip_each_head *head = trip_each_ring_head(&bench->at, bench->own);
	uint64_t hand = atomic_load_explicit(&head->hand, memory_order_relaxed);
	const uint32_t n = trip_keyed_entries(bench->table);

	if (atomic_load_explicit(&head->passing, memory_order_relaxed) != round || hand > n)
		hand = 0;
	atomic_store_explicit(&head->passing, round, memory_order_relaxed);
	hand = trip_keyed_near(bench->table, (uint32_t)hand, looks, bench->close);
	atomic_store_explicit(&head->hand, hand, memory_order_relaxed);
	if (hand < n)
		return true;
	/* Release: the bits. Partner: the acquire in has_passed(). */
	atomic_store_explicit(&head->passed, round, memory_order_release);
	return false;
}

bool
trip_each_close_step(const struct trip_each_poll *poll, uint32_t which, uint32_t looks)
{
	const struct trip_each_ring *ring =
		trip_each_statement_ring(poll->zone, &poll->zone->statements[which]).ring;
	uint64_t word = atomic_load_explicit(&ring->round, memory_order_acquire);
	uint64_t came = atomic_load_explicit(&ring->came, memory_order_relaxed);
	const struct trip_each_head *head;
	struct each_bench bench;

	/* There was no round yet, nor is one due, as it mostly is; or they are being cleared. */
	if ((word == 0 && came < MANY) || (uint32_t)word != 0)
		return false;
	bench = trip_each_judge_bench(poll, which);
	head = trip_each_ring_head(&bench.at, bench.own);
	if (atomic_load_explicit(&head->passed, memory_order_relaxed) != word >> ROUND_SHIFT)
		return pass(&bench, word >> ROUND_SHIFT, looks);
	if (came >= MANY)
		begin(&bench, word);
	return false;
}
