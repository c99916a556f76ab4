/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules that change while they are at work. What stays keeps its counts, its fate, and what waits
 * for it. A count that changes is made before it is broken: its new flows stand, on the same
 * counters, before the old ones go. All that can fail is done before anything changes.
 */
#ifndef TRIPD_LIVE_H
#define TRIPD_LIVE_H

#include <stdio.h>
#include <sys/types.h>

#include "apply/difference.h"

struct tripd_quota;

/* Finds out which ports those of the new rules name that come in or change, and whether these are
 * in use. Says on `answer` what is not. What stays is on the ports that it has, though their
 * devices have gone. 0, or a negative errno. */
int tripd_live_resolve(const struct tripd_quota *quota,
	const struct trip_apply_difference *difference, struct trip_rules *next, FILE *answer);

/* Programs of `exec` run with tripd's rights: by rules that come along they come in from root and
 * from tripd's own effective user alone. Says on `answer` which one does not. What stays is as it
 * was. 0, or -EPERM. */
int tripd_live_may(const struct trip_apply_difference *difference, uid_t asker, FILE *answer);

/*
 * Puts a difference from the rules at work to work, and takes from `next` what comes in. Says on
 * `answer` why it cannot be: then nothing has changed. 0, or a negative errno.
 */
int tripd_live_change(struct tripd_quota *quota, const struct trip_apply_difference *difference,
	struct trip_rules *next, FILE *answer);

#endif
