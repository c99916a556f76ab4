/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs on a polling lcore ("home"): its loop, and the parts that its modules have in it.
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
 * Everything in struct trip_home but the views is touched by its home alone. The header of each
 * module declares the module's part of it. Slots of counters, flows and waiters may be reused while
 * a home still holds a stale reference: its own records are always valid, and a stale one costs a
 * sample for nothing.
 */
#ifndef TRIP_HOME_H
#define TRIP_HOME_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "accept.h"
#include "cell.h"
#include "channel.h"
#include "doorbell.h"
#include "drop.h"
#include "due.h"
#include "engine.h"
#include "event_ring.h"
#include "hot.h"
#include "pending.h"
#include "published.h"
#include "scrub.h"
#include "source.h"
#include "spread.h"

struct trip_calls;
struct trip_node;
struct trip_waiter;
struct trip_waiter_node;

/*
 * Counted by one home, read by anybody of its process; published for all others by each iteration
 * that is not idle, at its end. Between two iterations
 *
 *	accepted + rearmed = pending - lasting + fired + canceled
 */
struct trip_home_stats {
	/* Of items: canceled ones that were to fire; and those that are there, which are to fire,
	 * or last. */
	_Atomic uint64_t accepted, fired, canceled, refused, pending;
	_Atomic uint64_t busy_iterations, longest_tsc;
	_Atomic uint64_t wakes, scrub_repairs, events_lost, worst_overshoot;
	/* Firings after which an item was to fire again, and whose operation has failed. */
	_Atomic uint64_t rearmed, failed;
	/* Items that have fired for the last time and wait for their end (lasting.h); those that
	 * were canceled then. */
	_Atomic uint64_t lasting, cut;
	/* In iterations that looked further than at the doorbell, and between them. Of the first,
	 * those that took longer than they should, and by how much. */
	_Atomic uint64_t busy_tsc, idle_tsc, beyond, beyond_tsc;
	/* Signals that their waiter has taken back before, and that were to be sent again. */
	_Atomic uint64_t wakes_suppressed, wakes_failed;
	_Atomic uint64_t events_told;
	/* Counters that rang; and the most items that a channel had when a sweep began. */
	_Atomic uint64_t rung, deepest;
	/* Times that a counter became hot. */
	_Atomic uint64_t heated;
	/* As of when it is published. */
	_Atomic uint64_t iterations, moment_tsc;
};

_Static_assert(sizeof(struct trip_home_stats) == TRIP_PUBLISHED_WORDS * sizeof(uint64_t),
	"what is counted is what is published");

/*
 * How what it does is spread, each in memory that any process reads (spread.h). Times are in tsc
 * ticks:
 *
 *   OVERSHOOT  how far the counter of an item that fired was past its threshold; not of items of
 *              the clock, nor of those whose condition has held
 *   FIRING     from the update that made an item due, as its event's latency_ns has it, until it
 *              fires: one for each that does
 *   DETECTION  from that update, or where nobody timed it from the look before it, until the home
 *              finds that something which waits for the counter is due
 */
enum trip_home_spread {
	TRIP_HOME_OVERSHOOT,
	TRIP_HOME_FIRING,
	TRIP_HOME_DETECTION,
	TRIP_HOME_SPREADS,
};

/* Sizes of a home; from trusted attributes. */
struct trip_home_shape {
	/* Counters; behind them is the home's clock. The last of them nobody opens: group.h. */
	uint32_t n_cntrs;
	uint32_t n_hidden;
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
	/* Hidden counters of channel 0 (group.h); the others have them by their slots. */
	uint32_t n_groups;
	/* Slots and events of a client, and slots of a thread's channel. */
	uint32_t n_client_slots;
	uint32_t n_thread_slots;
	/* Events that one-shot items may have outstanding. */
	uint32_t n_events;
};

struct trip_home {
	/*
	 * The line that an idle iteration reads and writes; of the rest it reads the summary of the
	 * doorbell. Each module says here whether it has something to do.
	 */
	/* The present of the iteration. */
	alignas(64) uint64_t now;
	_Atomic uint64_t iterations;
	/* At most the earliest of the refresh, the scrub, the clock and signals that failed. */
	uint64_t timer_tsc;
	struct trip_due_list sampled, firing;
	uint16_t n_canceling;
	uint8_t n_drops;
	uint8_t n_hot;
	bool sweeping;
	/* A ring was left in the doorbell, or is repeated by the home when its counter settles. */
	bool overdue;
	/* It begins with where its summary is. */
	struct trip_doorbell doorbell;

	/* The line that whoever runs an idle home reads beside: runtime/domain. */
	alignas(64) _Atomic bool stop;
	atomic_flag progressing;
	bool launched;
	bool service;
	/* It shares a CPU with another lcore: yields when idle. */
	bool shares_cpu;
	/* enum trip_idle; how long it sleeps at most, 0: it does not; and when it last did
	 * something. */
	uint8_t idle;
	uint64_t idle_tsc, busy_tsc;
	/* Where its time passes; NULL: with the tsc. */
	uint64_t (*clock)(struct trip_home *home);

	struct trip_engine *engine;
	uint32_t index;
	unsigned int lcore_id;
	struct trip_home_shape shape;

	/* Views of what is shared. */
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
	unsigned int budget;
	struct trip_home_cntr *cntrs;
	/* One bit a counter: somebody waited for it when its cell was last armed. */
	uint64_t *armed;
	struct trip_pending_pool pool;
	struct trip_node *nodes;
	uint32_t n_nodes;
	/* Number of the slot that node 0 is of, within the domain. */
	uint32_t first_slot;
	struct trip_waiter_node *waiter_nodes;
	/* Waiters whose signal failed, and when that is tried again: waiter.h. */
	struct trip_due_list unsent;
	uint64_t unsent_tsc;
	struct trip_due_list swept;
	/* While a function is called: the counter that the call will be completed on. Its item has
	 * let go of it. */
	uint32_t completes;
	/* When something of its clock is due. */
	uint64_t clock_tsc;
	/* Whatever is found to be reached now has come since this. */
	uint64_t calm_tsc;
	struct trip_fed fed;
	/* The first of the conditions that are to be looked at: condition.h. While an item fires
	 * because its condition holds, that item. */
	uint32_t looks, holds;
	struct trip_hot_places hot;
	struct trip_accept accept;
	struct trip_drop drops[TRIP_CLIENTS_MAX];
	struct trip_scrub_pass scrub;

	/* What control threads have it run; NULL in an attached process. */
	struct trip_calls *calls;

	/* How long an iteration should take at most; and when the last one ended that was not idle,
	 * 0: there was none. */
	uint64_t bound_tsc, ended_tsc;
	/* What it has counted, for all processes. */
	struct trip_published *published;
	/* By enum trip_home_spread. */
	struct trip_spread *spreads;
	/* When items that fire together, and show nobody when it was, began to; 0: none has. */
	uint64_t fires_tsc;
	alignas(64) struct trip_home_stats stats;
};

#define TRIP_HOME_LINE(field) (offsetof(struct trip_home, field) / 64)
_Static_assert(TRIP_HOME_LINE(now) == 0 && TRIP_HOME_LINE(iterations) == 0 &&
		       TRIP_HOME_LINE(timer_tsc) == 0 && TRIP_HOME_LINE(sampled.count) == 0 &&
		       TRIP_HOME_LINE(firing.count) == 0 && TRIP_HOME_LINE(n_canceling) == 0 &&
		       TRIP_HOME_LINE(n_drops) == 0 && TRIP_HOME_LINE(n_hot) == 0 &&
		       TRIP_HOME_LINE(sweeping) == 0 && TRIP_HOME_LINE(doorbell.summary) == 0,
	"an idle iteration reads one line of its home");
_Static_assert(TRIP_HOME_LINE(shares_cpu) == TRIP_HOME_LINE(stop) &&
		       TRIP_HOME_LINE(idle) == TRIP_HOME_LINE(stop) &&
		       TRIP_HOME_LINE(idle_tsc) == TRIP_HOME_LINE(stop) &&
		       TRIP_HOME_LINE(busy_tsc) == TRIP_HOME_LINE(stop) &&
		       TRIP_HOME_LINE(clock) == TRIP_HOME_LINE(stop),
	"who runs it reads one more");
#undef TRIP_HOME_LINE

/* The home whose iteration this thread is in, or NULL. */
extern _Thread_local struct trip_home *trip_engine_current;

/* The counters of a home, its clock the last of them. */
static inline uint32_t
trip_home_cntrs(const struct trip_home_shape *shape)
{
	return shape->n_cntrs + 1;
}

static inline struct trip_cell *
trip_home_cell(const struct trip_engine *engine, uint32_t cntr)
{
	uint32_t local;

	return &trip_engine_home(engine, cntr, &local)->cells[local];
}

/* Whether a counter is one that nobody opens. */
static inline bool
trip_home_is_hidden(const struct trip_engine *engine, uint32_t cntr)
{
	uint32_t local;
	const struct trip_home_shape *shape = &trip_engine_home(engine, cntr, &local)->shape;

	return local >= shape->n_cntrs - shape->n_hidden;
}

/* Adds to a counter of any home, which hears of it where it cares. Any thread. */
static inline void
trip_home_add(const struct trip_engine *engine, uint32_t cntr, uint64_t value)
{
	if (trip_cell_add(trip_home_cell(engine, cntr), value))
		trip_due_ring(engine, cntr);
}

/* One of its timers has moved. */
static inline void
trip_home_timers(struct trip_home *home)
{
	/* A pass of the refresh that is under way goes on at once, and so does what is looked at.
	 */
	uint64_t refresh = home->fed.left > 0 || home->looks != TRIP_NONE ? 0 : home->fed.next_tsc;

	home->timer_tsc = RTE_MIN(
		RTE_MIN(home->clock_tsc, home->scrub.next_tsc), RTE_MIN(home->unsent_tsc, refresh));
}

/* Bytes of memory, which may be shared, that a home of this shape takes; cache-line multiple. */
size_t trip_home_size(const struct trip_home_shape *shape);

/* Lays a home out over trip_home_size() bytes, cache-line aligned; NULL: no private memory. */
struct trip_home *trip_home_init(void *memory, struct trip_engine *engine, uint32_t index,
	const struct trip_home_shape *shape);

/*
 * Another process's view of a home whose memory is laid out: doorbell, cells, waiters, and the
 * client's ends of its channels with the ring of its events. NULL: no private memory.
 */
struct trip_home *trip_home_map(void *memory, struct trip_engine *engine, uint32_t index,
	const struct trip_home_shape *shape, uint32_t client);

/* Makes a channel of a client that is gone new; the home itself, when it holds nothing of it. */
void trip_home_renew_channel(struct trip_home *home, uint32_t channel);

/*
 * One bounded iteration. By one thread at a time.
 *
 * @param now
 *   The present, in tsc ticks.
 * @return
 *   How much it did; 0: idle.
 */
unsigned int trip_home_iterate(struct trip_home *home, uint64_t now);

/* What time it is by now, for what an iteration takes and how late it is. */
static inline uint64_t
trip_home_clock(struct trip_home *home)
{
	return home->clock == NULL ? rte_rdtsc() : home->clock(home);
}

/* Whether it may sleep until its doorbell rings: nothing is under way, nobody has rung, no timer
 * was due when it last looked, and no counter is hot. */
bool trip_home_idle(const struct trip_home *home);

/* Undoes trip_home_init() and trip_home_map(); the memory stays the caller's. */
void trip_home_fini(struct trip_home *home);

/* Slots of a channel. */
uint32_t trip_home_channel_slots(const struct trip_home_shape *shape, uint32_t channel);

/* Of those that nobody opens, how many a channel has, and all of them; the first of a channel. */
uint32_t trip_home_channel_hidden(const struct trip_home_shape *shape, uint32_t channel);
uint32_t trip_home_hidden(const struct trip_home_shape *shape);
uint32_t trip_home_first_hidden(const struct trip_home_shape *shape, uint32_t channel);

/* Whether every iteration that ran at the moment when `epoch` was read has ended: what it had
 * started is finished, and what the caller wrote before reading is seen by whatever runs from now
 * on. */
uint64_t trip_home_epoch(struct trip_home *home);
bool trip_home_quiesced(struct trip_home *home, uint64_t epoch);

/* The channel that threads of `from`'s iterations submit by to this home; from may be NULL. */
static inline uint32_t
trip_home_channel(const struct trip_home *from)
{
	return from == NULL ? 0 : 1 + from->index;
}

/* Channels of each client: its own, and behind that those of its threads. */
static inline uint32_t
trip_home_client_channels(const struct trip_home_shape *shape)
{
	return 1 + shape->n_threads;
}

/* The first of them. */
static inline uint32_t
trip_home_client_channel(const struct trip_home_shape *shape, uint32_t client)
{
	return shape->n_channels - (shape->n_clients - client) * trip_home_client_channels(shape);
}

/* Channels that are this process's, in the primary. */
static inline uint32_t
trip_home_own_channels(const struct trip_home_shape *shape)
{
	return trip_home_client_channel(shape, 0);
}

/* The client that a channel is of; TRIP_NONE: this process. */
static inline uint32_t
trip_home_client_of(const struct trip_home_shape *shape, uint32_t channel)
{
	uint32_t own = trip_home_own_channels(shape);

	return channel < own ? TRIP_NONE : (channel - own) / trip_home_client_channels(shape);
}

/* Writes the broken invariants of a quiescent home to `report`; returns how many. */
unsigned int trip_home_check(
	struct trip_home *home, void (*report)(void *arg, const char *sentence), void *arg);

#endif
