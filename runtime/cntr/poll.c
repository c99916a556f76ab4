/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets. Each member remembers what its set last reported, so no set steals from another. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <trip_poll.h>

#include <rte_common.h>

#include "cntr/cntr.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "domain/progress.h"

struct member {
	struct trip_cntr *cntr;
	struct trip_cell_sample reported;
};

struct trip_poll_set {
	/* Calls of trip_poll() under way refer to it. */
	struct trip_fid fid;
	pthread_mutex_t lock;
	struct member *members;
	uint32_t n_members;
	uint32_t room;
	/* Where the next call goes on, so that no member starves (POLL-07). */
	uint32_t next;
};

int
trip_poll_open(
	struct trip_domain *domain, const struct trip_poll_attr *given, struct trip_poll_set **out)
{
	struct trip_poll_attr attr;
	struct trip_poll_set *set;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (TRIP_SIZED_TAKE(trip_poll_attr, &attr, given) != 0)
		return -EINVAL;
	if (attr.flags != 0)
		return trip_error_set(
			EINVAL, "poll set: flags 0x%" PRIx64 " are not 0", attr.flags);
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return trip_error_set(ENOMEM, "poll set: no memory for its handle");
	set->fid = (struct trip_fid){.domain = domain, .kind = TRIP_FID_POLL_SET};
	pthread_mutex_init(&set->lock, NULL);
	trip_domain_count(domain, &domain->n_sets, 1);
	*out = set;
	return 0;
}

int
trip_poll_close(struct trip_poll_set *set)
{
	struct trip_domain *domain = set->fid.domain;
	uint32_t calls = trip_fid_refs(&set->fid), members;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	pthread_mutex_lock(&set->lock);
	members = set->n_members;
	pthread_mutex_unlock(&set->lock);
	if (members > 0 || calls > 0)
		return trip_error_set(EBUSY,
			"poll set: it has %" PRIu32 " members, and %" PRIu32 " calls poll it",
			members, calls);
	pthread_mutex_destroy(&set->lock);
	free(set->members);
	free(set);
	trip_domain_count(domain, &domain->n_sets, -1);
	return 0;
}

static int
check_member(const struct trip_poll_set *set, const struct trip_fid *fid, uint64_t flags)
{
	if (trip_detach_check(set->fid.domain) != 0)
		return -ESHUTDOWN;
	if (flags != 0)
		return trip_error_set(EINVAL, "poll set: flags 0x%" PRIx64 " are not 0", flags);
	if (fid == NULL || fid->kind != TRIP_FID_CNTR)
		return trip_error_set(EINVAL, "poll set: the object is no counter");
	if (fid->domain != set->fid.domain)
		return trip_error_set(EXDEV, "poll set: the counter is of another domain");
	return 0;
}

/* Under the lock. The index of a member, or n_members. */
static uint32_t
find(const struct trip_poll_set *set, const struct trip_fid *fid)
{
	uint32_t i = 0;

	while (i < set->n_members && &set->members[i].cntr->fid != fid)
		i++;
	return i;
}

/* Under the lock. */
static int
add(struct trip_poll_set *set, struct trip_cntr *cntr)
{
	char label[TRIP_CNTR_LABEL_SIZE];
	struct member *member;

	if (find(set, &cntr->fid) < set->n_members)
		return trip_error_set(EEXIST, "poll set: %s is a member",
			trip_cntr_label(cntr, label, sizeof(label)));
	if (set->n_members == set->room) {
		uint32_t room = set->room == 0 ? 16 : 2 * set->room;
		struct member *grown = realloc(set->members, room * sizeof(*grown));

		if (grown == NULL)
			return trip_error_set(
				ENOMEM, "poll set: no memory for %" PRIu32 " members", room);
		set->members = grown;
		set->room = room;
	}
	trip_fid_hold(&cntr->fid);
	/* Its turn is the last of this round: who comes and goes keeps nobody waiting. */
	member = &set->members[set->next];
	memmove(member + 1, member, (set->n_members - set->next) * sizeof(*member));
	if (set->n_members++ > 0)
		set->next++;
	member->cntr = cntr;
	trip_cntr_sample(cntr, &member->reported);
	return 0;
}

int
trip_poll_add(struct trip_poll_set *set, struct trip_fid *fid, uint64_t flags)
{
	int error = check_member(set, fid, flags);

	if (error != 0)
		return error;
	pthread_mutex_lock(&set->lock);
	error = add(set, trip_cntr_of(fid));
	pthread_mutex_unlock(&set->lock);
	return error;
}

int
trip_poll_del(struct trip_poll_set *set, struct trip_fid *fid, uint64_t flags)
{
	int error = check_member(set, fid, flags);
	uint32_t at;

	if (error != 0)
		return error;
	pthread_mutex_lock(&set->lock);
	at = find(set, fid);
	if (at < set->n_members) {
		trip_fid_let_go(&set->members[at].cntr->fid);
		set->n_members--;
		memmove(&set->members[at], &set->members[at + 1],
			(set->n_members - at) * sizeof(*set->members));
		if (at < set->next)
			set->next--;
		else if (set->next == set->n_members)
			set->next = 0;
	} else {
		error = trip_error_set(ENOENT, "poll set: the counter is no member");
	}
	pthread_mutex_unlock(&set->lock);
	return error;
}

/* Whether a member has changed since it was reported; then it is reported now. The generations tell
 * of a value that has changed and is the same again: one's own set must not hide another's add. */
static bool
report(struct member *member)
{
	struct trip_cell_sample now;

	trip_cntr_sample(member->cntr, &now);
	if (now.success == member->reported.success && now.error == member->reported.error &&
		now.errgen == member->reported.errgen && now.setgen == member->reported.setgen)
		return false;
	member->reported = now;
	return true;
}

static int
report_all(struct trip_poll_set *set, void **context, uint32_t count)
{
	uint32_t n = 0;

	count = RTE_MIN(count, (uint32_t)INT32_MAX);
	pthread_mutex_lock(&set->lock);
	for (uint32_t i = 0; i < set->n_members && n < count; i++) {
		struct member *member = &set->members[set->next];

		set->next = (set->next + 1) % set->n_members;
		if (report(member))
			context[n++] = member->cntr->context;
	}
	pthread_mutex_unlock(&set->lock);
	return (int)n;
}

int
trip_poll(struct trip_poll_set *set, void **context, uint32_t count)
{
	int n;

	if (trip_detach_check(set->fid.domain) != 0)
		return -ESHUTDOWN;
	if (count > 0 && context == NULL)
		return trip_error_set(EINVAL, "poll set: no room for %" PRIu32 " contexts", count);
	/* Calls that a home makes meanwhile may close any other set. */
	trip_fid_hold(&set->fid);
	if (set->fid.domain->attr.progress == TRIP_PROGRESS_MANUAL)
		(void)trip_progress(set->fid.domain);
	n = report_all(set, context, count);
	trip_fid_let_go(&set->fid);
	return n;
}
