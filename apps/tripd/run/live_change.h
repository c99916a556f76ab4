/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change, step by step: room, and what cannot become of what (live_room.c); counters and flows,
 * which may fail, and then are undone (live.c). Then what cannot fail (live_change.c): work that
 * goes is canceled, flows take the places of others, work comes back and comes in (live_take.c),
 * old flows end, the latest first. So whatever packet comes
 * in between counts either in the rule that was to count it before, or in the one that is to count
 * it now.
 */
#ifndef TRIPD_LIVE_CHANGE_H
#define TRIPD_LIVE_CHANGE_H

#include <stdbool.h>
#include <stdio.h>

#include "apply/count.h"
#include "apply/difference.h"
#include "quota.h"

/* An ending flow: of a count that goes, or of one that has new ones. */
struct tripd_ending {
	uint64_t born;
	struct trip_apply_count *flows;
	/* Whose they were. */
	struct trip_apply_count *count;
};

struct tripd_count_change {
	/* Its flows are replaced. */
	bool are_new;
	/* A bit for each operation that ends by itself and has been made one for ever, on the old
	 * flows. */
	uint32_t pins;
};

struct tripd_change {
	struct tripd_quota *quota;
	const struct trip_apply_difference *difference;
	struct trip_rules *next;
	FILE *answer;
	/* By index in the new rules: flows that are new; later, those of a count that changed. */
	struct trip_apply_count *flows;
	struct trip_cntr **cntrs;
	struct trip_set **sets;
	struct trip_each **eaches;
	/* Room for those whose entries change. */
	struct trip_set_change *fills;
	/* By index in the new rules: where they are at work. */
	unsigned int *counts_at, *counters_at, *whens_at, *eaches_at;
	/* By index in the new rules: an operation has ended it; renewed, it would come back. */
	bool *dead;
	/* By index in the new rules: it is dead, and its flows feed a quota that is not of it any
	 * more. Others take their place, which feed nothing and end as well. */
	bool *lets_go;
	/* By index in the rules at work: of a count; and whether work is to be queued again. */
	struct tripd_count_change *changes;
	bool *waits;
	/* Room for all that may end. */
	struct tripd_ending *endings;
	/* Rules at work before, and how many. */
	unsigned int n_counts, n_counters, n_whens, n_sets, n_eaches;
};

/* A count of the new rules has flows to be made. */
bool tripd_change_is_new(const struct tripd_change *change, unsigned int i);

/* They take the places of others. */
bool tripd_change_replaces(const struct tripd_change *change, unsigned int i);

/* Makes room for all that may come in, and checks that it may. Says why not: 0, or a negative
 * errno. */
int tripd_change_check(struct tripd_change *change);

/* Makes room for the ids of all work that comes in or is queued again, and of the passes of all
 * counts. 0, or -ENOMEM, with that said. */
int tripd_change_room_for_ids(const struct tripd_change *change);

/* Closes what has gone. What others refer to yet, or work that is being canceled, is closed before
 * the next change: until then its name is taken. */
void tripd_change_close_gone(struct tripd_quota *quota);

/* Statements move to those at work, and work of those that are new is queued. */
void tripd_change_take(struct tripd_change *change);

/* Queues the work of a statement at work, or says that it could not be; then it is tried again at
 * each look. */
void tripd_change_queue(struct tripd_change *change, unsigned int i);

/* Puts it to work, once all that may fail is there. */
void tripd_change_carry_out(struct tripd_change *change);

#endif
