/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of deferred work: check, queue, cancel, flush, read. submitter.c has the channels. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "work/submitter.h"
#include "condition.h"
#include "op.h"

#define READ_BATCH 32u

/* Where the operands begin in `op` of struct trip_work: behind target and value. */
#define OPERANDS 2

_Static_assert(sizeof(((struct trip_work *)0)->op) == 8 * OPERANDS + TRIP_OPERANDS_MAX,
	"any operation finds room");
_Static_assert(offsetof(struct trip_work, op.fill.limit) ==
		       offsetof(struct trip_work, op.reserved[OPERANDS]),
	"they follow target and value");
_Static_assert(offsetof(struct trip_work, op.drop.flow) == offsetof(struct trip_work, op.flow),
	"a drop for ever is any flow's operation");

static int
check_header(const struct trip_work *work)
{
	if (trip_op_of(work->op_type)->name == NULL)
		return trip_error_set(ENOSYS, "work: operation %d is unknown", (int)work->op_type);
	if ((work->flags & ~(TRIP_WORK_COMPLETION | TRIP_WORK_COALESCE)) != 0)
		return trip_error_set(EINVAL, "work: flags 0x%" PRIx32 " are unknown",
			work->flags & ~(TRIP_WORK_COMPLETION | TRIP_WORK_COALESCE));
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
static int
check_changed(const struct trip_domain *domain, const struct trip_cntr *cntr, const char *role)
{
	int error = check_cntr(domain, cntr, role);

	if (error == 0 && cntr->is_clock)
		return trip_error_set(
			EINVAL, "work: the %s counter is a clock, which only time changes", role);
	return error;
}

static int
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

	if (op->operands == 0 ||
		op->takes(&domain->engine, &request->desc, request->operands, &refusal))
		return 0;
	return refuse_operand("operation", op->name, &refusal);
}

/* Behind the parameters there is nothing, so that what a kind gets later is refused until then. */
static int
check_rest(const struct trip_condition_row *row, const void *when)
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
	if (work->triggering_cntr->is_clock)
		return trip_error_set(EINVAL,
			"work: condition \"%s\" of a clock, which only time changes", row->name);
	if ((work->flags & TRIP_WORK_COALESCE) != 0)
		return trip_error_set(EINVAL,
			"work: condition \"%s\" fires each time that it holds, and does not "
			"coalesce",
			row->name);
	if (check_rest(row, &condition->when) != 0)
		return -EINVAL;
	if (!trip_condition_takes(row, request->condition, work->interval, &refusal))
		return refuse_operand("condition", row->name, &refusal);
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

static int
plan_op(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	static int (*const plan_target[])(struct trip_submission * request,
		const struct trip_domain *domain, const struct trip_work *work) = {
		[TRIP_OP_ON_CNTR] = plan_cntr,
		[TRIP_OP_ON_FLOW] = plan_flow,
		[TRIP_OP_ON_FUNCTION] = plan_function,
	};
	const struct trip_op_row *op = request->op;
	int error;

	if (op->counts && work->completion_cntr != NULL)
		return trip_error_set(EINVAL,
			"work: operation \"%s\" counts on its target, and has no completion "
			"counter",
			op->name);
	error = plan_target[op->target](request, domain, work);
	return error != 0 ? error : check_operands(request, domain);
}

static int
plan(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work)
{
	int error = check_header(work);

	if (error == 0)
		error = check_cntr(domain, work->triggering_cntr, "triggering");
	if (error == 0 && work->completion_cntr != NULL)
		error = check_changed(domain, work->completion_cntr, "completion");
	if (error != 0)
		return error;
	request->home = work->triggering_cntr->home;
	request->op = trip_op_of(work->op_type);
	request->operands = &work->op.reserved[OPERANDS];
	request->desc = (struct trip_work_desc){
		.threshold = work->threshold,
		.interval = work->interval,
		.context = work->context,
		.trigger = work->triggering_cntr->global,
		.completion =
			work->completion_cntr != NULL ? work->completion_cntr->global : TRIP_NONE,
		.op = (uint8_t)work->op_type,
		.flags = (uint8_t)work->flags,
	};
	error = plan_op(request, domain, work);
	return likely(error != 0 || work->condition == NULL) ? error
							     : plan_condition(request, work);
}

static int
queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	struct trip_submission request = {0};
	int error = trip_detach_check(domain);
	uint64_t own;

	if (error == 0)
		error = plan(&request, domain, work);
	if (error == 0)
		error = trip_submitter_submit(domain, &request, &own);
	if (error == 0 && id != NULL)
		*id = own;
	return error;
}

/* Out of line: of programs that know another version. */
static __attribute__((noinline)) int
queue_sized(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	struct trip_work own;
	int error = TRIP_SIZED_TAKE(trip_work, &own, work);

	return error == 0 ? queue(domain, &own, id) : error;
}

int
trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	return likely(work->size == sizeof(*work)) ? queue(domain, work, id)
						   : queue_sized(domain, work, id);
}

int
trip_work_cancel(struct trip_domain *domain, uint64_t id)
{
	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (trip_submitter_cancel(domain, id) != 0)
		return trip_error_set(
			ENOENT, "work 0x%" PRIx64 ": it has fired, was canceled, or never was", id);
	return 0;
}

/* Cancels one by one, so that each lets go of its credit and of its objects. */
static void
flush_channel(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t trigger)
{
	const struct trip_channel_map *map = &submitter->channel->map;

	for (uint32_t slot = 0; slot < map->slots; slot++) {
		uint64_t id;

		trip_domain_lock(&submitter->lock);
		id = trip_channel_queued_id(submitter->channel, slot);
		if (trigger != TRIP_CHANNEL_ANY && map->desc[slot].trigger != trigger)
			id = TRIP_WORK_NONE;
		trip_domain_unlock(&submitter->lock);
		if (id != TRIP_WORK_NONE)
			(void)trip_work_cancel(domain, id);
	}
}

int
trip_work_flush(struct trip_domain *domain, struct trip_cntr *cntr)
{
	uint32_t trigger = cntr != NULL ? cntr->global : TRIP_CHANNEL_ANY;
	int error;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (cntr != NULL && cntr->fid.domain != domain)
		return trip_error_set(EXDEV, "work: the counter is of another domain");
	for (uint32_t h = 0; h < domain->engine.n_homes; h++)
		for (uint32_t c = 0;
			(cntr == NULL || cntr->home->index == h) && c < domain->n_channels; c++)
			flush_channel(domain, &domain->submitters[h][c], trigger);
	if (trip_progress_on_worker(domain))
		return -EINPROGRESS;
	trip_progress_quiesce(domain);
	/* What has started on hardware finishes there. */
	error = domain->backend->quiesce(domain);
	return error == 0 ? trip_detach_check(domain) : error;
}
