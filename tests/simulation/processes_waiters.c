/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait without a timeout, by all that there is to wait by, until they are stopped: by
 * an error of what they wait for, which wakes whoever waits. */
#include "cntr/native.h"
#include "domain/domain.h"
#include "processes_waits.h"

/* Of a counter, from one threshold to the next. */
#define STEPS 3
/* To wait by one object: most are for any change. */
#define WAYS 8

struct waiter *
processes_waiter_on(const struct user *user, const struct handle *handle,
	const struct wait_set *set, bool natively)
{
	for (uint32_t i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &processes_waits(user)->waiters[i];

		if (waiter->started && waiter->handle == handle && waiter->set == set &&
			(!natively || waiter->by >= WAITER_BY_CHANGE))
			return waiter;
	}
	return NULL;
}

bool
processes_waiter_is_in(const struct waiter *waiter)
{
	return waiter->state == WAITER_CALLS &&
	       (sim_is_asleep(waiter->actor) || sim_rests() != waiter->rests);
}

/* --- their lives --- */

static void *
run(void *arg)
{
	static bool (*const by[])(struct waiter * waiter) = {
		[WAITER_BY_CALL] = processes_waiter_call,
		[WAITER_BY_CALL_FROM] = processes_waiter_call,
		[WAITER_BY_SET] = processes_waiter_call_set,
		[WAITER_BY_CHANGE] = processes_waiter_await_change,
		[WAITER_BY_THRESHOLD] = processes_waiter_await_threshold,
	};
	struct waiter *waiter = arg;

	waiter->actor = sim_self();
	while (!waiter->stops && by[waiter->by](waiter))
		;
	waiter->ended = true;
	return NULL;
}

/* False: there is nothing that one may wait by. */
static bool
choose(struct waiter *waiter, const struct act *act)
{
	struct user *user = waiter->user;
	struct wait_set *set = &processes_waits(user)->sets[act->value % WAIT_SETS];
	uint32_t way = act->seed / 2 % WAYS;
	bool native;

	/* Two that yield wake each other by the set's lock, and nothing would rest: also where they
	 * do because the home that is to signal is stopped. */
	if (act->seed % 2 == 0 && set->set != NULL && processes_waits_members(user, set) > 0 &&
		((set->wait_obj != TRIP_WAIT_YIELD && processes.operator.n == 0) ||
			processes_waiter_on(user, NULL, set, false) == NULL))
		waiter->set = set;
	for (uint32_t i = 0; i < HANDLES && waiter->set == NULL; i++) {
		struct handle *handle = &user->handles[(act->handle + i) % HANDLES];

		if (waiter->handle == NULL && handle->cntr != NULL && handle->waitable)
			waiter->handle = handle;
	}
	if (waiter->set == NULL && waiter->handle == NULL)
		return false;
	/* One at a time does so. */
	native = trip_native_is_kind(waiter->set != NULL ? waiter->set->wait_obj
							 : waiter->handle->cntr->fid.wait_obj) &&
		 processes_waiter_on(user, waiter->handle, waiter->set, true) == NULL;
	if (native && way < (waiter->set != NULL ? WAYS / 2 : WAYS - 3))
		waiter->by = WAITER_BY_CHANGE;
	else if (waiter->set != NULL)
		waiter->by = WAITER_BY_SET;
	else if (native && way == WAYS - 1)
		waiter->by = WAITER_BY_THRESHOLD;
	else
		waiter->by = way % 2 == 0 ? WAITER_BY_CALL : WAITER_BY_CALL_FROM;
	return true;
}

void
processes_waiter_start(struct user *user, const struct act *act)
{
	struct waits *waits = processes_waits(user);
	struct waiter *waiter = &waits->waiters[0];
	int error;

	while (waiter < &waits->waiters[WAITERS] && waiter->started)
		waiter++;
	if (waiter == &waits->waiters[WAITERS])
		return;
	*waiter = (struct waiter){.user = user, .step = act->ms % STEPS};
	if (!choose(waiter, act))
		return;
	sim_op("starts a thread that waits");
	waiter->started = true;
	processes_enter(user, "pthread_create", 0);
	error = pthread_create(&waiter->thread, NULL, run, waiter);
	processes_leave(user);
	if (error == 0)
		(void)pthread_setname_np(waiter->thread, "waiter");
	else
		waiter->started = false;
}

static void
wake(struct waiter *waiter)
{
	struct user *user = waiter->user;
	struct handle *handle = waiter->handle;
	struct ledger *ledger;
	int error;

	for (uint32_t i = 0; i < HANDLES && handle == NULL; i++)
		if (processes_waits_is_member(user, &user->handles[i], waiter->set))
			handle = &user->handles[i];
	ledger = processes_ledger(handle->cntr);
	ledger->unrung++;
	error = trip_cntr_adderr(handle->cntr, 1);
	ledger->unrung--;
	processes_check_error(user, "an error that is added", error, 0, 0);
}

/* What one of them has read is not due to the other: all of a set end. */
static void
stop_others(struct waiter *waiter)
{
	struct waits *waits = processes_waits(waiter->user);
	bool any = false;

	for (uint32_t i = 0; i < WAITERS && waiter->set != NULL; i++) {
		struct waiter *other = &waits->waiters[i];

		if (!other->started || other == waiter || other->set != waiter->set)
			continue;
		any = other->stops = true;
	}
	while (any && !waiter->ended) {
		wake(waiter);
		sim_rest();
	}
}

void
processes_waiter_stop(struct waiter *waiter)
{
	struct user *user = waiter->user;

	waiter->stops = true;
	/* It does not see an error that comes before its call has begun: CNTR-14. */
	while (waiter->by == WAITER_BY_CALL && !waiter->ended && !processes_waiter_is_in(waiter))
		sim_rest();
	sim_op("ends a thread that waits");
	stop_others(waiter);
	if (!waiter->ended)
		wake(waiter);
	processes_enter(user, "pthread_join", 0);
	(void)pthread_join(waiter->thread, NULL);
	processes_leave(user);
	waiter->started = false;
}
