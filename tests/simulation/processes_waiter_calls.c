/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads that wait have read; and those that wait by the library's calls: trip_cntr_wait(),
 * trip_cntr_wait_from(), trip_wait(). */
#include <errno.h>

#include "processes_waits.h"

static bool
is_read_by(const struct waiter *waiter, const struct handle *handle)
{
	return handle == waiter->handle ||
	       processes_waits_is_member(waiter->user, handle, waiter->set);
}

void
processes_waiter_read(struct waiter *waiter)
{
	struct user *user = waiter->user;

	waiter->changes = waiter->set != NULL ? waiter->set->changes : 0;
	processes_waits_sample(user, waiter->read);
	waiter->reads = true;
	for (uint32_t i = 0; i < HANDLES; i++) {
		if (!is_read_by(waiter, &user->handles[i]))
			continue;
		(void)trip_cntr_read(user->handles[i].cntr);
		(void)trip_cntr_readerr(user->handles[i].cntr);
	}
	waiter->reads = false;
}

/* What it has read another may have read before, and says so behind it. */
bool
processes_waiter_shares(const struct waiter *waiter)
{
	for (uint32_t i = 0; i < WAITERS; i++) {
		const struct waiter *other = &processes_waits(waiter->user)->waiters[i];

		if (other != waiter && other->started && waiter->set != NULL &&
			other->set == waiter->set)
			return true;
	}
	return false;
}

bool
processes_waiter_moved(const struct waiter *waiter)
{
	struct trip_cell_sample now[HANDLES];

	if (waiter->set != NULL &&
		(waiter->set->changes != waiter->changes || waiter->changes % 2 != 0 ||
			processes_waiter_shares(waiter)))
		return true;
	processes_waits_sample(waiter->user, now);
	for (uint32_t i = 0; i < HANDLES; i++)
		if (is_read_by(waiter, &waiter->user->handles[i]) &&
			(processes_waits_is_unrung(&waiter->user->handles[i]) ||
				!processes_waits_is_same(&now[i], &waiter->read[i])))
			return true;
	return false;
}

struct trip_cell_sample
processes_waiter_sample(const struct waiter *waiter)
{
	struct trip_cell_sample samples[HANDLES];

	processes_waits_sample(waiter->user, samples);
	return samples[waiter->handle - waiter->user->handles];
}

/* False: the primary has ended. */
bool
processes_waiter_goes_on(const struct waiter *waiter, const char *call, int error)
{
	if (error != -ESHUTDOWN)
		return true;
	sim_expect(processes_waits_is_orphan(waiter->user),
		"%s says that the primary of %s has ended", call, waiter->user->name);
	return false;
}

/* --- by the library's calls --- */

static void
check_call(const struct waiter *waiter, const struct trip_cell_sample *before, int result)
{
	struct trip_cell_sample after = processes_waiter_sample(waiter);

	sim_expect(result == 0 || result == -EIO || result == -ESHUTDOWN,
		"a wait without a timeout says error %d", -result);
	if (before->setgen != after.setgen || processes_waits_is_unrung(waiter->handle))
		return;
	sim_expect(result != 0 || after.success >= waiter->threshold,
		"a wait for %llu has ended, and there are %llu",
		(unsigned long long)waiter->threshold, (unsigned long long)after.success);
	sim_expect(result != -EIO || before->success < waiter->threshold,
		"%llu are there, and a wait for %llu fails", (unsigned long long)before->success,
		(unsigned long long)waiter->threshold);
	sim_expect(result != -EIO || trip_cell_error_mark(&after) != waiter->mark,
		"a wait says that the error has changed, and it has not");
}

bool
processes_waiter_call(struct waiter *waiter)
{
	struct trip_cntr *cntr = waiter->handle->cntr;
	struct trip_cell_sample before = processes_waiter_sample(waiter);
	bool from = waiter->by == WAITER_BY_CALL_FROM;
	int result;

	waiter->threshold = before.success + waiter->step;
	waiter->mark = from ? trip_cntr_errgen(cntr) : trip_cell_error_mark(&before);
	/* Whoever stops it changes the error behind that, then: CNTR-14. */
	if (waiter->stops)
		return false;
	sim_op("waits for %llu", (unsigned long long)waiter->threshold);
	waiter->n_calls++;
	waiter->rests = sim_rests();
	waiter->state = WAITER_CALLS;
	result = from ? trip_cntr_wait_from(cntr, waiter->threshold, waiter->mark, -1)
		      : trip_cntr_wait(cntr, waiter->threshold, -1);
	waiter->state = WAITER_AWAKE;
	/* It may be closed just now. */
	if (waiter->stops)
		return false;
	check_call(waiter, &before, result);
	waiter->step = waiter->step > 0 ? waiter->step : 1;
	return processes_waiter_goes_on(waiter, "a wait", result);
}

bool
processes_waiter_call_set(struct waiter *waiter)
{
	int result;

	processes_waiter_read(waiter);
	if (waiter->stops)
		return false;
	sim_op("waits by a set");
	waiter->state = WAITER_CALLS;
	result = trip_wait(waiter->set->set, -1);
	waiter->state = WAITER_AWAKE;
	sim_expect(result == 0 || result == -ESHUTDOWN, "a wait by a set says error %d", -result);
	sim_expect(result != 0 || processes_waiter_moved(waiter),
		"a wait by a set has ended, and no member has changed");
	return processes_waiter_goes_on(waiter, "a wait by a set", result);
}
