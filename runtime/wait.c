/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting on counters. waiter.h has the protocol between a waiter and the home. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "cntr.h"
#include "error.h"
#include "progress.h"
#include "waiter.h"

#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

/* One call of trip_cntr_wait(). */
struct wait {
	struct trip_cntr *cntr;
	uint64_t threshold;
	/* The cell when the call began. */
	struct trip_cell_sample began;
	/* CLOCK_MONOTONIC nanoseconds; negative: never. */
	int64_t deadline;
};

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* 0, -EIO, -ETIMEDOUT, or -EAGAIN: wait on. */
static int
wait_look(const struct wait *wait)
{
	struct trip_cell_sample sample;

	trip_cell_sample(wait->cntr->cell, &sample);
	if (sample.success >= wait->threshold)
		return 0;
	if (sample.error != wait->began.error || sample.errgen != wait->began.errgen)
		return -EIO;
	if (wait->deadline >= 0 && now_ns() >= wait->deadline)
		return -ETIMEDOUT;
	return -EAGAIN;
}

static int
wait_yield(const struct wait *wait)
{
	int result;

	while ((result = wait_look(wait)) == -EAGAIN)
		trip_progress_wait(wait->cntr->fid.domain);
	return result;
}

/* Milliseconds to the deadline for poll(2), rounded up: it must not end early and spin. */
static int
wait_left_ms(const struct wait *wait)
{
	int64_t left;

	if (wait->deadline < 0)
		return -1;
	left = wait->deadline - now_ns();
	return left <= 0 ? 0 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

static int
wait_sleep(const struct wait *wait, struct trip_home *home, uint32_t waiter)
{
	struct pollfd fd = {
		.fd = atomic_load_explicit(&home->waiter_fds[waiter], memory_order_relaxed),
		.events = POLLIN,
	};
	uint64_t drained;
	int result;

	while ((result = wait_look(wait)) == -EAGAIN) {
		trip_waiter_arm(home, waiter, wait->cntr->local, wait->threshold, &wait->began);
		if (poll(&fd, 1, wait_left_ms(wait)) > 0 &&
			read(fd.fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
			return trip_error_set(
				errno, "waiter %" PRIu32 ": its descriptor is broken", waiter);
	}
	return result;
}

static int
wait_fd(const struct wait *wait)
{
	struct trip_domain *domain = wait->cntr->fid.domain;
	struct trip_home *home = wait->cntr->home;
	int waiter, result;

	/* Nobody else may be progressing a domain that is progressed by hand (WAIT-11). */
	if (domain->attr.progress == TRIP_PROGRESS_MANUAL)
		return wait_yield(wait);
	waiter = trip_cntr_take_waiter(domain, home);
	/* Never refused: without a slot it polls and yields (CNTR-17). */
	if (waiter < 0)
		return wait_yield(wait);
	result = wait_sleep(wait, home, (uint32_t)waiter);
	trip_cntr_give_waiter(domain, home, (uint32_t)waiter);
	return result;
}

static int
check_wait(struct trip_cntr *cntr, uint64_t threshold)
{
	char label[TRIP_CNTR_LABEL_SIZE];

	trip_cntr_label(cntr, label, sizeof(label));
	if (cntr->fid.wait_obj == TRIP_WAIT_NONE)
		return trip_error_set(EINVAL, "%s: its wait object is NONE", label);
	if (threshold > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL,
			"%s: threshold %" PRIu64 " is above the limit %" PRIu64, label, threshold,
			(uint64_t)TRIP_CNTR_MAX);
	if (trip_domain_on_home(cntr->fid.domain))
		return trip_error_set(
			EDEADLK, "%s: waited for by the home that would progress it", label);
	return 0;
}

int
trip_cntr_wait(struct trip_cntr *cntr, uint64_t threshold, int timeout)
{
	struct wait wait = {.cntr = cntr, .threshold = threshold, .deadline = -1};
	int result = check_wait(cntr, threshold);

	if (result != 0)
		return result;
	trip_cell_sample(cntr->cell, &wait.began);
	if (timeout >= 0)
		wait.deadline = timeout == 0 ? 0 : now_ns() + (int64_t)timeout * NS_PER_MS;
	result = wait_look(&wait);
	if (result != -EAGAIN)
		return result;
	atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
	result = cntr->fid.wait_obj == TRIP_WAIT_FD ? wait_fd(&wait) : wait_yield(&wait);
	/* Release: whoever closes the counter sees us gone from it. */
	atomic_fetch_sub_explicit(&cntr->refs, 1, memory_order_release);
	return result;
}

int
trip_cntr_arm(struct trip_cntr *cntr, uint64_t threshold)
{
	struct trip_cell_sample sample;
	char label[TRIP_CNTR_LABEL_SIZE];
	int error = check_wait(cntr, threshold);

	if (error != 0 && error != -EDEADLK)
		return error;
	if (cntr->waiter == TRIP_NONE)
		return trip_error_set(EINVAL, "%s: its wait object is not FD",
			trip_cntr_label(cntr, label, sizeof(label)));
	trip_cell_sample(cntr->cell, &sample);
	/* An error that landed since the handle last read is a change to tell, too. */
	sample.error = atomic_load_explicit(&cntr->read_error, memory_order_relaxed);
	trip_waiter_arm(cntr->home, cntr->waiter, cntr->local, threshold, &sample);
	return 0;
}

int
trip_cntr_control(struct trip_cntr *cntr, int command, void *arg)
{
	char label[TRIP_CNTR_LABEL_SIZE];

	trip_cntr_label(cntr, label, sizeof(label));
	if (command != TRIP_GETWAIT || arg == NULL)
		return trip_error_set(
			EINVAL, "%s: command %d is unknown or has no argument", label, command);
	if (cntr->fid.wait_obj != TRIP_WAIT_FD)
		return trip_error_set(ENOSYS, "%s: its wait object is not retrievable", label);
	*(int *)arg =
		atomic_load_explicit(&cntr->home->waiter_fds[cntr->waiter], memory_order_relaxed);
	return 0;
}

static int
check_fids(struct trip_domain *domain, struct trip_fid *const *fids, size_t count)
{
	if (fids == NULL || count == 0)
		return trip_error_set(EINVAL, "trywait: no object is given");
	for (size_t i = 0; i < count; i++) {
		if (fids[i] == NULL)
			return trip_error_set(EINVAL, "trywait: object %zu is NULL", i);
		if (fids[i]->domain != domain)
			return trip_error_set(EXDEV, "trywait: object %zu is of another domain", i);
		if (fids[i]->wait_obj != fids[0]->wait_obj)
			return trip_error_set(EINVAL,
				"trywait: object %zu has wait object %d, object 0 has %d", i,
				(int)fids[i]->wait_obj, (int)fids[0]->wait_obj);
	}
	if (fids[0]->wait_obj != TRIP_WAIT_FD)
		return trip_error_set(
			EINVAL, "trywait: the objects have no descriptors to block on");
	return 0;
}

static int
trywait_cntr(struct trip_cntr *cntr)
{
	int fd = atomic_load_explicit(&cntr->home->waiter_fds[cntr->waiter], memory_order_relaxed);
	struct trip_cell_sample sample;
	uint64_t drained;

	if (trip_cntr_is_due(cntr, &sample))
		return -EAGAIN;
	/* No answer to an older request may come after the drain, but for one late write. */
	trip_waiter_disarm(cntr->home, cntr->waiter);
	if (read(fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
		return trip_error_set(
			errno, "cntr %" PRIu32 ": its descriptor is broken", cntr->global);
	trip_waiter_arm(cntr->home, cntr->waiter, cntr->local, TRIP_WAITER_ANY, &sample);
	return 0;
}

int
trip_trywait(struct trip_domain *domain, struct trip_fid *const *fids, size_t count)
{
	int result = check_fids(domain, fids, count);

	if (result != 0)
		return result;
	if (domain->attr.progress == TRIP_PROGRESS_MANUAL)
		(void)trip_progress(domain);
	/* All of them, also behind one that is due: each may be blocked on next time. */
	for (size_t i = 0; i < count; i++) {
		/* The fid is what a counter begins with. */
		int one = trywait_cntr((struct trip_cntr *)fids[i]);

		if (result == 0)
			result = one;
	}
	return result;
}
