/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --ipfix, as the control thread has it: it hands trips to the exporter's thread, by an outlet, and
 * samples counts when that asks for them, a bounded number each time.
 */
#ifndef TRIPD_EXPORTING_H
#define TRIPD_EXPORTING_H

#include <stdbool.h>
#include <stdint.h>

#include "export/exporter.h"
#include "outlet.h"

struct tripd_quota;
struct tripd_trip;

struct tripd_exporting {
	/* NULL: there is none. */
	struct tripd_exporter *exporter;
	/* As it was given. */
	const char *where;
	struct tripd_outlet outlet;
	uint64_t began_ns;
	/* Counts that the look asked for has, and how many a look has room for. */
	unsigned int n_sampled;
	size_t counts_room, counters_room, eaches_room;
	/* Trips, and keys that came or went, that were lost before they were read. */
	uint64_t overrun, unread;
	/* What has been said, and when. */
	uint64_t said_lost, said_ns;
	int said_error;
};

/* Starts it where options say so, with the rules at work. Returns 0, or a negative errno, with the
 * reason said; close in any case. */
int tripd_exporting_open(struct tripd_exporting *exporting,
	const struct tripd_ipfix_options *options, const struct tripd_quota *quota);

void tripd_exporting_put(struct tripd_exporting *exporting, const struct tripd_quota *quota,
	const struct tripd_trip *trip);

/* A key of an `each` that came or went. */
void tripd_exporting_key(struct tripd_exporting *exporting, const struct tripd_quota *quota,
	unsigned int i, const struct trip_each_event *event);

/* Hands on what is taken, and samples. Returns whether there is something to say, once a minute at
 * most. */
bool tripd_exporting_update(struct tripd_exporting *exporting, const struct tripd_quota *quota);

/* Says on stderr what stops it, and how much was not exported. */
void tripd_exporting_say(struct tripd_exporting *exporting);

/* Whether its thread reads the rules, which stay as they are. */
bool tripd_exporting_reads(const struct tripd_exporting *exporting);

/* Exports what counts have come to, within some seconds, and ends. Returns 0, or -EIO where
 * something was not exported, with that said. */
int tripd_exporting_close(struct tripd_exporting *exporting, const struct tripd_quota *quota);

#endif
