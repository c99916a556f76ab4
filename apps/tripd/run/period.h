/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas and their periods: at the end of one they begin anew (anew.h). */
#ifndef TRIPD_PERIOD_H
#define TRIPD_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trip_rules_quota;
struct trip_rules_when;
struct tripd_quota;

/* Of one quota. Times are seconds since the epoch. */
struct tripd_period {
	/* Of the rules: which counter it is. */
	unsigned int counter;
	/* When it began, and will end; INT64_MAX: never. */
	int64_t began, ends;
	/* How many have ended, and of the last one when it began and ended, and what it came to. */
	uint64_t n_ended, spent;
	int64_t ended_began, ended;
};

/* What is to be said of one that has ended. */
struct tripd_period_line {
	unsigned int counter;
	uint64_t spent, limit;
	int64_t ended;
	/* How many trips were there: those are said before it. */
	size_t n_trips;
};

/* At most so many wait to be said: 640 KiB of them. */
#define TRIPD_PERIOD_LINES_MAX ((size_t)1 << 14)

struct tripd_periods {
	struct tripd_period *all;
	unsigned int n;
	/* What may have held a count has ended; there is work that is to be queued. */
	bool released, unarmed;
	/* The second in which nothing could begin anew, and 1; it is tried again a second later. */
	int64_t failed;
	/* What the clock was at the last look. */
	int64_t looked_at;
	/* Of those that have ended and are still to be said, in order. */
	struct tripd_period_line *lines;
	size_t n_lines, max_lines;
	/* For those there was no room. */
	uint64_t n_unsaid;
};

/* "bytes" or "packets". */
const char *tripd_period_unit(const struct trip_rules_quota *quota);

/* Begins the first ones. Returns 0, or a negative errno, with that said. */
int tripd_period_open(struct tripd_quota *quota, int64_t now);

/* Room for so many quotas more, each of which is then begun: 0, or a negative errno. */
int tripd_period_room(struct tripd_quota *quota, unsigned int more);
void tripd_period_begin(struct tripd_quota *quota, unsigned int counter, int64_t now);
void tripd_period_close(struct tripd_quota *quota);
/* Begins them all anew, as nothing has been counted, and only now it is known what time it is. */
void tripd_period_restart(struct tripd_quota *quota, int64_t now);

/* When the first of them ends, in nanoseconds since the epoch; UINT64_MAX: none does. */
uint64_t tripd_period_next(const struct tripd_quota *quota);

/* The one of a counter; NULL: that is no quota. */
struct tripd_period *tripd_period_of(const struct tripd_quota *quota, unsigned int counter);

/* Whether a statement speaks of a quota, alone or among others. */
bool tripd_period_in(const struct tripd_quota *quota, const struct trip_rules_when *when);

/* A quota has other words: what is spent stays so, and the period ends when they say. */
void tripd_period_change(struct tripd_quota *quota, unsigned int counter);

/* Opens the counter that stands in for others, where there is none yet: 0, or a negative errno,
 * with that said. */
int tripd_period_late(struct tripd_quota *quota);

/*
 * Ends the periods that are over, and begins the next ones; and what was reset begins anew: all of
 * it together (anew.h). However many the clock has jumped over, what was counted is one period's;
 * one that it is set back to does not begin again. Returns 0, or the first negative errno of what
 * could not begin, pass or be armed again, each with that said, and a second later the call tries
 * it again: beside that, all is done.
 */
int tripd_period_update(struct tripd_quota *quota, int64_t now);

/* What statements have dropped or policed by what has begun anew since passes, unless something
 * holds it yet. 0, or the first negative errno, with each said: the others pass, and those are
 * tried again by the next call that looks at the clock a second later. */
int tripd_period_pass(struct tripd_quota *quota);

/* One has ended: that is to be said. */
void tripd_period_put(struct tripd_quota *quota, const struct tripd_period *period);

/* So many are to be said that no more are to end before that. */
bool tripd_period_is_full(const struct tripd_quota *quota);

/* All of them have been said. */
void tripd_period_forget(struct tripd_quota *quota);

#endif
