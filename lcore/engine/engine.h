/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the homes of a domain share: its counters by number, its flows and what they have counted,
 * its functions. Limits of a domain, and the sections of a home's doorbell. home.h has the home.
 */
#ifndef TRIP_ENGINE_H
#define TRIP_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_work.h>

#include "claim.h"
#include "count.h"
#include "errand.h"
#include "police.h"

/* The base_tsc of clocks that are fed (clock.h): no moment of the tsc is behind it. */
#define TRIP_CLOCK_FED UINT64_MAX
#define TRIP_HOMES_MAX 64
#define TRIP_CLIENTS_MAX 128
/* As many as a node tells apart. They are, in this order: the primary's own; one for each home's
 * handlers; those of the primary's threads that ask for one; and of each attached process its own,
 * and those of its threads. */
#define TRIP_CHANNELS_MAX 256
#define TRIP_NONE UINT32_MAX
/* Ports that a domain may have: ids below this. */
#define TRIP_PORTS_MAX 256
/* Of a flow that is in software. */
#define TRIP_FLOW_SOFT UINT16_MAX

/* Sections of a home's doorbell. */
enum {
	TRIP_BELL_CHANNEL,
	TRIP_BELL_WAITER,
	TRIP_BELL_CNTR,
	/* What control threads ask for: index 0 for calls (call.h), and 1 + each client that is to
	 * be dropped. Clients can ring and silence it like all others: what was asked, only the
	 * primary's memory says. */
	TRIP_BELL_CALL,
	/* By port id: errands that its worker has done. */
	TRIP_BELL_HARD,
	TRIP_BELLS,
};

struct trip_each_zone;
struct trip_home;

/* Counters that a flow feeds, at most: of each kind as many. The kind of the one at [i] is
 * i % TRIP_COUNT_KINDS. */
#define TRIP_FLOW_FEEDS 8
_Static_assert(TRIP_FLOW_FEEDS % TRIP_COUNT_KINDS == 0, "of each kind as many");

/* The first counter of each kind that a flow feeds: global indices or TRIP_NONE. Read by queues
 * that cross: all of a kind are of one home, which folds for them together. */
struct trip_flow_feed {
	_Atomic uint32_t cntr[TRIP_COUNT_KINDS];
};

/*
 * What homes know of a flow that feeds counters, is in hardware, or has been dropped: memory of the
 * primary, whose pages are there once they are touched. All 0 for any other.
 */
struct trip_flow_slot {
	/* The counters that it feeds, or TRIP_NONE; its feed, a copy of the first ones, other
	 * processes may write over. */
	uint32_t cntr[TRIP_FLOW_FEEDS];
	/* Its neighbours among the sources of the same counter; written by that counter's home. */
	uint32_t prev[TRIP_FLOW_FEEDS];
	uint32_t next[TRIP_FLOW_FEEDS];
	/* What each of its queues may count for that counter since the home has split what was
	 * left; likewise. */
	uint32_t share[TRIP_FLOW_FEEDS];
	/* Of those, so many behind the first of each kind are in use, or lie between such. */
	uint8_t more_feeds;
	/* Where it feeds a counter: the queues that count it. */
	uint16_t first_queue;
	uint16_t n_queues;
	/* The port whose hardware counts it, plus 1; 0: none. */
	_Atomic uint16_t hard;
	/* In hardware: its rule is gone, though nobody asked for that. */
	_Atomic bool lost;
	/* Kinds of counts (enum trip_count_which) whose counters have not been told yet. */
	_Atomic uint8_t failed;
	/* In hardware: everything that happened before this moment is in its counts. */
	_Atomic uint64_t fresh_tsc;
	/* Why it drops: fate.h. */
	_Atomic uint64_t fate;
	/* Which of the engine's polices is its own, 1 more; 0: none. */
	_Atomic uint32_t own_police;
	/* The word of police.h that is for ever, 0: none, and its bucket; of the home that has set
	 * `turning`. */
	uint32_t bucket;
	uint64_t police;
	_Atomic bool turning;
	/* In hardware: its rule may say otherwise when no errand is left. */
	_Atomic bool owed;
};

/* What a port's worker has read of a flow in hardware, in the form of a queue's counts. Memory of
 * the same kind. */
struct trip_flow_read {
	struct trip_count count;
	struct trip_count_moments moments;
};

struct trip_function_slot {
	_Atomic(trip_function_t) function;
	void *arg;
};

/* What has been done of a port in hardware: that a worker has done, for whoever reads it. */
struct trip_port_done {
	_Alignas(64) _Atomic uint64_t rules, readings, late_readings, failed_readings,
		longest_gap_tsc;
	_Atomic uint64_t operations, failed_operations;
	_Atomic uint64_t missed, worst_packets, worst_bytes;
	_Atomic uint64_t lost, recreated, stale;
	_Atomic bool stale_now;
};

struct trip_engine {
	struct trip_home *homes[TRIP_HOMES_MAX];
	uint32_t n_homes;
	/* Counters a home; the global index of a counter is home * cntrs_per_home + local. */
	uint32_t cntrs_per_home;
	/* Likewise of waiter slots. */
	uint32_t waiters_per_home;
	uint32_t n_flows;
	struct trip_flow_feed *feeds;
	/* Action word of each flow: TRIP_ACTION_*. */
	_Atomic uint8_t *actions;
	/* What passes of the flows that are policed, and which of these is a flow's: 1 more; 0:
	 * none. */
	struct trip_police *police;
	uint32_t n_police;
	_Atomic uint32_t *police_of;
	/* Of flow f on queue q at [q * n_flows + f]. */
	struct trip_count *counts;
	struct trip_count_moments *moments;
	/* Who polls each queue. */
	struct trip_claim *claims;
	uint32_t n_queues;
	/* What they count by keys (each_queue.h); NULL: the domain has no tables for that. */
	struct trip_each_zone *eaches;
	/* In the primary alone. Behind the queues of ports there is one more, where flows in
	 * hardware have what was read of them: the worker of their port is the one writer. */
	struct trip_flow_slot *flows;
	/* A bit for each of them that an operation may have changed. Any other has fate 0 and no
	 * police, so nobody has to look at it, which would take a page. */
	_Atomic uint64_t *changed;
	struct trip_flow_read *reads;
	struct trip_count_folded *folded;
	/* Of the hardware engines of this process's ports, by port id; homes are the senders. */
	_Atomic(struct trip_errand_desk *) desks[TRIP_PORTS_MAX];
	/* By port, in memory that all processes have; NULL: nobody else reads it. */
	struct trip_port_done *done;
	/* Flows that these count, and the most that there were at once: refresher.h. */
	_Atomic uint32_t n_counted, most_counted;
	struct trip_function_slot *functions;
	uint32_t n_functions;
	uint64_t tsc_hz;
	/* When all clocks were 0; TRIP_CLOCK_FED: they do not go by themselves. */
	uint64_t base_tsc;
};

static inline struct trip_home *
trip_engine_home(const struct trip_engine *engine, uint32_t cntr, uint32_t *local)
{
	*local = cntr % engine->cntrs_per_home;
	return engine->homes[cntr / engine->cntrs_per_home];
}

static inline bool
trip_engine_has_cntr(const struct trip_engine *engine, uint32_t cntr)
{
	return cntr < engine->n_homes * engine->cntrs_per_home;
}

static inline struct trip_count *
trip_engine_count(const struct trip_engine *engine, uint32_t queue, uint32_t flow)
{
	return queue < engine->n_queues ? &engine->counts[(size_t)queue * engine->n_flows + flow]
					: &engine->reads[flow].count;
}

static inline struct trip_count_moments *
trip_engine_moments(const struct trip_engine *engine, uint32_t queue, uint32_t flow)
{
	return queue < engine->n_queues ? &engine->moments[(size_t)queue * engine->n_flows + flow]
					: &engine->reads[flow].moments;
}

static inline struct trip_count_folded *
trip_engine_folded(const struct trip_engine *engine, uint32_t queue, uint32_t flow)
{
	return &engine->folded[(size_t)queue * engine->n_flows + flow];
}

/* The port whose hardware counts a flow, or TRIP_FLOW_SOFT. */
static inline uint16_t
trip_engine_hard_port(const struct trip_engine *engine, uint32_t flow)
{
	/* Relaxed: a work item on the flow was accepted after it was made. */
	return (uint16_t)(atomic_load_explicit(&engine->flows[flow].hard, memory_order_relaxed) -
			  1);
}

/* Whether an operation may have changed what a flow's slot says; and the slot for one that does.
 * Relaxed: who makes another flow of the same index has waited for those who changed it. */
static inline bool
trip_engine_is_changed(const struct trip_engine *engine, uint32_t flow)
{
	uint64_t changed = atomic_load_explicit(&engine->changed[flow / 64], memory_order_relaxed);

	return (changed >> flow % 64 & 1) != 0;
}

static inline struct trip_flow_slot *
trip_engine_change(struct trip_engine *engine, uint32_t flow)
{
	if (!trip_engine_is_changed(engine, flow))
		atomic_fetch_or_explicit(&engine->changed[flow / 64], UINT64_C(1) << flow % 64,
			memory_order_relaxed);
	return &engine->flows[flow];
}

/* Where homes hand in errands for a port, which its worker gives a desk; NULL: it has none. */
static inline struct trip_errand_desk *
trip_engine_desk(const struct trip_engine *engine, uint32_t port)
{
	return atomic_load_explicit(&engine->desks[port], memory_order_acquire);
}

/* Any thread: the rule of a flow in hardware is to be made what its fate says, behind all errands.
 */
static inline void
trip_engine_owe(struct trip_engine *engine, uint32_t flow, uint32_t port)
{
	struct trip_errand_desk *desk = trip_engine_desk(engine, port);

	atomic_store(&engine->flows[flow].owed, true);
	if (desk != NULL)
		atomic_store(&desk->owed, true);
}

static inline void
trip_engine_stat(_Atomic uint64_t *stat, uint64_t n)
{
	/* One writer: its home. */
	atomic_store_explicit(
		stat, atomic_load_explicit(stat, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline uint64_t
trip_engine_stat_read(const _Atomic uint64_t *stat)
{
	return atomic_load_explicit(stat, memory_order_relaxed);
}

/* The most that there has been. */
static inline void
trip_engine_stat_most(_Atomic uint64_t *stat, uint64_t value)
{
	if (value > trip_engine_stat_read(stat))
		atomic_store_explicit(stat, value, memory_order_relaxed);
}

/* Nanoseconds of tsc ticks. */
static inline uint64_t
trip_engine_ns(const struct trip_engine *engine, uint64_t tsc)
{
	/* Some seconds are most of what is asked, and divide in a fraction of the time. */
	if (tsc >> 34 == 0)
		return tsc * 1000000000u / engine->tsc_hz;
	return (uint64_t)((__extension__(unsigned __int128) tsc * 1000000000u) / engine->tsc_hz);
}

#endif
