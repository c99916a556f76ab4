/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The coroutines: their stacks, and from one to another. A context that is switched to asks the
 * kernel for its signals; a jump does not, so each begins as the one and goes on by the other.
 */
/* A jump to another stack is what it forbids. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <pthread.h>
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

/* Who plays it, outside of all actors. */
static struct sim_actor outside = {.name = "nobody", .has_begun = true};
static char *stacks[SIM_ACTORS];
#ifdef SIM_ASAN
/* AddressSanitizer's own for each of them, in which it has their variables. They stay, too. */
static void *fake_stacks[SIM_ACTORS + 1];

static void **
fake_stack_of(const struct sim_actor *actor)
{
	return &fake_stacks[actor == &outside ? SIM_ACTORS : sim_number(actor)];
}
#endif

void
sim_fiber_make(struct sim_actor *actor, void (*run)(void))
{
	char **stack = &stacks[sim_number(actor)];

	if (*stack == NULL)
		*stack = aligned_alloc(64, STACK);
	if (*stack == NULL)
		abort();
#ifdef SIM_ASAN
	/* Whoever had it before may have gone in the middle. */
	__asan_unpoison_memory_region(*stack, STACK);
#endif
	getcontext(&actor->context);
	actor->has_begun = false;
	actor->context.uc_stack.ss_sp = *stack;
	actor->context.uc_stack.ss_size = STACK;
	makecontext(&actor->context, run, 0);
}

bool
sim_fiber_has(const void *where)
{
	const char *at = where;

	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (at >= stacks[i] && at < stacks[i] + STACK)
			return true;
	return false;
}

static void
arrive(const struct sim_actor *actor)
{
#ifdef SIM_ASAN
	__sanitizer_finish_switch_fiber(*fake_stack_of(actor), NULL, NULL);
#endif
	for (unsigned int i = 0; i < sim.n_locals; i++)
		memcpy(sim.locals[i], &actor->locals[i], sizeof(actor->locals[i]));
	if (sim.arrive != NULL)
		sim.arrive(sim_self());
}

void
sim_fiber_begin(void)
{
	arrive(sim.self);
#ifdef SIM_ASAN
	/* What whoever had the stack before has left on it is free again. */
	__asan_handle_no_return();
#endif
}

#ifdef SIM_ASAN
static void
find_own_stack(const void **base, size_t *size)
{
	pthread_attr_t attr;
	void *found;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &found, size);
	pthread_attr_destroy(&attr);
	*base = found;
}

/* So that AddressSanitizer knows which stack it is on. */
static void
announce(struct sim_actor *from, const struct sim_actor *to)
{
	static const void *base;
	static size_t size;

	if (base == NULL)
		find_own_stack(&base, &size);
	__sanitizer_start_switch_fiber(fake_stack_of(from),
		to == &outside ? base : stacks[sim_number(to)], to == &outside ? size : STACK);
}
#endif

static void
go(struct sim_actor *from, struct sim_actor *there)
{
#ifdef SIM_ASAN
	announce(from, there);
	swapcontext(&from->context, &there->context);
#else
	if (_setjmp(from->resume) != 0)
		return;
	if (there->has_begun)
		_longjmp(there->resume, 1);
	there->has_begun = true;
	setcontext(&there->context);
#endif
}

void
sim_fiber_switch(struct sim_actor *to)
{
	struct sim_actor *from = sim.self != NULL ? sim.self : &outside;
	struct sim_actor *there = to != NULL ? to : &outside;
	int error = errno;

	for (unsigned int i = 0; i < sim.n_locals; i++)
		memcpy(&from->locals[i], sim.locals[i], sizeof(from->locals[i]));
	sim.self = to;
	go(from, there);
	arrive(from);
	errno = error;
}
