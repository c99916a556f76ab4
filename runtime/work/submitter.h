/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's ends of its channels. An item takes a slot, references to its objects, and a
 * credit where a completion event is to be read. Each is given back once, whether the item fires or
 * is canceled.
 */
#ifndef TRIP_RUNTIME_SUBMITTER_H
#define TRIP_RUNTIME_SUBMITTER_H

#include "domain/domain.h"
#include "condition.h"
#include "node.h"
#include "op.h"

/* What an item comes to. */
struct trip_submission {
	struct trip_work_desc desc;
	struct trip_home *home;
	const struct trip_op_row *op;
	/* Of which it takes as many as its operation has. */
	const uint64_t *operands;
	/* Those of TRIP_OP_FLOW_POLICE, whose own name a flow. */
	struct trip_op_police police;
	/* Where it has a condition: its row, and its parameters. */
	const struct trip_condition_row *condition_row;
	uint64_t condition[TRIP_CONDITION_MEMORY / 8];
};

/* Submits by the calling thread's channel: 0, or -EAGAIN with its sentence. */
int trip_submitter_submit(
	struct trip_domain *domain, const struct trip_submission *submission, uint64_t *id);

/* -ENOENT: it has fired, was canceled, or never was. */
int trip_submitter_cancel(struct trip_domain *domain, uint64_t id);

/* Completion events have been read. */
void trip_submitter_give_credit(struct trip_domain *domain, uint32_t n);

/* Gives back the references of items that have fired or were canceled. Any thread. */
void trip_submitter_reap(struct trip_domain *domain);

#endif
