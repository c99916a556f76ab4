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

#include <rte_branch_prediction.h>
#include <rte_memzone.h>

#include <trip_cntr.h>
#include <trip_domain.h>
#include <trip_each.h>
#include <trip_flow.h>
#include <trip_wait.h>
#include <trip_work.h>

#include "domain/handle.h"
#include "domain/indices.h"
#include "home.h"
#include "slots.h"

/* Four memzones of the domain itself and one for each home. */
#define TRIP_DOMAIN_ZONES (TRIP_HOMES_MAX + 4)

/* Domain names become part of memzone names, which EAL limits to 31 characters. */
#define TRIP_DOMAIN_NAME_MAX 20

#define TRIP_FLOW_REASON_MAX 128
#define TRIP_FLOW_REASONS 32

struct trip_backend;
struct trip_each;
struct trip_entry;
struct trip_flow_more;
struct trip_port;
struct trip_link;
struct trip_server;
struct trip_set;
struct trip_share;

struct trip_domain {
	struct trip_engine engine;
	/* Who does what the calls ask for: backend.h. */
	const struct trip_backend *backend;
	struct trip_domain_attr attr;
	char name[TRIP_DOMAIN_NAME_MAX + 1];
	void *context;
	const struct rte_memzone *zones[TRIP_DOMAIN_ZONES];
	unsigned int n_zones;
	/* Itself, and its homes, as objects that have profiles; and who tells of these. */
	struct trip_fid fid, lcore_fids[TRIP_HOMES_MAX];
	struct trip_teller teller;
	/* This process is not attached: detach.h. */
	_Atomic bool detached;
	LIST_ENTRY(trip_domain) watched;
	/* What telemetry asks about it: telemetry.h. */
	LIST_ENTRY(trip_domain) shown;
	char shown_socket[108];

	/* Of ports and flows; its holder may wait for homes, so it is never taken on one. */
	pthread_mutex_t control;
	/* Of all other objects; its holder waits for nothing. May be taken inside control. */
	pthread_mutex_t lock;
	/* Counters by index, and a tree of those with a name, as tsearch(3) has it: registry.h. */
	struct trip_entry *entries;
	void *names;
	/* Those of counters. */
	LIST_HEAD(, trip_cntr) handles;
	/* Among them, and the domain's own: one of each home's clock. */
	struct trip_cntr *clocks;
	uint64_t last_serial;
	/* For the indices of counters and flows. Under `lock`. */
	struct trip_grace grace;
	struct trip_indices cntrs[TRIP_HOMES_MAX];
	/* Waiter slots of each home that are this process's and free. */
	struct trip_slots waiters[TRIP_HOMES_MAX];
	struct trip_indices flows;
	/* Of the engine's polices. */
	struct trip_indices polices;
	/* Those that are open, by index, and what more there is of them; under `control`. */
	struct trip_flow *flow;
	struct trip_flow_more *more;
	/* Indices that are held back: a list of 1 more than each (flow.h). */
	uint32_t held_flows;
	/* Why they are where they are; each is there for good once it is. */
	const char *reasons[TRIP_FLOW_REASONS];
	struct trip_indices functions;
	/* "": it has none. In the primary, under `lock`. */
	char (*function_names)[TRIP_NAME_MAX + 1];
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
	/* Of addresses and ports (flow/set.h). Under `control`. */
	LIST_HEAD(, trip_set) sets;
	/* What is counted by keys, by number, and what was closed while a burst may count in it
	 * (flow/each.h). Under `control`. */
	struct trip_each *eaches[TRIP_EACH_MAX];
	/* How many there have been. */
	uint64_t each_openings;
	/* Handles of such. */
	uint32_t n_eaches;
	/* Of them, those whose hardware engine runs. Under `lock`. */
	uint32_t n_hard;

	/* In an attached process: the way to the primary; NULL in that. */
	struct trip_link *link;
	/* By which claims of queues know this process (claim.h). */
	uint32_t claimant;
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
	struct trip_work_refs work_refs;
	pthread_mutex_t reader;
	uint32_t read_home;
	/* Services of the homes, with TRIP_PROGRESS_SERVICE. */
	uint32_t services[TRIP_HOMES_MAX];
	unsigned int lcores[TRIP_HOMES_MAX];
};

/* A domain whose memory is not there yet, with complete attributes; NULL: no memory. */
struct trip_domain *trip_domain_alloc(const char *name, const struct trip_domain_attr *attr,
	const struct trip_backend *backend, void *context);
void trip_domain_free(struct trip_domain *domain);

/* This process's ends of its channels to a home, from number `first` on: 0 or -ENOMEM. */
int trip_domain_open_submitters(struct trip_domain *domain, struct trip_home *home, uint32_t first);

/* Takes away what this process has of each home. */
void trip_domain_close_homes(struct trip_domain *domain);

/* Takes a lock that is held, when its holder has let go of it. */
void trip_domain_wait_lock(struct trip_lock *lock);

static inline void
trip_domain_lock(struct trip_lock *lock)
{
	if (unlikely(atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire)))
		trip_domain_wait_lock(lock);
}

static inline void
trip_domain_unlock(struct trip_lock *lock)
{
	atomic_flag_clear_explicit(&lock->held, memory_order_release);
}

/* So many more of what is counted under the domain's lock. */
void trip_domain_count(struct trip_domain *domain, uint32_t *count, int more);

/* Whether the calling thread is in an iteration of one of the domain's homes. */
static inline bool
trip_domain_on_home(const struct trip_domain *domain)
{
	return trip_engine_current != NULL && trip_engine_current->engine == &domain->engine;
}

#endif
