/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends changes of rules as operations on a flow queue, and takes the answers. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_pause.h>

#include "batch.h"
#include "rule.h"
#include "template.h"

#define STEPS 4
/* Completions at a time. */
#define PULL 32
/* Looks at the queue before the worker sleeps between two: a completion takes some microseconds. */
#define SPINS 64
#define SLEEP_NS 20000

static const struct rte_flow_op_attr later = {.postpone = 1};

/* --- the queue --- */

static void
fail_all(struct trip_batch *batch, int error)
{
	batch->broken = error;
	for (unsigned int i = 0; i < TRIP_BATCH_MAX; i++) {
		if (batch->ops[i].under_way)
			batch->ops[i].error = error;
		batch->ops[i].under_way = false;
	}
	batch->n_under_way = 0;
}

static unsigned int
pull(struct trip_template *templates)
{
	struct trip_batch *batch = &templates->batch;
	struct rte_flow_op_result results[PULL];
	struct rte_flow_error error;
	int n = rte_flow_pull(templates->port_id, templates->queue, results, PULL, &error);

	if (n < 0)
		fail_all(batch, EIO);
	for (int i = 0; i < n; i++) {
		struct trip_batch_op *op = results[i].user_data;

		op->under_way = false;
		/* It does not say why. */
		op->error = results[i].status == RTE_FLOW_OP_SUCCESS ? 0 : EIO;
		batch->n_under_way--;
	}
	return n > 0 ? (unsigned int)n : 0;
}

/* Waits until fewer operations are under way, or nothing is known of any. */
static void
wait_for_one(struct trip_template *templates)
{
	static const struct timespec pause = {.tv_nsec = SLEEP_NS};
	struct trip_batch *batch = &templates->batch;
	unsigned int looks = 0;

	while (batch->broken == 0 && pull(templates) == 0) {
		int result = batch->wait(batch->arg);

		if (result != 0)
			fail_all(batch, -result);
		else if (++looks < SPINS)
			rte_pause();
		else
			nanosleep(&pause, NULL);
	}
}

static void
push(struct trip_template *templates)
{
	struct rte_flow_error error;

	if (templates->batch.n_under_way > 0 &&
		rte_flow_push(templates->port_id, templates->queue, &error) != 0)
		fail_all(&templates->batch, EIO);
}

/* What drivers say of a queue that takes no more at the moment. */
static bool
is_full(int result)
{
	return result == -ENOMEM || result == -EAGAIN || result == -EBUSY;
}

/* --- one operation --- */

static int
destroy(struct trip_template *templates, struct trip_batch_op *op)
{
	struct rte_flow_error error;
	int result;

	rte_errno = 0;
	result = rte_flow_async_destroy(
		templates->port_id, templates->queue, &later, op->entry->flow, op, &error);
	return result == 0 ? 0 : -abs(rte_errno != 0 ? rte_errno : result);
}

static int
try(struct trip_template *templates, struct trip_batch_op *op,
	const struct trip_rule_change *change, bool jump)
{
	return op->destroys ? destroy(templates, op)
			    : trip_template_put(templates, op->entry, change->rule, change->drop,
				      jump, op, change->error);
}

/* Enqueues what a step wants of a change, if anything: what cannot be has failed. */
static void
enqueue(struct trip_template *templates, struct trip_batch_op *op,
	const struct trip_rule_change *change)
{
	struct trip_batch *batch = &templates->batch;
	int result;

	op->error = batch->broken;
	while (batch->broken == 0) {
		result = try(templates, op, change, op->entry == &change->rule->jump);
		op->under_way = result == 0;
		op->error = -result;
		batch->n_under_way += op->under_way;
		if (op->under_way || !is_full(result) || batch->n_under_way == 0)
			return;
		push(templates);
		if (batch->n_under_way > 0)
			wait_for_one(templates);
	}
}

/* --- the steps of a change --- */

static void
want(struct trip_batch_op *op, struct trip_rule_entry *entry, bool destroys)
{
	op->entry = entry;
	op->destroys = destroys;
}

/* A handle that is there goes. */
static void
want_gone(struct trip_batch_op *op, struct trip_rule_entry *entry)
{
	if (entry->flow != NULL)
		want(op, entry, true);
}

static void
begin(struct trip_batch_op *op, struct trip_rule_change *change, unsigned int step)
{
	struct trip_rule *rule = change->rule;
	bool failed = change->result != 0;

	op->entry = NULL;
	if (step == 2 && failed && change->want == TRIP_RULE_PUT)
		want_gone(op, &rule->jump);
	else if (step == 3 && failed && change->want == TRIP_RULE_PUT)
		want_gone(op, &rule->entry);
	else if (step == 2 && failed && change->want == TRIP_RULE_SWAP)
		want_gone(op, &change->fresh);
	else if (step >= 2)
		return;
	else if (change->want == TRIP_RULE_TAKE)
		want_gone(op, step == 0 ? &rule->jump : &rule->entry);
	else if (step == 0)
		want(op, change->want == TRIP_RULE_PUT ? &rule->entry : &change->fresh, false);
	else if (failed)
		return;
	else if (change->want == TRIP_RULE_SWAP)
		want(op, &rule->entry, true);
	else if (rule->order.group == 0)
		want(op, &rule->jump, false);
}

static void
tell(struct trip_rule_change *change, const struct trip_batch_op *op, bool completed)
{
	if (change->result != 0)
		return;
	change->result = -op->error;
	if (completed || op->destroys)
		rte_flow_error_set(change->error, op->error, RTE_FLOW_ERROR_TYPE_HANDLE, NULL,
			op->destroys ? "the device does not take the rule out"
				     : "the device does not take the rule");
}

/* A rule that may stand keeps its row. */
static void
gone(struct trip_template *templates, struct trip_rule *rule, const struct trip_batch_op *op)
{
	if (op->error == 0)
		trip_template_free(templates, op->entry);
	op->entry->flow = NULL;
	rule->stuck |= op->error != 0;
	/* Then so must what it leads to, or packets would be dropped. */
	if (op->error != 0 && op->entry == &rule->jump)
		rule->entry.flow = NULL;
}

/* `enqueued`: the operation went into the queue, and has left it. */
static void
finish(struct trip_template *templates, const struct trip_batch_op *op,
	struct trip_rule_change *change, unsigned int step, bool enqueued)
{
	bool swaps = step == 1 && change->want == TRIP_RULE_SWAP;

	if (op->error != 0)
		tell(change, op, enqueued);
	/* The old rule is as it was. */
	if (swaps && !enqueued)
		return;
	if (op->destroys)
		gone(templates, change->rule, op);
	if (!swaps)
		return;
	change->rule->entry = change->fresh;
	change->rule->drop = change->drop;
	change->fresh.flow = NULL;
}

static void
run_step(struct trip_template *templates, struct trip_rule_change *changes, unsigned int n,
	unsigned int step)
{
	struct trip_batch *batch = &templates->batch;
	bool enqueued[TRIP_BATCH_MAX];

	for (unsigned int i = 0; i < n; i++) {
		begin(&batch->ops[i], &changes[i], step);
		if (batch->ops[i].entry != NULL)
			enqueue(templates, &batch->ops[i], &changes[i]);
		enqueued[i] = batch->ops[i].under_way;
	}
	push(templates);
	while (batch->n_under_way > 0)
		wait_for_one(templates);
	for (unsigned int i = 0; i < n; i++)
		if (batch->ops[i].entry != NULL)
			finish(templates, &batch->ops[i], &changes[i], step, enqueued[i]);
}

void
trip_batch_run(struct trip_template *templates, struct trip_rule_change *changes, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		changes[i].result = 0;
		changes[i].fresh.flow = NULL;
	}
	for (unsigned int step = 0; step < STEPS; step++)
		run_step(templates, changes, n, step);
	for (unsigned int i = 0; i < n; i++)
		if (changes[i].want == TRIP_RULE_PUT && changes[i].result == 0)
			changes[i].rule->drop = changes[i].drop;
}
