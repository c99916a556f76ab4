/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of which a condition is told again and again, and keys that begin anew: each_judge.h says
 * who does what. */
#include "each_bench.h"

static uint8_t
memo_of_life(const struct each_bench *bench, enum trip_keyed_anew word)
{
	return (uint8_t)(bench->statement->life - 1 + word);
}

/* Written before any of it is said: another look finds all of it, or that it is being told. */
static void
write(const struct each_bench *bench, struct each_judged *judged, uint32_t memo, uint64_t value)
{
	judged->own.memos[memo] = value;
	trip_keyed_write(bench->table, judged->entry, memo, value);
}

/* What came behind that is not dropped. What was told goes before the life does: who is killed in
 * between is of the old one, in which he tells nothing before he has looked. */
static void
begin_anew(const struct each_bench *bench, struct each_judged *judged, uint64_t life,
	uint64_t packets, uint64_t bytes)
{
	if (judged->own.mark != 0 && !each_is_by_hand(&judged->own) && judged->in_chunk != 0) {
		*bench->chunk->dropped &= ~judged->in_chunk;
		judged->done = 0;
	}
	trip_each_hold_pass(bench, judged);
	judged->own.told = 0;
	trip_keyed_forget(bench->table, judged->entry);
	if (bench->close != NULL)
		trip_keyed_stay(bench->table, judged->entry);
	trip_each_close_come(bench, judged);
	for (uint32_t i = 0; i < bench->statement->n_whens; i++)
		if (bench->statement->next[i] != 0)
			write(bench, judged, bench->statement->next[i] - 1u, 0);
	if (bench->statement->members_told != 0)
		write(bench, judged, bench->statement->members_told - 1u, 0);
	write(bench, judged, memo_of_life(bench, TRIP_KEYED_ANEW_PACKETS), packets);
	write(bench, judged, memo_of_life(bench, TRIP_KEYED_ANEW_BYTES), bytes);
	write(bench, judged, memo_of_life(bench, TRIP_KEYED_LIFE), life);
	(void)trip_keyed_read(bench->table, judged->entry, &judged->own);
}

/* From where on it is told next, by what was counted as it was told, or when that was; of a rate
 * how often it was, of which a trip has the end. */
static uint64_t
next_of(const struct trip_each_when *when, const struct trip_each_told *told, uint64_t known)
{
	uint64_t had = when->of == TRIP_EACH_BYTES ? told->bytes - told->anew_bytes
						   : told->packets - told->anew_packets;
	int32_t more = (int32_t)(told->nth - (uint32_t)known);

	if (each_is_rate(when))
		return more > 0 ? known + (uint32_t)more : known;
	if (each_is_quiet_each_time(when))
		return told->ns / 1000;
	if (when->quiet_us != 0)
		return had + when->every;
	return when->count + ((had - when->count) / when->every + 1) * when->every;
}

/* It is told from there on. What came before a rate was told is in no other interval. */
static void
tell_from(const struct each_bench *bench, struct each_judged *judged, uint32_t when, uint64_t next)
{
	uint32_t memo = bench->statement->next[when] - 1u;

	if (judged->own.memos[memo] >= next)
		return;
	if (each_is_rate(&bench->statement->whens[when]))
		judged->own.bucket = trip_keyed_empty(bench->table, judged->entry);
	write(bench, judged, memo, next);
}

void
trip_each_anew_told(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_each_told *told)
{
	const struct trip_each_statement *statement = bench->statement;
	uint32_t when = told->when & ~TRIP_EACH_TOLD_END;
	uint64_t life = each_life(bench, &judged->own);

	if (when >= statement->n_whens || (told->when & TRIP_EACH_TOLD_END) != 0)
		return;
	if ((statement->anew & each_bit_of(when)) != 0) {
		/* Of the same: it may have been begun, and not ended. */
		if (told->life + UINT64_C(1) >= life)
			begin_anew(bench, judged, told->life + UINT64_C(1), told->packets,
				told->bytes);
		return;
	}
	if (statement->next[when] == 0 || told->life != (uint32_t)life)
		return;
	judged->own.told |= each_bit_of(when);
	tell_from(bench, judged, when,
		next_of(&statement->whens[when], told,
			judged->own.memos[statement->next[when] - 1]));
}

void
trip_each_anew_join(const struct each_bench *bench, struct each_judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;

	if (judged->life > each_life(bench, &judged->own))
		begin_anew(bench, judged, judged->life, judged->anew_packets, judged->anew_bytes);
	for (uint32_t i = 0; i < statement->n_whens; i++)
		if (statement->next[i] != 0)
			tell_from(bench, judged, i, judged->next[i]);
}

static void
add_next(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_keyed_entry *reading)
{
	for (uint32_t i = 0; i < bench->statement->n_whens; i++) {
		uint8_t next = bench->statement->next[i];

		if (next != 0 && reading->memos[next - 1] > judged->next[i])
			judged->next[i] = reading->memos[next - 1];
	}
}

bool
trip_each_anew_add(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_keyed_entry *reading)
{
	uint64_t life = each_life(bench, reading);

	if (life < judged->life)
		return false;
	if (life > judged->life) {
		judged->life = life;
		judged->anew_packets = reading->memos[memo_of_life(bench, TRIP_KEYED_ANEW_PACKETS)];
		judged->anew_bytes = reading->memos[memo_of_life(bench, TRIP_KEYED_ANEW_BYTES)];
		for (uint32_t i = 0; i < bench->statement->n_whens; i++)
			judged->next[i] = 0;
		judged->members = 0;
		judged->told = 0;
		judged->held = 0;
	}
	add_next(bench, judged, reading);
	return true;
}
