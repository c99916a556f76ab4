/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_REPORT_H
#define TRIPD_REPORT_H

#include <stdio.h>

#include <jansson.h>

struct tripd_quota;
struct tripd_tops;
struct tripd_trip;

/* A trip as programs get it: its keys are in README.md. NULL: no memory. */
json_t *tripd_report_trip(const struct tripd_quota *quota, const struct tripd_trip *trip);

/* The same as it happens, in a stream of events. */
json_t *tripd_report_event(const struct tripd_quota *quota, const struct tripd_trip *trip);

/* Writes the quotas at work, an array as the report has it: 0 or -ENOMEM. */
int tripd_report_quotas(const struct tripd_quota *quota, FILE *out);

/* Checks that a report can be written to `path` ("-" is stdout); says on stderr why not. */
int tripd_report_check(const char *path);

/* Writes counts and trips as JSON: beside `path` first, then renamed over it, so that there is
 * always a whole report or the one from before. Says on stderr what fails. Returns 0, or a negative
 * errno; -ENOSPC where trips are missing in it, too. */
int tripd_report_write(const char *path, const struct tripd_quota *quota);

/* By statement, the keys that belong to one that has tripped. */
json_t *tripd_report_tops(const struct tripd_quota *quota, const struct tripd_tops *tops);

/* What has been counted by keys, with those that have had most; of all statements that there have
 * been. */
json_t *tripd_report_eaches(const struct tripd_quota *quota);

/* That a key of statement `i` came or went, without the time of the day; NULL: there is no memory,
 * or it is of a later library. */
json_t *tripd_report_key(
	const struct tripd_quota *quota, unsigned int i, const struct trip_each_event *event);

#endif
