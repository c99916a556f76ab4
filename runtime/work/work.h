/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_WORK_H
#define TRIP_RUNTIME_WORK_H

#include "domain/domain.h"

/* Lets go of what items that have fired or were canceled held on to. Any thread. */
void trip_work_reap(struct trip_domain *domain);

#endif
