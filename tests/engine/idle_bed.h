/* SPDX-License-Identifier: BSD-3-Clause */
/* A home that is driven by hand, of which one counter is watched for standing still. */
#ifndef TRIP_UNIT_IDLE_BED_H
#define TRIP_UNIT_IDLE_BED_H

#include "home_bed.h"

/* Channels: this process's, and the first client's. */
#define IDLE_OWN 0
#define IDLE_CLIENT 3
/* Counters: what flows can feed, what triggers, and what is filled. */
#define IDLE_FED 0
#define IDLE_TRIGGER 1
#define IDLE_TARGET 2
#define IDLE_TIME UINT64_C(100000)
/* As late as it may be, but for some iterations. */
#define IDLE_LATEST (IDLE_TIME + IDLE_TIME / 100)
/* Nanoseconds from one iteration to the next. */
#define IDLE_STEP 50

struct idle_wanted {
	uint32_t channel, cntr;
	uint64_t threshold, interval, time;
	/* Fills IDLE_TARGET, as far as that; 0: a call. */
	uint64_t limit;
};

void idle_step(struct bed *bed);
void idle_go_to(struct bed *bed, uint64_t now);
struct bed *idle_open(void);
/* Not rung for; NULL: there is no room. */
struct trip_work_desc *idle_submit_desc(
	struct bed *bed, const struct idle_wanted *wanted, uint64_t *id);
/* An item of another kind: it adds 1 to IDLE_TARGET as soon as it is accepted. False: there is no
 * room. */
bool idle_submit_add(struct bed *bed, uint32_t channel);
uint64_t idle_submit(struct bed *bed, const struct idle_wanted *wanted);
/* A call when IDLE_TRIGGER has rested for IDLE_TIME, from now on. */
uint64_t idle_watch(struct bed *bed, uint64_t interval);
void idle_set(struct bed *bed, uint64_t value);
void idle_cancel(struct bed *bed, uint32_t channel, uint64_t id);
/* All slots are the client's again. */
void idle_expect_all_back(struct bed *bed, uint32_t channel);
/* It last advanced then, and fires once for that, in time. */
void idle_expect_fires(struct bed *bed, uint64_t advanced);

#endif
