/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE. All that a history does takes less than a bustle, windows far longer. Time goes by for them
 * only while nobody has anything to do: all stores are seen then, whoever has added has rung, and
 * homes have looked. What is nearer to each other, where some are paused and stores late, is taken
 * for either order. */
#include <rte_common.h>

#include "homes.h"

/* Homes look SOON before each moment to which time goes. */
#define SOON (UINT64_C(1) << 20)

/* It draws nothing. There is room for two of them. */
static bool
plan(void)
{
	if (homes.shape.n_events % 4 != 0)
		return false;
	homes.shape.n_slots = homes.shape.n_client_slots = SLOTS_MAX;
	return true;
}

/* Windows are just longer or shorter than so many skips. What an operation sets nobody notes; and
 * who is killed while he sets leaves what looks like additions. */
static void
plan_act(struct act *act)
{
	uint64_t time = HOMES_SKIP * (1 + act->value % 4);

	if (act->op == TRIP_OP_CNTR_SET || act->op == TRIP_OP_CNTR_RESET)
		act->op = TRIP_OP_CNTR_ADD;
	if (act->kind != ACT_QUEUE || homes_is_clock(act->cntr) ||
		(homes.sets[act->cntr] && homes.kills))
		return;
	act->part = &homes_rate;
	act->parameters[0] = (1 + act->value) * (1 + act->threshold % 4);
	act->parameters[1] = act->value > 4 ? time + time / 60 : time - time / 144;
	act->threshold = act->target = act->flags = 0;
	act->interval = act->interval > 0;
	act->op = TRIP_OP_CALL;
}

/* Lets time go by, to the next alarm at most, between what others do. */
static void
run(void *skips)
{
	for (uint64_t left = (uintptr_t)skips; left > 0; left /= 4) {
		uint64_t until = sim_now() + left % 4 * HOMES_SKIP, next;

		for (sim_op("lets time go by"); sim_now() < until; sim_progress())
			do {
				next = until;
				for (uint32_t h = 0; h < homes.engine.n_homes; h++)
					next = RTE_MIN(next, homes.engine.homes[h]->clock_tsc);
				next -= next > sim_now() + 2 * SOON ? SOON : 0;
				sim_polls_until(next);
				sim_pause();
			} while (sim_now() < next);
		sim_polls_until(0);
		sim_rest();
	}
}

/* What came is since the values of a window ago (COND-03, COND-05), and since a set that surely
 * came before (COND-08); errors, which are in no value, seem new. */
static void
check_firing(const struct item *item, const struct trip_work_event *event)
{
	uint64_t window = item->act->parameters[1], now = trip_engine_current->now;
	uint64_t from = now > window ? now - window : 0, set, due;
	uint32_t cntr = item->desc.trigger;
	const struct sim_value *values;
	unsigned int n, i;

	values = sim_watched(homes.watches[cntr], &n);
	set = homes.set_at[cntr][homes.set_at[cntr][0] + HOMES_BUSTLE < now ? 0 : 1];
	for (i = n - 1; i > 0 && values[i].now + HOMES_BUSTLE >= RTE_MAX(set, from); i--)
		;
	i += set > from && i + 1 < n;
	due = values[i].value;
	if (!homes.sets[cntr])
		due = RTE_MAX(due, item->last);
	for (; homes.sets[cntr] && i < n; i++)
		due = RTE_MIN(due, values[i].value);
	due += item->act->parameters[0];
	sim_expect(event->value >= due, "a rate is not reached: %llu of %llu",
		(unsigned long long)event->value, (unsigned long long)due);
}

/* No window since it was surely accepted, and the last set, has as many (COND-04). */
static void
check_waiting(const struct item *item)
{
	uint64_t window = item->act->parameters[1], time = window - window / 64 - HOMES_BUSTLE;
	uint64_t set = homes.set_at[item->desc.trigger][0];
	uint64_t from = RTE_MAX(item->queued, set) + HOMES_BUSTLE, due;
	const struct sim_value *values;
	unsigned int n, first = 1;

	if (item->fired > 0 && item->desc.interval == 0)
		return;
	values = sim_watched(homes.watches[item->desc.trigger], &n);
	for (unsigned int i = 1; i < n; i++) {
		while (first < n &&
			(values[first].now < from || values[first].now + time < values[i].now))
			first++;
		due = RTE_MAX(values[first - 1].value, item->desc.threshold);
		if (item->fired_at + HOMES_BUSTLE > set)
			due = RTE_MAX(due, item->last);
		due += item->act->parameters[0];
		sim_expect(values[i].now < from || values[i].value < due,
			"a rate has missed %llu: it was due at %llu",
			(unsigned long long)values[i].value, (unsigned long long)due);
	}
}

static void
check(const struct item *item, const struct trip_work_event *event)
{
	if (event != NULL)
		check_firing(item, event);
	else
		check_waiting(item);
}

const struct homes_part homes_rate = {.plan = plan,
	.plan_act = plan_act,
	.actor = "time",
	.run = run,
	.condition = TRIP_CONDITION_RATE,
	.check = check};
