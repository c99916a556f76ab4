/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Horizon: which flow counter to ask next, so that the worst overshoot of a limit is least. Asking
 * costs, so there are only so many readings to give away; every flow stands in two queues for them.
 *
 * The sweep, by the earliest moment at which any traffic could take a flow to its limit: its last
 * reading, and the distance that was left divided by what the line carries. How far a flow may have
 * got past its limit unseen grows at the same speed for all of them from that moment on, so to ask
 * in this order keeps the worst of it least, whatever the traffic does. Nobody is asked before that
 * moment, but once a background period for the sake of whoever reads the counter. Where the line is
 * not known, or does not bound what is counted, all distances are 0 and the order is that of a
 * plain sweep.
 *
 * The forecast, by the rate that was seen last (upwards it follows at once, downwards by halves):
 * due when half of what is left, and one step, will have been counted. A steady flow is asked at
 * the halves of what is left, and found no more than a step past its limit; one that doubles its
 * rate, two steps. The step is a number of packets or bytes and the same for all flows: where a
 * plain sweep would find a slow flow soon enough, its forecast lies behind its sweep and costs
 * nothing. It is as small as the readings allow: it grows while forecasts are served late, and
 * shrinks while they are not, down to what the line carries in `gap`.
 *
 * Shares. After a reading for the forecast the sweep has the next one, if anything is due there.
 * What is swept goes behind all that was due before, so from its moment on a flow waits for one
 * reading of each other flow in the sweep and as many in the forecast: never more than twice a
 * plain sweep of all flows, however the traffic is chosen.
 *
 * What is promised is told, not hoped: a reading that finds a limit passed by more than the
 * tolerance is counted as a miss. Each crossing lies between two readings of its flow, so none is
 * left out, and none is counted twice. `exposure` is how far past its limit any traffic that the
 * line can carry might have taken a flow before it was read: where that is within the tolerance,
 * there cannot be a miss.
 *
 * Of a counter that comes out of a cache, a forecast is worth nothing: with `forecasts` false, and
 * the refresh period as `period`, no counter is read twice between two refreshes.
 *
 * Plain C on memory of the caller's; one thread. Times are in ticks of the caller's clock.
 */
#ifndef TRIP_HORIZON_H
#define TRIP_HORIZON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count.h"

#define TRIP_HORIZON_NONE UINT32_MAX

struct trip_horizon_config {
	/* No flow is swept sooner than this after its last reading. */
	uint64_t period;
	/* Nor later than this, where there are readings enough; at least `period`. */
	uint64_t background;
	/* In which the line carries the shortest step of forecasts. */
	uint64_t gap;
	bool forecasts;
	/* What the line carries in a tick, by kind; 0: not known, or no bound of the count. */
	double line[TRIP_COUNT_KINDS];
	/* How far past its limit a flow may be found; UINT64_MAX: nothing is promised. */
	uint64_t tolerance[TRIP_COUNT_KINDS];
};

/* What has become of the promise, by kind. */
struct trip_horizon_report {
	/* Limits that were found passed by more than the tolerance. */
	uint64_t missed;
	uint64_t worst[TRIP_COUNT_KINDS];
	/* What the worst might have been; 0 where the line is not known. */
	uint64_t exposure[TRIP_COUNT_KINDS];
};

struct trip_horizon_entry {
	uint64_t due;
	uint32_t flow;
};

/* A heap by `due`. */
struct trip_horizon_queue {
	struct trip_horizon_entry *heap;
	/* Where each flow stands in the heap, or TRIP_HORIZON_NONE. */
	uint32_t *place;
	uint32_t n;
};

struct trip_horizon_flow {
	/* When its last reading began. */
	uint64_t read;
	/* Units a tick. */
	float rate[TRIP_COUNT_KINDS];
};

struct trip_horizon {
	/* The caller's, to change at any time. */
	struct trip_horizon_config config;
	struct trip_horizon_report report;
	struct trip_horizon_queue sweep, forecast;
	struct trip_horizon_flow *flows;
	/* In which the line carries a step. */
	double step;
	/* The line's rate, or where that is not known the highest that was seen. */
	double scale[TRIP_COUNT_KINDS];
	uint32_t n_flows;
	/* The forecast had the last reading. */
	bool owed;
};

/* Bytes of memory for flows 0 to n_flows - 1. */
size_t trip_horizon_size(uint32_t n_flows);

/* Lays an empty horizon over that, aligned to 8 bytes; the configuration is all zero. */
void trip_horizon_init(struct trip_horizon *horizon, void *memory, uint32_t n_flows);

/* From now on the flow is to be read; its counter is known as of now, whatever was said of it
 * before. Due after `gap`, to learn its rate. */
void trip_horizon_add(struct trip_horizon *horizon, uint32_t flow, uint64_t now);

/* The flow is not to be read any more; nothing where it was not. */
void trip_horizon_remove(struct trip_horizon *horizon, uint32_t flow);

/*
 * Which flow to read now, and since when it has been due; TRIP_HORIZON_NONE: none yet. It stays
 * due until trip_horizon_read(), _put() or _remove() is called of it.
 */
uint32_t trip_horizon_next(struct trip_horizon *horizon, uint64_t now, uint64_t *due);

/* When the next is due; UINT64_MAX: there is none. */
uint64_t trip_horizon_due(const struct trip_horizon *horizon);

static inline uint32_t
trip_horizon_count(const struct trip_horizon *horizon)
{
	return horizon->sweep.n;
}

/* What a reading has shown of one kind. */
struct trip_horizon_view {
	uint64_t count;
	/* Since it was read before. */
	uint64_t grew;
	/* That somebody waits for; TRIP_COUNT_NO_LIMIT: nobody does. */
	uint64_t limit;
};

/* A flow was read, in time or not, and the reading has ended: notes how far it was past its limits,
 * and might have been. The limits are those of before anybody else could see the counts. */
void trip_horizon_note(struct trip_horizon *horizon, uint32_t flow, uint64_t ended,
	const struct trip_horizon_view views[TRIP_COUNT_KINDS]);

/* A flow of the horizon was read, from `began` on: says when it is due again. */
void trip_horizon_read(struct trip_horizon *horizon, uint32_t flow, uint64_t began,
	const struct trip_horizon_view views[TRIP_COUNT_KINDS]);

/* A flow that is to be read is due at that time and not before. */
void trip_horizon_put(struct trip_horizon *horizon, uint32_t flow, uint64_t due);

#endif
