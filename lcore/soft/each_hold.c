/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that are held as a trip says, and when that ends: each_judge.h says who does what. */
#include "each_bench.h"

/* Of an entry that is held: that it is, whether it tells the end, and by which condition. */
#define MARK_HELD 0x80u
#define MARK_OWNED 0x40u
#define MARK_WHEN TRIP_KEYED_MARK_BY

_Static_assert(TRIP_EACH_WHENS_MAX - 1 == MARK_WHEN, "any condition");

static void
hold(const struct each_bench *bench, struct each_judged *judged, uint64_t until, uint8_t mark)
{
	judged->own.hold = until;
	judged->own.mark = mark;
	trip_each_close_come(bench, judged);
	trip_keyed_hold(bench->table, judged->entry, until, mark);
}

static bool
is_held(const struct each_judged *judged, uint64_t now)
{
	return judged->own.mark != 0 && judged->own.hold > now;
}

void
trip_each_hold_begin(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	uint64_t time = bench->statement->acts[when].time_us, now = bench->poll->now;
	uint64_t until = time != 0 ? now + time : TRIP_KEYED_EVER;

	if (is_held(judged, now) && judged->own.hold > until)
		return;
	hold(bench, judged, until, (uint8_t)(MARK_HELD | MARK_OWNED | when));
}

void
trip_each_hold_disown(const struct each_bench *bench, struct each_judged *judged, uint32_t when)
{
	if (judged->own.mark != 0 && (judged->own.mark & MARK_WHEN) == when)
		hold(bench, judged, judged->own.hold, judged->own.mark & (uint8_t)~MARK_OWNED);
}

void
trip_each_hold_join(const struct each_bench *bench, struct each_judged *judged)
{
	uint64_t now = bench->poll->now;

	if (judged->held == 0)
		return;
	if (!is_held(judged, now)) {
		judged->dropped |= judged->in_chunk;
		hold(bench, judged, judged->held, MARK_HELD | (judged->held_by & MARK_WHEN));
	}
}

/* Whoever owns it tells; false: so much was told meanwhile that it is tried anew. */
static bool
tell_end(const struct each_bench *bench, struct each_judged *judged)
{
	uint32_t when = judged->own.mark & MARK_WHEN;

	if ((judged->own.mark & MARK_OWNED) == 0 || (judged->own.told & each_bit_of(when)) == 0 ||
		when >= bench->statement->n_whens)
		return true;
	return trip_each_judge_tell(bench, judged, when | TRIP_EACH_TOLD_END) != TRIP_EACH_MISSED;
}

/* What a rate has told by which it was held it may tell again. */
static void
release(const struct each_bench *bench, struct each_judged *judged)
{
	const struct trip_each_statement *statement = bench->statement;

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

	if ((judged->held_by & MARK_OWNED) != 0)
		mark = judged->held_by & (uint8_t)~MARK_OWNED;
	judged->dropped |= judged->in_chunk;
	hold(bench, judged, judged->held, mark);
}

void
trip_each_hold_settle(const struct each_bench *bench, struct each_judged *judged)
{
	for (unsigned int looks = 0; looks < EACH_LOOKS; looks++) {
		trip_each_judge_look(bench, judged);
		if (judged->held != 0) {
			go_on(bench, judged);
			return;
		}
		if (tell_end(bench, judged))
			break;
	}
	release(bench, judged);
}

void
trip_each_hold_pass(const struct each_bench *bench, struct each_judged *judged)
{
	if (judged->own.mark == 0)
		return;
	for (unsigned int looks = 0; looks < EACH_LOOKS && !tell_end(bench, judged); looks++)
		trip_each_judge_look(bench, judged);
	release(bench, judged);
}

bool
trip_each_hold_recover(const struct each_bench *bench, struct each_judged *judged, bool told)
{
	/* What is told again is an end. */
	if ((judged->own.told & judged->own.telling) == 0)
		return false;
	if (told || judged->own.mark == 0)
		release(bench, judged);
	else
		trip_each_judge_say(bench, judged, 0, 0);
	return true;
}
