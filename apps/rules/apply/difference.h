/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rules at work and rules that are to be differ in, statement by statement. A `count` and a
 * `counter` are known by their names, a `when` by its words; blanks do not matter.
 */
#ifndef TRIP_APPLY_DIFFERENCE_H
#define TRIP_APPLY_DIFFERENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "rules.h"

enum trip_apply_what {
	/* It stays as it is. */
	TRIP_APPLY_KEEP,
	TRIP_APPLY_ADD,
	/* A count or set of this name is there in other words; or what was read for a set is. */
	TRIP_APPLY_CHANGE,
	/* It stays, and has to stand behind one that comes or has moved: they overlap. */
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
	struct trip_apply_step *counts, *counters, *whens, *sets;
	/* By index in those at work: it goes. */
	bool *counts_go, *counters_go, *whens_go, *sets_go;
	/* All that is added, changed, renewed or goes. */
	unsigned int n_changes;
	/* As it was found. */
	bool onto;
};

/*
 * Compares. Of the rules at work, those that are `gone` are not looked at; `born` of counts is the
 * order of their flows. With `onto`, the new ones hold those at work, too, behind what is added to
 * them (trip_rules_parse_onto()): nothing goes. 0 or -ENOMEM; free in any case.
 */
int trip_apply_difference_find(struct trip_apply_difference *difference,
	const struct trip_rules *work, const struct trip_rules *next, bool onto);

/* All that has this name goes, and each `when` that speaks of it: 0, -ENOENT, -ENOMEM. `nothing`
 * are no rules. */
int trip_apply_difference_remove(struct trip_apply_difference *difference,
	const struct trip_rules *work, const struct trip_rules *nothing, const char *name);

void trip_apply_difference_free(struct trip_apply_difference *difference);

/* A line for each statement: "- " what goes, "~ " what changes, "+ " what is added. */
void trip_apply_difference_print(const struct trip_apply_difference *difference, FILE *file);

#endif
