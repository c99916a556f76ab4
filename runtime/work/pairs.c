/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues items of pairs. pairs.h tells how. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "domain/error.h"
#include "domain/sized.h"
#include "work/pairs.h"
#include "work/plan.h"
#include "work/work_refs.h"
#include "cell.h"
#include "due.h"

/* At its root there is one, and its pairs may be nested. */
#define GROUPS_MAX (1 + TRIP_CONDITION_PAIRS_MAX)
#define ITEMS_MAX (GROUPS_MAX * TRIP_CONDITION_PAIRS_MAX + 1)
#define NOTHING UINT32_MAX

/* One ALL or ANY. */
struct planned {
	const struct trip_condition_row *row;
	uint8_t kind;
	uint32_t n_pairs;
	/* Once it is taken: its hidden counter. */
	uint32_t hidden;
	uint64_t base;
};

struct item {
	struct trip_submission request;
	/* Which group it feeds, and which it is; or NOTHING. */
	uint32_t feeds, is;
	uint64_t limit;
};

/* All that is queued for one: each behind what feeds it, and the root last. */
struct plan {
	struct trip_domain *domain;
	struct planned groups[GROUPS_MAX];
	uint32_t n_groups;
	struct item items[ITEMS_MAX];
	uint32_t n_items;
	/* Of the first of its counters. */
	struct trip_home *home;
	/* The channel that it goes by, and how many slots of that it takes of each home. */
	uint32_t channel;
	uint32_t slots[TRIP_HOMES_MAX];
};

/* ---- what is asked for ---- */

static const struct trip_condition_row *
row_of(const struct trip_condition *condition)
{
	return trip_condition_of(
		condition->size > offsetof(struct trip_condition, kind) ? condition->kind : 0);
}

bool
trip_pairs_is(const struct trip_condition *condition)
{
	return row_of(condition)->needs != NULL;
}

static struct item *
add_item(struct plan *plan, uint32_t feeds, uint32_t is)
{
	struct item *item = &plan->items[plan->n_items++];

	item->request = (struct trip_submission){.desc.completion = TRIP_NONE};
	item->feeds = feeds;
	item->is = is;
	return item;
}

static int
check_group(const struct plan *plan, const struct trip_condition_row *row,
	const struct trip_condition *condition, uint32_t feeds)
{
	if (feeds != NOTHING && plan->groups[feeds].row == row)
		return trip_error_set(EINVAL, "work: \"%s\" within \"%s\"", row->name, row->name);
	if (condition->when.pairs.count == 0 ||
		condition->when.pairs.count > TRIP_CONDITION_PAIRS_MAX)
		return trip_error_set(EINVAL,
			"work: %" PRIu64 " pairs of condition \"%s\" are not in 1 to %d",
			condition->when.pairs.count, row->name, TRIP_CONDITION_PAIRS_MAX);
	if (condition->when.pairs.of == NULL)
		return trip_error_set(
			EINVAL, "work: the pairs of condition \"%s\" are NULL", row->name);
	return trip_plan_check_rest(row, &condition->when);
}

static int
plan_pair(struct plan *plan, const struct trip_pair *pair, uint32_t feeds)
{
	struct item *item = add_item(plan, feeds, NOTHING);
	int error = trip_plan_pair(&item->request, plan->domain, pair);

	if (error == 0 && plan->home == NULL)
		plan->home = item->request.home;
	return error;
}

static int plan_group(struct plan *plan, const struct trip_condition *condition, uint32_t feeds);

/* A pair that is nested has no counter. */
static int
plan_nested(struct plan *plan, const struct trip_pair *pair, uint32_t feeds)
{
	int error;

	if (pair->threshold != 0)
		return trip_error_set(EINVAL,
			"work: threshold %" PRIu64 " of a pair that has no counter",
			pair->threshold);
	if (feeds != 0)
		return trip_error_set(EINVAL, "work: condition \"%s\" is nested twice",
			row_of(pair->condition)->name);
	error = plan_group(plan, pair->condition, feeds);
	if (error == 0)
		(void)add_item(plan, feeds, plan->n_groups - 1);
	return error;
}

static int
plan_pairs(struct plan *plan, const struct trip_condition *condition, uint32_t group)
{
	const char *at = (const char *)condition->when.pairs.of;
	size_t size, own = *(const size_t *)at;
	struct trip_pair pair;
	int error = 0;

	for (uint64_t i = 0; error == 0 && i < condition->when.pairs.count; i++, at += size) {
		memcpy(&size, at, sizeof(size));
		if (size != own)
			return trip_error_set(EINVAL,
				"work: size %zu of pair %" PRIu64 " is not that of the first, %zu",
				size, i, own);
		error = TRIP_SIZED_TAKE(trip_pair, &pair, (const struct trip_pair *)at);
		if (error == 0)
			error = pair.cntr == NULL && pair.condition != NULL &&
						trip_pairs_is(pair.condition)
					? plan_nested(plan, &pair, group)
					: plan_pair(plan, &pair, group);
	}
	return error;
}

/* The item that it is comes behind it. */
static int
plan_group(struct plan *plan, const struct trip_condition *condition, uint32_t feeds)
{
	struct trip_condition own;
	uint32_t group = plan->n_groups++;
	int error = TRIP_SIZED_TAKE(trip_condition, &own, condition);

	if (error == 0)
		error = check_group(plan, trip_condition_of(own.kind), &own, feeds);
	if (error != 0)
		return error;
	plan->groups[group] = (struct planned){.row = trip_condition_of(own.kind),
		.kind = (uint8_t)own.kind,
		.n_pairs = (uint32_t)own.when.pairs.count};
	return plan_pairs(plan, &own, group);
}

/* ---- what is submitted ---- */

static struct trip_submitter *
submitter_of(const struct plan *plan, uint32_t home)
{
	return &plan->domain->submitters[home][plan->channel];
}

static struct trip_group *
group_at(const struct plan *plan, uint32_t group)
{
	return trip_pairs_group(submitter_of(plan, plan->home->index), plan->groups[group].hidden);
}

static bool
has_groups(const struct trip_submitter *submitter, uint32_t n)
{
	uint32_t at = submitter->free_group, more = submitter->n_groups - submitter->used_groups;

	for (; at != 0 && n > more; n--)
		at = submitter->groups[at - 1].next;
	return n <= more;
}

/* Makes room for another use of its counter above all that there was, errors that garbage has left
 * among it. */
static void
begin_group(struct plan *plan, struct planned *planned)
{
	const struct trip_engine *engine = &plan->domain->engine;
	struct trip_cell *cell = trip_home_cell(engine, planned->hidden);
	bool rings = trip_cell_error(cell) != 0 && trip_cell_seterr(cell, 0);

	planned->base = (trip_cell_success(cell) / TRIP_GROUP_STEP + 1) * TRIP_GROUP_STEP;
	if (trip_cell_fill(cell, planned->base, planned->base) || rings)
		trip_due_ring(engine, planned->hidden);
}

static void
take_groups(struct plan *plan)
{
	struct trip_submitter *submitter = submitter_of(plan, plan->home->index);

	for (uint32_t i = 0; i < plan->n_groups; i++) {
		uint32_t at = submitter->free_group;

		if (at != 0)
			submitter->free_group = submitter->groups[at - 1].next;
		else
			at = ++submitter->used_groups;
		submitter->groups[at - 1].n_pairs = 0;
		plan->groups[i].hidden = submitter->first_hidden + at - 1;
		begin_group(plan, &plan->groups[i]);
	}
}

/* What it is submitted as, but for hidden counters; and how many slots it takes of its home. */
static void
place_item(struct plan *plan, struct item *item)
{
	struct trip_submission *request = &item->request;

	if (item->feeds != NOTHING) {
		request->op = trip_op_of(TRIP_OP_CNTR_FILL);
		request->operands = &item->limit;
		request->desc.op = TRIP_OP_CNTR_FILL;
		request->desc.value = 1;
		request->desc.is_pair = 1;
	}
	if (item->is != NOTHING) {
		request->home = plan->home;
		request->condition_row = plan->groups[item->is].row;
		request->desc.condition_kind = plan->groups[item->is].kind;
	}
	plan->slots[request->home->index] += trip_submitter_slots(request);
}

/* Now that they are known. */
static void
complete_item(struct plan *plan, struct item *item)
{
	struct trip_submission *request = &item->request;

	if (item->feeds != NOTHING) {
		const struct planned *fed = &plan->groups[item->feeds];

		item->limit = fed->base + fed->n_pairs;
		request->desc.target = fed->hidden;
	}
	if (item->is != NOTHING) {
		const struct planned *own = &plan->groups[item->is];
		const struct trip_group_pairs pairs = {.n = own->n_pairs, .base = own->base};

		memcpy(request->condition, &pairs, sizeof(pairs));
		request->pairs = group_at(plan, item->is)->pairs;
		request->desc.trigger = own->hidden;
		request->desc.threshold = own->base + own->row->needs(own->n_pairs);
	}
}

/* Of its own objects, and what its pairs wait for. */
static void
move_refs(const struct plan *plan,
	void (*item_moves)(struct trip_domain *domain, const struct trip_work_desc *desc),
	void (*cntr_moves)(struct trip_domain *domain, uint32_t cntr))
{
	for (uint32_t i = 0; i < plan->n_items; i++) {
		const struct item *item = &plan->items[i];

		if (item->feeds == NOTHING)
			item_moves(plan->domain, &item->request.desc);
		else if (item->is == NOTHING)
			cntr_moves(plan->domain, item->request.desc.trigger);
	}
}

/*
 * Under the locks, with room for all. What is handed in before the root feeds counters that nobody
 * waits for: so where something is in the way after all, which is garbage or a slot that is
 * retired, it is taken back, and nothing has been.
 */
static int
hand_in(struct plan *plan, uint64_t *id)
{
	int error = 0;

	take_groups(plan);
	for (uint32_t i = 0; i < plan->n_items; i++)
		complete_item(plan, &plan->items[i]);
	move_refs(plan, trip_work_refs_take, trip_work_refs_take_cntr);
	for (uint32_t i = 0; i < plan->n_items && error == 0; i++) {
		const struct item *item = &plan->items[i];
		struct trip_submitter *submitter = submitter_of(plan, item->request.home->index);

		error = trip_submitter_hand_in(plan->domain, submitter, &item->request, id);
		if (error == 0 && item->feeds != NOTHING) {
			struct trip_group *fed = group_at(plan, item->feeds);

			fed->pairs[fed->n_pairs] = *id;
			fed->triggers[fed->n_pairs++] = item->request.desc.trigger;
		}
	}
	for (uint32_t i = 0; i < plan->n_groups; i++) {
		if (error == 0)
			group_at(plan, i)->id = *id;
		else
			trip_pairs_free(plan->domain, submitter_of(plan, plan->home->index),
				group_at(plan, i));
	}
	if (error != 0)
		move_refs(plan, trip_work_refs_drop, trip_work_refs_drop_cntr);
	return error;
}

/* Likewise. 0, or the sentence. */
static int
check_room(const struct plan *plan)
{
	struct trip_submitter *root = submitter_of(plan, plan->home->index);
	uint32_t n_groups = plan->n_groups + root->kept_groups;

	for (uint32_t h = 0; h < plan->domain->engine.n_homes; h++)
		if (plan->slots[h] > 0 &&
			!trip_submitter_has(plan->domain, submitter_of(plan, h), plan->slots[h]))
			return trip_submitter_refuse(plan->domain, submitter_of(plan, h), -EAGAIN);
	if (has_groups(root, n_groups))
		return 0;
	trip_submitter_follow(plan->domain, root);
	if (!has_groups(root, n_groups))
		return trip_error_set(ENOSPC,
			"domain \"%s\": all %" PRIu32
			" work items of the channel that may be of pairs are in flight",
			plan->domain->name, root->n_groups);
	return 0;
}

/* By the homes' order: nobody who has one lock of a submitter waits for another's but so. */
static void
lock_all(const struct plan *plan)
{
	for (uint32_t h = 0; h < plan->domain->engine.n_homes; h++)
		if (plan->slots[h] > 0)
			trip_domain_lock(&submitter_of(plan, h)->lock);
}

static void
unlock_all(const struct plan *plan)
{
	for (uint32_t h = 0; h < plan->domain->engine.n_homes; h++)
		if (plan->slots[h] > 0)
			trip_domain_unlock(&submitter_of(plan, h)->lock);
}

/* Likewise. The room is kept for it, or no more. */
static void
keep_room(const struct plan *plan, bool keep)
{
	struct trip_submitter *root = submitter_of(plan, plan->home->index);

	root->kept_groups += keep ? plan->n_groups : 0 - plan->n_groups;
	for (uint32_t h = 0; h < plan->domain->engine.n_homes; h++)
		if (plan->slots[h] > 0)
			submitter_of(plan, h)->kept_slots +=
				keep ? plan->slots[h] : 0 - plan->slots[h];
}

/* Likewise, with room for all; without the locks meanwhile. */
static int
police(const struct plan *plan, const struct trip_submission *request)
{
	int error;

	keep_room(plan, true);
	unlock_all(plan);
	error = trip_submitter_police(plan->domain, request);
	lock_all(plan);
	keep_room(plan, false);
	return error;
}

static int
submit(struct plan *plan, uint64_t *id)
{
	const struct trip_submission *root = &plan->items[plan->n_items - 1].request;
	const struct trip_engine *engine = &plan->domain->engine;
	int error;

	lock_all(plan);
	error = check_room(plan);
	if (error == 0 && trip_submitter_polices(root))
		error = police(plan, root);
	if (error == 0) {
		error = hand_in(plan, id);
		if (error != 0)
			(void)trip_submitter_refuse(
				plan->domain, submitter_of(plan, plan->home->index), error);
	}
	unlock_all(plan);
	for (uint32_t h = 0; h < engine->n_homes; h++)
		if (plan->slots[h] > 0)
			trip_doorbell_ring(&engine->homes[h]->doorbell, TRIP_BELL_CHANNEL,
				submitter_of(plan, h)->number);
	return error;
}

int
trip_pairs_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	struct plan plan = {.domain = domain, .channel = trip_submitter_own(domain)};
	const struct trip_work_desc *root;
	int error = plan_group(&plan, work->condition, NOTHING);
	bool credit;

	if (error == 0)
		error = trip_plan_of_pairs(&add_item(&plan, NOTHING, 0)->request, domain, work);
	if (error != 0)
		return error;
	for (uint32_t i = 0; i < plan.n_items; i++)
		place_item(&plan, &plan.items[i]);
	root = &plan.items[plan.n_items - 1].request.desc;
	credit = trip_submitter_takes_credit(root);
	if (credit && trip_submitter_take_credit(domain) != 0)
		return -EAGAIN;
	error = submit(&plan, id);
	if (error != 0 && credit)
		trip_submitter_give_credit(domain, 1);
	return error;
}
