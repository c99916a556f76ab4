/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The domain: the shared memory in which counters, work and flows live, and the polling lcores
 * ("homes") that progress them.
 *
 * A child of fork() is not attached to the domains of its parent (WAIT-12): every call that returns
 * int returns -ESHUTDOWN there, and changes nothing; its counters keep the values that they had. A
 * function that a home calls may fork; the child must end, or execute something, within it.
 */
#ifndef TRIP_DOMAIN_H
#define TRIP_DOMAIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;

/** Who runs the loop of the homes. */
enum trip_progress {
	/** Dedicated polling lcores, launched by trip_domain_open() and waited for by close. */
	TRIP_PROGRESS_LCORE = 0,
	/**
	 * One rte_service per home, mapped to the given service lcores, which may run other
	 * services too. Those that are stopped are started, and stopped again when the domain is
	 * closed, unless by then they run services of the application. Without lcores, the
	 * application maps the services trip_<domain>_<home> itself.
	 */
	TRIP_PROGRESS_SERVICE,
	/** The application, by trip_progress(). Needs no lcore. */
	TRIP_PROGRESS_MANUAL,
};

/**
 * What a dedicated lcore does while its home has nothing to do. Where another lcore shares its CPU,
 * it also yields that between the iterations of a busy home, unless it spins.
 */
enum trip_idle {
	/** Looks again after a pause; yields its CPU where another lcore shares that. */
	TRIP_IDLE_PAUSE = 0,
	/** Looks again at once: soonest to react, by some tens of nanoseconds. */
	TRIP_IDLE_SPIN,
	/**
	 * Sleeps until its doorbell is written or its clock has something to do, at most `idle_us`
	 * (rte_power_monitor(); x86: umwait). Costs less power, and gives a hyperthread beside it
	 * the whole core.
	 */
	TRIP_IDLE_MONITOR,
	/**
	 * Sleeps in the kernel, `idle_us` at a time and until its clock has something to do at
	 * most, once it has been idle for as long.
	 */
	TRIP_IDLE_SLEEP,
};

/** What the clock of a domain goes by (COND-01, COND-02). */
enum trip_clock {
	/** The time of the machine. */
	TRIP_CLOCK_MONOTONIC = 0,
	/**
	 * trip_clock_advance(): it shows what the application says, such as the times of a
	 * capture's packets. With TRIP_PROGRESS_MANUAL only, so that nothing happens at an unknown
	 * time; flows are in software.
	 */
	TRIP_CLOCK_PACKET,
};

/** Longest name of a domain, counter or function, without the terminating zero. */
#define TRIP_NAME_MAX 32

/** Attributes of a domain. A field that is zero has its default. */
struct trip_domain_attr {
	/** sizeof(struct trip_domain_attr). */
	size_t size;
	/** Name, [A-Za-z_][A-Za-z0-9_.-]{0,31}; default "trip". One open domain a name. */
	const char *name;
	enum trip_progress progress;
	/**
	 * Ids of the lcores that poll: workers in state WAIT with TRIP_PROGRESS_LCORE, service
	 * lcores with TRIP_PROGRESS_SERVICE, NULL with TRIP_PROGRESS_MANUAL. Nothing else is taken.
	 */
	const unsigned int *lcores;
	/** How many lcores, and so homes; with TRIP_PROGRESS_MANUAL the number of homes, default 1.
	 */
	uint32_t n_lcores;
	/** Counters in all; default 4096, at most 4 Mi. */
	uint32_t max_cntrs;
	/**
	 * Pending work items of each home; default 65536, at most 4 Mi. One with operands or a
	 * condition takes the room of several (trip_work_queue()), here and in what follows.
	 */
	uint32_t max_works;
	/** Blocked or armed waiters of each home; default 1024, at most 65536. */
	uint32_t max_waiters;
	/** Counted flows; default 4096, at most 4 Mi. */
	uint32_t max_flows;
	/** Rx and Tx queues that the software engine counts on, over all ports; default 4, at most
	 * 1024. */
	uint32_t max_queues;
	/** Functions that deferred work can call; default 64, at most 4096. */
	uint32_t max_functions;
	/** Completion events held for trip_work_read(); default 4096, at most 1 Mi. */
	uint32_t max_events;
	/** Log2 of the units of work that one iteration of a home does at most; default 8, 4 to 16.
	 */
	uint32_t budget_log2;
	/**
	 * Microseconds within which every flow counter is refreshed, armed or not; default 1000.
	 */
	uint32_t refresh_us;
	/**
	 * Microseconds within which the slow scrub has re-checked every armed counter, every
	 * doorbell leaf, channel and waiter, for rings that a killed process left half done or a
	 * hostile one has cleared; default 100000; UINT32_MAX turns it off.
	 */
	uint32_t scrub_us;
	/** Processes that may be attached at a time; default 4, at most 128. */
	uint32_t max_processes;
	/** What each may have of it at most: pending work items and unread completion events of
	 * each home; default 1024, at most 65536. */
	uint32_t max_process_works;
	/** Counters that it owns, and handles that it has found; default a half of max_cntrs. */
	uint32_t max_process_cntrs;
	/** Waiters of each home; default a quarter of max_waiters. */
	uint32_t max_process_waiters;
	/** Flows and counters objects; default a half of max_flows. */
	uint32_t max_process_flows;
	/**
	 * Threads with channels of their own (trip_thread_attach()), in this process too; default
	 * 0. A home has at most 256 channels: one for each of its domain's homes, and 1 +
	 * max_process_threads for this process and for each of max_processes.
	 */
	uint32_t max_process_threads;
	/** Pending work items of each home that each of those has; default 256, at most 65536. */
	uint32_t max_thread_works;
	/**
	 * Path of the socket over which other processes attach, and programs without DPDK look on
	 * (trip_client.h). NULL: trip_client_path() of EAL's file prefix, but no socket with
	 * --no-shconf and --in-memory, which promise to leave no files. "": no socket. A file with
	 * ".lock" at the end of its name is made beside it. Files that a killed primary left there
	 * are replaced, others are not.
	 */
	const char *socket;
	/** Group that the socket is given to; NULL: that of the process. */
	const char *socket_group;
	/** Mode of the socket, such as 0660; default 0600. Attaching takes more than that: the same
	 * user, or root. */
	uint32_t socket_mode;
	/** Microseconds that an idle lcore sleeps at most, see `idle`; default 50, at most 1000000.
	 */
	uint32_t idle_us;
	/**
	 * For each lcore, with TRIP_PROGRESS_LCORE only, what it does while idle; NULL:
	 * TRIP_IDLE_PAUSE on all of them.
	 */
	const enum trip_idle *idle;
	enum trip_clock clock;
	/**
	 * Conditions ALL and ANY of this process, nested ones counted, that may be pending on each
	 * home; default a 64th of max_works, at most 1024, and 9 more. At most max_works. Each
	 * takes a counter that nobody opens, and so do those of other processes; with max_cntrs
	 * that is at most 16 Mi over all homes.
	 */
	uint32_t max_groups;
	/**
	 * Flows that may be policed, or share the rate of one (TRIP_OP_FLOW_POLICE), from the first
	 * item that says so until the flow is destroyed; default 1024 and a 64th of max_flows. At
	 * most max_flows. Each takes 40 bytes.
	 */
	uint32_t max_policed;
	/** 0. */
	uint32_t reserved;
	/**
	 * Bytes for the tables of statements (trip_each_open()); trip_each_footprint() computes
	 * what they take. Default 0: the domain has none. At most 2^37.
	 */
	uint64_t each_bytes;
};

/** NUMA nodes that struct trip_domain_footprint tells apart; what lies beyond counts as the last.
 */
#define TRIP_DOMAIN_NODES_MAX 8

/** What a domain costs. */
struct trip_domain_footprint {
	/** sizeof(struct trip_domain_footprint), set by the caller. */
	size_t size;
	/** Bytes reserved in memzones, over all homes. */
	uint64_t bytes;
	/** Of these, bytes of the largest single home. */
	uint64_t home_bytes;
	/** Hugepages of the size below that these take, rounding of each memzone included. */
	uint64_t hugepages;
	/** Bytes of a hugepage that was counted with; 0 where EAL runs without. */
	uint64_t hugepage_bytes;
	/**
	 * Of `bytes`, those on each NUMA node: where the lcore is that polls the home. Without
	 * lcores, and before rte_eal_init(), all count as node 0.
	 */
	uint64_t node_bytes[TRIP_DOMAIN_NODES_MAX];
};

/** Variables of a home, since the domain was opened. */
struct trip_domain_stats {
	/** sizeof(struct trip_domain_stats), set by the caller. */
	size_t size;
	/** Work items accepted, fired (each firing of an interval counts) and canceled. */
	uint64_t accepted, fired, canceled;
	/** Work items pending now. */
	uint64_t pending;
	/** Refused at acceptance: what a submission ring held was not a valid item. */
	uint64_t refused;
	/** Iterations of the loop, those that did something, and the longest, in nanoseconds. */
	uint64_t iterations, busy_iterations, longest_iteration_ns;
	/** Wakes signalled. */
	uint64_t wakes;
	/** Lost rings that the scrub has found and repaired: 0 unless a process was killed, or
	 * wrote where it should not. */
	uint64_t scrub_repairs;
	/** Completion events dropped because nobody read them. */
	uint64_t events_lost;
	/** The farthest a counter was past the threshold of an item when it fired. */
	uint64_t worst_overshoot;
	/** Commands that came for the application, and those refused, for who sent them may not
	 * (trip_command_open()); in the primary alone. */
	uint64_t commands, commands_refused;
};

/**
 * Opens a domain in this primary process and starts its homes.
 *
 * Takes no port, queue or lcore that it was not given. Reserves all its memory here, on the NUMA
 * node of the lcore that will poll it; nothing afterwards grows the EAL heap.
 *
 * @param attr
 *   Attributes, or NULL for the defaults with TRIP_PROGRESS_MANUAL.
 * @param[out] domain
 *   The domain. Any thread of the process may use it, EAL lcore or not.
 * @param context
 *   The caller's, returned by trip_domain_context().
 * @return
 *   0, or
 *   -EINVAL: an attribute is out of range, or its `size` unknown; an lcore is given twice, is the
 *     main lcore or not enabled, or is no service lcore where one is needed; TRIP_CLOCK_PACKET
 *     without TRIP_PROGRESS_MANUAL;
 *   -EBUSY: an lcore is running something else;
 *   -EEXIST: a domain of this name is open, or another process serves its socket, or what is at
 *     the path of its socket, or of the file beside it, is something else;
 *   -ENOMEM: not enough hugepages; the message says how many are needed;
 *   -ENOTSUP: called in a secondary process; TRIP_IDLE_MONITOR, and this CPU cannot;
 *   -ENODEV: rte_eal_init() has not run;
 *   -EACCES, -ENAMETOOLONG and the like: its socket cannot be made there.
 */
int trip_domain_open(
	const struct trip_domain_attr *attr, struct trip_domain **domain, void *context);

/** Attributes of attaching. A field that is zero has its default. */
struct trip_domain_attach_attr {
	/** sizeof(struct trip_domain_attach_attr). */
	size_t size;
	/** Of the domain; default "trip". */
	const char *name;
};

/**
 * Attaches this secondary process to a domain of its primary. Counters, work and waiting then work
 * as in the primary, and go through shared memory: no call here takes a lock that another process
 * waits for, and the process may be killed at any instruction of these calls. The primary makes the
 * calls about flows and counters objects for this process (trip_port_find()). Ports of its own and
 * functions are -ENOTSUP here: a home is a thread of the primary, and can only call what the
 * primary has. TRIP_WORK_COMPLETION tells this process what has fired.
 *
 * An attached process can write all of the domain's memory. The domain is robust against crashes
 * and garbage, but this is no security boundary. Robust means: whatever the process leaves where
 * its own calls write (its channels, waiter slots and events, the values of counters, the doorbells
 * of homes), the primary and the others go on, and the damage ends with the process; values of
 * counters and flows stay as it left them. The same memory has the homes' own structures (pending
 * sets, slots in use) and the domain's header. No call here writes these; a process that does may
 * end the primary. Give trip_client.h to whoever is not trusted.
 *
 * Calls that open, find, create, close or destroy something, and trip_domain_close(), ask the
 * primary and wait for its answer, without a limit: a request cannot be taken back. While the
 * primary is stopped (SIGSTOP, a debugger) they wait until it goes on, and have then happened once;
 * the primary's end ends them with -ESHUTDOWN (WAIT-12). Calls that wait on counters keep their
 * timeouts (CNTR-15); reading, adding and queueing work ask nobody.
 *
 * @param attr
 *   Attributes, or NULL for the defaults.
 * @param[out] domain
 *   To be closed by trip_domain_close().
 * @return
 *   0, or
 *   -ENOENT, -ECONNREFUSED: the primary has no such domain, or nobody serves its socket;
 *   -EAGAIN: after a second of waiting the domain is still being opened or closed, or the primary
 *     is still clearing away a process (this one before, for example) whose lcore id or place
 *     among `max_processes` this one needs;
 *   -ENOTSUP: this is no secondary process; the primary runs with --no-huge, --no-shconf or
 *     --in-memory, or the domain without a socket;
 *   -EPROTO: another version of the library, or the domain's memory holds what the primary has not
 *     written there; the message says what;
 *   -EACCES: neither the primary's user nor root;
 *   -EINVAL: an lcore id of this process is another's, too; an unknown attribute size, a malformed
 *     name;
 *   -EUSERS: the domain's `max_processes` are attached;
 *   -ENOMEM, -EMFILE.
 */
int trip_domain_attach(
	const struct trip_domain_attach_attr *attr, struct trip_domain **domain, void *context);

/**
 * Stops the homes and frees the domain. Called by the thread that opened it, not from an lcore of
 * the domain.
 *
 * @return
 *   0, or -EBUSY while counters, counters objects, flows, ports or profiles are open in it, while
 *   processes
 *   or (trip_thread_attach()) threads are attached, the caller too, and while somebody waits for
 *   its clock; nothing has changed then. A process that attaches meanwhile either keeps it open, or
 *   is not let in. In an attached process this call detaches. -ESHUTDOWN where its primary has
 *   ended (WAIT-12): the domain stays as it is, with all that is open in it, but no thread of the
 *   library's reads its memory any more, so rte_eal_cleanup() may follow.
 */
int trip_domain_close(struct trip_domain *domain);

/** The context given to trip_domain_open(). */
void *trip_domain_context(const struct trip_domain *domain);

/**
 * Computes what a domain would cost, without reserving anything.
 *
 * @return
 *   0, or -EINVAL as trip_domain_open(), or for an unknown `size` of `footprint`.
 */
int trip_domain_footprint(
	const struct trip_domain_attr *attr, struct trip_domain_footprint *footprint);

/**
 * Runs one bounded iteration of every home of a TRIP_PROGRESS_MANUAL domain (WAIT-11). Any thread;
 * while another thread is in it, a call returns 0 at once.
 *
 * @return
 *   The number of things done (counters sampled, items accepted, fired or canceled, waiters woken);
 *   0 says that the homes were idle. -EINVAL in a domain that progresses by itself.
 */
int trip_progress(struct trip_domain *domain);

/**
 * Feeds the clock of a TRIP_CLOCK_PACKET domain (COND-02). Call it with the time of a packet until
 * it returns 0, and count that packet then: all that is due by its time is done before, and two
 * runs over one capture fire the same items in the same order.
 *
 * Runs one bounded iteration of every home, as trip_progress() does. Where that finds nothing to
 * do, the clock moves: to `ns`, or to the first moment on the way at which something is due. In a
 * call in which something fires the clock does not move, so work fires at the time that the clock
 * shows, and what was counted since it moved was counted at that time.
 *
 * One thread feeds the clock; other threads may make all other calls meanwhile, trip_progress()
 * too.
 *
 * @param ns
 *   Nanoseconds since any moment that is the same in all calls. The clock shows 0 until the first
 *   call. A time before the clock's leaves the clock as it is; one above TRIP_CNTR_MAX is taken for
 *   TRIP_CNTR_MAX.
 * @return
 *   0: the clock shows `ns`, or more, and nothing that is due is left to be done;
 *   > 0: call it again;
 *   -EINVAL: the domain's clock goes by itself; -EDEADLK: called from a registered function;
 *   -ENOTSUP: this is an attached process; -ESHUTDOWN (WAIT-12).
 */
int trip_clock_advance(struct trip_domain *domain, uint64_t ns);

/**
 * Sums the variables of all homes; `longest_iteration_ns` and `worst_overshoot` are maxima. Lock
 * free, any thread; each variable is exact, together they are not one snapshot.
 *
 * @return
 *   0, or -EINVAL: an unknown `size`; -ESHUTDOWN (WAIT-12).
 */
int trip_domain_stats_read(struct trip_domain *domain, struct trip_domain_stats *stats);

/**
 * Checks every invariant of the domain's structures and writes what is broken to `stream`, one
 * sentence each. The homes must be quiescent: TRIP_PROGRESS_MANUAL with nobody in trip_progress().
 *
 * @return
 *   The number of broken invariants, or -EBUSY in a domain that progresses by itself.
 */
int trip_domain_check(struct trip_domain *domain, FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
