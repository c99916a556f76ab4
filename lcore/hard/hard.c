/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done to rules: the calls and the operations. On the port's worker. */
#include <errno.h>

#include <rte_cycles.h>

#include "hard.h"
#include "life.h"
#include "soft.h"
#include "sweep.h"

/* What driver and device arguments leave open. */
static void
probe(struct trip_hard *hard)
{
	struct trip_facts facts = hard->facts;
	uint64_t period = hard->period_tsc;
	bool shared;

	hard->probed = true;
	/* It would say so in its log, as an error. */
	if (facts.kind == TRIP_FACTS_MLX5_VERBS)
		return;
	shared = trip_rule_probe_shared(hard->port_id);
	/* Asked for DV, the driver takes verbs where the device cannot. */
	if (facts.kind == TRIP_FACTS_MLX5_DV && !shared)
		trip_facts_set_kind(&facts, TRIP_FACTS_MLX5_VERBS);
	facts.port.indirect = shared;
	facts.port.indirect_from = TRIP_FACT_MEASURED;
	pthread_mutex_lock(&hard->lock);
	hard->facts = facts;
	pthread_mutex_unlock(&hard->lock);
	trip_sweep_configure(hard, period);
}

static void
set_action(struct trip_hard *hard, const struct trip_hard_flow *flow, uint8_t action)
{
	atomic_store_explicit(&hard->engine->actions[flow->index], action, memory_order_relaxed);
}

static int
put_in(struct trip_hard *hard, struct trip_hard_flow *flow, struct rte_flow_error *error)
{
	int result = 0;

	if (hard->facts.port.indirect)
		result = trip_rule_share(hard->port_id, &flow->rule, error);
	if (result != 0)
		return result;
	result = trip_rule_create(hard->port_id, &flow->rule, flow->rule.drop, error);
	if (result != 0)
		trip_rule_unshare(hard->port_id, &flow->rule);
	return result;
}

int
trip_hard_add(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_hard_flow *flow = call->flow;
	uint64_t now;
	int result;

	if (hard->removed)
		return rte_flow_error_set(call->error, ENODEV, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
			NULL, "the device has been removed");
	if (hard->paused)
		return rte_flow_error_set(call->error, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"the device is recovering from an error");
	if (!hard->probed)
		probe(hard);
	result = put_in(hard, flow, call->error);
	if (result != 0)
		return result;
	now = rte_rdtsc();
	trip_life_running(hard);
	hard->flows[flow->index] = flow;
	flow->final = false;
	flow->read_tsc = now;
	atomic_store_explicit(
		&hard->engine->flows[flow->index].fresh_tsc, now, memory_order_release);
	set_action(hard, flow,
		(uint8_t)(TRIP_ACTION_ACTIVE | (flow->rule.drop ? TRIP_ACTION_DROP : 0)));
	trip_engine_stat(&hard->stats.rules, 1);
	trip_horizon_add(&hard->horizon, flow->index, now);
	return 0;
}

/* Ends a flow: what it has counted is read for the last time, here or later. */
static int
end(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	int result = 0;

	set_action(hard, flow, flow->rule.drop ? TRIP_ACTION_DROP : 0);
	flow->ended = true;
	/* Otherwise its port is stopped. */
	if (flow->rule.flow != NULL) {
		(void)trip_sweep_read(hard, flow);
		result = trip_rule_destroy(hard->port_id, &flow->rule);
		trip_engine_stat(&hard->stats.rules, UINT64_MAX);
		flow->out_tsc = rte_rdtsc();
		if (flow->rule.shared != NULL && hard->lag.bound == 0)
			(void)trip_sweep_read(hard, flow);
	}
	if (flow->rule.shared == NULL)
		trip_sweep_finish(hard, flow);
	return result;
}

int
trip_hard_retire(struct trip_hard *hard, struct trip_hard_call *call)
{
	if (call->flow->ended)
		return 0;
	if (hard->paused)
		return -EAGAIN;
	(void)end(hard, call->flow);
	return 0;
}

int
trip_hard_remove(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_hard_flow *flow = call->flow;
	uint64_t now = rte_rdtsc();

	if (hard->paused)
		return -EAGAIN;
	if (!flow->final && !hard->removed) {
		(void)trip_sweep_read(hard, flow);
		/* One that cannot be read any more is as final as it gets. */
		if (!trip_sweep_is_final(hard, flow, now))
			return -EAGAIN;
	}
	trip_sweep_forget(hard, flow);
	trip_rule_unshare(hard->port_id, &flow->rule);
	flow->final = true;
	hard->flows[flow->index] = NULL;
	return 0;
}

int
trip_hard_query(struct trip_hard *hard, struct trip_hard_call *call)
{
	return call->flow->final ? 0 : trip_sweep_read(hard, call->flow);
}

static int
swap(struct trip_hard *hard, struct trip_hard_flow *flow, bool drop)
{
	uint64_t grew[TRIP_COUNT_KINDS], began = rte_rdtsc();
	struct rte_flow_error error;
	int result;

	if (flow->rule.drop == drop)
		return 0;
	/* A stopped port's rule comes back with this fate. */
	if (flow->rule.flow == NULL) {
		flow->rule.drop = drop;
		result = 0;
	} else {
		result = trip_rule_swap(hard->port_id, &flow->rule, drop, grew, &error);
		trip_sweep_count(hard, flow, grew, began);
	}
	if (result == 0)
		set_action(
			hard, flow, (uint8_t)(TRIP_ACTION_ACTIVE | (drop ? TRIP_ACTION_DROP : 0)));
	return result;
}

static int
operate(struct trip_hard *hard, struct trip_hard_flow *flow, enum trip_op op)
{
	if (flow == NULL || flow->ended)
		return hard->removed ? -ENODEV : -ENOENT;
	if (hard->paused)
		return -EBUSY;
	if (op != TRIP_OP_FLOW_DELETE)
		return swap(hard, flow, op == TRIP_OP_FLOW_DROP);
	return end(hard, flow);
}

int
trip_hard_operate(struct trip_hard *hard, uint32_t flow, enum trip_op op)
{
	int result = operate(hard, hard->flows[flow], op);

	trip_engine_stat(result == 0 ? &hard->stats.operations : &hard->stats.failed_operations, 1);
	return result;
}
