/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE. All that a history does takes less than a bustle, windows far longer. Time goes by only
 * while nobody has anything to do: all stores are seen then, whoever has added has rung, and homes
 * have looked. What is nearer to each other, with pauses and late stores, is in either order. */
#include <rte_common.h>

#include "homes.h"

/* It draws nothing. There is room for two of them. */
static bool
plan(void)
{
	if (homes.shape.n_events % 4 == 0)
		homes.shape.n_slots = homes.shape.n_client_slots = SLOTS_MAX;
	return homes.shape.n_events % 4 == 0;
}

/* Windows are just longer or shorter than so many skips. What an operation sets nobody notes; and
 * who is killed while he sets leaves what looks like additions. */
static void
plan_act(struct act *act)
{
	if (act->op == TRIP_OP_CNTR_SET || act->op == TRIP_OP_CNTR_RESET)
		act->op = TRIP_OP_CNTR_ADD;
	if (act->kind != ACT_QUEUE || homes_is_clock(act->cntr) ||
		(homes.sets[act->cntr] && homes.kills))
		return;
	act->part = &homes_rate;
	act->parameters[0] = (1 + act->value) * (1 + act->threshold % 4);
	act->parameters[1] = HOMES_SKIP * (1 + act->value % 4) / 720 * (act->value > 4 ? 732 : 715);
	act->threshold = act->target = act->flags = 0;
	act->interval = act->interval > 0;
	act->op = TRIP_OP_CALL;
}

/* Between what others do. */
static void
run(void *skips)
{
	for (uint64_t left = (uintptr_t)skips; left > 0; left /= 4) {
		sim_op("lets time go by");
		homes_skip_to(sim_now() + left % 4 * HOMES_SKIP);
		sim_rest();
	}
}

/* What came is since the values of a window ago (COND-03, COND-05), and since a set that surely
 * came before (COND-08); errors, which are in no value, seem new. */
static void
check_firing(const struct item *item, const struct trip_work_event *event)
{
	uint64_t now = trip_engine_current->now, due = UINT64_MAX;
	const uint64_t *set_at = homes.set_at[item->desc.trigger];
	uint64_t set = set_at[set_at[0] + HOMES_BUSTLE >= now];
	uint64_t from = RTE_MAX(set, now - RTE_MIN(now, item->act->parameters[1]));
	const struct sim_value *at, *end;
	unsigned int n;

	at = sim_watched(homes.watches[item->desc.trigger], &n);
	for (end = at + n; at + 1 < end && at[1].now + HOMES_BUSTLE < from; at++)
		;
	for (at += set > 0 && set == from && at + 1 < end; at < end; at++)
		due = RTE_MIN(due, at->value);
	due = homes.sets[item->desc.trigger] ? due : RTE_MAX(due, item->last);
	due += item->act->parameters[0];
	sim_expect(event->value >= due, "the rate of item %u is not reached: %llu of %llu",
		homes_number(item), (unsigned long long)event->value, (unsigned long long)due);
}

/* No window since it was surely accepted, and the last set, has as many (COND-04). */
static void
check_waiting(const struct item *item)
{
	uint64_t window = item->act->parameters[1], time = window - window / 64 - HOMES_BUSTLE;
	uint64_t set = homes.set_at[item->desc.trigger][0], least = item->desc.threshold, due;
	uint64_t from = RTE_MAX(item->queued, set) + HOMES_BUSTLE;
	const struct sim_value *at, *end, *before;
	unsigned int n;

	if (item->fired_at + HOMES_BUSTLE > set)
		least = RTE_MAX(least, item->last);
	at = before = sim_watched(homes.watches[item->desc.trigger], &n);
	for (end = at + n; ++at < end;) {
		while (before + 1 < at && (before[1].now < from || before[1].now + time < at->now))
			before++;
		due = RTE_MAX(before->value, least) + item->act->parameters[0];
		sim_expect(at->now < from || at->value < due,
			"item %u, a rate, was due at %llu, and has not fired", homes_number(item),
			(unsigned long long)due);
	}
}

const struct homes_part homes_rate = {.plan = plan,
	.plan_act = plan_act,
	.actor = "time",
	.run = run,
	.condition = TRIP_CONDITION_RATE,
	.check_firing = check_firing,
	.check_waiting = check_waiting};
