/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting. Twins of libfabric's wait objects and fi_trywait(); see fi_poll(3).
 *
 * Whoever waits natively, by the descriptor of a counter, does it in one of two loops. For any
 * change: read, ask, and block only where it is safe.
 *
 * @code
 * static void
 * for_each_change(struct trip_domain *domain, struct trip_cntr *cntr,
 *	bool (*changed)(uint64_t success, uint64_t error))
 * {
 *	struct trip_fid *fid = trip_cntr_fid(cntr);
 *	struct pollfd entry = {.events = POLLIN};
 *
 *	trip_cntr_control(cntr, TRIP_GETWAIT, &entry.fd);
 *	while (changed(trip_cntr_read(cntr), trip_cntr_readerr(cntr)))
 *		if (trip_trywait(domain, &fid, 1) == 0)
 *			poll(&entry, 1, -1);
 * }
 * @endcode
 *
 * For thresholds, of a counter that may change all the time in between: drain, arm, and look at
 * last, so that what is reached meanwhile is seen. The order matters: trip_cntr_arm() does not
 * drain, and what was signalled before is a wake for nothing; whether trip_trywait() finds anything
 * due does not.
 *
 * @code
 * static void
 * for_each_multiple(struct trip_domain *domain, struct trip_cntr *cntr, uint64_t step,
 *	bool (*reached)(uint64_t success, uint64_t error))
 * {
 *	struct trip_fid *fid = trip_cntr_fid(cntr);
 *	struct pollfd entry = {.events = POLLIN};
 *	uint64_t threshold = step, errors = 0;
 *
 *	trip_cntr_control(cntr, TRIP_GETWAIT, &entry.fd);
 *	for (;;) {
 *		uint64_t success, error;
 *
 *		(void)trip_trywait(domain, &fid, 1);
 *		trip_cntr_arm(cntr, threshold);
 *		success = trip_cntr_read(cntr);
 *		error = trip_cntr_readerr(cntr);
 *		if (success < threshold && error == errors) {
 *			poll(&entry, 1, -1);
 *			continue;
 *		}
 *		if (!reached(success, error))
 *			return;
 *		threshold = success - success % step + step;
 *		errors = error;
 *	}
 * }
 * @endcode
 */
#ifndef TRIP_WAIT_H
#define TRIP_WAIT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;
struct trip_fid;
struct trip_wait_set;

/** How one waits on an object (CNTR-04). */
enum trip_wait_obj {
	/** Nobody waits (CNTR-16). */
	TRIP_WAIT_NONE = 0,
	/** By the library's calls only; it chooses how (CNTR-05). */
	TRIP_WAIT_UNSPEC,
	/** Of a counter: by the wait set that it is a member of (CNTR-06). */
	TRIP_WAIT_SET,
	/** By a file descriptor that works in select, poll and epoll (CNTR-07). */
	TRIP_WAIT_FD,
	/** By a mutex and a condition variable of the calling process (CNTR-08). */
	TRIP_WAIT_MUTEX_COND,
	/** By spinning and yielding the processor (CNTR-09). */
	TRIP_WAIT_YIELD,
};

/** Commands of trip_cntr_control() and trip_wait_control(). */
enum trip_control {
	/**
	 * Retrieves the wait object: with TRIP_WAIT_FD, arg is an `int *` for the descriptor, with
	 * TRIP_WAIT_MUTEX_COND a `struct trip_mutex_cond *`.
	 */
	TRIP_GETWAIT = 1,
};

/**
 * The wait object of TRIP_WAIT_MUTEX_COND. The helper thread of the process locks the mutex and
 * broadcasts; so hold the mutex from trip_trywait() to pthread_cond_wait(). Both are the library's
 * to destroy.
 */
struct trip_mutex_cond {
	/** sizeof(struct trip_mutex_cond), set by the caller. */
	size_t size;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
};

/** Attributes of a wait set. */
struct trip_wait_attr {
	/** sizeof(struct trip_wait_attr). */
	size_t size;
	/** UNSPEC, FD, MUTEX_COND or YIELD (WAIT-01). */
	enum trip_wait_obj wait_obj;
	/** Must be 0. */
	uint64_t flags;
};

/**
 * Opens a wait set (fi_wait_open). Counters opened with TRIP_WAIT_SET and this set are its members;
 * with TRIP_WAIT_FD it has one descriptor, however many there are (WAIT-01). Any thread.
 *
 * @return
 *   0, or -EINVAL: no such wait object for a set, flags, an unknown attribute size;
 *   -ENOSPC: the domain's `max_waiters` are in use; -EMFILE: no descriptor is left; -ETOOMANYREFS:
 *   the primary can send none now, as trip_cntr_open(); -ENOMEM.
 */
int trip_wait_open(
	struct trip_domain *domain, const struct trip_wait_attr *attr, struct trip_wait_set **set);

/**
 * Closes a wait set: 0, or -EBUSY while it has members, or a thread is blocked in trip_wait() on
 * it; nothing has changed then (WAIT-02). What TRIP_GETWAIT gave is closed with it: nobody may be
 * blocked on that.
 */
int trip_wait_close(struct trip_wait_set *set);

/**
 * Waits until a member is due: until its success or error differs from what was last read of it by
 * trip_cntr_read() and trip_cntr_readerr() (WAIT-03). Any number of threads may wait.
 *
 * @param timeout
 *   Milliseconds; negative: for ever; 0: test without blocking.
 * @return
 *   0; -ETIMEDOUT; -EDEADLK: called from a registered function or a polling lcore of the domain.
 */
int trip_wait(struct trip_wait_set *set, int timeout);

/** As trip_cntr_control() (CNTR-05, WAIT-01). */
int trip_wait_control(struct trip_wait_set *set, int command, void *arg);

/** The set as an object that trip_trywait() takes, in the place of its members (WAIT-07). */
struct trip_fid *trip_wait_fid(struct trip_wait_set *set);

/**
 * Asks whether it is safe to block on the wait objects of these. Drains their descriptors, and arms
 * them for any change of their values (WAIT-04); what they were armed for before is over. A
 * counter's is drained also where the counter is due. One thread at a time for an object.
 *
 * A counter is due while success or error differ from what this handle last read by
 * trip_cntr_read() and trip_cntr_readerr(): read both, then ask. A set is due while a member is.
 *
 * @param fids
 *   Objects of one wait-object type (WAIT-06), as trip_cntr_fid() and trip_wait_fid() give them;
 * for the members of a wait set, the set (WAIT-07).
 * @return
 *   0: blocking is safe; an update made by anyone from now on makes the descriptor ready, or
 * signals the condition variable. With TRIP_WAIT_UNSPEC and TRIP_WAIT_YIELD, only: nothing is due.
 *   -EAGAIN: something is due (WAIT-05); read the values and ask again.
 *   -EINVAL: no object, types mixed, one of type TRIP_WAIT_NONE (WAIT-06) or TRIP_WAIT_SET
 * (WAIT-07). -EXDEV: an object of another domain.
 */
int trip_trywait(struct trip_domain *domain, struct trip_fid *const *fids, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
