/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_VIEW_H
#define TRIPD_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "screen.h"
#include "view_row.h"

struct trip_apply_limit;
struct tripd_quota;

struct tripd_view_each {
	struct tripd_view_count count;
	uint64_t keys;
	/* What is done to some of them, or NULL. */
	const char *state;
};

/* What a person sees of a run: each trip as it happens, counts and rates in place. */
struct tripd_view {
	struct tripd_screen screen;
	const struct tripd_quota *quota;
	/* Trips said so far, and of what is to be said of periods. */
	size_t said, said_periods;
	uint64_t drawn_ns;
	/* Frames whose loss has been told, and when. */
	uint64_t told_losses, told_ns;
	/* Of each `when`, and how many of them have left out what is still to be told. */
	struct trip_apply_limit *limits;
	unsigned int n_left_out;
	/* Of each count, and each `each`, when it was drawn. */
	struct tripd_view_count *counts;
	struct tripd_view_each *eaches;
	/* Rules that there is room for. */
	unsigned int n_counts, n_eaches, n_whens;
};

/* Returns 0 or -ENOMEM; close in any case. */
int tripd_view_open(struct tripd_view *view, const struct tripd_quota *quota, FILE *out);
void tripd_view_close(struct tripd_view *view);

/* Says the trips and periods that are new, in order, but for the trips that there may be no more
 * lines of, and how many they were once their time is over; and losses, once a minute at most;
 * draws the counts again where it is time. */
void tripd_view_update(struct tripd_view *view);

/* Forgets the trips and periods, all of which have been said, but for the trips that the report is
 * to have. */
void tripd_view_forget(struct tripd_view *view, struct tripd_quota *quota);

/* Says the last trips and periods, and the final counts. */
void tripd_view_end(struct tripd_view *view);

/* What is counted by keys, in place: measured for all of them, and a row for one. */
void tripd_view_eaches_measure(struct tripd_view *view, double per_s);
void tripd_view_each_row(struct tripd_view *view, unsigned int i);

/* Says what has been counted by keys, those that have had most of each statement. */
void tripd_view_eaches(struct tripd_view *view);

/* Whether there are losses that are to be told: when they happen, once a minute at most; else a
 * port that goes on losing would hide everything else. */
bool tripd_view_has_new_losses(struct tripd_view *view, uint64_t now);

/* Says what is missing in the counts, and what was not sent, a line for each port and kind. */
void tripd_view_losses(struct tripd_view *view);

/* Says one trip, as a line. */
void tripd_view_trip(struct tripd_screen *screen, const struct tripd_quota *quota, size_t trip);

#endif
