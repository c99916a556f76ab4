/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs on a polling lcore ("home"), and what the homes of a domain share.
 *
 * One round of a home: sample the counters that rang, accept everything that was submitted up to
 * then, fire against the samples. An item that was submitted before the update that makes it due is
 * therefore accepted before anything fires against that update, and threshold order needs no lock
 * (WORK-02). A round is spread over as many bounded iterations as it takes; a counter that is due
 * stands in exactly one of three lists:
 *
 *   SAMPLED  its sum has been read; waits for the next sweep to begin
 *   SWEPT    waits for the sweep, which accepts what the channels held when it began
 *   FIRING   fires against its sample, a quantum at a time, then settles: arms the cell again
 *
 * What makes a counter due is its doorbell, or, while it is hot, the home's own look at its cell
 * (hot.h). Either only puts it into the first list: what it fires against is sampled there.
 *
 * Everything in struct trip_home but the views is touched by its home alone. Slots of counters,
 * flows and waiters may be reused while a home still holds a stale reference: its own records are
 * always valid, and a stale one costs a sample for nothing.
 */
#ifndef TRIP_ENGINE_H
#define TRIP_ENGINE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_domain.h>
#include <trip_work.h>

#include "cell.h"
#include "channel.h"
#include "claim.h"
#include "count.h"
#include "doorbell.h"
#include "event_ring.h"
#include "pending.h"

#define TRIP_HOMES_MAX 64
#define TRIP_CLIENTS_MAX 128
/* As many as a node tells apart. They are, in this order: the primary's own; one for each home's
 * handlers; those of the primary's threads that ask for one; and of each attached process its own,
 * and those of its threads. */
#define TRIP_CHANNELS_MAX 256
#define TRIP_NONE UINT32_MAX
/* Counters that a home polls. */
#define TRIP_HOT_MAX 4
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

struct trip_calls;
struct trip_errand_desk;
struct trip_waiter;

/* Home's copy of a work item, outside any channel: one cache line, and where it has operands, that
 * of the slot which they came in. */
struct trip_node {
	union {
		struct {
			uint64_t threshold;
			uint64_t interval;
			uint64_t context;
			uint64_t value;
			uint32_t target;
			uint32_t completion;
			/* Of the first: the last. */
			uint32_t prev_deferred;
			uint32_t next_deferred;
		};
		/* Of the item whose operands_node this is. What follows is of the item that was
		 * here last. */
		uint64_t operands[TRIP_OPERANDS_MAX / 8];
	};
	/* Of its slot, which follows from the node: node.h. The client's id is made of both. */
	uint64_t generation : 36;
	uint64_t channel : 8;
	uint64_t op : 8;
	uint64_t flags : 8;
	/* In the pending set of its counter. */
	uint64_t queued : 1;
	/* In its counter's list of deferred items. */
	uint64_t deferred : 1;
	/* May fire in a row with others of its channel and operation: op.h. */
	uint64_t many : 1;
	/* It has an operands_node. */
	uint64_t has_operands : 1;
	/* Local index of the triggering counter. */
	uint32_t cntr;
	uint32_t operands_node;
};

_Static_assert(sizeof(struct trip_node) == 64, "a node is one cache line");
_Static_assert(offsetof(struct trip_node, cntr) == TRIP_OPERANDS_MAX + 8,
	"operands leave the counter that the node was queued at last");

/* Home's copy of an armed waiter. */
struct trip_waiter_node {
	struct trip_cell_sample seen;
	uint64_t threshold;
	/* The word of the waiter that this stands for; 0: not tracked. */
	uint32_t word;
	uint32_t cntr;
	uint32_t signals;
	uint32_t prev;
	uint32_t next;
	/* Queued in the pending set of its counter. */
	bool queued;
	/* The scrub found a request that nobody has rung for. */
	bool suspect;
};

enum trip_due {
	TRIP_DUE_NONE,
	TRIP_DUE_SAMPLED,
	TRIP_DUE_SWEPT,
	TRIP_DUE_FIRING,
};

/* Home's record of a counter. */
struct trip_home_cntr {
	struct trip_pending pending;
	uint64_t sample;
	/* The sum that the budgets of its queues were reckoned from, and what was folded since: any
	 * other addition rings. */
	uint64_t split;
	/* The cell when it was last armed: what the waiters were compared with. */
	struct trip_cell_sample settled;
	/* When the update happened that the sample shows, as far as known. */
	uint64_t since_tsc;
	/* Of the cell when it was sampled. */
	uint32_t setgen;
	uint32_t next_due;
	/* Accepted, but not to be fired against the sample under way: a list of nodes. */
	uint32_t deferred;
	uint32_t waiters;
	/* Waiters for any change among them. */
	uint32_t watchers;
	/* First of the flow sources that feed it, as flow * TRIP_COUNT_KINDS + kind. */
	uint32_t sources;
	/* Place in the home's list of fed counters. */
	uint32_t fed;
	uint8_t due;
	/* Times that it was sampled anew while it waited for a sweep. */
	uint8_t resampled;
	/* When it last fired, in ticks of 2^hot_log2. */
	uint8_t fired;
	/* It rang while it was due. */
	bool again : 1;
	/* Swept by a sample that is older than a set before the sweep: due.h. */
	bool stale : 1;
	/* The scrub found it past what is armed: a ring is under way, or was lost. */
	bool suspect : 1;
	/* Waiters have been linked since they were last compared. */
	bool unchecked : 1;
	/* Its place among the hot ones + 1; 0: it is none of them. */
	uint8_t hot : 3;
};

_Static_assert(sizeof(struct trip_home_cntr) == 120, "with its cell, a counter is three lines");

/* A counter that its home polls: hot.h. */
struct trip_hot {
	uint32_t cntr;
	/* Polls since it last fired that found it changed for nothing. */
	uint32_t vain;
	/* When it settled: its generation of sets, whether anybody waited, and for which sum. */
	uint32_t setgen;
	bool wanted;
	uint64_t bound;
	/* What the last poll saw. */
	uint64_t success;
	/* When it cools unless it fires before; when its cell is to show the next threshold again.
	 */
	uint64_t until_tsc, show_tsc;
};

struct trip_due_list {
	uint32_t head;
	uint32_t tail;
	uint32_t count;
};

/* The counters that a flow feeds: global indices, TRIP_NONE: none. Queues read it when they cross.
 */
struct trip_flow_feed {
	_Atomic uint32_t cntr[TRIP_COUNT_KINDS];
};

/*
 * What homes know of a flow that feeds counters, or is in hardware: memory of the primary, whose
 * pages are there once they are touched. All 0 for any other.
 */
struct trip_flow_slot {
	/* As its feed has them, which other processes may write over; where it feeds any. */
	uint32_t cntr[TRIP_COUNT_KINDS];
	/* Its neighbours among the sources of the same counter; that counter's home's. */
	uint32_t prev[TRIP_COUNT_KINDS];
	uint32_t next[TRIP_COUNT_KINDS];
	/* Where it feeds a counter: the queues that count it. */
	uint16_t first_queue;
	uint16_t n_queues;
	/* 1 more than the port whose hardware counts it, or 0. */
	_Atomic uint16_t hard;
	/* In hardware: its rule is gone, though nobody asked for that. */
	_Atomic bool lost;
	/* Kinds of counts (enum trip_count_which) whose counters have yet to be told that it is. */
	_Atomic uint8_t failed;
	/* In hardware: everything that happened before this moment is in its counts. */
	_Atomic uint64_t fresh_tsc;
};

/* What a port's worker has read of a flow in hardware, as a queue's; likewise. */
struct trip_flow_read {
	struct trip_count count;
	struct trip_count_moments moments;
};

struct trip_function_slot {
	_Atomic(trip_function_t) function;
	void *arg;
};

/* Published by one home, read by anybody. */
struct trip_home_stats {
	_Atomic uint64_t accepted, fired, canceled, refused, pending;
	_Atomic uint64_t iterations, busy_iterations, longest_tsc;
	_Atomic uint64_t wakes, scrub_repairs, events_lost, worst_overshoot;
	/* Times that a counter became hot. */
	_Atomic uint64_t heated;
};

/* Sizes of a home; from trusted attributes. */
struct trip_home_shape {
	/* That users open; behind them is the home's clock. */
	uint32_t n_cntrs;
	uint32_t n_waiters;
	uint32_t n_channels;
	/* Attached processes ("clients"). */
	uint32_t n_clients;
	/* Threads of each process that have a channel of their own. */
	uint32_t n_threads;
	/* Slots of channel 0, the process's; and of the others, one for each home's own handlers.
	 */
	uint32_t n_slots;
	uint32_t n_handler_slots;
	/* Slots and events of a client, and slots of a thread's channel. */
	uint32_t n_client_slots;
	uint32_t n_thread_slots;
	/* Events that one-shot items may have outstanding. */
	uint32_t n_events;
};

/* A client that a home is dropping: drop.h. */
struct trip_drop {
	/* From when it is asked for until it is done. Partners: trip_drop_ask() and
	 * trip_drop_begin(); finish() and trip_drop_done(). */
	_Atomic bool asked;
	bool under_way;
	/* The channel of it that is looked through, and how far. */
	uint32_t channel;
	uint32_t slot;
	/* Behind its channels: the port whose errands are waited for, and up to which. */
	uint32_t port;
	bool marked;
	uint32_t mark;
	/* Of its channels. */
	uint64_t garbage;
};

struct trip_engine;

struct trip_home {
	struct trip_engine *engine;
	uint32_t index;
	unsigned int lcore_id;
	struct trip_home_shape shape;

	/* Views of what is shared. */
	struct trip_doorbell doorbell;
	struct trip_cell *cells;
	struct trip_waiter *waiters;
	struct trip_channel_home *channels;
	/* The other ends of these; an attached process has those of its own channels. */
	struct trip_channel_client *clients;
	/* Those of this process's items, and in the primary, behind it, one for each client. */
	struct trip_event_ring *events;
	/* Odd while an iteration runs. Partner: trip_home_quiesced(). */
	_Atomic uint64_t *epoch;
	/* Descriptor of each waiter slot, as waiter.h has it, -1 where it has none; process-local.
	 */
	_Atomic int *waiter_fds;
	/* In the primary: whose each slot is, its own, or a client's number + 1. */
	_Atomic uint8_t *waiter_owners;

	/* The loop's. */
	struct trip_home_cntr *cntrs;
	/* One bit a counter: somebody waited for it when its cell was last armed. */
	uint64_t *armed;
	struct trip_pending_pool pool;
	struct trip_node *nodes;
	uint32_t n_nodes;
	/* Number of the slot that node 0 is of, within the domain. */
	uint32_t first_slot;
	struct trip_waiter_node *waiter_nodes;
	uint32_t *fed;
	uint32_t n_fed;
	struct trip_due_list sampled, swept, firing;
	bool sweeping;
	/* Counters that it polls, for 2^hot_log2 tsc ticks after they last fired; 0: none. */
	struct trip_hot hot[TRIP_HOT_MAX];
	uint32_t n_hot;
	uint8_t hot_log2;
	/* The channels of the sweep that are not accepted yet, each up to where it stood. */
	struct trip_sweep_channel {
		uint32_t channel;
		uint32_t tail;
	} sweep[TRIP_CHANNELS_MAX];
	uint32_t n_sweep;
	/* Channels with canceled slots to take back. */
	bool canceling[TRIP_CHANNELS_MAX];
	uint32_t n_canceling;
	struct trip_drop drops[TRIP_CLIENTS_MAX];
	uint32_t n_drops;

	unsigned int budget;
	/* Of the refresh: its period, when the next pass is due (UINT64_MAX: nothing is fed), and
	 * how many counters the pass under way has left. */
	uint64_t refresh_tsc, next_refresh_tsc;
	uint32_t refresh_left;
	uint64_t scrub_tsc, next_scrub_tsc;
	/* When something of its clock is due. */
	uint64_t clock_tsc;
	/* At most the earliest of the refresh, the scrub and the clock: all that an idle iteration
	 * looks at. */
	uint64_t timer_tsc;
	/* How far the scrub has come: words of armed counters; leaves of the doorbell, channels and
	 * waiters. */
	uint32_t scrub_word, scrub_index;
	struct trip_doorbell_scrub scrub_bells[TRIP_BELLS];
	/* It found something there that nobody has rung for. */
	bool suspect_channels[TRIP_CHANNELS_MAX];
	bool suspect_ports[TRIP_PORTS_MAX];
	/* It shares a CPU with another lcore: yields when idle. */
	bool shares_cpu;
	/* enum trip_idle; how long it sleeps at most, and when it last did something. */
	uint8_t idle;
	uint64_t idle_tsc, busy_tsc;
	bool launched;
	bool service;
	/* The counter that the call under way will be completed on; its item has let go of it. */
	uint32_t completes;
	/* The present of its iteration; and where that passes, NULL: with the tsc. */
	uint64_t now;
	uint64_t (*clock)(struct trip_home *home);

	/* What control threads have it run; NULL in an attached process. */
	struct trip_calls *calls;

	alignas(64) _Atomic bool stop;
	atomic_flag progressing;
	alignas(64) struct trip_home_stats stats;
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
	/* Of flow f on queue q at [q * n_flows + f]. */
	struct trip_count *counts;
	struct trip_count_moments *moments;
	/* Who polls each queue. */
	struct trip_claim *claims;
	uint32_t n_queues;
	/* In the primary alone. Behind the queues of ports there is one more, where flows in
	 * hardware have what was read of them: the worker of their port is the one writer. */
	struct trip_flow_slot *flows;
	struct trip_flow_read *reads;
	struct trip_count_folded *folded;
	/* Of the hardware engines of this process's ports, by port id; homes are the senders. */
	_Atomic(struct trip_errand_desk *) desks[TRIP_PORTS_MAX];
	struct trip_function_slot *functions;
	uint32_t n_functions;
	uint64_t tsc_hz;
	/* When all clocks were 0. */
	uint64_t base_tsc;
};

/* The home whose iteration this thread is in, or NULL. */
extern _Thread_local struct trip_home *trip_engine_current;

static inline struct trip_home *
trip_engine_home(const struct trip_engine *engine, uint32_t cntr, uint32_t *local)
{
	*local = cntr % engine->cntrs_per_home;
	return engine->homes[cntr / engine->cntrs_per_home];
}

/* The counters of a home, its clock the last of them. */
static inline uint32_t
trip_engine_cntrs(const struct trip_home_shape *shape)
{
	return shape->n_cntrs + 1;
}

static inline bool
trip_engine_is_clock(const struct trip_home *home, uint32_t local)
{
	return local == home->shape.n_cntrs;
}

/* What a clock is called in a descriptor: clocks are behind the counters of all homes, so that what
 * acts on a counter cannot name one. */
static inline uint32_t
trip_engine_clock(const struct trip_home *home)
{
	return home->engine->n_homes * home->engine->cntrs_per_home + home->index;
}

static inline struct trip_cell *
trip_engine_cell(const struct trip_engine *engine, uint32_t cntr)
{
	uint32_t local;

	return &trip_engine_home(engine, cntr, &local)->cells[local];
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

static inline void
trip_engine_stat(_Atomic uint64_t *stat, uint64_t n)
{
	/* One writer: its home. */
	atomic_store_explicit(
		stat, atomic_load_explicit(stat, memory_order_relaxed) + n, memory_order_relaxed);
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
