/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets, and what is asked of several objects at a time. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "cntr/cntr.h"
#include "processes_waits.h"

/* Counters and sets of a process. */
#define OBJECTS (HANDLES + WAIT_SETS)

static void
open_set(struct user *user, struct wait_set *set, const struct act *act)
{
	static const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_YIELD, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND};
	const struct trip_wait_attr attr = {
		.size = sizeof(attr), .wait_obj = objects[act->seed % RTE_DIM(objects)]};
	int error;

	sim_op("opens a wait set");
	processes_enter(user, "trip_wait_open", 0);
	error = trip_wait_open(user->domain, &attr, &set->set);
	processes_leave(user);
	processes_check_error(user, "the opening of a wait set", error, 0, 0);
	if (error != 0)
		set->set = NULL;
	set->wait_obj = attr.wait_obj;
}

static void
close_set(struct user *user, struct wait_set *set)
{
	unsigned int n = processes_waits_members(user, set);
	int error;

	sim_op("closes a wait set of %u members", n);
	processes_enter(user, "trip_wait_close", 0);
	error = trip_wait_close(set->set);
	processes_leave(user);
	processes_check_error(user, "the closing of a wait set", error, n > 0 ? -EBUSY : 0, 0);
	sim_expect(error != 0 || n == 0, "a wait set is closed, and has %u members", n);
	if (error == 0)
		set->set = NULL;
}

void
processes_waits_join(struct user *user, const struct act *act, struct trip_cntr_attr *attr)
{
	struct waits *waits = processes_waits(user);
	struct wait_set *set = &waits->sets[act->value % WAIT_SETS];

	/* Rather one that a thread waits by just now. */
	for (uint32_t i = 0; i < WAITERS && act->seed % 4 > 0; i++)
		if (waits->waiters[i].started && waits->waiters[i].set != NULL) {
			set = waits->waiters[i].set;
			attr->wait_obj = TRIP_WAIT_SET;
		}
	if (attr->wait_obj != TRIP_WAIT_SET)
		return;
	if (set->set == NULL)
		open_set(user, set, act);
	if (set->set == NULL)
		attr->wait_obj = TRIP_WAIT_UNSPEC;
	attr->wait_set = set->set;
	set->changes++;
}

void
processes_waits_joined(struct user *user)
{
	struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < WAIT_SETS; i++)
		waits->sets[i].changes += waits->sets[i].changes % 2;
}

static void
wait_for_set(struct user *user, struct wait_set *set, const struct act *act)
{
	struct trip_cell_sample before[HANDLES], after[HANDLES];
	bool was_due, is_due;
	int result;

	sim_op("waits by a set, %u ms at most", 1 + act->ms);
	was_due = processes_waits_is_due(user, NULL, set);
	processes_waits_sample(user, before);
	processes_enter(user, "trip_wait", 1 + act->ms);
	result = trip_wait(set->set, (int)(1 + act->ms));
	processes_leave(user);
	processes_check_error(user, "a wait by a set", result, -ETIMEDOUT, 0);
	processes_waits_sample(user, after);
	is_due = processes_waits_is_due(user, NULL, set);
	/* A thread that reads its members makes some due again by what it has read before. */
	if (processes_waiter_on(user, NULL, set, false) != NULL)
		return;
	if (result == -ESHUTDOWN || was_due != is_due || memcmp(before, after, sizeof(before)) != 0)
		return;
	sim_expect(result != 0 || is_due, "a wait by a set has ended, and nothing is due");
	sim_expect(result == 0 || !is_due, "a member of a set is due, and a wait for it times out");
}

/* --- asked, of several objects at a time --- */

struct asked {
	struct handle *handles[OBJECTS];
	struct wait_set *sets[OBJECTS];
	struct trip_fid *fids[OBJECTS];
	uint32_t n;
};

static void
list(struct asked *asked, struct user *user, struct handle *handle, struct wait_set *set)
{
	/* One thread at a time waits natively; and of a set one reads the members. */
	if (processes_waiter_on(user, handle, set, handle != NULL) != NULL)
		return;
	asked->handles[asked->n] = handle;
	asked->sets[asked->n] = set;
	asked->fids[asked->n++] =
		handle != NULL ? trip_cntr_fid(handle->cntr) : trip_wait_fid(set->set);
}

static void
list_all(struct asked *asked, struct user *user, enum trip_wait_obj kind)
{
	struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < HANDLES; i++)
		if (user->handles[i].cntr != NULL && user->handles[i].cntr->fid.wait_obj == kind)
			list(asked, user, &user->handles[i], NULL);
	for (uint32_t i = 0; i < WAIT_SETS; i++)
		if (waits->sets[i].set != NULL && waits->sets[i].wait_obj == kind)
			list(asked, user, NULL, &waits->sets[i]);
}

static bool
any_is_due(const struct user *user, const struct asked *asked)
{
	bool due = false;

	for (uint32_t i = 0; i < asked->n; i++)
		due |= processes_waits_is_due(user, asked->handles[i], asked->sets[i]);
	return due;
}

static void
read_all(struct user *user)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		if (user->handles[i].cntr == NULL ||
			processes_waits_for(user, NULL, i) == &user->handles[i])
			continue;
		(void)trip_cntr_read(user->handles[i].cntr);
		(void)trip_cntr_readerr(user->handles[i].cntr);
	}
}

static void
ask(struct user *user, enum trip_wait_obj kind, bool reads)
{
	struct trip_cell_sample before[HANDLES], after[HANDLES];
	struct asked asked = {.n = 0};
	bool was_due, is_due;
	int result;

	list_all(&asked, user, kind);
	if (asked.n == 0)
		return;
	sim_op("asks whether any of %u objects is due", asked.n);
	if (reads)
		read_all(user);
	was_due = any_is_due(user, &asked);
	processes_waits_sample(user, before);
	processes_enter(user, "trip_trywait", 0);
	result = trip_trywait(user->domain, asked.fids, asked.n);
	processes_leave(user);
	processes_check_error(user, "trip_trywait()", result, -EAGAIN, 0);
	processes_waits_sample(user, after);
	is_due = any_is_due(user, &asked);
	sim_expect(result != 0 || !was_due || !is_due || memcmp(before, after, sizeof(before)) != 0,
		"something is due, and trip_trywait() says that it is safe to block");
}

void
processes_sets_act(struct user *user, const struct act *act)
{
	struct handle *handle = processes_find_handle(user, act->handle, true);
	struct wait_set *set = &processes_waits(user)->sets[act->value % WAIT_SETS];

	if (act->kind == ACT_SET && set->set == NULL)
		open_set(user, set, act);
	else if (act->kind == ACT_SET && act->seed % 4 == 0)
		close_set(user, set);
	else if (act->kind == ACT_SET)
		wait_for_set(user, set, act);
	else if (handle != NULL && handle->waitable)
		ask(user, handle->cntr->fid.wait_obj, act->seed % 2 == 0);
	else if (set->set != NULL)
		ask(user, set->wait_obj, act->seed % 2 == 0);
}

void
processes_end_sets(struct user *user)
{
	struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < WAIT_SETS; i++)
		if (waits->sets[i].set != NULL)
			close_set(user, &waits->sets[i]);
}
