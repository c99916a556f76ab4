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
#define KILLS 8
#define STOPS 4

/* What the seed says. */
static struct {
	bool by_priority;
	/* Only before what matters the turn is given away. */
	bool picks;
	/* Steps that did. */
	uint32_t n_mattered;
	uint32_t until_switch;
	uint32_t changes[CHANGES];
	unsigned int n_changes;
	uint64_t lowest;
	/* One of so many loads is stale, stores are late; 0: none. */
	uint32_t stale, late, latest;
	/* Of steps with stores in the buffer one of so many gives the turn away: what has
	 * overtaken them is seen then, and they are not; 0: as elsewhere. */
	uint32_t overtakes;
	/* One of so many sleeps ends for nothing, 0: none; of numbers of their own, so that all
	 * else is what it is without. */
	uint64_t wakes;
	struct trip_random naps;
	uint32_t kills[KILLS], stops[STOPS];
	/* Steps of those who may be killed. */
	uint32_t n_mortal;
	unsigned int n_kills, n_stops;
} turn;

uint64_t
sim_chance(uint64_t bound)
{
	return trip_random_below(&sim.chance, bound);
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
	return (uint32_t)sim_chance((sim.history->world->length >> sim_chance(7)) + 1);
}

/* How turns are drawn from here on, for about so many steps that matter. */
static void
draw_manner(uint32_t length)
{
	turn.by_priority = sim_chance(2) == 0;
	turn.picks = sim_chance(4) > 0;
	turn.until_switch = 1;
	sim_rival_begin();
	turn.stale = sim_chance(4) == 0 ? 0 : 1u << sim_chance(4);
	turn.late = sim_chance(4) == 0 ? 0 : 1u << sim_chance(5);
	turn.latest = 1u << (2 + sim_chance(8));
	turn.overtakes = 0;
	if (sim.memory == SIM_MEMORY_BUFFERS && turn.late != 0 && sim_chance(4) > 0) {
		turn.overtakes = 4u << sim_chance(5);
		turn.latest = 1u << (8 + sim_chance(4));
	}
	turn.n_mattered = 0;
	turn.n_changes = (unsigned int)sim_chance(CHANGES + 1);
	for (unsigned int i = 0; i < turn.n_changes; i++)
		turn.changes[i] = (uint32_t)sim_chance((length >> sim_chance(7)) + 1);
}

/* Kills are counted by the steps of those who may be killed. Most steps are of others: by all of
 * them it would mostly come to the first that one of these takes. */
static void
draw_moments(void)
{
	turn.n_kills = (unsigned int)sim_chance(KILLS + 1);
	for (unsigned int i = 0; i < turn.n_kills; i++)
		turn.kills[i] = draw_step();
	turn.n_stops = (unsigned int)sim_chance(STOPS + 1);
	for (unsigned int i = 0; i < turn.n_stops; i++)
		turn.stops[i] = sim.history->drawn_from + draw_step();
}

/* In every other history. */
static void
draw_naps(void)
{
	turn.naps.state = sim.history->turns ^ UINT64_C(0x6e617073);
	turn.wakes = trip_random_below(&turn.naps, 2) == 0
			     ? 0
			     : UINT64_C(2) << trip_random_below(&turn.naps, 4);
}

void
sim_turn_begin(void)
{
	/* Not the plan's numbers. */
	sim.chance.state = ~sim.history->turns;
	sim.n_drawn = 0;
	memset(&turn, 0, sizeof(turn));
	sim.memory = (enum sim_memory)sim_chance(SIM_MEMORIES);
	if (sim.history->memory != SIM_MEMORIES)
		sim.memory = sim.history->memory;
	turn.lowest = UINT64_C(1) << 32;
	draw_manner(sim.history->world->length);
	draw_moments();
	draw_naps();
	sim_fair_begin();
	if (sim.history->replays)
		sim_decision_sort(sim.history);
	else
		sim.history->n_decisions = 0;
}

#define HIGHEST (UINT64_C(1) << 33)

/* High ones first: below are those that were lowered. */
static uint64_t
draw_priority(void)
{
	return (UINT64_C(1) << 32) + sim_chance(UINT64_C(1) << 32);
}

/* Half of them begin some time after the others. */
static void
draw_pace(struct sim_actor *actor)
{
	actor->priority = draw_priority();
	actor->gap = 1u << sim_chance(9);
	if (sim_chance(2) == 0)
		actor->lurks_until = sim.steps + (uint32_t)sim_chance(512);
}

void
sim_turn_spawned(struct sim_actor *actor)
{
	const struct sim_history *history = sim.history;

	draw_pace(actor);
	if (!history->replays)
		return;
	while (actor->decision < history->n_decisions &&
		history->decisions[actor->decision].actor < sim_number(actor))
		actor->decision++;
}

void
sim_turn_rested(void)
{
	if (is_repeated())
		return;
	for (unsigned int i = 0; i < sim.n_actors; i++)
		draw_pace(&sim.actors[i]);
	draw_manner(turn.n_mattered);
}

void
sim_turn_paused(void)
{
	if (!is_repeated())
		sim.self->priority = sim_chance(2) == 0 ? draw_priority() : turn.lowest--;
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
	uint32_t all = 0, busy = 0, lurking = 0, lingering = 0;

	for (unsigned int i = 0; i < sim.n_actors; i++) {
		if (!sim_is_runnable(&sim.actors[i]))
			continue;
		all |= UINT32_C(1) << i;
		if (!sim_is_idle(&sim.actors[i]))
			busy |= UINT32_C(1) << i;
		if (sim_rival_lurks(&sim.actors[i]))
			lurking |= UINT32_C(1) << i;
		if (sim_rival_lingers(&sim.actors[i]))
			lingering |= UINT32_C(1) << i;
	}
	if ((busy & ~lurking) != 0)
		return busy & ~lurking;
	if (lingering != 0 && (all & ~lurking) != 0)
		return all & ~lurking;
	return busy != 0 ? busy : all;
}

static struct sim_actor *
draw_any(struct sim_actor *otherwise)
{
	uint32_t left = candidates() & ~(UINT32_C(1) << sim_number(sim.self));

	if (left == 0)
		return otherwise;
	for (uint64_t nth = sim_chance((uint64_t)__builtin_popcount(left)); nth > 0; nth--)
		left &= left - 1;
	return &sim.actors[__builtin_ctz(left)];
}

static void
begin_turn(const struct sim_actor *actor)
{
	turn.until_switch = actor != NULL ? 1 + (uint32_t)sim_chance(2 * actor->gap) : 1;
}

static struct sim_actor *
draw_by_sim_chance(bool must_leave, struct sim_actor *otherwise)
{
	struct sim_actor *next;

	if (!must_leave && --turn.until_switch > 0)
		return otherwise;
	next = draw_any(otherwise);
	begin_turn(next);
	return next;
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
	return turn.overtakes != 0 && sim_has_buffered() && sim_chance(turn.overtakes) == 0;
}

struct sim_actor *
sim_turn_next(bool must_leave, bool matters)
{
	struct sim_actor *otherwise = must_leave ? next_in_circle() : sim.self, *next = NULL;
	struct sim_actor *starved = sim_fair_next();
	uint32_t number;
	bool leaves;

	if (starved != NULL) {
		starved->priority = HIGHEST;
		sim.self->priority = turn.lowest--;
		return starved;
	}
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
	next = otherwise != NULL ? sim_rival_next() : NULL;
	if (next != NULL) {
		/* It has a turn like any other: what it is about to do comes before the rest. */
		sim.self->priority = turn.lowest--;
		begin_turn(next);
	} else if (otherwise != NULL) {
		if (matters && !must_leave)
			sim_rival_lurk();
		leaves |= sim_rival_lurks(sim.self);
		next = turn.by_priority ? draw_by_priority(otherwise)
					: draw_by_sim_chance(must_leave || leaves, otherwise);
	}
	if (next != otherwise)
		sim_decision_note(SIM_SWITCH, sim_number(next));
	return next;
}

/* --- what befalls whoever runs --- */

static bool
comes_now(uint32_t *steps, unsigned int *n, uint32_t now)
{
	for (unsigned int i = 0; i < *n; i++)
		if (steps[i] <= now) {
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
	turn.n_mortal++;
	if (turn.n_kills == 0 || !comes_now(turn.kills, &turn.n_kills, turn.n_mortal))
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
	if (turn.n_stops == 0 || !comes_now(turn.stops, &turn.n_stops, sim.steps))
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
	if (turn.stale == 0 || sim_chance(turn.stale) > 0)
		return 0;
	way = 1 + (uint32_t)sim_chance(of - 1);
	sim_decision_note(SIM_STALE, way);
	return way;
}

uint32_t
sim_turn_delay(void)
{
	uint32_t steps = 0;

	if (is_repeated())
		return sim_decision_was(SIM_DELAY, &steps) ? steps : 0;
	if (turn.late == 0 || sim_chance(turn.late) > 0)
		return 0;
	steps = 1 + (uint32_t)sim_chance(turn.latest);
	sim_decision_note(SIM_DELAY, steps);
	return steps;
}

bool
sim_turn_wakes(void)
{
	uint32_t arg;

	if (is_repeated()) {
		if (!sim_decision_was(SIM_WAKE, &arg))
			return false;
	} else {
		if (turn.wakes == 0 || trip_random_below(&turn.naps, turn.wakes) > 0)
			return false;
		sim_decision_note(SIM_WAKE, 0);
	}
	sim_story_mark("wakes for nothing");
	return true;
}
