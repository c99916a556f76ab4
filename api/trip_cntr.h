/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: two values, success and error, each 0 ... 2^63-1, that saturate there (CNTR-01,
 * CNTR-22). Twins of libfabric's fi_cntr_*; see fi_cntr(3).
 */
#ifndef TRIP_CNTR_H
#define TRIP_CNTR_H

#include <stddef.h>
#include <stdint.h>

#include <trip_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_cntr;
struct trip_domain;

/*
 * What trip_cntr_add() reads and writes in the caller's own code: the beginning of a handle, and of
 * what it points to. Part of the ABI, and for that call only.
 */
struct trip_cntr_cell {
	uint64_t success;
	uint64_t error;
	/* The success value at which somebody is to be told. */
	uint64_t trip_at;
};

struct trip_cntr_head {
	/* NULL: this process is not attached. */
	struct trip_cntr_cell *cell;
};

/** Largest value and largest threshold (CNTR-22). */
#define TRIP_CNTR_MAX UINT64_C(0x7fffffffffffffff)

/** What a counter counts of the flows that it is given to (CNTR-21). */
enum trip_cntr_events {
	/** Completions; of a flow, packets. */
	TRIP_CNTR_EVENTS_COMP = 0,
	/** Bytes; of a flow, L2 bytes without FCS. */
	TRIP_CNTR_EVENTS_BYTES,
};

/** Attributes of a counter. A field that is zero has its default. */
struct trip_cntr_attr {
	/** sizeof(struct trip_cntr_attr). */
	size_t size;
	enum trip_cntr_events events;
	/** Default TRIP_WAIT_NONE (CNTR-04). */
	enum trip_wait_obj wait_obj;
	/** With TRIP_WAIT_SET: an open set of the same domain; otherwise ignored (CNTR-06). */
	struct trip_wait_set *wait_set;
	/** Must be 0 (CNTR-10). */
	uint64_t flags;
	/** Name, unique in the domain, [A-Za-z_][A-Za-z0-9_.-]{0,31}; NULL: nameless (CNTR-24). */
	const char *name;
};

/**
 * Opens a counter, with both values 0. Any thread. In an attached process it asks the primary, as
 * trip_domain_attach() says.
 *
 * @param attr
 *   Attributes, or NULL for the defaults.
 * @param context
 *   The caller's, returned by trip_cntr_context().
 * @return
 *   0, or
 *   -EINVAL: flags, an unknown enum value, an unknown attribute size (CNTR-10), a malformed name,
 *     TRIP_WAIT_SET without a set of the same domain (CNTR-06);
 *   -EEXIST: the name is taken (CNTR-24);
 *   -ENOSPC: the domain's `max_cntrs` are open, or, with TRIP_WAIT_FD, MUTEX_COND
 *     and SET, its `max_waiters`; in a function that deferred work calls also where none is left
 *     but the completion counter of that work, which it has closed, and in a port's notification
 *     where those that are left were closed while something is under way at the port;
 *   -EMFILE: the process has no descriptor left;
 *   -ETOOMANYREFS: in an attached process, with TRIP_WAIT_FD and MUTEX_COND: the primary can send
 *     no descriptor now, for programs of its user have too many on their way.
 */
int trip_cntr_open(struct trip_domain *domain, const struct trip_cntr_attr *attr,
	struct trip_cntr **cntr, void *context);

/**
 * Finds a counter that some process has opened under a name (CNTR-24), and opens a further handle
 * of it, with a wait object of its own. Any thread. It asks the primary likewise.
 *
 * @param attr
 *   `name` is the counter's; `wait_obj` and `wait_set` are as in trip_cntr_open(); `events` are the
 *   counter's, whatever stands here.
 * @return
 *   0, or
 *   -ENOENT: no counter has this name;
 *   -EINVAL: there is no name, or as trip_cntr_open();
 *   -ENOSPC, -EMFILE, -ETOOMANYREFS: as trip_cntr_open().
 */
int trip_cntr_find(struct trip_domain *domain, const struct trip_cntr_attr *attr,
	struct trip_cntr **cntr, void *context);

/**
 * Closes a handle, and with the one that trip_cntr_open() gave, the counter (CNTR-11). A member
 * leaves its wait set. In an attached process it asks the primary, as trip_domain_attach() says.
 *
 * @return
 *   0, or -EBUSY while a flow, a poll set, a profile or a blocked waiter refers to this handle,
 *   while pending work of this process refers in any role to the counter and has no other handle of
 *   it, or, of the counter's own, while others have found it; nothing has changed then.
 */
int trip_cntr_close(struct trip_cntr *cntr);

/** The success value. Lock-free, any thread, never blocks (CNTR-18); may be late (CNTR-19). */
uint64_t trip_cntr_read(struct trip_cntr *cntr);

/** The error value, likewise (CNTR-18, CNTR-19). */
uint64_t trip_cntr_readerr(struct trip_cntr *cntr);

/**
 * Adds to the success value, which saturates at TRIP_CNTR_MAX (CNTR-02, CNTR-22). One atomic add
 * while no threshold is reached, and no system call unless somebody is armed (WAIT-10). Any thread.
 *
 * @return
 *   0, or -ESHUTDOWN: this process is not attached (WAIT-12).
 */
int trip_cntr_add(struct trip_cntr *cntr, uint64_t value);

/* The rest of an add that has reached trip_at, and one that the caller's code leaves alone. */
int trip_cntr_add_reached(struct trip_cntr *cntr, uint64_t reached);
int trip_cntr_add_slowly(struct trip_cntr *cntr, uint64_t value);

#ifdef __GNUC__
/*
 * Compiled into its callers: a call stores a return address, which the atomic add would wait for.
 * gnu_inline: where the compiler does not inline it, or its address is taken, and for other
 * languages, there is the library's function, which does the same. Both atomics are seq_cst,
 * because whoever waits stores trip_at first and then looks at the sum.
 */
extern inline __attribute__((__gnu_inline__)) int
trip_cntr_add(struct trip_cntr *cntr, uint64_t value)
{
	struct trip_cntr_cell *cell =
		__atomic_load_n(&((struct trip_cntr_head *)cntr)->cell, __ATOMIC_RELAXED);
	uint64_t reached;

	if (__builtin_expect(cell == NULL || (value >> 32) != 0, 0))
		return trip_cntr_add_slowly(cntr, value);
	reached = __atomic_add_fetch(&cell->success, value, __ATOMIC_SEQ_CST);
	if (__builtin_expect(reached >= __atomic_load_n(&cell->trip_at, __ATOMIC_SEQ_CST), 0))
		return trip_cntr_add_reached(cntr, reached);
	return 0;
}
#endif

/** Adds to the error value, likewise; a change unblocks every waiter (CNTR-13). */
int trip_cntr_adderr(struct trip_cntr *cntr, uint64_t value);

/**
 * Sets the success value; may lose updates that race with it (CNTR-20).
 *
 * @return
 *   0, or -EINVAL: value is above TRIP_CNTR_MAX (CNTR-22).
 */
int trip_cntr_set(struct trip_cntr *cntr, uint64_t value);

/**
 * Resets the success value to 0 and tells what it was, in one exchange: each addition is either in
 * that, or counts from 0 on, and none is lost (CNTR-20). Pending work stays, and waits until its
 * threshold is reached from 0; nothing un-fires (WORK-13), and conditions restart (COND-08). What
 * flows have counted and the home has not read yet counts from 0 on. Any thread.
 *
 * @param[out] was
 *   What it was; may be NULL. Not changed where an error is returned.
 * @return
 *   0, or -EINVAL: it is a clock; -ESHUTDOWN (WAIT-12).
 */
int trip_cntr_reset(struct trip_cntr *cntr, uint64_t *was);

/** Sets the error value, likewise; a change unblocks every waiter (CNTR-13). */
int trip_cntr_seterr(struct trip_cntr *cntr, uint64_t value);

/**
 * Waits until success >= threshold (CNTR-12), by the counter's wait object.
 *
 * With TRIP_WAIT_YIELD it spins and yields (CNTR-09), otherwise it spins briefly and sleeps. In a
 * domain with manual progress it progresses while it waits (WAIT-11). Any number of threads may
 * wait on one counter (CNTR-17).
 *
 * @param timeout
 *   Milliseconds; negative: for ever; 0: test without blocking (CNTR-15).
 * @return
 *   0, or
 *   -EIO: the error value changed after the call began and the threshold is not met (CNTR-13);
 *   -ETIMEDOUT: the time is over (CNTR-15);
 *   -EINVAL: the wait object is TRIP_WAIT_NONE or TRIP_WAIT_SET (CNTR-16), or the threshold is
 *   above TRIP_CNTR_MAX;
 *   -EDEADLK: called from a registered function or a polling lcore of the domain.
 */
int trip_cntr_wait(struct trip_cntr *cntr, uint64_t threshold, int timeout);

/**
 * The error generation: another number after each change of the error value, which says nothing
 * else. Read it before the error value, and give it to trip_cntr_wait_from() (CNTR-14).
 */
uint64_t trip_cntr_errgen(struct trip_cntr *cntr);

/**
 * As trip_cntr_wait(), but an error counts from `errgen` on, not from when the call began: one that
 * lands between reading and waiting is not missed (CNTR-14).
 */
int trip_cntr_wait_from(struct trip_cntr *cntr, uint64_t threshold, uint64_t errgen, int timeout);

/**
 * Makes the descriptor of a TRIP_WAIT_FD counter ready (or signals a TRIP_WAIT_MUTEX_COND one) when
 * success reaches the threshold or the error value changes, and not on other updates (WAIT-09). It
 * does so at once where the threshold is reached already, or the error value is not what the handle
 * last read. Replaces what the handle was armed for before; a signal that was given for that stays
 * until trip_trywait() drains it. trip_wait.h shows the loop.
 *
 * @return
 *   0, or -EINVAL: neither of these, or the threshold is above TRIP_CNTR_MAX; -EAGAIN: the primary
 *   is stopped while it signals the handle, which is armed for nothing.
 */
int trip_cntr_arm(struct trip_cntr *cntr, uint64_t threshold);

/**
 * Retrieves what the library uses underneath.
 *
 * @return
 *   0, or -EINVAL: unknown command or NULL argument; -ENOSYS: the wait object is not retrievable
 *   (CNTR-05).
 */
int trip_cntr_control(struct trip_cntr *cntr, int command, void *arg);

/**
 * Nanoseconds since the value was last refreshed plus the source's refresh lag (CNTR-23); 0 for a
 * counter that no flow feeds, UINT64_MAX where this process is not attached (WAIT-12).
 */
uint64_t trip_cntr_age(struct trip_cntr *cntr);

/** The context given to trip_cntr_open(), as trip_poll() returns it (POLL-05). */
void *trip_cntr_context(const struct trip_cntr *cntr);

/** The name given to trip_cntr_open(), or "" (CNTR-24). */
const char *trip_cntr_name(const struct trip_cntr *cntr);

/** The counter as an object that trip_trywait() takes (WAIT-06). */
struct trip_fid *trip_cntr_fid(struct trip_cntr *cntr);

/**
 * The clock: a counter of the nanoseconds since the domain was opened, which only grows (COND-01),
 * or of those that trip_clock_advance() was told of last (COND-02).
 * What is to happen at a time is work that it triggers; with an interval, again and again. Nothing
 * on it fires early, and what is due fires in the order of the times (WORK-02) within the iteration
 * behind the one that finds it so; a home that sleeps wakes for it.
 *
 * @code
 * work.triggering_cntr = trip_clock_cntr(domain);
 * work.threshold = trip_cntr_read(work.triggering_cntr) + 250 * 1000000;
 * trip_work_queue(domain, &work, NULL);
 * @endcode
 *
 * Each home has one, and all of them show the same time, in every process. Which one it is: in a
 * function that deferred work calls, that of the home that calls it; elsewhere always the same one
 * for a thread that has channels of its own (trip_thread_attach()), and for all other threads of
 * the process.
 *
 * The handle is the domain's, for any thread, and nobody closes it: trip_cntr_close() is -EINVAL.
 * So are trip_cntr_add(), set, adderr and seterr, and work or a flow that would change it. Its wait
 * object is TRIP_WAIT_UNSPEC: trip_cntr_wait() returns 0 once a time has come, trip_cntr_arm() is
 * -EINVAL. To poll sets and trip_trywait() it is always due. A descriptor that is ready at a time
 * is that of a counter to which work on the clock adds. Where this process is not attached it shows
 * what was last read (WAIT-12).
 *
 * @return
 *   Its handle, valid until the domain is closed.
 */
struct trip_cntr *trip_clock_cntr(struct trip_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
