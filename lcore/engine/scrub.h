/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that got lost. A process that is killed between an update and its ring leaves an armed
 * counter past what is armed, or a leaf of the doorbell without its summary; and a hostile one can
 * clear the bit of anybody's ring. So the scrub looks at what the rings are for:
 *
 *	armed counters		their values, against those at which they settled
 *	channels		what was submitted, or canceled, and is not in a sweep
 *	waiters			requests that are not followed
 *	ports			errands that are done and not settled
 *	calls, drops		what control threads have asked for
 *
 * Whoever is merely between the two looks the same, so that a suspect is only repaired, and
 * counted, when the next pass still finds it. What a control thread asks for is rung for at once.
 * Counters for which nobody waits cost a bit each, however many there are.
 */
#ifndef TRIP_SCRUB_H
#define TRIP_SCRUB_H

#include <stdbool.h>
#include <stdint.h>

#include "doorbell.h"
#include "engine.h"

struct trip_home;

/* The home's: how far the pass under way has come, and what it suspects. */
struct trip_scrub_pass {
	uint64_t period_tsc, next_tsc;
	/* Words of armed counters; leaves of the doorbell, channels and waiters. */
	uint32_t word, index;
	struct trip_doorbell_scrub bells[TRIP_BELLS];
	/* It found something there that nobody has rung for. */
	bool channels[TRIP_CHANNELS_MAX];
	bool ports[TRIP_PORTS_MAX];
};

/* The home, when its timer is due: a part of a pass, bounded by its budget. */
void trip_scrub(struct trip_home *home);

#endif
