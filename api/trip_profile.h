/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles: what polling lcores, counters, ports and keys have done, as variables that any process
 * reads without asking anybody, and events that tell of a change. Twins of libfabric's
 * fi_profile_*; see fi_profile(3).
 *
 * A polling lcore publishes its variables together, at the end of each iteration of its loop that
 * is not idle. Whoever reads copies what was published last: no call here waits for an lcore, one
 * that is stopped included, nor for the primary, and none makes an lcore do anything. So what is
 * read of an lcore holds together (PROF-06): of one snapshot
 *
 *	works_accepted_total = works_pending_now + works_fired_total + works_canceled_total
 *
 * A domain's variables are those of all its lcores: sums, the most of what is the most of each, and
 * the quantiles of all that there was.
 * Each lcore's part of them is of one moment; the lcores' moments differ.
 *
 * @code
 * struct trip_profile *profile;
 * uint64_t fired, failed;
 *
 * if (trip_profile_open(trip_domain_fid(domain), 0, &profile, NULL) != 0)
 *	return trip_error_message();
 * trip_profile_start_reads(profile, 0);
 * trip_profile_read_u64(profile, TRIP_VAR_WORKS_FIRED_TOTAL, &fired);
 * trip_profile_read_u64(profile, TRIP_VAR_WORKS_FAILED_TOTAL, &failed);
 * trip_profile_end_reads(profile, 0);
 * @endcode
 *
 * What each variable means, and its unit, trip_profile_query_vars() says; the README of
 * runtime/profile has them all in a table.
 */
#ifndef TRIP_PROFILE_H
#define TRIP_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;
struct trip_fid;
struct trip_profile;

/**
 * Variables. A number is for good, and its name is the same: TRIP_VAR_WORKS_FIRED_TOTAL is
 * "works_fired_total", of whatever object (PROF-03).
 */
enum trip_profile_var {
	/* Of an lcore, and of a domain: its loop. */
	TRIP_VAR_ITERATIONS_TOTAL = 0x101,
	TRIP_VAR_BUSY_ITERATIONS_TOTAL = 0x102,
	TRIP_VAR_BEYOND_ITERATIONS_TOTAL = 0x103,
	TRIP_VAR_BUSY_NS_TOTAL = 0x104,
	TRIP_VAR_IDLE_NS_TOTAL = 0x105,
	TRIP_VAR_BEYOND_NS_TOTAL = 0x106,
	TRIP_VAR_ITERATION_NS_MOST = 0x107,
	TRIP_VAR_ITERATION_NS_LIMIT = 0x108,
	TRIP_VAR_SNAPSHOT_AGE_NS_NOW = 0x109,
	/* Likewise: deferred work. */
	TRIP_VAR_WORKS_ACCEPTED_TOTAL = 0x201,
	TRIP_VAR_WORKS_REFUSED_TOTAL = 0x202,
	TRIP_VAR_WORKS_REARMED_TOTAL = 0x203,
	TRIP_VAR_WORKS_FIRED_TOTAL = 0x204,
	TRIP_VAR_WORKS_FAILED_TOTAL = 0x205,
	TRIP_VAR_WORKS_CANCELED_TOTAL = 0x206,
	TRIP_VAR_WORKS_CUT_TOTAL = 0x207,
	TRIP_VAR_WORKS_PENDING_NOW = 0x208,
	TRIP_VAR_WORKS_LASTING_NOW = 0x209,
	TRIP_VAR_OVERSHOOT_MOST = 0x20a,
	TRIP_VAR_SUBMIT_RING_MOST = 0x20b,
	TRIP_VAR_OVERSHOOT_P50 = 0x20c,
	TRIP_VAR_OVERSHOOT_P90 = 0x20d,
	TRIP_VAR_OVERSHOOT_P99 = 0x20e,
	TRIP_VAR_OVERSHOOT_P999 = 0x20f,
	TRIP_VAR_FIRING_NS_P50 = 0x210,
	TRIP_VAR_FIRING_NS_P90 = 0x211,
	TRIP_VAR_FIRING_NS_P99 = 0x212,
	TRIP_VAR_FIRING_NS_P999 = 0x213,
	TRIP_VAR_FIRING_NS_MOST = 0x214,
	/* Likewise: what it heard, and whom it told. */
	TRIP_VAR_DOORBELLS_TOTAL = 0x301,
	TRIP_VAR_SCRUB_REPAIRS_TOTAL = 0x302,
	TRIP_VAR_CNTRS_HEATED_TOTAL = 0x303,
	TRIP_VAR_SIGNALS_SENT_TOTAL = 0x304,
	TRIP_VAR_SIGNALS_FAILED_TOTAL = 0x305,
	TRIP_VAR_SIGNALS_SUPPRESSED_TOTAL = 0x306,
	TRIP_VAR_EVENTS_TOLD_TOTAL = 0x307,
	TRIP_VAR_EVENTS_LOST_TOTAL = 0x308,
	TRIP_VAR_DETECTION_NS_P50 = 0x309,
	TRIP_VAR_DETECTION_NS_P90 = 0x30a,
	TRIP_VAR_DETECTION_NS_P99 = 0x30b,
	TRIP_VAR_DETECTION_NS_P999 = 0x30c,
	TRIP_VAR_DETECTION_NS_MOST = 0x30d,
	/* Of a domain: its sizes. */
	TRIP_VAR_LCORES_LIMIT = 0x401,
	TRIP_VAR_CNTRS_LIMIT = 0x402,
	TRIP_VAR_WORKS_LIMIT = 0x403,
	TRIP_VAR_WAITERS_LIMIT = 0x404,
	TRIP_VAR_FLOWS_LIMIT = 0x405,
	TRIP_VAR_QUEUES_LIMIT = 0x406,
	TRIP_VAR_PROCESSES_LIMIT = 0x407,
	/* Of a counter. */
	TRIP_VAR_CNTR_SUCCESS_TOTAL = 0x501,
	TRIP_VAR_CNTR_ERROR_TOTAL = 0x502,
	TRIP_VAR_CNTR_AGE_NS_NOW = 0x503,
	TRIP_VAR_CNTR_THRESHOLD_NOW = 0x504,
	TRIP_VAR_CNTR_FLOWS_NOW = 0x505,
	TRIP_VAR_CNTR_VALUE_LIMIT = 0x506,
	/* Of a port and of its queues: what bursts have shown to software. */
	TRIP_VAR_PORT_PACKETS_TOTAL = 0x601,
	TRIP_VAR_PORT_MATCHED_TOTAL = 0x602,
	TRIP_VAR_PORT_DROPPED_TOTAL = 0x603,
	TRIP_VAR_PORT_MALFORMED_TOTAL = 0x604,
	/* Of a port: what its driver tells, and what has been done of it in hardware. */
	TRIP_VAR_PORT_NIC_RX_TOTAL = 0x605,
	TRIP_VAR_PORT_NIC_RX_MISSED_TOTAL = 0x606,
	TRIP_VAR_PORT_NIC_RX_NO_MBUF_TOTAL = 0x607,
	TRIP_VAR_PORT_NIC_RX_ERRORS_TOTAL = 0x608,
	TRIP_VAR_PORT_NIC_TX_TOTAL = 0x609,
	TRIP_VAR_PORT_NIC_TX_ERRORS_TOTAL = 0x60a,
	TRIP_VAR_PORT_RULES_NOW = 0x60b,
	TRIP_VAR_PORT_READINGS_TOTAL = 0x60c,
	TRIP_VAR_PORT_READINGS_FAILED_TOTAL = 0x60d,
	TRIP_VAR_PORT_READINGS_LATE_TOTAL = 0x60e,
	TRIP_VAR_PORT_READINGS_PAST_TOTAL = 0x60f,
	TRIP_VAR_PORT_READING_GAP_NS_MOST = 0x610,
	TRIP_VAR_PORT_OPERATIONS_TOTAL = 0x611,
	TRIP_VAR_PORT_OPERATIONS_FAILED_TOTAL = 0x612,
	TRIP_VAR_PORT_RULES_RECREATED_TOTAL = 0x613,
	TRIP_VAR_PORT_RULES_LOST_TOTAL = 0x614,
	TRIP_VAR_PORT_STALE_TOTAL = 0x615,
	TRIP_VAR_PORT_STALE_NOW = 0x616,
	/* Of a statement that counts by keys. */
	TRIP_VAR_EACH_PACKETS_TOTAL = 0x701,
	TRIP_VAR_EACH_BYTES_TOTAL = 0x702,
	TRIP_VAR_EACH_REFUSED_PACKETS_TOTAL = 0x703,
	TRIP_VAR_EACH_REFUSED_BYTES_TOTAL = 0x704,
	TRIP_VAR_EACH_REMAINDER_PACKETS_TOTAL = 0x705,
	TRIP_VAR_EACH_REMAINDER_BYTES_TOTAL = 0x706,
	TRIP_VAR_EACH_DROPPED_PACKETS_TOTAL = 0x707,
	TRIP_VAR_EACH_DROPPED_BYTES_TOTAL = 0x708,
	TRIP_VAR_EACH_ADMITTED_TOTAL = 0x709,
	TRIP_VAR_EACH_EVICTED_TOTAL = 0x70a,
	TRIP_VAR_EACH_EXPIRED_TOTAL = 0x70b,
	TRIP_VAR_EACH_TRIPS_TOTAL = 0x70c,
	TRIP_VAR_EACH_KEYS_NOW = 0x70d,
	TRIP_VAR_EACH_PINNED_NOW = 0x70e,
	TRIP_VAR_EACH_FLOOR_NOW = 0x70f,
	TRIP_VAR_EACH_KEYS_LIMIT = 0x710,
	TRIP_VAR_EACH_TABLE_BYTES_LIMIT = 0x711,
	TRIP_VAR_EACH_RULE_CHANGES_TOTAL = 0x712,
	TRIP_VAR_EACH_RULES_FAILED_TOTAL = 0x713,
	TRIP_VAR_EACH_PASSED_OVER_TOTAL = 0x714,
};

/** Events: a variable has grown. Their numbers are none of variables. */
enum trip_profile_event {
	/* Of an lcore, and of a domain. */
	TRIP_EVENT_ITERATION_BEYOND = 0x1001,
	TRIP_EVENT_WORK_REFUSED = 0x1002,
	TRIP_EVENT_WORK_FAILED = 0x1003,
	TRIP_EVENT_SCRUB_REPAIRED = 0x1004,
	TRIP_EVENT_SIGNAL_FAILED = 0x1005,
	TRIP_EVENT_EVENT_LOST = 0x1006,
	/* Of a counter. */
	TRIP_EVENT_CNTR_SUCCEEDED = 0x1007,
	TRIP_EVENT_CNTR_FAILED = 0x1008,
	/* Of a port. */
	TRIP_EVENT_PORT_MISSED = 0x1009,
	/* Of a statement that counts by keys. */
	TRIP_EVENT_EACH_TRIPPED = 0x100a,
};

/** What the data of a variable or an event is. */
enum trip_profile_type {
	TRIP_PROFILE_U64 = 0,
};

/** What becomes of a variable; the end of its name. */
enum trip_profile_kind {
	/** `_total`: only grows, by what has happened since the domain was opened. */
	TRIP_PROFILE_TOTAL = 0,
	/** `_now`: a state. */
	TRIP_PROFILE_NOW,
	/** `_most`: the most that there has been. */
	TRIP_PROFILE_MOST,
	/** `_limit`: a setting. */
	TRIP_PROFILE_LIMIT,
	/** `_p50`, `_p90`, `_p99`, `_p999`: what half, 90 %, 99 % and 99.9 % of what there has been
	 * was not above; at most an eighth more than that, and 0 where there was nothing. */
	TRIP_PROFILE_QUANTILE,
};

/** What a variable is measured in. */
enum trip_profile_unit {
	/** What its name names. */
	TRIP_PROFILE_COUNT = 0,
	/** Nanoseconds; `_ns_` in its name. */
	TRIP_PROFILE_NS,
	/** Bytes; `_bytes_` in its name. */
	TRIP_PROFILE_BYTES,
};

/** Describes a variable, or an event. */
struct trip_profile_desc {
	/** Bytes of it that the library has filled in. */
	size_t size;
	/** enum trip_profile_var, or enum trip_profile_event; unique among both (PROF-03). */
	uint32_t id;
	/** Of the variable's value, or of what a callback is told. */
	enum trip_profile_type type;
	enum trip_profile_kind kind;
	enum trip_profile_unit unit;
	/** 0. */
	uint64_t flags;
	/** Bytes of that data. */
	size_t data_size;
	/** The same for the same id, and none that another id has; both belong to the library, and
	 * stay (PROF-03). */
	const char *name;
	const char *desc;
};

/** A domain, and one of its polling lcores, as objects of which trip_profile_open() opens a
 * profile; `lcore` is the home's number, from 0, and it is NULL for one that is not there. */
struct trip_fid *trip_domain_fid(struct trip_domain *domain);
struct trip_fid *trip_lcore_fid(struct trip_domain *domain, uint32_t lcore);

/**
 * Opens a profile of a domain, of a polling lcore, of a counter (trip_cntr_fid()), of a port
 * (trip_port_fid()), of a queue of one (trip_port_queue_fid()), or of a statement that counts by
 * keys (trip_each_fid()), in any process that has it (PROF-01). Any thread. While it is open, that
 * and its domain are not closed (-EBUSY). What a NIC has counted, each process has its own driver
 * tell: 0 where that cannot. An object may have any number of profiles, which know nothing of each
 * other.
 *
 * @param flags
 *   0.
 * @param context
 *   The caller's, returned by trip_profile_context().
 * @return
 *   0, or -ENOSYS: a poll set or a wait set has none (PROF-01); -EINVAL: no object, or flags;
 *   -ENOMEM; -EBUSY: called in a callback; -ESHUTDOWN (WAIT-12).
 */
int trip_profile_open(
	struct trip_fid *fid, uint64_t flags, struct trip_profile **profile, void *context);

/**
 * Closes a profile, and takes its callbacks back: when it returns none of them runs (PROF-07). No
 * other call of the profile may be under way. Any thread; waits for a callback that runs, some
 * milliseconds where none does.
 *
 * @return
 *   0, or -EBUSY: called in a callback; -ESHUTDOWN (WAIT-12).
 */
int trip_profile_close(struct trip_profile *profile);

/**
 * From now on, variables of this profile that are totals count from here, quantiles are of what
 * comes from here, and what is the most is 0 until it is more than by now; states and settings,
 * other profiles and the object itself stay as they are (PROF-07). So what holds between totals
 * alone goes on to hold; between them and a state it holds but for what the state was. Any thread.
 *
 * @param flags
 *   0.
 * @return
 *   0, or -EINVAL: flags; -ESHUTDOWN (WAIT-12).
 */
int trip_profile_reset(struct trip_profile *profile, uint64_t flags);

/**
 * Lists the variables of the profile's object (PROF-02). Any thread.
 *
 * @param list
 *   Room for `count` of them, or NULL, which asks how many there are.
 * @param[in,out] count
 *   How many `list` has room for; then, how many there are.
 * @param size
 *   sizeof(struct trip_profile_desc).
 * @return
 *   How many were written, 0 without a list; -EINVAL: `count` is NULL, or an unknown `size`;
 *   -EBUSY: called in a callback (PROF-05); -ESHUTDOWN (WAIT-12).
 */
int trip_profile_query_vars(
	struct trip_profile *profile, struct trip_profile_desc *list, size_t *count, size_t size);

/** Likewise the events (PROF-02). */
int trip_profile_query_events(
	struct trip_profile *profile, struct trip_profile_desc *list, size_t *count, size_t size);

/**
 * Reads a variable: of the snapshot, between trip_profile_start_reads() and its end; in a callback,
 * of what was found when the event was; elsewhere of what was published last. Any thread, lock-free
 * (it copies again what was published three times while it copied), never blocks.
 *
 * @return
 *   0, or -EINVAL: the object has no such variable (PROF-04); -ESHUTDOWN (WAIT-12).
 */
int trip_profile_read_u64(struct trip_profile *profile, uint32_t var_id, uint64_t *data);

/**
 * What is called when an event has occurred, by a thread of the library's own that looks every
 * 10 ms: so events that come together are told of once. It may read variables, and open and close
 * other things than profiles; while it runs, no other callback of the domain does in this process.
 *
 * @param event
 *   Which event; valid until it returns.
 * @param param
 *   Of the type of the event: by how much the variable has grown since this callback was told of it
 *   before, or was registered.
 * @param size
 *   Bytes of that.
 * @param context
 *   As registered.
 * @return
 *   Is not looked at.
 */
typedef int (*trip_profile_callback_t)(struct trip_profile *profile,
	const struct trip_profile_desc *event, void *param, size_t size, void *context);

/**
 * Has a function called for an event, in place of the one registered before, or with NULL none:
 * when it returns that one does not run any more (PROF-05). Events from then on count. Any thread;
 * starts a thread with the first of a domain's callbacks in this process, which ends with the last.
 *
 * @return
 *   0, or -EINVAL: the object has no such event (PROF-04); -EBUSY: called in a callback (PROF-05);
 *   -EAGAIN: no thread is to be had; -ESHUTDOWN (WAIT-12).
 */
int trip_profile_register_callback(struct trip_profile *profile, uint32_t event_id,
	trip_profile_callback_t callback, void *context);

/**
 * Until trip_profile_end_reads(), all reads of this profile are of one snapshot, taken here
 * (PROF-06). One thread at a time reads a profile so; others open profiles of their own. Never
 * waits for an lcore.
 *
 * @param flags
 *   0.
 * @return
 *   0, or -EINVAL: flags; -EBUSY: it has begun before, or this is a callback, whose reads are of
 *   one snapshot anyway; -ESHUTDOWN (WAIT-12).
 */
int trip_profile_start_reads(struct trip_profile *profile, uint64_t flags);

/**
 * Ends that.
 *
 * @return
 *   0, or -EINVAL: flags, or nothing has begun; -ESHUTDOWN (WAIT-12).
 */
int trip_profile_end_reads(struct trip_profile *profile, uint64_t flags);

/** The context given to trip_profile_open(). */
void *trip_profile_context(const struct trip_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
