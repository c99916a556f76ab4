/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules at work as the text that they came from. */
#ifndef TRIP_APPLY_SOURCE_H
#define TRIP_APPLY_SOURCE_H

#include <stdbool.h>
#include <stdio.h>

#include "rules.h"

/* Statements that are left out, by index; NULL: none is. */
struct trip_apply_skip {
	bool *counts, *counters, *whens, *sets, *eaches;
};

/*
 * Finds what goes with a name: what is called so, each `when` that speaks of it, and a quota that
 * is of nothing else with all that speaks of that. Returns 0; -ENOENT; -EBUSY: a quota is of it and
 * of others, or a count asks for the set, with that said on `answer`; or -ENOMEM. Free in any case.
 */
int trip_apply_skip_find(struct trip_apply_skip *skip, const struct trip_rules *rules,
	const char *name, FILE *answer);
void trip_apply_skip_free(struct trip_apply_skip *skip);

/* Writes the statements that are not gone, with `whens` those, too; `text` is to be freed. 0 or
 * -ENOMEM. */
int trip_apply_source(const struct trip_rules *rules, bool whens,
	const struct trip_apply_skip *skip, char **text, size_t *length);

#endif
