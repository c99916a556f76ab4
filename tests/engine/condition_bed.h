/* SPDX-License-Identifier: BSD-3-Clause */
/* A home that is driven by hand, and items of it with conditions. */
#ifndef TRIP_UNIT_CONDITION_BED_H
#define TRIP_UNIT_CONDITION_BED_H

#include "home_bed.h"

/* Channels: this process's, and the first client's. */
#define CONDITION_OWN 0
#define CONDITION_CLIENT 3
/* Counters: what flows can feed, what triggers, and what is filled. */
#define CONDITION_FED 0
#define CONDITION_TRIGGER 1
#define CONDITION_TARGET 2
#define IDLE_TIME UINT64_C(100000)
/* As late as it may be, but for some iterations. */
#define IDLE_LATEST (IDLE_TIME + IDLE_TIME / 100)
/* Windows of RATE. */
#define RATE_TIME UINT64_C(100000)
/* So long that iterations are far nearer to each other than a thousandth of it. */
#define UNTIL_TIME (8 * RATE_TIME)
/* Nanoseconds from one iteration to the next. */
#define CONDITION_STEP 50

struct condition_wanted {
	uint32_t channel, cntr;
	uint64_t threshold, interval, time;
	/* RATE of so many, and its until; 0: IDLE. */
	uint64_t count, until_count, until_time;
	/* Fills CONDITION_TARGET, as far as that; 0: a call, whose context is the counter and this
	 * number. */
	uint64_t limit, number;
	/* It holds when it is accepted. */
	bool begun;
	/* It drops the flow instead, for as long as the condition says. */
	bool drops;
};

void condition_step(struct bed *bed);
void condition_go_to(struct bed *bed, uint64_t now);
struct bed *condition_open(void);
/* Not rung for; NULL: there is no room. */
struct trip_work_desc *condition_submit_desc(
	struct bed *bed, const struct condition_wanted *wanted, uint64_t *id);
/* An item of another kind: it adds 1 to CONDITION_TARGET as soon as it is accepted. False: there is
 * no room. */
bool condition_submit_add(struct bed *bed, uint32_t channel);
uint64_t condition_submit(struct bed *bed, const struct condition_wanted *wanted);
/* The flow feeds CONDITION_FED, which nobody refreshes; a queue counts it, or hardware that was
 * read now. */
void condition_link_flow(struct bed *bed, bool hard);
/* Packets of a burst of its queue; whether that rang. */
bool condition_count(struct bed *bed, uint32_t packets);
/* A call when CONDITION_TRIGGER has rested for IDLE_TIME, from now on. */
uint64_t idle_watch(struct bed *bed, uint64_t interval);
/* A call when so many of CONDITION_TRIGGER came within RATE_TIME, behind the threshold. */
void rate_watch(struct bed *bed, uint64_t threshold, uint64_t count, uint64_t interval);
/* So many of CONDITION_TRIGGER come at once, and the home has looked: so many have fired. */
void rate_expect_fired_behind(struct bed *bed, uint64_t count, uint64_t fired);
void condition_set(struct bed *bed, uint64_t value);
void condition_set_error(struct bed *bed, uint64_t value);
void condition_add_error(struct bed *bed, uint64_t value);
void condition_cancel(struct bed *bed, uint32_t channel, uint64_t id);
/* No item is left, nor a condition of one. */
void condition_expect_none(struct bed *bed);
/* The first client is dropped: none of its items is left, nor shows up within that time, and this
 * counter has as many errors. */
void condition_expect_dropped(struct bed *bed, uint32_t cntr, uint64_t errors, uint64_t time);
/* All slots are the client's again. */
void condition_expect_all_back(struct bed *bed, uint32_t channel);
/* It last advanced then, and fires once for that, in time. */
void idle_expect_fires(struct bed *bed, uint64_t advanced);

#endif
