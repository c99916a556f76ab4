/* SPDX-License-Identifier: BSD-3-Clause */
/* What a key is judged with; for each_judge.c, each_after.c, each_anew.c, each_hold.c and
 * each_reach.c. */
#ifndef TRIP_EACH_BENCH_H
#define TRIP_EACH_BENCH_H

#include "each_judge.h"

/* How often a key is looked at anew where others have told too much meanwhile. Where what another
 * process has written is in the way, that never ends; its next packet is another chance. */
#define EACH_LOOKS 1024u

/* Of the mark of an entry that is held: that it is, and whether it tells the end. */
#define EACH_MARK_HELD 0x80u
#define EACH_MARK_OWNED 0x40u

/* A queue, and a statement of it. */
struct each_bench {
	const struct trip_each_poll *poll;
	const struct trip_each_statement *statement;
	struct trip_keyed *table;
	struct trip_each_ring_at at;
	_Atomic uint64_t *close;
	uint32_t own; /* which of the tables */
	const struct trip_keyed_chunk *chunk;
};

/* A key that is being judged: what all tables have, and what they say of it. */
struct each_judged {
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint32_t entry;
	struct trip_keyed_entry own;
	uint64_t packets, bytes;
	uint8_t told, telling; /* by others */
	/* How often it began anew, of all tables; what they had by then; and from which count on
	 * conditions are told again. */
	uint64_t life, anew_packets, anew_bytes, next[TRIP_EACH_WHENS_MAX];
	uint64_t held;   /* by others, until then; 0: it is not */
	uint8_t held_by; /* their mark */
	uint64_t bucket; /* where that is policed (keyed.h); 0: nowhere else */
	uint64_t from;   /* trips before it was looked at */
	/* When it had a packet last, of all tables; members that hold, of all; and those that did
	 * before its packets in the chunk. */
	uint64_t seen, members, members_before;
	/* Its packets in the chunk, a bit each; those of them to which has been done what is done
	 * to a key that is held, be that by counting; and which are dropped. */
	uint32_t in_chunk, done, dropped;
};

static inline bool
each_is_rate(const struct trip_each_when *when)
{
	return when->rate != 0;
}

/* It is told whenever it is quiet: then what it is told from is the moment of the last time,
 * however few of its tables have the key still. */
static inline bool
each_is_quiet_each_time(const struct trip_each_when *when)
{
	return when->quiet_us != 0 && when->every == 1;
}

static inline uint8_t
each_bit_of(uint32_t when)
{
	return (uint8_t)(1u << when);
}

/* What it has since it began anew, in the measure of a condition. */
static inline uint64_t
each_has(const struct each_judged *judged, const struct trip_each_when *is)
{
	bool of_bytes = is->of == TRIP_EACH_BYTES;
	uint64_t all = of_bytes ? judged->bytes : judged->packets;
	uint64_t before = of_bytes ? judged->anew_bytes : judged->anew_packets;

	return all > before ? all - before : 0;
}

/* From where on a condition that counts is to be told, where that is not before so much; a key that
 * is quiet has had something. */
static inline uint64_t
each_threshold(const struct trip_each_when *is, uint64_t next)
{
	uint64_t count = is->quiet_us != 0 ? 1 : is->count;

	return next > count && !each_is_quiet_each_time(is) ? next : count;
}

static inline uint64_t
each_life(const struct each_bench *bench, const struct trip_keyed_entry *reading)
{
	const struct trip_each_statement *statement = bench->statement;

	return statement->life != 0 ? reading->memos[statement->life - 1 + TRIP_KEYED_LIFE] : 0;
}

static inline uint64_t
each_seen(const struct each_bench *bench, const struct trip_keyed_entry *reading)
{
	return trip_keyed_seen(reading->memos[bench->statement->seen - 1]);
}

static inline bool
each_is_held(const struct each_bench *bench, const struct trip_keyed_entry *reading)
{
	return reading->mark != 0 && reading->hold > bench->poll->now;
}

/* As its mark says, be its time over or not. */
static inline bool
each_is_by_hand(const struct trip_keyed_entry *reading)
{
	return (reading->mark & TRIP_KEYED_BY_HAND) != 0;
}

struct each_bench trip_each_judge_bench(const struct trip_each_poll *poll, uint32_t which);

/* One of our entries, behind a chunk; false: there is none. */
bool trip_each_judge_entry(
	const struct each_bench *bench, struct each_judged *judged, uint32_t entry);

/* A key of which something was counted, or is to be told. */
void trip_each_judge_key(const struct each_bench *bench, struct each_judged *judged);

/* The counter is at or above the number of trips; from here on it need not be told of this one. */
void trip_each_judge_raise(const struct each_bench *bench, uint64_t trips);

/* ---- each_close.c ---- */

/* Others have to look at the key. */
void trip_each_close_come(const struct each_bench *bench, const struct each_judged *judged);

/* Clearing that the last writer has begun. */
void trip_each_close_recover(const struct each_bench *bench);

/* ---- each_judge.c ---- */

/* All sums, and what others say, behind what our own entry says. */
void trip_each_judge_look(const struct each_bench *bench, struct each_judged *judged);

/* In our own entry. */
void trip_each_judge_say(
	const struct each_bench *bench, struct each_judged *judged, uint8_t told, uint8_t telling);

/* Tells a trip, or with TRIP_EACH_TOLD_END its end. Before it is told the entry says that it is
 * being told. Where somebody else has, our entry is as that says. */
enum trip_each_tells trip_each_judge_tell(
	const struct each_bench *bench, struct each_judged *judged, uint32_t when);

/* ---- each_reach.c ---- */

/* Whether a condition has been reached. */
bool trip_each_reach_is(
	const struct each_bench *bench, const struct each_judged *judged, uint32_t when);

/* Its packets in the chunk behind the one that reached it: those without which it is. */
uint32_t trip_each_reach_behind(
	const struct each_bench *bench, const struct each_judged *judged, uint32_t when);

/* A look: what an entry of the key's last life says of members, and of its last packet. */
void trip_each_reach_add(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_keyed_entry *reading);

/* True: our entry says of members that they hold what it did not say before, so others are to be
 * looked at again. */
bool trip_each_reach_note(const struct each_bench *bench, struct each_judged *judged);

/* ---- each_anew.c ---- */

/* A trip that was told, by us or others, of a condition that is told again: our entry says so, and
 * may begin anew. */
void trip_each_anew_told(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_each_told *told);

/* Others know more of how often it was told, or began anew, as was seen by a look. */
void trip_each_anew_join(const struct each_bench *bench, struct each_judged *judged);

/* A look: what an entry says is added to what is known of lives, and what others say is only theirs
 * of the last life. False: it is of an earlier life. */
bool trip_each_anew_add(const struct each_bench *bench, struct each_judged *judged,
	const struct trip_keyed_entry *reading);

/* ---- each_hold.c ---- */

/* What has to be done to these packets of it, as our entry is held. */
void trip_each_hold_do(
	const struct each_bench *bench, struct each_judged *judged, uint32_t packets);

/* A condition that holds keys has been reached; before that is told. */
void trip_each_hold_begin(
	const struct each_bench *bench, struct each_judged *judged, uint32_t when);

/* Somebody else has told it: the end is his. */
void trip_each_hold_disown(
	const struct each_bench *bench, struct each_judged *judged, uint32_t when);

/* Others hold the key, as was seen by a look: so does our entry. */
void trip_each_hold_join(const struct each_bench *bench, struct each_judged *judged);

/* The key of our entry is held no more, unless others hold it still. */
void trip_each_hold_settle(const struct each_bench *bench, struct each_judged *judged);

/* The key of our entry passes now, whatever others say, unless it is held by hand; and it is let go
 * by whatever condition held it. */
void trip_each_hold_pass(const struct each_bench *bench, struct each_judged *judged);
void trip_each_hold_let_go(const struct each_bench *bench, struct each_judged *judged);

/* Our entry is held no more, and nothing is told of that. */
void trip_each_hold_release(const struct each_bench *bench, struct each_judged *judged);

/* What the last writer has left: `told`: what it was telling; `last`: how, NULL: nobody knows.
 * False: it was no end. */
bool trip_each_hold_recover(const struct each_bench *bench, struct each_judged *judged, bool told,
	const struct trip_each_told *last);

/* ---- each_hand.c ---- */

/* Our entry is held by hand no more, which its owner tells. */
void trip_each_hand_end(const struct each_bench *bench, struct each_judged *judged);

/* As trip_each_hold_recover(). */
bool trip_each_hand_recover(const struct each_bench *bench, struct each_judged *judged, bool told);

#endif
