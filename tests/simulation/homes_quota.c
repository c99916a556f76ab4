/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas by period: a timer's function takes back the item that waits for the units of a period
 * that is over, and queues one for the next, on a counter of its home or of another. Nothing is
 * set, so no count is lost: a period begins at what the counter had come to. */
#include <string.h>

#include "homes.h"

/* Time enough for what ends the periods of all of them: a home that falls behind never rests. */
#define PERIOD 1024
/* One of so many acts is one, of the first ones: there is room for what a counter has held. */
#define ONE_OF 4
#define ACTS_WITH 32

/* Which acts are one, and what all of them are like. */
static uint32_t which;
static struct act like;

/* By number: of a timer, what waits for its period, NULL: there was no room; of that, whether the
 * period is over, and what its counter had come to then. */
static struct {
	struct item *item;
	bool over;
	uint64_t end;
} periods[ITEMS];

/* As many draws whatever is left out of the plan. */
static bool
plan(void)
{
	bool plans = sim_draw(4) == 0;

	which = (uint32_t)sim_draw(ONE_OF);
	like = (struct act){.kind = ACT_TIMER, .part = &homes_quota, .op = TRIP_OP_CALL};
	like.n = 1 + (uint32_t)sim_draw(8);
	like.every = 1 + (uint32_t)sim_draw(16);
	like.threshold = sim_draw(PERIOD);
	like.interval = PERIOD + sim_draw(3 * PERIOD);
	like.flags = sim_draw(2) == 0 ? TRIP_WORK_COALESCE : 0;
	memset(periods, 0, sizeof(periods));
	return plans;
}

/* Of a counter that others use, mostly by the clock of another home: there its item may fire while
 * it is taken back. Counts of what is set do not only grow. */
static void
plan_act(struct act *act)
{
	const struct act was = *act;

	if (was.number / ROUNDS >= ACTS_WITH || was.number / ROUNDS % ONE_OF != which ||
		homes_is_clock(was.cntr) || homes.sets[was.cntr])
		return;
	*act = like;
	act->number = was.number;
	act->quota = was.cntr;
	act->value = was.value;
	act->cntr = homes_cntrs() + (was.cntr / CNTRS + (was.value > 2)) % homes.engine.n_homes;
}

static uint64_t
units_now(uint32_t cntr)
{
	return trip_cell_sum(&homes_of(cntr)->cells[cntr % CNTRS]);
}

/* false: it has fired, or does so now. */
static bool
take_back(struct item *item)
{
	struct trip_home *home = homes.engine.homes[item->home];

	item->canceling = true;
	item->canceled = trip_channel_cancel(&home->clients[item->channel], item->id) == 0;
	sim_tell("item %u %s", homes_number(item),
		item->canceled ? "is taken back" : "fires before it is taken back");
	if (item->canceled)
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, item->channel);
	return item->canceled;
}

/* What the period has come to. Its item is left where it has all units and merely comes late. */
static uint64_t
end_period(const struct item *timer)
{
	struct item *item = periods[homes_number(timer)].item;
	uint64_t end = units_now(timer->act->quota);

	if (item == NULL)
		return end;
	if (end < item->desc.threshold && !take_back(item)) {
		/* The last units came after the look. */
		end = units_now(timer->act->quota);
		sim_expect(end >= item->desc.threshold,
			"item %u is too late to be canceled, and its period has %llu of %llu units",
			homes_number(item), (unsigned long long)end,
			(unsigned long long)item->desc.threshold);
	}
	periods[homes_number(item)].over = true;
	periods[homes_number(item)].end = end;
	return end;
}

static void
begin_period(const struct item *timer, uint64_t now)
{
	uint64_t units = timer->act->value;
	struct item *item = homes_chain(trip_engine_current, timer->act->quota, now + units);

	periods[homes_number(timer)].item = item;
	if (item == NULL)
		sim_tell("counter %u: a period begins, and there is no room for its item",
			timer->act->quota);
	else
		sim_tell("counter %u: a period begins at %llu, item %u waits for %llu more",
			timer->act->quota, (unsigned long long)now, homes_number(item),
			(unsigned long long)units);
}

/* Each period that is over has tripped exactly where it had its units. */
static void
check_period(const struct item *item)
{
	unsigned int number = homes_number(item);
	uint64_t end = periods[number].end;

	sim_expect(!periods[number].over || item->fired == (end >= item->desc.threshold),
		"the period of item %u ended at %llu of %llu units, but it has fired %llu times",
		number, (unsigned long long)end, (unsigned long long)item->desc.threshold,
		(unsigned long long)item->fired);
}

static void
use(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->every; i++) {
		sim_op("uses a unit of the quota of counter %u", act->quota);
		trip_home_add(&user->engine, act->quota, 1);
	}
	sim_progress();
	sim_op("waits for the next period");
}

static void
fired(struct item *item)
{
	check_period(item);
	if (item->act != NULL && item->act->part == &homes_quota)
		begin_period(item, end_period(item));
}

static void
judge(void)
{
	for (unsigned int i = 0; i < homes.n_items; i++)
		check_period(&homes.items[i]);
}

const struct homes_part homes_quota = {
	.plan = plan, .plan_act = plan_act, .turn = use, .fired = fired, .judge = judge};
