/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds the counts of queues into counters, hands out their budgets, refreshes them. */
#include <rte_common.h>

#include "due.h"
#include "home.h"
#include "source.h"

static uint32_t *
next_of(const struct trip_engine *engine, uint32_t source)
{
	return &engine->flows[source / TRIP_FLOW_FEEDS].next[source % TRIP_FLOW_FEEDS];
}

static uint32_t *
prev_of(const struct trip_engine *engine, uint32_t source)
{
	return &engine->flows[source / TRIP_FLOW_FEEDS].prev[source % TRIP_FLOW_FEEDS];
}

static uint32_t *
share_of(const struct trip_engine *engine, uint32_t source)
{
	return &engine->flows[source / TRIP_FLOW_FEEDS].share[source % TRIP_FLOW_FEEDS];
}

static enum trip_count_kind
kind_of(uint32_t source)
{
	return (enum trip_count_kind)(source % TRIP_COUNT_KINDS);
}

/* Behind the last place of its counters. */
static uint32_t
feeds_of(const struct trip_flow_slot *flow)
{
	return TRIP_COUNT_KINDS + flow->more_feeds;
}

void
trip_source_count(const struct trip_engine *engine, uint32_t flow, uint32_t first_queue,
	uint32_t n_queues, uint64_t *packets, uint64_t *bytes)
{
	*packets = 0;
	*bytes = 0;
	for (uint32_t q = first_queue; q < first_queue + n_queues; q++) {
		const struct trip_count *count = trip_engine_count(engine, q, flow);

		*packets += trip_count_read(count, TRIP_COUNT_KIND_PACKETS);
		*bytes += trip_count_read(count, TRIP_COUNT_KIND_BYTES);
	}
}

void
trip_source_cross(const struct trip_engine *engine, uint32_t flow, unsigned int which)
{
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		uint32_t cntr =
			atomic_load_explicit(&engine->feeds[flow].cntr[kind], memory_order_acquire);

		/* Another process may have written over it. */
		if ((which & (1u << kind)) != 0 && trip_engine_has_cntr(engine, cntr))
			trip_due_ring(engine, cntr);
	}
}

void
trip_source_raise(const struct trip_engine *engine, uint32_t cntr, uint64_t value)
{
	/* Another process may have written over it. */
	if (trip_engine_has_cntr(engine, cntr) &&
		trip_cell_fill(trip_home_cell(engine, cntr), value, value))
		trip_due_ring(engine, cntr);
}

void
trip_source_fail(const struct trip_engine *engine, uint32_t flow)
{
	/* Release: whoever finds it finds the last counts. Partner: take_failure(). */
	atomic_store_explicit(&engine->flows[flow].failed, TRIP_COUNT_PACKETS | TRIP_COUNT_BYTES,
		memory_order_release);
	trip_source_cross(engine, flow, TRIP_COUNT_PACKETS | TRIP_COUNT_BYTES);
}

/* Whether the source has ended since the last call. Its counts, read afterwards, are its last. */
static bool
take_failure(const struct trip_engine *engine, uint32_t source)
{
	_Atomic uint8_t *failed = &engine->flows[source / TRIP_FLOW_FEEDS].failed;
	uint8_t kind = (uint8_t)(1u << kind_of(source));

	/* C4 of doorbell.h. */
	if ((atomic_load(failed) & kind) == 0)
		return false;
	/* The other kind may feed a counter of another home. */
	return (atomic_fetch_and_explicit(failed, (uint8_t)~kind, memory_order_acquire) & kind) !=
	       0;
}

/* What a source is on one of its flow's queues. */
struct line {
	struct trip_count *count;
	struct trip_count_moments *moments;
	struct trip_count_folded *folded;
	enum trip_count_kind kind;
};

static struct line
line_of(const struct trip_engine *engine, uint32_t queue, uint32_t source)
{
	uint32_t flow = source / TRIP_FLOW_FEEDS;

	return (struct line){
		.count = trip_engine_count(engine, queue, flow),
		.moments = trip_engine_moments(engine, queue, flow),
		.folded = trip_engine_folded(engine, queue, flow),
		.kind = kind_of(source),
	};
}

/* What the sources of a counter have come to. */
struct fold {
	uint64_t delta;
	uint64_t failures;
	/* All of them are at least as fresh. */
	uint64_t fresh_tsc;
	/* When the first of them crossed; 0: none did. */
	uint64_t crossed;
};

static void
note_crossing(struct trip_home_cntr *cntr, uint64_t crossed)
{
	if (crossed != 0 && (cntr->since_tsc == 0 || crossed < cntr->since_tsc))
		cntr->since_tsc = crossed;
}

/* What a source has come to is folded once, for all counters that it feeds. To the others it is an
 * addition like any: where they care they are rung, and their budgets are split anew. */
static void
tell_others(struct trip_home *home, uint32_t s, const struct fold *fold)
{
	const struct trip_engine *engine = home->engine;
	const struct trip_flow_slot *flow = &engine->flows[s / TRIP_FLOW_FEEDS];

	for (uint32_t feed = kind_of(s); feed < feeds_of(flow); feed += TRIP_COUNT_KINDS) {
		uint32_t local;
		bool ring;

		if (feed == s % TRIP_FLOW_FEEDS || flow->cntr[feed] == TRIP_NONE)
			continue;
		(void)trip_engine_home(engine, flow->cntr[feed], &local);
		note_crossing(&home->cntrs[local], fold->crossed);
		ring = trip_cell_add(&home->cells[local], fold->delta);
		if (fold->failures > 0)
			ring |= trip_cell_adderr(&home->cells[local], fold->failures);
		if (ring)
			trip_due_ring_self(home, local);
	}
}

static void
fold_lines(struct trip_home *home, uint32_t s, struct fold *fold)
{
	const struct trip_engine *engine = home->engine;
	const struct trip_flow_slot *flow = &engine->flows[s / TRIP_FLOW_FEEDS];

	for (uint32_t q = 0; q < flow->n_queues; q++) {
		struct line line = line_of(engine, flow->first_queue + q, s);
		uint64_t crossed = trip_count_take(line.moments, line.kind, home->now);

		if (crossed != 0 && (fold->crossed == 0 || crossed < fold->crossed))
			fold->crossed = crossed;
		fold->delta += trip_count_fold(line.count, line.folded, line.kind);
	}
}

static void
fold_source(struct trip_home *home, struct trip_home_cntr *cntr, uint32_t s, struct fold *fold)
{
	const struct trip_engine *engine = home->engine;
	const struct trip_flow_slot *flow = &engine->flows[s / TRIP_FLOW_FEEDS];
	struct fold own = {.failures = take_failure(engine, s)};

	/* Acquire: the counts that are read below are at least as fresh. A counter is as old as the
	 * oldest of its sources. */
	if (trip_engine_hard_port(engine, s / TRIP_FLOW_FEEDS) != TRIP_FLOW_SOFT)
		fold->fresh_tsc = RTE_MIN(fold->fresh_tsc,
			atomic_load_explicit(&flow->fresh_tsc, memory_order_acquire));
	fold_lines(home, s, &own);
	note_crossing(cntr, own.crossed);
	/* What is folded leaves the budget as it was. But where others split that anew, they go by
	 * this counter's share, which is used up by so much: it reckons anew, too. */
	if (flow->more_feeds == 0)
		cntr->split += own.delta;
	else if ((own.delta | own.failures) != 0)
		tell_others(home, s, &own);
	fold->delta += own.delta;
	fold->failures += own.failures;
}

static void
add_fold(struct trip_home *home, uint32_t index, const struct fold *fold)
{
	/* The home looks for itself at what that has reached. */
	(void)trip_cell_add(&home->cells[index], fold->delta);
	/* Behind the last counts: who reads them when it sees the error has them all. */
	if (fold->failures > 0 && trip_cell_adderr(&home->cells[index], fold->failures))
		trip_due_ring_self(home, index);
}

bool
trip_source_fold(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	struct fold fold = {.fresh_tsc = home->now};

	if (cntr->sources == TRIP_NONE)
		return false;
	for (uint32_t s = cntr->sources; s != TRIP_NONE; s = *next_of(home->engine, s))
		fold_source(home, cntr, s, &fold);
	add_fold(home, index, &fold);
	/* Behind the counts: who reads them when it knows how old they are has them all. Partners:
	 * trip_cntr_age(), trip_condition_note_queued(). */
	atomic_store_explicit(
		&home->cells[index].refreshed_tsc, fold.fresh_tsc, memory_order_release);
	return fold.delta > 0;
}

void
trip_source_finish(const struct trip_engine *engine, uint32_t flow)
{
	const struct trip_flow_slot *slot = &engine->flows[flow];
	uint64_t delta[TRIP_COUNT_KINDS] = {0};

	for (uint32_t kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		for (uint32_t q = 0; slot->cntr[kind] != TRIP_NONE && q < slot->n_queues; q++) {
			struct line line = line_of(
				engine, slot->first_queue + q, flow * TRIP_FLOW_FEEDS + kind);

			delta[kind] += trip_count_fold(line.count, line.folded, line.kind);
		}
	/* Not through a budget: to the home it is another's addition, which rings. */
	for (uint32_t feed = 0; feed < feeds_of(slot); feed++)
		if (slot->cntr[feed] != TRIP_NONE)
			trip_home_add(engine, slot->cntr[feed], delta[kind_of(feed)]);
}

/* No counter limits it. A share that is less than what is left is right, too, so the largest is the
 * one below: its queue rings after four billion, and what is left then is split anew. */
#define SHARE_NONE UINT32_MAX

/* What each queue of a counter may count for it. */
static uint32_t
split_share(const struct trip_home_cntr *cntr, uint64_t bound, uint32_t queues)
{
	if (bound == TRIP_BUDGET_NONE)
		return SHARE_NONE;
	if (bound <= cntr->split)
		return 0;
	return (uint32_t)RTE_MIN(
		trip_count_share(bound - cntr->split, queues), (uint64_t)SHARE_NONE - 1);
}

/* The least of what the counters that a source feeds leave each of its queues. Another one that has
 * been told of more since its share was reckoned is about to reckon anew. */
static uint64_t
least_share(const struct trip_engine *engine, uint32_t s)
{
	const struct trip_flow_slot *flow = &engine->flows[s / TRIP_FLOW_FEEDS];
	uint32_t share = SHARE_NONE;

	for (uint32_t feed = kind_of(s); feed < feeds_of(flow); feed += TRIP_COUNT_KINDS)
		if (flow->cntr[feed] != TRIP_NONE)
			share = RTE_MIN(share, flow->share[feed]);
	return share == SHARE_NONE ? TRIP_COUNT_NO_LIMIT : share;
}

bool
trip_source_budget(struct trip_home *home, uint32_t index, uint64_t bound)
{
	struct trip_engine *engine = home->engine;
	struct trip_home_cntr *cntr = &home->cntrs[index];
	bool reached = false;
	uint32_t queues = 0, own;

	if (cntr->sources == TRIP_NONE)
		return false;
	for (uint32_t s = cntr->sources; s != TRIP_NONE; s = *next_of(engine, s))
		queues += engine->flows[s / TRIP_FLOW_FEEDS].n_queues;
	own = split_share(cntr, bound, queues);
	for (uint32_t s = cntr->sources; s != TRIP_NONE; s = *next_of(engine, s)) {
		const struct trip_flow_slot *flow = &engine->flows[s / TRIP_FLOW_FEEDS];
		uint64_t share;

		*share_of(engine, s) = own;
		share = least_share(engine, s);
		for (uint32_t q = 0; q < flow->n_queues; q++) {
			struct line line = line_of(engine, flow->first_queue + q, s);

			reached |= trip_count_budget(line.count, line.folded, line.kind, share);
		}
	}
	return reached;
}

/* The pass has come to it: what is put in its place the pass has seen already, or came later. */
static void
forget_fed(struct trip_home *home, uint32_t index)
{
	home->cntrs[index].fed = false;
	home->fed.cntrs[home->fed.left] = home->fed.cntrs[--home->fed.n];
	if (home->fed.n == 0)
		home->fed.next_tsc = UINT64_MAX;
}

unsigned int
trip_source_refresh(struct trip_home *home, unsigned int budget)
{
	unsigned int changed = 0;

	if (home->fed.left == 0) {
		if (home->now < home->fed.next_tsc)
			return 0;
		home->fed.next_tsc = home->now + home->fed.period_tsc;
		home->fed.left = home->fed.n;
	}
	for (; home->fed.left > 0 && budget > 0; budget--) {
		uint32_t index = home->fed.cntrs[--home->fed.left];

		if (home->cntrs[index].sources == TRIP_NONE)
			forget_fed(home, index);
		else if (trip_source_fold(home, index) && trip_due_rearm(home, index))
			changed++;
	}
	return changed;
}

static void
link_source(struct trip_home *home, uint32_t index, uint32_t s)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	if (!cntr->fed) {
		cntr->fed = true;
		home->fed.cntrs[home->fed.n++] = index;
		/* The first begins the refresh. */
		home->fed.next_tsc = RTE_MIN(home->fed.next_tsc, home->now);
		trip_home_timers(home);
	}
	/* Until it settles, which is next. */
	*share_of(home->engine, s) = SHARE_NONE;
	*prev_of(home->engine, s) = TRIP_NONE;
	*next_of(home->engine, s) = cntr->sources;
	if (cntr->sources != TRIP_NONE)
		*prev_of(home->engine, cntr->sources) = s;
	cntr->sources = s;
	trip_due_touch(home, index);
}

static void
unlink_source(struct trip_home *home, uint32_t index, uint32_t s)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint32_t prev = *prev_of(home->engine, s), next = *next_of(home->engine, s);
	struct fold fold = {.fresh_tsc = home->now};

	fold_source(home, cntr, s, &fold);
	add_fold(home, index, &fold);
	if (prev == TRIP_NONE)
		cntr->sources = next;
	else
		*next_of(home->engine, prev) = next;
	if (next != TRIP_NONE)
		*prev_of(home->engine, next) = prev;
	trip_due_ring_self(home, index);
}

/* The sources of the flow whose counters live here. */
static void
each_source(struct trip_home *home, uint32_t flow,
	void (*link)(struct trip_home *home, uint32_t index, uint32_t source))
{
	const struct trip_flow_slot *slot = &home->engine->flows[flow];

	for (uint32_t feed = 0; feed < feeds_of(slot); feed++) {
		uint32_t cntr = slot->cntr[feed], local;

		if (cntr != TRIP_NONE && trip_engine_home(home->engine, cntr, &local) == home)
			link(home, local, flow * TRIP_FLOW_FEEDS + feed);
	}
}

void
trip_source_link(struct trip_home *home, uint32_t flow)
{
	each_source(home, flow, link_source);
}

void
trip_source_unlink(struct trip_home *home, uint32_t flow)
{
	each_source(home, flow, unlink_source);
}
