/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Items of pairs: the client's side of group.h of the engine. A hidden counter of the channel is
 * taken for each ALL and each ANY; it and the references to what the pairs wait for are the item's,
 * and go with it. Its pairs have none of their own.
 */
#ifndef TRIP_RUNTIME_PAIRS_H
#define TRIP_RUNTIME_PAIRS_H

#include "domain/domain.h"

/* Whether a condition is of pairs. */
bool trip_pairs_is(const struct trip_condition *condition);

/* Checks and submits: 0, or the error. */
int trip_pairs_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id);

/* The item that a pair, which has this id, is of, by the counter that it feeds and the submitter
 * that has it; TRIP_WORK_NONE: that has gone, and the counter may be another's by now. */
uint64_t trip_pairs_id(struct trip_domain *domain, const struct trip_submitter *submitter,
	uint32_t fed, uint64_t pair);

/* Of a hidden counter, or NULL: it is none of this channel's. */
static inline struct trip_group *
trip_pairs_group(const struct trip_submitter *submitter, uint32_t hidden)
{
	return hidden - submitter->first_hidden < submitter->n_groups
		       ? &submitter->groups[hidden - submitter->first_hidden]
		       : NULL;
}

/* Under the submitter's lock: its pairs will add nothing, and its counter is free. */
void trip_pairs_free(
	struct trip_domain *domain, struct trip_submitter *submitter, struct trip_group *group);

/* A slot has come back, or its item was canceled: where that was one of pairs, what is left of them
 * is canceled, and it lets go. Under the submitter's lock. */
void trip_pairs_let_go(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slot);

#endif
