/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has reached a condition, and who says so. */
#include <string.h>

#include "each_judge.h"

/* How often a key is looked at anew where others have told too much meanwhile. Where what another
 * process has written is in the way, that never ends; its next packet is another chance. */
#define LOOKS 1024u

/* A queue, and a statement of it. */
struct bench {
	const struct trip_each_poll *poll;
	const struct trip_each_statement *statement;
	struct trip_keyed *table;
	struct trip_each_ring_at at;
	_Atomic uint64_t *close;
	uint32_t own; /* which of the tables */
};

static struct bench
bench_of(const struct trip_each_poll *poll, uint32_t which)
{
	struct bench bench = {.poll = poll, .statement = &poll->zone->statements[which]};
	uint32_t line = poll->queue->lines[which];

	bench.table = trip_each_table(poll->zone, line);
	bench.own = (line - bench.statement->first_line) / bench.statement->table_lines;
	bench.at = trip_each_statement_ring(poll->zone, bench.statement);
	bench.close = trip_each_ring_close(&bench.at);
	return bench;
}

/* A key that is being judged: what all tables have, and what they say of it. */
struct judged {
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint32_t entry;
	struct trip_keyed_entry own;
	uint64_t packets, bytes;
	uint8_t told, telling; /* by others */
	uint64_t from;         /* trips before it was looked at */
};

static uint8_t
bit_of(uint32_t when)
{
	return (uint8_t)(1u << when);
}

static bool
is_rate(const struct trip_each_when *when)
{
	return when->rate != 0;
}

/* By others; a rate is told as long as their bucket has not been emptied. */
static void
add_other(const struct bench *bench, struct judged *judged, const struct trip_keyed_entry *reading)
{
	judged->packets += reading->packets;
	judged->bytes += reading->bytes;
	judged->telling |= reading->telling;
	judged->told |= reading->told;
	if (trip_keyed_lasts(bench->table, reading->bucket) <= 0)
		judged->told &= (uint8_t)~bench->statement->rates;
}

/* Behind a fence that is behind our counts, and the bit. */
static void
look_at_others(const struct bench *bench, struct judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < statement->n_tables; i++)
		if (i != bench->own &&
			trip_keyed_seek(trip_each_table(bench->poll->zone,
						statement->first_line + i * statement->table_lines),
				judged->key, &reading))
			add_other(bench, judged, &reading);
}

static void
look(const struct bench *bench, struct judged *judged)
{
	judged->from = trip_each_ring_trips(&bench->at);
	judged->packets = judged->own.packets;
	judged->bytes = judged->own.bytes;
	judged->told = judged->telling = 0;
	if (bench->close == NULL)
		return;
	if (bench->statement->counts)
		trip_keyed_come_close(bench->close, trip_keyed_number(bench->table, judged->key));
	/* Ours and the bit before what others have. Partner: the fence behind their counts, in
	 * trip_keyed_count(), and this one of theirs. */
	atomic_thread_fence(memory_order_seq_cst);
	look_at_others(bench, judged);
}

static bool
is_reached(const struct bench *bench, const struct judged *judged, uint32_t when)
{
	const struct trip_each_when *is = &bench->statement->whens[when];

	if (is_rate(is))
		return trip_keyed_exceeds(bench->table, judged->own.bucket) > 0;
	return (is->of == TRIP_EACH_BYTES ? judged->bytes : judged->packets) >= is->count;
}

static void
say(const struct bench *bench, struct judged *judged, uint8_t told, uint8_t telling)
{
	judged->own.told |= told;
	trip_keyed_tell(bench->table, judged->entry, judged->own.told, telling);
}

/* The counter is at or above the number of trips; from here on it need not be told of this one. */
static void
raise_cntr(const struct bench *bench, uint64_t trips)
{
	if (bench->statement->cntr != 0)
		bench->poll->raise(bench->poll->arg, bench->statement->cntr - 1, trips);
}

static enum trip_each_tells
tell(const struct bench *bench, struct judged *judged, uint32_t when)
{
	struct trip_each_told told = {.packets = judged->packets,
		.bytes = judged->bytes,
		.ns = bench->poll->now * 1000,
		.when = when,
		.table = bench->own};
	enum trip_each_tells tells;

	memcpy(told.key, judged->key, sizeof(told.key));
	/* Who says that it is telling may have been killed, or be about to. */
	if ((judged->telling & bit_of(when)) != 0 &&
		trip_each_ring_has(&bench->at, &told, 0, judged->from))
		return TRIP_EACH_KNOWN;
	trip_each_ring_write(&bench->at, &told);
	atomic_thread_fence(memory_order_release);
	say(bench, judged, 0, bit_of(when));
	tells = trip_each_ring_tell(&bench->at, &told, judged->from);
	if (tells == TRIP_EACH_TELLS)
		raise_cntr(bench, trip_each_ring_trips(&bench->at));
	atomic_thread_fence(memory_order_release);
	say(bench, judged, tells == TRIP_EACH_MISSED ? 0 : bit_of(when), 0);
	return tells;
}

/* True: so much has been told meanwhile that it has to be looked at again. */
static bool
judge_when(const struct bench *bench, struct judged *judged, uint32_t when)
{
	if ((judged->own.told & bit_of(when)) != 0)
		return false;
	if ((judged->told & bit_of(when)) != 0) {
		say(bench, judged, bit_of(when), 0);
		return false;
	}
	return is_reached(bench, judged, when) && tell(bench, judged, when) == TRIP_EACH_MISSED;
}

static void
judge_key(const struct bench *bench, struct judged *judged)
{
	const uint32_t n = bench->statement->n_whens;
	bool again = true;

	if (!trip_keyed_read(bench->table, judged->entry, &judged->own) ||
		judged->own.told == (1u << n) - 1)
		return;
	for (unsigned int looks = 0; again && looks < LOOKS; looks++) {
		again = false;
		look(bench, judged);
		for (uint32_t when = 0; when < n; when++)
			again |= judge_when(bench, judged, when);
	}
}

/* Its entry has been judged in this chunk; else it is now. */
static bool
is_known(uint32_t *entries, uint32_t *n, uint32_t entry)
{
	for (uint32_t i = 0; i < *n; i++)
		if (entries[i] == entry)
			return true;
	entries[(*n)++] = entry;
	return false;
}

void
trip_each_judge(const struct trip_each_poll *poll, uint32_t which,
	const struct trip_keyed_chunk *chunk, uint32_t over)
{
	const struct bench bench = bench_of(poll, which);
	const uint32_t words = bench.statement->key.words;
	uint32_t entries[TRIP_KEYED_CHUNK], n = 0;

	for (; over != 0; over &= over - 1) {
		const uint64_t *key = &chunk->keys[(size_t)__builtin_ctz(over) * words];
		struct judged judged = {.entry = trip_keyed_find(bench.table, key)};

		/* It may have been refused. */
		if (judged.entry == TRIP_KEYED_NONE || is_known(entries, &n, judged.entry))
			continue;
		memcpy(judged.key, key, words * sizeof(*key));
		judge_key(&bench, &judged);
	}
}

/* Whether it is to be judged by what it has here. */
static bool
may_have_reached(const struct bench *bench, const struct judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;

	if (bench->close != NULL &&
		trip_keyed_is_close(bench->close, trip_keyed_number(bench->table, judged->key)))
		return true;
	for (uint32_t when = 0; when < statement->n_whens; when++) {
		const struct trip_each_when *is = &statement->whens[when];
		uint64_t had = is->of == TRIP_EACH_BYTES ? judged->own.bytes : judged->own.packets;

		if (is_rate(is) ? trip_keyed_exceeds(bench->table, judged->own.bucket) > 0
				: had >= trip_count_share(is->count, statement->n_tables))
			return true;
	}
	return false;
}

void
trip_each_judge_recover(const struct trip_each_poll *poll, uint32_t which)
{
	const struct bench bench = bench_of(poll, which);
	bool told = trip_each_ring_settle(&bench.at, bench.own);
	const uint32_t n = trip_keyed_entries(bench.table);
	struct judged judged = {.entry = 0};

	raise_cntr(&bench, trip_each_ring_trips(&bench.at));
	for (; judged.entry < n; judged.entry++) {
		if (!trip_keyed_read(bench.table, judged.entry, &judged.own))
			continue;
		if (judged.own.telling != 0)
			say(&bench, &judged, told ? judged.own.telling : 0, 0);
		memset(judged.key, 0, sizeof(judged.key));
		memcpy(judged.key, judged.own.key,
			bench.statement->key.words * sizeof(judged.key[0]));
		if (may_have_reached(&bench, &judged))
			judge_key(&bench, &judged);
	}
}
