/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The waiters of stress-engine: one for each wait object and for wait sets of each. They sleep
 * until the last update of a phase, which is one for each of them, and nobody helps one that missed
 * it.
 */
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine_threads.h"
#include "waits.h"

#define MEMBERS 3
/* What the last update sets; no other comes near. */
#define LAST (UINT64_C(1) << 40)

static struct waiter {
	const char *name;
	enum trip_wait_obj wait_obj;
	bool is_set;
	struct trip_wait_set *set;
	struct trip_cntr *cntr[MEMBERS];
	unsigned int n_cntrs;
	struct trip_fid *fid;
	int fd, epoll_fd;
	struct trip_mutex_cond cond;
	struct trip_random random;
	uint64_t success[MEMBERS], error[MEMBERS];
	_Atomic uint64_t changes;
	_Atomic bool woken;
	pthread_t thread;
} waiters[] = {
	{"UNSPEC", TRIP_WAIT_UNSPEC, false},
	{"FD", TRIP_WAIT_FD, false},
	{"MUTEX_COND", TRIP_WAIT_MUTEX_COND, false},
	{"YIELD", TRIP_WAIT_YIELD, false},
	{"set of UNSPEC", TRIP_WAIT_UNSPEC, true},
	{"set of FD", TRIP_WAIT_FD, true},
	{"set of MUTEX_COND", TRIP_WAIT_MUTEX_COND, true},
	{"set of YIELD", TRIP_WAIT_YIELD, true},
};

#define WAITERS (sizeof(waiters) / sizeof(*waiters))

static bool
is_native(const struct waiter *waiter)
{
	return waiter->wait_obj == TRIP_WAIT_FD || waiter->wait_obj == TRIP_WAIT_MUTEX_COND;
}

static void
retrieve(struct waiter *waiter)
{
	struct epoll_event event = {.events = EPOLLIN};
	void *arg = waiter->wait_obj == TRIP_WAIT_FD ? (void *)&waiter->fd : (void *)&waiter->cond;
	waiter->cond.size = sizeof(waiter->cond);

	if (!is_native(waiter))
		return;
	if (waiter->is_set)
		assert_int_equal(trip_wait_control(waiter->set, TRIP_GETWAIT, arg), 0);
	else
		assert_int_equal(trip_cntr_control(waiter->cntr[0], TRIP_GETWAIT, arg), 0);
	if (waiter->wait_obj != TRIP_WAIT_FD)
		return;
	waiter->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(epoll_ctl(waiter->epoll_fd, EPOLL_CTL_ADD, waiter->fd, &event), 0);
}

void
engine_waiters_open(void)
{
	for (unsigned int i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waiters[i];

		waiter->random.state = harness_seed + 1000 * (i + 1);
		waiter->n_cntrs = waiter->is_set ? MEMBERS : 1;
		if (waiter->is_set) {
			waiter->set = waits_set(waiter->wait_obj);
			waiter->fid = trip_wait_fid(waiter->set);
		}
		for (unsigned int m = 0; m < waiter->n_cntrs; m++)
			waiter->cntr[m] = waiter->is_set ? waits_member(waiter->set)
							 : harness_cntr(waiter->wait_obj);
		if (!waiter->is_set)
			waiter->fid = trip_cntr_fid(waiter->cntr[0]);
		waiter->epoll_fd = -1;
		retrieve(waiter);
	}
}

void
engine_waiters_close(void)
{
	for (unsigned int i = 0; i < WAITERS; i++) {
		for (unsigned int m = 0; m < waiters[i].n_cntrs; m++)
			harness_cntr_close(waiters[i].cntr[m]);
		if (waiters[i].is_set)
			assert_int_equal(trip_wait_close(waiters[i].set), 0);
		if (waiters[i].epoll_fd >= 0)
			close(waiters[i].epoll_fd);
	}
}

/* Reads all that it waits for; true once the last update has come. */
static bool
read_all(struct waiter *waiter)
{
	bool last = false, changed = false;

	for (unsigned int m = 0; m < waiter->n_cntrs; m++) {
		changed |= waits_read(waiter->cntr[m], &waiter->success[m], &waiter->error[m]);
		last |= waiter->success[m] >= LAST;
	}
	if (changed)
		atomic_fetch_add(&waiter->changes, 1);
	else
		/* A member is due that somebody else has opened, and will close. */
		sched_yield();
	return last;
}

static void
wait_by_call(struct waiter *waiter)
{
	uint64_t errgen = trip_cntr_errgen(waiter->cntr[0]);
	uint64_t threshold = waiter->success[0] + 1 + trip_random_below(&waiter->random, 20);
	bool from = trip_random_below(&waiter->random, 2) == 0;
	int result;

	if (waiter->is_set)
		result = trip_wait(waiter->set, -1);
	else if (from)
		result = trip_cntr_wait_from(waiter->cntr[0], threshold, errgen, -1);
	else
		result = trip_cntr_wait(waiter->cntr[0], threshold, -1);
	assert_true(result == 0 || (!waiter->is_set && result == -EIO));
}

static void
block(struct waiter *waiter)
{
	struct pollfd entry = {.fd = waiter->fd, .events = POLLIN};
	bool epoll = trip_random_below(&waiter->random, 2) == 0;
	struct epoll_event event;
	int n;

	if (waiter->wait_obj == TRIP_WAIT_MUTEX_COND) {
		pthread_cond_wait(waiter->cond.cond, waiter->cond.mutex);
		return;
	}
	do
		n = epoll ? epoll_wait(waiter->epoll_fd, &event, 1, -1) : poll(&entry, 1, -1);
	while (n != 1);
}

static void
wait_natively(struct waiter *waiter)
{
	bool locks = waiter->wait_obj == TRIP_WAIT_MUTEX_COND;

	if (locks)
		pthread_mutex_lock(waiter->cond.mutex);
	if (waits_try(waiter->fid) == 0) {
		/* Instead of any change. */
		if (!waiter->is_set && trip_random_below(&waiter->random, 2) == 0)
			assert_int_equal(trip_cntr_arm(waiter->cntr[0],
						 waiter->success[0] + 1 +
							 trip_random_below(&waiter->random, 20)),
				0);
		block(waiter);
	}
	if (locks)
		pthread_mutex_unlock(waiter->cond.mutex);
}

static void *
wait_on(void *arg)
{
	struct waiter *waiter = arg;

	engine_run_anywhere();
	while (!read_all(waiter)) {
		if (is_native(waiter) && trip_random_below(&waiter->random, 4) != 0)
			wait_natively(waiter);
		else
			wait_by_call(waiter);
	}
	atomic_store(&waiter->woken, true);
	return NULL;
}

void
engine_waiters_begin(void)
{
	for (unsigned int i = 0; i < WAITERS; i++) {
		for (unsigned int m = 0; m < waiters[i].n_cntrs; m++)
			trip_cntr_set(waiters[i].cntr[m], 0);
		atomic_store(&waiters[i].woken, false);
		assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_on, &waiters[i]), 0);
	}
}

void
engine_waiters_update(struct worker *worker)
{
	struct waiter *waiter = &waiters[below(worker, WAITERS)];
	struct trip_cntr *cntr = waiter->cntr[below(worker, waiter->n_cntrs)];

	switch (below(worker, 8)) {
	case 0:
		trip_cntr_adderr(cntr, 1);
		break;
	case 1:
		trip_cntr_seterr(cntr, below(worker, 10));
		break;
	case 2:
		trip_cntr_set(cntr, below(worker, 1000));
		break;
	default:
		trip_cntr_add(cntr, 1 + below(worker, 10));
	}
}

uint64_t
engine_waiters_end(struct worker *worker)
{
	uint64_t changes = 0;

	for (unsigned int i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waiters[i];

		trip_cntr_set(waiter->cntr[below(worker, waiter->n_cntrs)], LAST);
	}
	for (unsigned int i = 0; i < WAITERS; i++) {
		while (!atomic_load(&waiters[i].woken))
			harness_step();
		pthread_join(waiters[i].thread, NULL);
		changes += atomic_exchange(&waiters[i].changes, 0);
	}
	return changes;
}

struct trip_wait_set *
engine_waiters_set(struct worker *worker)
{
	return waiters[WAITERS / 2 + below(worker, WAITERS / 2)].set;
}

void
engine_waiters_tell(void)
{
	for (unsigned int i = 0; i < WAITERS; i++)
		if (!atomic_load(&waiters[i].woken))
			dprintf(STDERR_FILENO, "%s: asleep or not done, %" PRIu64 " changes seen\n",
				waiters[i].name, atomic_load(&waiters[i].changes));
}
