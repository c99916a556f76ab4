/* SPDX-License-Identifier: BSD-3-Clause */
/* Between weak_memory.c, what is where, and weak_turns.c, who is next. */
#ifndef TRIP_WEAK_INSIDE_H
#define TRIP_WEAK_INSIDE_H

#include "weak.h"

/* Places that an execution goes to. */
#define TRIP_WEAK_PLACES 256

/* One of so many ways to go on; the first of them the first time. */
unsigned int trip_weak_choose(unsigned int of);

/* Before an access of a place, or a fence, NULL: others may have their turn first. */
void trip_weak_turn(const volatile void *where, bool writes);

/* What was done: of which place (-1: of none), the how-manieth of how many values. */
struct trip_weak_step {
	struct trip_atomics_here here;
	const char *what;
	int place;
	unsigned int at, of;
	uint64_t value;
};
void trip_weak_note(struct trip_weak_step step);

/* Each place holds what it holds, and nobody knows of more. */
void trip_weak_forget(void);

_Noreturn void trip_weak_die(const char *what);

#endif
