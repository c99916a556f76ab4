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
	/* Only before what matters the turn is given away. */
	bool picks;
	/* Steps that did. */
	uint32_t n_mattered;
	uint32_t until_switch;
	/* Where two are about to go to the same place: one of so many times the other one does so
	 * first; 0: as elsewhere. */
	uint32_t races;
	struct sim_actor *late_rival;
	uint32_t changes[CHANGES];
	unsigned int n_changes;
	uint64_t lowest;
	/* One of so many loads is stale, stores are late; 0: none. */
	uint32_t stale, late, latest;
	/* Of steps with stores in the buffer one of so many gives the turn away: what has
	 * overtaken them is seen then, and they are not; 0: as elsewhere. */
	uint32_t overtakes;
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
	const struct sim_plan *plan = sim.history->plan;
	uint64_t drawn;

	if (plan != NULL && sim.n_drawn < plan->n)
		drawn = plan->draws[sim.n_drawn] % bound;
	else
		drawn = trip_random_below(&sim.plan, bound);
	if (sim.n_drawn == SIM_DRAWS)
		sim_fail("a plan that draws more than there is room for");
	sim.drawn[sim.n_drawn++] = drawn;
	return drawn;
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

/* As it was noted; otherwise it is drawn. */
static bool
is_repeated(void)
{
	const struct sim_history *history = sim.history;

	return history->replays && (history->drawn_from == 0 || sim.steps < history->drawn_from);
}

/* Steps before which something happens: more often early, as not every history is long. */
static uint32_t
draw_step(void)
{
	return (uint32_t)chance((sim.history->world->length >> chance(7)) + 1);
}

static unsigned int
draw_steps(uint32_t *steps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		steps[i] = draw_step();
	return n;
}

/* Those of all steps count from where it is drawn. */
static unsigned int
draw_moments(uint32_t *steps, unsigned int n)
{
	draw_steps(steps, n);
	for (unsigned int i = 0; i < n; i++)
		steps[i] += sim.history->drawn_from;
	return n;
}

void
sim_turn_begin(void)
{
	/* Not the plan's numbers. */
	sim.chance.state = ~sim.history->turns;
	sim.n_drawn = 0;
	memset(&turn, 0, sizeof(turn));
	sim.memory = (enum sim_memory)chance(SIM_MEMORIES);
	if (sim.history->memory != SIM_MEMORIES)
		sim.memory = sim.history->memory;
	turn.by_priority = chance(2) == 0;
	turn.picks = chance(4) > 0;
	turn.until_switch = 1;
	turn.races = chance(4) == 0 ? 0 : 2u << chance(3);
	turn.lowest = UINT64_C(1) << 32;
	turn.n_changes = draw_steps(turn.changes, (unsigned int)chance(CHANGES + 1));
	turn.stale = chance(4) == 0 ? 0 : 1u << chance(5);
	turn.late = chance(4) == 0 ? 0 : 1u << chance(5);
	turn.latest = 1u << (2 + chance(8));
	if (sim.memory == SIM_MEMORY_BUFFERS && turn.late != 0 && chance(4) > 0) {
		turn.overtakes = 4u << chance(5);
		turn.latest = 1u << (8 + chance(4));
	}
	turn.n_kills = draw_moments(turn.kills, (unsigned int)chance(EVENTS + 1));
	turn.n_stops = draw_moments(turn.stops, (unsigned int)chance(EVENTS + 1));
	if (sim.history->replays)
		sim_decision_sort(sim.history);
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
	actor->gap = 1u << chance(9);
	if (!history->replays)
		return;
	while (actor->decision < history->n_decisions &&
		history->decisions[actor->decision].actor < sim_number(actor))
		actor->decision++;
}

void
sim_turn_paused(void)
{
	if (!is_repeated())
		sim.self->priority = chance(2) == 0 ? draw_priority() : turn.lowest--;
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
		if (actor->state == SIM_READY && !actor->frozen &&
			(stopped == NULL || stopped->stopped_until > actor->stopped_until))
			stopped = actor;
	} while (actor != sim.self);
	if (stopped != NULL)
		stopped->stopped_until = 0;
	return stopped;
}

/* Those who have had nothing to do for a while are passed by where others have. */
static uint32_t
candidates(void)
{
	uint32_t all = 0, busy = 0;

	for (unsigned int i = 0; i < sim.n_actors; i++) {
		if (!sim_is_runnable(&sim.actors[i]))
			continue;
		all |= UINT32_C(1) << i;
		if (!sim_is_idle(&sim.actors[i]))
			busy |= UINT32_C(1) << i;
	}
	return busy != 0 ? busy : all;
}

static struct sim_actor *
draw_any(struct sim_actor *otherwise)
{
	uint32_t left = candidates() & ~(UINT32_C(1) << sim_number(sim.self));

	if (left == 0)
		return otherwise;
	for (uint64_t nth = chance((uint64_t)__builtin_popcount(left)); nth > 0; nth--)
		left &= left - 1;
	return &sim.actors[__builtin_ctz(left)];
}

static struct sim_actor *
draw_by_chance(bool must_leave, struct sim_actor *otherwise)
{
	struct sim_actor *next;

	if (!must_leave && --turn.until_switch > 0)
		return otherwise;
	next = draw_any(otherwise);
	turn.until_switch = next != NULL ? 1 + (uint32_t)chance(2 * next->gap) : 1;
	return next;
}

static struct sim_actor *
take_late(void)
{
	struct sim_actor *late = turn.late_rival;

	if (late == NULL || late == sim.self || !sim_is_runnable(late) || chance(4) > 0)
		return NULL;
	turn.late_rival = NULL;
	return late;
}

/* Somebody who lost his turn before he came to the place to which this one is about to go. If not
 * now, he goes there soon after. */
static struct sim_actor *
draw_rival(void)
{
	const struct sim_actor *self = sim.self;

	if (turn.races == 0 || self->where == NULL)
		return NULL;
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		struct sim_actor *rival = &sim.actors[i];

		if (rival == self || rival->where != self->where ||
			!(rival->writes || self->writes) || !sim_is_runnable(rival))
			continue;
		if (chance(turn.races) == 0)
			return rival;
		turn.late_rival = rival;
		return NULL;
	}
	return take_late();
}

static struct sim_actor *
draw_by_priority(struct sim_actor *otherwise)
{
	struct sim_actor *best = NULL;
	uint32_t left = candidates();

	for (unsigned int i = 0; i < turn.n_changes; i++)
		if (turn.changes[i] <= turn.n_mattered) {
			turn.changes[i] = turn.changes[--turn.n_changes];
			sim.self->priority = turn.lowest--;
			break;
		}
	for (; left != 0; left &= left - 1) {
		struct sim_actor *actor = &sim.actors[__builtin_ctz(left)];

		if (best == NULL || best->priority < actor->priority)
			best = actor;
	}
	return best != NULL ? best : otherwise;
}

/* If whoever runs went on, nobody would see that its stores are late. */
static bool
leaves_late_stores(void)
{
	return turn.overtakes != 0 && sim_has_buffered() && chance(turn.overtakes) == 0;
}

struct sim_actor *
sim_turn_next(bool must_leave, bool matters)
{
	struct sim_actor *otherwise = must_leave ? next_in_circle() : sim.self, *next = NULL;
	uint32_t number;
	bool leaves;

	if (is_repeated()) {
		if (sim_decision_was(SIM_SWITCH, &number) && number < sim.n_actors &&
			sim_is_runnable(&sim.actors[number]))
			return &sim.actors[number];
		return otherwise;
	}
	leaves = leaves_late_stores();
	if (turn.picks && !matters && !leaves)
		return otherwise;
	turn.n_mattered++;
	if (leaves)
		sim.self->priority = turn.lowest--;
	if (otherwise != NULL && (next = draw_rival()) == NULL)
		next = turn.by_priority ? draw_by_priority(otherwise)
					: draw_by_chance(must_leave || leaves, otherwise);
	if (next != otherwise)
		sim_decision_note(SIM_SWITCH, sim_number(next));
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

	if (is_repeated())
		return sim_decision_was(SIM_KILL, &arg);
	if (turn.n_kills == 0 || !comes_now(turn.kills, &turn.n_kills))
		return false;
	sim_decision_note(SIM_KILL, 0);
	return true;
}

uint32_t
sim_turn_stops(void)
{
	uint32_t steps = 0;

	if (is_repeated())
		return sim_decision_was(SIM_STOP, &steps) ? steps : 0;
	if (turn.n_stops == 0 || !comes_now(turn.stops, &turn.n_stops))
		return 0;
	steps = 1 + draw_step();
	sim_decision_note(SIM_STOP, steps);
	return steps;
}

uint32_t
sim_turn_stale(uint32_t of)
{
	uint32_t way = 0;

	if (is_repeated())
		return sim_decision_was(SIM_STALE, &way) && way < of ? way : 0;
	if (turn.stale == 0 || chance(turn.stale) > 0)
		return 0;
	way = (uint32_t)chance(of);
	if (way > 0)
		sim_decision_note(SIM_STALE, way);
	return way;
}

uint32_t
sim_turn_delay(void)
{
	uint32_t steps = 0;

	if (is_repeated())
		return sim_decision_was(SIM_DELAY, &steps) ? steps : 0;
	if (turn.late == 0 || chance(turn.late) > 0)
		return 0;
	steps = 1 + (uint32_t)chance(turn.latest);
	sim_decision_note(SIM_DELAY, steps);
	return steps;
}
