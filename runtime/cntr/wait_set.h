/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_WAIT_SET_H
#define TRIP_RUNTIME_WAIT_SET_H

#include "domain/domain.h"

/* A counter that is being opened becomes a member. One that is being closed is suspended, so that
 * nothing of it makes the set due; then it leaves, or it is a member again. */
int trip_wait_set_join(struct trip_wait_set *set, struct trip_cntr *cntr);
void trip_wait_set_suspend(struct trip_cntr *cntr);
void trip_wait_set_resume(struct trip_cntr *cntr);
void trip_wait_set_leave(struct trip_cntr *cntr);

/* trip_trywait() on the set whose fid this is: 0 or -EAGAIN. */
int trip_wait_set_trywait(struct trip_fid *fid);

#endif
