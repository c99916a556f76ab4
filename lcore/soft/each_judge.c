/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has reached a condition, and who says so. */
#include <string.h>

#include "each_bench.h"
#include "each_hand.h"

struct each_bench
trip_each_judge_bench(const struct trip_each_poll *poll, uint32_t which)
{
	struct each_bench bench = {.poll = poll, .statement = &poll->zone->statements[which]};
	uint32_t line = poll->queue->lines[which];

	bench.table = trip_each_table(poll->zone, line);
	bench.own = (line - bench.statement->first_line) / bench.statement->table_lines;
	bench.at = trip_each_statement_ring(poll->zone, bench.statement);
	bench.close = trip_each_ring_close(&bench.at);
	return bench;
}

/* What another table has told: a rate as long as its bucket has not been emptied, or it holds the
 * key. */
static uint8_t
told_by(const struct each_bench *bench, const struct trip_keyed_entry *reading)
{
	const struct trip_each_statement *statement = bench->statement;
	uint8_t told = reading->told;

	if (!each_is_held(bench, reading))
		told &= (uint8_t) ~(statement->rates & statement->holds);
	if (trip_keyed_lasts(bench->table, reading) <= 0)
		told &= (uint8_t) ~(statement->rates & ~statement->holds);
	return told;
}

/* Who holds it by hand does so in each table; and what an order will end is no more. */
static bool
is_past_hold(const struct each_bench *bench, const struct each_judged *judged, uint32_t table,
	const struct trip_keyed_entry *reading)
{
	struct trip_each_ordered order;

	return each_is_by_hand(reading) ||
	       (bench->statement->hands &&
		       trip_each_hand_waits(
			       trip_each_hand_orders(bench->poll->zone, bench->statement, table),
			       judged->key, &order));
}

/* Of the key's last life, by others. */
static void
add_other(const struct each_bench *bench, struct each_judged *judged, uint32_t table,
	const struct trip_keyed_entry *reading)
{
	const struct trip_each_statement *statement = bench->statement;
	/* Whatever another process has written there. */
	uint64_t latest = trip_keyed_hold_latest(bench->table, bench->poll->now);
	uint64_t until = reading->hold < latest ? reading->hold : latest;

	if (each_is_held(bench, reading) && until > judged->held &&
		!is_past_hold(bench, judged, table, reading)) {
		judged->held = until;
		judged->held_by = reading->mark;
		judged->bucket = trip_keyed_place(table, reading->at);
		if (statement->bucket != 0 && reading->memos[statement->bucket] != 0)
			judged->bucket = reading->memos[statement->bucket];
	}
	judged->told |= told_by(bench, reading);
	trip_each_reach_add(bench, judged, reading);
}

/* What another table of the statement has of a key; false: nothing, or it is ours. */
static bool
seek_other(const struct each_bench *bench, uint32_t table, const uint64_t *key,
	struct trip_keyed_entry *reading)
{
	return table != bench->own &&
	       trip_keyed_glance(trip_each_table(bench->poll->zone,
					 trip_each_table_line(bench->statement, table)),
		       key, reading);
}

/* Behind a fence that is behind our counts, and the bit. */
static void
look_at_others(const struct each_bench *bench, struct each_judged *judged)
{
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < bench->statement->n_tables; i++) {
		if (!seek_other(bench, i, judged->key, &reading))
			continue;
		judged->packets += reading.packets;
		judged->bytes += reading.bytes;
		judged->telling |= reading.telling;
		if (bench->statement->seen != 0 && each_seen(bench, &reading) > judged->seen)
			judged->seen = each_seen(bench, &reading);
		if (!trip_each_is_told_again(bench->statement) ||
			trip_each_anew_add(bench, judged, &reading))
			add_other(bench, judged, i, &reading);
	}
}

void
trip_each_judge_look(const struct each_bench *bench, struct each_judged *judged)
{
	judged->from = trip_each_ring_trips(&bench->at);
	judged->packets = judged->own.packets;
	judged->bytes = judged->own.bytes;
	judged->told = judged->telling = 0;
	judged->held = 0;
	judged->life = 0;
	judged->anew_packets = judged->anew_bytes = 0;
	judged->members = 0;
	judged->seen = bench->statement->seen != 0 ? each_seen(bench, &judged->own) : 0;
	memset(judged->next, 0, sizeof(judged->next));
	if (trip_each_is_told_again(bench->statement))
		(void)trip_each_anew_add(bench, judged, &judged->own);
	trip_each_reach_add(bench, judged, &judged->own);
	if (bench->close == NULL)
		return;
	if (bench->statement->shares && trip_keyed_is_near(bench->table, judged->entry))
		trip_each_close_come(bench, judged);
	/* Ours and the bit before what others have. Partner: the fence behind their counts, in
	 * trip_keyed_count(), and this one of theirs. */
	atomic_thread_fence(memory_order_seq_cst);
	look_at_others(bench, judged);
}

void
trip_each_judge_say(
	const struct each_bench *bench, struct each_judged *judged, uint8_t told, uint8_t telling)
{
	judged->own.told |= told;
	trip_keyed_tell(bench->table, judged->entry, judged->own.told, telling);
}

void
trip_each_judge_raise(const struct each_bench *bench, uint64_t trips)
{
	if (bench->statement->cntr != 0)
		bench->poll->raise(bench->poll->arg, bench->statement->cntr - 1, trips);
}

/* Whether another table says what it did not when it was looked at: that it has told. Its trip may
 * be one of those before which the look began. */
static bool
has_told_since(const struct each_bench *bench, const struct each_judged *judged,
	const struct trip_keyed_entry *reading, uint32_t when)
{
	const struct trip_each_statement *statement = bench->statement;

	if (trip_each_is_told_again(statement) && each_life(bench, reading) > judged->life)
		return true;
	if ((statement->again & each_bit_of(when)) != 0)
		return reading->memos[statement->next[when] - 1] > judged->next[when];
	return (told_by(bench, reading) & ~judged->told & each_bit_of(when)) != 0;
}

/* What it tells, or has told, is of a life that has ended. */
static bool
is_past(const struct each_bench *bench, const struct each_judged *judged,
	const struct trip_keyed_entry *reading)
{
	return trip_each_is_told_again(bench->statement) &&
	       each_life(bench, reading) < judged->life;
}

/* When they were looked at, others said that they were telling it; some may have been killed.
 * TRIP_EACH_TELLS: none of them has told. What they tell behind having told it is its end, which is
 * in nobody's way. */
static enum trip_each_tells
ask_others(const struct each_bench *bench, const struct each_judged *judged,
	const struct trip_each_told *told, struct trip_each_told *found)
{
	const uint8_t ends = bench->statement->holds & (uint8_t)~bench->statement->again;
	enum trip_each_tells tells = TRIP_EACH_TELLS;
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < bench->statement->n_tables && tells == TRIP_EACH_TELLS; i++) {
		if (!seek_other(bench, i, told->key, &reading) || is_past(bench, judged, &reading))
			continue;
		if ((reading.telling & ~(reading.told & ends) & each_bit_of(told->when)) != 0)
			tells = trip_each_ring_ask(&bench->at, told, i, found);
		else if (has_told_since(bench, judged, &reading, told->when))
			tells = TRIP_EACH_MISSED;
	}
	return tells;
}

static struct trip_each_told
told_of(const struct each_bench *bench, const struct each_judged *judged, uint32_t when)
{
	uint32_t at = when & ~TRIP_EACH_TOLD_END;
	const struct trip_each_when *is = &bench->statement->whens[at];
	struct trip_each_told told = {.packets = judged->packets,
		.bytes = judged->bytes,
		.ns = bench->poll->now * 1000,
		.when = when,
		.table = bench->own,
		.life = (uint32_t)judged->life,
		.times = 1,
		.anew_packets = judged->anew_packets,
		.anew_bytes = judged->anew_bytes};

	if (is->again != 0)
		told.nth = (uint32_t)judged->next[at] + 1;
	else if (!each_is_rate(is) && is->quiet_us == 0 && is->every != 0 && at == when)
		told.times +=
			(uint32_t)((each_has(judged, is) - each_threshold(is, judged->next[at])) /
				   is->every);
	memcpy(told.key, judged->key, sizeof(told.key));
	return told;
}

/* It is told, or somebody else has told `found`: what is said of that in our entry. */
static void
say_told(const struct each_bench *bench, struct each_judged *judged, uint32_t when,
	const struct trip_each_told *found)
{
	const uint8_t again = bench->statement->again | bench->statement->anew;
	uint8_t bit = each_bit_of(when);

	trip_each_anew_told(bench, judged, found);
	/* Which may have been another condition's. */
	if ((again & bit) != 0 || found->when != when)
		bit = 0;
	atomic_thread_fence(memory_order_release);
	trip_each_judge_say(bench, judged, bit, 0);
}

enum trip_each_tells
trip_each_judge_tell(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	uint8_t bit = each_bit_of(when & ~TRIP_EACH_TOLD_END);
	struct trip_each_told told = told_of(bench, judged, when), found;
	enum trip_each_tells tells = TRIP_EACH_TELLS;

	if ((when & TRIP_EACH_TOLD_END) == 0 && (judged->telling & bit) != 0)
		tells = ask_others(bench, judged, &told, &found);
	if (tells == TRIP_EACH_KNOWN)
		say_told(bench, judged, when, &found);
	if (tells != TRIP_EACH_TELLS)
		return tells;
	trip_each_ring_write(&bench->at, &told);
	atomic_thread_fence(memory_order_release);
	trip_each_judge_say(bench, judged, 0, bit);
	tells = trip_each_ring_tell(&bench->at, &told, judged->from, &found);
	if (tells == TRIP_EACH_TELLS)
		trip_each_judge_raise(bench, trip_each_ring_trips(&bench->at));
	/* Of an end that is told, who releases the key says so. */
	if (tells == TRIP_EACH_MISSED)
		trip_each_judge_say(bench, judged, 0, 0);
	else if ((when & TRIP_EACH_TOLD_END) == 0)
		say_told(bench, judged, when, tells == TRIP_EACH_TELLS ? &told : &found);
	return tells;
}

/* It is reached, and nobody has told. */
static bool
trip(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	bool holds = (bench->statement->holds & each_bit_of(when)) != 0;
	uint64_t life = each_life(bench, &judged->own);
	uint32_t dropped = judged->dropped;
	enum trip_each_tells tells;

	if (holds) {
		trip_each_hold_begin(bench, judged, when);
		trip_each_hold_do(bench, judged, trip_each_reach_behind(bench, judged, when));
	}
	tells = trip_each_judge_tell(bench, judged, when);
	/* In a life that had ended: nobody is told of what would have had these dropped. */
	if (each_life(bench, &judged->own) != life)
		judged->dropped = dropped;
	if (holds && tells == TRIP_EACH_KNOWN)
		trip_each_hold_disown(bench, judged, when);
	/* What somebody else has told may be less than there is. */
	return tells == TRIP_EACH_MISSED ||
	       (tells == TRIP_EACH_KNOWN &&
		       (bench->statement->again | bench->statement->anew) != 0);
}

/* True: so much has been told meanwhile that it has to be looked at again. */
static bool
judge_when(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	/* It trips when it is let go. */
	if ((bench->statement->holds & each_bit_of(when)) != 0 && each_is_by_hand(&judged->own))
		return false;
	if ((bench->statement->again & each_bit_of(when)) != 0)
		return trip_each_reach_is(bench, judged, when) && trip(bench, judged, when);
	if ((judged->own.told & each_bit_of(when)) != 0)
		return false;
	if ((judged->told & each_bit_of(when)) != 0) {
		trip_each_judge_say(bench, judged, each_bit_of(when), 0);
		trip_each_hold_disown(bench, judged, when);
		return false;
	}
	return trip_each_reach_is(bench, judged, when) && trip(bench, judged, when);
}

/* Others may be about to have it begin anew, or have been killed on the way: what is judged before
 * that is known would be of two lives. */
static bool
ask_of_anew(const struct each_bench *bench, struct each_judged *judged)
{
	uint8_t left = judged->telling & bench->statement->anew;

	for (; left != 0; left &= (uint8_t)(left - 1)) {
		struct trip_each_told found,
			told = told_of(bench, judged, (uint32_t)__builtin_ctz(left));
		enum trip_each_tells tells = ask_others(bench, judged, &told, &found);

		if (tells == TRIP_EACH_KNOWN)
			trip_each_anew_told(bench, judged, &found);
		if (tells != TRIP_EACH_TELLS)
			return true;
	}
	return false;
}

/* Those that have it begin anew come last: what is due before that is told before. */
static bool
judge_whens(const struct each_bench *bench, struct each_judged *judged)
{
	const uint8_t anew = bench->statement->anew;
	bool again = false;

	for (uint32_t when = 0; when < bench->statement->n_whens && !again; when++)
		if ((anew & each_bit_of(when)) == 0)
			again = judge_when(bench, judged, when);
	for (uint32_t when = 0; when < bench->statement->n_whens && !again; when++)
		if ((anew & each_bit_of(when)) != 0 && trip_each_reach_is(bench, judged, when)) {
			/* Who is killed in between has let it go a little early. */
			trip_each_hold_pass(bench, judged);
			again = trip_each_judge_tell(bench, judged, when) != TRIP_EACH_TELLS;
			break;
		}
	return again;
}

void
trip_each_judge_key(const struct each_bench *bench, struct each_judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;
	const uint8_t all = (uint8_t)((1u << statement->n_whens) - 1);
	bool again = true, began = false;

	if (!trip_keyed_read(bench->table, judged->entry, &judged->own))
		return;
	if (each_is_held(bench, &judged->own))
		judged->done = judged->in_chunk;
	else if (judged->own.mark != 0)
		trip_each_hold_settle(bench, judged);
	/* What is told by a rate that holds keys is so while it does. */
	if (judged->own.told == all && !trip_each_is_told_again(statement))
		return;
	for (unsigned int looks = 0; again && looks < EACH_LOOKS; looks++) {
		trip_each_judge_look(bench, judged);
		if (trip_each_is_told_again(statement)) {
			if (ask_of_anew(bench, judged))
				continue;
			trip_each_anew_join(bench, judged);
		}
		if (!began)
			judged->members_before = judged->members;
		began = true;
		if (trip_each_reach_note(bench, judged))
			continue;
		trip_each_hold_join(bench, judged);
		again = judge_whens(bench, judged);
	}
}

/* Of one for which there is no room here: whether a packet is dropped as others hold it. */
static bool
is_dropped_elsewhere(const struct each_bench *bench, const uint64_t *key, uint32_t bytes)
{
	struct each_judged judged = {.entry = TRIP_KEYED_NONE};

	if (bench->close == NULL || bench->statement->holds == 0)
		return false;
	memcpy(judged.key, key, bench->statement->key.words * sizeof(*key));
	look_at_others(bench, &judged);
	if (judged.held == 0 || (judged.held_by & TRIP_KEYED_PASSES) != 0)
		return false;
	return (judged.held_by & TRIP_KEYED_POLICED) == 0 ||
	       !trip_keyed_polices_at(
		       bench->table, judged.key, judged.bucket, bytes, bench->poll->now);
}

/* Packets of a chunk, by their keys. */
struct groups {
	struct {
		uint32_t entry, packets;
	} of[TRIP_KEYED_CHUNK];
	uint32_t n, dropped;
};

static void
add_to_group(const struct each_bench *bench, struct groups *groups, uint32_t packet)
{
	const uint64_t *key = &bench->chunk->keys[(size_t)packet * bench->statement->key.words];
	uint32_t entry = trip_keyed_find(bench->table, key), at = 0;

	/* It may have been refused. */
	if (entry == TRIP_KEYED_NONE) {
		groups->dropped |=
			(uint32_t)is_dropped_elsewhere(bench, key, bench->chunk->bytes[packet])
			<< packet;
		return;
	}
	while (at < groups->n && groups->of[at].entry != entry)
		at++;
	if (at == groups->n) {
		groups->of[groups->n].entry = entry;
		groups->of[groups->n++].packets = 0;
	}
	groups->of[at].packets |= 1u << packet;
}

uint32_t
trip_each_judge(const struct trip_each_poll *poll, uint32_t which,
	const struct trip_keyed_chunk *chunk, uint32_t over)
{
	struct each_bench bench = trip_each_judge_bench(poll, which);
	const uint32_t words = bench.statement->key.words;
	struct groups groups;

	if (!trip_each_tells_trips(bench.statement))
		return 0;
	bench.chunk = chunk;
	groups.n = groups.dropped = 0;
	for (; over != 0; over &= over - 1)
		add_to_group(&bench, &groups, (uint32_t)__builtin_ctz(over));
	for (uint32_t i = 0; i < groups.n; i++) {
		struct each_judged judged = {
			.entry = groups.of[i].entry, .in_chunk = groups.of[i].packets};
		uint32_t first = (uint32_t)__builtin_ctz(judged.in_chunk);

		memcpy(judged.key, &chunk->keys[(size_t)first * words],
			words * sizeof(judged.key[0]));
		trip_each_judge_key(&bench, &judged);
		groups.dropped |= judged.dropped;
	}
	return groups.dropped;
}
