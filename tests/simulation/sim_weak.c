/* SPDX-License-Identifier: BSD-3-Clause */
/* The small programs of model/weak_litmus.c on the simulator's views: what C11 allows is found by
 * chance, among so many histories, and what it forbids never is. */
#include "sim.h"
#include "weak.h"

#define HISTORIES 20000

static const struct trip_weak *played;

static void
begin(void)
{
	played->begin(played->arg);
	for (unsigned int i = 0; i < TRIP_WEAK_THREADS && played->threads[i] != NULL; i++)
		(void)sim_spawn("thread", false, played->threads[i], played->arg);
}

static void
judge(void)
{
	sim_expect(played->holds(played->arg), "it does not hold");
}

static void
forget(void)
{
}

bool
trip_weak_holds(const struct trip_weak *weak)
{
	static const struct sim_world world = {
		.name = "litmus", .length = 16, .begin = begin, .judge = judge, .forget = forget};

	played = weak;
	for (uint64_t seed = 0; seed < HISTORIES; seed++)
		if (sim_play(&world, seed, SIM_MEMORY_VIEWS) != NULL)
			return false;
	return true;
}
