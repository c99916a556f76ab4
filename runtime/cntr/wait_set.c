/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wait set has one slot that is signalled, and each of its members one by which it signals that:
 * waiter.h has the protocol. Its lock covers the list of members and the arming of their slots, and
 * is never held while anybody sleeps, or waits for a home.
 *
 * All waiters of a set share the members' requests. Whoever arms, arms for all of them, even if it
 * finds a member due and leaves. Requests stay armed until the last waiter has gone: the threads
 * asleep in trip_wait(), and the one that trip_trywait() has told to block.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "cntr/cntr.h"
#include "cntr/native.h"
#include "cntr/wait.h"
#include "cntr/wait_set.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "domain/progress.h"
#include "waiter.h"

struct trip_wait_set {
	struct trip_fid fid;
	struct trip_native native;
	pthread_mutex_t lock;
	struct trip_cntr *members;
	uint32_t n_members;
	/* Threads in trip_wait() that may be asleep; and whether one may block natively. */
	uint32_t sleepers;
	bool watched;
};

struct trip_fid *
trip_wait_fid(struct trip_wait_set *set)
{
	return &set->fid;
}

static int
check_attr(const struct trip_wait_attr *attr)
{
	if (attr->flags != 0)
		return trip_error_set(
			EINVAL, "wait set: flags 0x%" PRIx64 " are not 0", attr->flags);
	if (attr->wait_obj == TRIP_WAIT_UNSPEC || attr->wait_obj == TRIP_WAIT_YIELD ||
		trip_native_is_kind(attr->wait_obj))
		return 0;
	return trip_error_set(EINVAL,
		"wait set: wait object %d is none of UNSPEC, FD, MUTEX_COND and YIELD",
		(int)attr->wait_obj);
}

int
trip_wait_open(
	struct trip_domain *domain, const struct trip_wait_attr *given, struct trip_wait_set **out)
{
	struct trip_wait_attr attr;
	struct trip_wait_set *set;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = TRIP_SIZED_TAKE(trip_wait_attr, &attr, given);
	if (error == 0)
		error = check_attr(&attr);
	if (error != 0)
		return error;
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return trip_error_set(ENOMEM, "wait set: no memory for its handle");
	set->fid.domain = domain;
	set->fid.kind = TRIP_FID_WAIT_SET;
	set->fid.wait_obj = attr.wait_obj;
	pthread_mutex_init(&set->lock, NULL);
	error = trip_native_open(&set->native, domain, domain->engine.homes[0], attr.wait_obj);
	if (error != 0) {
		free(set);
		return error;
	}
	trip_domain_count(domain, &domain->n_sets, 1);
	*out = set;
	return 0;
}

static int
check_unused(struct trip_wait_set *set)
{
	uint32_t calls = trip_fid_refs(&set->fid), members;

	pthread_mutex_lock(&set->lock);
	members = set->n_members;
	pthread_mutex_unlock(&set->lock);
	if (members == 0 && calls == 0)
		return 0;
	return trip_error_set(EBUSY,
		"wait set: it has %" PRIu32 " members, and %" PRIu32 " calls wait on it", members,
		calls);
}

int
trip_wait_close(struct trip_wait_set *set)
{
	struct trip_domain *domain = set->fid.domain;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = check_unused(set);
	if (error != 0)
		return error;
	trip_native_close(&set->native);
	pthread_mutex_destroy(&set->lock);
	free(set);
	trip_domain_count(domain, &domain->n_sets, -1);
	return 0;
}

int
trip_wait_control(struct trip_wait_set *set, int command, void *arg)
{
	int error = trip_detach_check(set->fid.domain);

	return error != 0 ? error
			  : trip_native_control(&set->native, set->fid.wait_obj, command, arg);
}

/* For any change from what was last read of it; that is at once where it is due. False: its home is
 * just signalling it, and it is armed for nothing. */
static bool
arm(struct trip_wait_set *set, struct trip_cntr *cntr)
{
	struct trip_cell_sample seen;

	if (!trip_waiter_try_quiesce(cntr->home, cntr->set_slot))
		return false;
	trip_cell_sample(cntr->cell, &seen);
	seen.success = atomic_load_explicit(&cntr->read_success, memory_order_relaxed);
	seen.error = atomic_load_explicit(&cntr->read_error, memory_order_relaxed);
	trip_waiter_arm(cntr->home, cntr->set_slot, set->native.number, cntr->local,
		TRIP_WAITER_ANY, &seen);
	return true;
}

/* Under the lock. */
static void
link_member(struct trip_wait_set *set, struct trip_cntr *cntr)
{
	cntr->next_member = set->members;
	set->members = cntr;
	/* Whoever blocks already has armed the other members. Its slot is quiescent. */
	if (set->sleepers > 0 || set->watched)
		(void)arm(set, cntr);
}

int
trip_wait_set_join(struct trip_wait_set *set, struct trip_cntr *cntr)
{
	int slot = trip_native_take_slot(set->fid.domain, cntr->home, true);

	if (slot < 0)
		return slot;
	cntr->set = set;
	cntr->set_slot = (uint32_t)slot;
	trip_waiter_quiesce(cntr->home, cntr->set_slot);
	pthread_mutex_lock(&set->lock);
	set->n_members++;
	link_member(set, cntr);
	pthread_mutex_unlock(&set->lock);
	return 0;
}

void
trip_wait_set_suspend(struct trip_cntr *cntr)
{
	struct trip_wait_set *set = cntr->set;
	struct trip_cntr **link = &set->members;

	pthread_mutex_lock(&set->lock);
	while (*link != cntr)
		link = &(*link)->next_member;
	*link = cntr->next_member;
	pthread_mutex_unlock(&set->lock);
	/* Nobody arms it any more. */
	trip_waiter_quiesce(cntr->home, cntr->set_slot);
}

void
trip_wait_set_resume(struct trip_cntr *cntr)
{
	pthread_mutex_lock(&cntr->set->lock);
	link_member(cntr->set, cntr);
	pthread_mutex_unlock(&cntr->set->lock);
}

void
trip_wait_set_leave(struct trip_cntr *cntr)
{
	struct trip_wait_set *set = cntr->set;

	/* Without members the set may be closed at once: this one signals it no more. */
	pthread_mutex_lock(&set->lock);
	set->n_members--;
	pthread_mutex_unlock(&set->lock);
	trip_native_give_slot(cntr->fid.domain, cntr->home, cntr->set_slot);
}

/* Under the lock. */
static bool
any_due(struct trip_wait_set *set)
{
	struct trip_cell_sample sample;

	for (struct trip_cntr *cntr = set->members; cntr != NULL; cntr = cntr->next_member)
		if (trip_cntr_is_due(cntr, &sample))
			return true;
	return false;
}

/* Under the lock. -ETIMEDOUT: nothing is due, and whatever comes is signalled; -EAGAIN: not all of
 * it is yet; or 0. */
static int
arm_all(struct trip_wait_set *set)
{
	bool all = true;

	for (struct trip_cntr *cntr = set->members; cntr != NULL; cntr = cntr->next_member)
		all &= arm(set, cntr);
	if (any_due(set))
		return 0;
	return all ? -ETIMEDOUT : -EAGAIN;
}

/* Under the lock. */
static void
disarm_unless_waited_for(struct trip_wait_set *set)
{
	if (set->sleepers > 0 || set->watched)
		return;
	for (struct trip_cntr *cntr = set->members; cntr != NULL; cntr = cntr->next_member)
		trip_waiter_disarm(cntr->home, cntr->set_slot);
}

static bool
is_due(struct trip_wait_set *set)
{
	bool due;

	pthread_mutex_lock(&set->lock);
	due = any_due(set);
	pthread_mutex_unlock(&set->lock);
	return due;
}

/* As arm_all(). */
static int
look_or_arm(struct trip_wait_set *set)
{
	int result;

	pthread_mutex_lock(&set->lock);
	result = any_due(set) ? 0 : arm_all(set);
	pthread_mutex_unlock(&set->lock);
	return result;
}

static void
go_away(struct trip_wait_set *set)
{
	pthread_mutex_lock(&set->lock);
	set->sleepers--;
	disarm_unless_waited_for(set);
	pthread_mutex_unlock(&set->lock);
}

static int
wait_asleep(struct trip_wait_set *set, int64_t deadline)
{
	struct trip_waiter *waiter = trip_native_waiter(&set->native);
	int result, armed;

	pthread_mutex_lock(&set->lock);
	set->sleepers++;
	pthread_mutex_unlock(&set->lock);
	for (;;) {
		uint32_t sequence = atomic_load(&waiter->sequence); /* S1 of waiter.h */

		armed = look_or_arm(set);
		result = armed == 0 ? 0 : trip_detach_check(set->fid.domain);
		if (armed == 0 || result != 0)
			break;
		if (trip_wait_is_over(deadline)) {
			result = -ETIMEDOUT;
			break;
		}
		if (armed == -EAGAIN)
			trip_progress_wait(set->fid.domain);
		else
			trip_wait_sleep(waiter, sequence, deadline, waiter);
	}
	go_away(set);
	return result;
}

static int
wait_yield(struct trip_wait_set *set, int64_t deadline)
{
	while (!is_due(set)) {
		if (trip_detach_check(set->fid.domain) != 0)
			return -ESHUTDOWN;
		if (trip_wait_is_over(deadline))
			return -ETIMEDOUT;
		trip_progress_wait(set->fid.domain);
	}
	return 0;
}

int
trip_wait(struct trip_wait_set *set, int timeout)
{
	struct trip_domain *domain = set->fid.domain;
	int64_t deadline = trip_wait_deadline(timeout);
	int result;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (trip_domain_on_home(domain))
		return trip_error_set(
			EDEADLK, "wait set: waited for by the home that would progress it");
	if (is_due(set))
		return 0;
	if (timeout == 0)
		return -ETIMEDOUT;
	trip_fid_hold(&set->fid);
	result = trip_wait_yields(domain, set->fid.wait_obj) ? wait_yield(set, deadline)
							     : wait_asleep(set, deadline);
	trip_fid_let_go(&set->fid);
	return result;
}

/* Under the lock. */
static bool
quiesce_all(struct trip_wait_set *set)
{
	bool all = true;

	for (struct trip_cntr *cntr = set->members; cntr != NULL; cntr = cntr->next_member)
		all &= trip_waiter_try_quiesce(cntr->home, cntr->set_slot);
	return all;
}

/* Under the lock. -EAGAIN: something is due, 0: nothing is, and it is safe to block; -EINPROGRESS:
 * a home is just telling that something was. */
static int
try_once(struct trip_wait_set *set, bool blocks)
{
	if (any_due(set))
		return -EAGAIN;
	if (!blocks)
		return 0;
	/* No answer to an older request comes after the drain. */
	if (!quiesce_all(set)) {
		/* For those who sleep. */
		(void)arm_all(set);
		return -EINPROGRESS;
	}
	trip_native_drain(&set->native);
	return arm_all(set) == -ETIMEDOUT ? 0 : -EAGAIN;
}

int
trip_wait_set_trywait(struct trip_fid *fid)
{
	/* It is what a set begins with. */
	struct trip_wait_set *set = (struct trip_wait_set *)fid;
	bool blocks = trip_native_is_kind(set->fid.wait_obj);
	int64_t deadline = trip_wait_deadline(TRIP_WAIT_SIGNAL_MS);
	int result;

	for (;;) {
		pthread_mutex_lock(&set->lock);
		result = try_once(set, blocks);
		set->watched = blocks && result == 0;
		disarm_unless_waited_for(set);
		pthread_mutex_unlock(&set->lock);
		if (result != -EINPROGRESS)
			return result;
		if (trip_wait_is_over(deadline))
			return -EAGAIN;
		sched_yield();
	}
}
