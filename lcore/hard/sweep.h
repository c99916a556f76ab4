/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading counters: which, when, and what becomes of it. On the port's worker. */
#ifndef TRIP_SWEEP_H
#define TRIP_SWEEP_H

#include "hard.h"

/* Sets the periods from what is known of the engine. */
void trip_sweep_configure(struct trip_hard *hard, uint64_t period_tsc);

/* Reads a flow's counter now: 0, or the driver's error. */
int trip_sweep_read(struct trip_hard *hard, struct trip_hard_flow *flow);

/* Adds what a flow's counter has grown by, as of a reading that began at `began`. `is_all`: what
 * came before that has been read; otherwise the flow's counts stay as old as they were. */
void trip_sweep_count(struct trip_hard *hard, struct trip_hard_flow *flow,
	const uint64_t grew[TRIP_COUNT_KINDS], uint64_t began, bool is_all);

/* What the flow's counts are, they stay. */
void trip_sweep_finish(struct trip_hard *hard, struct trip_hard_flow *flow);

/* The flow is not read any more. */
void trip_sweep_forget(struct trip_hard *hard, const struct trip_hard_flow *flow);

/* Reads a batch of those that are due; true where any was. */
bool trip_sweep(struct trip_hard *hard, uint64_t now);

/* When there is something to do next without anybody asking; UINT64_MAX: never. */
uint64_t trip_sweep_next(const struct trip_hard *hard);

#endif
