/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an object is natively waited on by: a waiter slot that homes signal, and what this process
 * makes of the signal: a descriptor, or a condition variable.
 */
#ifndef TRIP_RUNTIME_NATIVE_H
#define TRIP_RUNTIME_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <trip_wait.h>

struct trip_domain;
struct trip_home;
struct trip_native;
struct trip_waiter;

/* Whether an object of this kind is waited on by a descriptor or a condition variable. */
static inline bool
trip_native_is_kind(enum trip_wait_obj kind)
{
	return kind == TRIP_WAIT_FD || kind == TRIP_WAIT_MUTEX_COND;
}

/* Takes a waiter slot of a home: its index, or -ENOSPC. It may still be signalled for its former
 * owner until it is armed. The primary is not waited for without `wait`; -EAGAIN: it is being asked
 * for more. */
int trip_native_take_slot(struct trip_domain *domain, struct trip_home *home, bool wait);
void trip_native_give_slot(struct trip_domain *domain, struct trip_home *home, uint32_t slot);

/* Opens a native object on a home: 0, -ENOSPC, -EMFILE and the like, -EAGAIN: no helper thread. */
int trip_native_open(struct trip_native *native, struct trip_domain *domain, struct trip_home *home,
	enum trip_wait_obj kind);
void trip_native_close(struct trip_native *native);

/* The slot that homes signal. */
struct trip_waiter *trip_native_waiter(const struct trip_native *native);

/* Takes back the signals that a descriptor holds; whoever signals it is quiescent. */
void trip_native_drain(struct trip_native *native);

/* TRIP_GETWAIT of an object of that kind: 0, or -ENOSYS where nothing is to be had. */
int trip_native_control(
	struct trip_native *native, enum trip_wait_obj kind, int command, void *arg);

/* The domain is detached: when this returns, the helper reads its memory no more. */
void trip_native_rest(struct trip_domain *domain);

/* Ends the helper; nothing is open any more. */
void trip_native_fini(struct trip_domain *domain);

/* What waiter slots are had by, and signalled. */
struct trip_native_backend {
	/* As trip_native_take_slot(), where the domain's list of the home's slots is empty. */
	int (*take_slot)(struct trip_domain *domain, uint32_t home, bool wait);
	/* Opens the descriptor that is ready when the object's slot is signalled. */
	int (*open_fd)(struct trip_native *native);
	/* Likewise that of the helper, where it is -1; all objects have that. */
	int (*open_helper_fd)(struct trip_native *native, int *fd);
	/* No home writes for the object any more. */
	void (*silence)(struct trip_native *native);
	/* Empties the object's descriptor of all signals up to a sequence. */
	void (*drain)(struct trip_native *native, uint32_t sequence);
	/* Whoever reads the helper's goes on. */
	void (*interrupt)(int fd);
};

extern const struct trip_native_backend trip_native_local;

#endif
