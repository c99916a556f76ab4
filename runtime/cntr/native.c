/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A home never takes a lock of the application's: for a condition variable it writes the descriptor
 * of this process's helper thread, which locks, broadcasts and unlocks. An application that holds
 * its mutex keeps only its own waiters: the helper tries the others meanwhile (CNTR-08).
 *
 * A home writes a descriptor between the two ends of a signal only, so whoever has seen the slot
 * quiescent (W1 of waiter.h) may close it: its number can become any other file.
 *
 * In the primary a descriptor is an eventfd. An attached process has one end of a pair of sockets,
 * and homes the other: nothing that it does to its own can make them wait, and with the primary it
 * ends, and is ready for good (WAIT-12).
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cntr/native.h"
#include "domain/backend.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "domain/thread.h"
#include "waiter.h"

/* How long the helper leaves a mutex that is held before it tries again. */
#define RETRY_NS 200000

int
trip_native_take_slot(struct trip_domain *domain, struct trip_home *home, bool wait)
{
	uint32_t slot = trip_slots_take(&domain->waiters[home->index]);

	return slot != TRIP_SLOTS_NONE
		       ? (int)slot
		       : domain->backend->native->take_slot(domain, home->index, wait);
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
static void
publish_fd(struct trip_native *native, int fd)
{
	atomic_store_explicit(&native->home->waiter_fds[native->slot], fd, memory_order_release);
}

static int
no_slot(struct trip_domain *domain, uint32_t home, bool wait)
{
	return trip_error_set(ENOSPC, "domain \"%s\": all %" PRIu32 " waiters are in use",
		domain->name, domain->engine.homes[home]->shape.n_waiters);
}

static int
open_eventfd(const struct trip_domain *domain, int flags, int *fd)
{
	*fd = eventfd(0, flags | EFD_CLOEXEC);
	return *fd >= 0 ? 0
			: trip_error_system(
				  errno, "domain \"%s\": no descriptor to wait on", domain->name);
}

static int
open_fd_local(struct trip_native *native)
{
	return open_eventfd(native->domain, EFD_NONBLOCK, &native->fd);
}

static int
open_helper_fd_local(struct trip_native *native, int *fd)
{
	return *fd < 0 ? open_eventfd(native->domain, 0, fd) : 0;
}

/* Its descriptor has been taken from its slot. */
static void
silence_local(struct trip_native *native)
{
}

/* An eventfd holds all signals in one. */
static void
drain_local(struct trip_native *native, uint32_t sequence)
{
	uint64_t signals;
	int before = errno;
	ssize_t got = read(native->fd, &signals, sizeof(signals));

	(void)got;
	errno = before;
}

const struct trip_native_backend trip_native_local = {
	.take_slot = no_slot,
	.open_fd = open_fd_local,
	.open_helper_fd = open_helper_fd_local,
	.silence = silence_local,
	.drain = drain_local,
	.interrupt = trip_thread_tell,
};

void
trip_native_drain(struct trip_native *native)
{
	uint32_t sequence = atomic_load(&trip_native_waiter(native)->sequence);

	/* What nobody has signalled since holds nothing. */
	if (native->kind != TRIP_WAIT_FD || sequence == native->drained)
		return;
	native->domain->backend->native->drain(native, sequence);
	native->drained = sequence;
}

/* Tells whoever waits on a condition variable that was signalled; each of them where the domain is
 * detached, whose memory may be gone. False where its mutex is held. */
static bool
tell(struct trip_native *native, bool detached)
{
	uint32_t sequence =
		detached ? native->told : atomic_load(&trip_native_waiter(native)->sequence);

	if (sequence == native->told && !detached)
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
	/* Partner: trip_native_rest(), by the lock. */
	bool detached = atomic_load(&helper->domain->detached), all = true;

	for (struct trip_native *native = helper->list; native != NULL; native = native->next)
		all &= tell(native, detached);
	return all;
}

/* False: no signal comes any more. */
static bool
await_signal(const struct trip_native_helper *helper)
{
	uint64_t signals;
	ssize_t got;

	do
		got = read(helper->fd, &signals, sizeof(signals));
	while (got < 0 && errno == EINTR);
	return got > 0;
}

static void *
helper_main(void *arg)
{
	const struct timespec retry = {.tv_nsec = RETRY_NS};
	struct trip_native_helper *helper = arg;
	bool stop, all = true, ended = false, refused;

	do {
		/* A signal that comes after this is found by the next one that is awaited. */
		if (all && !ended)
			ended = !await_signal(helper);
		else
			nanosleep(&retry, NULL);
		/* Whoever is told of the end finds it, and waits no more. */
		refused = ended && atomic_load(&helper->domain->detached);
		pthread_mutex_lock(&helper->lock);
		all = tell_all(helper);
		stop = helper->stop;
		pthread_mutex_unlock(&helper->lock);
	} while (!stop && !(refused && all));
	return NULL;
}

/* Under the helper's lock. */
static int
open_helper(struct trip_native *native)
{
	struct trip_native_helper *helper = &native->domain->helper;
	int error = native->domain->backend->native->open_helper_fd(native, &helper->fd);

	if (error != 0 || helper->started)
		return error;
	error = trip_thread_start(&helper->thread, "trip-helper", helper_main, helper);
	helper->started = error == 0;
	if (error != 0) {
		close(helper->fd);
		helper->fd = -1;
	}
	return error;
}

static int
open_cond(struct trip_native *native)
{
	struct trip_native_helper *helper = &native->domain->helper;
	int error;

	pthread_mutex_lock(&helper->lock);
	error = open_helper(native);
	if (error == 0) {
		publish_fd(native, helper->fd);
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
	int error = native->domain->backend->native->open_fd(native);

	if (error != 0)
		return error;
	native->drained = atomic_load(&trip_native_waiter(native)->sequence);
	publish_fd(native, native->fd);
	return 0;
}

int
trip_native_open(struct trip_native *native, struct trip_domain *domain, struct trip_home *home,
	enum trip_wait_obj kind)
{
	int slot = trip_native_take_slot(domain, home, true), error = 0;

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
	if (error != 0) {
		/* It may have one already, of the common socket. */
		domain->backend->native->silence(native);
		trip_native_give_slot(domain, home, native->slot);
	}
	return error;
}

void
trip_native_close(struct trip_native *native)
{
	trip_waiter_quiesce(native->home, native->slot);
	/* The watcher of an attached process shuts down, under the lock, what it finds in slots
	 * when the primary ends: behind it, it does not have this one in hand. */
	pthread_mutex_lock(&native->domain->lock);
	publish_fd(native, -1);
	pthread_mutex_unlock(&native->domain->lock);
	native->domain->backend->native->silence(native);
	if (native->kind == TRIP_WAIT_MUTEX_COND)
		close_cond(native);
	if (native->kind == TRIP_WAIT_FD)
		close(native->fd);
	trip_native_give_slot(native->domain, native->home, native->slot);
}

int
trip_native_control(struct trip_native *native, enum trip_wait_obj kind, int command, void *arg)
{
	const struct trip_mutex_cond own = {.mutex = &native->mutex, .cond = &native->cond};

	if (command != TRIP_GETWAIT || arg == NULL)
		return trip_error_set(
			EINVAL, "control: command %d is unknown or has no argument", command);
	if (kind == TRIP_WAIT_FD) {
		*(int *)arg = native->fd;
		return 0;
	}
	if (kind == TRIP_WAIT_MUTEX_COND)
		return TRIP_SIZED_GIVE(trip_mutex_cond, (struct trip_mutex_cond *)arg, &own);
	return trip_error_set(ENOSYS, "control: wait object %d is not retrievable", (int)kind);
}

static void
stop_helper(struct trip_native_helper *helper)
{
	pthread_mutex_lock(&helper->lock);
	helper->stop = true;
	pthread_mutex_unlock(&helper->lock);
	helper->domain->backend->native->interrupt(helper->fd);
	pthread_join(helper->thread, NULL);
}

void
trip_native_rest(struct trip_domain *domain)
{
	/* It has read on before this, or finds the end behind it. */
	pthread_mutex_lock(&domain->helper.lock);
	pthread_mutex_unlock(&domain->helper.lock);
}

void
trip_native_fini(struct trip_domain *domain)
{
	struct trip_native_helper *helper = &domain->helper;

	if (!helper->started)
		return;
	stop_helper(helper);
	close(helper->fd);
}
