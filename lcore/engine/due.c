/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of due counters: sampling, sweeping, queueing against a sample, arming. */
#include <rte_common.h>

#include "clock.h"
#include "condition.h"
#include "due.h"
#include "hot.h"
#include "source.h"
#include "waiter.h"

/* How often a counter that is set all the time is sampled before it fires by a stale sample. */
#define RESAMPLES 8

void
trip_due_push(struct trip_home *home, struct trip_due_list *list, uint32_t index, enum trip_due due)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	cntr->due = due;
	cntr->next_due = TRIP_NONE;
	if (list->count++ == 0)
		list->head = index;
	else
		home->cntrs[list->tail].next_due = index;
	list->tail = index;
}

uint32_t
trip_due_pop(struct trip_home *home, struct trip_due_list *list)
{
	uint32_t index = list->head;

	list->head = home->cntrs[index].next_due;
	list->count--;
	return index;
}

void
trip_due_touch(struct trip_home *home, uint32_t index)
{
	/* Fires against the old sample, so at most what was late already, and then settles. */
	if (home->cntrs[index].due == TRIP_DUE_NONE)
		trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
}

void
trip_due_changed(struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];

	if (cntr->due != TRIP_DUE_NONE)
		return;
	if (trip_pending_due(&home->pool, &cntr->pending))
		trip_due_touch(home, index);
	else if (trip_doorbell_rung(&home->doorbell, TRIP_BELL_CNTR, index))
		/* Whoever rang may have been killed before the summary. */
		trip_due_ring_self(home, index);
	else if (cntr->hot == 0 || !trip_hot_look(home, index))
		trip_due_touch(home, index);
}

bool
trip_due_has_settled(const struct trip_home *home, uint32_t index)
{
	return home->cntrs[index].due == TRIP_DUE_NONE &&
	       !trip_doorbell_rung(&home->doorbell, TRIP_BELL_CNTR, index);
}

static bool
was_set(const struct trip_home *home, uint32_t index)
{
	return atomic_load(&home->cells[index].setgen) != home->cntrs[index].setgen;
}

/*
 * The counter was set since it was sampled, so nobody knows where it has been meanwhile: what was
 * submitted while it was low is in threshold order with its likes (WORK-02), however high it stands
 * again. Nothing is due by the last sample; it is forgotten, and what is queued from now on waits
 * for the next one.
 */
static void
forget_sample(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	cntr->setgen = atomic_load(&home->cells[index].setgen);
	trip_pending_sample(&home->pool, &cntr->pending, 0);
	if (home->cntrs[index].conditions != TRIP_NONE)
		trip_condition_set(home, index);
}

/* Nothing of the counter is due but what was so when it was accepted. */
static void
sample(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint64_t sum;

	/* Who may be woken has written it last. */
	if (cntr->waiters != TRIP_NONE)
		__builtin_prefetch(&home->waiters[cntr->waiters], 1);
	/* The generation before the sum: a set in between is found at the next look. */
	if (was_set(home, index))
		forget_sample(home, index);
	trip_pending_prefetch(&home->pool, &cntr->pending);
	if (cntr->sources != TRIP_NONE)
		trip_source_fold(home, index);
	sum = trip_cell_sum(&home->cells[index]);
	if (cntr->since_tsc == 0)
		cntr->since_tsc = home->now;
	/* A set whose generation is still to come, or never comes. What is late fires against what
	 * it was due by, so it goes first. */
	if (sum < cntr->pending.sample) {
		if (trip_pending_due(&home->pool, &cntr->pending))
			return;
		forget_sample(home, index);
		/* Behind the generation, as above: it may be that of a set after this one. */
		sum = trip_cell_sum(&home->cells[index]);
	}
	cntr->sample = sum;
}

/* Found just now, and something that waits for it is due. What nobody has timed has happened since
 * the look before. */
static void
note_found(struct trip_home *home, uint32_t index, uint64_t since)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	uint64_t happened = since != home->now ? since : home->calm_tsc;

	if (cntr->sample >= atomic_load_explicit(&home->cells[index].next, memory_order_relaxed))
		trip_spread_add(&home->spreads[TRIP_HOME_DETECTION],
			home->now > happened ? home->now - happened : 0, 1);
}

void
trip_due_rang(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	switch ((enum trip_due)cntr->due) {
	case TRIP_DUE_NONE:
		cntr->resampled = 0;
		trip_due_push(home, &home->sampled, index, TRIP_DUE_SAMPLED);
		sample(home, index);
		note_found(home, index, cntr->since_tsc);
		break;
	case TRIP_DUE_SAMPLED:
		/* Otherwise trip_due_sweep() looks after it. */
		if (!was_set(home, index))
			sample(home, index);
		break;
	case TRIP_DUE_SWEPT:
	case TRIP_DUE_FIRING:
		cntr->again = true;
		home->overdue = true;
	}
}

unsigned int
trip_due_sweep(struct trip_home *home)
{
	unsigned int sampled = 0;

	for (uint32_t n = home->sampled.count; n > 0; n--) {
		uint32_t index = trip_due_pop(home, &home->sampled);
		struct trip_home_cntr *cntr = &home->cntrs[index];
		bool set = was_set(home, index);

		if (!set || cntr->resampled == RESAMPLES) {
			cntr->stale = set;
			trip_due_push(home, &home->swept, index, TRIP_DUE_SWEPT);
		} else if (trip_pending_due(&home->pool, &cntr->pending)) {
			/* Accepted since, due by the sample before: it goes first. */
			cntr->again = true;
			trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
		} else {
			cntr->resampled++;
			trip_due_push(home, &home->sampled, index, TRIP_DUE_SAMPLED);
			sample(home, index);
			sampled++;
		}
	}
	return sampled;
}

uint32_t
trip_due_sweep_one(struct trip_home *home)
{
	uint32_t index = home->sampled.head;

	if (was_set(home, index))
		return TRIP_NONE;
	home->sampled.count = 0;
	home->cntrs[index].due = TRIP_DUE_FIRING;
	return index;
}

/*
 * Whether a node at or below the last sample may count on that. If the counter has been lowered
 * since, the node is measured against the new value (WORK-13). What a sweep accepts for a counter
 * that is sampled already was submitted before any set that the sample does not show, unless that
 * is stale, as trip_due_sweep() sees to.
 */
static bool
is_due(const struct trip_home *home, uint32_t index, uint64_t threshold, bool submitted)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];

	if (submitted &&
		(cntr->due == TRIP_DUE_SAMPLED || (cntr->due == TRIP_DUE_SWEPT && !cntr->stale)))
		return true;
	/* A setter that was killed has left its value without a generation. */
	return !was_set(home, index) && trip_cell_sum(&home->cells[index]) >= threshold;
}

/*
 * Flows count beside their counter's cell, and while nobody cares it may be long that the last
 * sample took that in. What is due by it all the same waits for one that does, so that its event
 * says how far the counter is. Not where a sample of this sweep stands: that is of now.
 */
static bool
is_behind(const struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];

	return cntr->sources != TRIP_NONE && cntr->due != TRIP_DUE_SAMPLED &&
	       cntr->due != TRIP_DUE_SWEPT && !trip_pending_due(&home->pool, &cntr->pending);
}

bool
trip_due_queue(struct trip_home *home, uint32_t index, uint64_t threshold, uint32_t node)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	if (trip_due_queue_above(&home->pool, cntr, threshold, node))
		return true;
	/* Waiters come behind the work items, and not by a sweep. */
	if (!is_due(home, index, threshold, node < home->n_nodes)) {
		/* What is due goes first, and what was accepted just now and is. */
		if (cntr->due != TRIP_DUE_NONE || trip_pending_due(&home->pool, &cntr->pending))
			return false;
		forget_sample(home, index);
	} else if (unlikely(is_behind(home, index))) {
		trip_pending_sample(&home->pool, &cntr->pending, 0);
	}
	trip_pending_insert(&home->pool, &cntr->pending, threshold, node);
	return true;
}

void
trip_due_deferred(struct trip_home *home, uint32_t index, uint64_t threshold)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	if (cntr->due == TRIP_DUE_SWEPT)
		cntr->sample = RTE_MIN(cntr->sample, threshold);
}

static uint64_t
show_next(struct trip_home *home, uint32_t index)
{
	_Atomic uint64_t *next = &home->cells[index].next;
	uint64_t bound = trip_pending_bound(&home->pool, &home->cntrs[index].pending);

	/* The line is the adders', too: it is not dirtied for nothing. */
	if (atomic_load_explicit(next, memory_order_relaxed) != bound)
		atomic_store_explicit(next, bound, memory_order_relaxed);
	return bound;
}

bool
trip_due_arm(struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	struct trip_cell *cell = &home->cells[index];
	/* TRIP_PENDING_NONE is TRIP_CELL_IDLE: nobody cares. */
	uint64_t bound;

	if (cntr->hot != 0) {
		if (trip_hot_mask(home, index))
			(void)show_next(home, index);
		return false;
	}
	bound = show_next(home, index);
	if (trip_clock_is(home, index))
		trip_clock_arm(home, bound);

	/* What queues have counted is not in the cell yet, and their budgets hold as long as nobody
	 * else adds: whoever does, rings. */
	if (bound != TRIP_PENDING_NONE && cntr->sources != TRIP_NONE)
		bound = RTE_MIN(bound, cntr->split + 1);
	if (cntr->watchers > 0)
		bound = 0;
	if (bound != TRIP_PENDING_NONE || cntr->waiters != TRIP_NONE)
		home->armed[index / 64] |= UINT64_C(1) << index % 64;
	else
		home->armed[index / 64] &= ~(UINT64_C(1) << index % 64);
	return trip_cell_arm(cell, bound, cntr->waiters != TRIP_NONE);
}

bool
trip_due_rearm(struct trip_home *home, uint32_t index)
{
	/* Otherwise it is armed when it settles. */
	if (home->cntrs[index].due != TRIP_DUE_NONE)
		return false;
	if (trip_pending_due(&home->pool, &home->cntrs[index].pending)) {
		trip_due_touch(home, index);
		return true;
	}
	if (!trip_due_arm(home, index))
		return false;
	trip_due_ring_self(home, index);
	return true;
}

void
trip_due_dropped(struct trip_home *home, uint32_t index, uint64_t threshold)
{
	if (threshold <= atomic_load_explicit(&home->cells[index].next, memory_order_relaxed))
		(void)show_next(home, index);
}

void
trip_due_ring(const struct trip_engine *engine, uint32_t cntr)
{
	uint32_t local;
	struct trip_home *home = trip_engine_home(engine, cntr, &local);

	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, local);
}

void
trip_due_ring_self(struct trip_home *home, uint32_t index)
{
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, index);
}
