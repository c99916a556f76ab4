/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues a `when` as deferred work. */
#include <errno.h>

#include <trip.h>

#include "when.h"

uint64_t
trip_apply_when_offset(const struct trip_rules_when *rule, uint64_t since)
{
	return rule->ref == TRIP_RULES_REF_CLOCK ? since : 0;
}

/* One that is nested has no pairs that are; `level` is where its pairs go. */
static int
fill_pairs(const struct trip_apply_when *when, struct trip_apply_condition *condition,
	unsigned int level, const struct trip_rules_pairs *pairs, struct trip_condition *own)
{
	struct trip_pair *to = condition->pairs[level];

	*own = (struct trip_condition){.size = sizeof(*own), .kind = pairs->kind};
	own->when.pairs.of = to;
	own->when.pairs.count = pairs->n;
	for (unsigned int i = 0; i < pairs->n; i++) {
		const struct trip_rules_pair *pair = &pairs->pair[i];

		to[i] = (struct trip_pair){.size = sizeof(to[i])};
		if (pair->nested != NULL) {
			to[i].condition = &condition->nested[i];
			if (fill_pairs(when, condition, 1 + i, pair->nested,
				    &condition->nested[i]) != 0)
				return -ENOENT;
			continue;
		}
		to[i].cntr = when->find(when->arg, pair);
		if (to[i].cntr == NULL)
			return -ENOENT;
		to[i].threshold = pair->threshold;
		if (pair->ref == TRIP_RULES_REF_CLOCK)
			to[i].threshold += when->since;
		if (pair->condition.kind != TRIP_CONDITION_NONE)
			to[i].condition = &pair->condition;
	}
	return 0;
}

static int
fill_trigger(const struct trip_apply_when *when, struct trip_apply_condition *condition,
	struct trip_work *work)
{
	const struct trip_rules_when *rule = when->rule;

	work->interval = rule->every;
	if (rule->condition.kind != TRIP_CONDITION_NONE)
		work->condition = &condition->own;
	condition->own = rule->condition;
	if (rule->pairs != NULL)
		return fill_pairs(when, condition, 0, rule->pairs, &condition->own);
	work->triggering_cntr = when->trigger;
	work->threshold = rule->threshold + trip_apply_when_offset(rule, when->since);
	return 0;
}

uint64_t
trip_apply_when_opens_at(const struct trip_rules_pairs *pairs)
{
	return pairs->kind == TRIP_CONDITION_ALL ? pairs->n : 1;
}

int
trip_apply_when_trigger(const struct trip_apply_when *when, struct trip_apply_condition *condition,
	struct trip_work *work)
{
	if (when->gate == NULL)
		return fill_trigger(when, condition, work);
	work->triggering_cntr = when->gate;
	work->threshold = trip_apply_when_opens_at(when->rule->pairs);
	return 0;
}

bool
trip_apply_when_is_gated(const struct trip_rules_when *rule)
{
	return rule->pairs != NULL &&
	       (rule->on_count || trip_rules_op_of(rule->op)->target == TRIP_OP_ON_FLOW);
}

static unsigned int
slots_of(const struct trip_condition *condition)
{
	struct trip_condition_info info = {.size = sizeof(info)};

	if (condition->kind != TRIP_CONDITION_NONE)
		(void)trip_condition_describe(condition->kind, &info);
	return info.slots;
}

/* A pair has operands, and one that is nested is one of those of which there are as many as one in
 * 64 items. */
#define WORKS_OF_PAIRS 64

static unsigned int
works_of(const struct trip_rules_pairs *pairs)
{
	unsigned int n = WORKS_OF_PAIRS;

	for (unsigned int i = 0; i < pairs->n; i++)
		n += pairs->pair[i].nested != NULL ? works_of(pairs->pair[i].nested)
						   : 2 + slots_of(&pairs->pair[i].condition);
	return n;
}

bool
trip_apply_when_ends(const struct trip_rules_when *rule)
{
	return rule->lasts != 0 || (rule->condition.kind == TRIP_CONDITION_RATE &&
					   rule->condition.when.rate.until_time > 0);
}

unsigned int
trip_apply_when_works(const struct trip_rules *rules, const struct trip_rules_when *rule)
{
	bool on_flows = trip_rules_op_of(rule->op)->target == TRIP_OP_ON_FLOW;
	unsigned int items = on_flows ? rules->counts[rule->target].n_patterns *
						rules->counts[rule->target].n_ports
			     : rule->on_count ? 2u
					      : 1u;
	unsigned int slots = 0, of_trigger = slots_of(&rule->condition);

	if (trip_rules_is_of_keys(rule))
		return 0;
	if (rule->pairs != NULL)
		of_trigger += works_of(rule->pairs);
	/* What an until or a time ends has a slot for that. */
	slots += trip_apply_when_ends(rule);
	/* Its operands. */
	slots += rule->op == TRIP_RULES_OP_POLICE;
	if (trip_apply_when_is_gated(rule))
		return items * (1 + slots) + 1 + of_trigger;
	return items * (1 + slots + of_trigger);
}

/* All flows of a count share one rate. */
static void
police(const struct trip_apply_when *when, struct trip_work *work)
{
	work->op.police.rate = when->rule->value;
	work->op.police.unit = when->rule->unit;
	work->op.police.with = when->count->flows[0];
}

/* Work of one threshold fires in the order of its queueing, and is done in that order on a port:
 * the last one says that all is done. */
static int
queue_flows(const struct trip_apply_when *when, struct trip_work *work)
{
	const struct trip_apply_count *count = when->count;
	uint32_t flags = when->begun ? TRIP_WORK_BEGUN : 0;
	int error = 0;

	for (unsigned int i = 0; i < count->n_flows && error == 0; i++) {
		bool last = i + 1 == count->n_flows;

		work->flags = flags | (last ? TRIP_WORK_COMPLETION : 0);
		work->completion_cntr = last ? when->flows_done : NULL;
		work->op.drop.flow = count->flows[i];
		if (when->rule->op == TRIP_RULES_OP_POLICE)
			police(when, work);
		else
			work->op.drop.time = when->rule->lasts;
		error = when->queue(when->arg, work);
	}
	return error;
}

/* Both values of a count: of these, too, the last one tells. */
static int
queue_reset(const struct trip_apply_when *when, struct trip_work *work)
{
	int error;

	work->flags = 0;
	work->op.cntr.cntr = when->count->packets;
	error = when->queue(when->arg, work);
	if (error != 0)
		return error;
	work->flags = TRIP_WORK_COMPLETION;
	work->op.cntr.cntr = when->count->bytes;
	return when->queue(when->arg, work);
}

/* It has opened where what stood on it was taken back just then: that goes on. */
static int
queue_gate(const struct trip_apply_when *when)
{
	struct trip_work work = {
		.size = sizeof(work), .context = when->context, .op_type = TRIP_OP_CNTR_ADD};
	struct trip_apply_condition condition;

	if (when->gate == NULL || trip_cntr_read(when->gate) != 0)
		return 0;
	work.op.cntr.cntr = when->gate;
	work.op.cntr.value = trip_apply_when_opens_at(when->rule->pairs);
	return fill_trigger(when, &condition, &work) == 0 ? when->queue(when->arg, &work) : -ENOENT;
}

int
trip_apply_when(const struct trip_apply_when *when)
{
	const struct trip_rules_op_row *op = trip_rules_op_of(when->rule->op);
	struct trip_work work = {
		.size = sizeof(work),
		.context = when->context,
		.op_type = op->type,
		.flags = TRIP_WORK_COMPLETION,
	};
	struct trip_apply_condition condition;
	int error = queue_gate(when);

	if (error == 0)
		error = trip_apply_when_trigger(when, &condition, &work);
	if (error != 0)
		return error;
	if (op->target == TRIP_OP_ON_FLOW)
		return queue_flows(when, &work);
	if (when->rule->on_count)
		return queue_reset(when, &work);
	if (op->target == TRIP_OP_ON_FUNCTION && when->function != NULL) {
		work.op.call.function = when->function;
	} else {
		work.op_type = op->target == TRIP_OP_ON_CNTR ? op->type : TRIP_OP_CNTR_RAISE;
		work.op.cntr.cntr = when->cntr;
		work.op.cntr.value = when->rule->value;
	}
	return when->queue(when->arg, &work);
}
