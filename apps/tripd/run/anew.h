/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What begins anew: quotas, at the end of a period, and quotas, counters and counts that are reset.
 * They begin at 0, what stands on them is armed again, and what that has dropped passes.
 *
 * A home does not reset them: to arm again what has fired, and to know what that has dropped, is
 * the control thread's, and of a count that a home had reset twice meanwhile it could not tell what
 * is still to fire. So a reset by a rule is done when that thread reads of it, as a period ends
 * when it looks at the clock.
 */
#ifndef TRIPD_ANEW_H
#define TRIPD_ANEW_H

#include <stdbool.h>
#include <stdint.h>

struct trip_rules_when;
struct tripd_quota;

/* Of a counter, or of one value of a count. */
struct tripd_anew {
	/* It was reset, and has not begun anew yet; it is among those that do now. */
	bool asked, begins;
	/* Which it does as the period of a quota is over. */
	bool over;
	/* What it had come to when it last did. */
	uint64_t was;
};

/* This statement has fired: what it resets is to begin anew. */
void tripd_anew_reset(struct tripd_quota *quota, unsigned int when);

/*
 * A counter or a quota, or both values of a count, begin anew at once: what they were is in
 * `anew_counters` and `anew_counts`. 0, also where something of them cannot pass or be armed by
 * then (period.h); or a negative errno, with that said, and then it does not happen later, unless a
 * rule wants that, too.
 */
int tripd_anew_reset_now(struct tripd_quota *quota, bool on_count, unsigned int index);

/* What is to begin anew by now does, all of it together. 0, also where nothing is, or a negative
 * errno, with that said. */
int tripd_anew_begin(struct tripd_quota *quota, int64_t now);

#endif
