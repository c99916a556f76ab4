/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The domain as the runtime sees it: the engine in shared memory, and what this process keeps of
 * its objects. Control calls (open, close, create, destroy) hold `lock` or, for ports and flows,
 * `control`; the calls of the data path hold no lock but, to submit, that of their channel.
 */
#ifndef TRIP_RUNTIME_DOMAIN_H
#define TRIP_RUNTIME_DOMAIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_memzone.h>

#include <trip_cntr.h>
#include <trip_domain.h>
#include <trip_flow.h>
#include <trip_wait.h>
#include <trip_work.h>

#include "cntr/native.h"
#include "domain/indices.h"
#include "work/hold.h"
#include "home.h"
#include "slots.h"

/* Three memzones of the domain itself and one for each home. */
#define TRIP_DOMAIN_ZONES (TRIP_HOMES_MAX + 3)

/* Domain names become part of memzone names, which EAL limits to 31 characters. */
#define TRIP_DOMAIN_NAME_MAX 20

#define TRIP_FLOW_REASON_MAX 128

struct trip_binding;
struct trip_entry;
struct trip_hard_flow;
struct trip_flow_more;
struct trip_port;
struct trip_port_side;
struct trip_link;
struct trip_server;
struct trip_share;
struct trip_wait_set;

enum trip_fid_kind {
	TRIP_FID_CNTR,
	TRIP_FID_WAIT_SET,
};

/* What an object that trip_trywait() takes begins with. */
struct trip_fid {
	struct trip_domain *domain;
	enum trip_fid_kind kind;
	enum trip_wait_obj wait_obj;
};

/* A handle of a counter. */
struct trip_cntr {
	/* Its cell, as long as its domain is attached: what trip_cntr_add() looks at. */
	struct trip_cntr_head head;
	struct trip_fid fid;
	/* By which the registry knows it; and it was found by name, so another handle owns it. */
	uint64_t id;
	bool found;
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
	/* Flows, poll sets, and blocked waiters that refer to it; pending work is counted by index.
	 */
	_Atomic uint32_t refs;
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
 * A handle of a flow, small, as there may be millions: in the primary one of an array, by index.
 * What only some have is in flow.h's trip_flow_more().
 */
struct trip_flow {
	/* NULL: the index has no flow. */
	struct trip_port *port;
	uint32_t index : 22;
	/* In an attached process: all but its counters, index and reason is in the primary. */
	uint32_t far : 1;
	/* In hardware. */
	uint32_t hard : 1;
	/* enum trip_flow_direction. */
	uint32_t direction : 1;
	/* These change while others look at the bits above, so they are none of them. */
	uint8_t n_cntrs;
	/* Why it is there: of the domain's reasons; 0: it has one of its own. */
	uint8_t reason;
};

_Static_assert(sizeof(struct trip_flow) == 16, "of a million flows each byte is a megabyte");

#define TRIP_FLOW_REASONS 32

/* A lock that threads which share a CPU with its holder survive. Uncontended: one exchange. */
struct trip_lock {
	atomic_flag held;
};

/* This process's end of a channel. */
struct trip_submitter {
	/* Of the channel, as the home knows it. */
	uint32_t number;
	struct trip_lock lock;
	struct trip_channel_client *channel;
	/* Follows the slots that come back, so that what they held on to is let go. */
	struct trip_ring_end reaper;
	/* One bit a slot: its item holds on to what its descriptor names. */
	uint64_t *held;
};

/* A thread that has channels of its own. */
struct trip_thread {
	struct trip_domain *domain;
	/* Its submitter of each home. */
	uint32_t channel;
	bool used;
};

struct trip_domain {
	struct trip_engine engine;
	struct trip_domain_attr attr;
	char name[TRIP_DOMAIN_NAME_MAX + 1];
	void *context;
	const struct rte_memzone *zones[TRIP_DOMAIN_ZONES];
	unsigned int n_zones;
	/* This process is not attached: detach.h. */
	_Atomic bool detached;
	LIST_ENTRY(trip_domain) watched;

	/* Of ports and flows; its holder may wait for homes, so it is never taken on one. */
	pthread_mutex_t control;
	/* Of all other objects; its holder waits for nothing. May be taken inside control. */
	pthread_mutex_t lock;
	/* Counters by index, and a tree of those with a name, as tsearch(3) has it: registry.h. */
	struct trip_entry *entries;
	void *names;
	/* Those of counters. */
	LIST_HEAD(, trip_cntr) handles;
	uint64_t last_serial;
	/* For the indices of counters and flows. Under `lock`. */
	struct trip_grace grace;
	struct trip_indices cntrs[TRIP_HOMES_MAX];
	/* Waiter slots of each home that are this process's and free. */
	struct trip_slots waiters[TRIP_HOMES_MAX];
	struct trip_indices flows;
	/* Those that are open, by index, and what more there is of them; under `control`. */
	struct trip_flow *flow;
	struct trip_flow_more *more;
	/* Indices that are held back: a list of 1 more than each (flow.h). */
	uint32_t held_flows;
	/* Why they are where they are; each is there for good once it is. */
	const char *reasons[TRIP_FLOW_REASONS];
	struct trip_indices functions;
	struct trip_indices queues;
	struct trip_native_helper helper;
	uint32_t next_home;
	uint32_t n_cntrs;
	uint32_t n_sets;
	/* Counters objects: how many there are, and the id of the next. */
	uint32_t n_counters;
	uint32_t next_counters;
	/* Ports of the domain, by port id. */
	struct trip_port *ports[TRIP_PORTS_MAX];
	uint32_t n_ports;
	/* Of them, those whose hardware engine runs. Under `lock`. */
	uint32_t n_hard;

	/* In an attached process: the way to the primary; NULL in that. */
	struct trip_link *link;
	/* Of this domain alone, and of whoever has mapped it. */
	uint64_t nonce;
	struct trip_share *share;
	/* Processes may attach; under `lock`. */
	bool open;
	/* Serves the domain's socket; NULL: it has none. */
	struct trip_server *server;

	/* submitters[home][channel]; those of threads come last. */
	struct trip_submitter *submitters[TRIP_HOMES_MAX];
	uint32_t n_channels;
	/* max_process_threads of them, NULL where that is 0; how many are used, under `lock`; and
	 * what a thread knows its own by. */
	struct trip_thread *threads;
	uint32_t n_threads;
	pthread_key_t thread_key;
	_Atomic uint32_t completions;
	struct trip_holds holds;
	pthread_mutex_t reader;
	uint32_t read_home;
	/* Services of the homes, with TRIP_PROGRESS_SERVICE. */
	uint32_t services[TRIP_HOMES_MAX];
	unsigned int lcores[TRIP_HOMES_MAX];
};

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

const struct trip_domain *trip_flow_domain(const struct trip_flow *flow);

/* What is known of a flow without asking its source: in hardware, its last reading. */
void trip_flow_read(const struct trip_flow *flow, struct trip_flow_count *count);

/* A domain whose memory is not there yet, with complete attributes; NULL: no memory. */
struct trip_domain *trip_domain_alloc(
	const char *name, const struct trip_domain_attr *attr, void *context);
void trip_domain_free(struct trip_domain *domain);

/* Its end of a channel of `slots`, all free: 0 or -ENOMEM. */
int trip_domain_open_submitter(
	struct trip_submitter *submitter, struct trip_channel_client *channel, uint32_t slots);

void trip_domain_lock(struct trip_lock *lock);
void trip_domain_unlock(struct trip_lock *lock);

/* Whether the calling thread is in an iteration of one of the domain's homes. */
bool trip_domain_on_home(const struct trip_domain *domain);

/* Returns when what homes have started on ports of the domain has finished, and was told of. At
 * once from a worker. 0, or -ESHUTDOWN: the primary has ended meanwhile. */
int trip_port_hard_quiesce(struct trip_domain *domain);

/* Whether the caller is a home of the domain, or a port's worker, which must not wait for one. */
bool trip_port_on_worker(const struct trip_domain *domain);

#endif
