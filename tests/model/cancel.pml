/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancel against fire: submit -> doorbell -> accept -> fire, and cancel -> canceled bell -> return, of
 * channel.h, channel.c, channel_home.c and accept.c. A thread that submits, one that cancels, and the
 * home. An accepted item is due at once or never; a due one fires in this iteration or a later one, so
 * that a cancel may come at any moment. Labels are those of channel.h (K) and doorbell.h.
 *
 *	-DSLOTS=n, -DITEMS=n	slots of the channel (a power of two), items submitted
 *	-DCANCELS=n		how often the second thread cancels
 *	-DINTERVAL		every item fires twice
 *	-DNO_...		mutants, see README.md
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef CANCELS
#define CANCELS 2
#endif
#ifdef INTERVAL
#define FIRINGS 2
#else
#define FIRINGS 1
#endif

/* Threads. */
#define SUBMITTER 0
#define CANCELER 1
#define HOME 2
#define THREADS 3
#define DEPTH 12

/* Places. */
#define STATE(slot) (slot)
#define DESC(slot) (2 + (slot))
#define ENTRY(index) (4 + (index) % SLOTS) /* of the submission ring */
#define TAIL 6
#define BACK(index) (7 + (index) % SLOTS) /* of the return ring */
#define BACK_TAIL 9
#define LEAF(section) (10 + (section))
#define SUMMARY(section) (12 + (section))
#define MEM 14
#include "tso.pml"

/* The home's section of channels, of which there is one, and the channel's own canceled doorbell. */
#define CHANNEL 0
#define CANCELED_BELL 1
#include "bell.pml"

/* A state word is generation << 2 | state. */
#define FREE 0
#define QUEUED 1
#define FIRING 2
#define CANCELED 3
#define STATE_OF(word) ((word) & 3)
#define GENERATION(word) ((word) >> 2)
#define AS(generation, state) ((generation) << 2 | (state))

/* Marks. */
#define NONE 0
#define HELD 1
#define DROPPED 2

byte submitted;           /* items whose id is known */
byte id_slot[ITEMS];
byte id_generation[ITEMS];
byte fired[ITEMS];        /* firings, the last one included */
bool done[ITEMS];         /* the last firing was claimed */
bool canceled[ITEMS];     /* a cancel returned 0 */
bool refused[ITEMS];      /* a cancel returned -ENOENT */
bool returned[SLOTS];     /* in the return ring, or with the client */
bool idle[ITEMS];         /* accepted, and not due */
byte mark[SLOTS];

inline tell_id()
{
	d_step {
		id_slot[item] = slot;
		id_generation[item] = generation;
		submitted++;
		item++;
		slot = 0; generation = 0
	}
}

proctype submitter()
{
	byte item, slot, here, generation;

	do
	:: item < ITEMS ->
end_full:	mem[BACK_TAIL] != here; /* trip_channel_alloc() */
		slot = mem[BACK(here)];
		here++;
		d_step { assert(returned[slot]); returned[slot] = false }
		generation = GENERATION(mem[STATE(slot)]) + 1;
		d_step { /* trip_channel_submit() */
			PUT(SUBMITTER, DESC(slot), item);
			PUT(SUBMITTER, STATE(slot), AS(generation, QUEUED));
			PUT(SUBMITTER, ENTRY(item), slot);
			PUT(SUBMITTER, TAIL, item + 1)
		}
		/* Its caller has the id when it has rung; who flushes finds it before, behind the lock. */
		if
		:: EMPTY(SUBMITTER) -> tell_id(); ring(SUBMITTER, CHANNEL, 1)
		:: ring(SUBMITTER, CHANNEL, 1); tell_id()
		fi
	:: else -> break
	od
}

#ifdef NO_GENERATION
#define CANCELABLE(word) (STATE_OF(word) == QUEUED)
#else
#define CANCELABLE(word) ((word) == AS(id_generation[item], QUEUED))
#endif

/* trip_channel_cancel(), and the ring of trip_work_cancel(). */
proctype canceler()
{
	byte cancels, item, slot;

	do
	:: cancels < CANCELS ->
end_none:	d_step {
			submitted > 0 ->
			cancels++;
			item = submitted - 1
		}
		do
		:: item > 0 -> item--
		:: break
		od;
		slot = id_slot[item];
#ifdef NO_BELL_AFTER_CANCEL
		ring(CANCELER, CANCELED_BELL, 1 << slot);
		ring(CANCELER, CHANNEL, 1);
#endif
#ifdef NO_CANCEL_EXCHANGE
		if
		:: CANCELABLE(mem[STATE(slot)]) ->
			d_step {
				mem[STATE(slot)] = AS(id_generation[item], CANCELED);
#else
		if
		:: d_step {
				CANCELABLE(mem[STATE(slot)]) -> /* K1 */
				mem[STATE(slot)] = AS(GENERATION(mem[STATE(slot)]), CANCELED);
#endif
				assert(!done[item] && !canceled[item]);
				canceled[item] = true
			}
#ifndef NO_BELL_AFTER_CANCEL
			ring(CANCELER, CANCELED_BELL, 1 << slot); /* K2 */
			ring(CANCELER, CHANNEL, 1)
#endif
		:: d_step { !CANCELABLE(mem[STATE(slot)]) -> refused[item] = true }
		fi;
		d_step { item = 0; slot = 0 }
	:: else -> break
	od
}

typedef node {
	bool here;
	bool due;
	byte item;
	byte generation;
	byte firings /* that are left */
}

/* trip_channel_return() */
inline give_back(slot)
{
	d_step {
		if
		:: mark[slot] != NONE ->
			mark[slot] = NONE;
			assert(!returned[slot]);
			returned[slot] = true;
			PUT(HOME, STATE(slot), AS(GENERATION(mem[STATE(slot)]), FREE));
			PUT(HOME, BACK(back), slot);
			back++;
			PUT(HOME, BACK_TAIL, back)
		:: else
		fi
	}
}

inline drop(slot)
{
	d_step {
		nodes[slot].here = false; nodes[slot].due = false; nodes[slot].item = 0;
		nodes[slot].generation = 0; nodes[slot].firings = 0
	}
	give_back(slot)
}

/* accept_slot() and accept_one() */
inline accept_slot(slot)
{
	word = mem[STATE(slot)];
	d_step {
		assert(mark[slot] == NONE && (STATE_OF(word) == QUEUED || STATE_OF(word) == CANCELED));
		mark[slot] = HELD
	}
	if
#ifndef NO_LOOK_AT_ACCEPT
	:: STATE_OF(word) == CANCELED -> give_back(slot)
#endif
	:: else ->
		nodes[slot].item = mem[DESC(slot)]; /* trip_channel_read() */
		nodes[slot].generation = GENERATION(mem[STATE(slot)]);
		d_step {
			assert(nodes[slot].generation == id_generation[nodes[slot].item] ||
				nodes[slot].item >= submitted);
			nodes[slot].here = true;
			nodes[slot].firings = FIRINGS
		}
		if
		:: nodes[slot].due = true
		:: idle[nodes[slot].item] = true
		fi
	fi;
	word = 0
}

/* trip_channel_accept() up to the tail of the sweep */
inline accept()
{
	do
	:: here != tail ->
		slot = mem[ENTRY(here)];
		here++;
		accept_slot(slot)
	:: else -> break
	od;
	slot = 0;
	tail = 0
}

#ifdef NO_MARK_LOOK
#define MAY_DROP(slot) true
#else
#define MAY_DROP(slot) (mark[slot] == HELD)
#endif

/* trip_channel_take_canceled() and cancel_batch() of one slot; a DROPPED mark is never seen again. */
inline drop_if_canceled(slot)
{
	if
	:: (rung & (1 << slot)) != 0 && MAY_DROP(slot) ->
#ifdef NO_STATE_LOOK
		drop(slot)
#else
		if
		:: STATE_OF(mem[STATE(slot)]) == CANCELED -> mark[slot] = DROPPED; drop(slot)
		:: else
		fi
#endif
	:: else
	fi
}

/* trip_accept_canceled() */
inline accept_canceled()
{
	take(HOME, CANCELED_BELL);
	drop_if_canceled(0);
#if SLOTS > 1
	drop_if_canceled(1);
#endif
	canceling = (mem[SUMMARY(CANCELED_BELL)] != 0);
	rung = 0
}

#define WANTED(slot) (mem[STATE(slot)] == AS(nodes[slot].generation, QUEUED))

/* The last firing claims. */
inline claim(slot)
{
	mem[STATE(slot)] = AS(nodes[slot].generation, FIRING);
	assert(!canceled[nodes[slot].item] && !done[nodes[slot].item]);
	fired[nodes[slot].item]++;
	done[nodes[slot].item] = true
}

/* One that leaves a further one only looks: the cancel came before that, or it lets this one pass. */
inline pass(slot)
{
	assert(!canceled[nodes[slot].item]);
	fired[nodes[slot].item]++;
	nodes[slot].firings--
}

#ifdef NO_LOOK_BETWEEN
#define MORE(slot) (nodes[slot].firings > 1)
#else
#define MORE(slot) (nodes[slot].firings > 1 && WANTED(slot))
#endif

/* take() of fire.c */
inline fire(slot)
{
	if
	:: d_step { MORE(slot) -> pass(slot) }
	:: !MORE(slot) ->
		if
#ifdef NO_CLAIM_EXCHANGE
		:: WANTED(slot) ->
			d_step { claim(slot) }
#else
		:: d_step { WANTED(slot) && EMPTY(HOME) -> claim(slot) }
#endif
		:: !WANTED(slot)
		fi;
		drop(slot)
	fi
}

/* fire_due(); what it leaves is for a later iteration. */
inline fire_if_due(slot)
{
	if
	:: nodes[slot].due -> fire(slot)
	:: true
	fi
}

/* trip_home_iterate() */
proctype home()
{
	node nodes[SLOTS];
	byte rung, here, tail, slot, word;
	byte back = SLOTS;
	bool canceling;

end_idle:
#if SLOTS > 1
	mem[SUMMARY(CHANNEL)] != 0 || canceling || nodes[0].due || nodes[1].due;
#else
	mem[SUMMARY(CHANNEL)] != 0 || canceling || nodes[0].due;
#endif
	/* trip_accept_begin() */
#ifdef NO_BELL_FIRST
	tail = mem[TAIL];
	canceling = canceling || mem[SUMMARY(CANCELED_BELL)] != 0;
	take(HOME, CHANNEL);
	tail = (rung != 0 -> tail : here);
#else
	take(HOME, CHANNEL);
	tail = here;
	if
	:: rung != 0 ->
		tail = mem[TAIL];
		canceling = canceling || mem[SUMMARY(CANCELED_BELL)] != 0
	:: else
	fi;
#endif
	rung = 0;
	accept();
	if
	:: canceling -> accept_canceled()
	:: else
	fi;
	fire_if_due(0);
#if SLOTS > 1
	fire_if_due(1);
#endif
	goto end_idle
}

/* When nothing moves any more, each item has had its one outcome, or waits for its counter. */
inline judge_item(i)
{
	assert(i >= submitted || done[i] + canceled[i] + (idle[i] && !canceled[i]) == 1);
	assert(i >= submitted || !done[i] || fired[i] == FIRINGS);
	assert(i >= submitted || !refused[i] || done[i] || canceled[i])
}

/* And no slot is held for one that was canceled. */
inline judge_slot(i)
{
	assert(returned[i] == (mark[i] == NONE));
	assert(STATE_OF(mem[STATE(i)]) == (returned[i] -> FREE : QUEUED))
}

proctype judge()
{
	timeout ->
	judge_item(0);
	judge_item(1);
#if ITEMS > 2
	judge_item(2);
#endif
	judge_slot(0);
#if SLOTS > 1
	judge_slot(1)
#endif
}

init {
	atomic { /* trip_channel_init() */
		mem[BACK_TAIL] = SLOTS;
		returned[0] = true;
#if SLOTS > 1
		mem[BACK(1)] = 1;
		returned[1] = true;
#endif
		run submitter();
		run canceler();
		run home();
		run drain(SUBMITTER);
		run drain(HOME);
		run judge()
	}
}
