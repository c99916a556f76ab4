/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wait set has one slot that is signalled, and each of its members one by which it signals that:
 * waiter.h has the protocol. Its lock covers the list of members and the arming of their slots, and
 * is never held while anybody sleeps.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cntr.h"
#include "error.h"
#include "progress.h"
#include "wait.h"
#include "wait_set.h"
#include "waiter.h"

struct trip_wait_set {
	struct trip_fid fid;
	struct trip_native native;
	pthread_mutex_t lock;
	struct trip_cntr *members;
	uint32_t n_members;
};

struct trip_wait_set *
trip_wait_set_of(struct trip_fid *fid)
{
	/* It is what a set begins with. */
	return (struct trip_wait_set *)fid;
}

bool
trip_wait_set_is_of(const struct trip_wait_set *set, const struct trip_domain *domain)
{
	return set != NULL && set->fid.domain == domain;
}

struct trip_fid *
trip_wait_fid(struct trip_wait_set *set)
{
	return &set->fid;
}

static int
check_attr(const struct trip_wait_attr *attr)
{
	if (attr == NULL || attr->size != sizeof(*attr))
		return trip_error_set(EINVAL, "wait set: attribute size %zu is not the known %zu",
			attr != NULL ? attr->size : 0, sizeof(*attr));
	if (attr->flags != 0)
		return trip_error_set(
			EINVAL, "wait set: flags 0x%" PRIx64 " are not 0", attr->flags);
	switch (attr->wait_obj) {
	case TRIP_WAIT_UNSPEC:
	case TRIP_WAIT_FD:
	case TRIP_WAIT_MUTEX_COND:
	case TRIP_WAIT_YIELD:
		return 0;
	default:
		return trip_error_set(EINVAL,
			"wait set: wait object %d is none of UNSPEC, FD, MUTEX_COND and YIELD",
			(int)attr->wait_obj);
	}
}

int
trip_wait_open(
	struct trip_domain *domain, const struct trip_wait_attr *attr, struct trip_wait_set **out)
{
	struct trip_wait_set *set;
	int error = check_attr(attr);

	if (error != 0)
		return error;
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return trip_error_set(ENOMEM, "wait set: no memory for its handle");
	set->fid.domain = domain;
	set->fid.kind = TRIP_FID_WAIT_SET;
	set->fid.wait_obj = attr->wait_obj;
	pthread_mutex_init(&set->lock, NULL);
	error = trip_native_open(&set->native, domain, domain->engine.homes[0], attr->wait_obj);
	if (error != 0) {
		free(set);
		return error;
	}
	pthread_mutex_lock(&domain->lock);
	domain->n_sets++;
	pthread_mutex_unlock(&domain->lock);
	*out = set;
	return 0;
}

int
trip_wait_close(struct trip_wait_set *set)
{
	struct trip_domain *domain = set->fid.domain;
	uint32_t members;

	pthread_mutex_lock(&set->lock);
	members = set->n_members;
	pthread_mutex_unlock(&set->lock);
	if (members > 0)
		return trip_error_set(EBUSY, "wait set: it has %" PRIu32 " members", members);
	trip_native_close(&set->native);
	pthread_mutex_destroy(&set->lock);
	free(set);
	pthread_mutex_lock(&domain->lock);
	domain->n_sets--;
	pthread_mutex_unlock(&domain->lock);
	return 0;
}

int
trip_wait_control(struct trip_wait_set *set, int command, void *arg)
{
	return trip_native_control(&set->native, command, arg);
}

static void
arm(struct trip_wait_set *set, struct trip_cntr *cntr, const struct trip_cell_sample *seen)
{
	trip_waiter_arm(
		cntr->home, cntr->set_slot, set->native.number, cntr->local, TRIP_WAITER_ANY, seen);
}

int
trip_wait_set_join(struct trip_wait_set *set, struct trip_cntr *cntr)
{
	struct trip_cell_sample sample;
	int slot = trip_native_take_slot(set->fid.domain, cntr->home);

	if (slot < 0)
		return slot;
	cntr->set = set;
	cntr->set_slot = (uint32_t)slot;
	pthread_mutex_lock(&set->lock);
	cntr->next_member = set->members;
	set->members = cntr;
	set->n_members++;
	/* For whoever blocks already: it armed the members that there were then. */
	if (!trip_cntr_is_due(cntr, &sample))
		arm(set, cntr, &sample);
	pthread_mutex_unlock(&set->lock);
	return 0;
}

void
trip_wait_set_leave(struct trip_cntr *cntr)
{
	struct trip_wait_set *set = cntr->set;
	struct trip_cntr **link = &set->members;

	pthread_mutex_lock(&set->lock);
	while (*link != cntr)
		link = &(*link)->next_member;
	*link = cntr->next_member;
	set->n_members--;
	pthread_mutex_unlock(&set->lock);
	trip_native_give_slot(set->fid.domain, cntr->home, cntr->set_slot);
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

/* Arms every member for a change from what was last read of it; false where one is due. Under the
 * lock. */
static bool
arm_all(struct trip_wait_set *set)
{
	for (struct trip_cntr *cntr = set->members; cntr != NULL; cntr = cntr->next_member) {
		struct trip_cell_sample sample;

		if (trip_cntr_is_due(cntr, &sample))
			return false;
		arm(set, cntr, &sample);
	}
	return true;
}

/* 0 where a member is due; otherwise, unless it yields, all are armed. */
static int
look(struct trip_wait_set *set, bool yields)
{
	bool due;

	pthread_mutex_lock(&set->lock);
	due = yields ? any_due(set) : !arm_all(set);
	pthread_mutex_unlock(&set->lock);
	return due ? 0 : -EAGAIN;
}

int
trip_wait(struct trip_wait_set *set, int timeout)
{
	struct trip_domain *domain = set->fid.domain;
	struct trip_waiter *waiter = trip_native_waiter(&set->native);
	int64_t deadline = trip_wait_deadline(timeout);
	bool yields = trip_wait_yields(domain, set->fid.wait_obj) || timeout == 0;

	if (trip_domain_on_home(domain))
		return trip_error_set(
			EDEADLK, "wait set: waited for by the home that would progress it");
	for (;;) {
		uint32_t sequence = atomic_load(&waiter->sequence); /* S1 of waiter.h */

		if (look(set, yields) == 0)
			return 0;
		if (trip_wait_is_over(deadline))
			return -ETIMEDOUT;
		if (yields)
			trip_progress_wait(domain);
		else
			trip_wait_sleep(waiter, sequence, deadline);
	}
}

static void
disarm_all(struct trip_wait_set *set)
{
	for (struct trip_cntr *cntr = set->members; cntr != NULL; cntr = cntr->next_member)
		trip_waiter_disarm(cntr->home, cntr->set_slot);
}

int
trip_wait_set_trywait(struct trip_wait_set *set)
{
	bool blocks =
		set->fid.wait_obj == TRIP_WAIT_FD || set->fid.wait_obj == TRIP_WAIT_MUTEX_COND;
	int result = 0;

	pthread_mutex_lock(&set->lock);
	if (any_due(set)) {
		result = -EAGAIN;
	} else if (blocks) {
		/* No answer to an older request may come after the drain, but for one late write.
		 */
		disarm_all(set);
		trip_native_drain(&set->native);
		result = arm_all(set) ? 0 : -EAGAIN;
	}
	pthread_mutex_unlock(&set->lock);
	return result;
}
