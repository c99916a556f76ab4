/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an object is natively waited on by: a waiter slot that homes signal, and what this process
 * makes of the signal: a descriptor, or a condition variable.
 */
#ifndef TRIP_RUNTIME_NATIVE_H
#define TRIP_RUNTIME_NATIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <trip_wait.h>

struct trip_domain;
struct trip_home;
struct trip_waiter;

struct trip_native {
	struct trip_domain *domain;
	enum trip_wait_obj kind;
	/* Where its slot is, and the slot's number in the domain. */
	struct trip_home *home;
	uint32_t slot;
	uint32_t number;
	/* With TRIP_WAIT_FD; `drained` is the sequence up to which its signals were taken back. */
	int fd;
	uint32_t drained;
	/* With TRIP_WAIT_MUTEX_COND; `told` is the sequence that the waiters have been told of. */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t told;
	struct trip_native *next;
};

/* What the helper thread of a domain needs; started with the first TRIP_WAIT_MUTEX_COND. */
struct trip_native_helper {
	struct trip_domain *domain;
	pthread_t thread;
	bool started;
	bool stop;
	/* An eventfd that homes write, or in an attached process the other end of a socket that
	 * they do; -1 before. */
	int fd;
	pthread_mutex_t lock;
	struct trip_native *list;
};

/* Takes a waiter slot of a home: its index, or -ENOSPC. It may still be signalled for its former
 * owner until it is armed. */
int trip_native_take_slot(struct trip_domain *domain, struct trip_home *home);
/* Likewise, without waiting for the primary; -EAGAIN: that is being asked for more. */
int trip_native_try_slot(struct trip_domain *domain, struct trip_home *home);
void trip_native_give_slot(struct trip_domain *domain, struct trip_home *home, uint32_t slot);

/* Opens a native object on a home: 0, -ENOSPC, -EMFILE and the like, -EAGAIN: no helper thread. */
int trip_native_open(struct trip_native *native, struct trip_domain *domain, struct trip_home *home,
	enum trip_wait_obj kind);
void trip_native_close(struct trip_native *native);

/* The slot that homes signal. */
struct trip_waiter *trip_native_waiter(const struct trip_native *native);

/* Takes back the signals that a descriptor holds; whoever signals it is quiescent. */
void trip_native_drain(struct trip_native *native);

/* TRIP_GETWAIT: 0, or -ENOSYS where nothing is to be had. */
int trip_native_control(struct trip_native *native, int command, void *arg);

/* Ends the helper; nothing is open any more. */
void trip_native_fini(struct trip_domain *domain);

#endif
