/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of conditions, and where they and their items stand. condition.h tells how they go. */
#include <string.h>

#include <rte_common.h>

#include "clock.h"
#include "condition.h"
#include "due.h"
#include "fire.h"
#include "glance.h"
#include "home.h"
#include "lasting.h"
#include "node.h"
#include "source.h"

#define DECLARE(kind, name) extern const struct trip_condition_row trip_condition_##name;
#define ROW(kind, name) [TRIP_CONDITION_##kind] = &trip_condition_##name,
#define CASE(kind, name) case TRIP_CONDITION_##kind:

/* As meson.build lists them. */
TRIP_CONDITION_ROWS(DECLARE)

/* A kind without a row does not compile. Nor is there a hole: the table ends before the last. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
__rte_unused static void
each_has_a_row(enum trip_condition_kind kind)
{
	switch (kind) {
		TRIP_CONDITION_ROWS(CASE)
	case TRIP_CONDITION_NONE:
		return;
	}
}
#pragma GCC diagnostic pop

const struct trip_condition_row *
trip_condition_of(unsigned int kind)
{
	static const struct trip_condition_row none = {.name = NULL};
	static const struct trip_condition_row *const rows[TRIP_CONDITIONS_END] = {
		[TRIP_CONDITION_NONE] = &none, TRIP_CONDITION_ROWS(ROW)};

	return rows[kind < TRIP_CONDITIONS_END ? kind : 0];
}

bool
trip_condition_takes(const struct trip_condition_row *row, const void *parameters,
	uint64_t interval, struct trip_op_refusal *refusal)
{
	*refusal = (struct trip_op_refusal){
		.operand = "interval", .value = interval, .limit = row->interval_max};
	if (row->name == NULL || interval > row->interval_max)
		return false;
	return row->takes(parameters, interval, refusal);
}

/* ---- lists: rings of nodes ---- */

static void
link_condition(struct trip_home *home, uint32_t *first, uint32_t condition)
{
	struct trip_node *node = &home->nodes[condition];

	node->condition.prev = condition;
	node->condition.next = condition;
	if (*first == TRIP_NONE) {
		*first = condition;
		return;
	}
	node->condition.next = *first;
	node->condition.prev = home->nodes[*first].condition.prev;
	home->nodes[node->condition.prev].condition.next = condition;
	home->nodes[*first].condition.prev = condition;
}

/* Of whichever list it is in: only the first of one is known to it. */
static void
unlink_condition(struct trip_home *home, uint32_t condition)
{
	const struct trip_node *node = &home->nodes[condition];
	uint32_t *of_cntr = &home->cntrs[home->nodes[node->condition.item].cntr].conditions;
	uint32_t next = node->condition.next != condition ? node->condition.next : TRIP_NONE;

	home->nodes[node->condition.prev].condition.next = node->condition.next;
	home->nodes[node->condition.next].condition.prev = node->condition.prev;
	if (home->looks == condition)
		home->looks = next;
	else if (*of_cntr == condition)
		*of_cntr = next;
}

void
trip_condition_set(struct trip_home *home, uint32_t cntr)
{
	uint32_t first = home->cntrs[cntr].conditions, last = home->nodes[first].condition.prev;
	uint32_t behind = home->looks;

	home->cntrs[cntr].conditions = TRIP_NONE;
	if (behind == TRIP_NONE) {
		home->looks = first;
	} else {
		uint32_t end = home->nodes[behind].condition.prev;

		home->nodes[end].condition.next = first;
		home->nodes[first].condition.prev = end;
		home->nodes[last].condition.next = behind;
		home->nodes[behind].condition.prev = last;
	}
	home->timer_tsc = 0;
}

/* ---- where they stand ---- */

static bool
stands(const struct trip_node *item)
{
	return item->queued || item->deferred;
}

void
trip_condition_lift(struct trip_condition_look *look)
{
	struct trip_home *home = look->home;
	struct trip_node *item = &home->nodes[look->item];

	if (!stands(item))
		return;
	/* Not marked as canceled, as it may be queued again at once. */
	if (item->queued)
		trip_pending_remove(&home->pool, &home->cntrs[item->cntr].pending, look->item);
	if (item->deferred)
		trip_node_undefer(home, look->item);
	item->queued = false;
	trip_due_changed(home, item->cntr);
}

void
trip_condition_stand(struct trip_condition_look *look, uint64_t sum)
{
	struct trip_node *item = &look->home->nodes[look->item];

	if (stands(item) && item->threshold == sum)
		return;
	trip_condition_lift(look);
	/* A sum may be the largest there is. */
	if (sum >= TRIP_PENDING_NONE)
		return;
	item->threshold = sum;
	trip_node_queue(look->home, look->item);
	trip_due_changed(look->home, item->cntr);
}

void
trip_condition_alarm(struct trip_condition_look *look, uint64_t ns)
{
	struct trip_home *home = look->home;
	struct trip_node *node = &home->nodes[look->condition];
	struct trip_pending *clock = &home->cntrs[node->cntr].pending;

	if (node->queued)
		trip_pending_remove(&home->pool, clock, look->condition);
	node->queued = true;
	/* Behind all looks the clock is armed for the first of them. */
	trip_pending_insert(
		&home->pool, clock, RTE_MIN(ns, TRIP_PENDING_NONE - 1), look->condition);
}

uint64_t
trip_condition_now(const struct trip_condition_look *look)
{
	/* A clock rounds down. */
	return trip_clock_at(look->home, trip_home_clock(look->home)) + 1;
}

/* The first node that the condition of an item with this end remembers in. */
static uint32_t
first_of(const struct trip_home *home, const struct trip_node *item, uint32_t end)
{
	uint32_t next = home->nodes[item->more].more;

	/* Operands and the end come before. */
	if (end != TRIP_NONE)
		return home->nodes[end].more;
	return trip_op_of(item->op)->operands == 0 ? next : home->nodes[next].more;
}

/* ---- from queueing to the end ---- */

void
trip_condition_note_queued(
	const struct trip_engine *engine, uint32_t cntr, struct trip_condition_queued *queued)
{
	uint32_t local;
	struct trip_home *home = trip_engine_home(engine, cntr, &local);
	const struct trip_cell *cell = &home->cells[local];
	uint64_t known;

	/* In this order: what comes meanwhile is in the sum, and a set in between is found. */
	queued->setgen = atomic_load(&cell->setgen);
	known = trip_home_clock(home);
	if (atomic_load_explicit(&cell->flows, memory_order_relaxed) > 0)
		known = atomic_load_explicit(&cell->refreshed_tsc, memory_order_acquire);
	queued->known = trip_clock_at(home, known);
	/* What flows have counted since the home looked last came at nobody knows which of its
	 * moments. */
	if (engine->base_tsc == TRIP_CLOCK_FED &&
		atomic_load_explicit(&cell->flows, memory_order_relaxed) > 0)
		queued->known = 0;
	queued->sum = trip_cell_sum(cell);
}

/* What the item has brought along, and nothing behind that. */
static void
begin_memory(struct trip_home *home, const struct trip_node *item, struct trip_node *condition,
	struct trip_node *memory)
{
	struct trip_condition_queued queued;

	memcpy(&queued, memory->operands, sizeof(queued));
	memset(memory->operands, 0, TRIP_OPERANDS_MAX);
	condition->condition.setgen = queued.setgen;
	if (trip_cell_sum(&home->cells[item->cntr]) < item->threshold)
		queued.known = TRIP_CONDITION_LATER;
	memcpy(memory->operands, &queued, sizeof(queued));
}

void
trip_condition_begin(struct trip_home *home, uint32_t item, uint8_t kind)
{
	const struct trip_condition_row *row = trip_condition_of(kind);
	uint32_t condition = home->nodes[item].more;
	struct trip_node *node = &home->nodes[condition], *of = &home->nodes[item];
	/* All of it: what was in the node last may have been an item. */
	struct trip_node begun = {
		.condition.item = item,
		.condition.setgen = atomic_load(&home->cells[of->cntr].setgen),
		.flags = kind,
		.has_more = true,
		.cntr = home->shape.n_cntrs,
		.more = node->more,
	};

	memcpy(begun.condition.memory, node->condition.memory, row->parameters);
	*node = begun;
	if (row->glance != NULL && trip_op_of(of->op)->operands == 0)
		trip_glance_begin(node, of->cntr);
	if (row->memory > 0 && row->needs == NULL)
		begin_memory(
			home, of, node, &home->nodes[first_of(home, of, trip_node_end(home, of))]);
	/* A set since it was queued, and until its counter has settled, has rung nobody for it. */
	link_condition(home, &home->looks, condition);
	home->timer_tsc = 0;
}

static void
look_again(struct trip_home *home, uint32_t condition)
{
	const struct trip_node *node = &home->nodes[condition];

	/* What the look will touch. */
	__builtin_prefetch(&home->cells[home->nodes[node->condition.item].cntr]);
	if (node->more != TRIP_NONE)
		__builtin_prefetch(&home->nodes[node->more], 1);
	unlink_condition(home, condition);
	link_condition(home, &home->looks, condition);
	home->timer_tsc = 0;
}

bool
trip_condition_fires(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];
	uint32_t condition = trip_node_is_condition(node) ? index : node->more;

	if (!trip_node_is_condition(&home->nodes[condition]) || home->holds == index)
		return true;
	if (trip_glance_may(node) && trip_glance_at(home, index))
		return false;
	node->queued = false;
	look_again(home, condition);
	return false;
}

/* In this order: a set or an addition in between is found at the next look. */
static void
read_counter(struct trip_condition_look *look, uint32_t cntr, uint32_t *setgen)
{
	struct trip_home *home = look->home;
	struct trip_cell *cell = &home->cells[cntr];

	*setgen = atomic_load(&cell->setgen);
	if (home->cntrs[cntr].sources != TRIP_NONE) {
		uint64_t known;

		/* It may have made others due. */
		if (trip_source_fold(home, cntr))
			trip_due_changed(home, cntr);
		/* Its own. */
		known = atomic_load_explicit(&cell->refreshed_tsc, memory_order_relaxed);
		look->behind = known < home->now;
		look->known = trip_clock_at(home, known);
	}
	look->set_to = atomic_load(&cell->set_to);
	look->sum = trip_cell_sum(cell);
	if (look->set_to > look->sum || home->cntrs[cntr].sources != TRIP_NONE)
		look->set_to = look->sum;
}

struct trip_condition_look
trip_condition_look_of(struct trip_home *home, uint32_t item)
{
	const struct trip_node *node = &home->nodes[item];
	uint32_t end = trip_node_end(home, node);

	return (struct trip_condition_look){
		.home = home,
		.item = item,
		.condition = node->more,
		.end = end,
		.first = first_of(home, node, end),
		.memory = home->nodes[node->more].condition.memory,
		.stands = stands(node),
		.alarmed = home->nodes[node->more].queued,
	};
}

/* Not while it is on its way to a look. */
static void
silence(struct trip_home *home, uint32_t condition)
{
	struct trip_node *node = &home->nodes[condition];

	if (!node->queued)
		return;
	node->queued = false;
	trip_pending_cancel(&home->pool, &home->cntrs[node->cntr].pending, condition);
	/* It may have been the next one. */
	trip_due_dropped(home, node->cntr, 0);
}

/* In an iteration that began at `known`. */
static void
look_at(struct trip_home *home, uint32_t condition, uint64_t known, uint64_t since)
{
	struct trip_node *node = &home->nodes[condition];
	struct trip_node *item = &home->nodes[node->condition.item];
	struct trip_condition_look look = trip_condition_look_of(home, node->condition.item);
	enum trip_condition_state state;
	uint32_t setgen;

	unlink_condition(home, condition);
	link_condition(home, &home->cntrs[item->cntr].conditions, condition);
	if (trip_lasting_is_over(home, look.end))
		return;
	look.known = known;
	look.since = since;
	read_counter(&look, item->cntr, &setgen);
	look.set = setgen != node->condition.setgen;
	node->condition.setgen = setgen;
	state = trip_condition_of(node->flags)->look(&look);
	if (state == TRIP_CONDITION_ENDS && look.end != TRIP_NONE)
		trip_lasting_end(home, look.item);
	if (state == TRIP_CONDITION_HOLDS) {
		trip_condition_lift(&look);
		item->threshold = look.sum;
		home->holds = look.item;
		trip_fire(home, &look.item, 1);
		home->holds = TRIP_NONE;
		/* What lasts may be given back while an alarm is on its way. */
		if (trip_lasting_is_over(home, look.end))
			silence(home, condition);
		trip_due_changed(home, item->cntr);
	}
	/* Until the counter has settled, its cell may be armed for nobody, and a set rings nobody.
	 */
	if (stands(item) && !trip_due_has_settled(home, item->cntr))
		look_again(home, condition);
}

unsigned int
trip_condition_run(struct trip_home *home, unsigned int budget)
{
	uint32_t at = TRIP_NONE, last;
	unsigned int done = 0;
	uint64_t known, since;

	if (home->looks == TRIP_NONE)
		return 0;
	known = trip_clock_at(home, home->now);
	since = trip_clock_at(home, home->calm_tsc);
	/* What comes behind it has its turn in the next iteration. */
	last = home->nodes[home->looks].condition.prev;
	for (; home->looks != TRIP_NONE && at != last && done < budget; done++) {
		at = home->looks;
		look_at(home, at, known, since);
	}
	trip_due_rearm(home, home->shape.n_cntrs);
	return done;
}

void
trip_condition_end(struct trip_home *home, uint32_t condition)
{
	const struct trip_node *node = &home->nodes[condition];
	const struct trip_condition_row *row = trip_condition_of(node->flags);

	if (row->end != NULL) {
		struct trip_condition_look look =
			trip_condition_look_of(home, node->condition.item);

		row->end(&look);
	}
	unlink_condition(home, condition);
	silence(home, condition);
}
