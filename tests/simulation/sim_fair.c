/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C11 promises that whoever can go on does so in the end. By priority, or where turns are repeated,
 * one who looks again and again for what another is about to do would keep that from happening.
 * Whoever could have run for a long time, and has not, is next. That is no decision: it follows
 * from the steps, also in a history that is repeated.
 */
#include "sim_inside.h"

/* Far more than most histories take: what is merely slow stays so. */
#define LOOK_STEPS 4096
#define LOOKS 16

static uint32_t next_look;

void
sim_fair_begin(void)
{
	next_look = LOOK_STEPS;
}

struct sim_actor *
sim_fair_next(void)
{
	struct sim_actor *starved = NULL;

	sim.self->has_run = true;
	if (sim.steps < next_look)
		return NULL;
	next_look = sim.steps + LOOK_STEPS;
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		struct sim_actor *actor = &sim.actors[i];
		bool waits = !actor->has_run && sim_is_runnable(actor);

		actor->passed_by = waits ? actor->passed_by + 1 : 0;
		actor->has_run = false;
		if (starved == NULL && actor->passed_by >= LOOKS)
			starved = actor;
	}
	if (starved != NULL) {
		starved->passed_by = 0;
		starved->lurks_until = 0;
	}
	return starved;
}
