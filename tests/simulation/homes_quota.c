/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotas by period: a timer's function takes back the item that waits for the units of a period
 * that is over, and queues one for the next, on a counter of its home or of another. Nothing is
 * set, so no count is lost: a period begins at what the counter had come to. */
#include "homes.h"

/* Time enough for what ends the periods of all of them: a home that falls behind never rests. */
#define PERIOD 1024
/* One of so many acts is one, of the first ones: there is room for what a counter has held. */
#define ONE_OF 4
#define ACTS_WITH 32

/* Of a counter that others use, mostly by the clock of another home: there its item may fire while
 * it is taken back. */
static void
plan_quota(struct act *act, const struct act *like)
{
	const struct act was = *act;

	*act = *like;
	act->number = was.number;
	act->quota = was.cntr;
	act->value = was.value;
	act->cntr = homes_cntrs() + (was.cntr / CNTRS + (was.value > 2)) % homes.engine.n_homes;
}

/* These are the last draws of the plan, and as many whatever is left out of it. */
void
homes_quota_plan(void)
{
	bool plans = sim_draw(4) == 0;
	uint32_t which = (uint32_t)sim_draw(ONE_OF);
	const struct act like = {.kind = ACT_TIMER,
		.op = TRIP_OP_CALL,
		.n = 1 + (uint32_t)sim_draw(8),
		.every = 1 + (uint32_t)sim_draw(16),
		.threshold = sim_draw(PERIOD),
		.interval = PERIOD + sim_draw(3 * PERIOD),
		.flags = sim_draw(2) == 0 ? TRIP_WORK_COALESCE : 0,
		.ends_periods = true};

	for (uint32_t u = 0; plans && u < USERS; u++)
		for (uint32_t i = 0; i < homes.users[u].n_acts; i++) {
			struct act *act = &homes.users[u].acts[i];
			uint32_t number = act->number / ROUNDS;

			/* Counts of what is set do not only grow. */
			if (number < ACTS_WITH && number % ONE_OF == which &&
				!homes_is_clock(act->cntr) && !homes.sets[act->cntr])
				plan_quota(act, &like);
		}
}

static uint64_t
units_now(const struct quota *quota)
{
	return trip_cell_sum(&homes_of(quota->cntr)->cells[quota->cntr % CNTRS]);
}

/* false: it has fired, or does so now. */
static bool
take_back(struct item *item)
{
	struct trip_home *home = homes.engine.homes[item->home];

	item->canceling = true;
	item->canceled = trip_channel_cancel(&home->clients[item->channel], item->id) == 0;
	sim_tell("item %u %s", (unsigned int)(item - homes.items),
		item->canceled ? "is taken back" : "fires before it is taken back");
	if (item->canceled)
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, item->channel);
	return item->canceled;
}

/* What the period has come to. Its item is left where it has all units and merely comes late. */
static uint64_t
end_period(const struct quota *quota)
{
	struct item *item = quota->item;
	uint64_t end = units_now(quota);

	if (item == NULL)
		return end;
	if (end < item->desc.threshold && !take_back(item)) {
		/* The last units came after the look. */
		end = units_now(quota);
		sim_expect(end >= item->desc.threshold,
			"item %u is too late to be canceled, and its period has %llu of %llu units",
			(unsigned int)(item - homes.items), (unsigned long long)end,
			(unsigned long long)item->desc.threshold);
	}
	item->over = true;
	item->end = end;
	return end;
}

static void
begin_period(struct quota *quota, uint64_t now)
{
	quota->item = homes_chain(trip_engine_current, quota->cntr, now + quota->units);
	if (quota->item == NULL)
		sim_tell("counter %u: a period begins, and there is no room for its item",
			quota->cntr);
	else
		sim_tell("counter %u: a period begins at %llu, item %u waits for %llu more",
			quota->cntr, (unsigned long long)now,
			(unsigned int)(quota->item - homes.items),
			(unsigned long long)quota->units);
}

/* Each period that is over has tripped exactly where it had its units. */
static void
check(const struct item *item)
{
	unsigned int number = (unsigned int)(item - homes.items);

	sim_expect(!item->over || item->fired == (item->end >= item->desc.threshold),
		"the period of item %u ended at %llu of %llu units, but it has fired %llu times",
		number, (unsigned long long)item->end, (unsigned long long)item->desc.threshold,
		(unsigned long long)item->fired);
}

void
homes_quota_begin(struct item *timer, const struct act *act)
{
	timer->quota = (struct quota){.cntr = act->quota, .units = act->value};
}

void
homes_quota_use(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->every; i++) {
		sim_op("uses a unit of the quota of counter %u", act->quota);
		trip_home_add(&user->engine, act->quota, 1);
	}
	sim_progress();
	sim_op("waits for the next period");
}

void
homes_quota_fired(struct item *item)
{
	check(item);
	if (item->quota.units > 0)
		begin_period(&item->quota, end_period(&item->quota));
}

void
homes_quota_judge(void)
{
	for (unsigned int i = 0; i < homes.n_items; i++)
		check(&homes.items[i]);
}
