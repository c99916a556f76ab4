/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on flows: a change of the action word in software, an errand for the port's worker in
 * hardware. */
#include <errno.h>

#include <rte_common.h>
#include <rte_pause.h>

#include "clock.h"
#include "errand.h"
#include "fate.h"
#include "home.h"
#include "op.h"
#include "soft.h"

/* `end`: TRIP_NONE, or the item's, which is to know what it has begun. */
static enum trip_op_outcome
send_errand(struct trip_home *home, const struct trip_node *item, struct trip_event *event,
	enum trip_op op, uint16_t port, uint32_t end)
{
	struct trip_errand_desk *desk =
		port < TRIP_PORTS_MAX ? trip_engine_desk(home->engine, port) : NULL;
	const struct trip_errand errand = {
		.event = *event,
		.flow = item->target,
		.completion = item->completion,
		.flags = (uint8_t)item->flags,
		.op = (uint8_t)op,
		.lasts = end != TRIP_NONE,
		.end = end,
	};

	if (desk == NULL)
		event->result = -ENOENT;
	else if (!trip_errand_hand_in(desk, home->index, &errand))
		event->result = -EAGAIN;
	else
		return TRIP_OP_SENT;
	return TRIP_OP_ENDED;
}

enum trip_op
trip_op_flow_now(const struct trip_engine *engine, const struct trip_errand *errand)
{
	if (!trip_errand_is_end(errand))
		return (enum trip_op)errand->op;
	return trip_fate_drops(&engine->flows[errand->flow].fate) ? TRIP_OP_FLOW_DROP
								  : TRIP_OP_FLOW_PASS;
}

void
trip_op_flow_done(struct trip_engine *engine, struct trip_errand *errand)
{
	_Atomic uint64_t *fate = &engine->flows[errand->flow].fate;

	if (trip_errand_is_end(errand))
		return;
	if (errand->op != TRIP_OP_FLOW_DROP)
		trip_fate_pass(fate);
	else if (errand->lasts)
		errand->begun = trip_fate_hold(fate);
	else
		trip_fate_drop(fate);
}

/* A firing of an item whose last one holds the flow yet makes that last longer. */
void
trip_op_flow_begun(struct trip_engine *engine, const struct trip_errand *errand, uint32_t port,
	uint64_t *begun)
{
	_Atomic uint64_t *fate = &engine->flows[errand->flow].fate;

	if (begun != NULL && !trip_fate_holds(fate, *begun)) {
		*begun = errand->begun;
		return;
	}
	trip_fate_release(fate, errand->begun);
	if (!trip_fate_drops(fate))
		trip_engine_owe(engine, errand->flow, port);
}

/* In software. */
static enum trip_op_outcome
obey(struct trip_engine *engine, uint32_t flow, struct trip_event *event)
{
	uint8_t old =
		trip_fate_obey(&engine->flows[flow].fate, &engine->actions[flow], TRIP_ACTION_DROP);

	if ((old & TRIP_ACTION_ACTIVE) == 0)
		event->result = -ENOENT;
	return TRIP_OP_ENDED;
}

static enum trip_op_outcome
send_drop(struct trip_home *home, const struct trip_node *item, struct trip_event *event,
	uint16_t port, uint32_t end)
{
	enum trip_op_outcome outcome = send_errand(home, item, event, TRIP_OP_FLOW_DROP, port, end);

	if (outcome == TRIP_OP_SENT && end != TRIP_NONE)
		home->nodes[end].end.errands++;
	return outcome;
}

/* It drops for as long as the item lasts, where it does, else for ever. */
static enum trip_op_outcome
fire_drop(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	_Atomic uint64_t *fate = &trip_engine_change(home->engine, item->target)->fate;
	uint16_t port = trip_engine_hard_port(home->engine, item->target);
	uint32_t end = trip_node_end(home, item);
	uint64_t *begun;

	if (port != TRIP_FLOW_SOFT)
		return send_drop(home, item, event, port, end);
	if (end == TRIP_NONE) {
		trip_fate_drop(fate);
	} else {
		begun = &home->nodes[end].end.begun;
		if (!trip_fate_holds(fate, *begun))
			*begun = trip_fate_hold(fate);
	}
	return obey(home->engine, item->target, event);
}

static enum trip_op_outcome
end_drop(struct trip_home *home, const struct trip_node *item, uint64_t begun,
	struct trip_event *event)
{
	struct trip_flow_slot *slot = &home->engine->flows[item->target];
	uint16_t port = trip_engine_hard_port(home->engine, item->target);

	if (!trip_fate_holds(&slot->fate, begun))
		return TRIP_OP_ENDED;
	trip_fate_release(&slot->fate, begun);
	if (port == TRIP_FLOW_SOFT)
		return obey(home->engine, item->target, event);
	if (trip_fate_drops(&slot->fate))
		return TRIP_OP_ENDED;
	if (send_errand(home, item, event, TRIP_OP_FLOW_PASS, port, TRIP_NONE) == TRIP_OP_SENT)
		return TRIP_OP_SENT;
	trip_engine_owe(home->engine, item->target, port);
	event->result = 0;
	return TRIP_OP_ENDED;
}

/* What the flow's rate is changes in one piece: of several homes that change it at once, one waits
 * for another's few stores. The flag is in memory of the primary's own. */
static void
begin_turn(struct trip_flow_slot *slot)
{
	while (atomic_exchange_explicit(&slot->turning, true, memory_order_acquire))
		rte_pause();
}

static void
end_turn(struct trip_flow_slot *slot)
{
	atomic_store_explicit(&slot->turning, false, memory_order_release);
}

/* Which of the engine's polices is a flow's own; TRIP_NONE: none, or the flow ends. */
static uint32_t
police_of(const struct trip_engine *engine, uint32_t flow)
{
	/* Acquire: pairs with trip_flow_police(). */
	return trip_engine_is_changed(engine, flow)
		       ? atomic_load_explicit(
				 &engine->flows[flow].own_police, memory_order_acquire) -
				 1
		       : TRIP_NONE;
}

static void
pass_police(struct trip_engine *engine, uint32_t flow)
{
	struct trip_flow_slot *slot = &engine->flows[flow];
	uint32_t own = police_of(engine, flow);

	if (own == TRIP_NONE)
		return;
	begin_turn(slot);
	slot->police = 0;
	(void)trip_police_begin(&engine->police[own], 0, own);
	end_turn(slot);
}

static enum trip_op_outcome
fire_pass(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	uint16_t port = trip_engine_hard_port(home->engine, item->target);

	if (port != TRIP_FLOW_SOFT)
		return send_errand(home, item, event, TRIP_OP_FLOW_PASS, port, TRIP_NONE);
	trip_fate_pass(&trip_engine_change(home->engine, item->target)->fate);
	pass_police(home->engine, item->target);
	return obey(home->engine, item->target, event);
}

/* It drops nothing more, whatever its word says. */
static enum trip_op_outcome
fire_delete(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	_Atomic uint8_t *action = &home->engine->actions[item->target];
	uint16_t port = trip_engine_hard_port(home->engine, item->target);

	if (port != TRIP_FLOW_SOFT)
		return send_errand(home, item, event, TRIP_OP_FLOW_DELETE, port, TRIP_NONE);
	trip_fate_pass(&trip_engine_change(home->engine, item->target)->fate);
	if ((atomic_fetch_and(action, (uint8_t)~TRIP_ACTION_ACTIVE) & TRIP_ACTION_ACTIVE) == 0)
		event->result = -ENOENT;
	return TRIP_OP_ENDED;
}

#define POLICE_BURST_MS 100

static bool
takes_police(const struct trip_engine *engine, const struct trip_work_desc *desc,
	const void *operands, struct trip_op_refusal *refusal)
{
	const struct trip_op_police *police = operands;
	const struct trip_op_refusal checks[] = {
		{"rate", desc->value, 1, TRIP_POLICE_MAX},
		{"with", police->with, 0, engine->n_flows - 1},
		{"unit", police->unit, TRIP_POLICE_UNIT_BITS, TRIP_POLICE_UNIT_PACKETS},
		{"burst_ms", police->burst_ms, 0, TRIP_POLICE_BURST_MAX},
	};

	for (unsigned int i = 0; i < RTE_DIM(checks); i++) {
		*refusal = checks[i];
		if (checks[i].value < checks[i].low || checks[i].value > checks[i].limit)
			return false;
	}
	return true;
}

static uint64_t
read_ticks(void *arg)
{
	struct trip_home *home = arg;

	return trip_clock_at(home, trip_home_clock(home)) * TRIP_POLICE_TICKS;
}

/* A bucket's flow has turned from one word to another. */
static void
turn_bucket(struct trip_home *home, uint32_t bucket, uint64_t old, uint64_t word)
{
	struct trip_police_clock clock = {.read = read_ticks, .arg = home};

	trip_police_turn(&home->engine->police[bucket], old, word, &clock);
}

/* The bit of the action word stays: what is policed no more finds no rate. */
static enum trip_op_outcome
fire_police(struct trip_home *home, const struct trip_node *item, struct trip_event *event)
{
	const struct trip_op_police *operands = trip_node_operands(home, item);
	struct trip_flow_slot *slot = &home->engine->flows[item->target];
	uint32_t own = police_of(home->engine, item->target);
	uint32_t bucket = police_of(home->engine, (uint32_t)operands->with);
	uint64_t old,
		word = trip_police_word(item->value, operands->unit == TRIP_POLICE_UNIT_PACKETS,
			operands->burst_ms != 0 ? operands->burst_ms : POLICE_BURST_MS);
	uint32_t end = trip_node_end(home, item);

	if (trip_engine_hard_port(home->engine, item->target) != TRIP_FLOW_SOFT) {
		event->result = -ENOTSUP;
		return TRIP_OP_ENDED;
	}
	if (own == TRIP_NONE || bucket == TRIP_NONE) {
		event->result = -ENOENT;
		return TRIP_OP_ENDED;
	}
	begin_turn(slot);
	if (end == TRIP_NONE) {
		slot->police = word;
		slot->bucket = bucket;
	}
	old = atomic_load(&home->engine->police[own].word);
	word = trip_police_begin(&home->engine->police[own], word, bucket);
	turn_bucket(home, bucket, old, word);
	end_turn(slot);
	if (end != TRIP_NONE)
		home->nodes[end].end.begun = word;
	if ((atomic_fetch_or(&home->engine->actions[item->target], TRIP_ACTION_POLICE) &
		    TRIP_ACTION_ACTIVE) == 0)
		event->result = -ENOENT;
	return TRIP_OP_ENDED;
}

static enum trip_op_outcome
end_police(struct trip_home *home, const struct trip_node *item, uint64_t begun,
	struct trip_event *event)
{
	struct trip_flow_slot *slot = &home->engine->flows[item->target];
	uint32_t own = police_of(home->engine, item->target), bucket;
	uint64_t word;

	if (own == TRIP_NONE)
		return TRIP_OP_ENDED;
	begin_turn(slot);
	word = slot->police;
	bucket = word != 0 ? slot->bucket : own;
	if (trip_police_end(&home->engine->police[own], begun, word, bucket) && word != 0)
		turn_bucket(home, bucket, begun, word);
	end_turn(slot);
	return TRIP_OP_ENDED;
}

const struct trip_op_row trip_op_flow_drop = {
	.name = "drop",
	.target = TRIP_OP_ON_FLOW,
	.has_time = true,
	.fire = fire_drop,
	.end = end_drop,
};

const struct trip_op_row trip_op_flow_pass = {
	.name = "pass",
	.target = TRIP_OP_ON_FLOW,
	.fire = fire_pass,
};

const struct trip_op_row trip_op_flow_delete = {
	.name = "delete",
	.target = TRIP_OP_ON_FLOW,
	.fire = fire_delete,
};

const struct trip_op_row trip_op_flow_police = {
	.name = "police",
	.target = TRIP_OP_ON_FLOW,
	.has_value = true,
	.in_software = true,
	.operands = sizeof(struct trip_op_police),
	.takes = takes_police,
	.fire = fire_police,
	.end = end_police,
};
