/* SPDX-License-Identifier: BSD-3-Clause */
/* A `set` in a domain, and the files of sets. */
#ifndef TRIP_APPLY_SET_H
#define TRIP_APPLY_SET_H

#include <stdio.h>

#include <trip.h>

#include "rules.h"

/* Reads the file of a set, or of all sets of some rules; says on `file` what is wrong: then that
 * set is as it was. 0, or a negative errno. */
int trip_apply_set_load(struct trip_rules_set *rule, FILE *file);
int trip_apply_set_load_all(struct trip_rules *rules, FILE *file);

/* Opens a set with what was read for it; or gives an open one that. The entries are freed: the
 * domain has them. 0, or the negative errno of trip_set_open() or trip_set_replace(). */
int trip_apply_set_open(
	struct trip_domain *domain, struct trip_rules_set *rule, struct trip_set **set);
int trip_apply_set_fill(struct trip_set *set, struct trip_rules_set *rule);

#endif
