/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues a `when` as deferred work. */
#include <trip.h>

#include "when.h"

uint64_t
trip_apply_when_offset(const struct trip_rules_when *rule, uint64_t since)
{
	return rule->ref == TRIP_RULES_REF_CLOCK ? since : 0;
}

const struct trip_condition *
trip_apply_when_condition(const struct trip_rules_when *rule)
{
	return rule->condition.kind != TRIP_CONDITION_NONE ? &rule->condition : NULL;
}

unsigned int
trip_apply_when_works(const struct trip_rules *rules, const struct trip_rules_when *rule)
{
	bool on_flows = trip_rules_op_of(rule->op)->target == TRIP_OP_ON_FLOW;
	unsigned int items = on_flows ? rules->counts[rule->target].n_patterns *
						rules->counts[rule->target].n_ports
			     : rule->on_count ? 2u
					      : 1u;
	struct trip_condition_info condition = {.size = sizeof(condition)};

	if (rule->condition.kind != TRIP_CONDITION_NONE)
		(void)trip_condition_describe(rule->condition.kind, &condition);
	/* What an until or a time ends has a slot for that. */
	if ((rule->condition.kind == TRIP_CONDITION_RATE &&
		    rule->condition.when.rate.until_time > 0) ||
		rule->lasts != 0)
		condition.slots++;
	/* Its operands. */
	condition.slots += rule->op == TRIP_RULES_OP_POLICE;
	return items * (1 + condition.slots);
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
	int error = 0;

	for (unsigned int i = 0; i < count->n_flows && error == 0; i++) {
		bool last = i + 1 == count->n_flows;

		work->flags = last ? TRIP_WORK_COMPLETION : 0;
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

int
trip_apply_when(const struct trip_apply_when *when)
{
	const struct trip_rules_op_row *op = trip_rules_op_of(when->rule->op);
	struct trip_work work = {
		.size = sizeof(work),
		.triggering_cntr = when->trigger,
		.threshold =
			when->rule->threshold + trip_apply_when_offset(when->rule, when->since),
		.interval = when->rule->every,
		.context = when->context,
		.op_type = op->type,
		.flags = TRIP_WORK_COMPLETION,
		.condition = trip_apply_when_condition(when->rule),
	};

	if (op->target == TRIP_OP_ON_FLOW)
		return queue_flows(when, &work);
	if (when->rule->on_count)
		return queue_reset(when, &work);
	if (op->target == TRIP_OP_ON_FUNCTION && when->function != NULL) {
		work.op.call.function = when->function;
	} else {
		work.op_type = op->target == TRIP_OP_ON_CNTR ? op->type : TRIP_OP_CNTR_ADD;
		work.op.cntr.cntr = when->cntr;
		work.op.cntr.value = when->rule->value;
	}
	return when->queue(when->arg, &work);
}
