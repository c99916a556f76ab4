/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hardware flow engine of one port, and its worker: the one thread of the process that changes
 * and reads the port's rules. Whatever firmware takes its time over, it takes the worker's.
 *
 * Everything that changes a rule has a ticket, and the worker serves tickets in their order, one at
 * a time. Two kinds of callers draw them:
 *
 *	homes		send errands (errand.h) for what deferred work does to a flow, and go on at
 *			once; a full ring is an error of that operation. So operations on a port run
 *			and complete in the order of their firing, over all homes.
 *	control threads	call, and wait until it is done. A call is served after everything that
 *			was fired before it, so a flow that is destroyed has no errand left.
 *
 * Between two tickets the worker reads counters, those that are due (horizon.h), a batch at a time.
 * What a flow has counted goes into its line in the hardware queue of the domain (engine.h), by the
 * protocol of count.h: to the homes the worker is a queue like any other, whose bursts are
 * readings.
 *
 * Handles. Those of a driver may be indices that it uses again, so a dead one is undetectable: the
 * worker alone holds them, and forgets them at the moment when it learns that the driver has, by a
 * notice (notice.h, life.c) or by its own hand.
 */
#ifndef TRIP_HARD_H
#define TRIP_HARD_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "compat.h"
#include "engine.h"
#include "errand.h"
#include "facts.h"
#include "horizon.h"
#include "lag.h"
#include "rule.h"

struct trip_hard;

/* Errands of one home that may be under way on one port. */
#define TRIP_HARD_ERRANDS 256

/* A flow in hardware. The worker's, from trip_hard_add() to trip_hard_remove(). */
struct trip_hard_flow {
	uint32_t index;
	struct trip_rule rule;
	/* It gets a rule anew when the port is up again. */
	bool recreate;
	/* It has ended, or its rule is gone and nothing brings it back. */
	bool ended;
	/* It was retired: whoever asks for it waits for the last of it. */
	bool retired;
	/* What its counter shows will not change any more, or there is none yet: whoever reads a
	 * counters object may ask for a flow that is still to be added. */
	bool final;
	/* When its last reading began. */
	uint64_t read_tsc;
	/* When its rule was taken out, if it was: by the clock, and by beats (refresher.h). */
	uint64_t out_tsc, out_ran_tsc;
	/* And of how many pools of counters it was known then. */
	uint64_t out_pools;
};

struct trip_hard_call {
	/* On the worker: what the caller is told. */
	int (*run)(struct trip_hard *hard, struct trip_hard_call *call);
	struct trip_hard_flow *flow;
	struct rte_flow_error *error;
	uint64_t ticket;
	int result;
	bool done;
};

/* What a driver tells: a set. */
enum {
	TRIP_HARD_REMOVED = 1u << 0,
	TRIP_HARD_RESET = 1u << 1,
	TRIP_HARD_RECOVERING = 1u << 2,
	TRIP_HARD_RECOVERED = 1u << 3,
};

/* Of the thread that refreshes the driver's cache: refresher.h. */
struct trip_hard_beats {
	/* What all of them have counted; how long each takes: the same as long as any is wanted. */
	_Atomic uint64_t ran_tsc, us;
	/* Still to come; 0: none is set. */
	_Atomic uint32_t wanted;
};

/* Rules that were refused, in two windows of time: refresher.h. The worker's. */
struct trip_hard_refused {
	uint64_t since_tsc;
	uint32_t n, before;
};

/* Of a stop that trip_hard_started() is to follow. */
enum trip_hard_stop {
	TRIP_HARD_RUNS,
	/* It was seen when it was over for the driver: a rule that went in since is alive. */
	TRIP_HARD_STOP_SEEN,
	/* It was told before: whether a rule that went in since would be alive nobody could say, so
	 * none does. */
	TRIP_HARD_STOP_TOLD,
};

struct trip_hard {
	struct trip_engine *engine;
	uint16_t port_id;
	/* The port's, where it has templates; the worker's own. */
	uint32_t flow_queue;
	void (*notify)(void *arg, enum trip_port_event event);
	void *notify_arg;

	/* Where homes hand in errands, and what calls draw tickets of. */
	struct trip_errand_desk desk;
	_Atomic bool stop;
	/* What was told of the port, and how often the worker has begun or ended to ask the driver:
	 * notice.h. */
	_Atomic uint32_t notices, turns;
	struct trip_hard_beats beats;
	struct trip_hard_refused refused;
	/* Of the desk's rings. */
	struct trip_errand *errands;
	/* Of the runtime's grace period (indices.h). */
	uint32_t grace_marks[TRIP_HOMES_MAX];
	/* The call under way; `turn` is its caller's. */
	_Atomic(struct trip_hard_call *) call;
	pthread_mutex_t turn;
	/* Of what follows. */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct trip_facts facts;

	/* The worker's. */
	trip_compat_thread thread;
	bool started;
	struct trip_rule_port rules;
	/* Rules that change together: TRIP_BATCH_MAX, or fewer where a test has few flows. */
	uint32_t batch;
	struct trip_hard_flow **flows;
	struct trip_horizon horizon;
	void *horizon_memory;
	/* Within which each counter is read. */
	uint64_t period_tsc;
	/* How stale a reading may be; measured on the flow `probe`, which last changed at that
	 * time.
	 */
	struct trip_lag lag;
	uint32_t probe;
	uint64_t probe_tsc;
	uint64_t query_tsc;
	/* Of the burst of readings under way. */
	uint64_t burst_tsc, rest_tsc;
	bool probed;
	/* The device is gone; or not to be asked for the moment. */
	bool removed, paused;
	/* What ethdev's fast path had for the port's queues when the last rule went in. */
	void *running;
	enum trip_hard_stop stopped;
	/* Watching for silent staleness. */
	uint64_t watch_tsc, seen_packets;
	unsigned int still;
	bool moved, has_moved;

	/* Where other processes read it; written by the worker, and by what counts errands. */
	struct trip_port_done *stats;
	struct trip_port_done own;
};

/* Whose desk that is; NULL for none. */
static inline struct trip_hard *
trip_hard_of(struct trip_errand_desk *desk)
{
	return desk != NULL ? container_of(desk, struct trip_hard, desk) : NULL;
}

/* The worker that this thread is, or NULL. */
extern _Thread_local struct trip_hard *trip_hard_current;

/*
 * Starts the engine of a port: 0, or -ENOMEM, -EAGAIN: no thread, no descriptor. Nothing is asked
 * of the port yet.
 *
 * @param flow_queue
 *   Of the port, where it has such: nobody else uses it.
 * @param period_us
 *   Microseconds within which each counter is read.
 */
int trip_hard_open(struct trip_hard **hard, struct trip_engine *engine, uint16_t port_id,
	uint32_t flow_queue, uint32_t period_us,
	void (*notify)(void *arg, enum trip_port_event event), void *notify_arg);

/* After its last flow, and when no home sends to it any more. */
void trip_hard_close(struct trip_hard *hard);

/* Any thread but homes and workers: has it run by the worker, and returns its result. */
int trip_hard_call(struct trip_hard *hard, struct trip_hard_call *call);

/* What calls run. */
int trip_hard_add(struct trip_hard *hard, struct trip_hard_call *call);
/* Takes the rule out; the counter is read on until what it shows is final. -EAGAIN while the device
 * recovers and must not be asked. */
int trip_hard_retire(struct trip_hard *hard, struct trip_hard_call *call);
/* -EAGAIN while that is so, or what the counter shows is not final. */
int trip_hard_remove(struct trip_hard *hard, struct trip_hard_call *call);
/* -EAGAIN while a flow was retired and what its counter shows is not final. */
int trip_hard_query(struct trip_hard *hard, struct trip_hard_call *call);
/* These return how many flows have been lost by it. */
int trip_hard_stopping(struct trip_hard *hard, struct trip_hard_call *call);
int trip_hard_started(struct trip_hard *hard, struct trip_hard_call *call);

/* Any thread: the facts as they are known now. */
void trip_hard_facts(struct trip_hard *hard, struct trip_port_facts *facts);

/* Whether every errand that was sent before the marks were taken is settled: see errand.h. */
void trip_hard_marks(struct trip_hard *hard, uint32_t marks[TRIP_HOMES_MAX]);
bool trip_hard_settled(struct trip_hard *hard, const uint32_t marks[TRIP_HOMES_MAX]);

/* --- between the files of this folder, on the worker --- */

/* Finds out what the port's engine is: 0, or the error, and it is to be tried again. */
int trip_hard_probe(struct trip_hard *hard, struct rte_flow_error *error);

/* What an errand is about. */
struct trip_hard_operation {
	uint32_t flow;
	enum trip_op op;
	int result;
	/* While it is under way: NULL: no rule changes. */
	struct trip_rule_change *change;
	uint64_t began;
};

/* Makes the rules of flows what their fates say, where that is owed and no errand is left. */
void trip_hard_obey(struct trip_hard *hard);

/* Does operations on different flows, TRIP_BATCH_MAX at most. */
void trip_hard_operate(struct trip_hard *hard, struct trip_hard_operation *ops, uint32_t n);

#endif
