/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds between two iterations, and what when everything rests. */
#include <string.h>

#include "drop.h"
#include "homes.h"
#include "node.h"

/* Somebody may be in the middle of a ring, or has died there. */
static const char half_rung[] = "a leaf bit is set without its summary bit";

static void
report(void *arg, const char *sentence)
{
	const bool *rests = arg;

	if (!*rests && strstr(sentence, half_rung) != NULL)
		return;
	sim_fail("%s", sentence);
}

void
homes_check(struct trip_home *home, bool rests)
{
	bool looks = sim_look(true);

	(void)trip_home_check(home, report, &rests);
	(void)sim_look(looks);
}

/* A home that has nothing to do looks at the summary only. Another may stand between the leaf and
 * that, or have died there. */
void
homes_rung(uint32_t number, unsigned int section, uint32_t index)
{
	const struct trip_doorbell *bell = &homes.engine.homes[number]->doorbell;
	const struct trip_doorbell_section *s = &bell->section[section];
	uint32_t span = index >> 6 >> s->shift;
	bool looks;

	if (!homes.pauses[number] || sim_has_buffered())
		return;
	looks = sim_look(true);
	sim_expect(!trip_doorbell_rung(bell, section, index) ||
			   (atomic_load(&bell->summary[s->first + (span >> 6)]) >> (span & 63) &
				   1) != 0,
		"home %u was rung for, and does not hear of it", number);
	(void)sim_look(looks);
}

/* --- items --- */

static bool
is_known(const struct item *item)
{
	return item->desc.op == TRIP_OP_CALL;
}

/* Of a process that is still there, and not taken back. */
static bool
is_awaited(const struct item *item)
{
	return item->rung != 0 && !item->canceled && !sim_is_dead(item->actor);
}

static bool
waits(const struct item *item)
{
	uint64_t next = item->desc.threshold + item->count * item->desc.interval;

	if (item->desc.interval == 0 && is_known(item))
		return item->fired == 0;
	return is_known(item) ? true
			      : item->desc.interval != 0 || next > homes_sum(item->desc.trigger);
}

/* It stands, as whoever waits does. */
static bool
stands(const struct trip_node *node)
{
	return (node->queued || node->deferred) && node->op == TRIP_OP_CALL &&
	       !homes.items[node->context].lasts;
}

static void
judge_item(const struct item *item)
{
	unsigned int number = homes_number(item);
	/* Of a clock: when its home last looked. */
	uint64_t sum = homes_is_clock(item->desc.trigger) ? homes_of(item->desc.trigger)->now
							  : homes_sum(item->desc.trigger);
	uint64_t next = item->desc.threshold + item->count * item->desc.interval;

	if (!is_awaited(item) || !is_known(item))
		return;
	sim_expect(!item->canceling || item->fired > 0,
		"item %u was too late to be canceled, but has not fired", number);
	if (item->desc.interval == 0 && item->fired > 0)
		return;
	if (item->act != NULL && item->act->part->check_waiting != NULL) {
		item->act->part->check_waiting(item);
		return;
	}
	sim_expect(sum < next, "item %u waits for %llu, and the sum is %llu", number,
		(unsigned long long)next, (unsigned long long)sum);
}

static void
judge_items(void)
{
	uint64_t waiting = 0, pending = 0;

	for (unsigned int i = 0; i < homes.n_items; i++)
		judge_item(&homes.items[i]);
	for (unsigned int i = 0; i < homes.n_items; i++)
		if (is_awaited(&homes.items[i]) && is_known(&homes.items[i]) &&
			!homes.items[i].lasts)
			waiting += waits(&homes.items[i]);
	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		const struct trip_home *home = homes.engine.homes[h];

		for (uint32_t n = 0; n < home->n_nodes; n++)
			pending += stands(&home->nodes[n]);
	}
	sim_expect(waiting == pending, "%llu calls wait, but %llu are pending",
		(unsigned long long)waiting, (unsigned long long)pending);
}

/* --- what calls have counted when they were completed --- */

/* It waited when its process died: it has failed. As long as it was being submitted, or canceled,
 * nobody knows. */
static bool
has_failed(const struct item *item)
{
	return sim_is_dead(item->actor) && item->rung != 0 && !item->canceling &&
	       item->act == NULL && (item->desc.interval != 0 || item->fired == 0);
}

static void
judge_completions(void)
{
	uint64_t fired[HOMES] = {0}, failed[HOMES] = {0}, may_fail[HOMES] = {0};

	for (unsigned int i = 0; i < homes.n_items; i++) {
		const struct item *item = &homes.items[i];

		if (item->desc.completion == TRIP_NONE)
			continue;
		fired[item->desc.completion / CNTRS] += item->fired;
		failed[item->desc.completion / CNTRS] += has_failed(item);
		may_fail[item->desc.completion / CNTRS] += sim_is_dead(item->actor);
	}
	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		const struct trip_cell *cell = &homes.engine.homes[h]->cells[CALLED];

		sim_expect(trip_cell_success(cell) == fired[h],
			"%llu calls were completed at home %u, but %llu fired",
			(unsigned long long)trip_cell_success(cell), h,
			(unsigned long long)fired[h]);
		sim_expect(
			trip_cell_error(cell) >= failed[h] && trip_cell_error(cell) <= may_fail[h],
			"%llu calls failed at home %u, but %llu to %llu have",
			(unsigned long long)trip_cell_error(cell), h, (unsigned long long)failed[h],
			(unsigned long long)may_fail[h]);
	}
}

/* --- slots: each is with its client, or at the home --- */

static void
judge_channel(const struct trip_home *home, uint32_t index)
{
	const struct trip_channel_home *channel = &home->channels[index];
	const struct trip_ring *returned = channel->returned.ring,
			       *submitted = channel->submit.ring;
	uint32_t free = atomic_load(&returned->tail) - atomic_load(&returned->head);
	uint32_t left = atomic_load(&submitted->tail) - atomic_load(&submitted->head);

	sim_expect(left == 0, "channel %u of home %u: %u items were never accepted", index,
		home->index, left);
	sim_expect(free + channel->held == channel->map.slots,
		"channel %u of home %u: of %u slots %u are free and %u held", index, home->index,
		channel->map.slots, free, channel->held);
	sim_expect(channel->garbage == 0, "channel %u of home %u: garbage was found %llu times",
		index, home->index, (unsigned long long)channel->garbage);
}

static void
judge_home(struct trip_home *home)
{
	homes_check(home, true);
	for (uint32_t i = 0; i < homes.shape.n_channels; i++)
		judge_channel(home, i);
	for (uint32_t i = 0; i < CLIENTS; i++)
		sim_expect(trip_drop_done(home, i), "process %u is not dropped by home %u", i,
			home->index);
	sim_expect(homes.kills || atomic_load(&home->stats.scrub_repairs) == 0,
		"home %u: the scrub had to repair", home->index);
}

/* --- users --- */

static void
judge_user(struct user *user)
{
	sim_expect(
		!sim_is_dead(user->actor), "%s has died, and nobody came in its place", user->name);
	sim_expect(!user->waits || !homes_wait_is_over(user),
		"%s sleeps, and what it waits for has come", user->name);
	homes_read_events(user);
}

static void
judge_events(void)
{
	for (unsigned int i = 0; i < homes.n_items; i++) {
		const struct item *item = &homes.items[i];

		if (!is_awaited(item) || !is_known(item) || item->desc.interval != 0 ||
			(item->desc.flags & TRIP_WORK_COMPLETION) == 0)
			continue;
		sim_expect(item->events == item->fired, "item %u has fired, but is not told of", i);
	}
}

void
homes_judge(void)
{
	for (uint32_t h = 0; h < homes.engine.n_homes; h++)
		judge_home(homes.engine.homes[h]);
	for (uint32_t i = 0; i < USERS; i++)
		judge_user(&homes.users[i]);
	judge_items();
	judge_completions();
	judge_events();
	homes_tell_parts(judge);
}
