/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the updater and the waiters of stress-waits share. A pair is a counter, or a wait set and
 * its members, with those who wait on it; each pair plays its rounds by itself.
 */
#ifndef TRIP_WAITS_PAIR_H
#define TRIP_WAITS_PAIR_H

#include "waits.h"

#define PAIRS_MAX 16
#define MEMBERS_MAX 3
#define WAITERS_MAX 2

/* How a waiter blocks: in the call; natively, after trip_trywait(); or that after trip_cntr_arm(),
 * too. */
enum way { BY_CALL = 1, BY_TRYWAIT = 2, BY_ARM = 4 };

struct object {
	const char *name;
	enum trip_wait_obj wait_obj;
	/* Those among which its waiters choose. */
	unsigned int ways;
	unsigned int n_waiters;
	/* 0: a counter; otherwise a wait set with so many. */
	unsigned int n_members;
};

struct pair;

struct waiter {
	struct pair *pair;
	struct trip_random random;
	uint64_t success[MEMBERS_MAX], error[MEMBERS_MAX];
	int epoll_fd;
	/* The round that it has seen, and how it waits for the next. */
	_Atomic uint64_t round;
	_Atomic uint32_t way;
	/* Rounds in which it called to wait, and in which that put it to sleep. */
	uint64_t blocked, slept;
	/* Sleeps because it was stopped, which do not count. */
	long held;
	/* The round in which it is to stop, or was stopped. */
	uint64_t stop_in;
	_Atomic uint64_t stopped;
	pthread_t thread;
};

enum pair_state { PAIR_PLAYS, PAIR_STOPS, PAIR_IS_STOPPED };

struct pair {
	const struct object *object;
	struct trip_wait_set *set;
	struct trip_cntr *cntr[MEMBERS_MAX];
	unsigned int n_cntrs;
	struct trip_fid *fid;
	int fd;
	struct trip_mutex_cond cond;
	uint64_t rounds;
	/* The updater's. */
	struct trip_random random;
	uint64_t success[MEMBERS_MAX], error[MEMBERS_MAX];
	enum pair_state state;
	uint64_t steps;
	/* The round that the updater plays, and up to which waiters that were stopped may go on. */
	_Atomic uint64_t round;
	_Atomic uint32_t released;
	struct waiter waiters[WAITERS_MAX];
};

/* Whether the waiters are stopped in this round. */
bool waits_pair_stops(uint64_t round);

bool waits_pair_have_seen(struct pair *pair, uint64_t round);

/* A waiter's thread, the handler that stops it, and what lets it go on. */
void *waits_pair_wait(void *waiter);
void waits_pair_stay(int number);
void waits_pair_release(struct pair *pair, uint64_t round);

#endif
