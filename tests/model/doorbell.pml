/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell in full, as doorbell.h and .c have it: a span of two leaves with an index each, a
 * consumer that takes one index a call and so leaves the rest behind, and two ringers. The other
 * models use bell.pml, which is this with a leaf that is always taken whole.
 *
 *	-DKILL		the first ringer may be killed between R1 and R2
 *	-DNO_...	mutants, see README.md
 */
#ifndef RINGS
#define RINGS 2
#endif

/* Threads: the ringers are 0 and 1. */
#define CONSUMER 2
#define THREADS 3
#define DEPTH 4

/* Places. */
#define LEAF(index) (index)
#define SUMMARY 2
#define VALUE(ringer, index) (3 + 2 * (ringer) + (index))
#define MEM 7
#include "tso.pml"

byte told[4]; /* by VALUE - 3: what was rung for, by a ringer that was not killed */
byte seen[4];

inline ring_summary(me)
{
	if
	:: mem[SUMMARY] != 0 /* R2 */
	:: d_step { mem[SUMMARY] == 0 && EMPTY(me) -> mem[SUMMARY] = 1 }
	fi
}

/* trip_doorbell_ring() */
inline ring(me, index)
{
#ifndef NO_BARRIER
	EMPTY(me); /* R0 */
#endif
	if
	:: mem[LEAF(index)] != 0 -> /* R1 */
#ifndef NO_SUMMARY_AFTER_LEAF
		ring_summary(me)
#endif
	:: d_step { mem[LEAF(index)] == 0 && EMPTY(me) -> mem[LEAF(index)] = 1 }
#ifdef KILL
		if
		:: me == 0 -> goto dead
		:: true
		fi;
#endif
		ring_summary(me)
	fi
}

proctype ringer(byte me)
{
	byte rings, index, value;

	do
	:: rings < RINGS ->
		rings++;
		if
		:: index = 0
		:: index = 1
		fi;
		value = told[2 * me + index] + 1;
		/* V: as weak as any ringer's, that of an errand which is done for one. */
		d_step { PUT(me, VALUE(me, index), value) }
		ring(me, index);
		told[2 * me + index] = value
	:: else -> break
	od;
dead:
	skip;
	d_step { rings = 0; index = 0; value = 0 }
}

/* take_leaf(); it is called while there is room. */
inline take_leaf()
{
	d_step {
		if
		:: mem[LEAF(cursor)] != 0 -> mem[LEAF(cursor)] = 0; taken = cursor + 1 /* C2 */
		:: else
		fi;
		cursor++
	}
}

/*
 * rung_between() the cursor and the end, and the beginning and where the span was entered. The cursor
 * has passed the first leaf: with one index in each, that is taken whole.
 */
inline look_at_rest()
{
	rest = false;
	if
	:: cursor <= 1 && mem[LEAF(1)] != 0 -> rest = true
	:: else
	fi;
#ifndef NO_LOOK_BACK
	if
	:: !rest && entered > 0 && mem[LEAF(0)] != 0 -> rest = true
	:: else
	fi
#endif
}

/* take_span() */
inline take_span(stop)
{
	entered = cursor;
#ifndef NO_SUMMARY_FIRST
	mem[SUMMARY] = 0; /* C1 */
#endif
	do
	:: cursor < stop && taken == 0 -> take_leaf()
	:: else -> break
	od;
#ifdef NO_SUMMARY_FIRST
	mem[SUMMARY] = 0;
#endif
#ifndef NO_SUMMARY_AGAIN
	look_at_rest();
	if
	:: rest -> mem[SUMMARY] = 1 /* C3 */
	:: else
	fi
#endif
}

/* trip_doorbell_take() with room for one, again and again. */
proctype consumer()
{
	byte cursor, begun, entered, taken;
	bool rest;

end_idle:
	mem[SUMMARY] != 0;
	begun = cursor;
	take_span(2);
	if
	:: cursor == 2 -> cursor = 0
	:: else
	fi;
	/* The end of the lap: what a span that was entered in the middle begins with. */
	if
	:: taken == 0 && begun != 0 ->
		if
		:: mem[SUMMARY] != 0 -> take_span(begun)
		:: else
		fi
	:: else
	fi;
	if
	:: taken != 0 ->
		seen[taken - 1] = mem[VALUE(0, taken - 1)]; /* C4 */
		seen[2 + taken - 1] = mem[VALUE(1, taken - 1)]
	:: else
	fi;
	d_step { taken = 0; begun = 0; entered = 0; rest = false }
	goto end_idle
}

/* When nothing moves any more, everything that was rung for was seen. */
proctype judge()
{
	timeout ->
	assert(seen[0] >= told[0] && seen[1] >= told[1] && seen[2] >= told[2] && seen[3] >= told[3])
}

init {
	atomic {
		run ringer(0);
		run ringer(1);
		run consumer();
		run drain(0);
		run drain(1);
		run judge()
	}
}
