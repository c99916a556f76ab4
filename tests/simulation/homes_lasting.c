/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops that last for a time (DATA-10): the flow drops until the time of each is over since it
 * fired last, passes behind the last one, and nothing of one is left where it was canceled, or its
 * process has died. Whoever fires and ends one comes by here, by --wrap. */
#include <string.h>

#include "homes.h"
#include "lasting.h"
#include "node.h"
#include "soft.h"

/* More ticks than one takes. */
#define STEP 4096

static _Atomic uint8_t action;
static _Atomic uint64_t changed;
/* By number of the item: no end before that, nor behind that; how often it fired. */
static struct {
	uint64_t until, late, fired;
} drops[ITEMS];

void __real_trip_lasting_fired(
	struct trip_home *home, uint32_t index, struct trip_event *event, bool more);
void __wrap_trip_lasting_fired(
	struct trip_home *home, uint32_t index, struct trip_event *event, bool more);
void __real_trip_fire_end(struct trip_home *home, const struct trip_node *node, uint64_t begun,
	struct trip_event *event);
void __wrap_trip_fire_end(struct trip_home *home, const struct trip_node *node, uint64_t begun,
	struct trip_event *event);

/* It draws nothing. There is room for several. */
static bool
plan(void)
{
	memset(drops, 0, sizeof(drops));
	return homes.shape.n_thread_slots == 5;
}

/* What calls is left: by that the others are judged. */
static void
plan_act(struct act *act)
{
	if (act->kind != ACT_QUEUE || act->op == TRIP_OP_CALL)
		return;
	act->part = &homes_lasting;
	act->op = TRIP_OP_FLOW_DROP;
	act->value <<= 9;
	act->target = act->flags = 0;
}

static void
make(void)
{
	atomic_init(&action, TRIP_ACTION_ACTIVE);
	atomic_init(&changed, 0);
	homes.engine.actions = &action;
	homes.engine.changed = &changed;
}

static bool
drops_now(void)
{
	bool looks = sim_look(true), is_set = (atomic_load(&action) & TRIP_ACTION_DROP) != 0;

	(void)sim_look(looks);
	return is_set;
}

/* Another home may be in the middle of it. */
static void
expect_word(bool rests)
{
	unsigned int last = 0;

	for (unsigned int i = 0; i < homes.n_items; i++)
		last += homes.items[i].desc.op == TRIP_OP_FLOW_DROP && homes.items[i].lasts;
	sim_expect((!rests && homes.engine.n_homes > 1) || drops_now() == (last > 0),
		"the flow %s, and %u drops last", drops_now() ? "drops" : "passes", last);
}

void
__wrap_trip_lasting_fired(
	struct trip_home *home, uint32_t index, struct trip_event *event, bool more)
{
	uint64_t number = home->nodes[index].context;
	struct item *item = &homes.items[number];

	if (item->desc.op == TRIP_OP_FLOW_DROP) {
		sim_expect(!item->gone && (item->desc.interval != 0 || drops[number].fired == 0),
			"item %u, a drop, fires again", (unsigned int)number);
		sim_tell("item %u drops for %llu", (unsigned int)number,
			(unsigned long long)item->desc.value);
		item->lasts = true;
		drops[number].fired++;
		drops[number].until = sim_now() + item->desc.value;
	}
	__real_trip_lasting_fired(home, index, event, more);
	if (item->desc.op != TRIP_OP_FLOW_DROP)
		return;
	/* A clock rounds down. Its home looks once more, whatever time a step takes. */
	drops[number].late = sim_now() + item->desc.value + 1;
	sim_until(drops[number].late + STEP);
	expect_word(false);
}

void
__wrap_trip_fire_end(struct trip_home *home, const struct trip_node *node, uint64_t begun,
	struct trip_event *event)
{
	unsigned int number = (unsigned int)node->context;
	struct item *item = &homes.items[number];
	bool is_told = (event->flags & TRIP_WORK_END) != 0;

	if (item->desc.op != TRIP_OP_FLOW_DROP) {
		__real_trip_fire_end(home, node, begun, event);
		return;
	}
	sim_tell("the drop of item %u ends", number);
	sim_expect(item->lasts, "the drop of item %u ends, and had not begun", number);
	sim_expect(!is_told || sim_now() >= drops[number].until,
		"the drop of item %u ends %llu too early", number,
		(unsigned long long)(drops[number].until - sim_now()));
	sim_expect(!is_told || !item->canceled || item->desc.interval != 0,
		"the drop of item %u ends, though it was canceled", number);
	sim_expect(is_told || item->canceling || sim_is_dead(item->actor),
		"the drop of item %u ends, and nobody has canceled it", number);
	__real_trip_fire_end(home, node, begun, event);
	item->lasts = false;
	expect_word(false);
}

/* All times are over, where homes have looked: nothing rests before. */
static void
judge(void)
{
	expect_word(true);
	for (unsigned int i = 0; i < homes.n_items; i++) {
		const struct item *item = &homes.items[i];

		if (item->desc.op != TRIP_OP_FLOW_DROP)
			continue;
		sim_expect(!item->lasts || homes.engine.homes[item->home]->now < drops[i].late,
			"the drop of item %u does not end", i);
		sim_expect(drops[i].fired > 0 || item->canceling || item->rung == 0 ||
				   sim_is_dead(item->actor) || homes_is_clock(item->desc.trigger) ||
				   homes_sum(item->desc.trigger) < item->desc.threshold,
			"item %u, a drop, has not fired", i);
	}
}

const struct homes_part homes_lasting = {
	.plan = plan, .plan_act = plan_act, .make = make, .judge = judge};
