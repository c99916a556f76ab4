/* SPDX-License-Identifier: BSD-3-Clause */
/* The two queues of the horizon, and which flow is asked next. horizon.h has the reckoning. */
#include <string.h>

#include "horizon.h"

/* Where readings are too few, steps grow faster than they shrink where they are not. */
#define GROW 0x1p-4
#define SHRINK 0x1p-8

size_t
trip_horizon_size(uint32_t n_flows)
{
	return n_flows * (sizeof(struct trip_horizon_flow) +
				 2 * (sizeof(struct trip_horizon_entry) + sizeof(uint32_t)));
}

void
trip_horizon_init(struct trip_horizon *horizon, void *memory, uint32_t n_flows)
{
	*horizon = (struct trip_horizon){.flows = memory, .n_flows = n_flows};
	horizon->sweep.heap = (struct trip_horizon_entry *)(horizon->flows + n_flows);
	horizon->forecast.heap = horizon->sweep.heap + n_flows;
	horizon->sweep.place = (uint32_t *)(horizon->forecast.heap + n_flows);
	horizon->forecast.place = horizon->sweep.place + n_flows;
	memset(horizon->sweep.place, 0xff, 2 * n_flows * sizeof(uint32_t));
}

static void
set(struct trip_horizon_queue *queue, uint32_t at, struct trip_horizon_entry entry)
{
	queue->heap[at] = entry;
	queue->place[entry.flow] = at;
}

static void
rise(struct trip_horizon_queue *queue, uint32_t at, struct trip_horizon_entry entry)
{
	for (; at > 0 && queue->heap[(at - 1) / 2].due > entry.due; at = (at - 1) / 2)
		set(queue, at, queue->heap[(at - 1) / 2]);
	set(queue, at, entry);
}

static void
sink(struct trip_horizon_queue *queue, uint32_t at, struct trip_horizon_entry entry)
{
	uint32_t child;

	for (; (child = 2 * at + 1) < queue->n; at = child) {
		if (child + 1 < queue->n && queue->heap[child + 1].due < queue->heap[child].due)
			child++;
		if (queue->heap[child].due >= entry.due)
			break;
		set(queue, at, queue->heap[child]);
	}
	set(queue, at, entry);
}

/* Puts an entry where there is a hole. */
static void
fill(struct trip_horizon_queue *queue, uint32_t at, struct trip_horizon_entry entry)
{
	if (at > 0 && queue->heap[(at - 1) / 2].due > entry.due)
		rise(queue, at, entry);
	else
		sink(queue, at, entry);
}

static void
put(struct trip_horizon_queue *queue, uint32_t flow, uint64_t due)
{
	uint32_t at = queue->place[flow];

	if (at == TRIP_HORIZON_NONE)
		at = queue->n++;
	fill(queue, at, (struct trip_horizon_entry){.due = due, .flow = flow});
}

static void
take(struct trip_horizon_queue *queue, uint32_t flow)
{
	uint32_t at = queue->place[flow];

	if (at == TRIP_HORIZON_NONE)
		return;
	queue->place[flow] = TRIP_HORIZON_NONE;
	if (at != --queue->n)
		fill(queue, at, queue->heap[queue->n]);
}

static uint64_t
first_due(const struct trip_horizon_queue *queue)
{
	return queue->n > 0 ? queue->heap[0].due : UINT64_MAX;
}

void
trip_horizon_add(struct trip_horizon *horizon, uint32_t flow, uint64_t now)
{
	horizon->flows[flow] = (struct trip_horizon_flow){.read = now};
	trip_horizon_put(horizon, flow, now + horizon->config.gap);
}

void
trip_horizon_put(struct trip_horizon *horizon, uint32_t flow, uint64_t due)
{
	take(&horizon->forecast, flow);
	put(&horizon->sweep, flow, due);
}

void
trip_horizon_remove(struct trip_horizon *horizon, uint32_t flow)
{
	take(&horizon->forecast, flow);
	take(&horizon->sweep, flow);
}

uint64_t
trip_horizon_due(const struct trip_horizon *horizon)
{
	uint64_t sweep = first_due(&horizon->sweep), forecast = first_due(&horizon->forecast);

	return sweep < forecast ? sweep : forecast;
}

/* A step is too short where a flow counts half of one while its forecast waits. */
static void
adapt_step(struct trip_horizon *horizon, uint32_t flow, uint64_t late)
{
	double share = 0;

	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		double of = horizon->scale[kind] > 0
				    ? (double)horizon->flows[flow].rate[kind] / horizon->scale[kind]
				    : 0;

		share = of > share ? of : share;
	}
	if (share * (double)late > horizon->step / 2)
		horizon->step += horizon->step * GROW;
	else
		horizon->step -= horizon->step * SHRINK;
}

uint32_t
trip_horizon_next(struct trip_horizon *horizon, uint64_t now, uint64_t *due)
{
	bool forecast = first_due(&horizon->forecast) <= now;
	bool sweep = first_due(&horizon->sweep) <= now;
	const struct trip_horizon_queue *queue = &horizon->sweep;

	if (forecast && (!sweep || !horizon->owed))
		queue = &horizon->forecast;
	else if (!sweep)
		return TRIP_HORIZON_NONE;
	horizon->owed = queue == &horizon->forecast;
	*due = queue->heap[0].due;
	if (horizon->owed)
		adapt_step(horizon, queue->heap[0].flow, now - *due);
	return queue->heap[0].flow;
}

static uint64_t
left_of(const struct trip_horizon_view *view)
{
	return view->limit > view->count ? view->limit - view->count : 0;
}

static uint64_t
clamp(double units)
{
	return units < 0x1p63 ? (uint64_t)units : UINT64_MAX;
}

static void
note_kind(struct trip_horizon *horizon, unsigned int kind, const struct trip_horizon_view *view,
	uint64_t took)
{
	struct trip_horizon_report *report = &horizon->report;
	uint64_t before = view->count - view->grew, exposure;
	double carried = horizon->config.line[kind] * (double)took;

	/* A limit below the last reading was told of then, or was set too late for any. */
	if (view->limit == TRIP_COUNT_NO_LIMIT || before >= view->limit)
		return;
	carried -= (double)(view->limit - before);
	/* Rounded up. */
	exposure = carried > 0 ? clamp(carried + 1) : 0;
	if (exposure > report->exposure[kind])
		report->exposure[kind] = exposure;
	if (view->count < view->limit)
		return;
	if (view->count - view->limit > report->worst[kind])
		report->worst[kind] = view->count - view->limit;
	report->missed += view->count - view->limit > horizon->config.tolerance[kind];
}

void
trip_horizon_note(struct trip_horizon *horizon, uint32_t flow, uint64_t ended,
	const struct trip_horizon_view views[TRIP_COUNT_KINDS])
{
	uint64_t read = horizon->flows[flow].read, took = ended > read ? ended - read : 0;

	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		note_kind(horizon, kind, &views[kind], took);
}

static void
learn_rate(struct trip_horizon *horizon, struct trip_horizon_flow *flow, unsigned int kind,
	uint64_t grew, uint64_t took)
{
	double line = horizon->config.line[kind];
	double rate = (double)grew / (double)(took > 0 ? took : 1);
	double mean = (rate + (double)flow->rate[kind]) / 2;

	if (line > 0)
		horizon->scale[kind] = line;
	else if (rate > horizon->scale[kind])
		horizon->scale[kind] = rate;
	rate = mean > rate ? mean : rate;
	flow->rate[kind] = (float)(line > 0 && rate > line ? line : rate);
}

/* Ticks until the forecast is due. In floating point: a forecast is rough. */
static double
forecast_of(const struct trip_horizon *horizon, const struct trip_horizon_flow *flow,
	unsigned int kind, const struct trip_horizon_view *view)
{
	double rate = (double)flow->rate[kind];

	if (view->limit == TRIP_COUNT_NO_LIMIT || rate <= 0)
		return (double)UINT64_MAX;
	return ((double)left_of(view) / 2 + horizon->step * horizon->scale[kind]) / rate;
}

/* Ticks until any traffic could reach the limit. */
static double
reach_of(
	const struct trip_horizon *horizon, unsigned int kind, const struct trip_horizon_view *view)
{
	if (view->limit == TRIP_COUNT_NO_LIMIT)
		return (double)UINT64_MAX;
	return horizon->config.line[kind] > 0 ? (double)left_of(view) / horizon->config.line[kind]
					      : 0;
}

void
trip_horizon_read(struct trip_horizon *horizon, uint32_t index, uint64_t began,
	const struct trip_horizon_view views[TRIP_COUNT_KINDS])
{
	const struct trip_horizon_config *config = &horizon->config;
	struct trip_horizon_flow *flow = &horizon->flows[index];
	uint64_t took = began > flow->read ? began - flow->read : 0, until;
	double forecast = (double)UINT64_MAX, reach = (double)UINT64_MAX;

	if (horizon->step < (double)config->gap || horizon->step < 1)
		horizon->step = config->gap > 0 ? (double)config->gap : 1;
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		double ticks;

		learn_rate(horizon, flow, kind, views[kind].grew, took);
		ticks = forecast_of(horizon, flow, kind, &views[kind]);
		forecast = ticks < forecast ? ticks : forecast;
		ticks = reach_of(horizon, kind, &views[kind]);
		reach = ticks < reach ? ticks : reach;
	}
	flow->read = began;
	until = reach < (double)config->background ? (uint64_t)reach : config->background;
	until = until > config->period ? until : config->period;
	put(&horizon->sweep, index, began + until);
	/* It is of use only where it comes before the sweep can. */
	if (config->forecasts && forecast < (double)config->background)
		put(&horizon->forecast, index, began + (uint64_t)forecast);
	else
		take(&horizon->forecast, index);
}
