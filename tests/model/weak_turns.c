/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The turns: one execution after the other, each of which differs from the one before in its last
 * choice that has another way left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "weak_inside.h"

/* Choices, and steps, of one execution. */
#define CHOICES 1024
#define STACK (64 * 1024)

/* Who goes to a place, learnt from one execution for the next ones: only where a thread goes that
 * another one writes does it matter who is first. */
struct traffic {
	const volatile void *where;
	unsigned int threads;
	bool written;
};

struct thread {
	ucontext_t context;
	bool ended;
	char *stack;
};

struct choice {
	unsigned int taken, of;
};

static struct {
	const struct trip_weak *weak;
	struct thread threads[TRIP_WEAK_THREADS];
	unsigned int n_threads;
	struct thread *self;
	/* Who gives them their turns. */
	ucontext_t context;
	struct traffic traffic[TRIP_WEAK_PLACES];
	unsigned int n_traffic;
	/* There is more to choose than was known: from the beginning. */
	bool anew;
	/* The way that is gone this time, and how far it is. */
	struct choice choices[CHOICES];
	unsigned int n_choices, at_choice;
	struct {
		struct trip_weak_step step;
		int thread;
	} steps[CHOICES];
	unsigned int n_steps;
} turns;

void
trip_weak_die(const char *what)
{
	fprintf(stderr, "weak: %s\n", what);
	abort();
}

int
trip_weak_self(void)
{
	return turns.self != NULL ? (int)(turns.self - turns.threads) : -1;
}

unsigned int
trip_weak_choose(unsigned int of)
{
	if (of == 1)
		return 0;
	if (turns.at_choice == turns.n_choices) {
		if (turns.n_choices == CHOICES)
			trip_weak_die("an execution has more choices than there is room for");
		turns.choices[turns.n_choices++] = (struct choice){.of = of};
	}
	return turns.choices[turns.at_choice++].taken;
}

/* The next way: false where there is none. */
static bool
turn_back(void)
{
	if (turns.anew) {
		turns.anew = false;
		turns.n_choices = 0;
		return true;
	}
	while (turns.n_choices > 0) {
		struct choice *last = &turns.choices[turns.n_choices - 1];

		if (++last->taken < last->of)
			return true;
		turns.n_choices--;
	}
	return false;
}

static struct traffic *
traffic_of(const volatile void *where)
{
	struct traffic *traffic = turns.traffic, *end = &turns.traffic[turns.n_traffic];

	while (traffic < end && traffic->where != where)
		traffic++;
	if (traffic == &turns.traffic[TRIP_WEAK_PLACES])
		trip_weak_die("more places than there is room for");
	if (traffic == end) {
		turns.n_traffic++;
		*traffic = (struct traffic){.where = where};
	}
	return traffic;
}

static bool
is_contended(const struct traffic *traffic)
{
	return traffic->written && (traffic->threads & (traffic->threads - 1)) != 0;
}

void
trip_weak_turn(const volatile void *where, bool writes)
{
	struct traffic *traffic = where != NULL ? traffic_of(where) : NULL;

	if (traffic != NULL && !is_contended(traffic)) {
		traffic->threads |= 1u << trip_weak_self();
		traffic->written |= writes;
		turns.anew |= is_contended(traffic);
		return;
	}
	swapcontext(&turns.self->context, &turns.context);
}

void
trip_weak_note(struct trip_weak_step step)
{
	if (turns.n_steps == CHOICES)
		trip_weak_die("an execution has more steps than there is room for");
	turns.steps[turns.n_steps].thread = trip_weak_self();
	turns.steps[turns.n_steps++].step = step;
}

static void
print_steps(void)
{
	for (unsigned int i = 0; i < turns.n_steps; i++) {
		const struct trip_weak_step *step = &turns.steps[i].step;
		const char *name = strrchr(step->here.file, '/');

		printf("thread %d  %s:%d  %s", turns.steps[i].thread,
			name != NULL ? name + 1 : step->here.file, step->here.line, step->what);
		if (step->place >= 0)
			printf(" of place %d: 0x%llx, number %u of %u", step->place,
				(unsigned long long)step->value, step->at, step->of);
		putchar('\n');
	}
}

static void
run(int thread)
{
	turns.weak->threads[thread](turns.weak->arg);
	turns.self->ended = true;
	/* On to the link of its context. */
}

static void
prepare(void)
{
	turns.n_steps = turns.at_choice = 0;
	trip_weak_forget();
	turns.weak->begin(turns.weak->arg);
	for (unsigned int i = 0; i < turns.n_threads; i++) {
		struct thread *thread = &turns.threads[i];

		thread->ended = false;
		getcontext(&thread->context);
		thread->context.uc_stack.ss_sp = thread->stack;
		thread->context.uc_stack.ss_size = STACK;
		thread->context.uc_link = &turns.context;
		makecontext(&thread->context, (void (*)(void))run, 1, (int)i);
	}
}

/* One of those that have not ended; NULL: all have. */
static struct thread *
pick(void)
{
	unsigned int alive = 0, nth;

	for (unsigned int i = 0; i < turns.n_threads; i++)
		alive += !turns.threads[i].ended;
	if (alive == 0)
		return NULL;
	nth = trip_weak_choose(alive);
	for (unsigned int i = 0;; i++)
		if (!turns.threads[i].ended && nth-- == 0)
			return &turns.threads[i];
}

static void
give_turn(struct thread *thread)
{
	turns.self = thread;
	swapcontext(&turns.context, &thread->context);
	turns.self = NULL;
}

static void
execute(void)
{
	struct thread *thread;

	/* Up to the first access that others see there is nothing to choose. */
	for (unsigned int i = 0; i < turns.n_threads; i++)
		give_turn(&turns.threads[i]);
	while ((thread = pick()) != NULL)
		give_turn(thread);
}

static void
open_threads(const struct trip_weak *weak)
{
	turns.weak = weak;
	turns.n_threads = 0;
	while (turns.n_threads < TRIP_WEAK_THREADS && weak->threads[turns.n_threads] != NULL) {
		struct thread *thread = &turns.threads[turns.n_threads++];

		thread->stack = malloc(STACK);
		if (thread->stack == NULL)
			trip_weak_die("no memory");
	}
}

bool
trip_weak_holds(const struct trip_weak *weak)
{
	unsigned long executions = 0;
	bool holds;

	open_threads(weak);
	turns.n_choices = turns.n_traffic = 0;
	turns.anew = false;
	do {
		prepare();
		execute();
		executions++;
		holds = weak->holds(weak->arg);
	} while (holds && turn_back());
	if (!holds)
		print_steps();
	printf("%s %lu executions\n", holds ? "holds in all" : "does not hold in the last of",
		executions);
	for (unsigned int i = 0; i < turns.n_threads; i++)
		free(turns.threads[i].stack);
	return holds;
}
