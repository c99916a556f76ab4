/* SPDX-License-Identifier: BSD-3-Clause */
/* Which conditions a key has reached, by what all tables have of it. */
#include "each_bench.h"

/* So much of it is not looked at. */
struct off {
	uint64_t packets, bytes;
	int64_t rate;
};

/* A condition, or member, that says something itself; `next`: it is not told before so much. */
static bool
holds(const struct each_bench *bench, const struct each_judged *judged,
	const struct trip_each_when *is, uint64_t next, const struct off *off)
{
	uint64_t has = each_has(judged, is), less;

	if (each_is_rate(is))
		return trip_keyed_exceeds(bench->table, judged->own.bucket) > off->rate;
	less = is->of == TRIP_EACH_BYTES ? off->bytes : off->packets;
	if (has < less || has - less < each_threshold(is, next))
		return false;
	if (is->quiet_us == 0)
		return true;
	/* What it had by the last time was as long ago then. */
	if (each_is_quiet_each_time(is) && judged->seen + is->quiet_us <= next)
		return false;
	return judged->seen + is->quiet_us <= bench->poll->now;
}

static bool
is_whole(uint32_t group, uint64_t members, uint64_t of)
{
	return group == TRIP_EACH_ALL ? (members & of) == of : (members & of) != 0;
}

/* Those that hold, beside some that are known to; groups are behind what they are of. */
static uint64_t
members_of(const struct each_bench *bench, const struct each_judged *judged, uint64_t known,
	const struct off *off)
{
	const struct trip_each_statement *statement = bench->statement;
	uint64_t found = known;

	for (uint32_t i = 0; i < statement->n_members; i++) {
		const struct trip_each_when *is = &statement->members[i].when;

		if ((known >> i & 1) == 0 && !trip_each_is_group(is))
			found |= (uint64_t)holds(bench, judged, is, 0, off) << i;
	}
	for (uint32_t i = 0; i < statement->n_members; i++) {
		uint32_t group = statement->members[i].when.group;

		if (group != TRIP_EACH_ITSELF)
			found |= (uint64_t)is_whole(group, found, statement->of_member[i]) << i;
	}
	return found;
}

static bool
is_reached(const struct each_bench *bench, const struct each_judged *judged, uint32_t when,
	uint64_t known, const struct off *off)
{
	const struct trip_each_statement *statement = bench->statement;
	const struct trip_each_when *is = &statement->whens[when];

	if (!trip_each_is_group(is))
		return holds(bench, judged, is, judged->next[when], off);
	return is_whole(is->group, members_of(bench, judged, known, off), statement->of_when[when]);
}

bool
trip_each_reach_is(const struct each_bench *bench, const struct each_judged *judged, uint32_t when)
{
	return is_reached(bench, judged, when, judged->members, &(struct off){0});
}

uint32_t
trip_each_reach_behind(
	const struct each_bench *bench, const struct each_judged *judged, uint32_t when)
{
	uint32_t left = judged->in_chunk, dropped = 0;
	struct off off = {0};

	while (left != 0) {
		uint32_t last = 31 - (uint32_t)__builtin_clz(left);
		uint32_t bytes = bench->chunk->bytes[last];

		off.packets++;
		off.bytes += bytes;
		off.rate += trip_keyed_cost(bench->table, bytes);
		if (!is_reached(bench, judged, when, judged->members_before, &off))
			break;
		dropped |= 1u << last;
		left &= ~(1u << last);
	}
	return dropped;
}

void
trip_each_reach_add(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_keyed_entry *reading)
{
	const struct trip_each_statement *statement = bench->statement;

	if (statement->members_told != 0)
		judged->members |= reading->memos[statement->members_told - 1];
}

bool
trip_each_reach_note(const struct each_bench *bench, struct each_judged *judged)
{
	uint32_t memo = bench->statement->members_told - 1u;
	uint64_t found;

	if (bench->statement->members_told == 0)
		return false;
	found = members_of(bench, judged, judged->members, &(struct off){0});
	if (found == judged->own.memos[memo])
		return false;
	judged->own.memos[memo] = found;
	trip_keyed_write(bench->table, judged->entry, memo, found);
	return true;
}
