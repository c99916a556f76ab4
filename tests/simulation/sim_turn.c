/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is next, who dies, which store is late: drawn from the seed, and noted; or as it was noted.
 *
 * Two ways of drawing whose turn it is. By chance: after some steps, anybody. By priority: always
 * the highest that can run; each has a random one, and at a few random steps whoever runs gets the
 * lowest of all. A defect that needs d turns in a certain order is found by the second with a
 * chance that falls with the length of a history to the power of d - 1 only, whatever else there
 * is. A pause gives up the turn either way.
 */
#include <string.h>

#include "sim_inside.h"

#define CHANGES 24
#define EVENTS 4

/* What the seed says. */
static struct {
	bool by_priority;
	/* One of so many steps gives the turn away. */
	uint32_t gap, until_switch;
	uint32_t changes[CHANGES];
	unsigned int n_changes;
	uint64_t lowest;
	/* One of so many loads is stale, stores are late; 0: none. */
	uint32_t stale, late, latest;
	uint32_t kills[EVENTS], stops[EVENTS];
	unsigned int n_kills, n_stops;
} turn;

static uint64_t
chance(uint64_t bound)
{
	return trip_random_below(&sim.chance, bound);
}

uint64_t
sim_draw(uint64_t bound)
{
	return trip_random_below(&sim.plan, bound);
}

bool
sim_wants(void)
{
	if (sim.history->n_ops == SIM_OPS)
		sim_fail("a plan of more operations than there is room for");
	return !sim.history->left_out[sim.history->n_ops++];
}

enum sim_memory
sim_memory_kind(void)
{
	return sim.memory;
}

/* Steps before which something happens: more often early, as not every history is long. */
static uint32_t
draw_step(void)
{
	return (uint32_t)chance((sim.history->world->length >> chance(4)) + 1);
}

static unsigned int
draw_steps(uint32_t *steps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		steps[i] = draw_step();
	return n;
}

/* By actor, and of each in its order. */
static int
compare(const void *a, const void *b)
{
	const struct sim_decision *x = a, *y = b;

	if (x->actor != y->actor)
		return x->actor < y->actor ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

void
sim_turn_begin(void)
{
	/* Not the plan's numbers. */
	sim.chance.state = ~sim.history->seed;
	memset(&turn, 0, sizeof(turn));
	sim.memory = (enum sim_memory)chance(SIM_MEMORIES);
	if (sim.history->memory != SIM_MEMORIES)
		sim.memory = sim.history->memory;
	turn.by_priority = chance(2) == 0;
	turn.gap = 1u << chance(8);
	turn.until_switch = 1 + (uint32_t)chance(2 * turn.gap);
	turn.lowest = UINT64_C(1) << 32;
	turn.n_changes = draw_steps(turn.changes, (unsigned int)chance(CHANGES + 1));
	turn.stale = chance(3) == 0 ? 0 : 1u << chance(7);
	turn.late = chance(3) == 0 ? 0 : 1u << chance(7);
	turn.latest = 1u << (2 + chance(8));
	turn.n_kills = draw_steps(turn.kills, (unsigned int)chance(EVENTS + 1));
	turn.n_stops = draw_steps(turn.stops, (unsigned int)chance(EVENTS + 1));
	if (sim.history->replays)
		qsort(sim.history->decisions, sim.history->n_decisions,
			sizeof(*sim.history->decisions), compare);
	else
		sim.history->n_decisions = 0;
}

/* High ones first: below are those that were lowered. */
static uint64_t
draw_priority(void)
{
	return (UINT64_C(1) << 32) + chance(UINT64_C(1) << 32);
}

void
sim_turn_spawned(struct sim_actor *actor)
{
	const struct sim_history *history = sim.history;

	actor->priority = draw_priority();
	if (!history->replays)
		return;
	while (actor->decision < history->n_decisions &&
		history->decisions[actor->decision].actor < sim_number(actor))
		actor->decision++;
}

void
sim_turn_paused(void)
{
	if (!sim.history->replays)
		sim.self->priority = chance(2) == 0 ? draw_priority() : turn.lowest--;
}

/* --- what was decided --- */

static void
note(enum sim_kind kind, uint32_t arg)
{
	struct sim_history *history = sim.history;

	if (history->n_decisions == history->max_decisions) {
		history->max_decisions = history->max_decisions * 2 + 1024;
		history->decisions = realloc(
			history->decisions, history->max_decisions * sizeof(*history->decisions));
	}
	history->decisions[history->n_decisions++] = (struct sim_decision){
		.op = sim.self->op,
		.step = sim.self->step,
		.arg = arg,
		.actor = (uint8_t)sim_number(sim.self),
		.kind = (uint8_t)kind,
	};
}

static uint64_t
moment(uint32_t op, uint32_t step)
{
	return (uint64_t)op << 32 | step;
}

/* Whether something of this kind was, at this step; its arg. Others may have been as well. */
static bool
was_decided(enum sim_kind kind, uint32_t *arg)
{
	const struct sim_history *history = sim.history;
	struct sim_actor *self = sim.self;
	uint64_t now = moment(self->op, self->step);

	for (unsigned int i = self->decision; i < history->n_decisions; i++) {
		const struct sim_decision *decision = &history->decisions[i];
		uint64_t then = moment(decision->op, decision->step);

		if (decision->actor != sim_number(self) || then > now)
			break;
		if (then < now)
			self->decision = i + 1;
		else if (decision->kind == kind) {
			*arg = decision->arg;
			return true;
		}
	}
	return false;
}

/* --- turns --- */

static struct sim_actor *
after(struct sim_actor *actor)
{
	unsigned int at = sim_number(actor) + 1;

	return &sim.actors[at < sim.n_actors ? at : 0];
}

/* The next one in the circle; itself, where there is no other; whoever is stopped goes on, where
 * nobody else can. */
static struct sim_actor *
next_in_circle(void)
{
	struct sim_actor *actor = sim.self, *stopped = NULL;

	do {
		actor = after(actor);
		if (sim_is_runnable(actor))
			return actor;
		if (actor->state == SIM_READY &&
			(stopped == NULL || stopped->stopped_until > actor->stopped_until))
			stopped = actor;
	} while (actor != sim.self);
	if (stopped != NULL)
		stopped->stopped_until = 0;
	return stopped;
}

static struct sim_actor *
draw_any(struct sim_actor *otherwise)
{
	unsigned int n = 0, nth;

	for (unsigned int i = 0; i < sim.n_actors; i++)
		n += &sim.actors[i] != sim.self && sim_is_runnable(&sim.actors[i]);
	if (n == 0)
		return otherwise;
	nth = (unsigned int)chance(n);
	for (unsigned int i = 0;; i++)
		if (&sim.actors[i] != sim.self && sim_is_runnable(&sim.actors[i]) && nth-- == 0)
			return &sim.actors[i];
}

static struct sim_actor *
draw_by_chance(bool must_leave, struct sim_actor *otherwise)
{
	if (!must_leave && --turn.until_switch > 0)
		return otherwise;
	turn.until_switch = 1 + (uint32_t)chance(2 * turn.gap);
	return draw_any(otherwise);
}

static struct sim_actor *
draw_by_priority(struct sim_actor *otherwise)
{
	struct sim_actor *best = NULL;

	for (unsigned int i = 0; i < turn.n_changes; i++)
		if (turn.changes[i] <= sim.steps) {
			turn.changes[i] = turn.changes[--turn.n_changes];
			sim.self->priority = turn.lowest--;
			break;
		}
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (sim_is_runnable(&sim.actors[i]) &&
			(best == NULL || best->priority < sim.actors[i].priority))
			best = &sim.actors[i];
	return best != NULL ? best : otherwise;
}

struct sim_actor *
sim_turn_next(bool must_leave)
{
	struct sim_actor *otherwise = must_leave ? next_in_circle() : sim.self, *next = otherwise;
	uint32_t number;

	if (sim.history->replays) {
		if (was_decided(SIM_SWITCH, &number) && number < sim.n_actors &&
			sim_is_runnable(&sim.actors[number]))
			return &sim.actors[number];
		return otherwise;
	}
	if (otherwise != NULL)
		next = turn.by_priority ? draw_by_priority(otherwise)
					: draw_by_chance(must_leave, otherwise);
	if (next != otherwise)
		note(SIM_SWITCH, sim_number(next));
	return next;
}

/* --- what befalls whoever runs --- */

static bool
comes_now(uint32_t *steps, unsigned int *n)
{
	for (unsigned int i = 0; i < *n; i++)
		if (steps[i] <= sim.steps) {
			steps[i] = steps[--*n];
			return true;
		}
	return false;
}

bool
sim_turn_kills(void)
{
	uint32_t arg;

	if (sim.history->replays)
		return was_decided(SIM_KILL, &arg);
	if (turn.n_kills == 0 || !comes_now(turn.kills, &turn.n_kills))
		return false;
	note(SIM_KILL, 0);
	return true;
}

uint32_t
sim_turn_stops(void)
{
	uint32_t steps = 0;

	if (sim.history->replays)
		return was_decided(SIM_STOP, &steps) ? steps : 0;
	if (turn.n_stops == 0 || !comes_now(turn.stops, &turn.n_stops))
		return 0;
	steps = 1 + draw_step();
	note(SIM_STOP, steps);
	return steps;
}

uint32_t
sim_turn_stale(uint32_t of)
{
	uint32_t way = 0;

	if (sim.history->replays)
		return was_decided(SIM_STALE, &way) && way < of ? way : 0;
	if (turn.stale == 0 || chance(turn.stale) > 0)
		return 0;
	way = (uint32_t)chance(of);
	if (way > 0)
		note(SIM_STALE, way);
	return way;
}

uint32_t
sim_turn_delay(void)
{
	uint32_t steps = 0;

	if (sim.history->replays)
		return was_decided(SIM_DELAY, &steps) ? steps : 0;
	if (turn.late == 0 || chance(turn.late) > 0)
		return 0;
	steps = 1 + (uint32_t)chance(turn.latest);
	note(SIM_DELAY, steps);
	return steps;
}
