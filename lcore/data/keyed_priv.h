/* SPDX-License-Identifier: BSD-3-Clause */
/* What a table of keys is made of; for its own files only. */
#ifndef TRIP_KEYED_PRIV_H
#define TRIP_KEYED_PRIV_H

#include <stdatomic.h>

#include "keyed.h"

/* Idle time has so many units, or up to twice as many. What an entry remembers of when it was seen
 * goes round in 65,536, which is longer than the hand takes in the worst case: one call more than
 * the part says, each one unit more than all of these late. */
#define KEYED_IDLE_UNITS 320u
#define KEYED_SWEEP_PART 100u

/* Entries that the hands of idle and of held keys pass at once where there is nothing for them. */
#define KEYED_BLOCK 32u
struct keyed_block {
	uint16_t seen; /* no key without a mark was last seen before that unit */
	uint16_t held; /* keys that are */
};

/* A word for each of a key, made even, and two. */
#define KEYED_SECRETS (TRIP_KEYED_WORDS_MAX + 3)

#define KEYED_BIN_BITS 7u /* within a power of two */
#define KEYED_BINS_EXACT (2u << KEYED_BIN_BITS)
#define KEYED_BINS (KEYED_BINS_EXACT + ((63 - KEYED_BIN_BITS) << KEYED_BIN_BITS))

/* An entry: so many words, and those of its key. A dead one has 0 packets, and in the place of its
 * key the next one that is free. */
enum keyed_word {
	KEYED_PACKETS, /* 48 bits; above them the unit in which it was last seen */
	KEYED_BYTES,
	KEYED_KEY,
};
#define KEYED_SEEN_SHIFT 48u
/* Packets of a key that is there and has had none, as it was admitted by hand: one more than a
 * count of these has, so counting goes where it looks closer. */
#define KEYED_PACKETS_MASK ((UINT64_C(1) << KEYED_SEEN_SHIFT) - 1)
#define KEYED_PACKETS_NONE KEYED_PACKETS_MASK
/* Above its bytes: it is held. */
#define KEYED_HELD (UINT64_C(1) << 63)

/* What counting does not touch, apart: with keys of up to two words what it touches is half a
 * cache line then. Where there is a rate it touches all, and all of an entry lies together. */
enum keyed_rest {
	KEYED_BUCKET,
	KEYED_ERROR, /* above 8 bits of the mark, and what has been told */
	KEYED_REST_WORDS,
};

/* A note: so many words, and those of its key. */
enum keyed_note {
	KEYED_NOTE_NUMBER, /* and 1; 0: it is being written */
	KEYED_NOTE_WHEN,   /* above 2 bits of its kind */
	KEYED_NOTE_PACKETS,
	KEYED_NOTE_BYTES,
	KEYED_NOTE_ERROR,
	KEYED_NOTE_KEY,
};
#define KEYED_NOTE_SHIFT 2u
#define KEYED_STATE_BITS 16u
#define KEYED_MARK_SHIFT 8u
#define KEYED_TELLING_SHIFT TRIP_KEYED_LIMITS
#define KEYED_HALF_LINE 4u                  /* words */
#define KEYED_BUCKET_MAX (INT64_C(1) << 62) /* what one holds, in parts */

/* A slot is a part of the hash, its tag, above an entry + 1; 0: free. What the writer stores here
 * others may load: keyed_put(). */
#define KEYED_SLOTS 15u
struct keyed_line {
	_Alignas(64) uint32_t slots[KEYED_SLOTS];
	uint32_t passed; /* keys that found it full, and are in a later one */
};

_Static_assert(sizeof(struct keyed_line) == 64, "a cache line");

/* Of a hand that goes round all of its places in a time: that, the clock when it was asked last,
 * and how far it is to move, times a round. */
struct keyed_pace {
	uint64_t now, due, round;
};

struct trip_keyed {
	/* Fixed. */
	uint64_t secret[KEYED_SECRETS];
	struct trip_keyed_limit limits[TRIP_KEYED_LIMITS];
	/* The lowest of them. */
	uint64_t limit_packets, limit_bytes;
	uint64_t told_rate;  /* the bit of its limit */
	uint64_t spill_rate; /* likewise, where it is told once until it was lower */
	uint8_t told_all;    /* of all */
	struct trip_keyed_limit members[TRIP_KEYED_MEMBERS];
	uint32_t n_members;
	uint64_t rate_member; /* the bit of that */
	/* In parts: what leaks in a microsecond, and what a bucket may hold. */
	uint64_t rate, burst, until;
	uint64_t cost_packet, cost_byte;
	uint64_t unit; /* microseconds */
	uint64_t pace; /* blocks a microsecond, times 2^32 */
	uint32_t max, capacity, lines, blocks;
	uint64_t entries_at;          /* bytes behind the lines and blocks */
	uint32_t words;               /* of a key */
	uint32_t stride, rest_stride; /* of an entry, in words; of the rest of it */
	uint64_t rest_at;             /* words from the first entry */
	uint32_t id_mask;             /* of a slot */
	bool by_bytes, holds, closed;
	/* Of the word that says until when an entry is held: words from the first entry, and from
	 * one to the next. In microseconds: the longest hold, what a rate holds, a round of its
	 * hand. */
	uint64_t hold_at;
	uint32_t hold_stride;
	uint64_t hold_max, hold_of_rate;
	/* Of memos: how many an entry has, and words from the first entry; what of them is so, and
	 * 1. */
	uint32_t memos;
	uint8_t next[TRIP_KEYED_LIMITS], anew, window, bucket, members_told, seen;
	/* Words of a key for which counting has code of its own; 0: it writes when it was seen. */
	uint32_t path;
	uint64_t memos_at;
	/* Of quiet keys: the times, all of their bits, the shortest, a round of the hand; words
	 * from the first entry to what blocks know. */
	uint64_t quiets[TRIP_KEYED_QUIETS], quiet_all, quiet_least, quiets_at;
	uint64_t hold_count, police, pitch;
	uint32_t own, n_tables;
	/* Of notes: how many are kept, and words from the first entry. */
	uint32_t notes;
	uint64_t notes_at;
	/* The clock: microseconds, how far into the unit; the hand of idle entries. */
	uint64_t now, into, due;
	uint32_t idle_hand; /* a block */
	uint16_t units, idle_units;
	/* The hand of held entries, and where it is. */
	struct keyed_pace hold_pace;
	uint32_t hold_hand;
	/* Likewise, of quiet entries, by blocks. */
	struct keyed_pace quiet_pace;
	uint32_t quiet_hand;
	/* The floor, and the hand that looks for the next one. */
	_Atomic uint64_t floor;
	uint64_t base; /* the floor when it began */
	uint32_t hand, top_bin;
	uint64_t counted, lost;   /* by the hand; of these, who has gone meanwhile */
	uint32_t free, free_head; /* entry + 1 */
	uint32_t free_least;      /* below that, the hand moves */
	/* Read by others. */
	_Atomic uint64_t seen_packets, seen_bytes, remainder_packets, remainder_bytes,
		refused_packets, refused_bytes, dropped_packets, dropped_bytes, admitted, evicted,
		expired, held;
	/* An entry + 1 whose counts move, what the remainder will be, how many will have gone as it
	 * does, as they were idle, or not, and the number of the note that tells it. */
	_Atomic uint64_t moving, moved_packets, moved_bytes, moved_idle, moved_gone, moved_note;
	_Atomic uint64_t noted; /* notes that are shown */
	/* How many sums were added; an entry + 1 to which one is being, or the remainder behind all
	 * entries, and what its counts, and that number, are then. */
	_Atomic uint64_t added, adding, adding_packets, adding_bytes, adding_number;
	/* Odd while the lines are made anew; grows with that. */
	_Atomic uint64_t rebuilt;
	uint32_t bins[KEYED_BINS];
	/* Then lines, then blocks, then entries. */
	_Alignas(64) uint8_t rest[];
};

_Static_assert(sizeof(struct trip_keyed) <= TRIP_KEYED_ITSELF, "and what is rounded up");

static inline struct keyed_line *
keyed_lines(const struct trip_keyed *table)
{
	return (struct keyed_line *)(uintptr_t)table->rest;
}

static inline _Atomic uint64_t *
keyed_entry(const struct trip_keyed *table, uint32_t entry)
{
	return (_Atomic uint64_t *)(uintptr_t)(table->rest + table->entries_at) +
	       (size_t)entry * table->stride;
}

/* That of an entry. */
static inline struct keyed_block *
keyed_block(const struct trip_keyed *table, uint32_t entry)
{
	return (struct keyed_block *)(keyed_lines(table) + table->lines) + entry / KEYED_BLOCK;
}

static inline _Atomic uint64_t *
keyed_rest(const struct trip_keyed *table, uint32_t entry)
{
	return keyed_entry(table, 0) + table->rest_at + (size_t)entry * table->rest_stride;
}

/* One writer: all that orders its stores is for readers, and for who comes after its death. */
static inline uint64_t
keyed_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void
keyed_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline void
keyed_publish(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* Of a line. */
static inline void
keyed_put(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint32_t
keyed_get(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void
keyed_grow(_Atomic uint64_t *word, uint64_t by)
{
	keyed_store(word, keyed_load(word) + by);
}

static inline bool
keyed_lives(uint64_t word)
{
	return (word & KEYED_PACKETS_MASK) != 0;
}

static inline uint64_t
keyed_packets(uint64_t word)
{
	return (word & KEYED_PACKETS_MASK) != KEYED_PACKETS_NONE ? word & KEYED_PACKETS_MASK : 0;
}

/* Of a key that is there. */
static inline uint64_t
keyed_packets_word(uint64_t packets)
{
	return packets != 0 ? packets : KEYED_PACKETS_NONE;
}

static inline uint64_t
keyed_bytes(uint64_t word)
{
	return word & ~KEYED_HELD;
}

/* Where there are holds. */
static inline _Atomic uint64_t *
keyed_hold(const struct trip_keyed *table, uint32_t entry)
{
	return keyed_entry(table, 0) + table->hold_at + (size_t)entry * table->hold_stride;
}

static inline _Atomic uint64_t *
keyed_memos(const struct trip_keyed *table, uint32_t entry)
{
	return keyed_entry(table, 0) + table->memos_at + (size_t)entry * table->memos;
}

/* When it had a packet last, where that is written. */
static inline _Atomic uint64_t *
keyed_seen_at(const struct trip_keyed *table, uint32_t entry)
{
	return &keyed_memos(table, entry)[table->seen - 1];
}

/* Before which moment no key of a block is quiet. */
static inline _Atomic uint64_t *
keyed_quiets(const struct trip_keyed *table)
{
	return keyed_entry(table, 0) + table->quiets_at;
}

/* Somebody has looked at all that it was quiet for, or nobody asks. */
static inline bool
keyed_was_quiet(const struct trip_keyed *table, uint32_t entry)
{
	return table->quiet_all == 0 ||
	       keyed_load(keyed_seen_at(table, entry)) >> TRIP_KEYED_QUIET_SHIFT ==
		       table->quiet_all;
}

/* Of a key that has been told to be above its rate, what is above the burst is not kept: so what it
 * has told is over when that is, however much came. */
static inline void
keyed_spill(const struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *bucket = &keyed_rest(table, entry)[KEYED_BUCKET];
	uint64_t full = table->now * table->rate + table->burst;

	if ((int64_t)(keyed_load(bucket) - full) > 0)
		keyed_store(bucket, full);
}

static inline uint16_t
keyed_seen(uint64_t word)
{
	return (uint16_t)(word >> KEYED_SEEN_SHIFT);
}

static inline uint8_t
keyed_mark(const struct trip_keyed *table, uint32_t entry)
{
	return (uint8_t)(keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]) >> KEYED_MARK_SHIFT) &
	       (uint8_t)~TRIP_KEYED_STAYS;
}

/* It has a mark, and marks say so here. */
static inline bool
keyed_is_held(const struct trip_keyed *table, uint32_t entry)
{
	return table->holds && keyed_mark(table, entry) != 0;
}

static inline uint8_t
keyed_told(uint64_t state)
{
	return state & ((1u << TRIP_KEYED_LIMITS) - 1);
}

/* It has been so low that the next time above is another one. */
static inline __attribute__((always_inline)) void
keyed_forget_rate(const struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];
	uint64_t state = keyed_load(error);

	/* While it is held by that, it is told. */
	if (__builtin_expect((state & table->told_rate) != 0, 0) && !keyed_is_held(table, entry))
		keyed_store(error, state & ~table->told_rate);
}

static inline uint64_t
keyed_error(const struct trip_keyed *table, uint32_t entry)
{
	return keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]) >> KEYED_STATE_BITS;
}

/* In the measure that ranks, as what was counted; and with the error. */
static inline uint64_t
keyed_weight(const struct trip_keyed *table, uint64_t packets, uint64_t bytes)
{
	return table->by_bytes ? bytes : packets;
}

static inline uint64_t
keyed_rank(const struct trip_keyed *table, uint32_t entry)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);

	return keyed_weight(table, keyed_packets(keyed_load(&at[KEYED_PACKETS])),
		       keyed_bytes(keyed_load(&at[KEYED_BYTES]))) +
	       keyed_error(table, entry);
}

static inline uint16_t
keyed_age(const struct trip_keyed *table, uint16_t seen)
{
	return (uint16_t)(table->units - seen);
}

static inline bool
keyed_is_idle(const struct trip_keyed *table, uint64_t packets)
{
	return keyed_age(table, keyed_seen(packets)) > table->idle_units;
}

/* A unit that is just as long ago as it takes to be idle. */
static inline uint16_t
keyed_idle_since(const struct trip_keyed *table)
{
	return (uint16_t)(table->units - table->idle_units - 1);
}

static inline void
keyed_key(const struct trip_keyed *table, uint32_t entry, uint64_t *key)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);

	for (uint32_t i = 0; i < table->words; i++)
		key[i] = keyed_load(&at[KEYED_KEY + i]);
}

#include "keyed_find.h"

/* keyed_above.c: a packet that has taken its key to a limit, or is of one that is there, or is
 * held; and what becomes of packets of a chunk, bit i for packet i. */
struct keyed_above {
	struct trip_keyed *table;
	const uint32_t *bytes;
	uint32_t over, dropped;
	uint32_t settled; /* of keys of which there is nothing left to be told */
	uint64_t now;     /* microseconds */
};

void trip_keyed_above(struct keyed_above *above, uint32_t entry, uint32_t packet, bool rate);

/* So much of a key, in what its rate is of, which packets alone do not say. */
void trip_keyed_above_sum(struct trip_keyed *table, uint32_t entry, uint64_t weight, bool rate);

/* keyed_add.c: what an interrupted sum has begun. */
void trip_keyed_add_finish(struct trip_keyed *table);

/* keyed_hold.c: what a writer has left of holds, entry by entry, is put in order. */
void trip_keyed_hold_recover(struct trip_keyed *table, uint32_t entry, uint64_t now);

/* keyed_quiet.c: blocks know nothing of quiet keys, so all are looked at. */
void trip_keyed_quiet_restart(struct trip_keyed *table, uint64_t now);

/* keyed_note.c: of an entry, which is written where nobody sees it, and shown; and what the last
 * writer has left. */
void trip_keyed_note_write(struct trip_keyed *table, uint32_t entry, enum trip_keyed_noted kind);
void trip_keyed_note_show(struct trip_keyed *table);
void trip_keyed_note_recover(struct trip_keyed *table);

/* keyed_room.c: who goes. */
void trip_keyed_room_make(struct trip_keyed *table, uint32_t packets);
void trip_keyed_room_expire(struct trip_keyed *table, uint32_t blocks);
void trip_keyed_room_free(struct trip_keyed *table, uint32_t entry);
/* An entry whose key and counts are still to be written, or TRIP_KEYED_NONE. */
uint32_t trip_keyed_room_take(struct trip_keyed *table);
/* What an interrupted move has begun. */
void trip_keyed_room_finish(struct trip_keyed *table);
/* The hand begins anew. */
void trip_keyed_room_restart(struct trip_keyed *table);

/* How many of its places the hand is to look at by now: as many as go by in the time that has
 * passed, no more than a round, and at once no more of them than of idle ones. */
static inline uint32_t
keyed_looks_due(struct keyed_pace *pace, uint32_t places, uint64_t now)
{
	uint64_t passed = now > pace->now ? now - pace->now : 0;
	uint64_t most = places / KEYED_SWEEP_PART + 1, looks;
	const uint64_t all = places * pace->round;

	pace->now = now;
	pace->due += (passed < pace->round ? passed : pace->round) * places;
	if (pace->due > all)
		pace->due = all;
	looks = pace->due / pace->round;
	looks = looks < most ? looks : most;
	pace->due -= looks * pace->round;
	return (uint32_t)looks;
}

#endif
