/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that exports what has been counted, by IPFIX. Whoever it exports to may be slow, absent
 * or gone: only this thread waits for that. What it exports it asks for now and then (a look); the
 * control thread takes one meanwhile, and changes no rules until the thread has read it. Counts and
 * keys that were not exported are so the next time, with all that has come since; trips wait in
 * the pipe that they come by.
 */
#ifndef TRIPD_EXPORTER_H
#define TRIPD_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip.h>

#include "rules.h"
#include "start/option_ipfix.h"

struct tripd_exporter;

/* What a count has come to. */
struct tripd_look_count {
	uint64_t packets, bytes, policed_packets, policed_bytes;
};

struct tripd_look_each {
	/* NULL: it has gone. */
	struct trip_each *each;
	/* Another one each time that it was opened. */
	uint64_t opening;
	struct trip_each_info info;
};

/* All counts at a time. Arrays are by index in the rules, which are never fewer than before. */
struct tripd_look {
	const struct trip_rules *rules;
	/* Since the epoch: when the first of all began, and now. */
	uint64_t began_ns, now_ns;
	struct tripd_look_count *counts;
	uint64_t *counters;
	struct tripd_look_each *eaches;
	unsigned int n_counts, n_counters, n_eaches;
	/* Nothing counts any more. */
	bool last;
};

/* What has become of it so far. */
struct tripd_exporter_state {
	/* Records that nobody got, for all that is known. */
	uint64_t lost;
	/* Why nothing goes: 0, or an error of collector.h. */
	int error;
	/* Keys that there was no memory for. */
	uint64_t left_out;
};

/* Whether nothing is against exporting as options say, as far as can be told without waiting for
 * anybody. Returns 0, or a negative errno, with the reason said on stderr. */
int tripd_exporter_check(const struct tripd_ipfix_options *options);

/* Starts the thread. Trips come by `trips`, a pipe's end that is its own from then on, as lines of
 * up to line_max bytes. Returns 0 or a negative errno, and has closed that then. */
int tripd_exporter_open(struct tripd_exporter **exporter, const struct tripd_ipfix_options *options,
	int trips, size_t line_max);

/* Whether a look is asked for. It is the control thread's to fill until it is given. */
struct tripd_look *tripd_exporter_asks(struct tripd_exporter *exporter);

/* One more look, for the end, when the one before has been read; NULL: it is not, after some
 * seconds. */
struct tripd_look *tripd_exporter_last(struct tripd_exporter *exporter);

/* Gives the look that was asked for, or the last. */
void tripd_exporter_give(struct tripd_exporter *exporter);

/* Whether the look that was given is being read: the rules and what is behind them stay as they
 * are. */
bool tripd_exporter_reads(const struct tripd_exporter *exporter);

void tripd_exporter_state(
	const struct tripd_exporter *exporter, struct tripd_exporter_state *state);

/* The error of a state in words. */
const char *tripd_exporter_reason(int error);

/* Once the trips' pipe has been closed behind the last look: waits for what is exported of these,
 * for some seconds, then without patience. The thread is gone then, or touches nothing but its own.
 */
void tripd_exporter_close(struct tripd_exporter *exporter, struct tripd_exporter_state *state);

#endif
