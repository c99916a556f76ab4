/* SPDX-License-Identifier: BSD-3-Clause */
/* Work items: how they are queued, and what each may come to when it fires. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "condition.h"
#include "homes.h"

/* --- queued --- */

static struct item *
note_item(const struct trip_work_desc *desc, uint32_t home, uint32_t channel)
{
	struct item *item = &homes.items[homes.n_items++];

	*item = (struct item){.desc = *desc,
		.user = USERS,
		.actor = sim_self(),
		.home = home,
		.channel = channel,
		.queued = sim_now(),
		.began = sim_steps()};
	item->desc.context = homes_number(item);
	return item;
}

/* The condition that its items have; 0: none. */
static uint8_t
condition_of(const struct act *act)
{
	return act != NULL && act->part != NULL ? act->part->condition : 0;
}

/* Whether what begins with a firing ends. */
static bool
ends(const struct act *act)
{
	const struct trip_condition_row *row = trip_condition_of(condition_of(act));

	return (act != NULL && act->op == TRIP_OP_FLOW_DROP) ||
	       (row->ends != NULL && row->ends(act->parameters));
}

/* What is beside its slot: operands, its end, and the parameters of a condition. */
static void
fill_beside(const struct trip_engine *engine, struct trip_channel_client *client,
	const uint32_t *more, const struct act *act, struct trip_work_desc *desc)
{
	static const struct {
		uint64_t limit;
	} fill = {40};
	const struct trip_condition_row *row = trip_condition_of(condition_of(act));

	if (desc->op == TRIP_OP_CNTR_FILL) {
		memcpy(trip_channel_operands(client, *more), &fill, sizeof(fill));
		desc->operands = 1 + *more++;
	}
	if (ends(act))
		desc->end = 1 + *more++;
	if (condition_of(act) == 0)
		return;
	memcpy(trip_channel_operands(client, *more), act->parameters, row->parameters);
	desc->condition = 1 + *more;
	desc->condition_kind = condition_of(act);
	if (row->memory == 0)
		return;
	trip_condition_note_queued(engine, desc->trigger, trip_channel_operands(client, more[1]));
	trip_channel_chain(client, &more[1], row->memory);
	desc->memory = 1 + more[1];
}

/* It is never used again, whoever has the channel (WORK-08). */
static void
expect_new_id(const struct item *item)
{
	for (const struct item *other = homes.items; other < item; other++)
		sim_expect(other->rung == 0 || other->id != item->id,
			"item %u has the id of item %u", homes_number(item), homes_number(other));
}

/* As runtime/work/submitter.c does it, for an act, or NULL. NULL: there is no room. */
static struct item *
submit(const struct trip_home *home, struct trip_channel_client *client, uint32_t channel,
	const struct trip_work_desc *desc, const struct act *act)
{
	uint32_t more[TRIP_CHANNEL_MORE];
	unsigned int n = (desc->op == TRIP_OP_CNTR_FILL) + ends(act);
	struct item *item;
	int slot;

	if (condition_of(act) != 0)
		n += 1 + trip_condition_of(condition_of(act))->memory;
	if (homes.n_items == ITEMS)
		return NULL;
	slot = n > 0 ? trip_channel_alloc_more(client, trip_channel_returned(client), more, n)
		     : trip_channel_alloc(client, trip_channel_returned(client));
	sim_expect(slot >= 0 || slot == -EAGAIN, "channel %u is garbage", channel);
	if (slot < 0)
		return NULL;
	item = note_item(desc, home->index, channel);
	item->act = act != NULL && act->part != NULL ? act : NULL;
	fill_beside(home->engine, client, more, act, &item->desc);
	*trip_channel_desc(client, (uint32_t)slot) = item->desc;
	sim_wrote(trip_channel_desc(client, (uint32_t)slot), sizeof(item->desc));
	sim_expect(trip_channel_submit(client, (uint32_t)slot, &item->id) == 0,
		"channel %u is garbage", channel);
	expect_new_id(item);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, channel);
	item->rung = sim_steps();
	return item;
}

static struct trip_work_desc
describe(const struct act *act)
{
	bool calls = act->op == TRIP_OP_CALL;

	return (struct trip_work_desc){
		.threshold = homes_sum(act->cntr) + act->threshold,
		.interval = act->interval,
		.value = calls ? 0 : act->value,
		.trigger = act->cntr,
		.target = act->target,
		.completion =
			calls ? act->value % homes.engine.n_homes * CNTRS + CALLED : TRIP_NONE,
		.op = act->op,
		.flags = act->flags,
	};
}

struct item *
homes_queue(struct user *user, const struct act *act)
{
	struct trip_work_desc desc = describe(act);
	struct trip_home *home = user->engine.homes[homes_of(act->cntr)->index];
	uint32_t first = trip_home_client_channel(&homes.shape, user->number);
	bool takes_credit = (act->flags & TRIP_WORK_COMPLETION) != 0 && act->interval == 0;
	struct item *item;
	uint32_t limit = homes.shape.n_client_slots;

	/* Its handlers' channels are in between. */
	if (user->number == PRIMARY) {
		first = act->channel == 0 ? 0 : homes.engine.n_homes;
		limit = homes.shape.n_events;
	}
	if (takes_credit && user->credits[home->index] >= limit)
		return NULL;
	user->credits[home->index] += takes_credit;
	item = submit(home,
		&home->clients[user->number == PRIMARY ? first + act->channel : act->channel],
		first + act->channel, &desc, act);
	if (item == NULL) {
		user->credits[home->index] -= takes_credit;
		return NULL;
	}
	if (homes_is_clock(act->cntr))
		sim_until(item->desc.threshold + 1);
	item->user = user->number;
	item->chains = act->chains;
	item->set = homes_is_clock(act->cntr) ? 0 : user->set[act->cntr];
	return item;
}

/* What a function queues, by the channel that its home has to the other, or to itself. */
struct item *
homes_chain(const struct trip_home *from, uint32_t cntr, uint64_t threshold)
{
	const struct trip_work_desc desc = {.threshold = threshold,
		.trigger = cntr,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CALL};
	struct trip_home *home = homes_of(cntr);
	uint32_t channel = trip_home_channel(from);
	struct item *item = submit(home, &home->clients[channel], channel, &desc, NULL);

	if (item != NULL)
		item->user = PRIMARY;
	return item;
}

/* --- fired --- */

/* Also where nobody adds to it, that of what the dead have left. */
static uint64_t
error_of(uint32_t cntr)
{
	bool looks = sim_look(true);
	uint64_t error = trip_cell_error(&homes_of(cntr)->cells[cntr % CNTRS]);

	(void)sim_look(looks);
	return error;
}

bool
homes_was_reached(const struct item *item, uint64_t threshold)
{
	const struct sim_value *values;
	uint64_t error;
	unsigned int n;

	if (homes_is_clock(item->desc.trigger))
		return sim_now() >= threshold;
	error = error_of(item->desc.trigger);
	values = sim_watched(homes.watches[item->desc.trigger], &n);
	for (unsigned int i = item->set; i < n; i++)
		if (values[i].value + error >= threshold)
			return true;
	return false;
}

/* The first store that took its counter there, at the latest. */
static const struct sim_value *
crossing(const struct item *item)
{
	uint64_t error = error_of(item->desc.trigger);
	const struct sim_value *values;
	unsigned int n;

	values = sim_watched(homes.watches[item->desc.trigger], &n);
	for (unsigned int i = 0; i < n; i++)
		if (values[i].value + error >= item->desc.threshold)
			return &values[i];
	return NULL;
}

/* It was queued before that, as far as all agree on what comes before. */
static bool
came_before(const struct item *item, const struct sim_value *value)
{
	return item->rung != 0 && item->rung < value->step &&
	       (sim_memory_kind() == SIM_MEMORY_STRONG || item->actor == value->actor);
}

static bool
is_simple(const struct item *item)
{
	return item->act == NULL && item->desc.interval == 0 && item->rung != 0 &&
	       !item->canceling && !item->gone && item->desc.op == TRIP_OP_CALL &&
	       !sim_is_dead(item->actor);
}

/* It fires before one that should be first (WORK-02, WORK-03). */
static bool
overtakes(const struct item *item, const struct item *other)
{
	const struct sim_value *first;

	if (other->fired > 0 || !is_simple(other) || other->desc.trigger != item->desc.trigger)
		return false;
	if (other->desc.threshold == item->desc.threshold)
		return other->channel == item->channel && other->home == item->home &&
		       other->actor == item->actor && other->began < item->began;
	if (other->desc.threshold > item->desc.threshold)
		return false;
	first = crossing(other);
	return first != NULL && came_before(other, first) && came_before(item, first);
}

static void
check_order(const struct item *item)
{
	uint32_t cntr = item->desc.trigger;

	if (homes_is_clock(cntr) || homes.sets[cntr] || homes.errs[cntr] || !is_simple(item))
		return;
	for (unsigned int i = 0; i < homes.n_items; i++)
		sim_expect(!overtakes(item, &homes.items[i]),
			"item %u, at %llu, fires before item %u, at %llu", homes_number(item),
			(unsigned long long)item->desc.threshold, i,
			(unsigned long long)homes.items[i].desc.threshold);
}

static void
check_reached(const struct item *item, const struct trip_work_event *event)
{
	uint64_t threshold = item->desc.threshold + item->count * item->desc.interval;

	sim_expect(event->threshold == threshold + (event->count - 1) * item->desc.interval,
		"item %u fires at %llu, not at %llu", homes_number(item),
		(unsigned long long)event->threshold, (unsigned long long)threshold);
	sim_expect(event->value >= event->threshold, "item %u fires at %llu, but the sum is %llu",
		homes_number(item), (unsigned long long)event->threshold,
		(unsigned long long)event->value);
	sim_expect(item->desc.interval != 0 || homes_was_reached(item, threshold),
		"item %u fires, but its counter was not at %llu since it was set",
		homes_number(item), (unsigned long long)threshold);
	sim_expect(!homes_is_clock(item->desc.trigger) || sim_now() >= event->threshold,
		"item %u fires before the clock shows %llu", homes_number(item),
		(unsigned long long)event->threshold);
	if (item->fired == 0)
		check_order(item);
}

static void
check_firing(const struct item *item, const struct trip_work_event *event)
{
	sim_expect(item->desc.interval != 0 || item->fired == 0, "item %u fires twice",
		homes_number(item));
	/* One that goes on may have been taken before. */
	sim_expect(!item->canceled || item->desc.interval != 0,
		"item %u fires, though it was canceled", homes_number(item));
	sim_expect(
		!item->gone, "item %u fires, though its process was dropped", homes_number(item));
	if (item->act != NULL && item->act->part->check_firing != NULL)
		item->act->part->check_firing(item, event);
	else
		check_reached(item, event);
}

static void
end_item(struct item *item)
{
	sim_tell("what item %u began ends", homes_number(item));
	sim_expect(item->lasts && !item->gone, "what item %u began ends, and had not begun",
		homes_number(item));
	item->act->part->check_end(item);
	item->lasts = false;
	item->queued = sim_now();
}

int
homes_called(const struct trip_work_event *event, void *arg)
{
	struct item *item;

	sim_expect(event->context < homes.n_items, "an item that nobody has queued fires");
	item = &homes.items[event->context];
	if ((event->flags & TRIP_WORK_END) != 0) {
		end_item(item);
		return 0;
	}
	sim_tell("item %u fires: at %llu, the sum is %llu", homes_number(item),
		(unsigned long long)event->threshold, (unsigned long long)event->value);
	check_firing(item, event);
	item->fired++;
	item->count += event->count;
	item->last = event->value;
	item->fired_at = sim_now();
	item->lasts = item->desc.end != 0;
	if (item->chains && item->fired == 1)
		(void)homes_chain(trip_engine_current, item->desc.trigger, event->threshold + 5);
	homes_tell_parts(fired, item);
	return 0;
}

/* --- told --- */

static void
take_event(struct user *user, uint32_t home, const struct trip_event *event)
{
	struct item *item;

	sim_expect(event->context < homes.n_items, "an event of an item that nobody has queued");
	item = &homes.items[event->context];
	sim_tell("item %u has fired", homes_number(item));
	sim_expect(item->user == user->number && item->actor == user->actor && item->home == home,
		"the event of item %u is told to another", homes_number(item));
	item->events++;
	sim_expect(item->desc.interval != 0 || item->events == 1, "item %u is told of twice",
		homes_number(item));
	/* Of calls it is known when they fired. */
	if (item->desc.op != TRIP_OP_CALL)
		item->fired++;
	if (event->one_shot)
		user->credits[home]--;
}

void
homes_read_events(struct user *user)
{
	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		struct trip_event events[4];
		unsigned int n;

		do {
			n = trip_event_ring_pop(
				user->engine.homes[h]->events, events, RTE_DIM(events));
			for (unsigned int i = 0; i < n; i++)
				take_event(user, h, &events[i]);
		} while (n > 0);
	}
}

void
homes_items_gone(const struct user *user)
{
	for (unsigned int i = 0; i < homes.n_items; i++)
		if (homes.items[i].user == user->number && homes.items[i].actor == user->actor)
			homes.items[i].gone = true;
}
