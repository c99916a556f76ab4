/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that a secondary is stepped through. */
#ifndef TRIP_PROCESS_STEPS_H
#define TRIP_PROCESS_STEPS_H

/* Of the port. */
#define STEPS_QUEUES 3

/* Steps that two runs need not have in common are left to chance where only every `stride`th has
 * its kill: all of them have with `scripts/test --long`. */
struct step_call {
	const char *name;
	unsigned int stride;
};

/* One after the other; NULL: that was the last. */
const struct step_call *steps_call(unsigned int call);

/* Makes the call whose letter it hears, 'a' for the first; and the one that attaches. */
void steps_play_call(const char *arg);
void steps_play_attach(const char *arg);

#endif
