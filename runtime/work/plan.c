/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program asks for, checked, as what is submitted. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "domain/error.h"
#include "domain/sized.h"
#include "work/plan.h"
#include "condition.h"
#include "op.h"

/* Where the operands begin in `op` of struct trip_work: behind target and value. */
#define OPERANDS 2

_Static_assert(sizeof(((struct trip_work *)0)->op) == 8 * OPERANDS + TRIP_OPERANDS_MAX,
	"any operation finds room");
_Static_assert(offsetof(struct trip_work, op.fill.limit) ==
		       offsetof(struct trip_work, op.reserved[OPERANDS]),
	"they follow target and value");
_Static_assert(offsetof(struct trip_work, op.drop.flow) == offsetof(struct trip_work, op.flow),
	"a drop for ever is any flow's operation");

/* An item is queued in some hundred instructions: calls between what is asked of each would be a
 * tenth of that. */
#define IN_EACH_PLAN static inline __attribute__((always_inline))

#define FLAGS (TRIP_WORK_COMPLETION | TRIP_WORK_COALESCE | TRIP_WORK_BEGUN)

IN_EACH_PLAN int
check_header(const struct trip_work *work)
{
	if (trip_op_of(work->op_type)->name == NULL)
		return trip_error_set(ENOSYS, "work: operation %d is unknown", (int)work->op_type);
	if ((work->flags & ~FLAGS) != 0)
		return trip_error_set(
			EINVAL, "work: flags 0x%" PRIx32 " are unknown", work->flags & ~FLAGS);
	if (work->threshold > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL,
			"work: threshold %" PRIu64 " is above the limit %" PRIu64, work->threshold,
			(uint64_t)TRIP_CNTR_MAX);
	if (work->interval > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL,
			"work: interval %" PRIu64 " is above the limit %" PRIu64, work->interval,
			(uint64_t)TRIP_CNTR_MAX);
	if (work->interval == 0 && (work->flags & TRIP_WORK_COALESCE) != 0)
		return trip_error_set(EINVAL, "work: there is no interval to coalesce");
	if (work->condition == NULL && (work->flags & TRIP_WORK_BEGUN) != 0)
		return trip_error_set(EINVAL, "work: there is no condition that can have begun");
	return 0;
}

static int
check_cntr(const struct trip_domain *domain, const struct trip_cntr *cntr, const char *role)
{
	if (cntr == NULL)
		return trip_error_set(EINVAL, "work: the %s counter is NULL", role);
	if (cntr->fid.domain != domain)
		return trip_error_set(EXDEV, "work: the %s counter is of another domain", role);
	return 0;
}

/* Likewise of one that the item changes. */
IN_EACH_PLAN int
check_changed(const struct trip_domain *domain, const struct trip_cntr *cntr, const char *role)
{
	int error = check_cntr(domain, cntr, role);

	if (error == 0 && cntr->is_clock)
		return trip_error_set(
			EINVAL, "work: the %s counter is a clock, which only time changes", role);
	return error;
}

IN_EACH_PLAN int
plan_cntr(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	int error = check_changed(domain, work->op.cntr.cntr, "target");

	if (error != 0)
		return error;
	if (work->op.cntr.value > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL, "work: value %" PRIu64 " is above the limit %" PRIu64,
			work->op.cntr.value, (uint64_t)TRIP_CNTR_MAX);
	request->desc.target = work->op.cntr.cntr->global;
	request->desc.value = work->op.cntr.value;
	return 0;
}

static int
plan_police(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	const struct trip_flow *with = work->op.police.with;

	if (with == NULL)
		with = work->op.police.flow;
	if (trip_flow_domain(with) != domain)
		return trip_error_set(
			EXDEV, "work: the flow to share a rate with is of another domain");
	request->desc.value = work->op.police.rate;
	request->police = (struct trip_op_police){
		.with = with->index,
		.unit = (uint32_t)work->op.police.unit,
		.burst_ms = work->op.police.burst_ms,
	};
	request->operands = (const uint64_t *)&request->police;
	request->policed[0] = work->op.police.flow;
	request->policed[1] = work->op.police.with;
	return 0;
}

static int
plan_flow(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	if (work->op.flow == NULL)
		return trip_error_set(EINVAL, "work: the flow is NULL");
	if (trip_flow_domain(work->op.flow) != domain)
		return trip_error_set(EXDEV, "work: the flow is of another domain");
	if (request->op->in_software && work->op.flow->hard)
		return trip_error_set(ENOTSUP,
			"work: flow %" PRIu32 " is in hardware, and operation \"%s\" of software",
			work->op.flow->index, request->op->name);
	request->desc.target = work->op.drop.flow->index;
	if (work->op_type == TRIP_OP_FLOW_POLICE)
		return plan_police(request, domain, work);
	if (!request->op->has_time)
		return 0;
	if (work->op.drop.time > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL, "work: time %" PRIu64 " is above the limit %" PRIu64,
			work->op.drop.time, (uint64_t)TRIP_CNTR_MAX);
	request->desc.value = work->op.drop.time;
	/* It gets its slot with the others. */
	request->desc.end = work->op.drop.time != 0;
	return 0;
}

static int
plan_function(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	struct trip_function *function = work->op.call.function;

	if (function == NULL)
		return trip_error_set(EINVAL, "work: the function is NULL");
	if (function->domain != domain)
		return trip_error_set(EXDEV, "work: the function is of another domain");
	request->desc.target = function->index;
	return 0;
}

/* One of the operands of an operation, or parameters of a condition, is refused by its row. */
static int
refuse_operand(const char *of, const char *name, const struct trip_op_refusal *refusal)
{
	bool low = refusal->value < refusal->low;

	return trip_error_set(EINVAL, "work: %s %" PRIu64 " of %s \"%s\" is %s the limit %" PRIu64,
		refusal->operand, refusal->value, of, name, low ? "below" : "above",
		low ? refusal->low : refusal->limit);
}

static int
check_operands(const struct trip_submission *request, const struct trip_domain *domain)
{
	const struct trip_op_row *op = request->op;
	struct trip_op_refusal refusal;

	if (!op->takes(&domain->engine, &request->desc, request->operands, &refusal))
		return refuse_operand("operation", op->name, &refusal);
	return 0;
}

/* Behind the parameters there is nothing, so that what a kind gets later is refused until then. */
int
trip_plan_check_rest(const struct trip_condition_row *row, const void *when)
{
	const uint8_t *bytes = when;

	for (size_t i = row->parameters; i < sizeof(((struct trip_condition *)0)->when); i++)
		if (bytes[i] != 0)
			return trip_error_set(EINVAL,
				"work: byte %zu of `when` is 0x%02x, not 0: condition \"%s\" has "
				"%u "
				"bytes of parameters",
				i, bytes[i], row->name, row->parameters);
	return 0;
}

static int
check_condition(const struct trip_submission *request, const struct trip_work *work,
	const struct trip_condition *condition)
{
	const struct trip_condition_row *row = trip_condition_of(condition->kind);
	struct trip_op_refusal refusal;

	if (row->name == NULL)
		return trip_error_set(
			ENOSYS, "work: condition %d is unknown", (int)condition->kind);
	if (row->needs != NULL)
		return trip_error_set(EINVAL,
			"work: condition \"%s\" of a counter: it has those of its pairs alone",
			row->name);
	if (work->triggering_cntr->is_clock)
		return trip_error_set(EINVAL,
			"work: condition \"%s\" of a clock, which only time changes", row->name);
	if ((work->flags & TRIP_WORK_COALESCE) != 0)
		return trip_error_set(EINVAL,
			"work: condition \"%s\" fires each time that it holds, and does not "
			"coalesce",
			row->name);
	if (trip_plan_check_rest(row, &condition->when) != 0)
		return -EINVAL;
	if (!trip_condition_takes(row, request->condition, work->interval, &refusal))
		return refuse_operand("condition", row->name, &refusal);
	if ((work->flags & TRIP_WORK_BEGUN) != 0 &&
		(row->ends == NULL || !row->ends(request->condition)))
		return trip_error_set(EINVAL,
			"work: condition \"%s\" has no until, and cannot have begun", row->name);
	return 0;
}

/* Out of line: most items have none. */
static __attribute__((noinline)) int
plan_condition(struct trip_submission *request, const struct trip_work *work)
{
	struct trip_condition own;
	int error = TRIP_SIZED_TAKE(trip_condition, &own, work->condition);

	memcpy(request->condition, &own.when, sizeof(request->condition));
	if (error == 0)
		error = check_condition(request, work, &own);
	if (error != 0)
		return error;
	request->condition_row = trip_condition_of(own.kind);
	if (request->op->end != NULL && request->condition_row->ends != NULL &&
		request->condition_row->ends(request->condition))
		request->desc.end = 1;
	request->desc.condition_kind = (uint8_t)own.kind;
	return 0;
}

IN_EACH_PLAN int
plan_target(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	switch (request->op->target) {
	case TRIP_OP_ON_CNTR:
		return plan_cntr(request, domain, work);
	case TRIP_OP_ON_FLOW:
		return plan_flow(request, domain, work);
	default:
		return plan_function(request, domain, work);
	}
}

IN_EACH_PLAN int
plan_op(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	const struct trip_op_row *op = request->op;
	int error;

	if (op->counts && work->completion_cntr != NULL)
		return trip_error_set(EINVAL,
			"work: operation \"%s\" counts on its target, and has no completion "
			"counter",
			op->name);
	error = plan_target(request, domain, work);
	return error != 0 || op->operands == 0 ? error : check_operands(request, domain);
}

/* All of it but its counter and condition. */
IN_EACH_PLAN int
plan_item(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	if (work->completion_cntr != NULL) {
		int error = check_changed(domain, work->completion_cntr, "completion");

		if (error != 0)
			return error;
	}
	request->op = trip_op_of(work->op_type);
	request->operands = &work->op.reserved[OPERANDS];
	request->desc = (struct trip_work_desc){
		.threshold = work->threshold,
		.interval = work->interval,
		.context = work->context,
		.completion =
			work->completion_cntr != NULL ? work->completion_cntr->global : TRIP_NONE,
		.op = (uint8_t)work->op_type,
		.flags = (uint8_t)work->flags,
	};
	return plan_op(request, domain, work);
}

int
trip_plan_work(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	int error = check_header(work);

	if (error == 0)
		error = check_cntr(domain, work->triggering_cntr, "triggering");
	if (error == 0)
		error = plan_item(request, domain, work);
	if (error != 0)
		return error;
	request->home = work->triggering_cntr->home;
	request->desc.trigger = work->triggering_cntr->global;
	return likely(work->condition == NULL) ? 0 : plan_condition(request, work);
}

int
trip_plan_of_pairs(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	const char *name = trip_condition_of(work->condition->kind)->name;
	int error = check_header(work);

	if (error != 0)
		return error;
	if (work->triggering_cntr != NULL || work->threshold != 0)
		return trip_error_set(EINVAL,
			"work: condition \"%s\" has a triggering counter or a threshold beside "
			"those of its pairs",
			name);
	if ((work->flags & TRIP_WORK_BEGUN) != 0)
		return trip_error_set(
			EINVAL, "work: condition \"%s\" has no until, and cannot have begun", name);
	if (work->interval != 0)
		return trip_error_set(EINVAL,
			"work: interval %" PRIu64 " of condition \"%s\", which fires once",
			work->interval, name);
	return plan_item(request, domain, work);
}

int
trip_plan_pair(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_pair *pair)
{
	const struct trip_work work = {
		.triggering_cntr = pair->cntr,
		.threshold = pair->threshold,
		.condition = pair->condition,
		.op_type = TRIP_OP_CNTR_FILL,
	};
	int error = check_header(&work);

	if (error == 0)
		error = check_cntr(domain, pair->cntr, "pair's");
	if (error != 0)
		return error;
	request->op = trip_op_of(work.op_type);
	request->home = pair->cntr->home;
	request->desc.threshold = pair->threshold;
	request->desc.trigger = pair->cntr->global;
	return pair->condition == NULL ? 0 : plan_condition(request, &work);
}
