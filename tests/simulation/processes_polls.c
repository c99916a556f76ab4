/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets: what has changed since a set has reported it last is reported, whatever other sets and
 * waiters have had of it, and in its turn. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "domain/domain.h"
#include "processes_waits.h"

/* So often one after the other, at most. */
#define POLLS 3

static struct member *
find_member(struct poll_set *set, const struct handle *handle)
{
	for (uint32_t i = 0; i < HANDLES; i++)
		if (set->members[i].handle == handle)
			return &set->members[i];
	return NULL;
}

static unsigned int
count_members(const struct poll_set *set)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < HANDLES; i++)
		n += set->members[i].handle != NULL;
	return n;
}

bool
processes_polls_have(const struct user *user, const struct handle *handle)
{
	struct waits *waits = processes_waits(user);

	for (uint32_t i = 0; i < POLL_SETS; i++)
		if (waits->polls[i].set != NULL && find_member(&waits->polls[i], handle) != NULL)
			return true;
	return false;
}

/* As it is now, at the latest: what its set goes by is that, or was before. */
static void
note_reported(struct user *user, struct member *member)
{
	struct trip_cell_sample samples[HANDLES];

	processes_waits_sample(user, samples);
	member->reported = samples[member->handle - user->handles];
	member->vague = processes_waits_is_unrung(member->handle);
	member->missed = 0;
}

/* --- open, and who is in it --- */

static void
open_set(struct user *user, struct poll_set *set)
{
	int error;

	sim_op("opens a poll set");
	memset(set, 0, sizeof(*set));
	processes_enter(user, "trip_poll_open", 0);
	error = trip_poll_open(user->domain, NULL, &set->set);
	processes_leave(user);
	processes_check_error(user, "the opening of a poll set", error, 0, 0);
	if (error != 0)
		set->set = NULL;
}

static void
close_set(struct user *user, struct poll_set *set)
{
	unsigned int n = count_members(set);
	int error;

	sim_op("closes a poll set of %u members", n);
	processes_enter(user, "trip_poll_close", 0);
	error = trip_poll_close(set->set);
	processes_leave(user);
	processes_check_error(user, "the closing of a poll set", error, n > 0 ? -EBUSY : 0, 0);
	sim_expect(error != 0 || n == 0, "a poll set is closed, and has %u members", n);
	if (error == 0)
		set->set = NULL;
}

static void
add(struct user *user, struct poll_set *set, struct handle *handle)
{
	struct member *member = find_member(set, handle);
	int error;

	sim_op("adds a counter to a poll set");
	processes_enter(user, "trip_poll_add", 0);
	error = trip_poll_add(set->set, trip_cntr_fid(handle->cntr), 0);
	processes_leave(user);
	processes_check_error(user, "an add to a poll set", error, member != NULL ? -EEXIST : 0, 0);
	sim_expect(error != 0 || member == NULL, "a poll set has a counter twice");
	if (error != 0)
		return;
	member = find_member(set, NULL);
	member->handle = handle;
	note_reported(user, member);
}

static void
take_out(struct user *user, struct poll_set *set, struct handle *handle)
{
	struct member *member = find_member(set, handle);
	int error;

	sim_op("takes a counter out of a poll set");
	processes_enter(user, "trip_poll_del", 0);
	error = trip_poll_del(set->set, trip_cntr_fid(handle->cntr), 0);
	processes_leave(user);
	processes_check_error(
		user, "a removal from a poll set", error, member == NULL ? -ENOENT : 0, 0);
	sim_expect(error != 0 || member != NULL, "a stranger is taken out of a poll set");
	if (error == 0)
		member->handle = NULL;
}

void
processes_polls_change(struct user *user, const struct act *act)
{
	struct poll_set *set = &processes_waits(user)->polls[act->value % POLL_SETS];
	struct handle *handle = processes_find_handle(user, act->handle, true);

	if (set->set == NULL)
		open_set(user, set);
	if (set->set == NULL || handle == NULL)
		return;
	if (act->seed % 8 == 0)
		close_set(user, set);
	else if (act->seed % 8 == 1)
		take_out(user, set, handle);
	else
		for (uint32_t i = 0; i < HANDLES; i++)
			if (user->handles[i].cntr != NULL && set->set != NULL)
				add(user, set, &user->handles[i]);
}

/* --- polled --- */

/* It is due when the call begins: others may be just changing it. */
static bool
is_due(const struct user *user, const struct member *member, const struct trip_cell_sample *before)
{
	return member->handle != NULL && !member->vague &&
	       !processes_waits_is_unrung(member->handle) &&
	       !processes_waits_is_same(&member->reported, &before[member->handle - user->handles]);
}

/* And was all the time. A later generation stays one. What its values alone tell of, a set or an
 * error meanwhile may make what was reported, just before its generation says so: then the next
 * call has to report it. */
static bool
stays_due(const struct member *member, const struct trip_cell_sample *before,
	const struct trip_cell_sample *after)
{
	if (before->errgen != member->reported.errgen || before->setgen != member->reported.setgen)
		return true;
	return before->errgen == after->errgen && before->setgen == after->setgen &&
	       !processes_waits_is_unrung(member->handle);
}

static void
check_reported(struct poll_set *set, void *const *contexts, int n)
{
	for (int i = 0; i < n; i++) {
		sim_expect(contexts[i] != NULL && find_member(set, contexts[i]) != NULL,
			"a poll set reports what is no member");
		for (int other = 0; other < i; other++)
			sim_expect(contexts[i] != contexts[other],
				"a poll set reports one member twice");
	}
}

static bool
is_reported(const struct member *member, void *const *contexts, int n)
{
	for (int i = 0; i < n; i++)
		if (contexts[i] == member->handle)
			return true;
	return false;
}

/* It is not among the n that are. */
static void
check_missed(struct member *member, bool due, int n, bool full)
{
	member->missed = due ? member->missed + (unsigned int)n : 0;
	sim_expect(!due || full, "a member of a poll set has changed, and is not reported");
	sim_expect(member->missed < HANDLES,
		"a member of a poll set has changed, and others come again and again");
}

static void
poll_once(struct user *user, struct poll_set *set, uint32_t count)
{
	struct trip_cell_sample before[HANDLES], after[HANDLES];
	bool due[HANDLES];
	void *contexts[HANDLES];
	ptrdiff_t at;
	int n;

	sim_op("polls %u members for %u", count_members(set), count);
	processes_waits_sample(user, before);
	for (uint32_t i = 0; i < HANDLES; i++)
		due[i] = is_due(user, &set->members[i], before);
	processes_enter(user, "trip_poll", 0);
	n = trip_poll(set->set, contexts, count);
	processes_leave(user);
	processes_check_error(user, "trip_poll()", n < 0 ? n : 0, 0, 0);
	sim_expect(n <= (int)count, "%d members are reported, and there is room for %u", n, count);
	check_reported(set, contexts, n);
	processes_waits_sample(user, after);
	for (uint32_t i = 0; i < HANDLES && n >= 0; i++) {
		struct member *member = &set->members[i];

		if (member->handle == NULL)
			continue;
		if (is_reported(member, contexts, n)) {
			note_reported(user, member);
			continue;
		}
		at = member->handle - user->handles;
		check_missed(member, due[i] && stays_due(member, &before[at], &after[at]), n,
			n == (int)count);
	}
}

void
processes_polls_ask(struct user *user, const struct act *act)
{
	struct poll_set *set = &processes_waits(user)->polls[act->value % POLL_SETS];

	for (uint32_t i = 0; i <= act->seed % POLLS && set->set != NULL; i++)
		poll_once(user, set, 1 + (act->seed >> i) % HANDLES);
}

void
processes_polls_end(struct user *user)
{
	for (uint32_t i = 0; i < POLL_SETS; i++) {
		struct poll_set *set = &processes_waits(user)->polls[i];

		for (uint32_t m = 0; m < HANDLES && set->set != NULL; m++)
			if (set->members[m].handle != NULL)
				take_out(user, set, set->members[m].handle);
		if (set->set != NULL)
			close_set(user, set);
	}
}
