/* SPDX-License-Identifier: BSD-3-Clause */
/* What the victim of a storm of kills and the others have in common. */
#ifndef TRIP_PROCESS_STORM_H
#define TRIP_PROCESS_STORM_H

/* Threads of the victim. */
#define STORM_THREADS 3
/* Queues that it polls, from 0; the one behind them is the witness's. */
#define STORM_QUEUES 3
/* The UDP ports that its packets go to, from here on. */
#define STORM_UDP 1000

void storm_play_victim(const char *seed);

#endif
