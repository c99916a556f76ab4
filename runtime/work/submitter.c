/* SPDX-License-Identifier: BSD-3-Clause */
/* Submits and cancels items, and follows the slots that come back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "domain/backend.h"
#include "domain/error.h"
#include "domain/thread.h"
#include "work/pairs.h"
#include "work/submitter.h"
#include "work/work_refs.h"

#define REAP_BATCH 64

/* Whether it counts as an outstanding completion event. */
static bool
takes_credit(const struct trip_work_desc *desc)
{
	return desc->interval == 0 && desc->end == 0 && (desc->flags & TRIP_WORK_COMPLETION) != 0;
}

/* Under the submitter's lock. An item that was canceled has let go before its slot comes back. */
static void
let_go(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slot)
{
	uint64_t *held = &submitter->held[slot / 64], bit = UINT64_C(1) << slot % 64;

	if ((*held & bit) == 0) {
		if (submitter->used_groups > 0)
			trip_pairs_let_go(domain, submitter, slot);
		return;
	}
	*held &= ~bit;
	trip_work_refs_drop(domain, trip_channel_desc(submitter->channel, slot));
}

/* Its entries stay until they are allocated, and whoever allocates reaps first. */
void
trip_submitter_follow(struct trip_domain *domain, struct trip_submitter *submitter)
{
	uint32_t slots[REAP_BATCH], tail = trip_ring_tail(&submitter->reaper);
	int n;

	while ((n = trip_ring_peek(&submitter->reaper, tail, slots, REAP_BATCH)) > 0) {
		submitter->reaper.here += (uint32_t)n;
		/* No other index comes from a home: a process has written where it should not. */
		for (int i = 0; i < n; i++)
			if (slots[i] < submitter->channel->map.slots)
				let_go(domain, submitter, slots[i]);
	}
}

void
trip_submitter_reap(struct trip_domain *domain)
{
	for (uint32_t h = 0; h < domain->engine.n_homes; h++) {
		for (uint32_t c = 0; c < domain->n_channels; c++) {
			struct trip_submitter *submitter = &domain->submitters[h][c];

			trip_domain_lock(&submitter->lock);
			trip_submitter_follow(domain, submitter);
			trip_domain_unlock(&submitter->lock);
		}
	}
}

/* Under the submitter's lock. No slot goes out again before what it held on to is let go: none is
 * allocated that comes back after this has looked. */
static inline bool
has_reaped(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slots)
{
	slots += submitter->kept_slots;
	if (submitter->reaper.here - submitter->channel->returned.here < slots)
		trip_submitter_follow(domain, submitter);
	return submitter->reaper.here - submitter->channel->returned.here >= slots;
}

/* Slots that it takes beside its own. */
static inline unsigned int
slots_beside(const struct trip_submission *request)
{
	unsigned int n = (request->op->operands != 0) + (request->desc.end != 0);

	return request->condition_row == NULL ? n : n + 1 + request->condition_row->memory;
}

unsigned int
trip_submitter_slots(const struct trip_submission *request)
{
	return 1 + slots_beside(request);
}

bool
trip_submitter_has(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slots)
{
	return has_reaped(domain, submitter, slots);
}

/* Likewise. What a condition remembers in: what it begins with, in slots that follow each other. */
static void
fill_memory(const struct trip_domain *domain, const struct trip_channel_client *channel,
	const struct trip_submission *request, const uint32_t *slots)
{
	unsigned int n = request->condition_row->memory;

	if (request->pairs == NULL)
		trip_condition_note_queued(&domain->engine, request->desc.trigger,
			trip_channel_operands(channel, slots[0]));
	for (unsigned int i = 0; request->pairs != NULL && i < n; i++)
		memcpy(trip_channel_operands(channel, slots[i]),
			&request->pairs[i * TRIP_GROUP_IDS], TRIP_OPERANDS_MAX);
	trip_channel_chain(channel, slots, n);
}

/* Likewise. Slots for an item that has more, whose descriptor says where that is. */
static __attribute__((noinline)) int
alloc_more(const struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *request, struct trip_work_desc *desc)
{
	struct trip_channel_client *channel = submitter->channel;
	uint32_t more[TRIP_CHANNEL_MORE], *at = more;
	int slot = trip_channel_alloc_more(
		channel, submitter->reaper.here, more, slots_beside(request));

	if (slot < 0)
		return slot;
	if (request->op->operands != 0) {
		memcpy(trip_channel_operands(channel, *at), request->operands,
			request->op->operands);
		desc->operands = 1 + *at++;
	}
	if (request->desc.end != 0)
		desc->end = 1 + *at++;
	if (request->condition_row != NULL) {
		memcpy(trip_channel_operands(channel, *at), request->condition,
			sizeof(request->condition));
		desc->condition = 1 + *at++;
		if (request->condition_row->memory > 0) {
			fill_memory(domain, channel, request, at);
			desc->memory = 1 + *at;
		}
	}
	return slot;
}

/* Likewise. With so many slots beside its own. */
static inline int
alloc(const struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *request, unsigned int beside)
{
	const struct trip_work_desc *desc = &request->desc;
	struct trip_work_desc with_more;
	int slot;

	if (likely(beside == 0)) {
		slot = trip_channel_alloc(submitter->channel, submitter->reaper.here);
	} else {
		with_more = *desc;
		slot = alloc_more(domain, submitter, request, &with_more);
		desc = &with_more;
	}
	if (slot >= 0)
		*trip_channel_desc(submitter->channel, (uint32_t)slot) = *desc;
	return slot;
}

/* Likewise. Its slot, filled in. */
static inline int
take_slot(struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *request)
{
	unsigned int beside = slots_beside(request);
	int slot;

	/* Again where what it has passed by, as retired, leaves too few. */
	do {
		if (!has_reaped(domain, submitter, 1 + beside))
			return -EAGAIN;
		slot = alloc(domain, submitter, request, beside);
	} while (slot == -EAGAIN);
	return slot;
}

int
trip_submitter_hand_in(struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *request, uint64_t *id)
{
	int slot = take_slot(domain, submitter, request);

	return slot < 0 ? slot : trip_channel_submit(submitter->channel, (uint32_t)slot, id);
}

/* Likewise. */
static int
submit(struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *request, uint64_t *id)
{
	int slot = take_slot(domain, submitter, request), error;

	if (slot < 0)
		return trip_submitter_refuse(domain, submitter, slot);
	/* Before submission: the item may have come back by the time that it returns. */
	trip_work_refs_take(domain, &request->desc);
	submitter->held[slot / 64] |= UINT64_C(1) << slot % 64;
	error = trip_channel_submit(submitter->channel, (uint32_t)slot, id);
	return error == 0 ? 0 : trip_submitter_refuse(domain, submitter, error);
}

int
trip_submitter_police(struct trip_domain *domain, const struct trip_submission *request)
{
	return domain->backend->police(request->policed[0], request->policed[1]);
}

/* Likewise; without it meanwhile. Out of line: few items police. */
static __attribute__((noinline)) int
police(struct trip_domain *domain, struct trip_submitter *submitter,
	const struct trip_submission *request)
{
	uint32_t slots = trip_submitter_slots(request);
	int error;

	if (!has_reaped(domain, submitter, slots))
		return trip_submitter_refuse(domain, submitter, -EAGAIN);
	submitter->kept_slots += slots;
	trip_domain_unlock(&submitter->lock);
	error = trip_submitter_police(domain, request);
	trip_domain_lock(&submitter->lock);
	submitter->kept_slots -= slots;
	return error;
}

/* For a one-shot item. */
int
trip_submitter_take_credit(struct trip_domain *domain)
{
	if (atomic_fetch_add_explicit(&domain->completions, 1, memory_order_relaxed) <
		domain->attr.max_events)
		return 0;
	atomic_fetch_sub_explicit(&domain->completions, 1, memory_order_relaxed);
	return trip_error_set(EAGAIN,
		"domain \"%s\": all %" PRIu32 " completion events are outstanding; read them",
		domain->name, domain->attr.max_events);
}

void
trip_submitter_give_credit(struct trip_domain *domain, uint32_t n)
{
	atomic_fetch_sub_explicit(&domain->completions, n, memory_order_relaxed);
}

static inline uint32_t
own_channel(const struct trip_domain *domain)
{
	return trip_domain_on_home(domain) ? trip_home_channel(trip_engine_current)
					   : trip_thread_channel(domain);
}

uint32_t
trip_submitter_own(const struct trip_domain *domain)
{
	return own_channel(domain);
}

bool
trip_submitter_takes_credit(const struct trip_work_desc *desc)
{
	return takes_credit(desc);
}

int
trip_submitter_refuse(
	const struct trip_domain *domain, const struct trip_submitter *submitter, int error)
{
	return trip_error_set(-error,
		"domain \"%s\": all %" PRIu32 " work items of the channel are in flight",
		domain->name, submitter->channel->map.slots);
}

int
trip_submitter_submit(
	struct trip_domain *domain, const struct trip_submission *request, uint64_t *id)
{
	struct trip_submitter *submitter =
		&domain->submitters[request->home->index][own_channel(domain)];
	bool credit = takes_credit(&request->desc);
	int error = credit ? trip_submitter_take_credit(domain) : 0;

	if (error != 0)
		return error;
	trip_domain_lock(&submitter->lock);
	if (unlikely(trip_submitter_polices(request)))
		error = police(domain, submitter, request);
	if (likely(error == 0))
		error = submit(domain, submitter, request, id);
	trip_domain_unlock(&submitter->lock);
	if (error == 0) {
		trip_doorbell_ring(&request->home->doorbell, TRIP_BELL_CHANNEL, submitter->number);
		return 0;
	}
	if (credit)
		trip_submitter_give_credit(domain, 1);
	return error;
}

static struct trip_submitter *
submitter_at(struct trip_domain *domain, uint32_t at)
{
	return &domain->submitters[at / domain->n_channels][at % domain->n_channels];
}

/* Numbers of slots ascend, home by home, and there channel by channel; whoever cancels on a polling
 * lcore does not look at all of them. */
struct trip_submitter *
trip_submitter_of(struct trip_domain *domain, uint64_t id, uint32_t *home, uint32_t *slot)
{
	uint32_t number = trip_channel_id_number(id);
	uint32_t first = 0, behind = domain->engine.n_homes * domain->n_channels;
	struct trip_submitter *submitter;

	while (behind - first > 1) {
		uint32_t middle = first + (behind - first) / 2;

		if (submitter_at(domain, middle)->channel->map.first <= number)
			first = middle;
		else
			behind = middle;
	}
	submitter = submitter_at(domain, first);
	/* Below the first it wraps around. */
	if (number - submitter->channel->map.first >= submitter->channel->map.slots)
		return NULL;
	*home = first / domain->n_channels;
	*slot = number - submitter->channel->map.first;
	return submitter;
}

/*
 * Cancels, and lets go of the item at once: its objects can be closed without any progress. Both
 * under the lock: a reaper that came between them would take the item for a fired one, whose
 * completion event is still to be read, and its credit would be gone for good.
 */
static int
cancel(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slot, uint64_t id)
{
	int error;

	trip_domain_lock(&submitter->lock);
	/* A pair is nobody's to cancel but of what it is of. */
	error = trip_channel_desc(submitter->channel, slot)->is_pair != 0 &&
				trip_channel_queued_id(submitter->channel, slot) == id
			? -ENOENT
			: trip_channel_cancel(submitter->channel, id);
	if (error == 0) {
		if (takes_credit(trip_channel_desc(submitter->channel, slot)))
			trip_submitter_give_credit(domain, 1);
		let_go(domain, submitter, slot);
	}
	trip_domain_unlock(&submitter->lock);
	return error;
}

int
trip_submitter_cancel(struct trip_domain *domain, uint64_t id)
{
	uint32_t home, slot;
	struct trip_submitter *submitter = trip_submitter_of(domain, id, &home, &slot);

	if (submitter == NULL || cancel(domain, submitter, slot, id) != 0)
		return -ENOENT;
	trip_doorbell_ring(
		&domain->engine.homes[home]->doorbell, TRIP_BELL_CHANNEL, submitter->number);
	return 0;
}
