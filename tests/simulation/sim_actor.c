/* SPDX-License-Identifier: BSD-3-Clause */
/* The actors of a history, their coroutines, and how it begins and ends. */
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "sim_inside.h"

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#endif
#ifdef SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK (128 * 1024)
/* Everybody has so often nothing to do before it is believed; and what time goes by each time. */
#define PAUSES 24
#define PAUSE_TICKS 64

struct sim sim;

/* Who plays it, outside of all actors. */
static struct sim_actor outside = {.name = "nobody"};
static char *stacks[SIM_ACTORS];

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

static void
arrive(const struct sim_actor *actor)
{
#ifdef SIM_ASAN
	__sanitizer_finish_switch_fiber(actor->fake_stack, NULL, NULL);
#endif
	for (unsigned int i = 0; i < sim.n_locals; i++)
		*sim.locals[i] = actor->locals[i];
}

/* NULL: to the outside. One that has gone for good comes back never. */
static void
switch_to(struct sim_actor *to)
{
	struct sim_actor *from = sim.self != NULL ? sim.self : &outside;
	struct sim_actor *there = to != NULL ? to : &outside;

	for (unsigned int i = 0; i < sim.n_locals; i++)
		from->locals[i] = *sim.locals[i];
	sim.self = to;
#ifdef SIM_ASAN
	static const void *outside_stack;
	static size_t outside_size;

	if (outside_stack == NULL) {
		pthread_attr_t attr;
		void *base;

		pthread_getattr_np(pthread_self(), &attr);
		pthread_attr_getstack(&attr, &base, &outside_size);
		pthread_attr_destroy(&attr);
		outside_stack = base;
	}
	__sanitizer_start_switch_fiber(&from->fake_stack,
		to != NULL ? stacks[sim_number(to)] : outside_stack,
		to != NULL ? STACK : outside_size);
#endif
	swapcontext(&from->context, &there->context);
	arrive(from);
}

/* Whoever runs leaves; to nobody: the history is over. */
static void
leave(bool must)
{
	struct sim_actor *next = sim_turn_next(must);

	if (next != sim.self)
		switch_to(next);
}

static void
run_actor(void)
{
	arrive(sim.self);
	sim.self->run(sim.self->arg);
	sim.self->step++;
	sim.self->state = SIM_ENDED;
	sim_progress();
	leave(true);
}

unsigned int
sim_spawn(const char *name, bool mortal, void (*run)(void *arg), void *arg)
{
	unsigned int number = sim.n_actors;
	struct sim_actor *actor = &sim.actors[number];

	if (number == SIM_ACTORS)
		sim_fail("more actors than there is room for");
	if (stacks[number] == NULL)
		stacks[number] = aligned_alloc(64, STACK);
#ifdef SIM_ASAN
	__asan_unpoison_memory_region(stacks[number], STACK);
#endif
	memset(actor, 0, sizeof(*actor));
	snprintf(actor->name, sizeof(actor->name), "%s", name);
	actor->run = run;
	actor->arg = arg;
	actor->mortal = mortal;
	getcontext(&actor->context);
	actor->context.uc_stack.ss_sp = stacks[number];
	actor->context.uc_stack.ss_size = STACK;
	makecontext(&actor->context, run_actor, 0);
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
	leave(true);
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
sim_step(void)
{
	uint32_t stops;

	count_step();
	if (sim.self->mortal && sim_turn_kills())
		kill_self();
	stops = sim_turn_stops();
	if (stops > 0) {
		sim_story_mark("is stopped");
		sim.self->stopped_until = sim.steps + stops;
	}
	leave(stops > 0);
	sim_memory_settle();
}

static bool
is_over(void)
{
	if (sim.now < sim.until)
		return false;
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		const struct sim_actor *actor = &sim.actors[i];

		if (actor->state == SIM_READY &&
			(actor->seen != sim.progress || actor->pauses < PAUSES))
			return false;
	}
	return true;
}

void
sim_pause(void)
{
	struct sim_actor *self = sim.self;

	count_step();
	sim.now += PAUSE_TICKS;
	if (self->seen != sim.progress)
		self->pauses = 0;
	self->seen = sim.progress;
	self->pauses++;
	sim_memory_settle();
	if (self->mortal && sim_turn_kills())
		kill_self();
	if (is_over())
		switch_to(NULL);
	sim_turn_paused();
	leave(true);
}

void
sim_sleep(const volatile void *where)
{
	sim.self->step++;
	sim.self->futex = where;
	sim.self->state = SIM_ASLEEP;
	sim_story_mark("sleeps");
	leave(true);
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
	switch_to(NULL);
	abort();
}

static void
judge(void *arg)
{
	sim.self->looks = true;
	sim.history->world->judge();
	switch_to(NULL);
}

void
sim_run(struct sim_history *history)
{
	sim.history = history;
	sim.n_actors = sim.n_locals = 0;
	sim.now = sim.until = sim.steps = sim.progress = 0;
	history->failed = false;
	history->n_ops = 0;
	sim.plan.state = history->seed;
	sim_turn_begin();
	sim_memory_begin();
	sim_story_begin();
	sim_watch_begin();
	history->world->begin();
	switch_to(&sim.actors[0]);
	history->steps = sim.steps;
	if (!history->failed) {
		for (unsigned int i = 0; i < sim.n_actors; i++)
			sim_memory_drain(&sim.actors[i]);
		/* The one more: in nobody's place. */
		if (sim.n_actors == SIM_ACTORS)
			sim.n_actors--;
		switch_to(&sim.actors[sim_spawn("judge", false, judge, NULL)]);
	}
	sim.self = NULL;
	history->world->forget();
}

/* --- what actors ask --- */

void
sim_progress(void)
{
	sim.progress++;
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
sim_local(void **pointer)
{
	sim.locals[sim.n_locals++] = pointer;
}
