/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything rests: nobody waits for what is there. */
#include "cntr/native.h"
#include "domain/domain.h"
#include "processes_waits.h"

/* What the error was when the call began is not known: since everything rested last it is. */
static bool
is_marked_otherwise(struct waiter *waiter, const struct trip_cell_sample *now)
{
	uint64_t mark = trip_cell_error_mark(now);

	if (waiter->by == WAITER_BY_CALL && waiter->marked != waiter->n_calls) {
		waiter->mark = mark;
		waiter->marked = waiter->n_calls;
	}
	return waiter->mark != mark;
}

static bool
is_due(struct waiter *waiter)
{
	struct trip_cell_sample now;

	if (waiter->by == WAITER_BY_SET || waiter->by == WAITER_BY_CHANGE)
		return processes_waits_is_due(waiter->user, waiter->handle, waiter->set);
	now = processes_waiter_sample(waiter);
	if (now.success >= waiter->threshold)
		return true;
	return waiter->by == WAITER_BY_THRESHOLD ? now.error != waiter->errors
						 : is_marked_otherwise(waiter, &now);
}

static bool
is_unrung(const struct waiter *waiter)
{
	struct user *user = waiter->user;

	for (uint32_t i = 0; i < HANDLES; i++) {
		const struct handle *handle = &user->handles[i];

		if ((handle == waiter->handle ||
			    processes_waits_is_member(user, handle, waiter->set)) &&
			processes_waits_is_unrung(handle))
			return true;
	}
	return false;
}

static void
judge_waiter(struct waiter *waiter)
{
	const struct user *user = waiter->user;

	sim_expect(!processes_waits_is_orphan(user),
		"a thread of %s waits, and its primary has "
		"ended",
		user->name);
	if (sim_process_is_stopped(processes_primary()->process) || is_unrung(waiter))
		return;
	sim_expect(!is_due(waiter), "a thread of %s waits for what is there", user->name);
}

void
processes_judge_waits(void)
{
	for (uint32_t i = 0; i <= CLIENTS; i++) {
		const struct user *user = &processes.users[i];

		if (user->process == NULL || !sim_process_lives(user->process) ||
			sim_process_is_stopped(user->process) || user->domain == NULL)
			continue;
		sim_process_enter(user->process);
		for (uint32_t n = 0; n < WAITERS; n++) {
			struct waiter *waiter = &processes_waits(user)->waiters[n];

			if (waiter->started && !waiter->ended && waiter->state != WAITER_AWAKE)
				judge_waiter(waiter);
		}
		sim_process_enter(sim_process_self());
	}
}

unsigned int
processes_waits_slots(const struct trip_home *home, unsigned int *unsure)
{
	const struct user *primary = processes_primary();
	struct waits *waits = processes_waits(primary);
	unsigned int n = 0;

	*unsure = 0;
	for (uint32_t i = 0; i < HANDLES; i++) {
		const struct trip_cntr *cntr = primary->handles[i].cntr;

		n += cntr != NULL && cntr->home == home &&
		     (trip_native_is_kind(cntr->fid.wait_obj) ||
			     cntr->fid.wait_obj == TRIP_WAIT_SET);
	}
	for (uint32_t i = 0; i < WAIT_SETS; i++)
		n += waits->sets[i].set != NULL && home->index == 0;
	/* Whoever finds none yields. */
	for (uint32_t i = 0; i < WAITERS; i++) {
		const struct waiter *waiter = &waits->waiters[i];

		*unsure += waiter->started && !waiter->ended && waiter->handle != NULL &&
			   waiter->state == WAITER_CALLS && waiter->handle->cntr->home == home;
	}
	return n;
}
