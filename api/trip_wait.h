/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting. Twins of libfabric's wait objects and fi_trywait(); see fi_poll(3).
 */
#ifndef TRIP_WAIT_H
#define TRIP_WAIT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;
struct trip_fid;

/** How one waits on an object (CNTR-04). */
enum trip_wait_obj {
	/** Nobody waits (CNTR-16). */
	TRIP_WAIT_NONE = 0,
	/** By trip_cntr_wait() only; the library chooses how. Not built yet: -ENOSYS. */
	TRIP_WAIT_UNSPEC,
	/** By a wait set. Not built yet: -ENOSYS. */
	TRIP_WAIT_SET,
	/** By a file descriptor that works in select, poll and epoll (CNTR-07). */
	TRIP_WAIT_FD,
	/** By a mutex and a condition variable. Not built yet: -ENOSYS. */
	TRIP_WAIT_MUTEX_COND,
	/** By spinning and yielding the processor (CNTR-09). */
	TRIP_WAIT_YIELD,
};

/**
 * Asks whether it is safe to block on the descriptors of these objects. Drains them, and arms them
 * for any change of their values (WAIT-04). One thread at a time for an object.
 *
 * An object is due while success or error differ from what this handle last read by
 * trip_cntr_read() and trip_cntr_readerr(): read both, then ask.
 *
 * @param fids
 *   Objects of one wait-object type (WAIT-06), as trip_cntr_fid() gives them.
 * @return
 *   0: blocking is safe; an update made by anyone from now on makes the descriptor ready.
 *   -EAGAIN: something is due (WAIT-05); read the values and ask again.
 *   -EINVAL: no object, types mixed, or one of type TRIP_WAIT_NONE or TRIP_WAIT_YIELD (WAIT-06).
 *   -EXDEV: an object of another domain.
 */
int trip_trywait(struct trip_domain *domain, struct trip_fid *const *fids, size_t count);

#ifdef __cplusplus
}
#endif

#endif
