/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wake protocol: update -> cell -> doorbell -> home -> waiter, of cell.h, hot.h, waiter.h, home.c, due.c,
 * wait.c, wait_set.c and native.c. Two threads that update a counter, its home, and two that wait for
 * it. Labels are those of cell.h (A, H), waiter.h (S, H, W) and doorbell.h (R1, C2).
 *
 * No wake is lost: when nothing moves any more, nobody sleeps whose condition holds. No signal when
 * nobody is armed: each request is answered once at most, not after it was taken back, and not before
 * its condition has held; and once nobody waits, the cell is armed for nobody, so that an update rings
 * no more.
 *
 * Left out: whoever yields instead of sleeping, a second member of a set, the end of the primary, and the
 * order of work items (WORK stands for the time that they take).
 *
 *	-DADDS=n	how often the first updater adds 1; the second does so once
 *	-DOTHERS=0	there is no second one
 *	-DERRORS	the second adds an error instead
 *	-DSETS		the second sets the value to 0 or 2 instead
 *	-DT0=n, -DT1=n	what the waiters wait for
 *	-DALONE		the second does not wait at all
 *	-DTWICE		the first waits again on the same slot, for what the second waits for
 *	-DEXPIRY	the first waits for a limited time
 *	-DNATIVE	the second waits on a descriptor, for any change, until T1 is there
 *	-DARM		with it: for T1, by trip_cntr_arm()
 *	-DCOND		with it: not on a descriptor, but on a condition variable
 *	-DWAIT_SET	both wait, until T0 and T1 are there, on a wait set that has the counter as its
 *			member; with -DNATIVE the second does so on the set's descriptor
 *	-DKILL		updaters may be killed once they have changed a value; the scrub looks for that
 *	-DWORK		deferred work makes rounds of the home take several iterations
 *	-DHOT=n		the counter may become hot, and cool, at any time, n times in all (hot.h)
 *	-DBUDGET=n	waiters that a home compares and wakes at a time
 *	-DNO_...	mutants, see README.md
 */
#ifndef ADDS
#define ADDS 1
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
#ifndef T0
#define T0 1
#endif
#ifndef T1
#define T1 2
#endif
#ifndef BUDGET
#define BUDGET 3
#endif

/* What a slot asks for never changes. */
#if !defined(TWICE) && !defined(NATIVE) && !defined(WAIT_SET)
#define CONSTANT
#endif

/* Threads; a waiter's slot has its number, but for a set's members. */
#define HOME 2
#define UPDATER 3
#define THREADS 5
#define DEPTH 2
#define SLOTS 2

/* Places: the cell, ... */
#define SUCCESS 0
#define ERROR 1
#define TRIP_AT 2
#define ERRGEN 3
#define SETGEN 4
#define CELL_ARMED 5
/* ... a slot of a waiter, ... */
#define WORD(slot) (6 + (slot))
#define THRESHOLD(slot) (8 + (slot))
#define SEEN(slot) (10 + (slot))
#define SEQUENCE(slot) (12 + (slot))
#define SLEEPERS(slot) (14 + (slot))
/* ... and the home's doorbell. */
#define CNTR 16
#define WAITER 17
#define MEM 18
#include "tso.pml"

#define ANY 100    /* TRIP_WAITER_ANY */
#define NOBODY 200 /* TRIP_PENDING_NONE, and TRIP_CNTR_MAX as a trip_at */
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* Generations and sequences come round after so many, in the code after 2^30 and 2^32. */
#ifndef WRAP
#define WRAP 12
#endif

/* A word is generation << 2 | state. */
#define IDLE 0
#define ARMED 1
#define SIGNALING 2
#define SIGNALED 3
#define STATE_OF(word) ((word) & 3)

/* A sample of the cell, in one byte. */
#define AS_SUCCESS(value) (value)
#define AS_ERROR(value) ((value) << 3)
#define AS_ERRGEN(value) ((value) << 5)
#define AS_SETGEN(value) ((value) << 7)
#define SUCCESS_OF(sample) ((sample) & 7)
#define ERROR_OF(sample) (((sample) >> 3) & 3)
#define ERRGEN_OF(sample) (((sample) >> 5) & 3)
#define SETGEN_OF(sample) ((sample) >> 7)
#define ERRORS_OF(sample) (((sample) >> 3) & 15) /* and their generation */
#define VALUES_MASK 31                           /* success and error */
#define REST_OF(sample) ((sample) & 135)         /* success and the generation of sets */

#ifdef WAIT_SET
#define MEMBER 1 /* its slot; 0 is the set's */
#define SIGNALS(slot) 0
#define SLEEPS_ON(thread, slot) true
#else
#define SIGNALS(slot) (slot)
#define SLEEPS_ON(thread, slot) ((thread) == (slot))
#endif

/* The kernel's: who is asleep in the futex of a slot, and the descriptor. */
bool asleep[2];
bool readable;
bool closed;

/* The application's mutex, and whether it waits on the condition variable. */
bool mutex;
bool waiting;

/* The runtime's: what the handle last read, as a sample, and of the wait set its lock, how many are in
 * trip_wait(), and whether its descriptor may be blocked on. */
byte read_cntr;
bool locked;
byte sleepers;
bool watched;

/* The judge's: */
bool requested[SLOTS]; /* armed, neither taken back nor answered */
byte asked[SLOTS];     /* its threshold */
bool met[SLOTS];       /* that has been there since */
byte began[2];         /* what was seen when the call began */
byte first_wants = T0;
bool returned[2];

/*
 * A doorbell as one word: doorbell.pml shows that its two levels are as good. A look that finds the bit
 * set is no read-modify-write. The fence before it, R0, is left out: whoever rings here has made its
 * change by a barrier.
 */
inline ring(me, section, bits)
{
	if
	:: (mem[section] & (bits)) != 0 /* R1 */
	:: d_step { (mem[section] & (bits)) == 0 && EMPTY(me) -> mem[section] = mem[section] | (bits) }
	fi
}

/* ---- updaters ---- */

inline note_met(slot)
{
	if
	:: requested[slot] -> met[slot] = met[slot] || mem[SUCCESS] >= asked[slot]
	:: else
	fi
}

inline note_update()
{
	note_met(0);
	note_met(1)
}

/* somebody_cares(), and ring_if() of cntr.c */
inline ring_if_armed(me)
{
	if
	:: mem[CELL_ARMED] != 0 -> ring(me, CNTR, 1)
	:: else
	fi
}

#ifdef KILL
#define MAY_DIE() if :: goto dead :: true fi;
#else
#define MAY_DIE()
#endif

/* trip_cell_add() */
inline add(me)
{
#ifdef NO_ADD_FIRST
	at = mem[TRIP_AT];
	d_step { mem[SUCCESS] = mem[SUCCESS] + 1; sum = mem[SUCCESS]; note_update() }
#else
	d_step { mem[SUCCESS] = mem[SUCCESS] + 1; sum = mem[SUCCESS]; note_update() } /* A1 */
#endif
	MAY_DIE()
#ifdef NO_ADD_FIRST
	if
	:: sum >= at -> ring_if_armed(me)
#else
	if
	:: sum >= mem[TRIP_AT] -> ring_if_armed(me) /* A2 */
#endif
	:: else
	fi;
	sum = 0
}

/* trip_cell_adderr() */
inline adderr(me)
{
	mem[ERROR] = mem[ERROR] + 1;
	MAY_DIE()
	mem[ERRGEN] = mem[ERRGEN] + 1;
	MAY_DIE()
	ring_if_armed(me)
}

/* trip_cell_set() */
inline set(me, value)
{
	d_step { mem[SUCCESS] = value; note_update() }
	MAY_DIE()
	mem[SETGEN] = mem[SETGEN] + 1;
	MAY_DIE()
	ring_if_armed(me)
}

proctype adder(byte me)
{
	byte adds, sum;
#ifdef NO_ADD_FIRST
	byte at;
#endif

	do
	:: adds < ADDS -> adds++; add(me)
	:: else -> break
	od;
#ifdef KILL
dead:
	sum = 0; adds = 0
#endif
}

#if OTHERS > 0
proctype other(byte me)
{
#if defined(ERRORS)
	adderr(me)
#elif defined(SETS)
	if
	:: set(me, 0)
	:: set(me, 2)
	fi
#else
	byte sum;
#ifdef NO_ADD_FIRST
	byte at;
#endif
	/* The two are alike: this is the one that adds later. */
	mem[SUCCESS] != 0;
	add(me)
#endif
#ifdef KILL
	;
dead:
	skip
#endif
}
#endif

/* ---- waiters ---- */

#define VALUES (AS_ERROR(mem[ERROR]) | AS_SUCCESS(mem[SUCCESS]))
#define SUM (mem[ERROR] + mem[SUCCESS])

/*
 * trip_cell_sample() in one step: with one error and one set at the most, what it can see is the same
 * as from the loads of the generations before those of the values.
 */
inline sample_cell(into)
{
	into = AS_ERRGEN(mem[ERRGEN]) | AS_SETGEN(mem[SETGEN]) | VALUES
}

/* node_satisfied() */
#define SATISFIED(wanted, saw, now) (ERRORS_OF(now) != ERRORS_OF(saw) || \
	((wanted) == ANY -> REST_OF(now) != REST_OF(saw) : SUCCESS_OF(now) >= (wanted)))

#define IS_ARMED(slot) (STATE_OF(mem[WORD(slot)]) == ARMED)

inline take_back(slot)
{
	mem[WORD(slot)] = mem[WORD(slot)] - ARMED;
	requested[slot] = false;
	met[slot] = false;
	asked[slot] = 0
}

#ifdef NO_RING_AFTER_DISARM
#define RING_DISARMED(thread, slot) skip
#else
#define RING_DISARMED(thread, slot) ring(thread, WAITER, 1 << (slot))
#endif

/* trip_waiter_disarm(). The home alone changes an ARMED word, its owner alone an IDLE or SIGNALED one. */
inline disarm(thread, slot)
{
	if
	:: d_step { IS_ARMED(slot) && EMPTY(thread) -> take_back(slot) }
	   RING_DISARMED(thread, slot)
	:: !IS_ARMED(slot)
	fi
}

#ifdef NO_QUIESCE
#define IS_QUIET(slot) !IS_ARMED(slot)
#else
#define IS_QUIET(slot) (!IS_ARMED(slot) && STATE_OF(mem[WORD(slot)]) != SIGNALING)
#endif

/* trip_waiter_quiesce() */
inline quiesce(thread, slot)
{
	if
	:: d_step { IS_ARMED(slot) && EMPTY(thread) -> take_back(slot) }
	   RING_DISARMED(thread, slot)
	:: IS_QUIET(slot) /* W1 */
	fi
}

/* Releases, which leave the buffer before the word goes in. */
inline write_request(slot, wanted, saw)
{
	mem[THRESHOLD(slot)] = wanted;
	mem[SEEN(slot)] = saw
}

#ifdef NO_GENERATION
#define NEXT_WORD(slot) ARMED
#else
#define NEXT_WORD(slot) (((mem[WORD(slot)] >> 2) % WRAP + 1) << 2 | ARMED)
#endif

/* The word goes in. */
inline write_word(thread, slot, wanted)
{
#ifdef NO_SEQ_CST_WORD
	PUT(thread, WORD(slot), NEXT_WORD(slot));
#else
	mem[WORD(slot)] = NEXT_WORD(slot);
#endif
	requested[slot] = true;
	asked[slot] = wanted;
	met[slot] = mem[SUCCESS] >= wanted
}

/* trip_waiter_arm() */
inline arm(thread, slot, wanted, saw)
{
	if
#ifdef CONSTANT
	/* What is written is what was there, and whoever arms again was answered. */
	:: d_step {
		IS_QUIET(slot) && EMPTY(thread) -> /* W1 */
		write_request(slot, wanted, saw);
		write_word(thread, slot, wanted)
	   }
#else
	:: d_step { IS_ARMED(slot) && EMPTY(thread) -> take_back(slot) }
	   RING_DISARMED(thread, slot);
	   d_step { EMPTY(thread) -> write_request(slot, wanted, saw) }
	   d_step { write_word(thread, slot, wanted) }
	:: d_step { IS_QUIET(slot) && EMPTY(thread) -> write_request(slot, wanted, saw) } /* W1 */
	   d_step { write_word(thread, slot, wanted) }
#endif
	fi;
	ring(thread, WAITER, 1 << (slot))
}

/* trip_waiter_sleep() */
inline sleep(thread, slot)
{
	d_step { EMPTY(thread) -> mem[SLEEPERS(slot)] = mem[SLEEPERS(slot)] + 1 } /* S3 */
	/* One sleeper more than there are costs the home a call, no more, so to wake is one step. */
	if
	:: d_step { mem[SEQUENCE(slot)] != sequence -> mem[SLEEPERS(slot)] = mem[SLEEPERS(slot)] - 1 } /* S4 */
	:: d_step { mem[SEQUENCE(slot)] == sequence -> asleep[thread] = true } /* S4 */
end_asleep:
	   if
	   :: d_step { !asleep[thread] -> mem[SLEEPERS(slot)] = mem[SLEEPERS(slot)] - 1 }
#ifdef EXPIRY
	   :: d_step {
		thread == 0 && asleep[thread] ->
		asleep[thread] = false;
		expired = true;
		mem[SLEEPERS(slot)] = mem[SLEEPERS(slot)] - 1
	      }
#endif
	   fi
	fi
}

#ifndef WAIT_SET
#ifdef TWICE
#define END_CALL now = 0; sequence = 0; began[me] = 0; threshold = T1; first_wants = T1; \
	returned[me] = (me == 1 || calls == 1); calls++
#else
#define END_CALL now = 0; sequence = 0; began[me] = 0; threshold = 0; returned[me] = true
#endif

/* trip_cntr_wait(). Its first look is left out: it only saves the others. */
proctype waiter(byte me; byte threshold)
{
	byte sequence, now;
#ifdef EXPIRY
	bool expired;
#endif
#ifdef TWICE
	byte calls;
#endif

call:
#ifdef ERRORS
	sample_cell(now);
	d_step { began[me] = now; now = 0 }
#endif
again:
#ifndef NO_SEQUENCE_FIRST
	sequence = mem[SEQUENCE(me)]; /* S1 */
#endif
	arm(me, me, threshold, began[me]); /* S2 */
	do
	:: sample_cell(now); /* wait_look() */
		if
		:: SUCCESS_OF(now) >= threshold || ERRORS_OF(now) != ERRORS_OF(began[me]) -> break
#ifdef EXPIRY
		:: expired -> break
		:: else -> now = 0
#else
		:: else -> now = 0
#endif
		fi;
#ifdef NO_SEQUENCE_FIRST
		sequence = mem[SEQUENCE(me)];
#endif
		if
		:: mem[SEQUENCE(me)] == sequence -> sleep(me, me)
		:: mem[SEQUENCE(me)] != sequence -> sequence = 0; goto again
		fi
	od;
	/* trip_native_give_slot(): as disarm() */
	if
	:: d_step { IS_ARMED(me) && EMPTY(me) -> take_back(me) }
	   RING_DISARMED(me, me);
	   d_step { END_CALL }
	:: d_step { !IS_ARMED(me) -> END_CALL }
	fi;
#ifdef TWICE
	if
	:: !returned[me] -> goto call
	:: else
	fi
#endif
}
#endif

/* trip_cntr_is_due() */
#define IS_DUE(now) (SUCCESS_OF(now) != SUCCESS_OF(read_cntr) || ERROR_OF(now) != ERROR_OF(read_cntr))

/* trip_cntr_read() and _readerr() by an application that wants so much, or an error. */
inline read()
{
	d_step { read_cntr = VALUES; satisfied = mem[SUCCESS] >= threshold || mem[ERROR] > 0 }
}

#ifdef NATIVE
#ifdef COND
#define drain_fd(slot) skip
#else
/* trip_native_drain(): nothing of an older request is left, and nothing comes. */
inline drain_fd(slot)
{
	if
	:: mem[SEQUENCE(slot)] == drained
	:: d_step { mem[SEQUENCE(slot)] != drained -> drained = mem[SEQUENCE(slot)] }
	   readable = false
	fi;
#ifndef NO_DRAIN_FIRST
	assert(!readable)
#endif
}
#endif
#endif

#ifdef WAIT_SET
#define LOCK() d_step { !locked -> locked = true }

/* arm_all(): `due` where the member is. */
inline arm_all(me)
{
	sample_cell(now);
	now = now - (now & VALUES_MASK) + read_cntr;
	arm(me, MEMBER, ANY, now);
	sample_cell(now);
	due = IS_DUE(now)
}

/* disarm_unless_waited_for(), and unlocks. */
inline disarm_and_unlock(me)
{
	if
#ifdef NO_COUNT_OF_SLEEPERS
	:: watched
#elif defined(NO_WATCH)
	:: sleepers > 0
#else
	:: sleepers > 0 || watched
#endif
	:: else -> disarm(me, MEMBER)
	fi;
	locked = false
}

/* trip_wait() until it is satisfied. Its first look is left out, like that of trip_cntr_wait(). */
proctype set_waiter(byte me; byte threshold)
{
	byte sequence, now;
	bool due, satisfied;

call:
	atomic { !locked -> sleepers++ } /* come_to_sleep() */
	do
	:: sequence = mem[SEQUENCE(0)]; /* S1 */
		LOCK();
		sample_cell(now); /* any_due() */
		due = IS_DUE(now);
		if
		:: due
		:: else -> arm_all(me) /* S2 */
		fi;
		locked = false;
		now = 0;
		if
		:: due -> break
		:: else -> sleep(me, 0); sequence = 0
		fi
	od;
	sequence = 0; due = false;
	d_step { !locked -> locked = true; sleepers-- } /* go_away() */
	disarm_and_unlock(me);
	read();
	if
	:: satisfied -> returned[me] = true
	:: else -> goto call
	fi
}
#endif

#ifdef NATIVE
#ifdef WAIT_SET
#define FD 0

/* trip_wait_set_trywait() */
inline trywait(me)
{
	LOCK();
	sample_cell(now);
	due = IS_DUE(now);
	if
	:: due
	:: else ->
		quiesce(me, MEMBER);
		drain_fd(FD);
		arm_all(me)
	fi;
	watched = !due;
	disarm_and_unlock(me)
}
#else
#define FD 1

/* trywait_cntr() */
inline trywait(me)
{
	quiesce(me, me);
#ifndef NO_DRAIN_FIRST
	drain_fd(FD);
#endif
	sample_cell(now);
	due = IS_DUE(now);
	if
	:: due
	:: else -> arm(me, me, ANY, now)
	fi
#ifdef NO_DRAIN_FIRST
	;
	drain_fd(FD)
#endif
}
#endif

#ifdef COND
/* helper_main() */
proctype helper()
{
	byte sequence, told;

end_read:
	do
	:: readable ->
#ifndef NO_READ_FIRST
		readable = false;
#endif
		do
		:: sequence = mem[SEQUENCE(FD)]; /* tell() */
			if
			:: sequence == told -> break
#ifdef NO_RETRY
			:: sequence != told && mutex -> break
#else
			:: sequence != told && mutex /* and later again */
#endif
			:: d_step { sequence != told && !mutex -> mutex = true; told = sequence }
			   d_step { waiting = false; mutex = false }
			   break
			fi
		od;
		sequence = 0
#ifdef NO_READ_FIRST
		;
		readable = false
#endif
	od
}
#endif

/* poll() or pthread_cond_wait(), and trip_trywait(), until it is satisfied. */
proctype native_waiter(byte me; byte threshold)
{
	byte now;
	bool due, satisfied;
#ifndef COND
	byte drained;
#endif

	do
	:: satisfied -> break
	:: else ->
#ifdef COND
		d_step { !mutex -> mutex = true }
#endif
		trywait(me);
		now = 0;
		if
		:: due ->
			due = false;
#ifdef COND
			mutex = false;
#endif
			read()
		:: else ->
#ifdef ARM
			/* trip_cntr_arm() */
			sample_cell(now);
			now = now - AS_ERROR(ERROR_OF(now)) + AS_ERROR(ERROR_OF(read_cntr));
			arm(me, me, threshold, now);
			now = 0;
#endif
#ifdef COND
			d_step { mutex = false; waiting = true } /* pthread_cond_wait() */
end_wait:		!waiting && !mutex
#else
end_poll:		readable
#endif
		fi
	od;
#ifndef WAIT_SET
	quiesce(me, me); /* trip_native_close() */
#ifndef COND
	closed = true;
#endif
#endif
	returned[me] = true
}
#endif

/* ---- the home ---- */

#ifdef KILL
byte settled; /* The cell when it was last armed: here for the judge. */
#endif

mtype = { NONE, SAMPLED, SWEPT, FIRING };

typedef node {
	byte word;      /* 0: not tracked */
	byte threshold;
	byte seen;
	bool queued;
	byte at;        /* where it is in the pending set */
	bool late       /* there it was due when it was accepted */
}

/* unlink_node() */
inline unlink(slot)
{
	nodes[slot].word = 0; nodes[slot].threshold = 0; nodes[slot].seen = 0;
	nodes[slot].queued = false; nodes[slot].at = 0; nodes[slot].late = false
}

#define TRACKED(slot) (nodes[slot].word != 0)
#define WATCHES(slot) (TRACKED(slot) && nodes[slot].threshold == ANY)
#define WATCHED (WATCHES(0) || WATCHES(1))

/* trip_pending_bound(), and of the pending set what trip_pending_pop() would take. */
#define AT(slot) (nodes[slot].queued -> nodes[slot].at : NOBODY)
#define BOUND MIN(AT(0), AT(1))
#define DUE(slot) (nodes[slot].queued && (nodes[slot].late || nodes[slot].at <= pending_sample))

#ifdef SETS
#define LATEST ((due == SAMPLED || due == SWEPT) && sample > pending_sample -> sample : pending_sample)

/* forget_sample() */
inline forget_sample()
{
#ifndef NO_FORGET
	d_step { setgen = mem[SETGEN]; pending_sample = 0 }
#else
	setgen = mem[SETGEN]
#endif
}

inline insert(slot)
{
	nodes[slot].queued = true;
	nodes[slot].late = (nodes[slot].at <= pending_sample)
}

/* trip_due_queue() */
inline queue(slot)
{
	if
	:: nodes[slot].at <= LATEST ->
		is_due = (mem[SETGEN] == setgen);
		is_due = is_due && SUM >= nodes[slot].at;
		if
		:: is_due -> insert(slot)
		:: !is_due && due == NONE -> forget_sample(); insert(slot)
		:: else -> ring(HOME, WAITER, 1 << (slot)) /* link_node(): the next iteration tries again. */
		fi;
		is_due = false
	:: else -> insert(slot)
	fi
}
#endif

/* link_node(), of one that waits for a threshold where the counter is never set. */
inline link(slot)
{
	nodes[slot].word = word;
#ifndef NO_UNCHECKED
	unchecked = true;
#endif
	if
	:: nodes[slot].threshold != ANY ->
		nodes[slot].at = nodes[slot].threshold + ERROR_OF(nodes[slot].seen);
#ifndef SETS
		nodes[slot].queued = true
#endif
	:: else
	fi
}

/* trip_due_touch() */
inline touch()
{
	if
	:: due == NONE -> due = FIRING
	:: else
	fi
}

/* What trip_waiter_accept() does with a slot. */
inline accept(slot)
{
	if
	:: (rung & (1 << (slot))) != 0 ->
		if
		:: d_step { TRACKED(slot) -> unlink(slot); touch() }
		:: else
		fi;
		word = mem[WORD(slot)];
		if
		:: STATE_OF(word) == ARMED -> /* copy_request() */
			d_step { nodes[slot].threshold = mem[THRESHOLD(slot)]; nodes[slot].seen = mem[SEEN(slot)] }
			if
			:: d_step { mem[WORD(slot)] == word -> link(slot) }
			:: d_step { mem[WORD(slot)] != word -> unlink(slot) }
			fi;
#ifdef SETS
			if
			:: TRACKED(slot) && nodes[slot].threshold != ANY -> queue(slot)
			:: else
			fi;
#endif
			if
#ifndef NO_TOUCH
			:: TRACKED(slot) -> touch()
#endif
			:: else
			fi
		:: else
		fi;
		word = 0
	:: else
	fi
}

inline accept_waiters()
{
	if
	:: d_step { mem[WAITER] != 0 && EMPTY(HOME) -> rung = mem[WAITER]; mem[WAITER] = 0 } /* C2 */
	   accept(0);
	   accept(1);
	   rung = 0
	:: mem[WAITER] == 0
	fi
}

#define NEXT_SEQUENCE(slot) ((mem[SEQUENCE(slot)] + 1) % WRAP)

/* signal_slot() */
inline signal(slot)
{
#ifdef NATIVE
	has_fd = (slot == FD && !closed);
#endif
#ifdef NO_SIGNAL_FENCE
	d_step { PUT(HOME, SEQUENCE(slot), NEXT_SEQUENCE(slot)) }
#elif !defined(NO_SIGNAL_FIRST)
	mem[SEQUENCE(slot)] = NEXT_SEQUENCE(slot); /* H1 */
#endif
	if
	:: mem[SLEEPERS(slot)] != 0 -> /* H2 */
#ifdef NO_SIGNAL_FIRST
		mem[SEQUENCE(slot)] = NEXT_SEQUENCE(slot);
#endif
		d_step {
			asleep[0] = asleep[0] && !SLEEPS_ON(0, slot);
			asleep[1] = asleep[1] && !SLEEPS_ON(1, slot)
		}
	:: else
#ifdef NO_SIGNAL_FIRST
		-> mem[SEQUENCE(slot)] = NEXT_SEQUENCE(slot)
#endif
	fi
#ifdef NATIVE
	;
	if
	:: !has_fd
	:: d_step { has_fd -> assert(!closed); readable = true; has_fd = false }
	fi
#endif
}

/* Since what the request saw: errors, and for a watcher anything. */
#define HAS_CHANGED(slot) (mem[ERROR] != ERROR_OF(mem[SEEN(slot)]) || \
	mem[ERRGEN] != ERRGEN_OF(mem[SEEN(slot)]) || (asked[slot] == ANY && \
	(mem[SUCCESS] != SUCCESS_OF(mem[SEEN(slot)]) || mem[SETGEN] != SETGEN_OF(mem[SEEN(slot)]))))

/* wake(), of a node that leaves; to store SIGNALED late is the same as to be late. */
inline wake(slot)
{
	d_step { word = nodes[slot].word; unlink(slot) }
	if
#ifdef NO_WAKE_EXCHANGE
	:: mem[WORD(slot)] == word ->
	   d_step {
#else
	:: d_step {
		mem[WORD(slot)] == word && EMPTY(HOME) ->
#endif
		mem[WORD(slot)] = (word & ~3) | SIGNALING;
		assert(requested[slot] && (met[slot] || HAS_CHANGED(slot)));
		requested[slot] = false; met[slot] = false; asked[slot] = 0
	   }
	   signal(SIGNALS(slot));
	   d_step { EMPTY(HOME) -> mem[WORD(slot)] = word | SIGNALED; word = 0 }
	:: d_step { mem[WORD(slot)] != word -> word = 0 }
	fi
}

#ifdef NO_ARM_FENCE
#define STORE(where, what) d_step { PUT(HOME, where, what) }
#else
#define STORE(where, what) mem[where] = what
#endif

inline arm_armed()
{
	if
	:: armed != (TRACKED(0) || TRACKED(1)) -> armed = !armed; STORE(CELL_ARMED, armed) /* H1 */
	:: else
	fi
}

inline arm_trip_at()
{
	if
	:: trip_at != at -> trip_at = at; STORE(TRIP_AT, at) /* H1 */
	:: else
	fi
}

/* What adders compare with is their own value. */
inline less_error(error)
{
	if
	:: at != NOBODY -> at = (at > (error) -> at - (error) : 0)
	:: else
	fi
}

/* trip_cell_arm() */
inline arm_cell()
{
#ifdef ERRORS
	d_step { errors = mem[ERROR]; less_error(errors) } /* H0 */
#endif
	arm_armed();
	arm_trip_at();
	if
#ifdef ERRORS
	:: at != NOBODY -> reached = (mem[SUCCESS] >= at || mem[ERROR] != errors) /* H2 */
#else
	:: at != NOBODY -> reached = (mem[SUCCESS] >= at) /* H2 */
#endif
	:: else
	fi
}

/* What trip_waiter_settle() does with a slot. */
inline compare(slot)
{
	if
	:: TRACKED(slot) && woken < BUDGET && SATISFIED(nodes[slot].threshold, nodes[slot].seen, settled) ->
		woken++;
		wake(slot)
	:: else
	fi
}

#ifdef HOT
/* trip_hot_mask() */
inline mask()
{
	at = NOBODY;
	if
	:: armed -> armed = false; STORE(CELL_ARMED, 0)
	:: else
	fi;
	arm_trip_at()
}

/* trip_hot_settle() */
inline settle_hot()
{
	d_step {
		hot_bound = (WATCHED -> MIN(bound, SUCCESS_OF(settled) + ERROR_OF(settled) + 1) : bound);
		again = again || (wanted && mem[SETGEN] != setgen && SETGEN_OF(settled) != hot_setgen);
		hot_setgen = SETGEN_OF(settled);
		wanted = (TRACKED(0) || TRACKED(1))
	}
}

/* has_news() */
#define HAS_NEWS (wanted && (SUM >= hot_bound || mem[ERROR] != ERROR_OF(settled) || \
	mem[ERRGEN] != ERRGEN_OF(settled) || mem[SUCCESS] < SUCCESS_OF(settled) || mem[SETGEN] != hot_setgen))
#endif

inline settle()
{
#ifdef HOT
	/* trip_hot_fired(), though nothing may have. */
	if
	:: d_step { !hot && hots < HOT -> hot = true; hots++; wanted = false }
	:: true
	fi;
#endif
	d_step { due = NONE; bound = BOUND; any_watcher = WATCHED; at = (any_watcher -> 0 : bound) }
	before = settled;
#ifdef NO_ARM_FIRST
	sample_cell(settled);
	less_error(ERROR_OF(settled));
	reached = (at != NOBODY && SUCCESS_OF(settled) >= at);
	arm_armed();
	arm_trip_at();
#elif defined(HOT)
	if
	:: hot -> mask()
	:: else -> arm_cell()
	fi;
	sample_cell(settled);
#else
	arm_cell();
	sample_cell(settled);
#endif
	if
	:: (TRACKED(0) || TRACKED(1)) && (any_watcher || unchecked || ERRORS_OF(before) != ERRORS_OF(settled)) ->
		compare(0);
		compare(1);
		unchecked = (woken == BUDGET)
	:: else
	fi;
	again = again || unchecked || (reached && !any_watcher);
#ifdef HOT
	if
	:: hot -> settle_hot()
	:: else -> again = again || SUCCESS_OF(settled) + ERROR_OF(settled) >= bound
	fi;
#else
	again = again || SUCCESS_OF(settled) + ERROR_OF(settled) >= bound;
#endif
#ifndef NO_AGAIN_AFTER_WAKE
	again = again || woken > 0;
#endif
#ifdef NO_AGAIN
	again = false;
#endif
	d_step { before = 0; woken = 0; bound = 0; at = 0; reached = false; any_watcher = false }
#ifdef ERRORS
	errors = 0;
#endif
#if !defined(KILL) && !defined(HOT)
	/* The rest is for the scrub, and for who looks at a hot one. */
	settled = settled - REST_OF(settled);
#endif
	if
	:: again -> again = false; ring(HOME, CNTR, 1)
	:: else
	fi
}

inline fire()
{
	if
	:: DUE(0) -> wake(0)
	:: else
	fi;
	if
	:: DUE(1) -> wake(1)
	:: else
	fi;
	settle()
}

/* sample() of due.c */
inline sample_cntr()
{
#ifdef SETS
	if
	:: mem[SETGEN] != setgen -> forget_sample()
	:: else
	fi;
#endif
	sample = SUM
}

/* trip_due_rang() */
inline rang()
{
	if
	:: due == NONE -> sample_cntr(); due = SAMPLED
#ifdef SETS
	:: due == SAMPLED ->
		if
		:: mem[SETGEN] == setgen -> sample_cntr()
		:: else
		fi
#endif
#ifdef WORK
	:: due == SWEPT || due == FIRING -> again = true
#endif
	fi
}

/* trip_due_sweep() */
inline sweep()
{
#ifdef SETS
	if
	:: mem[SETGEN] == setgen -> due = SWEPT
	:: else ->
		if
		:: DUE(0) || DUE(1) -> again = true; due = FIRING
		:: else -> sample_cntr()
		fi
	fi
#else
	due = SWEPT
#endif
}

/* trip_home_iterate() */
proctype home()
{
	node nodes[SLOTS];
	mtype due = NONE;
	byte rung, word, sample, pending_sample, before, bound, at, woken;
	byte trip_at = NOBODY; /* what it stored last */
#ifndef KILL
	byte settled; /* the cell when it was last armed */
#endif
	bool again, unchecked, reached, any_watcher, armed;
#ifdef ERRORS
	byte errors; /* when the home armed */
#endif
#ifdef NATIVE
	bool has_fd;
#endif
#if defined(SETS) || defined(HOT)
	byte setgen;
#endif
#ifdef SETS
	bool is_due;
#endif
#ifdef HOT
	byte hots, hot_bound, hot_setgen;
	bool hot, wanted;
#endif

end_idle:
	if
	:: d_step { mem[CNTR] != 0 && EMPTY(HOME) -> mem[CNTR] = 0 } /* C2 */
	   rang()
	:: mem[CNTR] == 0 && (mem[WAITER] != 0 || due != NONE)
#ifdef HOT
	/* trip_hot_poll() */
	:: hot && due == NONE && HAS_NEWS -> rang()
	:: d_step {
		hot && due == NONE ->
		hot = false; hot_bound = 0; hot_setgen = 0; wanted = false;
#ifndef NO_COOLING_ARM
		touch()
#endif
	   }
#endif
	fi;
	if
	:: due == SAMPLED -> sweep()
	:: else
	fi;
	accept_waiters();
	if
	:: due == SWEPT -> d_step { pending_sample = sample; sample = 0; due = FIRING }
#ifdef WORK
	:: due == SWEPT /* There is more to accept. */
#endif
	:: else
	fi;
	if
	:: due == FIRING -> fire()
#ifdef WORK
	:: due == FIRING /* It is not its turn. */
#endif
	:: else
	fi;
	goto end_idle
}

/* ---- the end ---- */

#ifdef KILL
#ifdef NO_VALUES_COMPARED
#define OTHER_VALUES false
#else
#define OTHER_VALUES (mem[ERROR] != ERROR_OF(settled) || mem[SUCCESS] < SUCCESS_OF(settled))
#endif

/* overdue() of home.c, of an armed counter: trip_cell_stale(), or watched. */
#define OVERDUE (mem[ERRGEN] != ERRGEN_OF(settled) || mem[SETGEN] != SETGEN_OF(settled) || OTHER_VALUES || \
	(mem[SUCCESS] >= mem[TRIP_AT] && SUCCESS_OF(settled) < mem[TRIP_AT]) || \
	(mem[TRIP_AT] == 0 && mem[SUCCESS] != SUCCESS_OF(settled)))

/* scrub() */
inline scrub()
{
	timeout ->
	if
	:: mem[CELL_ARMED] != 0 && OVERDUE -> mem[CNTR] = 1
	:: else
	fi
}
#endif

/* Of one who has not returned. */
inline judge_wait(me, threshold)
{
	assert(mem[SUCCESS] < threshold && mem[ERROR] == ERROR_OF(began[me]) && mem[ERRGEN] == ERRGEN_OF(began[me]))
}

/* Nothing is unread, and what comes will be told. */
inline judge_unread(slot)
{
	assert(VALUES == read_cntr && requested[slot])
}

proctype judge()
{
#if defined(KILL) && !defined(NO_SCRUB)
	scrub();
#endif
	timeout ->
	if
	:: returned[0]
	:: else ->
#ifdef WAIT_SET
		judge_unread(MEMBER)
#else
		judge_wait(0, first_wants)
#endif
	fi;
	if
	:: returned[1]
	:: else ->
#if defined(WAIT_SET) || defined(NATIVE) && !defined(ARM)
		judge_unread(1)
#else
		judge_wait(1, T1)
#endif
	fi;
	/* Nobody is armed. */
	assert(requested[0] || requested[1] || (mem[CELL_ARMED] == 0 && mem[TRIP_AT] == NOBODY));
	skip
}

init {
	atomic {
		mem[TRIP_AT] = NOBODY;
		run adder(UPDATER);
#if OTHERS > 0
		run other(UPDATER + 1);
#endif
#ifdef WAIT_SET
		run set_waiter(0, T0);
#else
		run waiter(0, T0);
#endif
#if defined(ALONE)
		returned[1] = true;
#elif defined(NATIVE)
		run native_waiter(1, T1);
#ifdef COND
		run helper();
#endif
#elif defined(WAIT_SET)
		run set_waiter(1, T1);
#else
		run waiter(1, T1);
#endif
		run home();
#ifdef NO_SEQ_CST_WORD
		run drain(0);
		run drain(1);
#endif
#if defined(NO_ARM_FENCE) || defined(NO_SIGNAL_FENCE)
		run drain(HOME);
#endif
		run judge()
	}
}
