/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters for keys that nobody knew beforehand: a table of one queue, in which each key that it
 * sees has an exact count from the moment it was admitted on, and a bound of what it had before.
 *
 * What it keeps. Of each key in the table: what was counted since it was admitted, an error, and so
 * count - error <= truth <= count, where the count is both together. Of all others: a sum, the
 * remainder. The entries and the remainder are what was seen, to the packet and byte. The error is
 * in the measure by which the table ranks, packets or bytes, as everything here that has no unit.
 * Work judges what was counted since: a key that is told to be over something is. What it has been
 * told to be over an entry remembers, as long as it lives: so nobody is told twice.
 *
 * What it gives up. Keys that are not in the table have at most `floor` each. A key that comes then
 * is admitted with the floor for its error. A key may go when its count, error included, is at or
 * below the floor: what the floor says of all others is true of it as well. So all that is left is
 * when the floor may rise, and that it does not rise beyond seen / max:
 *
 *	A table for M keys has room for M + G. A hand goes over the entries and notes how far each
 *	count is above the floor. When it has seen all, the floor rises to the highest value that at
 *	least M entries had reached: counts only grow, and one that has gone since is not among the
 *	M. Let P be the sum over all entries of how far they are above the floor. A packet adds its
 *	weight to P at most, also where it admits a key; what goes by the floor takes nothing off;
 *	a rise by d takes d off each of M entries. As P is never negative, M * floor <= seen.
 *
 * So every key of more than seen / M is in the table: Space-Saving (Metwally), and of weights. Its
 * heap or list would cost log(M) a packet, or a walk where weights differ; rising in the background
 * is due to DIM-SUM (Ben Basat et al.), whose quantile is taken here from a histogram with bins of
 * one in 128. It rounds the rise down, which keeps all of the above; the next time round the hand
 * sees the rest of the distance, 128 times as sharp.
 *
 * Room. The hand moves while fewer than a quarter of G are free: at most TRIP_KEYED_LOOKS entries
 * for each packet, known key or not, so it is round after (M + G) / LOOKS = G / 16 packets. Fewer
 * than M entries are above a floor that is sharp, and as many as packets have come since; all
 * others go in the next round. A round that began before admissions that it could not see, one more
 * whose floor is not sharp yet, one that is, and one in which they go, are a quarter of G. Where
 * none is free in time, as entries are marked, or those that could go are more than 2^15 above the
 * floor and close to each other, a packet's key is refused: the packet goes to the remainder, and
 * the floor rises by its weight, so that all but the bound stays true: floor <= seen / M + refused.
 * That is counted; the statement's word decides what becomes of such a packet.
 *
 * Idle keys go as a second hand comes by, which is round in 1/320 of the time: never before T, and
 * at most 3/320 of T late. A call moves it as far as the clock says, but no more than 1/100 round:
 * who calls seldom finds what is idle within 101 calls. It goes by blocks of 32 entries, each of
 * which knows a moment before which none of its keys was seen: so the hand looks into one only
 * where a key may be idle, which is a few times in T and not 320 times. With an idle key what is
 * known of it ends: truth is what a key had since it last was idle for T.
 *
 * Rates: a leaky bucket of one word, the moment in which it will be empty, in units of what leaks
 * in a microsecond; so it leaks by itself, and all is in integers. A key is over `burst` and `rate`
 * of a time t in some interval t that ends now exactly where its bucket holds more than `burst`.
 * While a key is told to be, it holds no more than that: so the interval begins behind what was
 * told. A packet or byte is as many parts as have a whole number leak. Where more than 2^61 of them
 * would leak while a key becomes idle, it is fewer, and what leaks is rounded up: by 1 in 2^12 at
 * most, and never early. A byte is no more than 2^30 of them: a rate of bytes below one a second is
 * rounded up by more than 1 in 2^10.
 *
 * Several queues have a table each. For a limit N over Q of them each has the limit
 * trip_count_share(N, Q) of count.h, so a key that no table tells to be over has less than N in
 * all: at most Q * (ceil(N / Q) - 1). A key that one of them has told is close to the limit, and
 * any queue's next packet may be the one. So all have bits in common, by what the secret makes of
 * keys: whoever tells sets the key's bit before looking into the other tables, and each chunk looks
 * at its keys' bits behind its counts. Both put a fence between, so one of two sees the other. Each
 * bit is there twice, so that one of them can be cleared: each_close.c says when.
 *
 * Holds: a key may be held until some time, as its packets are to be dropped until then. It has a
 * mark then, so it stays, and a bit above its bytes. That makes these more than any limit says, so
 * no packet of other keys takes an instruction for it. The time is in a word that the entry has
 * anyway: behind a key of one word, or in the place of the bucket where there is no rate; only
 * entries of longer keys that have a rate and may be held are a word longer. It is exact for
 * packets. A third hand, which moves where keys are held, finds those that had no packet since:
 * it is round in a part of the shortest hold that whoever holds keys says, and passes blocks
 * without any.
 *
 * By hand: a key may be admitted before it has a packet, so as to be held. It says then that it
 * lives, and has none; all sums are as they were.
 *
 * Memos: an entry may have words more for whoever judges keys, apart from all else. They are 0 as a
 * key comes, and written by him alone. Two things counting knows from them, so as to hand over no
 * packet in vain: from which count on a key is over a limit, where that is more than the limit;
 * and what it had when it last began anew, which is taken off what it has. Limits that have such a
 * word a key never is done with. A key that has begun anew may have to stay for that, until it is
 * idle: as long as others need to know.
 *
 * Members: limits of which a key is only to be told that it has reached them, each once, for who
 * waits for all or one of several. A memo has their bits, which he sets.
 *
 * Quiet keys: where that is asked for, a memo says to the microsecond when a key had a packet last,
 * which each packet writes. A fourth hand goes by blocks, of which each knows a moment before which
 * none of its keys is quiet for any of the times. It is round in 1/320 of the shortest of these,
 * and a call moves it by 1/100 round at most, as it does that of idle keys. A key that is quiet for
 * a time is handed over once, until it has a packet again; and it is not idle before it was.
 *
 * Sums: what came of a key that was counted elsewhere may be added to it, which is one step for
 * whoever is killed: what its entry is to be is written down first, and done anew by the follower.
 * It counts as if it had been seen, and adds so much to P. To the bucket it comes as if all of it
 * had been there since the time that it says, so what is above the rate was so for certain. Where
 * the key has no entry the sum is refused, as a packet is for which there is no room.
 *
 * Memory: for keys of 16 bytes an entry is 48, of which M + M / 7, and 8 bytes for each of M find
 * it: 63 in all, and TRIP_KEYED_ITSELF of the table at most. All of it is offsets, so it may be
 * shared, and lie elsewhere in each process. A packet of a known key touches two cache lines: where
 * the key is found, and the half of a line that has key, packets and bytes. The other 16 bytes,
 * error, mark and bucket, lie apart; where there is a rate, which each packet needs, with the rest.
 *
 * One writer: whoever polls the queue. Everybody else may read entries and totals. A writer that is
 * killed at any instruction leaves whole entries: an entry is alive by its packets' word, which is
 * stored last; what moves to the remainder is noted before. Who counts next calls
 * trip_keyed_recover(), which finds the rest from that. Of the chunk under way some packets may not
 * have been counted, and of one of them the bytes alone. Whatever else a writer may have left in
 * what it writes, the next one writes nowhere but in the table: garbage counts as garbage.
 *
 * Notes: where they are asked for, the last of what came and went are kept, each with its key and a
 * number, for readers as a log is. A key that leaves has its note before it is dead, and of a move
 * that was interrupted is known whether that was made. One that comes has it written before it
 * lives, and shown behind that: the follower shows it where the key is alive. So there is one note
 * for each that came or went, however often writers are killed.
 *
 * Who looks for one key goes by the lines, as the writer does. A key that is there stays in its
 * slot, and each line on its way says that somebody has passed, so it is found beside any call of
 * the writer's but one: where lines are made anew, `rebuilt` is odd or moves, and all entries are
 * looked at instead. Who polls a queue has no time for that: what is not in the lines then is not
 * there for him.
 *
 * Hashing is NH (Black, Halevi, Krawczyk, Krovetz and Rogaway, for UMAC) of a key's words, by words
 * that SipHash makes of a secret of the run: any two keys that were chosen without knowing it agree
 * in one of 2^64 runs. One more multiplication makes line and tag of that. It is no cipher: who can
 * measure what each of his packets takes might find keys that share a line, as with those of rules
 * (../soft/tuple.h); SipHash of each key was a third of what a packet took.
 */
#ifndef TRIP_KEYED_H
#define TRIP_KEYED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIP_KEYED_CHUNK 32u
#define TRIP_KEYED_WORDS_MAX 5u
#define TRIP_KEYED_MAX (UINT32_C(1) << 23)
#define TRIP_KEYED_NONE UINT32_MAX
/* Entries that are looked at for a packet, at most, to make room. */
#define TRIP_KEYED_LOOKS 128u
/* Bytes beside those of the keys. */
#define TRIP_KEYED_ITSELF 36864u
/* Up to where the floor may rise, and packets of an entry: what comes above is the remainder's. */
#define TRIP_KEYED_FLOOR_MAX ((UINT64_C(1) << 48) - 1)
#define TRIP_KEYED_PACKETS_MAX ((UINT64_C(1) << 48) - 2)
#define TRIP_KEYED_IDLE_MIN 320u
#define TRIP_KEYED_IDLE_MAX (UINT64_C(1) << 48)
#define TRIP_KEYED_BURST_MAX (UINT64_C(1) << 40)
#define TRIP_KEYED_RATE_MAX (UINT64_C(1) << 40)
#define TRIP_KEYED_LIMITS 4u
#define TRIP_KEYED_MEMBERS 16u
/* Times for which keys may be quiet; a memo has as many bits above the moment of the last packet:
 * of which of them that has been looked at. */
#define TRIP_KEYED_QUIETS 4u
#define TRIP_KEYED_QUIET_SHIFT 60u
/* Notes that are kept, a power of two. */
#define TRIP_KEYED_NOTES_MIN 8u
#define TRIP_KEYED_NOTES_MAX (UINT32_C(1) << 20)
/* Words of an entry for whoever judges; those of a beginning anew, one behind the other. */
#define TRIP_KEYED_MEMOS_MAX 12u
enum trip_keyed_anew {
	TRIP_KEYED_LIFE, /* how often it began anew */
	TRIP_KEYED_ANEW_PACKETS,
	TRIP_KEYED_ANEW_BYTES,
	TRIP_KEYED_ANEW_WORDS,
};
/* Of a mark: with that alone it stays until it is idle, and is not held. */
#define TRIP_KEYED_STAYS 0x20u
/* Of a mark: by which limit it is held; where a rate prolongs that it is the rate's. */
#define TRIP_KEYED_MARK_BY (TRIP_KEYED_LIMITS - 1)
/* Likewise, of one that is held: its packets pass, or do so up to a rate; else they are dropped. */
#define TRIP_KEYED_PASSES 0x10u
#define TRIP_KEYED_POLICED 0x08u
/* Likewise: by nobody's limit, and no rate prolongs it. */
#define TRIP_KEYED_BY_HAND 0x04u
/* Held for ever; a hold of a time is shorter than that of which the hand has a notion. */
#define TRIP_KEYED_EVER UINT64_MAX
#define TRIP_KEYED_HOLD_ROUND_MAX (UINT64_C(1) << 32)
/* Bits of keys that are close to a limit over several tables, as words: two of each. */
#define TRIP_KEYED_CLOSE_BITS 16u
#define TRIP_KEYED_CLOSE_WORDS ((1u << TRIP_KEYED_CLOSE_BITS) / 64 * 2)

/* A key is over what it has reached; 0: never. */
struct trip_keyed_limit {
	uint64_t packets, bytes;
};

struct trip_keyed_attr {
	uint32_t max;   /* keys, 1 ... TRIP_KEYED_MAX */
	uint32_t words; /* of a key, of 8 bytes each, 1 ... TRIP_KEYED_WORDS_MAX */
	bool by_bytes;  /* it ranks by these, else by packets */
	uint64_t idle;  /* microseconds, TRIP_KEYED_IDLE_MIN ... TRIP_KEYED_IDLE_MAX */
	struct trip_keyed_limit limits[TRIP_KEYED_LIMITS];
	/* A key is over the limit `rate_limit` where it had more than `rate` in each `seconds`, or
	 * in one where that is 0, and `burst` in some time since it last was idle; 0: no such
	 * limit. Behind `until` it is as if that had not been told. */
	bool rate_of_bytes;
	uint32_t rate_limit, seconds;
	uint64_t rate, burst, until;
	/* The rate may be told again and again: whoever tells it empties the bucket. */
	bool rate_again;
	/* Members, and which of them the rate is, and 1: then no limit is; and the memo of their
	 * bits, and 1. */
	struct trip_keyed_limit members[TRIP_KEYED_MEMBERS];
	uint32_t n_members, rate_member;
	/* Microseconds, each shorter than `idle`; 0: there is none. The memo is `seen`, and 1. */
	uint64_t quiets[TRIP_KEYED_QUIETS];
	/* Keys may be held, for `hold_max` microseconds at most. Who is over the rate meanwhile is
	 * held for `hold_of_rate` from then on; 0: as before. The hand comes by in `hold_round`;
	 * 0: it never does. */
	bool holds;
	uint64_t hold_max, hold_of_rate, hold_round;
	/* Not 0: who has told to be over the rate, and is held, is so for `hold_of_rate` from then
	 * on where so much came since that began, or was prolonged; a memo counts that. */
	uint64_t hold_count;
	/* What those that are policed pass at (police.h), and the first of two memos: their bucket,
	 * and whose they take from, trip_keyed_place(); 0: their own. */
	uint64_t police;
	/* Which of so many tables it is that lie one behind the other, `pitch` bytes apart. */
	uint32_t own, n_tables;
	uint64_t pitch;
	/* Packets that are refused are to be dropped. */
	bool closed;
	/* Words of an entry; of these, and 1: which says from what on it is over a limit; and the
	 * first of those that a beginning anew has. 0: none does. */
	uint32_t memos;
	uint8_t next[TRIP_KEYED_LIMITS], anew, window, bucket, members_told, seen;
	/* How many of the last notes are kept; 0: none is made. */
	uint32_t notes;
	uint64_t secret[2];
};

/* Packets that came at one time: up to TRIP_KEYED_CHUNK. */
struct trip_keyed_chunk {
	const uint64_t *keys; /* [count][words] */
	const uint32_t *bytes;
	uint32_t count;
	/* Of all tables, [TRIP_KEYED_CLOSE_WORDS]; NULL: there are no others. */
	const _Atomic uint64_t *close;
	/* Where it is told which of them are to be dropped, bit i for packet i; NULL: nowhere. */
	uint32_t *dropped;
};

struct trip_keyed_entry {
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint64_t packets, bytes; /* since it was admitted: both are below the truth */
	uint64_t error;          /* what it may have had before, in the measure that ranks */
	uint64_t bucket;         /* trip_keyed_exceeds() */
	uint64_t now;            /* the table's clock */
	uint64_t hold;           /* until when it is held, where it has a mark */
	uint8_t mark;
	/* Limits, a bit each: what it was told to be over, and what somebody is about to tell. */
	uint8_t told, telling;
	uint32_t at; /* which it is */
	uint64_t memos[TRIP_KEYED_MEMOS_MAX];
};

struct trip_keyed_totals {
	uint64_t packets, bytes; /* seen */
	uint64_t remainder_packets, remainder_bytes;
	uint64_t refused_packets, refused_bytes; /* of the remainder */
	uint64_t floor;
	uint64_t dropped_packets, dropped_bytes;
	uint64_t admitted, evicted, expired; /* keys */
	uint32_t keys, held;
};

/* A key that came, or went: as it had least, or was idle. */
enum trip_keyed_noted {
	TRIP_KEYED_CAME,
	TRIP_KEYED_EVICTED,
	TRIP_KEYED_EXPIRED,
};

struct trip_keyed_note {
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint64_t now;            /* microseconds */
	uint64_t packets, bytes; /* what was counted of it: 0 where it came */
	uint64_t error;
	enum trip_keyed_noted kind;
};

struct trip_keyed;

/* How many bytes a table takes; 0 where an attribute is out of its range. */
size_t trip_keyed_size(const struct trip_keyed_attr *attr);

/* Of so many bytes at `memory`, aligned to 64. */
struct trip_keyed *trip_keyed_init(void *memory, const struct trip_keyed_attr *attr);

/* From here to trip_keyed_tell() all is the writer's. Before the first call of a writer that
 * follows another one, whose clock may have been ahead. Goes over the whole table. */
void trip_keyed_recover(struct trip_keyed *table, uint64_t now);

/* Counts packets that came at `now`, in microseconds, which never goes back. Returns which of them
 * belong to a key that is over a limit and has not been told so, or is close to one, or whose hold
 * is over: bit i for packet i. */
uint32_t trip_keyed_count(
	struct trip_keyed *table, const struct trip_keyed_chunk *chunk, uint64_t now);

/* What counting does as well: to be called where no packets come. True: it is not as far as the
 * clock says yet. */
bool trip_keyed_sweep(struct trip_keyed *table, uint64_t now);

/* What came of a key, in all, that was seen and dropped elsewhere (hardware): not before `since`,
 * and not before it was told here last. */
struct trip_keyed_sum {
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint64_t packets, bytes, since;
};

/* Counts that, in the key's entry, or in the remainder where it has none. Whoever judges the key
 * does so then. A writer that is killed has added all of it, or nothing. */
void trip_keyed_add(struct trip_keyed *table, const struct trip_keyed_sum *sum, uint64_t now);

/* How many were added. Anybody may read it; and the writer, where that is garbage, says it. */
uint64_t trip_keyed_added(const struct trip_keyed *table);
void trip_keyed_skip_to(struct trip_keyed *table, uint64_t added);

/* The entry of a key, which comes if it was not there, with nothing counted yet; TRIP_KEYED_NONE:
 * there is no room now. */
uint32_t trip_keyed_admit(struct trip_keyed *table, const uint64_t *key, uint64_t now);

/* The entry of a key, or TRIP_KEYED_NONE. It is that key's until the next call that counts or
 * sweeps, and while it is marked. */
uint32_t trip_keyed_find(const struct trip_keyed *table, const uint64_t *key);

/* A key with a mark other than 0 stays; TRIP_KEYED_STAYS is no part of it. */
void trip_keyed_mark(struct trip_keyed *table, uint32_t entry, uint8_t mark);

/* What it has been told to be over, and is about to be; as trip_keyed_entry has them. */
void trip_keyed_tell(struct trip_keyed *table, uint32_t entry, uint8_t told, uint8_t telling);

/* Writes a memo. Who reads the entry and finds it told, and not being told, finds what was written
 * before that was said. */
void trip_keyed_write(struct trip_keyed *table, uint32_t entry, uint32_t memo, uint64_t value);

/* Nothing of it has been told, and its bucket is empty; what is being told stays. */
void trip_keyed_forget(struct trip_keyed *table, uint32_t entry);

/* Its bucket is empty: returns what that is. */
uint64_t trip_keyed_empty(struct trip_keyed *table, uint32_t entry);

/* An entry of one of the tables, as a word that is not 0. */
static inline uint64_t
trip_keyed_place(uint32_t table, uint32_t entry)
{
	return (uint64_t)(table + 1) << 32 | entry;
}

/* Whether a packet of a key that is policed passes: it takes from the key's bucket, which may be in
 * another table. Where the key is there no more, it is its own. */
bool trip_keyed_polices(
	const struct trip_keyed *table, uint32_t entry, uint32_t bytes, uint64_t now);

/* The same for one that has no entry here: by the bucket at that place, as long as it is the key's.
 */
bool trip_keyed_polices_at(const struct trip_keyed *table, const uint64_t *key, uint64_t place,
	uint32_t bytes, uint64_t now);

/* It stays until it is idle. */
void trip_keyed_stay(struct trip_keyed *table, uint32_t entry);

/* Holds a key until then, in microseconds, under a mark that is not 0; and holds it no more. */
void trip_keyed_hold(struct trip_keyed *table, uint32_t entry, uint64_t until, uint8_t mark);
void trip_keyed_release(struct trip_keyed *table, uint32_t entry);

/* No key is held longer than that. */
uint64_t trip_keyed_hold_latest(const struct trip_keyed *table, uint64_t now);

/* Moves the hand of held keys as far as the clock says: how many it has found whose hold is over,
 * which are written to `entries`, and up to `room` of them. */
uint32_t trip_keyed_ended(struct trip_keyed *table, uint64_t now, uint32_t *entries, uint32_t room);

/* Moves the hand of quiet keys as far as the clock says: how many it has found that are so for a
 * time of which that was not looked at yet, which are written to `entries`, of which there are 32
 * at least. Whoever has looked at one says so; then it is not found before it had a packet. */
uint32_t trip_keyed_quiet(struct trip_keyed *table, uint64_t now, uint32_t *entries, uint32_t room);
void trip_keyed_quiet_looked(struct trip_keyed *table, uint32_t entry, uint64_t now);

/* When it had a packet last, of a memo. */
static inline uint64_t
trip_keyed_seen(uint64_t memo)
{
	return memo & ((UINT64_C(1) << TRIP_KEYED_QUIET_SHIFT) - 1);
}

/* So much of what was counted was dropped. */
void trip_keyed_dropped(struct trip_keyed *table, uint64_t packets, uint64_t bytes);

/* What a packet adds to what trip_keyed_exceeds() says. */
int64_t trip_keyed_cost(const struct trip_keyed *table, uint32_t bytes);

/* How far a bucket of this table is above its burst; and one of another table of the statement
 * above what `until` says, by this table's time: at most 0 where it is not. */
int64_t trip_keyed_exceeds(const struct trip_keyed *table, uint64_t bucket);
int64_t trip_keyed_lasts(const struct trip_keyed *table, const struct trip_keyed_entry *other);

/* The rest is any process's, at any time. */

/* How many entries there are, dead ones included. */
uint32_t trip_keyed_entries(const struct trip_keyed *table);

/* False where there is no key in this entry, or it is changing hands. */
bool trip_keyed_read(
	const struct trip_keyed *table, uint32_t entry, struct trip_keyed_entry *reading);

/* The entry of a key; false: it has none. */
bool trip_keyed_seek(
	const struct trip_keyed *table, const uint64_t *key, struct trip_keyed_entry *reading);

/* The same for who counts elsewhere: by the lines alone, without a look at all entries. So where
 * they are being made anew it may not be found. */
bool trip_keyed_glance(
	const struct trip_keyed *table, const uint64_t *key, struct trip_keyed_entry *reading);

/* What a key has had at most that had no entry when it was looked for before. */
uint64_t trip_keyed_floor(const struct trip_keyed *table);

/* Whether the key of this number is close to a limit: it has both bits, or one is being cleared. */
static inline bool
trip_keyed_is_close(const _Atomic uint64_t *close, uint64_t number)
{
	uint64_t bit = number >> (64 - TRIP_KEYED_CLOSE_BITS);
	const _Atomic uint64_t *both = &close[bit / 64 * 2];

	return (atomic_load_explicit(&both[0], memory_order_relaxed) |
		       atomic_load_explicit(&both[1], memory_order_relaxed)) >>
		       (bit % 64) &
	       1;
}

/* And that it is. False: it was before. */
static inline bool
trip_keyed_come_close(_Atomic uint64_t *close, uint64_t number)
{
	uint64_t bit = number >> (64 - TRIP_KEYED_CLOSE_BITS), mask = UINT64_C(1) << (bit % 64);
	bool comes = !trip_keyed_is_close(close, number);

	for (uint64_t i = bit / 64 * 2; i <= bit / 64 * 2 + 1; i++)
		if ((atomic_load_explicit(&close[i], memory_order_relaxed) & mask) == 0)
			atomic_fetch_or_explicit(&close[i], mask, memory_order_relaxed);
	return comes;
}

/* The writer: whether a key has its table's part of a limit, is held, or has begun anew; and the
 * bits of all that do, from an entry on up to `count`. Returns the next entry. */
bool trip_keyed_is_near(const struct trip_keyed *table, uint32_t entry);
uint32_t trip_keyed_near(
	const struct trip_keyed *table, uint32_t entry, uint32_t count, _Atomic uint64_t *close);

/* Under one secret the same in all tables; nobody else can foretell it. */
uint64_t trip_keyed_number(const struct trip_keyed *table, const uint64_t *key);

void trip_keyed_totals(const struct trip_keyed *table, struct trip_keyed_totals *totals);
/* It has no key. */
bool trip_keyed_is_empty(const struct trip_keyed *table);

/* How many notes there have been; and one of them, from 0 on. False: it is not kept any more. */
uint64_t trip_keyed_notes(const struct trip_keyed *table);
bool trip_keyed_note(const struct trip_keyed *table, uint64_t number, struct trip_keyed_note *note);

/* What does not hold of it, or NULL. */
const char *trip_keyed_check(const struct trip_keyed *table);

#endif
