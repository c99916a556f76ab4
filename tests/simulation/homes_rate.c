/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE, on counters that nobody sets. All that a history does takes less than a BUSTLE, windows far
 * longer. Time goes by for them only while nobody has anything to do: all stores are seen then,
 * whoever has added has rung, and homes have looked. What is nearer to each other, where some are
 * paused and stores late, is taken for either order. */
#include <rte_common.h>

#include "homes.h"

/* A million steps, of 1025 ticks at most. Homes look SOON before each moment to which time goes. */
#define BUSTLE (UINT64_C(1) << 31)
#define SOON (UINT64_C(1) << 20)
#define SKIP (UINT64_C(1) << 46)

/* It draws nothing. There is room for two of them. */
static bool
plan(void)
{
	if (homes.shape.n_events % 4 != 0)
		return false;
	homes.shape.n_slots = homes.shape.n_client_slots = SLOTS_MAX;
	return true;
}

/* Windows are just longer or shorter than so many skips. */
static void
plan_act(struct act *act)
{
	uint64_t time = SKIP * (1 + act->value % 4);

	if (act->kind != ACT_QUEUE || homes_is_clock(act->cntr) || homes.sets[act->cntr])
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
		uint64_t until = sim_now() + left % 4 * SKIP, next;

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

/* Where it fires (COND-03, COND-05), what came is since the values of a window ago; errors, which
 * are in no value, seem new. Else no window since it was surely accepted has as many (COND-04). */
static void
check(const struct item *item, const struct trip_work_event *event)
{
	uint64_t rate = item->act->parameters[0], window = item->act->parameters[1];
	uint64_t time = window - window / 64 - BUSTLE, from = item->queued + BUSTLE, due;
	const struct sim_value *values;
	unsigned int n, i, first = 1;

	values = sim_watched(homes.watches[item->desc.trigger], &n);
	for (i = n;
		event && i > 1 && values[i - 1].now + window + BUSTLE > trip_engine_current->now;
		i--)
		;
	due = RTE_MAX(values[i - 1].value, item->last) + rate;
	sim_expect(event == NULL || event->value >= due, "a rate is not reached: %llu of %llu",
		(unsigned long long)(event != NULL ? event->value : 0), (unsigned long long)due);
	for (i = 1; i < n && event == NULL && (item->fired == 0 || item->desc.interval > 0); i++) {
		while (first < n &&
			(values[first].now < from || values[first].now + time < values[i].now))
			first++;
		due = RTE_MAX(values[first - 1].value, item->last) + rate;
		sim_expect(values[i].value < due, "a rate has missed %llu: it was due at %llu",
			(unsigned long long)values[i].value, (unsigned long long)due);
	}
}

const struct homes_part homes_rate = {.plan = plan,
	.plan_act = plan_act,
	.actor = "time",
	.run = run,
	.condition = TRIP_CONDITION_RATE,
	.check = check};
