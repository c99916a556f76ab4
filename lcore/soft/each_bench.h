/* SPDX-License-Identifier: BSD-3-Clause */
/* What a key is judged with; for each_judge.c and each_hold.c only. */
#ifndef TRIP_EACH_BENCH_H
#define TRIP_EACH_BENCH_H

#include "each_judge.h"

/* How often a key is looked at anew where others have told too much meanwhile. Where what another
 * process has written is in the way, that never ends; its next packet is another chance. */
#define EACH_LOOKS 1024u

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
	uint64_t held;         /* by others, until then; 0: it is not */
	uint8_t held_by;       /* their mark */
	uint64_t from;         /* trips before it was looked at */
	/* Its packets in the chunk, and which of them are dropped, a bit each. */
	uint32_t in_chunk, dropped;
};

static inline uint8_t
each_bit_of(uint32_t when)
{
	return (uint8_t)(1u << when);
}

/* All sums, and what others say, behind what our own entry says. */
void trip_each_judge_look(const struct each_bench *bench, struct each_judged *judged);

/* In our own entry. */
void trip_each_judge_say(
	const struct each_bench *bench, struct each_judged *judged, uint8_t told, uint8_t telling);

/* Tells a trip, or with TRIP_EACH_TOLD_END its end. Before it is told the entry says that it is
 * being told. */
enum trip_each_tells trip_each_judge_tell(
	const struct each_bench *bench, struct each_judged *judged, uint32_t when);

/* ---- each_hold.c ---- */

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

/* What the last writer has left: `told`: what it was telling. False: it was no end. */
bool trip_each_hold_recover(const struct each_bench *bench, struct each_judged *judged, bool told);

#endif
