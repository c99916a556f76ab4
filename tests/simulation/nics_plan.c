/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws what there is in a history of a port, who does what to it, and what that is all about. */
#include <string.h>

#include <rte_common.h>

#include "nics.h"

/* Of a history in which last counts are late. */
#define LATER_LAG 160000
/* A part of it is for one of several pools. */
#define POOLS_LAG 640000
#define LATER_ACTS 24
#define LATER_BURSTS 48

static void
draw_act(struct act *act, uint32_t most)
{
	static const enum act_kind kinds[] = {ACT_CREATE, ACT_CREATE, ACT_CREATE, ACT_DESTROY,
		ACT_QUERY, ACT_QUEUE, ACT_QUEUE, ACT_QUEUE, ACT_QUEUE, ACT_QUEUE, ACT_REST};
	static const uint8_t ops[] = {
		TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DELETE};

	act->kind = kinds[sim_draw(RTE_DIM(kinds))];
	act->flow = (uint32_t)sim_draw(nics.n_flows);
	act->home = (uint32_t)sim_draw(nics.engine.n_homes);
	for (uint64_t n = 1 + sim_draw(sim_draw(2) == 0 ? 2 : most); n > 0; n--)
		act->n += sim_wants();
	act->threshold = sim_draw(2) == 0 ? 0 : sim_draw(12);
	act->op = ops[sim_draw(RTE_DIM(ops))];
	act->flag = sim_draw(2) == 0;
}

/* Operations on several flows go together, and some of them fail. */
static void
plan_batches(void)
{
	nics.nic.queue = 16;
	nics.nic.shared = nics.tells_all = true;
	nics.nic.bad_rules = 3;
	nics.n_events = 0;
	for (unsigned int i = 0; i < nics.n_acts; i++) {
		struct act *act = &nics.acts[i];

		if (act->kind != ACT_CREATE)
			act->kind = act->number % 3 == 0 ? ACT_REST : ACT_QUEUE;
		act->threshold = 0;
	}
}

/* Flows end with the port's stops, and begin anew, while somebody reads what they have counted. */
static void
plan_ends(void)
{
	nics.nic.queue = nics.nic.lag = 0;
	nics.nic.shared = false;
	nics.refresh = 64;
	for (unsigned int i = 0; i < nics.n_events; i++)
		nics.events[i].kind = EVENT_RESTART;
	for (unsigned int i = 0; i < nics.n_acts; i++) {
		struct act *act = &nics.acts[i];

		act->flag = false;
		if (act->kind == ACT_QUEUE)
			act->kind = act->number % 2 == 0 ? ACT_CREATE : ACT_DESTROY;
	}
}

/* A few operations that end behind each other, and then everything rests, again and again: nothing
 * comes behind a ring that is lost. */
static void
plan_errands(void)
{
	nics.engine.n_homes = nics.n_flows = 1;
	nics.n_events = nics.readings = nics.n_acts = 0;
	nics.refresh = NICS_NEVER;
	nics.nic = (struct nic_shape){.queue = 16, .shared = true, .pools = 1};
	nics.tells_all = true;
	for (uint32_t i = 0; i < ACTS; i++) {
		struct act act = {.number = i,
			.kind = i == 0       ? ACT_CREATE
				: i % 2 == 1 ? ACT_QUEUE
					     : ACT_REST,
			.n = 1 + (uint32_t)sim_draw(4)};

		act.op = sim_draw(2) == 0 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS;
		if (sim_wants())
			nics.acts[nics.n_acts++] = act;
	}
}

/* A flow ends when packets have come, again and again; whoever refreshes the cache is late each
 * time, and whoever reads it takes long. */
static void
plan_later(void)
{
	static const enum act_kind kinds[] = {ACT_CREATE, ACT_DESTROY, ACT_CREATE, ACT_REST};

	nics.comes_late = true;
	/* In a beat of which everybody may pause. */
	nics.nic.lag = LATER_LAG;
	nics.n_flows = 1;
	nics.n_acts = nics.n_events = nics.readings = 0;
	memset(nics.bursts, 0, sizeof(nics.bursts));
	for (uint32_t i = 0; i < LATER_ACTS; i++)
		if (sim_wants())
			nics.acts[nics.n_acts++] =
				(struct act){.number = i, .kind = kinds[i % RTE_DIM(kinds)]};
	for (uint32_t i = 0; i < LATER_BURSTS; i++)
		nics.bursts[0] += sim_wants();
	if (sim_draw(2) == 0)
		return;
	nics.nic.lag = POOLS_LAG;
	nics.nic.lag_changes = false;
	nics.nic.pools = NIC_POOLS / 2 + (uint32_t)sim_draw(1 + NIC_POOLS / 2);
}

/* Flows end while packets come, and their last counts are in the cache when its thread has run. */
static void
plan_late(void)
{
	static const enum act_kind kinds[] = {ACT_CREATE, ACT_REST, ACT_QUEUE, ACT_DESTROY};

	nics.nic.shared = nics.nic.keeps_shared = true;
	nics.nic.lag = nics.nic.lag > 0 ? nics.nic.lag : 20000;
	nics.nic.bad_rules = nics.nic.bad_readings = nics.nic.bad_removals = nics.nic.hangs = 0;
	for (uint32_t f = 0; f < nics.n_flows; f++)
		nics.bursts[f] = RTE_MIN(8 * nics.bursts[f], 48u);
	for (unsigned int i = 0; i < nics.n_acts; i++) {
		struct act *act = &nics.acts[i];

		act->kind = kinds[act->number % RTE_DIM(kinds)];
		act->flow %= 2;
	}
	if (sim_draw(2) == 0)
		plan_later();
}

/* All flows are there, in several batches, and the port is stopped and started again and again;
 * while that takes the rules out the driver has an error. */
static void
plan_stops(void)
{
	nics.stops = true;
	nics.n_flows = NIC_FLOWS;
	nics.n_acts = nics.n_events = 0;
	nics.nic.bad_rules = nics.nic.bad_readings = nics.nic.bad_removals = nics.nic.hangs = 0;
	for (uint32_t i = 0; i < NIC_FLOWS; i++)
		if (sim_wants())
			nics.acts[nics.n_acts++] = (struct act){
				.number = i, .kind = ACT_CREATE, .flow = i, .flag = true};
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct nics_event event = {.number = i};

		nics_draw_event(&event);
		event.kind = EVENT_RESTART;
		event.rests = event.hushed = event.succeeds = true;
		if (sim_wants())
			nics.events[nics.n_events++] = event;
	}
}

void
nics_plan(void)
{
	static const uint64_t lags[] = {0, 0, 20000, 40000};
	/* Most defects need little of it; some need much. */
	bool is_small = sim_draw(3) > 0;
	uint32_t n = is_small ? 1 + (uint32_t)sim_draw(6) : 4 + (uint32_t)sim_draw(ACTS - 4);
	uint32_t most = (uint32_t)sim_draw(is_small ? 4 : 24);
	uint64_t readings;

	nics.n_flows = 1 + (uint32_t)sim_draw(is_small ? 1 : NIC_FLOWS);
	nics.engine.n_homes = 1 + (uint32_t)sim_draw(is_small ? 1 : HOMES);
	nics.errands = !is_small && sim_draw(2) == 0 ? 1u << sim_draw(4) : TRIP_HARD_ERRANDS;
	nics.period = 2000;
	nics.nic.queue = sim_draw(3) == 0 ? 2u << sim_draw(5) : 0;
	nics.nic.together = nics.nic.queue > 0 && sim_draw(2) == 0;
	nics.nic.shared = nics.nic.queue > 0 || sim_draw(3) > 0;
	nics.nic.keeps_shared = sim_draw(2) == 0;
	/* Counters of rules are asked. */
	nics.nic.lag = nics.nic.shared ? lags[sim_draw(RTE_DIM(lags))] : 0;
	nics.nic.bad_rules = sim_draw(4) == 0 ? 2 + (uint32_t)sim_draw(6) : 0;
	nics.nic.bad_readings = sim_draw(4) == 0 ? 2 + (uint32_t)sim_draw(6) : 0;
	nics.nic.bad_removals = sim_draw(8) == 0 ? 2 + (uint32_t)sim_draw(6) : 0;
	nics.nic.lag_changes = sim_draw(2) == 0;
	nics.nic.pools = 1;
	nics.ends = sim_draw(2) == 0;
	nics.nic.hangs = sim_draw(16) == 0 ? 1 + (uint32_t)sim_draw(12) : 0;
	for (uint32_t i = 0, n_events = (uint32_t)sim_draw(is_small ? 2 : EVENTS + 1); i < n_events;
		i++) {
		struct nics_event event = {.number = i};

		nics_draw_event(&event);
		if (sim_wants())
			nics.events[nics.n_events++] = event;
	}
	/* It is removed in the end, then. */
	if (nics.nic.hangs != 0)
		nics.events[nics.n_events++] =
			(struct nics_event){.kind = EVENT_REMOVAL, .rests = true, .number = EVENTS};
	for (uint32_t f = 0; f < nics.n_flows; f++)
		for (uint64_t k = sim_draw(most + 1); k > 0; k--)
			nics.bursts[f] += sim_wants();
	for (uint32_t i = 0; i < n; i++) {
		struct act act = {.number = i};

		draw_act(&act, is_small ? 4 : 8);
		if (i == 0)
			act.kind = ACT_CREATE;
		if (sim_wants())
			nics.acts[nics.n_acts++] = act;
	}
	nics.tells_all = sim_draw(2) == 0;
	nics.refresh = sim_draw(2) == 0 ? UINT64_C(64) << sim_draw(8) : NICS_NEVER;
	readings = sim_draw(2);
	readings *= sim_draw(32);
	for (; readings > 0; readings--)
		nics.readings += sim_wants();
	switch (sim_draw(6)) {
	case 0:
	case 1:
		plan_batches();
		break;
	case 2:
		plan_ends();
		break;
	case 3:
		plan_errands();
		break;
	case 4:
		plan_late();
		break;
	default:
		if (sim_draw(2) == 0)
			plan_stops();
	}
}
