/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "horizon.h"

size_t
trip_horizon_size(uint32_t n_flows)
{
	return n_flows * (sizeof(struct trip_horizon_entry) + sizeof(uint32_t));
}

void
trip_horizon_init(struct trip_horizon *horizon, void *memory, uint32_t n_flows)
{
	*horizon = (struct trip_horizon){.heap = memory, .n_flows = n_flows};
	horizon->place = (uint32_t *)(horizon->heap + n_flows);
	memset(horizon->place, 0xff, n_flows * sizeof(*horizon->place));
}

static void
set(struct trip_horizon *horizon, uint32_t at, struct trip_horizon_entry entry)
{
	horizon->heap[at] = entry;
	horizon->place[entry.flow] = at;
}

static void
rise(struct trip_horizon *horizon, uint32_t at, struct trip_horizon_entry entry)
{
	for (; at > 0 && horizon->heap[(at - 1) / 2].due > entry.due; at = (at - 1) / 2)
		set(horizon, at, horizon->heap[(at - 1) / 2]);
	set(horizon, at, entry);
}

static void
sink(struct trip_horizon *horizon, uint32_t at, struct trip_horizon_entry entry)
{
	uint32_t child;

	for (; (child = 2 * at + 1) < horizon->n; at = child) {
		if (child + 1 < horizon->n &&
			horizon->heap[child + 1].due < horizon->heap[child].due)
			child++;
		if (horizon->heap[child].due >= entry.due)
			break;
		set(horizon, at, horizon->heap[child]);
	}
	set(horizon, at, entry);
}

/* Puts an entry where there is a hole. */
static void
fill(struct trip_horizon *horizon, uint32_t at, struct trip_horizon_entry entry)
{
	if (at > 0 && horizon->heap[(at - 1) / 2].due > entry.due)
		rise(horizon, at, entry);
	else
		sink(horizon, at, entry);
}

void
trip_horizon_put(struct trip_horizon *horizon, uint32_t flow, uint64_t due)
{
	uint32_t at = horizon->place[flow];

	if (at == TRIP_HORIZON_NONE)
		at = horizon->n++;
	fill(horizon, at, (struct trip_horizon_entry){.due = due, .flow = flow});
}

void
trip_horizon_remove(struct trip_horizon *horizon, uint32_t flow)
{
	uint32_t at = horizon->place[flow];

	if (at == TRIP_HORIZON_NONE)
		return;
	horizon->place[flow] = TRIP_HORIZON_NONE;
	if (at != --horizon->n)
		fill(horizon, at, horizon->heap[horizon->n]);
}

uint32_t
trip_horizon_first(const struct trip_horizon *horizon, uint64_t *due)
{
	if (horizon->n == 0)
		return TRIP_HORIZON_NONE;
	*due = horizon->heap[0].due;
	return horizon->heap[0].flow;
}

uint64_t
trip_horizon_until(const struct trip_horizon_view *view, uint64_t period, uint64_t gap)
{
	uint64_t until = period;

	/* In floating point: products of ticks and bytes pass 64 bits, and a forecast is rough. */
	if (view->left != UINT64_MAX && view->grew > 0) {
		double forecast =
			(double)view->left * (double)view->took / (2.0 * (double)view->grew);

		if (forecast < (double)period)
			until = (uint64_t)forecast;
	}
	if (until < gap)
		until = gap;
	return until < period ? until : period;
}

const char *
trip_horizon_check(const struct trip_horizon *horizon)
{
	uint32_t placed = 0;

	for (uint32_t i = 0; i < horizon->n_flows; i++)
		placed += horizon->place[i] != TRIP_HORIZON_NONE;
	if (placed != horizon->n)
		return "as many flows have a place as stand in the heap";
	for (uint32_t i = 0; i < horizon->n; i++) {
		if (horizon->place[horizon->heap[i].flow] != i)
			return "a flow's place is where it stands";
		if (i > 0 && horizon->heap[(i - 1) / 2].due > horizon->heap[i].due)
			return "no flow is due before the one above it";
	}
	return NULL;
}
