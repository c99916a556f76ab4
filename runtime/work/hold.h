/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process's work items in flight refer to: how many there are of each object, by its
 * index. An item's descriptor names its objects, and stays in its slot until that is used again, so
 * nothing is kept for each item but whether it still holds on to them.
 */
#ifndef TRIP_RUNTIME_HOLD_H
#define TRIP_RUNTIME_HOLD_H

#include <stdatomic.h>
#include <stdint.h>

#include "op.h"

struct trip_cntr;
struct trip_domain;
struct trip_work_desc;

/* Once the engine's numbers of counters, flows and functions are known: 0 or -ENOMEM. */
int trip_hold_init(struct trip_domain *domain);
void trip_hold_fini(struct trip_domain *domain);

/* An item with this descriptor holds on to what it names, and lets go of it. Any thread. */
void trip_hold(struct trip_domain *domain, const struct trip_work_desc *desc);
void trip_hold_let_go(struct trip_domain *domain, const struct trip_work_desc *desc);

/* A handle of a counter has been opened. */
void trip_hold_open(struct trip_cntr *cntr);

/*
 * What keeps a handle open: the `refs` that it has itself, and the items of its counter, but where
 * it has found that and is not the only handle that this process has of it (CNTR-11). 0: it is none
 * any more, so of two that are closed at once one is the last. trip_hold_open() takes that back.
 */
uint32_t trip_hold_close(struct trip_cntr *cntr, uint32_t refs);

/* How many items hold on to an object. */
uint32_t trip_hold_count(
	const struct trip_domain *domain, enum trip_op_target target, uint32_t index);

#endif
