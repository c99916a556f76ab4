/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deferred work: operations that fire when the sum (success + error) of a counter reaches a
 * threshold, in threshold order, first come first served among equals (WORK-01 to WORK-03).
 * Twins of libfabric's deferred work queues; see fi_trigger(3).
 */
#ifndef TRIP_WORK_H
#define TRIP_WORK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_cntr;
struct trip_domain;
struct trip_flow;
struct trip_function;

/** What deferred work does. */
enum trip_op {
	/** Adds op.cntr.value to the success value of op.cntr.cntr. */
	TRIP_OP_CNTR_ADD = 1,
	/** Sets the success value of op.cntr.cntr to op.cntr.value. */
	TRIP_OP_CNTR_SET,
	/**
	 * Drops the packets that match op.drop.flow from now on; they still count. With
	 * op.drop.time 0 it drops them for ever, else for that many nanoseconds from each firing
	 * on. Then the packets pass again, unless another operation on the flow came since
	 * (DATA-10): a pass or a delete ends the drop at once, a drop for ever outlasts it, and
	 * each of several timed drops lasts for its own time. An operation that fails, which flows
	 * in hardware can, is none: what was in force stays so, and ends when it was to. The item
	 * stays queued until its drop ends; canceling the item ends the drop.
	 */
	TRIP_OP_FLOW_DROP,
	/** Lets the packets that match op.flow through again. */
	TRIP_OP_FLOW_PASS,
	/** Ends op.flow: it no longer matches or counts, and keeps its last value. */
	TRIP_OP_FLOW_DELETE,
	/** Calls op.call.function on the home of the triggering counter. */
	TRIP_OP_CALL,
	/**
	 * Adds op.fill.value to the success value of op.fill.cntr, but never past op.fill.limit
	 * (at most TRIP_CNTR_MAX); the rest is lost. For credits that are granted again and again
	 * and must not pile up.
	 */
	TRIP_OP_CNTR_FILL,
	/**
	 * Raises the success value of op.cntr.cntr to op.cntr.value where it is below that. For
	 * watermarks, and for credits that are granted as a running sum: a grant that comes twice
	 * or too late changes nothing. With an `until_time` its end is told (TRIP_WORK_END), which
	 * undoes nothing: raising to 0 does nothing but tell when a rate begins and ends.
	 */
	TRIP_OP_CNTR_RAISE,
	/** Resets the success value of op.cntr.cntr to 0, as trip_cntr_reset() does; op.cntr.value
	 * is ignored. */
	TRIP_OP_CNTR_RESET,
	/**
	 * Drops of the packets that match op.police.flow, in software, those above op.police.rate
	 * from now on; all of them count. What began last prevails, until it ends (TRIP_WORK_END);
	 * then the last that does not end is in force again, with the rate that it shares
	 * (op.police.with). A pass ends all of them, and what a drop drops is not counted as
	 * policed. trip_flow_query() has what has been policed away.
	 *
	 * Where several homes do that to a flow at once, one of them is the last: its rate, and
	 * what it shares, hold together. A packet is judged by what holds as it is looked at. What
	 * it has used of a lower rate, meanwhile or before, is no more than a burst of the rate
	 * that follows on the same flow.
	 *
	 * In any time T there pass at most rate * T, and what the rate is within
	 * op.police.burst_ms; a packet larger than that passes where all of that is unused. This
	 * holds to the packet, by the time of each burst, over all queues and processes that poll
	 * them, as far as their clocks agree; and as much passes, but for 1/16 ns a packet.
	 */
	TRIP_OP_FLOW_POLICE,
};

/** What a rate is of. */
enum trip_police_unit {
	/** Bits a second, of the bytes that flows count. */
	TRIP_POLICE_UNIT_BITS = 1,
	/** Packets a second. */
	TRIP_POLICE_UNIT_PACKETS,
};

/** Highest rate of TRIP_OP_FLOW_POLICE. */
#define TRIP_POLICE_MAX ((UINT64_C(1) << 40) - 1)

/** What an operation works on. */
enum trip_op_target {
	TRIP_OP_ON_CNTR = 1,
	TRIP_OP_ON_FLOW,
	TRIP_OP_ON_FUNCTION,
};

/** What there is to know of an operation. */
struct trip_op_info {
	/** sizeof(struct trip_op_info), set by the caller. */
	size_t size;
	/** As reports and the rules language have it: "add". The library's. */
	const char *name;
	enum trip_op_target target;
	/** It has a value beside its target. */
	int has_value;
	/** Its effect may be for a time; then it takes one slot of work items more. */
	int has_time;
	/** 0. */
	int reserved;
};

/**
 * Describes an operation. Any thread of any process, attached or not.
 *
 * @return
 *   0, -ENOSYS: unknown operation, -EINVAL: an unknown `size`.
 */
int trip_op_describe(enum trip_op op, struct trip_op_info *info);

/** What has to hold beside the threshold before an item fires. */
enum trip_condition_kind {
	/** Nothing. */
	TRIP_CONDITION_NONE = 0,
	/**
	 * The counter has not advanced for when.idle.time since the threshold was reached. It is
	 * found so never earlier, and at most 1 % later, plus the refresh lag of flows in hardware
	 * (COND-06). A `set` counts as an advance (COND-08). The item fires once; with an interval,
	 * once for each idle period, after the counter has advanced by that much again.
	 */
	TRIP_CONDITION_IDLE,
	/**
	 * At least `count` came within a window of `time`.
	 *
	 * It fires only where some window of at most `time` held `count` (COND-03), and every
	 * window of at most 63/64 of `time` that held `count` fires it, with the update that
	 * completes the window (COND-04). The first window begins when the item is queued, or
	 * when its threshold is reached. An update belongs to the moment at which the counter
	 * shows it: an addition to its call, packets to their burst. Flows tell their counter
	 * later (trip_cntr_age()): packets that were counted but not told when the item was queued
	 * belong to its windows, too. With flows in hardware, a window that surely fires is
	 * shorter by their lag.
	 *
	 * With an interval, which must be 1, it fires again when `count` more came within a window
	 * that began after the firing (COND-05), unless that was at a sum of 2^63-1 or more
	 * (WORK-14). With an `until_time`, the next window begins only after a quiet time: fewer
	 * than `until_count` within at least `until_time`, behind the firing. A quiet time that is
	 * 1/64 longer than that, and longer by the lag in hardware, is found when it ends; what a
	 * drop, a police, a call or a raise began with the firing ends then (TRIP_WORK_END).
	 *
	 * A set of the counter restarts its windows and its quiet time (COND-08). What flows have
	 * counted before the home next looks at the counter belongs to no window then.
	 *
	 * All of this needs a home that runs. What the home finds more than 1/576 of `time` late
	 * it dates too early. So while the home does not run for longer than that, a window that
	 * begins may be missed, and a window that ends is found when it runs again; none fires
	 * early.
	 */
	TRIP_CONDITION_RATE,
	/**
	 * Each of its pairs was reached at some moment since the item was queued, or before
	 * (COND-07). The pairs trigger the item, so its own triggering_cntr is NULL and its
	 * threshold 0. A pair may itself be a TRIP_CONDITION_ANY, likewise without a counter; that
	 * one's pairs may not nest further. The item fires once, on the home of the first of its
	 * counters. In its event, `threshold` and `value` are how many of its pairs had been
	 * reached. When it fires or is canceled, its remaining pairs go with it.
	 */
	TRIP_CONDITION_ALL,
	/** The same, but one reached pair suffices; a pair may be a TRIP_CONDITION_ALL. */
	TRIP_CONDITION_ANY,
};

/** Pairs of a condition, at most. */
#define TRIP_CONDITION_PAIRS_MAX 8

struct trip_pair;

/** A condition of a work item; copied with it. */
struct trip_condition {
	/** sizeof(struct trip_condition). */
	size_t size;
	enum trip_condition_kind kind;
	/**
	 * Parameters, by kind; what lies behind those of the kind is 0. Each covers all of it, as
	 * a compiler clears no more of a union than the member that an initializer names.
	 */
	union {
		struct {
			/** Nanoseconds, at most TRIP_CNTR_MAX. */
			uint64_t time;
			uint64_t reserved[7];
		} idle;
		struct {
			/** 1 to TRIP_CNTR_MAX. */
			uint64_t count;
			/** Nanoseconds, 100000 to TRIP_CNTR_MAX. */
			uint64_t time;
			/** Both 0, or likewise. */
			uint64_t until_count, until_time;
			uint64_t reserved[4];
		} rate;
		struct {
			/** 1 to TRIP_CONDITION_PAIRS_MAX of them, copied with it. */
			const struct trip_pair *of;
			uint64_t count;
			uint64_t reserved[6];
		} pairs;
		uint64_t reserved[8];
	} when;
};

/** A pair of TRIP_CONDITION_ALL or _ANY: what a work item waits for. */
struct trip_pair {
	/** sizeof(struct trip_pair), the same in all of a condition. */
	size_t size;
	/** The sum of this counter, which may be a clock, is at or above `threshold`. */
	struct trip_cntr *cntr;
	uint64_t threshold;
	/** What has to hold beside that, as of a work item without an interval; NULL: nothing. */
	const struct trip_condition *condition;
};

/** What there is to know of a condition. */
struct trip_condition_info {
	/** sizeof(struct trip_condition_info), set by the caller. */
	size_t size;
	/** As reports and the rules language have it. The library's. */
	const char *name;
	enum trip_condition_kind kind;
	/** Its items may have an interval; that of TRIP_CONDITION_RATE is 1. */
	int repeats;
	/** Slots of work items that an item with it takes beside its own; they count in `max_works`
	 * and its like. */
	uint32_t slots;
	/**
	 * Most pairs that it may have; 0: it has none. Each pair takes 2 slots on the home of its
	 * counter, and those of its own condition.
	 */
	uint32_t pairs;
};

/**
 * Describes a condition. Any thread of any process, attached or not.
 *
 * @return
 *   0, -ENOSYS: unknown condition, -EINVAL: an unknown `size`.
 */
int trip_condition_describe(enum trip_condition_kind kind, struct trip_condition_info *info);

/** The firing is delivered as an event to trip_work_read() (WORK-15). */
#define TRIP_WORK_COMPLETION (1u << 0)
/** One jump over k intervals fires once with a count of k, instead of k times (WORK-14). */
#define TRIP_WORK_COALESCE (1u << 1)
/**
 * Of a TRIP_CONDITION_RATE with an `until_time`: it holds when the item is accepted, whatever came
 * and whatever its threshold, and its quiet time begins then. So an item that takes the place of
 * another goes on with what that had begun. That is a firing like others; it fires again as COND-05
 * says.
 */
#define TRIP_WORK_BEGUN (1u << 4)

/** Id of no work item. */
#define TRIP_WORK_NONE UINT64_C(0)

/** A deferred work item. Copied at submission; the caller may reuse it at once (WORK-10). */
struct trip_work {
	/** sizeof(struct trip_work). */
	size_t size;
	/** The item fires once the sum of this counter (NULL where its condition has pairs) ... */
	struct trip_cntr *triggering_cntr;
	/** ... is at or above this, at most TRIP_CNTR_MAX. */
	uint64_t threshold;
	/**
	 * 0: fires once. Otherwise it is queued again at threshold + interval after each firing and
	 * counts as accepted then: it does not overtake what is ready already (WORK-04, WORK-14).
	 */
	uint64_t interval;
	/** Its success grows by 1 when the operation succeeded, its error by 1 when not (WORK-05);
	 * NULL: none. Must be NULL for counter operations (WORK-06). */
	struct trip_cntr *completion_cntr;
	/** The caller's, handed back in events and to functions. */
	uint64_t context;
	enum trip_op op_type;
	/** TRIP_WORK_COMPLETION, TRIP_WORK_COALESCE, TRIP_WORK_BEGUN. */
	uint32_t flags;
	/**
	 * What has to hold beside the threshold, from the moment when that is reached; NULL:
	 * nothing. Not with a clock as triggering counter, nor with TRIP_WORK_COALESCE. In its
	 * events, `threshold` is the sum at which it held. With an interval, it is judged anew once
	 * the counter has advanced by that.
	 */
	const struct trip_condition *condition;
	union {
		struct {
			struct trip_cntr *cntr;
			uint64_t value;
		} cntr;
		/** A drop by it is for ever: an initializer that names it clears op.drop.time. */
		__extension__ struct {
			struct trip_flow *flow;
			uint64_t flow_reserved[7];
		};
		struct {
			struct trip_flow *flow;
			/** Nanoseconds, at most TRIP_CNTR_MAX; 0: for ever. */
			uint64_t time;
		} drop;
		struct {
			struct trip_function *function;
		} call;
		struct {
			struct trip_cntr *cntr;
			uint64_t value;
			uint64_t limit;
		} fill;
		struct {
			struct trip_flow *flow;
			/** A second, 1 to TRIP_POLICE_MAX. */
			uint64_t rate;
			/**
			 * NULL, or the flow with which it shares one rate, such as another flow of
			 * the same rule. Destroy that flow last: a flow that is created in its
			 * place would share the rate, too.
			 */
			struct trip_flow *with;
			enum trip_police_unit unit;
			/** Milliseconds, at most 1000; 0: 100. */
			uint32_t burst_ms;
		} police;
		/** A target, a value, and 48 bytes of operands. */
		uint64_t reserved[8];
	} op;
};

/** What happened when a work item fired. */
struct trip_work_event {
	/** Bytes of it that the library has filled in. */
	size_t size;
	/** The item's id and the caller's context. */
	uint64_t id, context;
	/** The threshold that was reached, and the sum of the counter as it was sampled. */
	uint64_t threshold, value;
	/** Intervals that this firing stands for; 1 unless TRIP_WORK_COALESCE. */
	uint64_t count;
	/**
	 * Nanoseconds from the update to the firing: from the burst that crossed, where a flow fed
	 * the counter, else from the moment at which the home sampled it; 0 where the item was due
	 * already when it came.
	 */
	uint64_t latency_ns;
	/** 0, or a negative errno of the operation. */
	int32_t result;
	enum trip_op op_type;
	/** TRIP_WORK_MORE, TRIP_WORK_END. */
	uint32_t flags;
	/** 0. */
	uint32_t reserved;
};

/** In an event: the item is queued again, at threshold + interval, or is still to end. */
#define TRIP_WORK_MORE (1u << 2)
/**
 * In an event: what began with the last firing of the item has ended; `threshold` and `value` are
 * those of that firing. Where `result` is an error, a flow in hardware passes as soon as its port
 * lets it. As with intervals, an event that finds no room is lost.
 */
#define TRIP_WORK_END (1u << 3)

/**
 * A function that deferred work can call. It runs on the home of the triggering counter between two
 * bursts of work, so it must be short and must not block. It may call everything of this library;
 * calls that would have to wait answer -EDEADLK or -EINPROGRESS.
 *
 * @param event
 *   What happened; `result` is 0 there.
 * @param arg
 *   The argument given to trip_function_register().
 * @return
 *   0, or a negative errno, which becomes the result of the operation.
 */
typedef int (*trip_function_t)(const struct trip_work_event *event, void *arg);

/**
 * Registers a function. Any thread.
 *
 * @return
 *   0, -EINVAL: function is NULL, -ENOSPC: the domain's `max_functions` are registered,
 *   -ENOTSUP: this is an attached process; functions run in the primary; -ENOMEM; -EDEADLK: called
 *   from a port's notification, and those that are left were unregistered by functions, and may be
 *   running until it has returned; or -ESHUTDOWN (WAIT-12).
 */
int trip_function_register(struct trip_domain *domain, trip_function_t function, void *arg,
	struct trip_function **handle);

/**
 * Names a function for whoever lists the work that calls it. Any thread.
 *
 * @param name
 *   1 to TRIP_NAME_MAX characters, of those that names of counters have; need not be unique.
 * @return
 *   0, or -EINVAL: the name is malformed; -ESHUTDOWN (WAIT-12).
 */
int trip_function_name(struct trip_function *handle, const char *name);

/**
 * Unregisters a function. Any thread.
 *
 * @return
 *   0, or -EBUSY while pending work would call it; nothing has changed then; -ESHUTDOWN (WAIT-12).
 */
int trip_function_unregister(struct trip_function *handle);

/**
 * Queues a deferred work item (fi_control(FI_QUEUE_WORK)). Any thread.
 *
 * @param[out] id
 *   Id for trip_work_cancel(), never reused within the domain (WORK-08); may be NULL.
 * @return
 *   0: accepted for submission; it fires once its condition holds, at once where it holds already
 *     (WORK-04). A refused submission leaves nothing behind (WORK-11):
 *   -EINVAL: an unknown `size`; a missing object; a threshold, value, operand or parameter above
 *     its limit; unknown flags; a completion counter with a counter operation (WORK-06); a
 *     condition on a clock, with TRIP_WORK_COALESCE, or with an interval where its
 *     trip_condition_info has no `repeats`; TRIP_WORK_BEGUN without an until; ALL or ANY with a
 *     triggering counter, nested in its own kind or more than once;
 *   -ENOSYS: unknown operation or condition;
 *   -EXDEV: an object of another domain;
 *   -ENOTSUP: TRIP_OP_FLOW_POLICE of a flow in hardware;
 *   -EAGAIN: all slots are in flight: `max_works`, `max_process_works` in an attached process, or
 *     `max_thread_works` of a thread that has channels of its own. An item takes one slot, one
 *     more for operands beside target and value (op.fill, op.police), for a time (op.drop) or for
 *     a drop, police or call with an until, and those that trip_condition_info says (`slots`). Or
 *     `max_events` items with TRIP_WORK_COMPLETION are queued or unread. Let the home progress,
 *     read the events, then try again;
 *   -ENOSPC: as many ALL and ANY, nested ones counted, are pending on the home of the first pair
 *     as may be: the domain's `max_groups`; of an attached process, or a thread that has channels
 *     of its own, a 64th of its items, and 9; or as many flows may be policed, or share the rate of
 *     one, as the domain's `max_policed`;
 *   -EDEADLK: TRIP_OP_FLOW_POLICE, called from a port's notification: as many are, and of those
 *     that have been destroyed something may be under way until it has returned;
 *   -ESHUTDOWN (WAIT-12).
 */
int trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id);

/**
 * Gives the calling thread a channel of its own to each home: what it queues from now on shares no
 * lock with other threads, and it has `max_thread_works` items of its own that may be pending.
 * Nothing else changes: its items are the process's, so any thread may cancel and flush them.
 *
 * Any thread of any attached process but a home's, once for each domain. trip_thread_detach() gives
 * the channels back, and so does the end of the thread or of the process. Returns when the homes
 * have accepted what the process has queued before, so that the thread's submissions stay in order
 * (WORK-03); in the primary of a domain with manual progress it progresses meanwhile.
 *
 * @return
 *   0; -EALREADY: it has them; -ENOSPC: `max_process_threads` threads of this process do; -EINVAL:
 *   called on a home, which has channels of its own; -ENOMEM; -ESHUTDOWN (WAIT-12).
 */
int trip_thread_attach(struct trip_domain *domain);

/**
 * Gives the calling thread's channels back, for another thread to have. What it has queued stays;
 * it queues by the process's channels again, once homes have accepted that (WORK-03).
 *
 * @return
 *   0; -ENOENT: it has none; -ESHUTDOWN (WAIT-12).
 */
int trip_thread_detach(struct trip_domain *domain);

/**
 * Cancels a queued item (FI_CANCEL_WORK). Any thread; needs no progress (WORK-08).
 *
 * @return
 *   0: it will not fire (again), and no completion is counted; -ENOENT: it has fired, is canceled,
 *   or is unknown; -ESHUTDOWN (WAIT-12). Exactly one of firing and canceling happens.
 */
int trip_work_cancel(struct trip_domain *domain, uint64_t id);

/**
 * Cancels what is queued (FI_FLUSH_WORK) and returns when nothing of it will fire and what had
 * started has finished (WORK-09). In a domain with manual progress it progresses.
 *
 * @param cntr
 *   Only items that this counter triggers, alone or as one of several pairs; NULL: all items of the
 *   calling process.
 * @return
 *   0; -EINPROGRESS: called from a function or a polling lcore of the domain: all is canceled, but
 *   not waited for; -EXDEV: a counter of another domain; -ESHUTDOWN: in an attached process whose
 *   primary has ended, or ends meanwhile.
 */
int trip_work_flush(struct trip_domain *domain, struct trip_cntr *cntr);

/**
 * Reads completion events in firing order, of all items queued with TRIP_WORK_COMPLETION (WORK-15).
 * Order holds for each home. One thread at a time; others wait.
 *
 * @param size
 *   sizeof(struct trip_work_event).
 * @param count
 *   Room in `events`.
 * @return
 *   The number written to `events`, at most count; -EINVAL: an unknown size; -ESHUTDOWN (WAIT-12).
 */
int trip_work_read(
	struct trip_domain *domain, struct trip_work_event *events, size_t size, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
