/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home by itself, driven by hand on a clock of the test's own: what is called of its counters is
 * written down.
 */
#ifndef TRIP_UNIT_HOME_BED_H
#define TRIP_UNIT_HOME_BED_H

#include <trip_test.h>

#include "home.h"

#define CNTRS 8
#define SINK (CNTRS - 1)
#define WAITERS 4
/* Of each channel, and of those of threads. */
#define SLOTS 128
#define THREAD_SLOTS 32
/* Each has a channel of its own, and one of a thread. */
#define CLIENTS 3
#define TICK (UINT64_C(1) << 10)
#define LOG 4096

/* What fired at a counter, in its order. */
struct log {
	struct {
		uint64_t context, threshold, value, count, latency;
	} fired[LOG];
	unsigned int n;
};

struct bed {
	struct trip_engine engine;
	struct trip_function_slot function;
	/* Feeds counter 0 once it is linked. */
	struct trip_flow_slot flow;
	_Atomic uint64_t changed;
	struct trip_flow_read *read;
	struct trip_count_folded folded;
	void *memory;
	struct trip_home *home;
	uint64_t now;
	/* What a call of note() takes. */
	uint64_t takes;
	/* Rings that the scrub is to have found lost: none, where nobody was killed. */
	uint64_t repairs;
	struct log logs[CNTRS];
	/* At all of them. */
	uint64_t fired;
};

struct bed *bed_open(uint8_t hot_log2);
/* Checks what was done in it. */
void bed_close(struct bed *bed);
/* Until there is nothing to do. */
void bed_settle(struct bed *bed);
/* A call whose context is its counter, and behind that a number; the item's id. */
uint64_t bed_submit(
	struct bed *bed, uint32_t cntr, uint64_t threshold, uint64_t interval, uint64_t number);
/* The same, not rung for; TRIP_WORK_NONE: the channel has no slot. */
uint64_t bed_submit_by(struct bed *bed, uint32_t channel, uint32_t cntr, uint64_t threshold,
	uint64_t interval, uint64_t number);
void bed_ring_channel(struct bed *bed, uint32_t channel);
/* What holds between two iterations does. */
void bed_check(struct bed *bed);
void bed_ring_if(struct bed *bed, uint32_t cntr, bool ring);
/* Whether it rang. */
bool bed_add(struct bed *bed, uint32_t cntr, uint64_t value);

#endif
