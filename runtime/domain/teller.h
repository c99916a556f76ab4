/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of a domain, in this process, that looks again and again whether there is something to
 * tell the application of, as long as there is somebody to be told.
 */
#ifndef TRIP_RUNTIME_TELLER_H
#define TRIP_RUNTIME_TELLER_H

#include <stdint.h>

struct trip_domain;

/* How often it looks. */
#define TRIP_TELLER_PERIOD_NS 10000000

/* One more is to be told, by `look`, which is the same for all; and one less. The last one waits
 * for the thread to end, so not in a look, nor with what that locks. 0, or -EAGAIN: there is no
 * thread, and nothing has changed. */
int trip_teller_join(struct trip_domain *domain, void (*look)(struct trip_domain *domain));
void trip_teller_leave(struct trip_domain *domain);

/* This process is not attached any more: when this returns, the thread has ended. */
void trip_teller_rest(struct trip_domain *domain);

#endif
