/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Poll sets: which of many counters have changed. Twins of libfabric's fi_poll_*; see fi_poll(3).
 */
#ifndef TRIP_POLL_H
#define TRIP_POLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;
struct trip_fid;
struct trip_poll_set;

/** Attributes of a poll set. */
struct trip_poll_attr {
	/** sizeof(struct trip_poll_attr). */
	size_t size;
	/** Must be 0 (POLL-01). */
	uint64_t flags;
};

/**
 * Opens a poll set. Any thread.
 *
 * @param attr
 *   Attributes, or NULL.
 * @return
 *   0, or -EINVAL: flags (POLL-01), an unknown attribute size; -ENOMEM.
 */
int trip_poll_open(
	struct trip_domain *domain, const struct trip_poll_attr *attr, struct trip_poll_set **set);

/** Closes a poll set: 0, or -EBUSY while it has members, or a call polls it (POLL-02). */
int trip_poll_close(struct trip_poll_set *set);

/**
 * Makes a counter a member. It is reported first when it changes from what it is now (POLL-05). A
 * counter may be in any number of sets, which never steal from each other (POLL-08).
 *
 * @param flags
 *   Must be 0 (POLL-01).
 * @return
 *   0, or -EINVAL: flags, no counter; -EXDEV: a counter of another domain; -EEXIST: it is a member
 *   (POLL-03); -ENOMEM.
 */
int trip_poll_add(struct trip_poll_set *set, struct trip_fid *fid, uint64_t flags);

/** Takes a counter out: 0, -EINVAL: flags; -ENOENT: it is no member (POLL-03). */
int trip_poll_del(struct trip_poll_set *set, struct trip_fid *fid, uint64_t flags);

/**
 * Returns the contexts of members whose success or error changed since this set last reported them
 * (POLL-05); in a domain with manual progress it progresses first (POLL-04). What does not fit
 * stays due, and the next call goes on where this one stopped (POLL-07). Any thread; one at a time
 * is served, the others wait.
 *
 * @param[out] context
 *   The contexts given to trip_cntr_open().
 * @return
 *   The number written, at most `count` (POLL-06).
 */
int trip_poll(struct trip_poll_set *set, void **context, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
