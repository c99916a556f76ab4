/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles: what this process keeps of each object of a domain. All rooms see them; what is done
 * with them is in the room of each.
 */
#ifndef TRIP_RUNTIME_HANDLE_H
#define TRIP_RUNTIME_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <trip_cntr.h>
#include <trip_flow.h>
#include <trip_wait.h>
#include <trip_work.h>

#include "group.h"
#include "home.h"
#include "op.h"

struct trip_domain;
struct trip_port;
struct trip_profile;
struct trip_wait_set;

/* What tells the application of changes (teller.h). */
struct trip_teller {
	/* Of who joins and leaves. */
	pthread_mutex_t life;
	pthread_t thread;
	uint32_t n;
	_Atomic bool stop;
	void (*look)(struct trip_domain *domain);
	/* Of what is told: profiles with callbacks. */
	pthread_mutex_t lock;
	LIST_HEAD(, trip_profile) profiles;
};

/* What an object is natively waited on by (native.h). */
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
	/* The eventfd that homes write; in an attached process, our end of a socket whose other end
	 * they write. -1: not started. */
	int fd;
	pthread_mutex_t lock;
	struct trip_native *list;
};

enum trip_fid_kind {
	TRIP_FID_CNTR,
	TRIP_FID_WAIT_SET,
	TRIP_FID_POLL_SET,
	TRIP_FID_DOMAIN,
	TRIP_FID_LCORE,
	TRIP_FID_PORT,
	TRIP_FID_QUEUE,
	TRIP_FID_EACH,
};

/* What objects that have profiles, or are waited on, have in common; trip_trywait() takes those
 * that are waited on. */
struct trip_fid {
	struct trip_domain *domain;
	enum trip_fid_kind kind;
	enum trip_wait_obj wait_obj;
	/* Flows, poll sets, profiles, and calls under way that refer to it; work is counted by
	 * index. */
	_Atomic uint32_t refs;
};

/* A handle of a counter. */
struct trip_cntr {
	/* Its cell, as long as its domain is attached: what trip_cntr_add() looks at. */
	struct trip_cntr_head head;
	struct trip_fid fid;
	/* By which the registry knows it; and it was found by name, so another handle owns it. */
	uint64_t id;
	bool found;
	/* It shows the time; nobody opened it, and only time changes it (cntr/clock_cntr.h). */
	bool is_clock;
	struct trip_home *home;
	struct trip_cell *cell;
	LIST_ENTRY(trip_cntr) watched;
	/* Index within the home, and within the domain. */
	uint32_t local;
	uint32_t global;
	enum trip_cntr_events events;
	/* With TRIP_WAIT_FD and TRIP_WAIT_MUTEX_COND. */
	struct trip_native native;
	/* With TRIP_WAIT_SET: its set, the slot by which it signals that, and the next member. */
	struct trip_wait_set *set;
	uint32_t set_slot;
	struct trip_cntr *next_member;
	/* What the handle last read: it is due while the cell differs (WAIT-04). */
	_Atomic uint64_t read_success;
	_Atomic uint64_t read_error;
	/* Flows that feed the counter, by whichever handle. */
	_Atomic uint32_t *flows;
	void *context;
	char name[TRIP_NAME_MAX + 1];
};

_Static_assert(offsetof(struct trip_cntr, head) == 0, "the beginning of a handle is public");

struct trip_function {
	struct trip_domain *domain;
	uint32_t index;
};

/*
 * A handle of a flow. It is small, as there may be millions. In the primary it is one of an array,
 * by index. An attached process keeps counters, index and reason; the rest is in the primary. What
 * only some flows have is in trip_flow_more() of flow.h.
 */
struct trip_flow {
	/* NULL: the index has no flow. */
	struct trip_port *port;
	uint32_t index : 22;
	/* In hardware. */
	uint32_t hard : 1;
	/* enum trip_flow_direction. */
	uint32_t direction : 1;
	/* No bits: these change while others look at the bits above. */
	uint8_t n_cntrs;
	/* Why it is where it is: number of one of the domain's reasons; 0: it has its own. */
	uint8_t reason;
};

_Static_assert(sizeof(struct trip_flow) == 16, "of a million flows each byte is a megabyte");

/* A lock for threads that may share a CPU: who waits yields. Uncontended: one exchange. */
struct trip_lock {
	atomic_flag held;
};

/* What a hidden counter is used for: an item of pairs (group.h of the engine). */
struct trip_group {
	/* Of the item that it is, or that is part of; TRIP_WORK_NONE: it is free. */
	uint64_t id;
	/* Of its pairs, as far as there are nodes for them; and what each waits for: a counter, or
	 * the hidden one of what is nested. */
	uint64_t pairs[TRIP_GROUP_MEMORY * TRIP_GROUP_IDS];
	uint32_t triggers[TRIP_CONDITION_PAIRS_MAX];
	uint32_t n_pairs;
	/* 1 + the next free one, or 0. */
	uint32_t next;
};

/* This process's end of a channel. */
struct trip_submitter {
	/* Of the channel, as the home knows it. */
	uint32_t number;
	struct trip_lock lock;
	struct trip_channel_client *channel;
	/* Follows the slots that come back, to give their references back. */
	struct trip_ring_end reaper;
	/* One bit a slot: its item has references to what its descriptor names. */
	uint64_t *held;
	/* Its hidden counters, by which its items of pairs go: global index of the first, what each
	 * is used for, the free ones that were used (1 + the first; 0: none), and how many ever
	 * were. */
	uint32_t first_hidden;
	uint32_t n_groups;
	uint32_t free_group;
	uint32_t used_groups;
	struct trip_group *groups;
	/* Slots and hidden counters that are kept for items whose flows are asked for: nobody else
	 * takes them. */
	uint32_t kept_slots, kept_groups;
};

/* A thread that has channels of its own. */
struct trip_thread {
	struct trip_domain *domain;
	/* Its submitter of each home. */
	uint32_t channel;
	bool used;
};

/* What this process's work items in flight refer to (work_refs.h). */
struct trip_work_refs {
	/* How many items name each object: by kind (enum trip_op_target), and there by index. */
	_Atomic uint32_t *count[TRIP_OP_TARGETS_END];
	/* This process's handles of each counter; under the domain's lock. */
	uint32_t *handles;
};

/* Something refers to the object, which is not closed until it has let go. Any thread. */
static inline void
trip_fid_hold(struct trip_fid *fid)
{
	atomic_fetch_add_explicit(&fid->refs, 1, memory_order_relaxed);
}

/* Release: whoever closes the object sees us gone from it. */
static inline void
trip_fid_let_go(struct trip_fid *fid)
{
	atomic_fetch_sub_explicit(&fid->refs, 1, memory_order_release);
}

/* Acquire: as trip_fid_let_go(). */
static inline uint32_t
trip_fid_refs(const struct trip_fid *fid)
{
	return atomic_load_explicit(&fid->refs, memory_order_acquire);
}

/* Adds go the slow way from now on, and are refused there. Any thread. */
static inline void
trip_cntr_detach(struct trip_cntr *cntr)
{
	__atomic_store_n(&cntr->head.cell, NULL, __ATOMIC_RELAXED);
}

static inline struct trip_cntr *
trip_cntr_of(struct trip_fid *fid)
{
	return (struct trip_cntr *)((char *)fid - offsetof(struct trip_cntr, fid));
}

/* A port begins with its domain: port.h. */
static inline struct trip_domain *
trip_flow_domain(const struct trip_flow *flow)
{
	return *(struct trip_domain *const *)flow->port;
}

#endif
