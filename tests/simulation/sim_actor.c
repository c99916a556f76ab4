/* SPDX-License-Identifier: BSD-3-Clause */
/* The actors of a history, their coroutines, and how it begins and ends. */
#include <stdarg.h>
#include <string.h>

#include "sim_inside.h"

/* Everybody has so often nothing to do before it is believed; and what time goes by each time. */
#define PAUSES 4
#define PAUSE_TICKS 1024
/* 0 is a time to some. */
#define BEGINNING (UINT64_C(1) << 20)

struct sim sim;

unsigned int
sim_number(const struct sim_actor *actor)
{
	return (unsigned int)(actor - sim.actors);
}

unsigned int
sim_self(void)
{
	return sim.self != NULL ? sim_number(sim.self) : SIM_ACTORS;
}

bool
sim_is_runnable(const struct sim_actor *actor)
{
	return actor->state == SIM_READY && actor->stopped_until <= sim.steps;
}

static bool
waits_for_rest(const struct sim_actor *actor)
{
	return actor->state == SIM_RESTING || (actor->state == SIM_ASLEEP && actor->times_out);
}

/* Everything rests: that is looked at where somebody has waited for it. Whether anybody has. */
static bool
begin_again(void)
{
	bool waited = false;

	for (unsigned int i = 0; i < sim.n_actors; i++)
		waited |= waits_for_rest(&sim.actors[i]);
	if (!waited)
		return false;
	for (unsigned int i = 0; i < sim.n_actors; i++)
		sim_memory_drain(&sim.actors[i]);
	/* After such a time everybody knows of everything. */
	sim_view_begin();
	sim.self->looks = true;
	sim.history->world->judge();
	sim.self->looks = false;
	sim.rests++;
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (waits_for_rest(&sim.actors[i]))
			sim.actors[i].state = SIM_READY;
	sim_progress();
	return true;
}

/* Whoever runs leaves; to nobody: the history is over. */
static void
leave(bool must, bool matters)
{
	struct sim_actor *next = sim_turn_next(must, matters);

	if (next == NULL && begin_again())
		next = sim_turn_next(must, matters);
	if (next != sim.self)
		sim_fiber_switch(next);
}

static void
run_actor(void)
{
	sim_fiber_begin();
	sim.self->run(sim.self->arg);
	sim.self->step++;
	sim.self->state = SIM_ENDED;
	sim_progress();
	leave(true, true);
}

unsigned int
sim_spawn(const char *name, bool mortal, void (*run)(void *arg), void *arg)
{
	unsigned int number = sim.n_actors;
	struct sim_actor *actor = &sim.actors[number];

	if (number == SIM_ACTORS)
		sim_fail("more actors than there is room for");
	memset(actor, 0, sizeof(*actor));
	snprintf(actor->name, sizeof(actor->name), "%s", name);
	actor->run = run;
	actor->arg = arg;
	actor->mortal = mortal;
	sim_fiber_make(actor, run_actor);
	sim.n_actors++;
	sim_turn_spawned(actor);
	if (sim.memory == SIM_MEMORY_VIEWS)
		sim_view_spawned(actor);
	sim_progress();
	return number;
}

static void
kill_self(void)
{
	sim_story_mark("is killed");
	/* What has left the program reaches the memory. */
	sim_memory_drain(sim.self);
	sim.self->state = SIM_DEAD;
	sim_progress();
	leave(true, true);
}

static void
count_step(void)
{
	sim.self->step++;
	sim.now++;
	if (++sim.steps > SIM_STEPS)
		sim_fail("it does not come to rest");
}

void
sim_step(const volatile void *where, bool writes)
{
	bool matters = where == NULL || sim_place_visit(where, writes);
	uint32_t stops;

	count_step();
	sim.self->where = where;
	sim.self->writes = writes;
	if (sim.self->mortal && sim_turn_kills())
		kill_self();
	stops = sim_turn_stops();
	if (stops > 0) {
		sim_story_mark("is stopped");
		sim.self->stopped_until = sim.steps + stops;
	}
	leave(stops > 0, matters);
	sim_memory_settle();
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
	return sim_is_idle(actor) && actor->paused + sim.patience / 2 >= sim.until;
}

static bool
is_over(void)
{
	if (sim.now < sim.until)
		return false;
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		const struct sim_actor *actor = &sim.actors[i];

		if (actor->state == SIM_READY && !has_done_all(actor))
			return false;
	}
	return true;
}

/* What was stored is seen in the end, however stale loads may be: before it is believed that nobody
 * has anything to do, each looks once more. */
static bool
is_shown_all(void)
{
	if (sim.memory != SIM_MEMORY_VIEWS || sim.shown == sim.progress)
		return true;
	sim_view_begin();
	sim_progress();
	sim.shown = sim.progress;
	return false;
}

void
sim_pause(void)
{
	struct sim_actor *self = sim.self;

	count_step();
	sim_story_mark(NULL);
	sim.now += PAUSE_TICKS;
	if (self->seen != sim.progress)
		self->n_pauses = 0;
	self->seen = sim.progress;
	self->n_pauses++;
	self->paused = sim.now;
	self->pauses = true;
	sim_memory_settle();
	if (self->mortal && sim_turn_kills())
		kill_self();
	if (is_over() && is_shown_all() && !begin_again())
		sim_fiber_switch(NULL);
	sim_turn_paused();
	self->where = NULL;
	leave(true, true);
	self->pauses = false;
}

bool
sim_sleep(const volatile void *where, bool times_out)
{
	uint32_t rests = sim.rests;

	sim.self->step++;
	sim.self->futex = where;
	sim.self->times_out = times_out;
	sim.self->state = SIM_ASLEEP;
	sim_story_mark("sleeps");
	/* Before that it has done what others are to find. */
	sim_progress();
	leave(true, true);
	return sim.rests == rests;
}

void
sim_rest(void)
{
	sim.self->step++;
	sim.self->state = SIM_RESTING;
	sim_progress();
	leave(true, true);
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

void
sim_fail(const char *format, ...)
{
	struct sim_history *history = sim.history;
	va_list args;

	va_start(args, format);
	vsnprintf(history->sentence, sizeof(history->sentence), format, args);
	va_end(args);
	history->failed = true;
	if (sim.self == NULL) {
		fprintf(stderr, "seed %llu: %s\n", (unsigned long long)history->seed,
			history->sentence);
		abort();
	}
	sim_fiber_switch(NULL);
	abort();
}

static void
judge(void *arg)
{
	sim.self->looks = true;
	sim.history->world->judge();
	sim_fiber_switch(NULL);
}

void
sim_run(struct sim_history *history)
{
	sim.history = history;
	sim.n_actors = sim.n_locals = 0;
	sim.now = sim.until = BEGINNING;
	sim.steps = sim.progress = sim.shown = sim.rests = sim.patience = 0;
	history->failed = false;
	history->n_ops = 0;
	sim.plan.state = history->seed;
	sim_turn_begin();
	sim_place_begin();
	sim_memory_begin();
	sim_story_begin();
	sim_watch_begin();
	history->world->begin();
	sim_fiber_switch(&sim.actors[0]);
	history->steps = sim.steps;
	if (!history->failed) {
		for (unsigned int i = 0; i < sim.n_actors; i++)
			sim_memory_drain(&sim.actors[i]);
		/* The one more: in nobody's place. */
		if (sim.n_actors == SIM_ACTORS)
			sim.n_actors--;
		sim_fiber_switch(&sim.actors[sim_spawn("judge", false, judge, NULL)]);
	}
	sim.self = NULL;
	history->world->forget();
}

/* --- what actors ask --- */

void
sim_act(unsigned int number)
{
	sim.self->op = number << 8;
}

void
sim_progress(void)
{
	sim.progress++;
	sim_until(sim.now + sim.patience);
}

void
sim_patience(uint32_t ticks)
{
	sim.patience = ticks;
}

void
sim_until(uint64_t now)
{
	if (sim.until < now)
		sim.until = now;
}

uint64_t
sim_now(void)
{
	return sim.now;
}

uint32_t
sim_steps(void)
{
	return sim.steps;
}

bool
sim_is_dead(unsigned int actor)
{
	return sim.actors[actor].state == SIM_DEAD;
}

bool
sim_has_ended(unsigned int actor)
{
	return sim.actors[actor].state == SIM_ENDED;
}

bool
sim_is_asleep(unsigned int actor)
{
	return sim.actors[actor].state == SIM_ASLEEP;
}

void
sim_join(unsigned int actor)
{
	sim_memory_drain(&sim.actors[actor]);
	sim_memory_learn(sim.self, &sim.actors[actor]);
}

bool
sim_look(bool looks)
{
	bool before = sim.self->looks;

	sim.self->looks = looks;
	return before;
}

void
sim_local(void *pointer)
{
	sim.locals[sim.n_locals++] = pointer;
}
