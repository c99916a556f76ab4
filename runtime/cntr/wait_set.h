/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_WAIT_SET_H
#define TRIP_RUNTIME_WAIT_SET_H

#include "domain/domain.h"

bool trip_wait_set_is_of(const struct trip_wait_set *set, const struct trip_domain *domain);

/* A counter that is being opened becomes a member. One that is being closed is suspended, so that
 * nothing of it makes the set due; then it leaves, or it is a member again. */
int trip_wait_set_join(struct trip_wait_set *set, struct trip_cntr *cntr);
void trip_wait_set_suspend(struct trip_cntr *cntr);
void trip_wait_set_resume(struct trip_cntr *cntr);
void trip_wait_set_leave(struct trip_cntr *cntr);

/* trip_trywait() on a set: 0 or -EAGAIN. */
int trip_wait_set_trywait(struct trip_wait_set *set);

/* Counts the calls under way that go on with the set after a home has run, or they have slept. */
_Atomic uint32_t *trip_wait_set_refs(struct trip_wait_set *set);

/* The set whose fid this is. */
struct trip_wait_set *trip_wait_set_of(struct trip_fid *fid);

#endif
