/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rules at work and rules that are to be differ in, statement by statement. A `when` is known
 * by its words, any other by its name; blanks do not matter.
 */
#ifndef TRIP_APPLY_DIFFERENCE_H
#define TRIP_APPLY_DIFFERENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "rules.h"

/* What the new rules are. */
enum trip_apply_mode {
	/* All rules that there are to be, in their order. */
	TRIP_APPLY_WHOLE,
	/* Those at work behind what is added to them (trip_rules_parse_onto()): nothing goes. */
	TRIP_APPLY_ONTO,
	/* Those at work, without some. */
	TRIP_APPLY_WITHOUT,
};

enum trip_apply_what {
	/* It stays as it is. */
	TRIP_APPLY_KEEP,
	TRIP_APPLY_ADD,
	/* What has this name is there in other words; or what was read for a set is. */
	TRIP_APPLY_CHANGE,
	/* It stays, and its flows do not: it has to stand behind one that comes or has moved, and
	 * overlaps it; or other quotas than before are of it. */
	TRIP_APPLY_RENEW,
	/* Another of the new ones has its name: this one is not meant. */
	TRIP_APPLY_LEAVE,
};

struct trip_apply_step {
	enum trip_apply_what what;
	/* Index in the rules at work; unless it is to be added. */
	unsigned int at;
};

struct trip_apply_difference {
	const struct trip_rules *work, *next;
	/* By index in the new rules. */
	struct trip_apply_step *counts, *counters, *whens, *sets, *eaches;
	/* Indices of the new counts in the order in which those that are new are created. */
	unsigned int *order;
	/* By index in those at work: it goes. */
	bool *counts_go, *counters_go, *whens_go, *sets_go, *eaches_go;
	/* All that is added, changed, renewed or goes. */
	unsigned int n_changes;
	enum trip_apply_mode mode;
};

/* Compares. Of the rules at work, those that are `gone` are not looked at. What flows come to of
 * it, and n_changes, trip_apply_difference_order() says, once it is known which ports the new
 * rules name: those of a count that is kept are those that it has at work. 0 or -ENOMEM; free in
 * any case. */
int trip_apply_difference_find(struct trip_apply_difference *difference,
	const struct trip_rules *work, const struct trip_rules *next, enum trip_apply_mode mode);

/* Of that: the order of flows, whose are to be made anew for it, and how much changes; `born` of
 * counts at work is the order of their flows. 0 or -ENOMEM. */
int trip_apply_difference_order(struct trip_apply_difference *difference);

void trip_apply_difference_free(struct trip_apply_difference *difference);

/* A line for each statement: "- " what goes, "~ " what changes, "+ " what is added. */
void trip_apply_difference_print(const struct trip_apply_difference *difference, FILE *file);

#endif
