/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking at a domain from outside: programs that do not attach, and need neither hugepages nor
 * DPDK, ask over the domain's socket. They can list, read, watch and arm, and change nothing but by
 * commands to the application where that takes them from who they are (trip_client_command()). Whom
 * the socket lets in, its owner, group and mode say.
 *
 * The calls are also in libtripline-client, which depends on libc only. A client is for one thread
 * at a time. Calls return 0 or a negative errno; trip_error_message() has the sentence behind it.
 *
 * No call outlasts its limit, even where the primary is stopped: it returns -ETIMEDOUT then, and
 * ends the connection, since an answer that comes late must not be taken for the next one's. Calls
 * that follow on it return -EPIPE.
 */
#ifndef TRIP_CLIENT_H
#define TRIP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <trip_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_client;

/** Limit of a call in milliseconds, where no other is given. */
#define TRIP_CLIENT_LIMIT_MS 5000

/** What trip_client_list() lists. */
enum trip_client_kind {
	/** The domain itself: one struct trip_client_domain. */
	TRIP_CLIENT_DOMAIN,
	/** Open counters: struct trip_client_cntr. */
	TRIP_CLIENT_CNTR,
	/** Pending work items: struct trip_client_work. */
	TRIP_CLIENT_WORK,
	/** Counted flows: struct trip_client_flow. */
	TRIP_CLIENT_FLOW,
	/** The primary, attached processes, those that were and are being cleared away, and
	 * orphans: struct trip_client_process. */
	TRIP_CLIENT_PROCESS,
	/** Homes, the polling lcores of the domain: struct trip_client_home. */
	TRIP_CLIENT_HOME,
	/** Statements that count by keys (trip_each.h): struct trip_client_each. */
	TRIP_CLIENT_EACH,
};

/** The domain. */
struct trip_client_domain {
	/** Bytes of it that the library has filled in. */
	size_t size;
	/** 1, and one more for each primary before this that was killed rather than closed its
	 * domain.
	 */
	uint64_t generation;
	/** Maxima of its attributes, and what is in use; the primary is a process, too, above the
	 * maximum. */
	uint32_t max_cntrs, cntrs;
	uint32_t max_works, max_waiters, max_flows, homes;
	uint32_t max_processes, processes;
	/** The primary. */
	uint32_t pid;
	/** enum trip_progress. */
	uint32_t progress;
	/** TRIP_VERSION_STRING of the library. */
	char version[16];
	char name[40];
	/** EAL's file prefix, by which one attaches. */
	char prefix[64];
	/** As struct trip_domain_stats has them. */
	uint64_t commands, commands_refused;
	/** 1: who asks may give its application commands, by the groups that he had when he
	 * connected; 0: he may not, or it takes none. */
	uint64_t may_command;
};

/** In place of a threshold: any change, or none. */
#define TRIP_CLIENT_ANY UINT64_MAX

/** A counter. */
struct trip_client_cntr {
	/** Bytes of it that the library has filled in; set by the caller where he gives one. */
	size_t size;
	/** Never used again for another counter of the domain; 0: none. */
	uint64_t id;
	uint64_t success, error;
	/** They move with each change of the error value, and with each set of either. */
	uint32_t errgen, setgen;
	/** Nanoseconds since a flow counter was refreshed; 0 for others. */
	uint64_t age_ns;
	/** enum trip_cntr_events. */
	uint32_t events;
	/** Index of its home. */
	uint32_t home;
	/** Process that owns it; 0: it has died, and others keep the counter. */
	uint32_t pid;
	/** Further handles that have found it. */
	uint32_t users;
	/** Flows that feed it. */
	uint32_t flows;
	uint32_t reserved;
	/**
	 * The lowest sum (success + error) at which work or a waiter of any process waits;
	 * TRIP_CLIENT_ANY: none does. Of a counter that is just being looked at it may be below
	 * the sum, and lower than the lowest where many have been canceled at once.
	 */
	uint64_t next;
	/** "": nameless. */
	char name[40];
};

/** A pending work item. */
struct trip_client_work {
	/** Bytes of it that the library has filled in. */
	size_t size;
	uint64_t id, context;
	/** TRIP_CLIENT_ANY: of a condition that repeats, which its home alone knows. Of one of
	 * pairs: how many have to be reached. */
	uint64_t threshold;
	uint64_t interval;
	/** Of counter operations: what is added or set; of what is for a time: nanoseconds. */
	uint64_t value;
	/** Ids of the counter that triggers it, 0: its home's clock, or pairs, which no list has;
	 * of the one that counts its completion, and of its target where that is a counter; 0:
	 * none. */
	uint64_t cntr, completion, target;
	/** Of flow operations and calls: index of the target. */
	uint32_t index;
	/** enum trip_op. */
	uint32_t op;
	/** TRIP_WORK_COMPLETION, TRIP_WORK_COALESCE, TRIP_WORK_BEGUN. */
	uint32_t flags;
	/** Process that queued it. */
	uint32_t pid;
	/** What triggers it has come to so much; a clock, in nanoseconds since the domain was
	 * opened; of pairs, so many have been reached. */
	uint64_t sum;
	/** Of calls: the function's name; "": it has none. */
	char function[40];
	/** enum trip_condition_kind: what has to hold once the threshold is reached. */
	uint32_t condition;
	/** 0. */
	uint32_t reserved;
	/** Of a condition that has a time: nanoseconds. */
	uint64_t condition_time;
	/** Of TRIP_CONDITION_RATE: how many; of one of pairs, of how many. */
	uint64_t condition_count;
	/** Of one with an until: less than how many in how many nanoseconds; else 0. */
	uint64_t condition_until_count, condition_until_time;
};

/** What flows do with packets. */
#define TRIP_CLIENT_FLOW_ACTIVE (1u << 0)
#define TRIP_CLIENT_FLOW_DROP (1u << 1)

/** Text of a flow, with its end. */
#define TRIP_CLIENT_PATTERN_MAX 192
#define TRIP_CLIENT_REASON_MAX 128

/** A counted flow. */
struct trip_client_flow {
	/** Bytes of it that the library has filled in. */
	size_t size;
	/** What it has counted, in the counters or not yet; in hardware, as last read. */
	uint64_t packets, bytes;
	/** Ids of the counters of packets and of bytes; 0: none. */
	uint64_t packets_cntr, bytes_cntr;
	/** As work items name it. */
	uint32_t index;
	/** TRIP_CLIENT_FLOW_*. */
	uint32_t flags;
	/** Port it is on. */
	uint32_t port;
	uint32_t queues;
	/** enum trip_flow_engine, SW or HW; enum trip_flow_fate; enum trip_flow_direction. */
	uint32_t engine, fate, direction;
	uint32_t group, priority;
	/** Process that created it. */
	uint32_t pid;
	/** In the words of testpmd, as "eth / ipv4 / udp dst is 53 / end"; "..." at its end: cut.
	 */
	char pattern[TRIP_CLIENT_PATTERN_MAX];
	/** Why it is in that engine. */
	char reason[TRIP_CLIENT_REASON_MAX];
	/** As trip_flow_query() has them: what was above a rate, and the rate that is in force. */
	uint64_t policed_packets, policed_bytes;
	uint64_t police_rate;
	/** enum trip_police_unit; 0 where none is in force. */
	uint32_t police_unit;
	/** 0. */
	uint32_t reserved;
};

/** States of a process. */
enum trip_client_state {
	TRIP_CLIENT_PRIMARY,
	TRIP_CLIENT_ATTACHED,
	/** Its connection is lost, but it lives. */
	TRIP_CLIENT_LOST,
	/** It has died or let go; its homes are dropping what it left. */
	TRIP_CLIENT_DROPPING,
	/** It was attached to a primary before this one, which was killed; executed anew, it can
	 * attach to this one. */
	TRIP_CLIENT_ORPHAN,
};

/** A process. */
struct trip_client_process {
	/** Bytes of it that the library has filled in. */
	size_t size;
	uint32_t pid, uid;
	/** enum trip_client_state. */
	uint32_t state;
	/** Counters that it owns, and handles that it has found. */
	uint32_t cntrs, found;
	/** Waiter slots that it holds. */
	uint32_t waiters;
	/** Work items that it has in flight: queued, or canceled and not yet given back by their
	 * homes. */
	uint32_t works;
	uint32_t reserved;
	/** CLOCK_MONOTONIC, in nanoseconds, when it attached. */
	uint64_t since_ns;
	/** Ids of its lcores, a bit each, from 0; no two processes may have one in common. */
	uint64_t lcores[16];
};

/** How what an lcore does is spread: what half of it, 90 %, 99 % and 99.9 % was not above, as the
 * variables of its profile are, and the most. 0: there was nothing. */
struct trip_client_spread {
	uint64_t p50, p90, p99, p999, most;
};

/** A home. Variables are since the domain was opened; see struct trip_domain_stats. */
struct trip_client_home {
	/** Bytes of it that the library has filled in. */
	size_t size;
	uint32_t index;
	/** Lcore that polls it; UINT32_MAX: the application does. */
	uint32_t lcore;
	uint64_t accepted, fired, canceled, refused, pending;
	uint64_t iterations, busy_iterations, longest_iteration_ns;
	uint64_t wakes, scrub_repairs, events_lost, worst_overshoot;
	/** How far counters were past the thresholds of items that fired; from the update to that;
	 * and to when the home has found it. */
	struct trip_client_spread overshoot, firing_ns, detection_ns;
};

/** Words of the fields of a key, with their end. */
#define TRIP_CLIENT_FIELDS_MAX 192

/** A statement that counts by keys; what has no word here is as in struct trip_each_info. */
struct trip_client_each {
	/** Bytes of it that the library has filled in. */
	size_t size;
	uint64_t packets, bytes;
	uint64_t remainder_packets, remainder_bytes;
	uint64_t refused_packets, refused_bytes;
	uint64_t admitted, evicted, expired;
	uint64_t keys, floor, idle_us, table_bytes;
	uint32_t max, tables;
	/** enum trip_each_rank; enum trip_flow_direction. */
	uint32_t rank, direction;
	char name[40];
	/** What its keys are: "ipv4.src/24,l4.dst". */
	char fields[TRIP_CLIENT_FIELDS_MAX];
	uint64_t dropped_packets, dropped_bytes, held;
	/** enum trip_each_full. */
	uint64_t full;
	/** As struct trip_each_info has them; `hardware` 0: none of its keys goes there. */
	uint64_t hardware, hardware_keys, hardware_waiting, hardware_packets, hardware_bytes;
	uint64_t coming_packets, coming_bytes, rule_changes, rules_failed, passed_over;
};

/** A key as text, with its end; and keys that one call of trip_client_top() has at most. */
#define TRIP_CLIENT_KEY_MAX 128
#define TRIP_CLIENT_TOP_MAX 88

/** What has been counted of one key, as struct trip_each_entry has it. */
struct trip_client_key {
	/** Bytes of it that the library has filled in. */
	size_t size;
	uint64_t packets, bytes, error;
	uint32_t tables;
	/** enum trip_each_op. */
	uint32_t op;
	/** As trip_each_text() writes it: "10.1.2.3,443". */
	char key[TRIP_CLIENT_KEY_MAX];
	/** Since when a rule of hardware drops it, by the domain's clock; 0: none does. */
	uint64_t hardware_ns;
	/** Not 0: that is done to it by hand. */
	uint32_t by_hand;
	/** 0. */
	uint32_t reserved;
};

/**
 * The path of a domain's socket where its primary was not told another: in /run/tripline for root,
 * else in $XDG_RUNTIME_DIR/tripline, else in /tmp/tripline-UID; there `PREFIX.DOMAIN.sock`.
 *
 * @param prefix
 *   EAL's file prefix of the primary; NULL: "rte", EAL's default.
 * @param domain
 *   Name of the domain; NULL: "trip".
 * @return
 *   0, or -ENAMETOOLONG.
 */
int trip_client_path(const char *prefix, const char *domain, char *path, size_t size);

/**
 * Connects.
 *
 * @param path
 *   Of the socket; NULL: trip_client_path(NULL, NULL).
 * @return
 *   0, -ENOENT, -ECONNREFUSED: no primary serves it; -EACCES: the socket's mode; -EUSERS: the
 *   user has as many connections as it may: another user than root and the primary's 32, all of
 *   these together 96, root and the primary's 128 each beside those of attached processes, and
 *   fewer where the primary may have few files; -EPROTO: another version of this protocol;
 *   -ENAMETOOLONG: a path of more than 107 characters; -EMFILE, -ENFILE: no descriptor is left;
 *   -ENOMEM; -ETIMEDOUT: the primary has not accepted or not answered within TRIP_CLIENT_LIMIT_MS,
 *   which is the limit of the calls that follow, too.
 */
int trip_client_open(const char *path, struct trip_client **client);

/** The same with a limit of its own, in milliseconds, from 1; negative: none. */
int trip_client_open_within(const char *path, int limit_ms, struct trip_client **client);

/** Sets the limit of each call that follows, likewise. */
void trip_client_limit(struct trip_client *client, int limit_ms);

/** Ends the connection and everything that it watches. */
void trip_client_close(struct trip_client *client);

/**
 * Lists objects, some at a time.
 *
 * @param[in,out] cursor
 *   0 at first; then as the call before left it. What comes and goes meanwhile may be missed.
 * @param size
 *   sizeof the record of this kind; of an earlier version it may be smaller.
 * @param count
 *   Room in `records`.
 * @return
 *   Number of records written, 0 where there are no more; or -EINVAL: an unknown `size`; -EAGAIN:
 *   calls of the primary's have changed what is listed for a second; -EPIPE: the primary has ended;
 *   -ETIMEDOUT.
 */
int trip_client_list(struct trip_client *client, enum trip_client_kind kind, uint64_t *cursor,
	void *records, size_t size, uint32_t count);

/**
 * Finds the keys of a statement that have most, the first first. All of its entries are looked at
 * for that, which the primary does for a tenth of the time at most: in between it tells what it has
 * found last.
 *
 * @param rank
 *   By which measure: an enum trip_each_rank, 0 for packets, 1 for bytes.
 * @param size
 *   sizeof(struct trip_client_key); of an earlier version it may be smaller.
 * @param count
 *   Room in `keys`; TRIP_CLIENT_TOP_MAX are written at most.
 * @return
 *   Number of keys written; or -ENOENT: there is no statement of that name; -EINVAL: no such name
 *   can be, an unknown rank or `size`, no room; -EAGAIN: calls of the primary's have changed its
 *   statements for a second; -ENOMEM: of the primary; -EPIPE, -ETIMEDOUT.
 */
int trip_client_top(struct trip_client *client, const char *name, uint32_t rank,
	struct trip_client_key *keys, size_t size, uint32_t count);

/** Finds a counter by name: 0, -ENOENT, -EINVAL: no such name can be, an unknown `size`; -EPIPE,
 * -ETIMEDOUT. */
int trip_client_find(struct trip_client *client, const char *name, struct trip_client_cntr *cntr);

/** Reads a counter by id: 0, -ENOENT: it is closed, -EINVAL: an unknown `size`; -EPIPE, -ETIMEDOUT.
 */
int trip_client_read(struct trip_client *client, uint64_t id, struct trip_client_cntr *cntr);

/**
 * Opens a watch on a counter: a descriptor for select, poll and epoll, to be read (8 bytes for each
 * time that it was made ready) when it is ready, and closed by trip_client_unwatch() or with the
 * connection. When the primary ends, it is ready for good, and a read of it returns 0. It does not
 * block: a read while it is not ready fails with EAGAIN.
 *
 * @return
 *   0, -ENOENT, -ENOSPC: the connection, the user or the domain has no watch left, -EMFILE,
 * -ETOOMANYREFS: the primary can send no descriptor now, for programs of its user have too many on
 * their way; -EPIPE, -ETIMEDOUT.
 */
int trip_client_watch(struct trip_client *client, uint64_t id, uint32_t *watch, int *fd);

/**
 * Makes the descriptor ready, once, when success reaches the threshold or the error value changes,
 * or with TRIP_CLIENT_ANY when either value changes. A change counts from `seen` on: one that came
 * after the reading makes it ready at once, so none is missed. Takes the place of what the watch
 * was armed for before.
 *
 * @param seen
 *   What trip_client_read() gave; `success`, `error` and the generations of it are taken.
 * @return
 *   0, -ENOENT: no such watch, or its counter is closed; -EINVAL: threshold above
 *   TRIP_CNTR_MAX, an unknown `size` of `seen`; -EPIPE, -ETIMEDOUT.
 */
int trip_client_arm(struct trip_client *client, uint32_t watch, uint64_t threshold,
	const struct trip_client_cntr *seen);

/** Closes a watch and its descriptor: 0, -ENOENT, -EPIPE, -ETIMEDOUT. */
int trip_client_unwatch(struct trip_client *client, uint32_t watch);

/** Bytes of the longest command: a rules file, and the words before it. */
#define TRIP_CLIENT_COMMAND_MAX ((size_t)(64 << 20) + 4096)

/**
 * Gives a command to the application that has the domain, and waits until it is done, which has the
 * limit of any call: where that passes, the command may be done all the same. What commands there
 * are is the application's to say.
 *
 * @param[out] status
 *   The application's: 0, or a negative errno.
 * @param[out] answer
 *   What it says, with a zero behind it; any bytes. To be freed by free(); NULL where this fails.
 * @return
 *   0: it was done, or refused by the application; or
 *   -EACCES: who asks may not (trip_command_open() says who may);
 *   -ENOTSUP: the application takes no commands; -ESHUTDOWN: it takes no more of them;
 *   -EMSGSIZE: `length` is above TRIP_CLIENT_COMMAND_MAX; -ENOBUFS: too much of others is on its
 *   way, which goes on while this one did not; -EPROTO, -ENOMEM, -EPIPE, -ETIMEDOUT.
 */
int trip_client_command(struct trip_client *client, const char *text, size_t length, int *status,
	char **answer, size_t *answer_length);

/**
 * The connection's descriptor, for poll() and epoll: POLLRDHUP on it says that the primary has
 * ended, or a limit has passed, which no watch does. It is not to be read, written or closed.
 */
int trip_client_socket(const struct trip_client *client);

#ifdef __cplusplus
}
#endif

#endif
