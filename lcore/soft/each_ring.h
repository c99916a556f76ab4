/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trips of a statement: which keys have reached what its conditions say, in one order over all
 * of its queues, the last of them kept. In memory that processes share, written by whoever polls a
 * queue, who may be killed at any instruction; read by anybody.
 *
 * A trip is written whole in a log of its queue, which has one writer, and becomes one by a single
 * compare-exchange: that puts a word, which says where it is, into the next place of a ring. So
 * there is no trip without its key, nobody waits for anybody, and the number of a trip is that of
 * its place. Places are taken one after the other: whoever takes one has seen who took those before
 * it. So of two queues that tell of one key at once, each having read the number of trips before it
 * judged, the second finds the first in its way, and leaves it at that.
 *
 * Of one key and condition there may be several trips, one after the other. Who finds another's in
 * its way is given that, and goes by what it says: how much had been counted, and in which life of
 * the key, as one that begins anew has several. A trip that has its key begin anew is in the way of
 * all others of that life.
 *
 * A queue's serial number moves on when its trip is in a place: by its writer, or by whoever takes
 * that place for another trip, before he does. So of a writer who is held up anywhere others know
 * whether he has told, however far the ring has gone round meanwhile: trip_each_ring_ask().
 *
 * Who is killed on the way has said in the key's entry that it is telling (keyed.h), before the
 * place was taken; that it has told is said there behind it. Whoever polls the queue next finds out
 * which it was: trip_each_ring_settle().
 *
 * A queue writes over its oldest trip as it makes a new one, which may be before the ring has come
 * round to that place. So each has a serial number, which readers look at again behind the rest.
 */
#ifndef TRIP_EACH_RING_H
#define TRIP_EACH_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyed.h"

/* A power of two. */
#define TRIP_EACH_RING_MIN 8u
#define TRIP_EACH_RING_MAX 32768u
#define TRIP_EACH_RING_TABLES_MAX 65536u

/* Beside a condition: what it has begun has ended. */
#define TRIP_EACH_TOLD_END (UINT32_C(1) << 31)
/* In the place of a condition: something was done to the key by hand: an enum trip_each_op. Of what
 * begins, `nth` is who did it, and the table that owns its end stands beside that. */
#define TRIP_EACH_TOLD_HAND (UINT32_C(1) << 30)
#define TRIP_EACH_TOLD_OP UINT32_C(0xff)
#define TRIP_EACH_TOLD_OWNER_SHIFT 8u

struct trip_each_told {
	uint64_t packets, bytes; /* what all tables had */
	uint64_t ns;
	uint32_t when, table;
	/* How often the key had begun anew, of which that is not: and what all had by then. And how
	 * many crossings it stands for. */
	uint32_t life, times;
	uint32_t nth; /* of a rate that is told again: how often it was, this included */
	uint64_t anew_packets, anew_bytes;
	uint64_t key[TRIP_KEYED_WORDS_MAX]; /* 0 behind those that the key has */
};

/* It in a log. */
struct trip_each_log {
	_Atomic uint64_t serial; /* and 1; 0: it is being written */
	_Atomic uint64_t packets, bytes, ns;
	_Atomic uint64_t when; /* below how often it was told */
	_Atomic uint64_t key[TRIP_KEYED_WORDS_MAX];
};

_Static_assert(sizeof(struct trip_each_log) == 80, "trip_each.h says so");

/* What else there is of it where keys have lives, or are told again and again. */
struct trip_each_log_life {
	_Atomic uint64_t life; /* above 32 bits of times */
	_Atomic uint64_t anew_packets, anew_bytes;
};

_Static_assert(sizeof(struct trip_each_log) + sizeof(struct trip_each_log_life) == 104,
	"trip_each.h says so");

struct trip_each_head {
	_Alignas(64) _Atomic uint64_t serial; /* of the queue's next trip */
	/* Of the bits of its close keys (each_close.c): the round in which all were set, the one in
	 * which they are being, and up to which entry. */
	_Atomic uint64_t passed, passing, hand;
};

/* Behind it, in this order: the heads of queues, the bits of keys that are close (keyed.h), places,
 * logs, and their lives. */
struct trip_each_ring {
	_Alignas(64) _Atomic uint64_t trips; /* no more than there are */
	/* Of the bits of close keys: above 32 bits, how often some were cleared; and by which table
	 * they are being, and 1. And how many keys came close since. */
	_Atomic uint64_t round, came;
};

/* Where it is, and what a statement says of it. */
struct trip_each_ring_at {
	struct trip_each_ring *ring;
	uint32_t kept, n_tables;
	bool hands;   /* keys may be held by hand, which has a log behind those of the tables */
	bool lives;   /* there are such; else a trip stands for one, of the only life of its key */
	uint8_t anew; /* conditions that have a key begin anew, a bit each */
};

/* `at->ring` is not looked at. */
size_t trip_each_ring_size(const struct trip_each_ring_at *at);
void trip_each_ring_init(const struct trip_each_ring_at *at);

static inline struct trip_each_head *
trip_each_ring_head(const struct trip_each_ring_at *at, uint32_t table)
{
	return (struct trip_each_head *)(at->ring + 1) + table;
}

/* NULL: there is one table. */
_Atomic uint64_t *trip_each_ring_close(const struct trip_each_ring_at *at);

/* How many trips there have been. */
uint64_t trip_each_ring_trips(const struct trip_each_ring_at *at);

/* False where it is not there yet, or any more. */
bool trip_each_ring_read(
	const struct trip_each_ring_at *at, uint64_t number, struct trip_each_told *told);

enum trip_each_tells {
	TRIP_EACH_TELLS,  /* it is a trip now */
	TRIP_EACH_KNOWN,  /* somebody has told it */
	TRIP_EACH_MISSED, /* so much was told meanwhile that nobody can see whether it was */
};

/* The writer of the queue `told->table`: writes down what it is about to tell; and tells it, unless
 * from the trip `from` on somebody has: then that goes to *found. */
void trip_each_ring_write(const struct trip_each_ring_at *at, const struct trip_each_told *told);
enum trip_each_tells trip_each_ring_tell(const struct trip_each_ring_at *at,
	const struct trip_each_told *told, uint64_t from, struct trip_each_told *found);

/* The writer of a queue says in a key's entry that he is telling `told`. TRIP_EACH_KNOWN: he has,
 * which goes to *found, however many have told since; TRIP_EACH_TELLS: it is still to be told, by
 * him or whoever comes first; TRIP_EACH_MISSED: he tells another by now. */
enum trip_each_tells trip_each_ring_ask(const struct trip_each_ring_at *at,
	const struct trip_each_told *told, uint32_t table, struct trip_each_told *found);

/* What a queue has told last; false: nobody knows any more. Its writer, or who asks of him. */
bool trip_each_ring_last(
	const struct trip_each_ring_at *at, uint32_t table, struct trip_each_told *told);

/* Whoever polls a queue next: whether what its last writer was about to tell has been told. */
bool trip_each_ring_settle(const struct trip_each_ring_at *at, uint32_t table);

#endif
