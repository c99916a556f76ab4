/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many of this process's work items in flight refer to each object, by its index. An item's
 * descriptor names its objects, and stays in its slot until the slot is used again. So nothing is
 * kept for each item but whether its references have been given back.
 */
#ifndef TRIP_RUNTIME_WORK_REFS_H
#define TRIP_RUNTIME_WORK_REFS_H

#include <stdatomic.h>
#include <stdint.h>

#include "op.h"

struct trip_cntr;
struct trip_domain;

/* Once the engine's numbers of counters, flows and functions are known: 0 or -ENOMEM. */
int trip_work_refs_init(struct trip_domain *domain);
void trip_work_refs_fini(struct trip_domain *domain);

/* An item with this descriptor takes its references, and gives them back. Any thread. */
void trip_work_refs_take(struct trip_domain *domain, const struct trip_work_desc *desc);
void trip_work_refs_drop(struct trip_domain *domain, const struct trip_work_desc *desc);

/* Likewise of a counter that one of its pairs waits for. */
void trip_work_refs_take_cntr(struct trip_domain *domain, uint32_t cntr);
void trip_work_refs_drop_cntr(struct trip_domain *domain, uint32_t cntr);

/* A handle of a counter has been opened. */
void trip_work_refs_open(struct trip_cntr *cntr);

/*
 * Closes a handle unless something refers to it: returns how many do. Those are whoever holds the
 * handle itself, and the items of its counter. Items do not count where the handle was found by
 * name and is not the process's only one of the counter (CNTR-11). 0: it is closed, so of two that
 * are closed at once one is the last. trip_work_refs_open() takes that back.
 */
uint32_t trip_work_refs_close(struct trip_cntr *cntr);

/* How many items refer to an object. */
uint32_t trip_work_refs_count(
	const struct trip_domain *domain, enum trip_op_target target, uint32_t index);

#endif
