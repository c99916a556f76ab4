/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Horizon: which flow counter to ask next. A heap of flows by the time when each is due.
 *
 * A flow is due again one period after it was asked, or when it is forecast to reach its limit,
 * whichever is sooner, but not before the shortest gap. What is due first is asked first, also
 * where all of them are late: then the forecast decides, and since the time of a flow that waits
 * stays where it is while those of all others move on, none starves.
 *
 * Plain C on memory of the caller's; one thread.
 */
#ifndef TRIP_HORIZON_H
#define TRIP_HORIZON_H

#include <stddef.h>
#include <stdint.h>

#define TRIP_HORIZON_NONE UINT32_MAX

struct trip_horizon_entry {
	uint64_t due;
	uint32_t flow;
};

struct trip_horizon {
	struct trip_horizon_entry *heap;
	/* Where each flow stands in the heap, or TRIP_HORIZON_NONE. */
	uint32_t *place;
	uint32_t n;
	uint32_t n_flows;
};

/* Bytes of memory for flows 0 to n_flows - 1. */
size_t trip_horizon_size(uint32_t n_flows);

/* Lays an empty horizon over that, aligned to 8 bytes. */
void trip_horizon_init(struct trip_horizon *horizon, void *memory, uint32_t n_flows);

/* The flow is due at that time, whatever was said of it before. */
void trip_horizon_put(struct trip_horizon *horizon, uint32_t flow, uint64_t due);

/* The flow is not to be asked any more; nothing where it was not. */
void trip_horizon_remove(struct trip_horizon *horizon, uint32_t flow);

/* What is due first, or TRIP_HORIZON_NONE. */
uint32_t trip_horizon_first(const struct trip_horizon *horizon, uint64_t *due);

/* What one reading of a flow has shown, in ticks and in units of what it counts. */
struct trip_horizon_view {
	/* Since the reading before. */
	uint64_t took;
	uint64_t grew;
	/* From here to the limit that somebody waits for; UINT64_MAX: nobody does. */
	uint64_t left;
};

/*
 * Ticks until the flow is due again. `period` and `gap` are the longest and the shortest that may
 * be. The forecast is that it goes on at twice the rate: asked at the halves of what is left, a
 * steady flow is asked some log2(period / gap) times more, the last time when it is there.
 */
uint64_t trip_horizon_until(const struct trip_horizon_view *view, uint64_t period, uint64_t gap);

/* NULL, or what is broken. */
const char *trip_horizon_check(const struct trip_horizon *horizon);

#endif
