/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What top shows: lines of so many columns, whatever shows them. No text of anybody else gets into
 * one unescaped.
 */
#ifndef TRIPCTL_VIEW_H
#define TRIPCTL_VIEW_H

#include <stddef.h>

#include "quotas.h"
#include "sample.h"

#define TRIPCTL_VIEW_LINE 1024
#define TRIPCTL_VIEW_FILTER 64

enum tripctl_sort {
	TRIPCTL_SORT_NAME,
	TRIPCTL_SORT_VALUE,
	TRIPCTL_SORT_RATE,
	TRIPCTL_SORT_LEFT,
	TRIPCTL_SORTS,
};

struct tripctl_view {
	struct tripctl_sample samples[2];
	/* Which of them is the latest. */
	unsigned int latest;
	enum tripctl_sort sort;
	/* Only names that contain it, or match it where it has wildcards; "": all. */
	char filter[TRIPCTL_VIEW_FILTER];
	/* Counters to show, in order. */
	struct tripctl_change *rows;
	size_t n_rows, max_rows;
	/* Of tripd, as they were asked for with the last sample; `asks`: they are. */
	struct tripctl_quotas quotas;
	bool asks;
	/* Those to show come first. */
	size_t n_quotas;
};

extern const char *const tripctl_view_sorts[];

/* Takes a new sample: 0, -ENOMEM, -EPROTO, or as trip_client_list(). Where quotas are not to be had
 * they are not asked for again. */
int tripctl_view_read(struct tripctl_view *view, struct trip_client *client);
/* Chooses and sorts anew, as when `sort` or `filter` are others: 0 or -ENOMEM. */
int tripctl_view_choose(struct tripctl_view *view);
void tripctl_view_free(struct tripctl_view *view);

const struct tripctl_sample *tripctl_view_now(const struct tripctl_view *view);
const struct tripctl_sample *tripctl_view_before(const struct tripctl_view *view);

/* Each writes a line of at most `width` columns. */
void tripctl_view_domain(const struct tripctl_view *view, unsigned int width, char *line);
void tripctl_view_home(
	const struct tripctl_view *view, unsigned int home, unsigned int width, char *line);
void tripctl_view_quota(
	const struct tripctl_view *view, size_t quota, unsigned int width, char *line);
void tripctl_view_titles(unsigned int width, char *line);
void tripctl_view_row(const struct tripctl_view *view, size_t row, unsigned int width, char *line);

#endif
