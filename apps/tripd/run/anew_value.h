/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that can begin anew, each with a number: packets and bytes of each count, then the
 * counters; and what they make due where they do. */
#ifndef TRIPD_ANEW_VALUE_H
#define TRIPD_ANEW_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "rules.h"

struct tripd_quota;

/* How many there are. */
unsigned int tripd_anew_values(const struct tripd_quota *quota);

/* The number of one; UINT_MAX: it is none. */
unsigned int tripd_anew_value(
	const struct tripd_quota *quota, enum trip_rules_ref ref, unsigned int index);

struct tripd_anew *tripd_anew_of(const struct tripd_quota *quota, unsigned int value);
struct trip_cntr *tripd_anew_cntr(const struct tripd_quota *quota, unsigned int value);
bool tripd_anew_is_gone(const struct tripd_quota *quota, unsigned int value);

/* Whether a statement speaks of any that begins anew. */
bool tripd_anew_is_in(const struct tripd_quota *quota, unsigned int when);

/* Those that begin anew are at what they were, or at their beginning, where of all that they have
 * their errors; others are where they are. */
enum tripd_anew_moment { TRIPD_ANEW_WAS, TRIPD_ANEW_BEGINS };

/* What one is then, with its errors. */
uint64_t tripd_anew_sum(
	const struct tripd_quota *quota, unsigned int value, enum tripd_anew_moment moment);

/* How often a statement is due then: of pairs 1, or 0. What is measured by time (`idle`, `rate`) is
 * not known, and does not hold. */
uint64_t tripd_anew_due(
	const struct tripd_quota *quota, unsigned int when, enum tripd_anew_moment moment);

#endif
