/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done to rules: the calls and the operations. On the port's worker. */
#include <errno.h>

#include <rte_cycles.h>

#include "fate.h"
#include "hard.h"
#include "life.h"
#include "notice.h"
#include "refresher.h"
#include "soft.h"
#include "sweep.h"
#include "template.h"

/* Whoever waits for the device: counters are read meanwhile. */
static int
wait_for_device(void *arg)
{
	struct trip_hard *hard = arg;
	int result = trip_notice_pass(hard);

	if (result == 0)
		(void)trip_sweep(hard, rte_rdtsc());
	return result;
}

static void
set_facts(struct trip_hard *hard, const struct trip_facts *facts)
{
	uint64_t period = hard->period_tsc;

	pthread_mutex_lock(&hard->lock);
	hard->facts = *facts;
	pthread_mutex_unlock(&hard->lock);
	trip_sweep_configure(hard, period);
}

static int
probe_templates(struct trip_hard *hard, struct rte_flow_error *error)
{
	struct trip_facts facts = hard->facts;

	if (!trip_template_configured(hard->port_id, error))
		return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_STATE, NULL,
			"the port's flow engine is not configured: trip_port_prepare() does it, "
			"before the port is started");
	hard->rules.templates =
		trip_template_open(hard->port_id, hard->flow_queue, wait_for_device, hard);
	if (hard->rules.templates == NULL)
		return rte_flow_error_set(error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"no memory for template tables");
	hard->probed = true;
	facts.port.templates = true;
	facts.port.templates_from = TRIP_PORT_FACT_MEASURED;
	facts.port.indirect = true;
	set_facts(hard, &facts);
	return 0;
}

/* What driver and device arguments leave open: 0, or the error, and it is to be tried again. */
int
trip_hard_probe(struct trip_hard *hard, struct rte_flow_error *error)
{
	struct trip_facts facts = hard->facts;
	bool shared;
	int result;

	/* One that takes rules in both ways has to be configured for this one. */
	if (trip_template_offered(hard->port_id) &&
		(facts.kind == TRIP_FACTS_MLX5_HWS ||
			trip_template_configured(hard->port_id, error)))
		return probe_templates(hard, error);
	/* It would say so in its log, as an error. */
	if (facts.kind == TRIP_FACTS_MLX5_VERBS) {
		hard->probed = true;
		return 0;
	}
	result = trip_rule_probe_shared(hard->port_id, &shared, error);
	if (result != 0)
		return result;
	hard->probed = true;
	/* Asked for DV, the driver takes verbs where the device cannot. */
	if (facts.kind == TRIP_FACTS_MLX5_DV && !shared)
		trip_facts_set_kind(&facts, TRIP_FACTS_MLX5_VERBS);
	facts.port.indirect = shared;
	facts.port.indirect_from = TRIP_PORT_FACT_MEASURED;
	set_facts(hard, &facts);
	return 0;
}

/* The action word shows what the flow is. */
static void
show_action(struct trip_hard *hard, const struct trip_hard_flow *flow)
{
	atomic_store_explicit(&hard->engine->actions[flow->index],
		(uint8_t)((flow->ended ? 0 : TRIP_ACTION_ACTIVE) |
			  (flow->rule.drop ? TRIP_ACTION_DROP : 0)),
		memory_order_relaxed);
}

static int
put_in(struct trip_hard *hard, struct trip_hard_flow *flow, struct rte_flow_error *error)
{
	struct trip_rule_change change = {.rule = &flow->rule,
		.want = TRIP_RULE_PUT,
		.drop = flow->rule.drop,
		.error = error};
	int result = 0;

	if (hard->facts.port.indirect)
		result = trip_rule_share(hard->port_id, &flow->rule, error);
	if (result == 0) {
		trip_rule_apply(&hard->rules, &change, 1);
		result = change.result;
		if (result != 0)
			trip_rule_unshare(hard->port_id, &flow->rule);
	}
	if (result != 0)
		trip_refresher_refused(hard);
	return result;
}

int
trip_hard_add(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_hard_flow *flow = call->flow;
	/* Of what comes while the rule goes in nothing is read yet. */
	uint64_t now = rte_rdtsc();
	int result = 0;

	if (hard->removed)
		return rte_flow_error_set(call->error, ENODEV, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
			NULL, "the device has been removed");
	if (hard->paused)
		return rte_flow_error_set(call->error, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the device is recovering from an error");
	if (hard->stopped == TRIP_HARD_STOP_TOLD)
		return rte_flow_error_set(call->error, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the port is stopped, or about to be: trip_port_started() ends that");
	if (!hard->probed)
		result = trip_hard_probe(hard, call->error);
	if (result == 0)
		result = put_in(hard, flow, call->error);
	if (result != 0)
		return result;
	trip_life_running(hard);
	hard->flows[flow->index] = flow;
	trip_refresher_count(hard, true);
	flow->final = false;
	flow->read_tsc = now;
	atomic_store_explicit(
		&hard->engine->flows[flow->index].fresh_tsc, now, memory_order_release);
	show_action(hard, flow);
	trip_engine_stat(&hard->stats->rules, 1);
	trip_horizon_add(&hard->horizon, flow->index, now);
	return 0;
}

/* Ends a flow: what it has counted is read for the last time, here or later. */
static void
begin_end(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	flow->ended = true;
	show_action(hard, flow);
	/* Otherwise its port is stopped. */
	if (flow->rule.entry.flow != NULL)
		(void)trip_sweep_read(hard, flow);
}

static void
finish_end(struct trip_hard *hard, struct trip_hard_flow *flow, bool had_rule)
{
	if (had_rule) {
		trip_engine_stat(&hard->stats->rules, UINT64_MAX);
		trip_refresher_out(hard, flow);
		if (flow->rule.shared != NULL && hard->lag.bound == 0)
			(void)trip_sweep_read(hard, flow);
	}
	if (flow->rule.shared == NULL)
		trip_sweep_finish(hard, flow);
}

int
trip_hard_retire(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_hard_flow *flow = call->flow;
	bool has_rule = flow->rule.entry.flow != NULL;

	flow->retired = true;
	if (flow->ended)
		return 0;
	if (hard->paused)
		return -EAGAIN;
	begin_end(hard, flow);
	(void)trip_rule_take(&hard->rules, &flow->rule);
	finish_end(hard, flow, has_rule);
	return 0;
}

int
trip_hard_remove(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_hard_flow *flow = call->flow;

	if (hard->paused)
		return -EAGAIN;
	if (!flow->final && !hard->removed) {
		bool is_final = trip_refresher_is_final(hard, flow, rte_rdtsc());

		(void)trip_sweep_read(hard, flow);
		/* One that cannot be read any more is as final as it gets. */
		if (!is_final)
			return -EAGAIN;
	}
	trip_sweep_forget(hard, flow);
	trip_rule_unshare(hard->port_id, &flow->rule);
	flow->final = true;
	trip_refresher_count(hard, false);
	hard->flows[flow->index] = NULL;
	return 0;
}

int
trip_hard_query(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_hard_flow *flow = call->flow;
	bool is_final;
	int result;

	if (flow->final)
		return 0;
	is_final = trip_refresher_is_final(hard, flow, rte_rdtsc());
	result = trip_sweep_read(hard, flow);
	/* One that cannot be read any more is as final as it gets. */
	if (flow->retired && flow->out_tsc != 0 && !hard->removed && !hard->paused &&
		!flow->final && !is_final)
		return -EAGAIN;
	return result;
}

static int
refuse(const struct trip_hard *hard, const struct trip_hard_flow *flow)
{
	if (flow == NULL || flow->ended)
		return hard->removed ? -ENODEV : -ENOENT;
	return hard->paused ? -EBUSY : 0;
}

/* Whether a rule is to be changed, and how. */
static bool
begin(struct trip_hard *hard, struct trip_hard_operation *op, struct trip_rule_change *change)
{
	struct trip_hard_flow *flow = hard->flows[op->flow];
	bool drop = op->op == TRIP_OP_FLOW_DROP;

	op->result = refuse(hard, flow);
	if (op->result != 0)
		return false;
	op->began = rte_rdtsc();
	*change = (struct trip_rule_change){.rule = &flow->rule,
		.want = op->op == TRIP_OP_FLOW_DELETE ? TRIP_RULE_TAKE : TRIP_RULE_SWAP,
		.drop = drop,
		.error = change->error};
	if (change->want == TRIP_RULE_TAKE) {
		begin_end(hard, flow);
		if (flow->rule.entry.flow == NULL)
			finish_end(hard, flow, false);
	} else if (flow->rule.drop == drop) {
		return false;
	} else if (flow->rule.entry.flow == NULL) {
		/* A stopped port's rule comes back with this fate. */
		flow->rule.drop = drop;
		show_action(hard, flow);
	}
	return flow->rule.entry.flow != NULL;
}

static void
finish(struct trip_hard *hard, struct trip_hard_operation *op)
{
	struct trip_hard_flow *flow = hard->flows[op->flow];

	op->result = op->change->result;
	if (op->change->want == TRIP_RULE_TAKE) {
		finish_end(hard, flow, true);
		return;
	}
	/* Otherwise nothing has been read. Of a swap that has failed nobody knows whether the old
	 * rule was. */
	if (flow->rule.shared == NULL)
		trip_sweep_count(hard, flow, op->change->grew, op->began, op->result == 0);
	show_action(hard, flow);
}

void
trip_hard_operate(struct trip_hard *hard, struct trip_hard_operation *ops, uint32_t n)
{
	struct trip_rule_change changes[TRIP_BATCH_MAX];
	struct rte_flow_error error;
	uint32_t n_changes = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct trip_rule_change *change = &changes[n_changes];

		change->error = &error;
		ops[i].change = begin(hard, &ops[i], change) ? change : NULL;
		n_changes += ops[i].change != NULL;
	}
	trip_rule_apply(&hard->rules, changes, n_changes);
	for (uint32_t i = 0; i < n; i++) {
		if (ops[i].change != NULL)
			finish(hard, &ops[i]);
		trip_engine_stat(ops[i].result == 0 ? &hard->stats->operations
						    : &hard->stats->failed_operations,
			1);
	}
}

static void
obey(struct trip_hard *hard, uint32_t index)
{
	struct trip_flow_slot *slot = &hard->engine->flows[index];
	struct trip_hard_operation op = {.flow = index};

	/* First: who decides anew behind this owes anew. */
	if (!atomic_exchange(&slot->owed, false))
		return;
	op.op = trip_fate_drops(&slot->fate) ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS;
	trip_hard_operate(hard, &op, 1);
	if (op.result != 0 && !hard->flows[index]->ended)
		trip_engine_owe(hard->engine, index, hard->port_id);
}

void
trip_hard_obey(struct trip_hard *hard)
{
	if (hard->paused || hard->removed || !atomic_load(&hard->desk.owed))
		return;
	atomic_store(&hard->desk.owed, false);
	/* Whoever owes has sent before: errands that came meanwhile are to be run first. */
	if (atomic_load(&hard->desk.tickets) != atomic_load(&hard->desk.served)) {
		atomic_store(&hard->desk.owed, true);
		return;
	}
	for (uint32_t i = 0; i < hard->engine->n_flows; i++)
		if (hard->flows[i] != NULL)
			obey(hard, i);
}
