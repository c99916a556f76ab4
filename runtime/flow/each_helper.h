/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has keys of a statement in hardware (trip_each.h), in the primary. */
#ifndef TRIP_RUNTIME_EACH_HELPER_H
#define TRIP_RUNTIME_EACH_HELPER_H

#include "flow/each.h"

/* For a statement with `in_hardware`, which has its tables; begins at once: 0, or the error. */
int trip_each_helper_start(struct trip_each *each);

/* All of its rules are out, and their counts handed to the tables as far as these take them. */
void trip_each_helper_stop(struct trip_each *each);

/* No key goes to hardware any more. Returns when none is there, and the tables have all that was
 * counted: 0, or -ETIMEDOUT: they did not take it. */
int trip_each_helper_settle(struct trip_each *each);

#endif
