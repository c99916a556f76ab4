/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home never takes a lock of the application's: for a condition variable it writes the descriptor
 * of this process's helper thread, which locks, broadcasts and unlocks. An application that holds
 * its mutex keeps only its own waiters: the helper tries the others meanwhile (CNTR-08).
 *
 * A home writes a descriptor between the two ends of a signal only, so whoever has seen the slot
 * quiescent (W1 of waiter.h) may close it: its number can become any other file.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <trip_cntr.h>
#include <trip_error.h>

#include "domain.h"
#include "error.h"
#include "link.h"
#include "native.h"
#include "waiter.h"

/* How long the helper leaves a mutex that is held before it tries again. */
#define RETRY_NS 200000

int
trip_native_take_slot(struct trip_domain *domain, struct trip_home *home)
{
	uint32_t slot = trip_slots_take(&domain->waiters[home->index]);

	/* An attached process has those that it was given. */
	if (slot == TRIP_SLOTS_NONE && domain->link != NULL) {
		int error = trip_link_slots(domain, home->index);

		return error == 0 ? trip_native_take_slot(domain, home) : error;
	}
	if (slot != TRIP_SLOTS_NONE)
		return (int)slot;
	return trip_error_set(ENOSPC, "domain \"%s\": all %" PRIu32 " waiters are in use",
		domain->name, home->shape.n_waiters);
}

void
trip_native_give_slot(struct trip_domain *domain, struct trip_home *home, uint32_t slot)
{
	trip_waiter_disarm(home, slot);
	trip_slots_give(&domain->waiters[home->index], slot);
}

struct trip_waiter *
trip_native_waiter(const struct trip_native *native)
{
	return &native->home->waiters[native->slot];
}

/* Partner: the acquire load in waiter.c's signal_slot(); the arming that follows orders it too. */
static int
attach_fd(struct trip_native *native, int fd)
{
	int error = 0;

	/* Homes write descriptors of the primary's. */
	if (native->domain->link != NULL)
		error = trip_link_signal(native->domain, native->home->index, native->slot, fd);
	/* In an attached process, for the end of the primary. */
	atomic_store_explicit(&native->home->waiter_fds[native->slot], fd, memory_order_release);
	return error;
}

void
trip_native_drain(struct trip_native *native)
{
	uint32_t sequence = atomic_load(&trip_native_waiter(native)->sequence);
	uint64_t signals;

	/* What nobody has signalled since holds nothing. */
	if (native->kind != TRIP_WAIT_FD || sequence == native->drained)
		return;
	native->drained = sequence;
	if (read(native->fd, &signals, sizeof(signals)) < 0)
		errno = 0;
}

/* Tells whoever waits on a condition variable that was signalled. False where its mutex is held. */
static bool
tell(struct trip_native *native)
{
	uint32_t sequence = atomic_load(&trip_native_waiter(native)->sequence);

	if (sequence == native->told)
		return true;
	if (pthread_mutex_trylock(&native->mutex) != 0)
		return false;
	native->told = sequence;
	pthread_cond_broadcast(&native->cond);
	pthread_mutex_unlock(&native->mutex);
	return true;
}

/* Under the helper's lock. */
static bool
tell_all(struct trip_native_helper *helper)
{
	bool all = true;

	for (struct trip_native *native = helper->list; native != NULL; native = native->next)
		all &= tell(native);
	return all;
}

static void *
helper_main(void *arg)
{
	const struct timespec retry = {.tv_nsec = RETRY_NS};
	struct trip_native_helper *helper = arg;
	bool stop, all = true;
	uint64_t signals;

	do {
		/* A signal that comes after this is found by the next read. */
		if (!all)
			nanosleep(&retry, NULL);
		else if (read(helper->fd, &signals, sizeof(signals)) < 0 && errno != EINTR)
			return NULL;
		pthread_mutex_lock(&helper->lock);
		all = tell_all(helper);
		stop = helper->stop;
		pthread_mutex_unlock(&helper->lock);
	} while (!stop);
	return NULL;
}

/* Under the helper's lock. */
static int
start_helper(struct trip_domain *domain)
{
	struct trip_native_helper *helper = &domain->helper;
	sigset_t all, before;
	int error;

	if (helper->started)
		return 0;
	helper->fd = eventfd(0, EFD_CLOEXEC);
	if (helper->fd < 0) {
		error = errno;
		return trip_error_set(error,
			"domain \"%s\": no descriptor for its helper thread: %s", domain->name,
			trip_strerror(error));
	}
	/* The application's signals are not for this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&helper->thread, NULL, helper_main, helper);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		close(helper->fd);
		return trip_error_set(error, "domain \"%s\": its helper thread does not start: %s",
			domain->name, trip_strerror(error));
	}
	pthread_setname_np(helper->thread, "trip-helper");
	helper->started = true;
	return 0;
}

static int
open_cond(struct trip_native *native)
{
	struct trip_native_helper *helper = &native->domain->helper;
	int error;

	pthread_mutex_lock(&helper->lock);
	error = start_helper(native->domain);
	if (error == 0)
		error = attach_fd(native, helper->fd);
	if (error == 0) {
		pthread_mutex_init(&native->mutex, NULL);
		pthread_cond_init(&native->cond, NULL);
		native->told = atomic_load(&trip_native_waiter(native)->sequence);
		native->next = helper->list;
		helper->list = native;
	}
	pthread_mutex_unlock(&helper->lock);
	return error;
}

static void
close_cond(struct trip_native *native)
{
	struct trip_native_helper *helper = &native->domain->helper;
	struct trip_native **link = &helper->list;

	pthread_mutex_lock(&helper->lock);
	while (*link != native)
		link = &(*link)->next;
	*link = native->next;
	pthread_mutex_unlock(&helper->lock);
	pthread_cond_destroy(&native->cond);
	pthread_mutex_destroy(&native->mutex);
}

static int
open_fd(struct trip_native *native)
{
	int error;

	native->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (native->fd < 0) {
		error = errno;
		return trip_error_set(error, "domain \"%s\": no descriptor to wait on: %s",
			native->domain->name, trip_strerror(error));
	}
	native->drained = atomic_load(&trip_native_waiter(native)->sequence);
	error = attach_fd(native, native->fd);
	if (error != 0)
		close(native->fd);
	return error;
}

int
trip_native_open(struct trip_native *native, struct trip_domain *domain, struct trip_home *home,
	enum trip_wait_obj kind)
{
	int slot = trip_native_take_slot(domain, home), error = 0;

	if (slot < 0)
		return slot;
	*native = (struct trip_native){
		.domain = domain,
		.kind = kind,
		.home = home,
		.slot = (uint32_t)slot,
		.number = home->index * domain->engine.waiters_per_home + (uint32_t)slot,
		.fd = -1,
	};
	/* What signals its former owner is not for this one. */
	trip_waiter_quiesce(home, native->slot);
	if (kind == TRIP_WAIT_MUTEX_COND)
		error = open_cond(native);
	else if (kind == TRIP_WAIT_FD)
		error = open_fd(native);
	if (error != 0)
		trip_native_give_slot(domain, home, native->slot);
	return error;
}

void
trip_native_close(struct trip_native *native)
{
	trip_waiter_quiesce(native->home, native->slot);
	/* A primary that has ended writes nothing any more. */
	(void)attach_fd(native, -1);
	if (native->kind == TRIP_WAIT_MUTEX_COND)
		close_cond(native);
	if (native->kind == TRIP_WAIT_FD)
		close(native->fd);
	trip_native_give_slot(native->domain, native->home, native->slot);
}

int
trip_native_control(struct trip_native *native, int command, void *arg)
{
	if (command != TRIP_GETWAIT || arg == NULL)
		return trip_error_set(
			EINVAL, "control: command %d is unknown or has no argument", command);
	if (native->kind == TRIP_WAIT_FD) {
		*(int *)arg = native->fd;
		return 0;
	}
	if (native->kind == TRIP_WAIT_MUTEX_COND) {
		*(struct trip_mutex_cond *)arg = (struct trip_mutex_cond){
			.mutex = &native->mutex,
			.cond = &native->cond,
		};
		return 0;
	}
	return trip_error_set(
		ENOSYS, "control: wait object %d is not retrievable", (int)native->kind);
}

void
trip_native_fini(struct trip_domain *domain)
{
	struct trip_native_helper *helper = &domain->helper;
	uint64_t one = 1;

	if (!helper->started)
		return;
	pthread_mutex_lock(&helper->lock);
	helper->stop = true;
	pthread_mutex_unlock(&helper->lock);
	while (write(helper->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(helper->thread, NULL);
	close(helper->fd);
}
