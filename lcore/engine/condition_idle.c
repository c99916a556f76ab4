/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IDLE: the counter has not advanced for a time (COND-06).
 *
 * While it advances it is looked at by the alarm, RESTS times in that time, and its item stands
 * nowhere: additions ring nobody for it. A look that finds nothing new has the item stand just
 * above the sum, and the alarm at the end of the time, counted from the look before. So a counter
 * that rests costs nothing until then, and one that advances now and then rings once for it.
 *
 * Never early: the time counts from a moment behind the last addition that is known, and is over
 * when all until its end is known. Late by a rest at most; where flows in hardware feed it, by what
 * it is behind, and by another rest, as nobody says when all until the end has been read.
 */
#include "condition.h"

/* Two of them are within 1 %, with some to spare for iterations. */
#define RESTS 256

enum phase {
	/* The threshold of the item was not reached yet. */
	IDLE_BEFORE,
	/* It has advanced. */
	IDLE_ADVANCES,
	/* It has not, at the last look. */
	IDLE_RESTS,
	/* It has fired for this, and waits for the next time that it advances. */
	IDLE_OVER,
};

struct idle {
	uint64_t time;
	/* At the last look that found it changed, by the clock. */
	uint64_t sum, since;
	enum phase phase;
};

_Static_assert(sizeof(struct idle) <= TRIP_CONDITION_MEMORY, "it has no more");

static bool
takes(const void *parameters, uint64_t interval, struct trip_op_refusal *refusal)
{
	const struct idle *idle = parameters;

	*refusal = (struct trip_op_refusal){
		.operand = "time", .value = idle->time, .limit = TRIP_CNTR_MAX};
	return idle->time <= TRIP_CNTR_MAX;
}

static void
tell(const void *parameters, struct trip_condition_told *told)
{
	const struct idle *idle = parameters;

	*told = (struct trip_condition_told){.time = idle->time};
}

static bool
has_advanced(const struct idle *idle, const struct trip_condition_look *look)
{
	/* Nobody has asked for less. */
	if (idle->phase == IDLE_BEFORE)
		return !look->stands;
	if (idle->phase == IDLE_OVER)
		return !look->stands || look->set || look->sum < idle->sum;
	return look->set || look->sum != idle->sum;
}

/* What is known may be long ago: until it is more, looks are a rest apart. */
static uint64_t
next_look(const struct idle *idle, const struct trip_condition_look *look)
{
	uint64_t end = idle->since + idle->time, now = trip_condition_now(look);

	return end > now ? end : now + idle->time / RESTS + 1;
}

static enum trip_condition_state
look_idle(struct trip_condition_look *look)
{
	struct idle *idle = look->memory;

	if (has_advanced(idle, look)) {
		idle->phase = IDLE_ADVANCES;
		idle->sum = look->sum;
		idle->since = trip_condition_now(look);
		trip_condition_lift(look);
		trip_condition_alarm(look, idle->since + idle->time / RESTS);
	} else if (idle->phase == IDLE_ADVANCES || idle->phase == IDLE_RESTS) {
		if (look->known >= idle->since + idle->time) {
			idle->phase = IDLE_OVER;
			return TRIP_CONDITION_HOLDS;
		}
		idle->phase = IDLE_RESTS;
		trip_condition_stand(look, look->sum + 1);
		trip_condition_alarm(look, next_look(idle, look));
	}
	return TRIP_CONDITION_WAITS;
}

const struct trip_condition_row trip_condition_idle = {
	.name = "idle",
	.parameters = sizeof(uint64_t),
	.takes = takes,
	.tell = tell,
	.interval_max = UINT64_MAX,
	.look = look_idle,
};
