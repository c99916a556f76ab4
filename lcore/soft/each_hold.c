/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that are held as a trip says, and when that ends: each_judge.h says who does what. */
#include "each_bench.h"

/* Of an entry that is held: by which condition. */
#define MARK_WHEN TRIP_KEYED_MARK_BY

/* And what is done to it. */
#define MARK_DOES (TRIP_KEYED_PASSES | TRIP_KEYED_POLICED)

_Static_assert(TRIP_EACH_WHENS_MAX - 1 == MARK_WHEN, "any condition");
_Static_assert(((EACH_MARK_HELD | EACH_MARK_OWNED | MARK_WHEN | TRIP_KEYED_BY_HAND) &
		       (MARK_DOES | TRIP_KEYED_STAYS)) == 0,
	"a bit each");

static void
hold(const struct each_bench *bench, struct each_judged *judged, uint64_t until, uint8_t mark)
{
	judged->own.hold = until;
	judged->own.mark = mark;
	trip_each_close_come(bench, judged);
	trip_keyed_hold(bench->table, judged->entry, until, mark);
}

/* Packets that counting has not found to be of a key that is held: they go for its time as well. */
static void
note_in_window(const struct each_bench *bench, struct each_judged *judged, uint32_t packets)
{
	const struct trip_each_statement *statement = bench->statement;
	uint32_t when = judged->own.mark & MARK_WHEN;
	const struct trip_each_act *act = &statement->acts[when];
	struct trip_keyed_entry now;
	uint64_t came;

	if (act->until_us == 0 || packets == 0 ||
		!trip_keyed_read(bench->table, judged->entry, &now))
		return;
	came = now.memos[statement->window - 1];
	for (; packets != 0; packets &= packets - 1)
		came += statement->whens[when].of == TRIP_EACH_BYTES
				? bench->chunk->bytes[__builtin_ctz(packets)]
				: 1;
	if (came >= act->until_count) {
		came = 0;
		if (bench->poll->now + act->until_us > judged->own.hold)
			hold(bench, judged, bench->poll->now + act->until_us, judged->own.mark);
	}
	trip_keyed_write(bench->table, judged->entry, statement->window - 1u, came);
}

void
trip_each_hold_do(const struct each_bench *bench, struct each_judged *judged, uint32_t packets)
{
	uint64_t now = bench->poll->now;

	packets &= ~judged->done;
	judged->done |= packets;
	note_in_window(bench, judged, packets);
	if ((judged->own.mark & TRIP_KEYED_PASSES) != 0)
		return;
	if ((judged->own.mark & TRIP_KEYED_POLICED) == 0) {
		judged->dropped |= packets;
		return;
	}
	for (; packets != 0; packets &= packets - 1) {
		uint32_t at = (uint32_t)__builtin_ctz(packets);

		if (!trip_keyed_polices(bench->table, judged->entry, bench->chunk->bytes[at], now))
			judged->dropped |= 1u << at;
	}
}

/* Where it is policed from; and nothing has come yet. */
static void
begin(const struct each_bench *bench, struct each_judged *judged, uint64_t bucket)
{
	const struct trip_each_statement *statement = bench->statement;

	if (statement->window != 0)
		trip_keyed_write(bench->table, judged->entry, statement->window - 1u, 0);
	if (statement->bucket == 0)
		return;
	if (bucket == trip_keyed_place(bench->own, judged->entry))
		bucket = 0;
	if (bucket == 0)
		trip_keyed_write(bench->table, judged->entry, statement->bucket - 1u, 0);
	trip_keyed_write(bench->table, judged->entry, statement->bucket, bucket);
	judged->own.memos[statement->bucket] = bucket;
}

/* Of a statement that is the same for all, whatever another process has written. */
static uint8_t
does_of(const struct each_bench *bench)
{
	const struct trip_each_statement *statement = bench->statement;
	uint32_t one = statement->holds != 0 ? (uint32_t)__builtin_ctz(statement->holds) : 0;

	switch (statement->acts[one % TRIP_EACH_WHENS_MAX].op) {
	case TRIP_EACH_OP_POLICE:
		return TRIP_KEYED_POLICED;
	case TRIP_EACH_OP_DROP:
		return 0;
	default:
		return TRIP_KEYED_PASSES;
	}
}

void
trip_each_hold_begin(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	const struct trip_each_act *act = &bench->statement->acts[when];
	uint64_t time = trip_each_act_time(act), now = bench->poll->now;
	uint64_t until = time != 0 ? now + time : TRIP_KEYED_EVER;

	if (each_is_held(bench, &judged->own) && judged->own.hold > until)
		return;
	if (!each_is_held(bench, &judged->own))
		begin(bench, judged, judged->held != 0 ? judged->bucket : 0);
	hold(bench, judged, until,
		(uint8_t)(EACH_MARK_HELD | EACH_MARK_OWNED | does_of(bench) | when));
}

void
trip_each_hold_disown(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	if (judged->own.mark == 0 || each_is_by_hand(&judged->own) ||
		(judged->own.mark & MARK_WHEN) != when)
		return;
	/* Both have begun: they take from the bucket of who has told. */
	if (bench->statement->bucket != 0 && bench->close != NULL) {
		/* All that is judged is so by one look. */
		struct each_judged now = *judged;

		trip_each_judge_look(bench, &now);
		if ((now.held_by & EACH_MARK_OWNED) != 0 && now.held != 0 &&
			judged->own.memos[bench->statement->bucket] == 0)
			begin(bench, judged, now.bucket);
	}
	hold(bench, judged, judged->own.hold, judged->own.mark & (uint8_t)~EACH_MARK_OWNED);
}

void
trip_each_hold_join(const struct each_bench *bench, struct each_judged *judged)
{
	if (judged->held == 0 || each_is_held(bench, &judged->own))
		return;
	begin(bench, judged, judged->bucket);
	hold(bench, judged, judged->held,
		EACH_MARK_HELD | (judged->held_by & MARK_WHEN) | does_of(bench));
	trip_each_hold_do(bench, judged, judged->in_chunk);
}

/* Whoever owns it tells; false: so much was told meanwhile that it is tried anew. */
static bool
tell_end(const struct each_bench *bench, struct each_judged *judged)
{
	uint32_t when = judged->own.mark & MARK_WHEN;

	if ((judged->own.mark & EACH_MARK_OWNED) == 0 ||
		(judged->own.told & each_bit_of(when)) == 0 || when >= bench->statement->n_whens)
		return true;
	return trip_each_judge_tell(bench, judged, when | TRIP_EACH_TOLD_END) != TRIP_EACH_MISSED;
}

/* What a rate has told by which it was held it may tell again. */
void
trip_each_hold_release(const struct each_bench *bench, struct each_judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;

	/* What came by then is in no other beginning. */
	if (statement->window != 0 && (judged->own.told & statement->rates) != 0)
		(void)trip_keyed_empty(bench->table, judged->entry);
	judged->own.told &= (uint8_t) ~(statement->rates & statement->holds);
	if (judged->own.mark != 0)
		trip_keyed_release(bench->table, judged->entry);
	judged->own.mark = 0;
	trip_each_judge_say(bench, judged, 0, 0);
}

/* Others hold it longer, and the end is that of who owns it there. */
static void
go_on(const struct each_bench *bench, struct each_judged *judged)
{
	uint8_t mark = judged->own.mark;

	if ((judged->held_by & EACH_MARK_OWNED) != 0)
		mark = judged->held_by & (uint8_t)~EACH_MARK_OWNED;
	hold(bench, judged, judged->held, (mark & (uint8_t)~MARK_DOES) | does_of(bench));
	trip_each_hold_do(bench, judged, judged->in_chunk);
}

void
trip_each_hold_settle(const struct each_bench *bench, struct each_judged *judged)
{
	if (each_is_by_hand(&judged->own)) {
		trip_each_hand_end(bench, judged);
		return;
	}
	for (unsigned int looks = 0; looks < EACH_LOOKS; looks++) {
		trip_each_judge_look(bench, judged);
		if (judged->held != 0) {
			go_on(bench, judged);
			return;
		}
		if (tell_end(bench, judged))
			break;
	}
	trip_each_hold_release(bench, judged);
}

void
trip_each_hold_pass(const struct each_bench *bench, struct each_judged *judged)
{
	if (!each_is_by_hand(&judged->own))
		trip_each_hold_let_go(bench, judged);
}

void
trip_each_hold_let_go(const struct each_bench *bench, struct each_judged *judged)
{
	struct each_judged now = *judged;

	if (judged->own.mark == 0)
		return;
	for (unsigned int looks = 0; looks < EACH_LOOKS && !tell_end(bench, &now); looks++)
		trip_each_judge_look(bench, &now);
	trip_each_hold_release(bench, judged);
}

/* What is told again is an end; of a condition that is told again and again where it says so. */
static bool
is_end(const struct each_bench *bench, const struct each_judged *judged,
	const struct trip_each_told *last)
{
	const uint8_t bits = judged->own.told & judged->own.telling;

	if ((bits & ~bench->statement->again) != 0)
		return true;
	return bits != 0 && last != NULL && (last->when & TRIP_EACH_TOLD_END) != 0;
}

bool
trip_each_hold_recover(const struct each_bench *bench, struct each_judged *judged, bool told,
	const struct trip_each_told *last)
{
	if (!is_end(bench, judged, last))
		return false;
	if (told || judged->own.mark == 0)
		trip_each_hold_release(bench, judged);
	else
		trip_each_judge_say(bench, judged, 0, 0);
	return true;
}
