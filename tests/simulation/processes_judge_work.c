/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything rests: what has become of work items, and what counters have come to. */
#include "domain/domain.h"
#include "cntr/registry.h"
#include "cell.h"
#include "clock.h"
#include "primary/process.h"
#include "primary/server.h"
#include "processes_rules.h"

/* A call is under way that it depends on. */
static bool
is_unsure(const struct item *item)
{
	return item->state == ITEM_ASKED || item->canceling || item->doubtful;
}

/* --- items --- */

static uint64_t
sum_of(const struct trip_engine *engine, uint32_t cntr)
{
	uint32_t local;

	if (trip_engine_has_cntr(engine, cntr))
		return trip_cell_sum(&trip_engine_home(engine, cntr, &local)->cells[local]) +
		       processes_rules_unread(engine, cntr);
	for (uint32_t h = 0; h < engine->n_homes; h++)
		if (trip_clock_global(engine->homes[h]) == cntr)
			return engine->homes[h]->now - engine->base_tsc;
	sim_fail("there is no counter %u", cntr);
}

/* Somebody who was stopped, or has died, has added to the counter, and has yet to ring for it:
 * which the scrub sees to, and it is turned off here. */
static bool
is_half_added(const struct item *item)
{
	const struct ledger *ledger;

	if (item->trigger == 0)
		return false;
	ledger = processes_ledger_of(item->opening, item->trigger);
	return ledger->low < ledger->high || ledger->unrung > 0 ||
	       processes_rules_is_half_fed(ledger);
}

static void
judge_item(const struct trip_engine *engine, const struct item *item)
{
	uint64_t next = item->threshold + item->count * item->interval;
	uint64_t sum = sum_of(engine, item->trigger_index);

	/* It waits for more than that after it has fired. */
	if ((item->rests && item->fired > 0) || is_half_added(item) ||
		processes_garbage_is_unrung())
		return;
	sim_expect(sum < next, "item %u waits for %llu, and the sum is %llu",
		processes_item_number(item), (unsigned long long)next, (unsigned long long)sum);
}

/* With garbage, by somebody who is still there. */
static bool
is_filled(const struct trip_home *home, uint32_t channel)
{
	const struct sim_process *writer = processes_garbage_writer(home, channel);

	return writer != NULL && sim_process_lives(writer);
}

/* Of whom it was is not asked any more. */
static void
settle(struct item *item)
{
	bool has_detached = !processes_item_is_of(item, item->user) && !item->left;

	if (!sim_process_lives(item->process) || item->opening != processes.opening || has_detached)
		item->gone = true;
	if (item->state == ITEM_QUEUED && item->interval == 0 && item->fired > 0)
		item->settled = true;
}

static void
judge_items(const struct trip_engine *engine)
{
	unsigned int sure = 0, unsure = 0, held = 0;

	for (unsigned int i = 0; i < items.n; i++) {
		struct item *item = &items.all[i];

		settle(item);
		if (item->gone || item->user->scribbles || (item->fired > 0 && item->interval == 0))
			continue;
		if (is_unsure(item) || !processes_item_is_held(item)) {
			unsure += processes_item_slots(item);
			continue;
		}
		if (!processes_item_waits(item))
			continue;
		sure += processes_item_slots(item);
		judge_item(engine, item);
	}
	for (uint32_t h = 0; h < engine->n_homes; h++)
		for (uint32_t c = 0; c < engine->homes[h]->shape.n_channels; c++)
			held += is_filled(engine->homes[h], c) ? 0
							       : engine->homes[h]->channels[c].held;
	sim_expect(held >= sure && held <= sure + unsure,
		"homes hold %u slots, and items that wait have %u, or %u more", held, sure, unsure);
}

/* --- slots: each is with its process, or with the home --- */

static void
judge_channel(const struct trip_home *home, uint32_t number)
{
	const struct trip_channel_home *channel = &home->channels[number];
	const struct trip_ring *returned = channel->returned.ring;
	uint32_t free = atomic_load(&returned->tail) - atomic_load(&returned->head);
	const char *wrong = trip_channel_check(channel);

	sim_expect(wrong == NULL, "channel %u of home %u: %s", number, home->index, wrong);
	sim_expect(!trip_channel_pending(channel, trip_channel_pending_tail(channel)),
		"channel %u of home %u has items that were never accepted", number, home->index);
	sim_expect(free + channel->held == channel->map.slots,
		"channel %u of home %u: of %u slots %u are free and %u held", number, home->index,
		channel->map.slots, free, channel->held);
	sim_expect(channel->garbage == 0, "channel %u of home %u: garbage was found %llu times",
		number, home->index, (unsigned long long)channel->garbage);
}

static void
judge_channels(const struct trip_engine *engine)
{
	if (processes_is_anybody_stopped())
		return;
	for (uint32_t h = 0; h < engine->n_homes; h++)
		for (uint32_t c = 0; c < engine->homes[h]->shape.n_channels; c++)
			if (!is_filled(engine->homes[h], c))
				judge_channel(engine->homes[h], c);
}

/* --- events --- */

static uint64_t
count_unread(const struct trip_engine *engine, uint32_t ring)
{
	uint64_t n = 0;

	for (uint32_t h = 0; h < engine->n_homes; h++) {
		const struct trip_event_ring_shared *shared = engine->homes[h]->events[ring].shared;

		n += atomic_load(&shared->tail) - atomic_load(&shared->head);
	}
	return n;
}

/* Of an item that goes on, those for which there is no room are lost. */
static void
judge_events(const struct user *user, uint64_t unread)
{
	uint64_t sure = 0, unsure = 0;

	for (unsigned int i = 0; i < items.n; i++) {
		const struct item *item = &items.all[i];

		if ((item->flags & TRIP_WORK_COMPLETION) == 0 || !processes_item_is_of(item, user))
			continue;
		if (item->interval != 0)
			unsure += item->fired - item->events;
		else
			sure += item->fired - item->events;
	}
	sim_expect(unread >= sure && unread <= sure + unsure,
		"%s has %llu events to read, and of its items %llu have fired, or %llu more",
		user->name, (unsigned long long)unread, (unsigned long long)sure,
		(unsigned long long)unsure);
}

static const struct user *
user_of(const struct trip_process *process)
{
	const struct user *user = processes_user_of(
		sim_process_of_pidfd(processes_primary()->process, process->pidfd));

	return user != NULL && user->attached && user->opening == processes.opening &&
			       !user->executed && !user->scribbles &&
			       !sim_process_is_stopped(user->process)
		       ? user
		       : NULL;
}

static void
judge_all_events(const struct user *primary)
{
	const struct trip_server *server = primary->domain->server;

	judge_events(primary, count_unread(&primary->domain->engine, 0));
	for (uint32_t i = 0; i < trip_process_count(server); i++) {
		const struct user *user =
			server->processes[i].used ? user_of(&server->processes[i]) : NULL;

		if (user != NULL)
			judge_events(user, count_unread(&primary->domain->engine, 1 + i));
	}
}

/* --- counters --- */

static void
judge_ledger(const struct trip_domain *domain, const struct ledger *ledger)
{
	uint64_t success, fed;
	uint32_t local;

	if (ledger->opening != processes.opening || processes_ledger_is_vague(ledger) ||
		domain->entries[ledger->index].id != ledger->id)
		return;
	success = trip_cell_success(
		&trip_engine_home(&domain->engine, ledger->index, &local)->cells[local]);
	success += processes_rules_unread(&domain->engine, ledger->index);
	fed = processes_rules_fed(&domain->engine, ledger);
	sim_expect(success >= ledger->low + fed && success <= ledger->high + fed,
		"counter %u has %llu, and was added %llu to %llu, and %llu by flows", ledger->index,
		(unsigned long long)success, (unsigned long long)ledger->low,
		(unsigned long long)ledger->high, (unsigned long long)fed);
}

void
processes_judge_work(struct user *primary)
{
	judge_items(&primary->domain->engine);
	judge_channels(&primary->domain->engine);
	judge_all_events(primary);
	processes_judge_rules(primary);
	for (unsigned int i = 0; i < items.n_ledgers; i++)
		judge_ledger(primary->domain, &items.ledgers[i]);
}
