/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE with an until: what begins with a firing lasts until there was a time in which less came,
 * and it fires again only behind that. By whom time goes by: homes_rate.c. */
#include <rte_common.h>

#include "homes.h"

/* Of some of the histories with RATE, every other act: what lasts has many alarms. Where the scrub
 * comes by at each of them, they are so rare that nearly all of it lasts until somebody dies. */
static bool
plan(void)
{
	return homes.shape.n_events % 8 == 0;
}

static void
plan_act(struct act *act)
{
	if (act->kind != ACT_QUEUE || homes_is_clock(act->cntr) || act->number / ROUNDS % 2 == 0 ||
		(homes.sets[act->cntr] && homes.kills))
		return;
	act->part = &homes_until;
	act->parameters[0] = 1 + act->value;
	act->parameters[1] = HOMES_SKIP * (1 + act->value % 4);
	act->parameters[2] = 1 + act->threshold % 8;
	act->parameters[3] = HOMES_SKIP / 720 * (act->value > 4 ? 732 : 350);
	act->parameters[3] *= homes.kills ? 64 : 1 + act->n % 2;
	act->threshold = act->target = act->flags = 0;
	act->interval = 1;
	act->op = TRIP_OP_CALL;
}

/* What its counter had surely come to before that, where it was not set since. */
static uint64_t
value_before(uint32_t cntr, uint64_t moment)
{
	const struct sim_value *values;
	unsigned int n;

	values = sim_watched(homes.watches[cntr], &n);
	while (n > 1 && values[n - 1].now >= moment)
		n--;
	return values[n - 1].value;
}

static void
check_firing(const struct item *item, const struct trip_work_event *event)
{
	sim_expect(!item->lasts, "item %u, a rate, fires again at %llu, and what it began lasts",
		homes_number(item), (unsigned long long)event->value);
	homes_rate.check_firing(item, event);
}

/* The time is behind the firing, and behind a set that surely came before (COND-05, COND-08). */
static void
check_end(const struct item *item)
{
	uint64_t now = trip_engine_current->now, time = item->act->parameters[3];
	const uint64_t *set_at = homes.set_at[item->desc.trigger];
	uint64_t set = set_at[set_at[0] + HOMES_BUSTLE >= now], more;

	sim_expect(RTE_MAX(item->fired_at, set) + time <= now + HOMES_BUSTLE,
		"what item %u, a rate, began ends after %llu, and is to last %llu at least",
		homes_number(item), (unsigned long long)(now - RTE_MAX(item->fired_at, set)),
		(unsigned long long)time);
	more = value_before(item->desc.trigger, now - HOMES_BUSTLE) -
	       value_before(item->desc.trigger, now - time + HOMES_BUSTLE);
	sim_expect(more < item->act->parameters[2],
		"what item %u, a rate, began ends, though %llu came", homes_number(item),
		(unsigned long long)more);
}

/* It ends with less in a time that is longer by what lies between some looks; errors count. */
static void
check_waiting(const struct item *item)
{
	uint64_t time = item->act->parameters[3], late = time + time / 16 + HOMES_BUSTLE;
	uint64_t began = RTE_MAX(item->fired_at, homes.set_at[item->desc.trigger][0]), more;

	if (!item->lasts) {
		homes_rate.check_waiting(item);
		return;
	}
	more = homes_sum(item->desc.trigger) -
	       value_before(item->desc.trigger, sim_now() - RTE_MIN(sim_now(), late));
	sim_expect(sim_now() < began + late || more >= item->act->parameters[2] ||
			   homes.errs[item->desc.trigger],
		"what item %u, a rate, began should have ended, as only %llu came",
		homes_number(item), (unsigned long long)more);
}

const struct homes_part homes_until = {.plan = plan,
	.plan_act = plan_act,
	.condition = TRIP_CONDITION_RATE,
	.check_firing = check_firing,
	.check_end = check_end,
	.check_waiting = check_waiting};
