/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas and their periods: at the end of one the counts begin at 0, work is armed again, and what
 * the quota has dropped passes. */
#ifndef TRIPD_PERIOD_H
#define TRIPD_PERIOD_H

#include <stdint.h>
#include <stdio.h>

struct tripd_quota;

/* Of one quota. Times are seconds since the epoch. */
struct tripd_period {
	/* Of the rules: which counter it is. */
	unsigned int counter;
	/* When it began, and will end; INT64_MAX: never. */
	int64_t began, ends;
	/* It is to begin anew, whatever time it is: it was reset. */
	bool reset;
	/* How many have ended, and of the last one when it began and ended, and what it came to. */
	uint64_t n_ended, spent;
	int64_t ended_began, ended;
	uint64_t n_said;
};

struct tripd_periods {
	struct tripd_period *all;
	unsigned int n;
	/* What may have held a count has ended. */
	bool released;
};

/* Begins the first ones. Returns 0 or -ENOMEM. */
int tripd_period_open(struct tripd_quota *quota, int64_t now);
void tripd_period_close(struct tripd_quota *quota);

/* The counters of quotas that a count feeds: how many are written to `more`, which has room for
 * TRIP_FLOW_CNTRS_MAX. */
struct trip_cntr;
uint32_t tripd_period_feeds(
	const struct tripd_quota *quota, unsigned int count, struct trip_cntr **more);

/* This counter was reset by a rule: if it is a quota, that begins anew. */
void tripd_period_reset(struct tripd_quota *quota, unsigned int counter);

/*
 * Ends the periods that are over, and begins the next ones. However many the clock has jumped over,
 * what was counted is one period's; where it is set back, nothing begins again. Returns 0, or the
 * negative errno of what could not be armed again, with that said.
 */
int tripd_period_update(struct tripd_quota *quota, int64_t now);

/* Whether periods have ended that have not been said; and says them. */
bool tripd_period_has_news(const struct tripd_quota *quota);
void tripd_period_say(struct tripd_quota *quota, FILE *out);

#endif
