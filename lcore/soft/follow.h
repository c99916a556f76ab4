/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table in a process that polls queues of a port of the primary: made from the rules that are
 * there as data (rulebook.h), and kept up by the bursts themselves, some changes each.
 *
 * While it is behind, a burst looks at each rule's word before it counts on it: what has been taken
 * out counts no more from the first burst on that begins afterwards, whatever the table says.
 */
#ifndef TRIP_FOLLOW_H
#define TRIP_FOLLOW_H

#include <pthread.h>

#include "claim.h"
#include "rulebook.h"

/* Changes that a burst brings the table up to date by, and rules that it looks at for one change
 * where the log does not reach back. */
#define TRIP_FOLLOW_CHANGES 64
#define TRIP_FOLLOW_LOOKS 16

struct trip_follow {
	struct trip_rulebook rules;
	struct trip_table *table;
	/* The table's writer: whoever's burst has it; others go on without. */
	pthread_mutex_t lock;
	/* Changes that the table has. */
	_Atomic uint64_t applied;
	/* Looking at all rules, from here on, as of so many changes. */
	bool scanning;
	uint32_t scan;
	uint64_t scan_changes;
};

/* A table of all rules that there are in that memory: 0, -ENOMEM. */
int trip_follow_open(struct trip_follow *follow, void *memory, uint32_t max_rules);
/* No burst is under way. */
void trip_follow_close(struct trip_follow *follow);

/* Before a burst: brings the table nearer, and says how many changes there are: R1 of claim.h. */
uint64_t trip_follow_begin(struct trip_follow *follow);

/* R4: must each rule be looked at? */
static inline bool
trip_follow_is_behind(const struct trip_follow *follow, uint64_t began)
{
	/* Acquire: another burst may have brought the table so far. Partner: set_applied(). */
	return atomic_load_explicit(&follow->applied, memory_order_acquire) != began ||
	       trip_rulebook_changes(&follow->rules) != began;
}

#endif
