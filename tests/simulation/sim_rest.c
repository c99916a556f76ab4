/* SPDX-License-Identifier: BSD-3-Clause */
/* Actors that have nothing to do, or sleep, and when everything rests. */
#include "sim_inside.h"

/* Everybody has so often nothing to do before it is believed; and what time goes by each time. */
#define PAUSES 4
#define PAUSE_TICKS 1024

static bool
waits_for_rest(const struct sim_actor *actor)
{
	return actor->state == SIM_RESTING || (actor->state == SIM_ASLEEP && actor->times_out);
}

/* After such a time everybody knows of everything. */
static void
tell_all(void)
{
	for (unsigned int i = 0; i < sim.n_actors; i++)
		sim_memory_drain(&sim.actors[i]);
	sim_view_begin();
}

/* Everything rests: that is looked at where somebody has waited for it. Whether anybody has. */
bool
sim_begin_again(void)
{
	bool waited = false;

	for (unsigned int i = 0; i < sim.n_actors; i++)
		waited |= waits_for_rest(&sim.actors[i]);
	if (!waited)
		return false;
	tell_all();
	sim.self->looks = true;
	sim.history->world->judge();
	sim.self->looks = false;
	sim.rests++;
	sim_turn_rested();
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (waits_for_rest(&sim.actors[i]))
			sim.actors[i].state = SIM_READY;
	sim_progress();
	return true;
}

/* Those whose time has come. */
void
sim_wake_timed(uint64_t now)
{
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		struct sim_actor *actor = &sim.actors[i];

		if (actor->state != SIM_ASLEEP || actor->wakes == 0 || actor->wakes > now)
			continue;
		actor->state = SIM_READY;
		actor->wakes = 0;
	}
}

/* Nobody has anything to do, though all know of everything: it is the time at which the first
 * wakes. False: nobody does by himself. */
bool
sim_skip_time(void)
{
	uint64_t first = UINT64_MAX;

	if (sim.has_clock && sim.shown != sim.progress) {
		tell_all();
		sim_progress();
		sim.shown = sim.progress;
		return true;
	}
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		const struct sim_actor *actor = &sim.actors[i];

		if (actor->frozen)
			continue;
		if (actor->state == SIM_ASLEEP && actor->wakes != 0 && actor->wakes < first)
			first = actor->wakes;
		if (actor->state == SIM_READY && actor->polls_until > sim.now &&
			actor->polls_until < first)
			first = actor->polls_until;
	}
	if (first == UINT64_MAX) {
		bool skipped = sim.skipped;

		/* Everybody looks once more at what time it is. */
		sim.skipped = false;
		if (skipped)
			sim_progress();
		return skipped;
	}
	sim.skipped = true;
	if (sim.now < first)
		sim.now = first;
	sim_wake_timed(sim.now);
	return true;
}

bool
sim_is_idle(const struct sim_actor *actor)
{
	return actor->pauses && actor->seen == sim.progress && actor->n_pauses >= PAUSES;
}

/* It had nothing to do, also when some time had gone by. */
static bool
has_done_all(const struct sim_actor *actor)
{
	return sim_is_idle(actor) && actor->n_laps >= actor->laps &&
	       actor->paused + sim.patience / 2 >= sim.until;
}

static bool
all_are_idle(void)
{
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		const struct sim_actor *actor = &sim.actors[i];

		if (actor->state == SIM_READY && !actor->frozen && !sim_is_idle(actor))
			return false;
	}
	return true;
}

static bool
is_over(void)
{
	if (sim.now < sim.until)
		return false;
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		const struct sim_actor *actor = &sim.actors[i];

		if (actor->state != SIM_READY || actor->frozen)
			continue;
		if (!has_done_all(actor))
			return false;
		/* It has yet to find that its time is over. */
		if (actor->polls_until != 0 && actor->polls_until <= sim.now)
			return false;
	}
	return true;
}

/* What was stored is seen in the end, however late stores and however stale loads may be: once
 * nobody has anything to do all of it is shown, and each looks once more, also at what has left a
 * buffer since it looked last. Where time is skipped, that is done before. */
static bool
is_shown_all(void)
{
	if (sim.has_clock || sim.memory == SIM_MEMORY_STRONG || sim.shown == sim.progress)
		return true;
	tell_all();
	sim_progress();
	sim.shown = sim.progress;
	return false;
}

void
sim_pause(void)
{
	struct sim_actor *self = sim.self;

	sim_count_step();
	sim_story_mark(NULL);
	sim.now += PAUSE_TICKS;
	if (self->seen != sim.progress)
		self->n_pauses = self->n_laps = 0;
	self->seen = sim.progress;
	self->n_pauses++;
	self->paused = sim.now;
	self->pauses = true;
	sim_memory_settle();
	if (self->mortal && sim_turn_kills())
		sim_kill_self();
	if (all_are_idle() && is_shown_all() && is_over() && !sim_skip_time() && !sim_begin_again())
		sim_fiber_switch(NULL);
	sim_turn_paused();
	self->where = NULL;
	sim_leave(true, true);
	self->pauses = false;
}

static void
sleep_on(const volatile void *where)
{
	sim.self->step++;
	sim.self->futex = where;
	sim.self->state = SIM_ASLEEP;
	sim_story_mark("sleeps");
	/* Before that it has done what others are to find. */
	if (!sim.has_clock || sim.self->wrote)
		sim_progress();
	sim.self->wrote = false;
	sim_leave(true, true);
}

bool
sim_sleep(const volatile void *where, bool times_out)
{
	uint32_t rests = sim.rests;

	sim.self->times_out = times_out;
	sim.self->wakes = 0;
	sleep_on(where);
	return sim.rests == rests;
}

bool
sim_sleep_until(const volatile void *where, uint64_t moment)
{
	sim.self->times_out = false;
	sim.self->wakes = moment;
	sleep_on(where);
	/* Whoever is woken has it still. */
	return moment == 0 || sim.self->wakes != 0;
}

void
sim_sleep_through(uint64_t moment)
{
	while (sim.now < moment)
		(void)sim_sleep_until(&sim.now, moment);
}

void
sim_polls_until(uint64_t moment)
{
	sim.self->polls_until = moment;
}

void
sim_freeze(unsigned int actor, bool freezes)
{
	sim.actors[actor].frozen = freezes;
	sim_progress();
}

void
sim_laps(uint32_t n)
{
	sim.self->laps = n;
}

void
sim_lap(void)
{
	sim.self->n_laps++;
}

void
sim_rest(void)
{
	sim.self->step++;
	sim.self->state = SIM_RESTING;
	sim_progress();
	sim_leave(true, true);
}

uint32_t
sim_rests(void)
{
	return sim.rests;
}

unsigned int
sim_wake(const volatile void *where, unsigned int max)
{
	unsigned int woken = 0;

	for (unsigned int i = 0; i < sim.n_actors && woken < max; i++) {
		struct sim_actor *actor = &sim.actors[i];

		if (actor->state != SIM_ASLEEP || actor->futex != where)
			continue;
		actor->state = SIM_READY;
		sim_memory_learn(actor, sim.self);
		sim_progress();
		woken++;
	}
	return woken;
}
