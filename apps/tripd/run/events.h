/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --events: trips as they happen, each a line of JSON. Nothing waits for whoever reads them: what
 * they do not take in time is left out, as outlet.h has it, and told.
 */
#ifndef TRIPD_EVENTS_H
#define TRIPD_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "outlet.h"

struct trip_command;
struct trip_each_event;
struct tripd_by_hand;
struct tripd_period;
struct tripd_quota;
struct tripd_sample;
struct tripd_trip;

struct tripd_events {
	/* NULL: there is none. */
	const char *path;
	struct tripd_outlet outlet;
	/* The file that it is, and when it was last looked whether it still is. */
	dev_t device;
	ino_t inode;
	uint64_t looked_ns;
	/* Trips that were lost before they were read; and keys that came or went, likewise. */
	uint64_t overrun, unread;
	/* Why nothing goes on: 0, or a negative errno; how much of that has been said, and when. */
	int error;
	uint64_t said_left_out, said_ns;
};

/* Opens the file, "-" is stdout; nobody has to read a pipe yet. Returns 0, or a negative errno,
 * with the reason said on stderr. */
int tripd_events_open(struct tripd_events *events, const char *path);

void tripd_events_put(struct tripd_events *events, const struct tripd_quota *quota,
	const struct tripd_trip *trip);

void tripd_events_period(struct tripd_events *events, const struct tripd_quota *quota,
	const struct tripd_period *period);

/* A key of an `each` has come or gone. */
void tripd_events_key(struct tripd_events *events, const struct tripd_quota *quota,
	unsigned int each, const struct trip_each_event *event);

/* A key of an `each` is held by hand, or was: for `asker`, or NULL: by the process that says so. */
void tripd_events_by_hand(struct tripd_events *events, const struct tripd_quota *quota,
	const struct tripd_by_hand *by_hand, const struct trip_command *asker);

/* A sample is there, or could not be written. */
void tripd_events_sample(struct tripd_events *events, const struct tripd_sample *sample);

/* A command was done for `asker`, or a signal for NULL, with this result. */
void tripd_events_command(struct tripd_events *events, const struct trip_command *asker,
	const char *line, size_t length, int result);

/* So many were refused since the last ones, `last` the last of them: they may give none. */
void tripd_events_refused(struct tripd_events *events, const struct trip_command *last, uint64_t n);

/* Writes what is taken; opens the file again where it has been moved away, and a pipe that had no
 * reader. Returns whether there is something to say, once a minute at most. */
bool tripd_events_update(struct tripd_events *events, const struct tripd_quota *quota);

/* Says on stderr what stops it, and how much was left out. */
void tripd_events_say(struct tripd_events *events);

/* Writes what is taken within a second. Returns 0, or -EIO where lines were left out, with that
 * said. */
int tripd_events_close(struct tripd_events *events);

#endif
