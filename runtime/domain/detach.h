/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is not attached to a domain, though it has handles of it (WAIT-12): a child of
 * fork(), or one whose primary has ended. It has the domain's memory, but nothing that runs it. So
 * its calls change nothing there, and its counters keep the values that they had.
 */
#ifndef TRIP_RUNTIME_DETACH_H
#define TRIP_RUNTIME_DETACH_H

#include "domain/domain.h"

/* A domain has been opened, and is being closed. 0, or -ENOMEM. */
int trip_detach_watch(struct trip_domain *domain);

void trip_detach_unwatch(struct trip_domain *domain);

/* Copies something of a domain that this process is attached to, whichever. 0, -ENOTSUP: there is
 * none, or -ESHUTDOWN: there was. */
int trip_detach_any(void (*copy)(const struct trip_domain *domain, void *arg), void *arg);

/* Likewise its backend; NULL, and the sentence: there is none. */
const struct trip_backend *trip_detach_backend(void);

/* A handle of a counter has been opened, and is being closed. */
void trip_detach_watch_cntr(struct trip_cntr *cntr);
void trip_detach_unwatch_cntr(struct trip_cntr *cntr);

/* The primary of an attached process has ended: its calls are refused from now on. Whoever sleeps
 * is yet to be woken. */
void trip_detach_end(struct trip_domain *domain);

/* Whether this process came out of one that had a domain open. */
bool trip_detach_forked(void);

/* -ESHUTDOWN and its sentence. */
int trip_detach_refuse(const struct trip_domain *domain);

/* What every call that returns int begins with: 0 or -ESHUTDOWN. */
static inline int
trip_detach_check(const struct trip_domain *domain)
{
	if (__builtin_expect(atomic_load_explicit(&domain->detached, memory_order_relaxed), 0))
		return trip_detach_refuse(domain);
	return 0;
}

#endif
