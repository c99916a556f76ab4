/* SPDX-License-Identifier: BSD-3-Clause */
/* The actors of a history, how each begins and ends, and so does the history. */
#include <stdarg.h>
#include <string.h>

#include "sim_inside.h"

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
	return actor->state == SIM_READY && actor->stopped_until <= sim.steps && !actor->frozen;
}

/* Whoever runs leaves; to nobody: the history is over. */
void
sim_leave(bool must, bool matters)
{
	struct sim_actor *next;

	if (sim.has_clock)
		sim_wake_timed(sim.now);
	next = sim_turn_next(must, matters);
	while (next == NULL && (sim_skip_time() || sim_begin_again()))
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
	sim_leave(true, true);
}

static void
spawn_at(struct sim_actor *actor, const char *name, bool mortal, void (*run)(void *arg), void *arg)
{
	uint32_t op = actor->op;
	unsigned int decision = actor->decision;

	memset(actor, 0, sizeof(*actor));
	/* None of it is one of who was there before. */
	actor->op = op + 1;
	actor->decision = decision;
	snprintf(actor->name, sizeof(actor->name), "%s", name);
	actor->run = run;
	actor->arg = arg;
	actor->mortal = mortal;
	sim_fiber_make(actor, run_actor);
	sim_turn_spawned(actor);
	if (sim.memory == SIM_MEMORY_VIEWS)
		sim_view_spawned(actor);
	sim_progress();
}

unsigned int
sim_spawn(const char *name, bool mortal, void (*run)(void *arg), void *arg)
{
	unsigned int number = sim.n_actors;

	if (number == SIM_ACTORS)
		sim_fail("more than %d actors", SIM_ACTORS);
	memset(&sim.actors[number], 0, sizeof(sim.actors[number]));
	sim.n_actors++;
	spawn_at(&sim.actors[number], name, mortal, run, arg);
	return number;
}

unsigned int
sim_spawn_again(const char *name, void (*run)(void *arg), void *arg)
{
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (sim.actors[i].is_free) {
			spawn_at(&sim.actors[i], name, false, run, arg);
			return i;
		}
	/* One place is the judge's. */
	return sim.n_actors < SIM_ACTORS - 1 ? sim_spawn(name, false, run, arg) : SIM_ACTORS;
}

void
sim_leave_place(unsigned int actor)
{
	sim.actors[actor].is_free = true;
}

void
sim_end(unsigned int number)
{
	struct sim_actor *actor = &sim.actors[number];

	/* What has left the program reaches the memory. */
	sim_memory_drain(actor);
	actor->state = SIM_DEAD;
	actor->step++;
	sim_progress();
	if (actor == sim.self)
		sim_leave(true, true);
}

void
sim_kill_self(void)
{
	sim_story_mark("is killed");
	sim_end(sim_self());
}

void
sim_digest(uint64_t number)
{
	sim.digest = (sim.digest ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	sim.digest ^= sim.digest >> 32;
}

void
sim_count_step(void)
{
	sim_digest((uint64_t)sim.self->op << 32 | sim.self->step++);
	sim_digest(sim_number(sim.self));
	sim.now++;
	if (++sim.steps > SIM_STEPS)
		sim_fail("it does not come to rest in %u steps", SIM_STEPS);
}

void
sim_step(const volatile void *where, bool writes)
{
	bool matters = where == NULL || sim_place_visit(where, writes);
	uint32_t stops;

	sim_count_step();
	sim.self->where = where;
	sim.self->writes = writes;
	sim.self->wrote |= writes;
	if (sim.self->mortal && sim_turn_kills())
		sim_kill_self();
	stops = sim_turn_stops();
	if (stops > 0) {
		sim_story_mark("is stopped");
		sim.self->stopped_until = sim.steps + stops;
	}
	sim_leave(stops > 0, matters);
	sim_memory_settle();
}

void
sim_linger(void)
{
	if (sim.self == NULL || sim.self->looks)
		return;
	sim.self->calls = true;
	sim_step(NULL, false);
	sim.self->calls = false;
}

void
sim_fail_at(const char *file, int line, const char *format, ...)
{
	struct sim_history *history = sim.history;
	va_list args;

	va_start(args, format);
	vsnprintf(history->sentence, sizeof(history->sentence), format, args);
	va_end(args);
	history->failed = true;
	history->file = file;
	history->line = line;
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
	sim.skipped = false;
	sim.phase = 0;
	sim.digest = 0;
	sim.has_clock = false;
	sim.arrive = NULL;
	sim.space = NULL;
	history->failed = history->spun = false;
	history->n_ops = 0;
	sim.plan.state = history->seed;
	sim_turn_begin();
	sim_place_begin();
	sim_memory_begin();
	sim_story_begin();
	sim_watch_begin();
	sim_watchdog_begin();
	history->world->begin();
	sim_fiber_switch(&sim.actors[0]);
	history->steps = sim.steps;
	history->digest = sim.digest ^ sim.plan.state ^ sim.chance.state;
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

/* --- the plan --- */

uint64_t
sim_draw(uint64_t bound)
{
	const struct sim_plan *plan = sim.history->plan;
	uint64_t drawn;

	sim_expect(bound > 0, "the plan draws one of none");
	if (plan != NULL && sim.n_drawn < plan->n)
		drawn = plan->draws[sim.n_drawn] % bound;
	else
		drawn = trip_random_below(&sim.plan, bound);
	if (sim.n_drawn == SIM_DRAWS)
		sim_fail("the plan draws more than %d numbers", SIM_DRAWS);
	sim.drawn[sim.n_drawn++] = drawn;
	return drawn;
}

bool
sim_wants(void)
{
	if (sim.history->n_ops == SIM_OPS)
		sim_fail("the plan has more than %d operations", SIM_OPS);
	return !sim.history->left_out[sim.history->n_ops++];
}

enum sim_memory
sim_memory_kind(void)
{
	return sim.memory;
}

/* --- what actors ask --- */

void
sim_act(unsigned int number)
{
	/* Operations go on where another has had its place before. */
	if (sim.self->op < number << 8)
		sim.self->op = number << 8;
}

void
sim_phase(unsigned int number)
{
	if (sim.phase < number << 12)
		sim.phase = number << 12;
}

void
sim_progress(void)
{
	sim.progress++;
	sim_until(sim.now + sim.patience);
}

uint32_t
sim_progresses(void)
{
	return sim.progress;
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
