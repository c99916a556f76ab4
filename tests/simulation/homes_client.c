/* SPDX-License-Identifier: BSD-3-Clause */
/* What users do: as the calls of runtime/ do it, on views of their own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "due.h"
#include "homes.h"

/* Looks that a user takes at a home that is in the middle of a signal. */
#define LOOKS 64
/* And for one that waits for what it adds. */
#define MEETS 32

void
homes_attach(struct user *user)
{
	user->engine.n_homes = homes.engine.n_homes;
	user->engine.cntrs_per_home = homes.engine.cntrs_per_home;
	user->engine.waiters_per_home = homes.engine.waiters_per_home;
	user->engine.n_functions = homes.engine.n_functions;
	user->engine.tsc_hz = homes.engine.tsc_hz;
	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		struct trip_home *home = homes.engine.homes[h];

		if (user->number != PRIMARY) {
			/* Killed in there it would leave memory that nobody knows of. */
			bool looks = sim_look(true);

			user->homes[h] = trip_home_map(
				homes.memory[h], &user->engine, h, &homes.shape, user->number);
			(void)sim_look(looks);
			home = user->homes[h];
		}
		if (home == NULL)
			abort();
		home->clock = homes_now;
		user->engine.homes[h] = home;
	}
}

/* --- counting --- */

static void
ring(struct user *user, uint32_t cntr)
{
	trip_due_ring(&user->engine, cntr);
	homes_rung(cntr / CNTRS, TRIP_BELL_CNTR, cntr % CNTRS);
}

/* Until somebody is about to sleep until it moves, or nobody is for a while. */
static void
await_sleeper(uint32_t cntr)
{
	for (unsigned int i = 0; i < MEETS; i++) {
		for (uint32_t u = 0; u < USERS; u++)
			if (homes.users[u].sleeps && homes.users[u].cntr == cntr)
				return;
		sim_progress();
		sim_pause();
	}
}

static void
add(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->n; i++) {
		sim_op("adds %llu to counter %u", (unsigned long long)act->value, act->cntr);
		if (act->meets)
			await_sleeper(act->cntr);
		if (trip_cell_add(homes_cell(user, act->cntr), act->value))
			ring(user, act->cntr);
	}
}

static void
note_time(uint32_t cntr)
{
	uint64_t *at = homes.set_at[cntr];

	if (sim_now() > at[0] + HOMES_BUSTLE)
		at[1] = at[0];
	at[0] = sim_now();
}

/* Which of the stores of its counter is the one that it has made last. */
static void
note_set(struct user *user, uint32_t cntr)
{
	const struct sim_value *values;
	unsigned int n;

	values = sim_watched(homes.watches[cntr], &n);
	while (n > 1 && values[n - 1].actor != sim_self())
		n--;
	user->set[cntr] = n - 1;
}

/* What it takes out is what was stored last before. */
static void
reset_once(struct user *user, uint32_t cntr)
{
	const struct sim_value *values;
	uint64_t was, before;
	unsigned int n;

	sim_op("resets counter %u", cntr);
	note_time(cntr);
	if (trip_cell_reset(homes_cell(user, cntr), &was))
		ring(user, cntr);
	note_set(user, cntr);
	values = sim_watched(homes.watches[cntr], &n);
	before = user->set[cntr] > 0 ? values[user->set[cntr] - 1].value : 0;
	sim_expect(was == before, "a reset of counter %u takes out %llu of %llu", cntr,
		(unsigned long long)was, (unsigned long long)before);
}

static void
set_once(struct user *user, uint32_t cntr, uint64_t value)
{
	if (value == 0) {
		reset_once(user, cntr);
		return;
	}
	sim_op("sets counter %u to %llu", cntr, (unsigned long long)value);
	note_time(cntr);
	if (trip_cell_set(homes_cell(user, cntr), value))
		ring(user, cntr);
	note_set(user, cntr);
}

static void
set(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->n; i++)
		set_once(user, act->cntr, act->value >> i % 4);
}

static void
add_error(struct user *user, const struct act *act)
{
	sim_op("adds 1 to the error of counter %u", act->cntr);
	if (trip_cell_adderr(homes_cell(user, act->cntr), 1))
		ring(user, act->cntr);
}

/* --- work --- */

static struct item *
queue_once(struct user *user, const struct act *act)
{
	struct item *item;

	sim_op("queues a work item on counter %u", act->cntr);
	item = homes_queue(user, act);
	if (item == NULL) {
		sim_tell("there is no room");
		return NULL;
	}
	sim_tell("item %u: at %llu, every %llu", homes_number(item),
		(unsigned long long)act->threshold, (unsigned long long)act->interval);
	if (item->act != NULL && item->desc.condition != 0)
		sim_tell("%s, by %llu and %llu", trip_condition_of(item->desc.condition_kind)->name,
			(unsigned long long)item->act->parameters[0],
			(unsigned long long)item->act->parameters[1]);
	return item;
}

static void
queue(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->n; i++)
		if (queue_once(user, act) == NULL)
			break;
}

/* Until its home has seen that a counter was set, or does not look. */
static void
await_look(uint32_t cntr)
{
	const struct trip_home *home = homes_of(cntr);
	bool seen = false;

	for (unsigned int i = 0; i < LOOKS && !seen; i++) {
		bool looks = sim_look(true);

		seen = atomic_load(&home->cells[cntr % CNTRS].setgen) ==
		       home->cntrs[cntr % CNTRS].setgen;
		(void)sim_look(looks);
		if (!seen) {
			sim_progress();
			sim_pause();
		}
	}
}

/* Whatever a home samples is another's value when it sweeps. */
static void
swing(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->n; i++) {
		if ((act->rounds >> i & 1) == 0)
			continue;
		sim_act(1 + act->number + i);
		set_once(user, act->cntr, act->value);
		if (act->awaits)
			await_look(act->cntr);
		set_once(user, act->cntr, 0);
		if (i % act->every == 0)
			(void)queue_once(user, act);
		if (act->awaits)
			await_look(act->cntr);
	}
}

static struct item *
find_item(const struct user *user, uint32_t back)
{
	struct item *found = NULL;

	for (unsigned int i = homes.n_items; i > 0 && back > 0; i--) {
		struct item *item = &homes.items[i - 1];

		if (item->actor != user->actor || item->rung == 0 || item->canceling)
			continue;
		found = item;
		back--;
	}
	return found;
}

static void
cancel_item(struct user *user, struct item *item)
{
	struct trip_home *home;
	uint32_t channel, first;
	int error;

	sim_op("cancels item %u", homes_number(item));
	home = user->engine.homes[item->home];
	first = user->number == PRIMARY ? 0 : trip_home_client_channel(&homes.shape, user->number);
	channel = item->channel;
	item->canceling = true;
	error = trip_channel_cancel(&home->clients[channel - first], item->id);
	item->canceled = error == 0;
	if (error != 0) {
		sim_tell("that comes too late");
		return;
	}
	sim_expect(item->desc.interval != 0 || item->fired == 0,
		"item %u is canceled, but has fired", homes_number(item));
	if ((item->desc.flags & TRIP_WORK_COMPLETION) != 0 && item->desc.interval == 0)
		user->credits[item->home]--;
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, channel);
}

/* One that has just become due, or is about to: its home may be firing it. */
static struct item *
make_due(struct user *user, const struct act *act)
{
	struct act due = *act;
	struct item *item;

	due.threshold = due.value;
	item = queue_once(user, &due);
	due.n = 1;
	if (item != NULL)
		add(user, &due);
	return item;
}

static void
cancel(struct user *user, const struct act *act)
{
	struct item *item = act->value % 2 == 0 ? make_due(user, act) : find_item(user, act->n);

	if (item != NULL)
		cancel_item(user, item);
}

/* Nothing rests before it is taken back. */
static void
run_timer(struct user *user, const struct act *act)
{
	struct item *item = queue_once(user, act);

	sim_progress();
	for (uint32_t i = 0; item != NULL && i < act->n; i++) {
		if (act->part != NULL && act->part->turn != NULL)
			act->part->turn(user, act);
		sim_pause();
	}
	if (item != NULL && !item->canceling)
		cancel_item(user, item);
}

/* --- one after the other --- */

/* No look of a home is as late as a skip of time is long. */
static void
await_looks(void)
{
	for (uint32_t h = 0; h < homes.engine.n_homes;) {
		if (homes.engine.homes[h]->now + HOMES_BUSTLE >= sim_now()) {
			h++;
		} else {
			sim_progress();
			sim_pause();
		}
	}
}

static void
do_act(struct user *user, const struct act *act)
{
	sim_act(1 + act->number);
	await_looks();
	switch (act->kind) {
	case ACT_ADD:
		add(user, act);
		break;
	case ACT_SET:
		set(user, act);
		break;
	case ACT_ADDERR:
		add_error(user, act);
		break;
	case ACT_QUEUE:
		queue(user, act);
		break;
	case ACT_SWING:
		swing(user, act);
		break;
	case ACT_TIMER:
		run_timer(user, act);
		break;
	case ACT_CANCEL:
		cancel(user, act);
		break;
	case ACT_WAIT:
	case ACT_WATCH:
		homes_wait(user, act);
		break;
	case ACT_GIVE_UP:
		homes_give_up(user, act);
		break;
	case ACT_READ:
		for (uint32_t i = 0; i < act->n; i++) {
			sim_op("reads completion events");
			homes_read_events(user);
			if (i + 1 < act->n)
				sim_pause();
		}
		break;
	case ACT_REST:
		sim_op("rests");
		sim_rest();
		break;
	case ACT_KINDS:
		break;
	}
	if (act->is_last) {
		sim_op("rests");
		sim_rest();
	}
	sim_progress();
}

void
homes_user(void *arg)
{
	struct user *user = arg;

	if (user->n_acts > 0)
		sim_op("attaches");
	homes_attach(user);
	/* What kills it in the middle is not done again. */
	while (user->next_act < user->n_acts)
		do_act(user, &user->acts[user->next_act++]);
}
