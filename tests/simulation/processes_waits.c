/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process does that has threads and sets by which it waits: starts and ends them, and
 * closes counters beside those that wait. */
#include <string.h>

#include "cntr/cntr.h"
#include "processes_waits.h"

struct waits processes_all_waits[CLIENTS + 1];

void
processes_waits_begin(struct user *user)
{
	memset(processes_waits(user), 0, sizeof(struct waits));
}

/* --- what there is --- */

static bool
is_there(const struct user *user, const struct handle *handle)
{
	return handle->cntr != NULL && !processes_waits(user)->closing[handle - user->handles];
}

void
processes_waits_sample(const struct user *user, struct trip_cell_sample *samples)
{
	bool looks = sim_look(true);

	memset(samples, 0, HANDLES * sizeof(*samples));
	for (uint32_t i = 0; i < HANDLES; i++)
		if (is_there(user, &user->handles[i]))
			trip_cell_sample(user->handles[i].cntr->cell, &samples[i]);
	(void)sim_look(looks);
}

bool
processes_waits_is_same(const struct trip_cell_sample *a, const struct trip_cell_sample *b)
{
	return a->success == b->success && a->error == b->error && a->errgen == b->errgen &&
	       a->setgen == b->setgen;
}

bool
processes_waits_is_member(
	const struct user *user, const struct handle *handle, const struct wait_set *set)
{
	return set != NULL && is_there(user, handle) &&
	       handle->cntr->fid.wait_obj == TRIP_WAIT_SET && handle->cntr->set == set->set;
}

unsigned int
processes_waits_members(const struct user *user, const struct wait_set *set)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < HANDLES; i++)
		n += processes_waits_is_member(user, &user->handles[i], set);
	return n;
}

bool
processes_waits_is_due(
	const struct user *user, const struct handle *handle, const struct wait_set *set)
{
	struct trip_cell_sample sample;
	bool looks = sim_look(true), due = false;

	for (uint32_t i = 0; i < HANDLES; i++)
		if ((&user->handles[i] == handle && is_there(user, handle)) ||
			processes_waits_is_member(user, &user->handles[i], set))
			due |= trip_cntr_is_due(user->handles[i].cntr, &sample);
	(void)sim_look(looks);
	return due;
}

bool
processes_waits_is_unrung(const struct handle *handle)
{
	const struct ledger *ledger = processes_ledger(handle->cntr);

	return ledger->unrung > 0 || ledger->low < ledger->high ||
	       processes_garbage_is_in(ledger->opening);
}

bool
processes_waits_is_orphan(const struct user *user)
{
	return user->number != PRIMARY && (!processes.open || processes.opening != user->opening ||
						  !sim_process_lives(processes_primary()->process));
}

struct handle *
processes_waits_for(struct user *user, struct handle *otherwise, uint32_t from)
{
	const struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < WAITERS * HANDLES; i++) {
		const struct waiter *waiter = &waits->waiters[(from + i) % WAITERS];
		struct handle *handle = &user->handles[(from + i / WAITERS) % HANDLES];

		if (waiter->started && (handle == waiter->handle || processes_waits_is_member(user,
									    handle, waiter->set)))
			return handle;
	}
	return otherwise;
}

/* --- closed, beside who waits --- */

/* The last one: who waits by the set could not be woken any more. */
static void
leave_set(struct user *user, struct handle *handle)
{
	struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waits->waiters[i];

		if (waiter->started && processes_waits_is_member(user, handle, waiter->set) &&
			processes_waits_members(user, waiter->set) == 1)
			processes_waiter_stop(waiter);
	}
}

bool
processes_waits_close(struct user *user, struct handle *handle)
{
	struct waits *waits = processes_waits(user);
	bool beside = false;

	for (uint32_t i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waits->waiters[i];

		if (!waiter->started || waiter->handle != handle)
			continue;
		/* It does not touch the handle again when its call has ended. */
		if (processes_waiter_is_in(waiter)) {
			waiter->stops = beside = true;
			/* Whoever knows that it sleeps has that from the kernel, which orders it:
			 * by nothing else does a close have to find that it waits. */
			if (sim_is_asleep(waiter->actor))
				sim_join(waiter->actor);
		} else {
			processes_waiter_stop(waiter);
		}
	}
	leave_set(user, handle);
	for (uint32_t i = 0; i < WAIT_SETS; i++)
		waits->sets[i].changes++;
	waits->closing[handle - user->handles] = true;
	for (uint32_t i = 0; i < WAITERS; i++)
		while (waits->waiters[i].reads)
			sim_pause();
	return beside || processes_polls_have(user, handle);
}

void
processes_waits_closed(struct user *user, struct handle *handle, int error)
{
	struct waits *waits = processes_waits(user);

	waits->closing[handle - user->handles] = false;
	processes_waits_joined(user);
	sim_expect(error != 0 || !processes_polls_have(user, handle),
		"a counter is closed, and is in a poll set");
	for (uint32_t i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waits->waiters[i];

		if (!waiter->started || waiter->handle != handle)
			continue;
		sim_expect(error != 0 || waiter->ended,
			"a counter is closed, and a thread waits for it");
		if (waiter->ended)
			processes_waiter_stop(waiter);
		else
			waiter->stops = false;
	}
}

/* --- all of it --- */

static void
stop_one(struct user *user, const struct act *act)
{
	struct waiter *waiter = &processes_waits(user)->waiters[act->value % WAITERS];

	if (waiter->started)
		processes_waiter_stop(waiter);
}

bool
processes_act_on_waits(struct user *user, const struct act *act)
{
	if (act->kind == ACT_WAITER)
		processes_waiter_start(user, act);
	else if (act->kind == ACT_UNWAIT)
		stop_one(user, act);
	else if (act->kind == ACT_SET || act->kind == ACT_ASK)
		processes_sets_act(user, act);
	else if (act->kind == ACT_POLLS)
		processes_polls_change(user, act);
	else if (act->kind == ACT_POLL)
		processes_polls_ask(user, act);
	else
		return false;
	return true;
}

bool
processes_has_waits(const struct user *user)
{
	const struct waits *waits = processes_waits(user);
	bool any = false;

	for (uint32_t i = 0; i < WAITERS; i++)
		any |= waits->waiters[i].started;
	for (uint32_t i = 0; i < WAIT_SETS; i++)
		any |= waits->sets[i].set != NULL;
	for (uint32_t i = 0; i < POLL_SETS; i++)
		any |= waits->polls[i].set != NULL;
	return any;
}

void
processes_end_waits(struct user *user)
{
	struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < WAITERS; i++)
		if (waits->waiters[i].started)
			processes_waiter_stop(&waits->waiters[i]);
	processes_polls_end(user);
}
