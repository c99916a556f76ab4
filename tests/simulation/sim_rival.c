/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is first where two are about to go to the same place. One is there already if it has lost its
 * turn right before, by chance, or because it lurks: it is about to write, and waits until another
 * comes. Then it goes at once, or soon after: what the other one has read there is another value
 * when it writes elsewhere what follows from it.
 */
#include "sim_inside.h"

/* What the seed says. */
static struct {
	/* One of so many times the one that is there already is first; 0: as elsewhere. */
	uint32_t races;
	/* One of so many who are about to write where others go lurks; 0: none. */
	uint32_t lurks;
	struct sim_actor *late;
} rival;

void
sim_rival_begin(void)
{
	rival.races = sim_chance(4) == 0 ? 0 : 2u << sim_chance(3);
	rival.lurks = sim_chance(4) == 0 ? 0 : 1u << sim_chance(6);
	rival.late = NULL;
}

void
sim_rival_lurk(void)
{
	struct sim_actor *self = sim.self;

	if (rival.lurks != 0 && self->writes && self->where != NULL && sim_chance(rival.lurks) == 0)
		self->lurks_until = sim.steps + (16u << sim_chance(7));
}

bool
sim_rival_lurks(const struct sim_actor *actor)
{
	return actor->lurks_until > sim.steps;
}

static struct sim_actor *
take_late(void)
{
	struct sim_actor *late = rival.late;

	if (late == NULL || late == sim.self || !sim_is_runnable(late) || sim_chance(4) > 0)
		return NULL;
	rival.late = NULL;
	return late;
}

static bool
meets(const struct sim_actor *self, const struct sim_actor *other)
{
	return other != self && other->where == self->where && (other->writes || self->writes) &&
	       sim_is_runnable(other);
}

/* Somebody who lost his turn before he came to the place to which this one is about to go. If not
 * now, he goes there soon after; if he lurks, maybe the next time. */
struct sim_actor *
sim_rival_next(void)
{
	if (rival.races == 0 || sim.self->where == NULL)
		return NULL;
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		struct sim_actor *actor = &sim.actors[i];

		if (!meets(sim.self, actor))
			continue;
		if (sim_rival_lurks(actor) && sim_chance(2) == 0)
			return NULL;
		actor->lurks_until = 0;
		if (sim_chance(rival.races) == 0)
			return actor;
		rival.late = actor;
		return NULL;
	}
	return take_late();
}
