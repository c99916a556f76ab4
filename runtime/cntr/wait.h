/* SPDX-License-Identifier: BSD-3-Clause */
/* What waiting on a counter and on a wait set have in common. */
#ifndef TRIP_RUNTIME_WAIT_H
#define TRIP_RUNTIME_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct trip_domain;
struct trip_waiter;

/* How long a signal that is under way is waited for by calls that have no time of their own: it is
 * two system calls of a home, unless that is stopped in the midst of them. */
#define TRIP_WAIT_SIGNAL_MS 100

/* When a wait of `timeout` milliseconds ends; negative: for ever. */
int64_t trip_wait_deadline(int timeout);
bool trip_wait_is_over(int64_t deadline);

/* Spins briefly, then sleeps until the slot is signalled after `sequence` was read, or the
 * deadline. `next` is what its caller reads then. */
void trip_wait_sleep(
	struct trip_waiter *waiter, uint32_t sequence, int64_t deadline, const void *next);

/* Whether whoever waits in this domain is to progress or yield rather than to sleep. */
bool trip_wait_yields(const struct trip_domain *domain, int wait_obj);

#endif
