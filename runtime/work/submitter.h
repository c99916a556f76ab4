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
	/* Those of TRIP_OP_FLOW_POLICE, whose own name a flow; and the flows: the second may be
	 * NULL. */
	struct trip_op_police police;
	struct trip_flow *policed[2];
	/* Where it has a condition: its row, and its parameters. */
	const struct trip_condition_row *condition_row;
	uint64_t condition[TRIP_CONDITION_MEMORY / 8];
	/* Of one of pairs: their ids, in so many nodes as it has to remember in. */
	const uint64_t *pairs;
};

/* Submits by the calling thread's channel: 0, or -EAGAIN with its sentence. */
int trip_submitter_submit(
	struct trip_domain *domain, const struct trip_submission *submission, uint64_t *id);

/*
 * What an item takes in its flows, which is not given back: so it comes last, when nothing else can
 * refuse the item any more (WORK-11). Its room is kept for it meanwhile, as this may wait, and asks
 * the primary. Without a lock: 0, or the error with its sentence.
 */
static inline bool
trip_submitter_polices(const struct trip_submission *submission)
{
	return submission->desc.op == TRIP_OP_FLOW_POLICE;
}

int trip_submitter_police(struct trip_domain *domain, const struct trip_submission *submission);

/* Slots that an item takes. */
unsigned int trip_submitter_slots(const struct trip_submission *submission);

/* Whether it counts as an outstanding completion event; takes one of the domain's. */
bool trip_submitter_takes_credit(const struct trip_work_desc *desc);
int trip_submitter_take_credit(struct trip_domain *domain);

/* Why there is no room for an item. */
int trip_submitter_refuse(
	const struct trip_domain *domain, const struct trip_submitter *submitter, int error);

/* ---- under the submitter's lock ---- */

/* Follows the return ring: what has come back lets go. */
void trip_submitter_follow(struct trip_domain *domain, struct trip_submitter *submitter);

/* Whether so many slots are free, with nothing left to let go of. */
bool trip_submitter_has(
	struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slots);

/* Submits an item; its caller has its references, and rings. */
int trip_submitter_hand_in(struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *submission, uint64_t *id);

/* ---- any thread ---- */

/* The calling thread's channel. */
uint32_t trip_submitter_own(const struct trip_domain *domain);

/* The submitter whose channel has the slot of an id, or NULL. */
struct trip_submitter *trip_submitter_of(
	struct trip_domain *domain, uint64_t id, uint32_t *home, uint32_t *slot);

/* -ENOENT: it has fired, was canceled, or never was. */
int trip_submitter_cancel(struct trip_domain *domain, uint64_t id);

/* Completion events have been read. */
void trip_submitter_give_credit(struct trip_domain *domain, uint32_t n);

/* Gives back the references of items that have fired or were canceled. Any thread. */
void trip_submitter_reap(struct trip_domain *domain);

#endif
