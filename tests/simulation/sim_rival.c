/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is first where two are about to go to the same place. One is there already if it has lost its
 * turn right before, by chance, or because it lurks: it is about to write, and waits until another
 * comes. Then it goes at once, or soon after: what the other one has read there is another value
 * when it writes elsewhere what follows from it.
 *
 * A call of the system's, or of a driver's, may take long: in half of the histories one of a few
 * lurks for longer than an access does, so that what others do meanwhile comes to its end.
 */
#include "sim_inside.h"

/* Steps for which a call lasts though nobody else has anything to do. */
#define LINGERS 64

/* What the seed says. */
static struct {
	/* One of so many times the one that is there already is first; 0: as elsewhere. */
	uint32_t races;
	/* One of so many who are about to write where others go lurks; 0: none. */
	uint32_t lurks;
	/* One of so many calls does, 0: none; of numbers of their own, so that all else is what it
	 * is without. */
	uint64_t lingers;
	struct trip_random calls;
	struct sim_actor *late;
} rival;

void
sim_rival_begin(void)
{
	rival.races = sim_chance(4) == 0 ? 0 : 2u << sim_chance(3);
	rival.lurks = sim_chance(4) == 0 ? 0 : 1u << sim_chance(6);
	rival.late = NULL;
	rival.calls.state = (sim.history->turns + sim.steps) ^ UINT64_C(0x63616c6c);
	rival.lingers = trip_random_below(&rival.calls, 2) == 0
				? 0
				: UINT64_C(2) << trip_random_below(&rival.calls, 4);
}

/* For most of what others do because of what it has done before. */
static void
linger(struct sim_actor *self)
{
	if (rival.lingers == 0 || trip_random_below(&rival.calls, rival.lingers) > 0)
		return;
	self->lurks_until = sim.steps + (64u << trip_random_below(&rival.calls, 8));
	self->lingers_until = sim.steps + LINGERS;
}

bool
sim_rival_lingers(const struct sim_actor *actor)
{
	return actor->lingers_until > sim.steps && sim_rival_lurks(actor);
}

void
sim_rival_lurk(void)
{
	struct sim_actor *self = sim.self;

	if (self->calls)
		linger(self);
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
