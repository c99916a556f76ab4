/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait by the descriptor or the condition variable of a counter or a set: in the two
 * loops of trip_wait.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "domain/domain.h"
#include "processes_waits.h"

/* So often one may be told that something is due, when nothing is: its home may be stopped. */
#define VAIN 64

struct object {
	struct trip_fid *fid;
	int fd;
	struct trip_mutex_cond own;
};

static bool
take_object(struct waiter *waiter, struct object *object)
{
	struct trip_wait_set *set = waiter->set != NULL ? waiter->set->set : NULL;
	struct trip_cntr *cntr = set == NULL ? waiter->handle->cntr : NULL;
	bool is_fd;
	void *to;
	int error;

	object->own.size = sizeof(object->own);
	object->fid = set != NULL ? trip_wait_fid(set) : trip_cntr_fid(cntr);
	object->fd = -1;
	is_fd = object->fid->wait_obj == TRIP_WAIT_FD;
	to = is_fd ? (void *)&object->fd : &object->own;
	error = set != NULL ? trip_wait_control(set, TRIP_GETWAIT, to)
			    : trip_cntr_control(cntr, TRIP_GETWAIT, to);
	sim_expect(error == 0 || error == -ESHUTDOWN, "what to wait by is not to be had: error %d",
		-error);
	if (error == 0 && !is_fd)
		pthread_mutex_lock(object->own.mutex);
	return processes_waiter_goes_on(waiter, "TRIP_GETWAIT", error);
}

static void
leave_object(const struct object *object)
{
	if (object->fd < 0)
		pthread_mutex_unlock(object->own.mutex);
}

/* True: the descriptor is ready; and not for good, as with the primary's end. */
static bool
poll_fd(const struct waiter *waiter, int fd, int ms)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, ms) > 0 && (entry.revents & (POLLHUP | POLLERR)) == 0 &&
	       !processes_waits_is_orphan(waiter->user);
}

/* As poll_fd(). */
static bool
block(struct waiter *waiter, const struct object *object)
{
	bool ready = false;

	/* Whoever stops it has changed the error by now, or is about to. */
	waiter->state = WAITER_BLOCKS;
	if (object->fd >= 0)
		ready = poll_fd(waiter, object->fd, -1);
	else
		pthread_cond_wait(object->own.cond, object->own.mutex);
	waiter->state = WAITER_AWAKE;
	if (object->fd >= 0 && !ready)
		sim_pause();
	return ready;
}

static int
ask(struct waiter *waiter, const struct object *object)
{
	const struct user *user = waiter->user;
	struct trip_cell_sample before[HANDLES], after[HANDLES];
	bool was_due = processes_waits_is_due(user, waiter->handle, waiter->set), is_due, same;
	int result;

	processes_waits_sample(user, before);
	result = trip_trywait(object->fid->domain, (struct trip_fid *const *)&object->fid, 1);
	is_due = processes_waits_is_due(user, waiter->handle, waiter->set);
	processes_waits_sample(user, after);
	sim_expect(result == 0 || result == -EAGAIN || result == -ESHUTDOWN,
		"trip_trywait() says error %d", -result);
	same = memcmp(before, after, sizeof(before)) == 0;
	sim_expect(result != 0 || !was_due || !is_due || !same || processes_waiter_shares(waiter),
		"something is due, and trip_trywait() says that it is safe to block");
	waiter->vain = result == -EAGAIN && !was_due && !is_due && same ? waiter->vain + 1 : 0;
	sim_expect(waiter->vain < VAIN, "nothing is due, and trip_trywait() says so again and "
					"again");
	if (waiter->vain > 0)
		sim_pause();
	return result;
}

bool
processes_waiter_await_change(struct waiter *waiter)
{
	struct object object;
	int result;

	sim_op("waits natively for any change");
	processes_waiter_read(waiter);
	/* It may have read the error by which it is stopped. */
	if (waiter->stops)
		return false;
	if (!take_object(waiter, &object))
		return false;
	result = ask(waiter, &object);
	/* WAIT-08: what was consumed makes nothing ready. */
	if (result == 0 && object.fd >= 0 && poll_fd(waiter, object.fd, 0))
		sim_expect(processes_waiter_moved(waiter),
			"nothing has changed, and a descriptor is readable");
	if (result == 0 && block(waiter, &object))
		sim_expect(processes_waiter_moved(waiter),
			"nothing has changed, and a descriptor wakes");
	leave_object(&object);
	return processes_waiter_goes_on(waiter, "trip_trywait()", result);
}

/* --- for thresholds --- */

/* What it is armed for has come; or the counter was set, or is just being set. */
static bool
is_reached(const struct waiter *waiter)
{
	const struct trip_cell_sample *before =
		&waiter->read[waiter->handle - waiter->user->handles];
	struct trip_cell_sample now = processes_waiter_sample(waiter);

	return processes_waits_is_unrung(waiter->handle) || now.success >= waiter->threshold ||
	       now.error != waiter->errors || now.errgen != before->errgen ||
	       now.setgen != before->setgen;
}

/* True: it is to block; otherwise there is another threshold. */
static bool
looks_in_vain(struct waiter *waiter)
{
	struct trip_cntr *cntr = waiter->handle->cntr;
	uint64_t success = trip_cntr_read(cntr), errors = trip_cntr_readerr(cntr);

	if (success < waiter->threshold && errors == waiter->errors)
		return true;
	waiter->threshold = success + 1 + waiter->step;
	waiter->errors = errors;
	return false;
}

/* Drains, arms, looks, and blocks: -EAGAIN: the counter's home is stopped. */
static int
drain_and_arm(struct waiter *waiter, const struct object *object, bool *is_quiet)
{
	struct trip_cell_sample before = processes_waiter_sample(waiter), after;
	int result = trip_trywait(object->fid->domain, (struct trip_fid *const *)&object->fid, 1);

	sim_expect(result == 0 || result == -EAGAIN || result == -ESHUTDOWN,
		"trip_trywait() says error %d", -result);
	*is_quiet = result == 0;
	if (result == -ESHUTDOWN)
		return result;
	result = trip_cntr_arm(waiter->handle->cntr, waiter->threshold);
	sim_expect(result == 0 || result == -EAGAIN || result == -ESHUTDOWN,
		"trip_cntr_arm() says error %d", -result);
	after = processes_waiter_sample(waiter);
	/* Nothing has answered what trip_trywait() had asked for. */
	*is_quiet = *is_quiet && processes_waits_is_same(&before, &after);
	return result;
}

bool
processes_waiter_await_threshold(struct waiter *waiter)
{
	struct object object;
	bool is_quiet;
	int result;

	sim_op("waits natively for %llu", (unsigned long long)waiter->threshold);
	processes_waits_sample(waiter->user, waiter->read);
	if (!take_object(waiter, &object))
		return false;
	result = drain_and_arm(waiter, &object, &is_quiet);
	if (result == 0 && looks_in_vain(waiter) && block(waiter, &object) && is_quiet)
		sim_expect(is_reached(waiter), "nobody has reached %llu, and a descriptor wakes",
			(unsigned long long)waiter->threshold);
	leave_object(&object);
	if (result == -EAGAIN)
		sim_pause();
	return processes_waiter_goes_on(waiter, "trip_cntr_arm()", result);
}
