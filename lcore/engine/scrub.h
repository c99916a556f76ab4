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

struct trip_home;

/* The home, from next_scrub_tsc on: a part of a pass, bounded by its budget. */
void trip_scrub(struct trip_home *home);

#endif
