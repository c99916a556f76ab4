/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process does with counters, attached or the primary. */
#include <errno.h>

#include "processes.h"

static const char *
name_of(uint32_t name)
{
	static const char *const names[] = {NULL, "first", "second"};

	return names[name];
}

/* What a call may say. Descriptors may run out, and a domain may end with its primary. */
static void
check_error(struct user *user, const char *call, int error, int other, int another)
{
	user->is_orphan |= error == -ESHUTDOWN;
	sim_expect(error == 0 || error == other || error == another || error == -ENOSPC ||
			   (error == -ESHUTDOWN && user->number != PRIMARY) ||
			   (error == -EMFILE && processes.files != 0) || processes_lacks(user),
		"%s says error %d to %s", call, -error, user->name);
}

static void
open_cntr(struct user *user, struct handle *handle, const struct act *act)
{
	bool finds = act->kind == ACT_FIND;
	const struct trip_cntr_attr attr = {.size = sizeof(attr),
		.wait_obj = (enum trip_wait_obj)act->wait_obj,
		.name = finds ? name_of(1 + act->name % NAMES) : name_of(act->name)};
	int error;

	sim_op("%s a counter", finds ? "finds" : "opens");
	processes_enter(user, finds ? "trip_cntr_find" : "trip_cntr_open", 0);
	error = finds ? trip_cntr_find(user->domain, &attr, &handle->cntr, NULL)
		      : trip_cntr_open(user->domain, &attr, &handle->cntr, NULL);
	processes_leave(user);
	check_error(user, "the opening of a counter", error, -EEXIST, -ENOENT);
	if (error != 0) {
		handle->cntr = NULL;
		return;
	}
	handle->found = finds;
	handle->waitable = act->wait_obj != TRIP_WAIT_NONE;
	handle->name = finds ? 1 : act->name;
	handle->value = 0;
	/* Of one that others may have found, they may have changed the value. */
	sim_expect(finds || act->name != 0 || trip_cntr_read(handle->cntr) == 0,
		"a counter is new, and has counted");
}

static void
add(struct user *user, struct handle *handle, uint32_t value)
{
	int error;

	sim_op("adds %u", value);
	error = trip_cntr_add(handle->cntr, value);
	check_error(user, "an add", error, 0, 0);
	if (error != 0)
		return;
	handle->value += value;
	if (handle->name == 0)
		sim_expect(trip_cntr_read(handle->cntr) == handle->value,
			"%s alone has added, and it is another sum", user->name);
}

static void
wait_for(struct user *user, struct handle *handle, const struct act *act)
{
	int result;

	if (!handle->waitable)
		return;
	sim_op("waits for %u, %u ms at most", act->value, 1 + act->ms);
	processes_enter(user, "trip_cntr_wait", 1 + act->ms);
	result = trip_cntr_wait(handle->cntr, act->value, (int)(1 + act->ms));
	processes_leave(user);
	sim_expect(result == 0 || result == -ETIMEDOUT || result == -EIO || result == -ESHUTDOWN,
		"a wait says error %d", -result);
	sim_expect(result != 0 || handle->name != 0 || handle->value >= act->value,
		"a wait has ended before its counter was there");
	sim_expect(result == 0 || result == -ESHUTDOWN || handle->name != 0 ||
			   handle->value < act->value,
		"a counter is there, and a wait for it fails");
}

static void
close_cntr(struct user *user, struct handle *handle)
{
	int error;

	if (handle->cntr == NULL)
		return;
	sim_op("closes a counter");
	processes_enter(user, "trip_cntr_close", 0);
	error = trip_cntr_close(handle->cntr);
	processes_leave(user);
	check_error(user, "the closing of a counter", error, handle->name != 0 ? -EBUSY : 0, 0);
	if (error == 0)
		handle->cntr = NULL;
}

/* From the act's on, the first that is open, or is not; NULL: there is none. */
static struct handle *
find_handle(struct user *user, const struct act *act, bool is_open)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		struct handle *handle = &user->handles[(act->handle + i) % HANDLES];

		if ((handle->cntr != NULL) == is_open)
			return handle;
	}
	return NULL;
}

void
processes_act_on_cntr(struct user *user, const struct act *act)
{
	bool opens = act->kind == ACT_OPEN || act->kind == ACT_FIND;
	struct handle *handle = find_handle(user, act, !opens);

	if (handle == NULL)
		return;
	if (opens)
		open_cntr(user, handle, act);
	else if (act->kind == ACT_ADD)
		add(user, handle, act->value);
	else if (act->kind == ACT_WAIT)
		wait_for(user, handle, act);
	else if (act->kind == ACT_CLOSE)
		close_cntr(user, handle);
}

void
processes_close_cntrs(struct user *user)
{
	for (uint32_t i = 0; i < HANDLES; i++)
		close_cntr(user, &user->handles[i]);
}
