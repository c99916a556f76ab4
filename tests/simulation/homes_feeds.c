/* SPDX-License-Identifier: BSD-3-Clause */
/* Several counters of a flow: of packets, and of bytes, maybe of the other home. What queues have
 * counted reaches each of them once, whichever is folded first. */
#include <rte_common.h>

#include "homes.h"
#include "source.h"

/* By place, and how many there are of each kind. */
static uint32_t fed[TRIP_FLOW_FEEDS], n_fed[TRIP_COUNT_KINDS];

static void
feed(enum trip_count_kind kind, uint32_t cntr)
{
	fed[n_fed[kind]++ * TRIP_COUNT_KINDS + kind] = cntr;
}

static bool
plan(void)
{
	uint32_t packets = (uint32_t)sim_draw(1u << (CALLED - 1)) << 1;
	uint32_t bytes = (uint32_t)sim_draw(1u << (CALLED - 1)) << 1;
	uint32_t home = (uint32_t)sim_draw(homes.engine.n_homes);
	bool plans = sim_draw(2) == 0;

	for (uint32_t i = 0; i < RTE_DIM(fed); i++)
		fed[i] = TRIP_NONE;
	n_fed[TRIP_COUNT_KIND_PACKETS] = n_fed[TRIP_COUNT_KIND_BYTES] = 0;
	feed(TRIP_COUNT_KIND_PACKETS, FED);
	for (uint32_t i = 1; i < CALLED; i++) {
		if ((packets >> i & 1) != 0)
			feed(TRIP_COUNT_KIND_PACKETS, i);
		if ((bytes >> i & 1) != 0 && (home > 0 || (packets >> i & 1) == 0))
			feed(TRIP_COUNT_KIND_BYTES, home * CNTRS + i);
	}
	return homes.feeds && plans;
}

/* Some of what waits for the first waits for the next. */
static void
plan_act(struct act *act)
{
	uint32_t next = fed[TRIP_COUNT_KINDS + act->number / ROUNDS % TRIP_COUNT_KINDS];
	bool waits = act->kind == ACT_WAIT || act->kind == ACT_WATCH ||
		     (act->kind == ACT_QUEUE && act->op == TRIP_OP_CALL);

	if (waits && act->cntr == FED && next != TRIP_NONE && act->value % 2 == 0)
		act->cntr = next;
}

static void
make(void)
{
	for (uint32_t i = 0; i < TRIP_FLOW_FEEDS; i++)
		homes.flow.cntr[i] = fed[i];
	homes.flow.more_feeds = TRIP_FLOW_FEEDS - TRIP_COUNT_KINDS;
	atomic_init(&homes.feed.cntr[TRIP_COUNT_KIND_BYTES], fed[TRIP_COUNT_KIND_BYTES]);
}

/* Nobody else has changed it. */
static bool
is_its_own(uint32_t cntr)
{
	for (uint32_t u = 0; u < USERS; u++)
		for (uint32_t i = 0; i < homes.users[u].n_acts; i++) {
			const struct act *act = &homes.users[u].acts[i];

			if ((act->cntr == cntr && act->kind != ACT_WAIT && act->kind != ACT_WATCH &&
				    act->kind != ACT_QUEUE) ||
				act->target == cntr || act->part != NULL)
				return false;
		}
	return true;
}

static void
judge(void)
{
	for (uint32_t i = 0; i < TRIP_FLOW_FEEDS; i++) {
		uint64_t counted = 0, sum;

		if (fed[i] == TRIP_NONE || !is_its_own(fed[i]))
			continue;
		sum = trip_cell_sum(&homes_of(fed[i])->cells[fed[i] % CNTRS]);
		for (uint32_t q = 0; q < QUEUES; q++)
			counted += homes.folded[q].of[i % TRIP_COUNT_KINDS];
		sim_expect(sum == counted, "counter %u has %llu, and its flow has counted %llu",
			fed[i], (unsigned long long)sum, (unsigned long long)counted);
	}
}

const struct homes_part homes_feeds = {
	.plan = plan, .plan_act = plan_act, .make = make, .judge = judge};
