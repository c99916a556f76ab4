/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process does with counters, attached or the primary. */
#include <errno.h>

#include "domain/domain.h"
#include "processes_items.h"

/* Error values that are set are so far apart that none comes to another. */
#define ERRORS 64
/* Where others wait, as often in a row, at most. */
#define ADDS 4
/* And for so long, where they are to go far. */
#define PAUSES 8

static const char *
name_of(uint32_t name)
{
	static const char *const names[] = {NULL, "first", "second"};

	return names[name];
}

void
processes_check_error(struct user *user, const char *call, int error, int other, int another)
{
	user->is_orphan |= error == -ESHUTDOWN;
	sim_expect(error == 0 || error == other || error == another || error == -ENOSPC ||
			   (error == -ESHUTDOWN && user->number != PRIMARY) ||
			   (error == -EMFILE && processes.files != 0) || processes_lacks(user),
		"%s says error %d to %s", call, -error, user->name);
}

/* Nobody else knows it, or does anything to it. */
static bool
is_its_own(const struct handle *handle)
{
	return handle->name == 0 && !handle->worked &&
	       !processes_garbage_is_in(handle->cntr->fid.domain->engine.base_tsc);
}

static void
open_cntr(struct user *user, struct handle *handle, const struct act *act)
{
	bool finds = act->kind == ACT_FIND;
	struct trip_cntr_attr attr = {.size = sizeof(attr),
		.wait_obj = (enum trip_wait_obj)act->wait_obj,
		.name = finds ? name_of(1 + act->name % NAMES) : name_of(act->name)};
	uint64_t value;
	int error;

	sim_op("%s a counter", finds ? "finds" : "opens");
	processes_waits_join(user, act, &attr);
	processes_enter(user, finds ? "trip_cntr_find" : "trip_cntr_open", 0);
	error = finds ? trip_cntr_find(user->domain, &attr, &handle->cntr, handle)
		      : trip_cntr_open(user->domain, &attr, &handle->cntr, handle);
	processes_leave(user);
	processes_check_error(user, "the opening of a counter", error, -EEXIST, -ENOENT);
	if (error != 0) {
		handle->cntr = NULL;
		processes_waits_joined(user);
		return;
	}
	(void)processes_ledger(handle->cntr);
	handle->worked = false;
	handle->found = finds;
	handle->waitable = attr.wait_obj != TRIP_WAIT_NONE && attr.wait_obj != TRIP_WAIT_SET;
	handle->name = finds ? 1 : act->name;
	handle->value = 0;
	/* Of one that others may have found, they may have changed the value; whoever writes
	 * garbage, also of this one, and while it is read. */
	value = trip_cntr_read(handle->cntr);
	sim_expect(!is_its_own(handle) || value == 0, "a counter is new, and has counted");
	value = trip_cntr_readerr(handle->cntr);
	sim_expect(!is_its_own(handle) || value == 0, "a counter is new, and has failed");
	processes_waits_joined(user);
}

/* The library's function: what would be compiled in here would be no step. */
static int (*volatile add_to)(struct trip_cntr *cntr, uint64_t value) = trip_cntr_add;

static void
add(struct user *user, struct handle *handle, uint32_t value)
{
	struct ledger *ledger = processes_ledger(handle->cntr);
	uint64_t sum;
	int error;

	sim_op("adds %u", value);
	ledger->high += value;
	error = add_to(handle->cntr, value);
	processes_check_error(user, "an add", error, 0, 0);
	if (error != 0)
		return;
	ledger->low += value;
	handle->value += value;
	/* What was read is not due any more. */
	if (processes.waits)
		return;
	sum = trip_cntr_read(handle->cntr);
	sim_expect(!is_its_own(handle) || sum == handle->value,
		"%s alone has added, and it is another sum", user->name);
}

/* Other than by adding. */
static void
change(struct user *user, struct handle *handle, const struct act *act)
{
	struct ledger *ledger = processes_ledger(handle->cntr);
	uint64_t was;
	int error;

	sim_op("changes a counter");
	ledger->unrung++;
	switch (act->seed % 5) {
	case 0:
		ledger->vague = handle->worked = true;
		error = trip_cntr_set(handle->cntr, act->value);
		break;
	case 1:
		ledger->vague = handle->worked = true;
		error = trip_cntr_reset(handle->cntr, &was);
		break;
	case 2:
		error = trip_cntr_seterr(handle->cntr, ERRORS * ++processes.n_errors);
		break;
	default:
		error = trip_cntr_adderr(handle->cntr, 1);
	}
	ledger->unrung--;
	sim_progress();
	processes_check_error(user, "a change", error, 0, 0);
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
	if (!is_its_own(handle))
		return;
	sim_expect(result != 0 || handle->value >= act->value,
		"a wait has ended before its counter was there");
	sim_expect(result == 0 || result == -ESHUTDOWN || handle->value < act->value,
		"a counter is there, and a wait for it fails");
}

/* The user has found it by another handle, too, which goes on. */
static bool
has_another(const struct user *user, const struct handle *handle)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		const struct handle *other = &user->handles[i];

		if (other != handle && other->cntr != NULL && handle->found &&
			other->cntr->id == handle->cntr->id)
			return true;
	}
	return false;
}

static void
close_cntr(struct user *user, struct handle *handle)
{
	bool refers, another;
	uint64_t id;
	int error;

	if (handle->cntr == NULL)
		return;
	sim_op("closes a counter");
	another = has_another(user, handle);
	id = handle->cntr->id;
	refers = processes_waits_close(user, handle);
	refers |= processes_items_refer(user, handle->cntr) ||
		  processes_flows_feed(user, handle->cntr);
	processes_enter(user, "trip_cntr_close", 0);
	error = trip_cntr_close(handle->cntr);
	processes_leave(user);
	processes_check_error(user, "the closing of a counter", error,
		handle->name != 0 || refers ? -EBUSY : 0, 0);
	processes_waits_closed(user, handle, error);
	if (error != 0)
		return;
	handle->cntr = NULL;
	if (!another)
		processes_items_let_go(user, id, NULL);
}

/* Where it is to be waited for: another has opened it by now, or nobody has. */
static void
open_or_find(struct user *user, struct handle *handle, const struct act *act)
{
	struct act other = *act;

	open_cntr(user, handle, act);
	if (processes.waits && handle->cntr == NULL && act->name != 0) {
		other.kind = act->kind == ACT_FIND ? ACT_OPEN : ACT_FIND;
		other.name = act->kind == ACT_FIND ? 1 + act->name % NAMES : act->name - 1;
		open_cntr(user, handle, &other);
	}
	if (processes.waits && handle->cntr != NULL && act->seed % 2 == 0)
		add(user, handle, act->value);
}

/* So that others wake between these. */
static void
add_again(struct user *user, struct handle *handle, const struct act *act)
{
	for (uint32_t i = 0; i < 1 + act->seed / 4 % ADDS; i++) {
		add(user, handle, act->value);
		sim_progress();
		sim_op("lets others go on");
		for (uint32_t n = processes.lets_go_on ? act->delay % PAUSES : 0; n > 0; n--)
			sim_pause();
		sim_pause();
	}
}

struct handle *
processes_find_handle(struct user *user, uint32_t from, bool is_open)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		struct handle *handle = &user->handles[(from + i) % HANDLES];

		if ((handle->cntr != NULL) == is_open)
			return handle;
	}
	return NULL;
}

void
processes_act_on_cntr(struct user *user, const struct act *act)
{
	bool opens = act->kind == ACT_OPEN || act->kind == ACT_FIND;
	struct handle *handle = processes_find_handle(user, act->handle, !opens);

	if (processes.waits && !opens && act->kind != ACT_CLOSE && act->seed % 4 > 0)
		handle = processes_waits_for(user, handle, act->handle);
	if (handle == NULL)
		return;
	if (opens)
		open_or_find(user, handle, act);
	else if (act->kind == ACT_ADD && processes.waits)
		add_again(user, handle, act);
	else if (act->kind == ACT_ADD)
		add(user, handle, act->value);
	else if (act->kind == ACT_CHANGE)
		change(user, handle, act);
	else if (act->kind == ACT_WAIT)
		wait_for(user, handle, act);
	else if (act->kind == ACT_CLOSE)
		close_cntr(user, handle);
}

void
processes_close_of(struct user *user, uint64_t id)
{
	for (uint32_t i = 0; i < HANDLES; i++)
		if (user->handles[i].cntr != NULL && user->handles[i].cntr->id == id)
			close_cntr(user, &user->handles[i]);
}

void
processes_close_cntrs(struct user *user)
{
	processes_end_waits(user);
	processes_end_work(user);
	processes_end_flows(user);
	for (uint32_t i = 0; i < HANDLES; i++)
		close_cntr(user, &user->handles[i]);
	processes_end_sets(user);
}
