/* SPDX-License-Identifier: BSD-3-Clause */
/* What is judged where no packet has come: keys whose holds are over, and what the last one to poll
 * a queue has left. */
#include <string.h>

#include "each_bench.h"

/* Held keys whose ends are told in one call. */
#define ENDS 16u

bool
trip_each_judge_entry(const struct each_bench *bench, struct each_judged *judged, uint32_t entry)
{
	*judged = (struct each_judged){.entry = entry};
	if (!trip_keyed_read(bench->table, entry, &judged->own))
		return false;
	memcpy(judged->key, judged->own.key, bench->statement->key.words * sizeof(judged->key[0]));
	return true;
}

static bool
judge_ends(const struct trip_each_poll *poll, uint32_t which)
{
	struct trip_keyed *table = trip_each_table(poll->zone, poll->queue->lines[which]);
	uint32_t entries[ENDS], n = trip_keyed_ended(table, poll->now, entries, ENDS);
	struct each_judged judged;
	struct each_bench bench;

	if (__builtin_expect(n == 0, 1))
		return false;
	bench = trip_each_judge_bench(poll, which);
	for (uint32_t i = 0; i < n; i++)
		if (trip_each_judge_entry(&bench, &judged, entries[i]))
			trip_each_hold_settle(&bench, &judged);
	return n == ENDS;
}

void
trip_each_judge_added(const struct trip_each_poll *poll, uint32_t which, const uint64_t *key)
{
	const struct each_bench bench = trip_each_judge_bench(poll, which);
	uint32_t entry = trip_keyed_find(bench.table, key);
	struct each_judged judged;

	if (entry != TRIP_KEYED_NONE && trip_each_judge_entry(&bench, &judged, entry))
		trip_each_judge_key(&bench, &judged);
}

/* Quiet keys that are looked at in one call, of a block at least. */
#define QUIET 64u

static bool
judge_quiet(const struct trip_each_poll *poll, uint32_t which)
{
	struct trip_keyed *table = trip_each_table(poll->zone, poll->queue->lines[which]);
	uint32_t entries[QUIET], n = trip_keyed_quiet(table, poll->now, entries, QUIET);
	struct each_judged judged;
	struct each_bench bench;

	if (__builtin_expect(n == 0, 1))
		return false;
	bench = trip_each_judge_bench(poll, which);
	for (uint32_t i = 0; i < n; i++) {
		if (trip_each_judge_entry(&bench, &judged, entries[i]))
			trip_each_judge_key(&bench, &judged);
		/* Who is killed before that has it found again, and told. */
		trip_keyed_quiet_looked(table, entries[i], poll->now);
	}
	return true;
}

bool
trip_each_judge_behind(const struct trip_each_poll *poll, uint32_t which)
{
	const struct trip_each_statement *statement = &poll->zone->statements[which];
	bool more = (statement->holds != 0 || statement->hands) && judge_ends(poll, which);

	return (statement->quiet != 0 && judge_quiet(poll, which)) || more;
}

/* Whether a condition, or member, is reached by what the key has here. */
static bool
may_be_reached(const struct each_bench *bench, const struct each_judged *judged,
	const struct trip_each_when *is)
{
	uint64_t had = is->of == TRIP_EACH_BYTES ? judged->own.bytes : judged->own.packets;

	if (each_is_rate(is))
		return trip_keyed_exceeds(bench->table, judged->own.bucket) > 0;
	return is->count != 0 && had >= trip_count_share(is->count, bench->statement->n_tables);
}

/* Whether it is to be judged by what it has here. */
static bool
may_have_reached(const struct each_bench *bench, const struct each_judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;

	if (bench->close != NULL &&
		trip_keyed_is_close(bench->close, trip_keyed_number(bench->table, judged->key)))
		return true;
	if (statement->members_told != 0 && judged->own.memos[statement->members_told - 1] != 0)
		return true;
	for (uint32_t when = 0; when < statement->n_whens; when++)
		if (may_be_reached(bench, judged, &statement->whens[when]))
			return true;
	for (uint32_t i = 0; i < statement->n_members; i++)
		if (may_be_reached(bench, judged, &statement->members[i].when))
			return true;
	return false;
}

/* What it was telling, if that is told; `last`: how, NULL: nobody knows. */
static void
recover_told(const struct each_bench *bench, struct each_judged *judged, bool told,
	const struct trip_each_told *last)
{
	const uint8_t again = bench->statement->again | bench->statement->anew;
	uint8_t bits = told ? judged->own.telling : 0;

	if (again != 0 && last != NULL && (last->when & TRIP_EACH_TOLD_END) == 0 &&
		(judged->own.telling & each_bit_of(last->when)) != 0)
		trip_each_anew_told(bench, judged, last);
	trip_each_judge_say(bench, judged, bits & (uint8_t)~again, 0);
}

void
trip_each_judge_recover(const struct trip_each_poll *poll, uint32_t which)
{
	const struct each_bench bench = trip_each_judge_bench(poll, which);
	bool told = trip_each_ring_settle(&bench.at, bench.own), has_last;
	struct trip_each_told last;
	const struct trip_each_told *how;
	const uint32_t n = trip_keyed_entries(bench.table);
	struct each_judged judged;

	if (bench.close != NULL)
		trip_each_close_recover(&bench);
	has_last = told && trip_each_ring_last(&bench.at, bench.own, &last);
	trip_each_judge_raise(&bench, trip_each_ring_trips(&bench.at));
	for (uint32_t entry = 0; entry < n; entry++) {
		if (!trip_each_judge_entry(&bench, &judged, entry))
			continue;
		how = has_last && memcmp(last.key, judged.key, sizeof(last.key)) == 0 ? &last
										      : NULL;
		if (trip_each_hand_recover(&bench, &judged, told))
			continue;
		if (judged.own.telling != 0 && !trip_each_hold_recover(&bench, &judged, told, how))
			recover_told(&bench, &judged, told, how);
		if (may_have_reached(&bench, &judged))
			trip_each_judge_key(&bench, &judged);
	}
}
