/* SPDX-License-Identifier: BSD-3-Clause */
/* IDLE: items that wait until their counter has rested, as homes_plan.c draws them. */
#include "homes.h"

/* What its counter held when the home that runs last looked at its clock, and since when. */
static const struct sim_value *
value_now(uint32_t cntr)
{
	const struct sim_value *values;
	unsigned int n;

	values = sim_watched(homes.watches[cntr], &n);
	while (n > 1 && values[n - 1].now > trip_engine_current->now)
		n--;
	/* Where flows have brought nothing, that is added. */
	while (n > 1 && values[n - 2].value == values[n - 1].value)
		n--;
	return &values[n - 1];
}

/* Its counter has rested as long as it is to, since it was queued and reached its threshold, and
 * has advanced by an interval before (COND-06). */
static void
check_firing(const struct item *item, const struct trip_work_event *event)
{
	unsigned int number = homes_number(item);
	uint64_t time = item->act->parameters[0], now = trip_engine_current->now;
	uint32_t cntr = item->desc.trigger;

	sim_expect(event->count == 1 && event->threshold == event->value,
		"item %u fires %llu times at %llu, when its counter rests at %llu", number,
		(unsigned long long)event->count, (unsigned long long)event->threshold,
		(unsigned long long)event->value);
	sim_expect(item->queued + time <= now,
		"item %u was queued less than %llu ago, and its counter is to have rested", number,
		(unsigned long long)time);
	sim_expect(item->fired > 0 || homes_was_reached(item, item->desc.threshold),
		"item %u fires, but its counter was not at %llu since it was set", number,
		(unsigned long long)item->desc.threshold);
	/* A set to what it was shows by a generation, which comes later. */
	if (homes.sets[cntr])
		return;
	sim_expect(value_now(cntr)->now + time <= now,
		"item %u fires, but its counter has advanced less than %llu ago", number,
		(unsigned long long)time);
	sim_expect(item->fired == 0 || event->value >= item->last + item->desc.interval,
		"item %u fires again at %llu, and fired at %llu", number,
		(unsigned long long)event->value, (unsigned long long)item->last);
}

/* Everything has rested for longer than any of them asks for. */
static void
check_waiting(const struct item *item)
{
	unsigned int number = homes_number(item);
	uint64_t sum = homes_sum(item->desc.trigger);

	if (item->fired == 0) {
		sim_expect(sum < item->desc.threshold,
			"item %u has not fired, and its counter rests at %llu", number,
			(unsigned long long)sum);
		return;
	}
	sim_expect(item->last <= sum && sum < item->last + item->desc.interval,
		"item %u last fired at %llu, and its counter rests at %llu", number,
		(unsigned long long)item->last, (unsigned long long)sum);
}

const struct homes_part homes_idle = {.condition = TRIP_CONDITION_IDLE,
	.check_firing = check_firing,
	.check_waiting = check_waiting};
