/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the library that are tried in a port's notification (hard_notice.c). */
#ifndef TRIP_NOTICE_CALLS_H
#define TRIP_NOTICE_CALLS_H

#include <trip_each.h>

#include "hard_bed.h"

#define NOTICE_CNTRS 16
#define NOTICE_FUNCTIONS 4

struct notice_bed {
	/* The last function goes in a handler, so that its index cannot be had before the worker is
	 * done with its errands; and so is what was policed. */
	struct trip_function *functions[NOTICE_FUNCTIONS];
	unsigned int n_functions;
	struct trip_cntr *cntrs[NOTICE_CNTRS];
	unsigned int n_cntrs;
	struct trip_flow *hard, *soft, *policed;
	struct trip_counters *counters;
	struct trip_set *set;
	struct trip_each *each;
	_Atomic bool waits, goes, has_gone, is_over;
};
extern struct notice_bed notice_bed;

/* In this order; what each answers. */
struct notice_call {
	const char *name;
	int (*call)(void);
	int result;
};
extern const struct notice_call notice_calls[];
extern const unsigned int n_notice_calls;

/* What a registered function does: nothing. */
int notice_function(const struct trip_work_event *event, void *arg);
/* Queues a rate for a flow in software; and opens a statement. */
int notice_police(struct trip_flow *flow);
int notice_open_each(const char *name, struct trip_each **each);

#endif
