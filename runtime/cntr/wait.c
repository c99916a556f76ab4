/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting on counters. waiter.h has the protocol between a waiter and the home. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>

#include <rte_pause.h>

#include "cntr/cntr.h"
#include "cntr/native.h"
#include "cntr/wait.h"
#include "cntr/wait_set.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/thread.h"
#include "waiter.h"

#define NS_PER_MS 1000000

/* Looks at the signal before a sleep: a wake that is under way is worth less than the two calls. */
#define SPINS 256

int64_t
trip_wait_deadline(int timeout)
{
	if (timeout <= 0)
		return timeout;
	return (int64_t)trip_thread_now_ns() + (int64_t)timeout * NS_PER_MS;
}

bool
trip_wait_is_over(int64_t deadline)
{
	return deadline == 0 || (deadline > 0 && (int64_t)trip_thread_now_ns() >= deadline);
}

void
trip_wait_sleep(struct trip_waiter *waiter, uint32_t sequence, int64_t deadline, const void *next)
{
	int64_t left = deadline < 0 ? -1 : deadline - (int64_t)trip_thread_now_ns();

	for (unsigned int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&waiter->sequence, memory_order_relaxed) != sequence)
			return;
		rte_pause();
	}
	if (deadline >= 0 && left <= 0)
		return;
	/* Rounded up: it must not end early, and spin. */
	trip_waiter_sleep(waiter, sequence,
		deadline < 0 ? -1 : (int)((left + NS_PER_MS - 1) / NS_PER_MS), next);
}

bool
trip_wait_yields(const struct trip_domain *domain, int wait_obj)
{
	/* Nobody else may be progressing a domain that is progressed by hand (WAIT-11). */
	return wait_obj == TRIP_WAIT_YIELD || domain->attr.progress == TRIP_PROGRESS_MANUAL;
}

/* One call of trip_cntr_wait(). */
struct wait {
	struct trip_cntr *cntr;
	uint64_t threshold;
	/* The cell when the call began. */
	struct trip_cell_sample began;
	/* The error had changed by then. */
	bool changed;
	/* As trip_wait_deadline() gives it. */
	int64_t deadline;
};

/* 0, -EIO, -ETIMEDOUT, or -EAGAIN: wait on. */
static int
wait_look(const struct wait *wait)
{
	struct trip_cell_sample sample;

	trip_cntr_sample(wait->cntr, &sample);
	if (sample.success >= wait->threshold)
		return 0;
	if (wait->changed || sample.error != wait->began.error ||
		sample.errgen != wait->began.errgen)
		return -EIO;
	if (trip_detach_check(wait->cntr->fid.domain) != 0)
		return -ESHUTDOWN;
	return trip_wait_is_over(wait->deadline) ? -ETIMEDOUT : -EAGAIN;
}

static int
wait_yield(const struct wait *wait)
{
	int result;

	while ((result = wait_look(wait)) == -EAGAIN)
		trip_progress_wait(wait->cntr->fid.domain);
	return result;
}

static int
wait_slot(const struct wait *wait, struct trip_home *home, uint32_t slot)
{
	uint32_t number = home->index * home->engine->waiters_per_home + slot;
	struct trip_waiter *waiter = &home->waiters[slot];
	uint32_t sequence;
	int result;

	do {
		/* A signal that is under way ends when its home goes on. */
		if (!trip_waiter_try_quiesce(home, slot)) {
			trip_progress_wait(wait->cntr->fid.domain);
			result = wait_look(wait);
			continue;
		}
		sequence = atomic_load(&waiter->sequence); /* S1 of waiter.h */
		trip_waiter_arm(
			home, slot, number, wait->cntr->local, wait->threshold, &wait->began);
		/* Without a signal it stays armed. */
		while ((result = wait_look(wait)) == -EAGAIN &&
			atomic_load(&waiter->sequence) == sequence)
			trip_wait_sleep(waiter, sequence, wait->deadline, wait->cntr->cell);
	} while (result == -EAGAIN);
	return result;
}

static int
wait_asleep(const struct wait *wait)
{
	struct trip_domain *domain = wait->cntr->fid.domain;
	struct trip_home *home = wait->cntr->home;
	int slot, result = -EAGAIN;

	/* Never refused, and kept by nobody: without a slot, or until the primary has given some,
	 * it polls and yields (CNTR-15, CNTR-17). */
	while ((slot = trip_native_take_slot(domain, home, false)) == -EAGAIN &&
		(result = wait_look(wait)) == -EAGAIN)
		trip_progress_wait(domain);
	if (slot == -EAGAIN)
		return result;
	if (slot < 0)
		return wait_yield(wait);
	result = wait_slot(wait, home, (uint32_t)slot);
	trip_native_give_slot(domain, home, (uint32_t)slot);
	return result;
}

static int
check_wait(struct trip_cntr *cntr, uint64_t threshold)
{
	char label[TRIP_CNTR_LABEL_SIZE];

	if (trip_detach_check(cntr->fid.domain) != 0)
		return -ESHUTDOWN;
	trip_cntr_label(cntr, label, sizeof(label));
	if (cntr->fid.wait_obj == TRIP_WAIT_NONE || cntr->fid.wait_obj == TRIP_WAIT_SET)
		return trip_error_set(EINVAL, "%s: its wait object is %s", label,
			cntr->fid.wait_obj == TRIP_WAIT_NONE ? "NONE" : "SET");
	if (threshold > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL,
			"%s: threshold %" PRIu64 " is above the limit %" PRIu64, label, threshold,
			(uint64_t)TRIP_CNTR_MAX);
	if (trip_domain_on_home(cntr->fid.domain))
		return trip_error_set(
			EDEADLK, "%s: waited for by the home that would progress it", label);
	return 0;
}

static int
wait_any(struct wait *wait, int timeout)
{
	struct trip_cntr *cntr = wait->cntr;
	int result = check_wait(cntr, wait->threshold);

	if (result != 0)
		return result;
	wait->deadline = trip_wait_deadline(timeout);
	result = wait_look(wait);
	if (result != -EAGAIN)
		return result;
	trip_fid_hold(&cntr->fid);
	result = trip_wait_yields(cntr->fid.domain, cntr->fid.wait_obj) ? wait_yield(wait)
									: wait_asleep(wait);
	trip_fid_let_go(&cntr->fid);
	return result;
}

int
trip_cntr_wait(struct trip_cntr *cntr, uint64_t threshold, int timeout)
{
	struct wait wait = {.cntr = cntr, .threshold = threshold};

	trip_cell_sample(cntr->cell, &wait.began);
	return wait_any(&wait, timeout);
}

int
trip_cntr_wait_from(struct trip_cntr *cntr, uint64_t threshold, uint64_t errgen, int timeout)
{
	struct wait wait = {.cntr = cntr, .threshold = threshold};

	trip_cell_sample(cntr->cell, &wait.began);
	wait.changed = trip_cell_error_mark(&wait.began) != errgen;
	return wait_any(&wait, timeout);
}

/* False: it would take longer than any signal does. */
static bool
quiesce(const struct trip_cntr *cntr)
{
	int64_t deadline = trip_wait_deadline(TRIP_WAIT_SIGNAL_MS);

	while (!trip_waiter_try_quiesce(cntr->home, cntr->native.slot)) {
		if (trip_wait_is_over(deadline))
			return false;
		sched_yield();
	}
	return true;
}

int
trip_cntr_arm(struct trip_cntr *cntr, uint64_t threshold)
{
	struct trip_cell_sample sample;
	char label[TRIP_CNTR_LABEL_SIZE];
	int error = check_wait(cntr, threshold);

	if (error != 0 && error != -EDEADLK)
		return error;
	if (!trip_native_is_kind(cntr->fid.wait_obj))
		return trip_error_set(EINVAL, "%s: its wait object is neither FD nor MUTEX_COND",
			trip_cntr_label(cntr, label, sizeof(label)));
	if (!quiesce(cntr))
		return trip_error_set(EAGAIN, "%s: its home is stopped while it signals the handle",
			trip_cntr_label(cntr, label, sizeof(label)));
	trip_cell_sample(cntr->cell, &sample);
	/* An error that landed since the handle last read is a change to tell, too. */
	sample.error = atomic_load_explicit(&cntr->read_error, memory_order_relaxed);
	trip_waiter_arm(cntr->home, cntr->native.slot, cntr->native.number, cntr->local, threshold,
		&sample);
	return 0;
}

int
trip_cntr_control(struct trip_cntr *cntr, int command, void *arg)
{
	if (trip_detach_check(cntr->fid.domain) != 0)
		return -ESHUTDOWN;
	return trip_native_control(&cntr->native, cntr->fid.wait_obj, command, arg);
}

static int
check_fids(struct trip_domain *domain, struct trip_fid *const *fids, uint32_t count)
{
	if (fids == NULL || count == 0)
		return trip_error_set(EINVAL, "trywait: no object is given");
	for (size_t i = 0; i < count; i++) {
		if (fids[i] == NULL)
			return trip_error_set(EINVAL, "trywait: object %zu is NULL", i);
		if (fids[i]->domain != domain)
			return trip_error_set(EXDEV, "trywait: object %zu is of another domain", i);
		if (fids[i]->wait_obj != fids[0]->wait_obj)
			return trip_error_set(EINVAL,
				"trywait: object %zu has wait object %d, object 0 has %d", i,
				(int)fids[i]->wait_obj, (int)fids[0]->wait_obj);
	}
	if (fids[0]->wait_obj == TRIP_WAIT_NONE)
		return trip_error_set(EINVAL, "trywait: the objects have no wait object");
	if (fids[0]->wait_obj == TRIP_WAIT_SET)
		return trip_error_set(
			EINVAL, "trywait: the objects are members of a wait set: pass the set");
	return 0;
}

/* Calls that a home makes meanwhile may close anything but these. */
static void
progress_holding(struct trip_domain *domain, struct trip_fid *const *fids, uint32_t count)
{
	for (size_t i = 0; i < count; i++)
		trip_fid_hold(fids[i]);
	(void)trip_progress(domain);
	for (size_t i = 0; i < count; i++)
		trip_fid_let_go(fids[i]);
}

static int
trywait_cntr(struct trip_cntr *cntr)
{
	bool native = trip_native_is_kind(cntr->fid.wait_obj);
	struct trip_cell_sample sample;

	/* No answer to an older request comes after the drain. Also where it is due: whoever waits
	 * for a threshold of a counter that never rests arms that next. */
	if (native) {
		/* Then it was due, and is being told so. */
		if (!quiesce(cntr))
			return -EAGAIN;
		trip_native_drain(&cntr->native);
	}
	if (trip_cntr_is_due(cntr, &sample))
		return -EAGAIN;
	if (native)
		trip_waiter_arm(cntr->home, cntr->native.slot, cntr->native.number, cntr->local,
			TRIP_WAITER_ANY, &sample);
	return 0;
}

int
trip_trywait(struct trip_domain *domain, struct trip_fid *const *fids, uint32_t count)
{
	int result = trip_detach_check(domain);

	if (result == 0)
		result = check_fids(domain, fids, count);
	if (result != 0)
		return result;
	if (domain->attr.progress == TRIP_PROGRESS_MANUAL)
		progress_holding(domain, fids, count);
	/* All of them, also behind one that is due: each may be blocked on next time. */
	for (size_t i = 0; i < count; i++) {
		int one = fids[i]->kind == TRIP_FID_CNTR ? trywait_cntr(trip_cntr_of(fids[i]))
							 : trip_wait_set_trywait(fids[i]);

		if (result == 0)
			result = one;
	}
	return result;
}
