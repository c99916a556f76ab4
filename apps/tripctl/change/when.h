/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements at work. */
#ifndef TRIPCTL_WHEN_H
#define TRIPCTL_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#include <trip.h>

#include "apply/count.h"
#include "apply/limit.h"
#include "base/tripctl.h"
#include "statement.h"

/* A `count` of this process: flows on a port of the primary, which makes the calls for us. */
struct tripctl_count {
	struct trip_port *ports[TRIP_RULES_PORTS_MAX];
	unsigned int n_ports;
	struct trip_apply_count applied;
};

struct tripctl_when {
	struct tripctl *ctl;
	uint64_t timeout_ns;
	char **words;
	unsigned int n_words;
	struct tripctl_statement statement;
	struct trip_domain *domain;
	/* By the index of the rules: our own counts; values of others', and counters. */
	struct tripctl_count *counts;
	struct trip_cntr **packets, **bytes, **counters;
	struct trip_cntr *tick;
	/* Of each `when`: what limits its lines; and where it has pairs, its gate. */
	struct trip_apply_limit *limits;
	struct trip_cntr **gates;
	/* What the clock was when the statements were put to work. */
	uint64_t since;
	/* Statements that fire once and have not. */
	unsigned int left;
	/* What some do ends, of which no tick tells. */
	bool ends;
	/* Some fire again and again, or there is nothing but counts. */
	bool stays;
	/* Firings that the tick has told of, and those whose event was read; how long to wait for
	 * one that is missing. */
	uint64_t ticks, events;
	uint64_t pause_ns;
};

/* What can be known before anything is opened: 0, or the exit code, with the reason said. */
int tripctl_when_check(const struct tripctl_when *when);

/* Opens our counts and the tick, finds counters, and queues the work: 0, or the exit code. */
int tripctl_when_open(struct tripctl_when *when);

/* Writes what has fired, for people no more than its `log` may. */
void tripctl_when_tell(const struct tripctl_when *when, const struct trip_work_event *event);

/* Writes how many lines a `log` has left out, once the time of that is over. */
void tripctl_when_tell_left_out(const struct tripctl_when *when, unsigned int i, uint64_t now);

/* Writes what a count has counted, unless the primary has ended. */
void tripctl_count_tell(
	const struct tripctl_count *count, const struct trip_rules_count *rule, bool json);

/* Closes it, when no work refers to it any more. */
void tripctl_count_close(struct tripctl_count *count);

#endif
