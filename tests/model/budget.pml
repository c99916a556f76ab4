/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The budgets of queues: count.h, source.c, and what settle() and trip_due_arm() do for a counter that
 * flows feed. Queues that count, a thread that adds to the same counter, and its home, on which one
 * item waits for a threshold. Labels are those of count.h (Q, H), cell.h (A) and doorbell.h (R, C).
 *
 *	-DQUEUES=n, -DBURSTS=n	queues, and bursts of one packet that each counts
 *	-DADDS=n		how often the other thread adds 1
 *	-DREFRESHES=n		how often the refresh period may end
 *	-DTHRESHOLD=n		of the item
 *	-DNO_...		mutants, see README.md
 */
#ifndef QUEUES
#define QUEUES 2
#endif
#ifndef BURSTS
#define BURSTS 2
#endif
#ifndef ADDS
#define ADDS 0
#endif
#ifndef REFRESHES
#define REFRESHES 0
#endif
#ifndef THRESHOLD
#define THRESHOLD 3
#endif

/* Threads: the queues are 0 and 1. */
#define ADDER 2
#define HOME 3
#define THREADS 4
#define DEPTH 3

/* Places. */
#define COUNT(queue) (queue)
#define LIMIT(queue) (2 + (queue))
#define SUCCESS 4
#define TRIP_AT 5
#define ARMED 6
#define LEAF(section) (7 + (section))
#define SUMMARY(section) (8 + (section))
#define MEM 9
#include "tso.pml"

#define CNTR 0
#include "bell.pml"

#define NOBODY 200 /* TRIP_COUNT_NO_LIMIT, TRIP_PENDING_NONE, and TRIP_CNTR_MAX as a trip_at */
#define MIN(a, b) ((a) < (b) -> (a) : (b))

byte folded[2];
bool fired;

/* A burst of trip_soft_burst(), and cross() of port.c. */
proctype queue(byte me)
{
	byte count;

	do
	:: count < BURSTS ->
		d_step { count++; PUT(me, COUNT(me), count) } /* Q1 */
#ifndef NO_QUEUE_FENCE
		EMPTY(me); /* Q2 */
#endif
		if
		:: count >= mem[LIMIT(me)] -> ring(me, CNTR, 1) /* Q3 */
		:: else
		fi
	:: else -> break
	od
}

/* trip_cntr_add() */
proctype adder()
{
	byte now, adds;

	do
	:: adds < ADDS ->
		adds++;
		d_step { mem[SUCCESS] = mem[SUCCESS] + 1; now = mem[SUCCESS] } /* A1 */
		if
		:: now >= mem[TRIP_AT] -> /* A2 */
			if
			:: mem[ARMED] != 0 -> ring(ADDER, CNTR, 1)
			:: else
			fi
		:: else
		fi;
		now = 0
	:: else -> break
	od
}

/* trip_source_fold() */
inline fold_queue(q)
{
	d_step {
		value = mem[COUNT(q)];
		delta = delta + value - folded[q];
		folded[q] = value;
		value = 0
	}
}

inline fold()
{
	delta = 0;
	fold_queue(0);
#if QUEUES > 1
	fold_queue(1);
#endif
	d_step { EMPTY(HOME) -> mem[SUCCESS] = mem[SUCCESS] + delta; split = split + delta }
}

/* trip_due_arm(): into `reached`. */
inline arm_cell()
{
	value = (fired -> 0 : 1);
	if
	:: value != mem[ARMED] -> mem[ARMED] = value
	:: else
	fi;
	value = NOBODY;
	if
	:: !fired ->
#ifdef NO_BOUND_FOR_ADDERS
		value = THRESHOLD
#else
		value = MIN(THRESHOLD, split + 1)
#endif
	:: else
	fi;
	if
	:: value != mem[TRIP_AT] -> mem[TRIP_AT] = value /* H1 */
	:: else
	fi;
	reached = (value != NOBODY && mem[SUCCESS] >= value); /* H2 */
	value = 0
}

/* trip_count_budget() */
inline budget_queue(q)
{
	d_step {
#ifdef NO_FOLDED_BASE
		value = (share == NOBODY -> NOBODY : mem[COUNT(q)] + share);
#else
		value = (share == NOBODY -> NOBODY : folded[q] + share);
#endif
		if
		:: limits[q] != value -> limits[q] = value; PUT(HOME, LIMIT(q), value) /* H1 */
		:: else
		fi
	}
#ifndef NO_HOME_FENCE
	EMPTY(HOME); /* H2 */
#endif
#ifndef NO_LOOK_AFTER_BUDGET
	reached = reached || mem[COUNT(q)] >= value; /* H3 */
#endif
	value = 0
}

/* trip_source_budget() */
inline budget()
{
	share = NOBODY;
	if
	:: !fired ->
#ifdef NO_SHARES
		share = (THRESHOLD > split -> THRESHOLD - split : 0)
#else
		share = (THRESHOLD > split -> (THRESHOLD - split - 1) / QUEUES + 1 : 0)
#endif
	:: else
	fi;
	budget_queue(0);
#if QUEUES > 1
	budget_queue(1);
#endif
	share = 0
}

inline settle()
{
	split = mem[SUCCESS];
	arm_cell();
	reached = reached || (!fired && mem[SUCCESS] >= THRESHOLD);
	budget();
	if
	:: reached -> ring(HOME, CNTR, 1)
	:: else
	fi;
	reached = false
}

/* sample(), fire_due() and settle() of the counter */
inline round()
{
	fold();
	value = mem[SUCCESS];
	if
	:: value >= THRESHOLD -> fired = true
	:: else
	fi;
	d_step { delta = 0; value = 0 }
	settle()
}

/* trip_source_refresh() */
inline refresh()
{
	refreshes++;
	fold();
	if
	:: delta > 0 ->
		delta = 0;
#ifdef NO_SPLIT_KEPT
		split = mem[SUCCESS];
#endif
		arm_cell();
		if
		:: reached -> ring(HOME, CNTR, 1)
		:: else
		fi;
		reached = false
	:: else
	fi
}

proctype home()
{
	byte rung, value, delta, share, split, refreshes;
	byte limits[2]; /* what it stored last */
	bool reached;

	limits[0] = NOBODY;
	limits[1] = NOBODY;
	settle(); /* the item was accepted */
end_idle:
	if
	:: mem[SUMMARY(CNTR)] != 0 ->
		take(HOME, CNTR);
		if
		:: rung != 0 -> rung = 0; round()
		:: else
		fi
	:: refreshes < REFRESHES -> refresh()
	fi;
	goto end_idle
}

#define UNFOLDED(q) (mem[COUNT(q)] - folded[q])

/* When nothing moves any more, and no refresh period ends: what has been reached has fired. */
proctype judge()
{
	timeout ->
	assert(fired == (mem[SUCCESS] + UNFOLDED(0) + UNFOLDED(1) >= THRESHOLD))
}

init {
	atomic {
		mem[LIMIT(0)] = NOBODY;
		mem[LIMIT(1)] = NOBODY;
		mem[TRIP_AT] = NOBODY;
		run queue(0);
#if QUEUES > 1
		run queue(1);
#endif
		run adder();
		run home();
		run drain(0);
		run drain(1);
		run drain(HOME);
		run judge()
	}
}
