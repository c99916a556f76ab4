/* SPDX-License-Identifier: BSD-3-Clause */
/* What the victim of a storm of kills and the others have in common. */
#ifndef TRIP_PROCESS_STORM_H
#define TRIP_PROCESS_STORM_H

#include <stdint.h>

#include <trip.h>
#include <trip_test.h>

/* Threads of the victim. */
#define STORM_THREADS 3
/* Queues that it polls, from 0; the one behind them is the witness's. */
#define STORM_QUEUES 3
/* The UDP ports that its packets go to, from here on. */
#define STORM_UDP 1000

void storm_play_victim(const char *seed);

/* What the work of a victim is drawn of; the flow may be NULL. */
struct storm_draw {
	struct trip_random *random;
	struct trip_cntr *theirs, *own, *clock, *completion;
	struct trip_flow *flow;
};

/* Queues an item of any kind: its id; TRIP_WORK_NONE where there is no room. */
uint64_t storm_queue(struct storm_draw *draw);

/* What else goes on: storm_others.c. They rest first; and at the end. */
void storm_play_stranger(const char *seed);
void storm_open_others(uint64_t seed);
void storm_close_others(void);
void storm_go_on(void);
void storm_rest(void);
/* A child of this process, in place of the last; it lives until the next. */
void storm_fork(void);

/* Deaths beside a busy sweep: storm_sweep.c. */
void storm_play_busy(const char *arg);
void storm_play_mortal(const char *arg);
void storm_play_next(const char *arg);
void storm_beside_a_busy_sweep(void **state);

/* Closes beside attaches: storm_doors.c. */
void storm_play_visitor(const char *arg);
void storm_of_closes(void **state);

#endif
