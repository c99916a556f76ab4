/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes wait, in histories that are about that: by wait sets and poll sets, and by threads
 * that do nothing else. processes_waits.c starts and ends all that, processes_sets.c has wait sets;
 * processes_waiters.c has the threads, processes_waiter_calls.c and processes_waiter_blocks.c what
 * these wait by; processes_polls.c are poll sets and what they have to
 * report; processes_judge_waits.c looks whether anybody waits for what is there.
 */
#ifndef SIM_PROCESSES_WAITS_H
#define SIM_PROCESSES_WAITS_H

#include <pthread.h>

#include <trip_poll.h>
#include <trip_wait.h>

#include "cell.h"
#include "processes_items.h"

#define WAIT_SETS 2
#define POLL_SETS 2
/* Threads of a process that wait. */
#define WAITERS 2

struct wait_set {
	/* NULL: none. */
	struct trip_wait_set *set;
	enum trip_wait_obj wait_obj;
	/* How often members have come and gone; an odd number: one is about to. */
	uint32_t changes;
};

enum waiter_by {
	/* trip_cntr_wait(), trip_cntr_wait_from(), trip_wait(). */
	WAITER_BY_CALL,
	WAITER_BY_CALL_FROM,
	WAITER_BY_SET,
	/* By a descriptor or a condition variable: trip_trywait(), trip_cntr_arm(). */
	WAITER_BY_CHANGE,
	WAITER_BY_THRESHOLD,
};

enum waiter_state {
	WAITER_AWAKE,
	/* It is in a call of the library's; in one of the system's. */
	WAITER_CALLS,
	WAITER_BLOCKS,
};

/* A thread that waits, again and again, without a timeout. */
struct waiter {
	struct user *user;
	pthread_t thread;
	unsigned int actor;
	/* It was started, and not joined; it touches nothing any more; it is to end. */
	bool started, ended, stops;
	enum waiter_by by;
	/* One of the two; NULL: the other. */
	struct handle *handle;
	struct wait_set *set;
	enum waiter_state state;
	/* It is among its handles. */
	bool reads;
	uint64_t threshold, step, errors;
	/* Of the error, what it waits for another than; and which call it is, of so many. */
	uint64_t mark;
	uint32_t n_calls, marked;
	/* Everything had rested so often when it made that. */
	uint32_t rests;
	/* What there was before it read its handles; how often it was told that something is due
	 * when nothing was. */
	struct trip_cell_sample read[HANDLES];
	uint32_t changes;
	unsigned int vain;
};

struct member {
	/* NULL: none. */
	struct handle *handle;
	/* At the latest what was reported of it last; or somebody was just changing it. */
	struct trip_cell_sample reported;
	bool vague;
	/* Since it is due, so many others were reported in its place. */
	unsigned int missed;
};

struct poll_set {
	/* NULL: none. */
	struct trip_poll_set *set;
	struct member members[HANDLES];
};

struct waits {
	struct wait_set sets[WAIT_SETS];
	struct poll_set polls[POLL_SETS];
	struct waiter waiters[WAITERS];
	/* Its owner closes it: no waiter reads it. */
	bool closing[HANDLES];
};

extern struct waits processes_all_waits[CLIENTS + 1];

static inline struct waits *
processes_waits(const struct user *user)
{
	return &processes_all_waits[user->number];
}

/* --- processes_waits.c --- */

/* What all handles of the user have, as nobody's step; and whether they have the same. */
void processes_waits_sample(const struct user *user, struct trip_cell_sample *samples);
bool processes_waits_is_same(const struct trip_cell_sample *a, const struct trip_cell_sample *b);
bool processes_waits_is_member(
	const struct user *user, const struct handle *handle, const struct wait_set *set);
unsigned int processes_waits_members(const struct user *user, const struct wait_set *set);
/* As trip_trywait() has it, as nobody's step: of a counter, or of any member. */
bool processes_waits_is_due(
	const struct user *user, const struct handle *handle, const struct wait_set *set);
/* Its primary has ended. */
bool processes_waits_is_orphan(const struct user *user);
/* Somebody is changing it, or has died before he rang. */
bool processes_waits_is_unrung(const struct handle *handle);

/* --- processes_sets.c --- */

void processes_sets_act(struct user *user, const struct act *act);

/* --- processes_waiters.c --- */

void processes_waiter_start(struct user *user, const struct act *act);
/* Wakes it, and waits for its end. */
void processes_waiter_stop(struct waiter *waiter);
/* It reads the values of what it waits for; whether these are others since, or nobody can say; that
 * of its counter. */
void processes_waiter_read(struct waiter *waiter);
bool processes_waiter_moved(const struct waiter *waiter);
struct trip_cell_sample processes_waiter_sample(const struct waiter *waiter);
/* Another thread reads the members of its set, and may make one due again by what it has read
 * before. */
bool processes_waiter_shares(const struct waiter *waiter);
/* False: the primary has ended, as the call says. */
bool processes_waiter_goes_on(const struct waiter *waiter, const char *call, int error);
/* It has been in its call for so long that it is known to be. */
bool processes_waiter_is_in(const struct waiter *waiter);
/* One waits on the handle or the set; natively, where that is asked for; NULL: none. */
struct waiter *processes_waiter_on(const struct user *user, const struct handle *handle,
	const struct wait_set *set, bool natively);

/* --- processes_waiter_calls.c, processes_waiter_blocks.c --- */

/* Once, and checks what comes of it; false: it ends. */
bool processes_waiter_call(struct waiter *waiter);
bool processes_waiter_call_set(struct waiter *waiter);
bool processes_waiter_await_change(struct waiter *waiter);
bool processes_waiter_await_threshold(struct waiter *waiter);

/* --- processes_polls.c --- */

void processes_polls_change(struct user *user, const struct act *act);
void processes_polls_ask(struct user *user, const struct act *act);
void processes_polls_end(struct user *user);
bool processes_polls_have(const struct user *user, const struct handle *handle);

#endif
